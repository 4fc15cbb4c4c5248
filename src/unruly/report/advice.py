"""What to do next, as a section of the page: rules to change, rules to add, what sources contribute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unruly.html import escape
from unruly.model.advice import (
    CONFLICT,
    FEW,
    REPEATS,
    THIN,
    Conflict,
    Critique,
    RepeatedSource,
    SilentSource,
    UncoveredClass,
    WeakSource,
    WeakWord,
)
from unruly.model.evaluation import majority_shares, paired_gain
from unruly.model.wording import advice_sentence
from unruly.report.markup import (
    listed,
    paragraph,
    percent,
    points_words,
    section,
    share_words,
    table,
)
from unruly.sampling import Share
from unruly.votes.votes import ABSTAIN, Votes

if TYPE_CHECKING:
    from unruly.report.facts import Facts


@dataclass(frozen=True)
class Removal:
    """What majority vote would lose with one source; nothing is trained for it."""

    source: str
    votes: int
    uncovered: int  # documents that would have no vote left
    changed: int  # others whose majority would be another, ties included
    adds: Share | None  # accuracy of majority vote with the source minus without; None without gold


def removals(
    votes: Votes, gold: NDArray[np.int64] | None = None, commonest: int = 0
) -> tuple[Removal, ...]:
    """Each source taken away in turn.

    >>> removals(Votes.from_array([[0, -1], [0, 1], [1, 1]]))[0]
    Removal(source='source_0', votes=3, uncovered=1, changed=1, adds=None)
    """
    whole = majority_shares(votes, commonest)  # (n, m)
    known = None if gold is None else np.flatnonzero(gold >= 0)
    found = []
    for j, name in enumerate(votes.sources):
        rows = np.flatnonzero(votes.voted[:, j])
        matrix = votes.matrix[rows].copy()
        matrix[:, j] = ABSTAIN
        soft = {s: p[rows] for s, p in votes.soft.items() if votes.sources.index(s) in votes.sets}
        soft.pop(name, None)
        left = replace(votes.take(rows), matrix=matrix, soft=soft, provenance=None)
        without = whole.copy()
        without[rows] = majority_shares(left, commonest)
        bare = ~left.covered
        changed = (without[rows] != whole[rows]).any(axis=1) & ~bare
        adds = None
        if known is not None and gold is not None:
            adds = paired_gain((whole - without)[known, gold[known]])
        found.append(Removal(name, len(rows), int(bare.sum()), int(changed.sum()), adds))
    return tuple(found)


def advice_section(facts: Facts) -> str:
    """Criticism of the rules, new ones, and what each source contributes."""
    groups: tuple[tuple[str, tuple[type[Critique], ...], str], ...] = (
        (
            "Sources that are often wrong",
            (WeakSource,),
            f"None: no source with {FEW} votes or more is right on less than half of them, {_how(facts)}.",
        ),
        (
            "Words to drop",
            (WeakWord,),
            f"None: no word with {FEW} votes or more is clearly worse than the rest of its list."
            if facts.rules_known and facts.confidence is not None
            else "Not checked: this needs --data, and a model that carries its rules.",
        ),
        (
            "Sources that add little",
            (RepeatedSource, SilentSource),
            f"None: every source votes, and none casts {REPEATS:.0%} of its votes with a larger one.",
        ),
        (
            "Classes with few votes",
            (UncoveredClass,),
            f"None: every class has votes of two sources, on {THIN:.0%} of its predictions or more.",
        ),
        (
            "Sources that conflict",
            (Conflict,),
            f"None: no two sources with {FEW} common documents disagree on {CONFLICT:.0%} of them.",
        ),
    )
    parts = []
    for title, kinds, none in groups:
        message = [advice_sentence(one) for one in facts.critique if isinstance(one, kinds)]
        parts.append(
            f"<div><h3>{escape(title)}</h3>{listed(message) if message else paragraph(none)}</div>"
        )
    return section(
        "advice",
        "Advice",
        paragraph(_basis(facts)),
        '<div class="columns">' + "".join(parts) + "</div>",
        _suggestions(facts),
        _removals(facts),
    )


def _how(facts: Facts) -> str:
    if facts.evaluation is None:
        return "as estimated"
    return f"as measured on {FEW} votes or more, else as estimated"


def _basis(facts: Facts) -> str:
    if facts.evaluation is not None:
        return (
            f"Accuracies of sources are measured on {facts.scored_on} where {FEW} votes or more could be "
            "checked; the others are the model's own estimates."
        )
    return (
        "No true labels: accuracies are the model's own estimates, and wrong where the model is wrong. "
        "Read some of the documents before you change a rule."
    )


def _suggestions(facts: Facts) -> str:
    head = "<h3>New rules</h3>"
    if not facts.suggestions:
        return head + paragraph(
            "No word, phrase or pattern goes clearly with one class, beyond those that rules use already."
        )
    scored = any(s.measured for s in facts.suggestions)
    answers = "the model's answers"
    where = f"the true labels and, where there are none, {answers}" if scored else answers
    message = (
        f"Each of these rules is right more often than chance by {where}; rules that match documents without "
        "votes come first. `unruly suggest` shows them with examples and writes those that you accept into "
        "unruly.toml. "
    )
    message += (
        "Where a measured interval includes the figure at random, the rule may be no better than chance."
        if scored
        else "The model may be wrong about a rule: read some of its matches before you accept it."
    )
    header = ["rule", "class", "documents", "without votes", "labels changed", "at random"]
    header += ["estimated accuracy"]
    rows = [
        [
            s.condition,
            s.label,
            f"{s.documents:,}",
            f"{s.uncovered:,}",
            f"{s.changed:,}",
            percent(s.usual),
            share_words(s.accuracy),
        ]
        + ([share_words(s.measured)] if scored else [])
        for s in facts.suggestions
    ]
    header += ["measured accuracy"] if scored else []
    return head + paragraph(message) + table(header, rows, kind="next")


def _removals(facts: Facts) -> str:
    if not facts.removals:
        return ""
    scored = any(r.adds is not None for r in facts.removals)
    message = (
        "Counted for majority vote, which needs no training. To see what the trained model does without "
        "a source, remove it and fit again."
    )
    header = ["source", "votes", "documents with no other vote", "other majority votes that change"]
    header += ["added accuracy"] if scored else []
    rows = [
        [r.source, f"{r.votes:,}", _of(r.uncovered, r.votes), _of(r.changed, r.votes)]
        + ([points_words(r.adds) if r.adds else "–"] if scored else [])
        for r in facts.removals
    ]
    return (
        "<h3>What each source adds to majority vote</h3>" + paragraph(message) + table(header, rows)
    )


def _of(part: int, votes: int) -> str:
    return f"{part:,} ({percent(part / votes, 0)})" if votes else "–"
