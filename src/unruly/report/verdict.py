"""The verdict (accuracy beside majority vote, how certain it is, what it depends on), and advice on rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.accuracy import FEW
from unruly.findings import (
    BalanceOrigin,
    Conflict,
    Critique,
    Note,
    RepeatedSource,
    SharesUnknown,
    SilentSource,
    UncoveredClass,
    WeakSource,
    WeakWord,
)
from unruly.html import (
    escape,
    listed,
    paragraph,
    percent,
    points_words,
    section,
    share_words,
    table,
)
from unruly.labelmodels.majority_vote import class_wins
from unruly.ledger import Use
from unruly.model.critique import CONFLICT, REPEATS, THIN
from unruly.model.evaluation import Evaluation, Part
from unruly.model.suggestions import LEAST
from unruly.sentences import critique_sentences, measured_sentence, sentence
from unruly.statistics import Share, paired_difference
from unruly.texts.columns import counted_from_one
from unruly.votes.majority import majority_shares
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import listed as listed_names
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.labelling.estimates import AccuracyEstimate
    from unruly.report.facts import Facts, KeyFigures


TOO_FEW = 100  # true labels, below which the page warns
_MOST_NEVER = 3  # classes that are never predicted, in a sentence each
_MOST_BELOW = 5  # sources that are below chance, by name


@dataclass(frozen=True)
class Verdict:
    """The first thing that a reader sees."""

    headline: str
    tone: str  # 'good', 'bad' or 'open'
    sentences: tuple[str, ...]


def verdict(facts: KeyFigures) -> Verdict:
    """Against true labels where there are any, else from what the fit itself knows."""
    if facts.evaluation is not None:
        return _with_gold(facts, facts.evaluation)
    if facts.by_labels is not None:
        return _with_labels(facts, facts.by_labels)
    return _without_gold(facts)


def _with_gold(facts: KeyFigures, evaluation: Evaluation) -> Verdict:
    whole = evaluation.everything
    gain = whole.gain
    points = f"{abs(100 * gain.value):.1f} points"
    if gain.low > 0:
        headline, tone = f"{points} better than majority vote", "good"
    elif gain.high < 0:
        headline, tone = f"{points} worse than majority vote", "bad"
    else:
        headline, tone = "No clear difference from majority vote", "open"
    better = evaluation.better_constant
    other = evaluation.other_share
    below = [] if better is None else [str(better)]
    if better is not None:
        headline += f", {'but' if tone == 'good' else 'and'} below the commonest class"
        clear = better.accuracy > whole.model.accuracy.high
        tone = "open" if tone == "good" else "bad" if clear else tone
    sentences = [
        *_shifted(facts),
        f"Accuracy: {share_words(whole.model.accuracy)}; majority vote: {share_words(whole.majority.accuracy)}. "
        f"Difference: {points_words(gain)}. Ranges are 95% intervals.",
        *below,
        *([] if other is None else [str(other)]),
        *_never(facts, evaluation),
        f"Scored on {facts.scored_on}. {_gold(facts)}",
        *_repeats(evaluation),
    ]
    if whole.model.documents < TOO_FEW:
        sentences.append(
            f"Only {plural(whole.model.documents, 'true label')}: the intervals are wide."
        )
    return Verdict(headline, tone, (*sentences, *_balance(facts), *_notes(facts)))


def _shifted(facts: KeyFigures) -> list[str]:
    """Before any figure: all are wrong where the true labels mean other classes."""
    if facts.scored_on is None or not facts.scored_on.counted_from_one:
        return []
    return [f"Check the labels first. {counted_from_one(facts.scored_on.file, facts.classes)}."]


def _with_labels(facts: KeyFigures, found: AccuracyEstimate) -> Verdict:
    """The accuracy that labels by hand tell."""
    a = found.accuracy
    how = found.held or ", none of which the model was trained on"
    sentences = [
        f"From {plural(found.labels, 'label')} by hand{how}, for {facts.documents}. The range is a 95% "
        "interval; more labels make it narrower.",
        *_about_answers(facts),
    ]
    headline = f"Accuracy about {percent(a.value, 0)} ({100 * a.low:.0f} to {100 * a.high:.0f})"
    return Verdict(headline, "open", tuple(sentences))


def _without_gold(facts: KeyFigures) -> Verdict:
    sentences = [_unchecked(facts), *_about_answers(facts)]
    sentences.append(
        "To measure accuracy, give documents with true labels (a hundred or more): "
        f"`{facts.scoring}`"
    )
    return Verdict("Accuracy not measured", "open", tuple(sentences))


def _unchecked(facts: KeyFigures) -> str:
    """Why no accuracy is known."""
    if facts.labels:
        return (
            f"{plural(facts.labels, 'label')} by hand, but none comes from a random sample of all documents, so accuracy cannot be "
            "estimated from them: run `unruly label PROJECT --by balance`."
        )
    if trained := facts.ledger.used_for(Use.TRAINING):
        return (
            f"Not checked here: the {plural(trained, 'label')} that the model was trained on {_are(trained)} not in the data "
            "that was given. With the project itself in place of a file they estimate the accuracy."
        )
    return "No true labels were given: the answers have not been checked."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _about_answers(facts: KeyFigures) -> list[str]:
    """What is known of the predictions without true labels."""
    sentences = _balance(facts)
    if facts.never_predicted:
        few = facts.never_predicted
        names = " and ".join(few) if len(few) < 4 else listed_names(few)
        sentences.append(
            f"{names} {'is' if len(facts.never_predicted) == 1 else 'are'} never predicted."
        )
    if facts.summary.coverage < 0.5:
        sentences.append(
            f"Only {percent(facts.summary.coverage)} of the training documents have a vote: "
            "most answers come from the text alone."
        )
    if facts.summary.agreement is not None:
        sentences.append(
            f"On training documents with votes, the text classifier and the denoiser (weighted votes) agree on {percent(facts.summary.agreement)}."
        )
    if facts.with_majority is not None:
        sentences.append(
            f"Where the votes have a clear majority, {percent(facts.with_majority)} of the documents get its class."
        )
    return [*sentences, *_notes(facts), _gold(facts)]


def _never(facts: KeyFigures, evaluation: Evaluation) -> list[str]:
    table_ = evaluation.everything.model.confusion  # (m, m)
    never = np.flatnonzero((table_.sum(axis=0) == 0) & (table_.sum(axis=1) > 0))
    if len(never) > _MOST_NEVER:
        names = listed_names(facts.classes[r] for r in never)
        count = plural(int(table_[never].sum()), "document")
        return [f"{names} are never predicted here, though they are the true classes of {count}."]
    return [
        f"{facts.classes[r]} is never predicted here, though it is the true class of "
        f"{plural(int(table_[r].sum()), 'document')}."
        for r in never.tolist()
    ]


def _balance(facts: KeyFigures) -> list[str]:
    """What the answers rest on, where the class shares are not known."""
    balance = facts.balance
    if balance is None:
        return []
    message = sentence(balance).split("\n")
    if balance.origin is BalanceOrigin.ASSUMED and balance.depends is None:
        message.append(
            "The answers depend on them: state the shares, or label 20 random documents."
        )
    return [" ".join(message)]


def _notes(facts: KeyFigures) -> list[str]:
    """The notes of the fit; of sources that are below chance a few, and how many more there are."""
    notes = [note for note in facts.summary.notes if note != facts.balance]
    below = [note for note in notes if isinstance(note, WeakSource)][_MOST_BELOW:]
    lines = [_note(note, facts) for note in notes if note not in below]
    if below:
        lines.append(f"{plural(len(below), 'more source')} like these: see the table of sources.")
    return lines


def _note(note: Note, facts: KeyFigures) -> str:
    """A note of the fit; a source is judged by what was measured, where that could be done."""
    if isinstance(note, WeakSource):
        found = next((s for s in facts.sources if s.name == note.source), None)
        if found is not None and found.is_measured and found.measured is not None:
            return measured_sentence(note, found.measured)
    return " ".join(sentence(note).split("\n"))


def _repeats(evaluation: Evaluation) -> list[str]:
    documents = evaluation.everything.model.documents
    if not evaluation.repeats:
        return []
    share, verb = percent(evaluation.repeats / documents), "repeat"
    what = f"{evaluation.repeats:,} of these documents ({share})"
    if evaluation.repeats == documents:
        what = "All these documents"
    elif evaluation.repeats == 1:
        verb = "repeats"
    return [f"{what} {verb} the text of a training document: on new ones the figures may differ."]


def _gold(facts: KeyFigures) -> str:
    return f"Gold labels: {facts.ledger.in_words()}."


def verdict_section(facts: Facts) -> str:
    """The verdict, its figures, and what the model is."""
    found = verdict(facts)
    figures = ""
    if facts.evaluation is not None:
        header = ("documents", "number", "majority vote", "denoiser", "model", "gain", "macro-F1")
        rows = [_row(part, facts.evaluation) for part in facts.evaluation.parts]
        message = f"Accuracy with its 95% interval, on {facts.scored_on}. Majority vote: ties count in equal parts, documents without votes get the commonest class of the votes."
        figures = table(header, rows, message)
    return section(
        "verdict",
        "Verdict",
        f'<p class="headline {found.tone}">{escape(found.headline)}</p>',
        listed(found.sentences),
        figures,
        table(("the model", ""), _model_rows(facts), kind="words"),
    )


def _row(part: Part, evaluation: Evaluation) -> tuple[str, ...]:
    denoiser = evaluation.denoiser if part.name == "covered" else None
    return (
        part.name,
        f"{part.model.documents:,}",
        share_words(part.majority.accuracy),
        share_words(denoiser.accuracy) if denoiser else "–",
        share_words(part.model.accuracy),
        points_words(part.gain),
        f"{part.model.macro_f1:.3f}",
    )


def _model_rows(facts: Facts) -> list[tuple[str, str]]:
    summary = facts.summary
    rows = [
        ("file", facts.model),
        (
            "training documents",
            f"{summary.documents:,}, of which {summary.covered:,} ({percent(summary.coverage)}) have votes",
        ),
        (
            "predicted for them",
            ", ".join(f"{c}: {n:,}" for c, n in zip(summary.classes, summary.labels, strict=True)),
        ),
        (
            "method",
            summary.method + (f", {plural(summary.epochs, 'epoch')}" if summary.epochs else ""),
        ),
        ("encoder", summary.encoder),
        ("gold labels", facts.ledger.in_words()),
    ]
    if facts.balance is not None:
        shares = zip(facts.balance.classes, facts.balance.shares, strict=True)
        message = ", ".join(f"{c}: {percent(share)}" for c, share in shares)
        rows.append((f"class shares ({facts.balance.origin.value})", message))
    return rows


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

    Documents without votes get the class `commonest`, or the commonest class of the votes that are left.

    >>> removals(Votes.from_array([[0, -1], [0, 1], [1, 1]]))[0]
    Removal(source='source_0', votes=3, uncovered=1, changed=1, adds=None)
    """
    whole = majority_shares(votes, commonest)  # (n, m)
    wins = class_wins(votes)
    known = None if gold is None else np.flatnonzero(gold >= 0)
    found = []
    for j, name in enumerate(votes.sources):
        rows = np.flatnonzero(votes.voted[:, j])
        matrix = votes.matrix[rows].copy()
        matrix[:, j] = ABSTAIN
        soft = {s: p[rows] for s, p in votes.soft.items() if votes.sources.index(s) in votes.sets}
        soft.pop(name, None)
        taken = votes.take(rows)
        left = replace(taken, matrix=matrix, soft=soft, provenance=None)
        then = int((wins - class_wins(taken) + class_wins(left)).round(9).argmax())
        other = commonest if then == int(wins.argmax()) else then
        without = whole.copy()
        without[~votes.covered] = np.eye(votes.m)[other]
        without[rows] = majority_shares(left, other)
        bare = ~left.covered
        changed = (without[rows] != whole[rows]).any(axis=1) & ~bare
        adds = None
        if len(rows) and known is not None and gold is not None:
            adds = paired_difference((whole - without)[known, gold[known]])
        found.append(Removal(name, len(rows), int(bare.sum()), int(changed.sum()), adds))
    return tuple(found)


def advice_section(facts: Facts) -> str:
    """Criticism of the rules, new ones, and what each source contributes."""
    parts = []
    for title, kinds, none in _advice_groups(facts):
        found = critique_sentences([one for one in facts.critique if isinstance(one, kinds)])
        message = [sentence_ for _, sentence_ in found]
        if message and WeakSource in kinds:
            message += _not_judged(facts)
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


def _advice_groups(facts: Facts) -> tuple[tuple[str, tuple[type[Critique], ...], str], ...]:
    """Titles, the findings under each, and the sentence where there are none."""
    return (
        (
            "Sources that are often wrong",
            (WeakSource, SharesUnknown),
            _no_weak_source(facts),
        ),
        (
            "Words that are weak in their list",
            (WeakWord,),
            _no_weak_word(facts),
        ),
        (
            "Sources that repeat others, or never vote",
            (RepeatedSource, SilentSource),
            f"None: every source votes, and none casts {REPEATS:.0%} of its votes with a larger one without "
            "adding to majority vote.",
        ),
        (
            "Classes with few votes",
            (UncoveredClass,),
            f"None: every class has votes of two sources, on {THIN:.0%} of its predictions or more.",
        ),
        (
            "Sources that conflict",
            (Conflict,),
            f"None: no two sources that meet on {FEW} documents or more disagree on {CONFLICT:.0%} of them or, where "
            f"they have no class in common, on {CONFLICT:.0%} of the votes of one.",
        ),
    )


def _no_weak_source(facts: Facts) -> str:
    """The sentence where no source is weak."""
    many = sum(s.votes >= FEW for s in facts.sources)
    if not many:
        return f"Not judged: no source has {FEW} votes."
    checked = sum(s.votes >= FEW and s.is_measured for s in facts.sources)
    how = "measured" if checked == many else "by measured or estimated accuracy"
    how = how if checked else "estimated"
    each = "The source" if many == 1 else f"Each of the {many} sources"
    found = f"None. {each} with {FEW} votes or more is right on half of them or more ({how})."
    return " ".join([found, *_not_judged(facts)])


def _not_judged(facts: Facts) -> list[str]:
    """Sources that have too few votes for a judgement."""
    few = [s.name for s in facts.sources if 0 < s.votes < FEW]
    return [f"Not judged, with fewer than {FEW} votes: {listed_names(few)}."] if few else []


def _no_weak_word(facts: Facts) -> str:
    if not facts.rules_known or facts.confidence is None:
        return "Not checked: this needs the documents, and a model that carries its rules."
    if all(s.votes < FEW for s in facts.sources):
        return f"Not judged: no word has {FEW} votes."
    if any(isinstance(one, SharesUnknown) for one in facts.critique):
        return "Not judged: class shares are not known."
    return f"None: no word with {FEW} votes or more has an interval that lies below that of the rest of its list."


def _basis(facts: Facts) -> str:
    counted = f"Counted on {facts.documents}."
    if facts.labels:
        counted += (
            f" {plural(facts.labels, 'label')} by hand count in place of the model's answers."
        )
    other = "If you change rules because of these scores, score the next model on other labels."
    if any(source.is_measured for source in facts.sources):
        return (
            f"{counted} The accuracy of a source is measured on {facts.scored_on} where at least {FEW} of its votes have a true "
            f"label ({FEW // 2} where the model's estimate is wider), and otherwise estimated by the model. Those of words "
            f"are estimated. {other}"
        )
    by_hand = " Sources with enough labels by hand are measured on these." if facts.labels else ""
    return (
        f"{counted} Accuracies are the model's own estimates, and wrong where the model is wrong.{by_hand} "
        "Read some of the documents before you change a rule."
        + (f" {other}" if facts.ledger.used_for(Use.ADVICE) else "")
    )


def _worse_than(facts: Facts) -> str | None:
    """What is clearly right more often than the model on the true labels, or None."""
    if facts.evaluation is None:
        return None
    whole, better = facts.evaluation.everything, facts.evaluation.better_constant
    right = f"on {facts.scored_on} ({percent(whole.model.accuracy.value)} right;"
    if whole.gain.high < 0:
        return f"majority vote {right} majority vote {percent(whole.majority.accuracy.value)})"
    if better is not None and better.accuracy > whole.model.accuracy.high:
        return f"always predicting {better.label} {right} {percent(better.accuracy)} are {better.label})"
    return None


def _suggestions(facts: Facts) -> str:
    head = "<h3>New rules</h3>"
    if not facts.suggestions:
        return head + paragraph(
            "None: no word, phrase or pattern outside of the rules goes clearly with one class and has votes of several "
            "sources for it. `unruly suggest` also lists guesses, and counts labels by hand."
        )
    if (worse := _worse_than(facts)) is not None:
        return head + paragraph(
            f"None shown: they would be chosen by the model's answers, which are worse than {worse}."
        )
    wrong = [s for s in facts.suggestions if s.measured is not None and s.measured.high < LEAST]
    shown = [s for s in facts.suggestions if s not in wrong]
    if not shown:
        return head + paragraph(
            f"None shown: true labels contradict {plural(len(wrong), 'rule')} that the model's answers would choose."
        )
    scored = any(s.measured for s in shown)
    known = any(s.changed is not None for s in shown)
    message = (
        "By the model's predictions, which chose these rules, the class of each rule is more frequent among its matches "
        "than among all documents. Some of its matches already have a vote for that class. Rules that match documents "
        "without votes come first. `unruly suggest` shows them with examples and writes those that you accept into unruly.toml. The model may be wrong about a rule: read some of its matches before you accept it. "
    )
    if scored:
        chose = "" if facts.labels or wrong else "; they chose no rule"
        message += f"True labels give the last column{chose}. "
    if wrong:
        message += f"Left out: {plural(len(wrong), 'rule')} that true labels contradict. "
    odd = {str(s.perhaps_gold) for s in shown if s.perhaps_gold is not None}
    message += "".join(f"{line[:1].upper()}{line[1:]}. " for line in sorted(odd))
    header = ["rule", "class", "documents", "without votes"]
    header += ["predictions changed"] if known else []
    header += ["by chance", "estimated accuracy"]
    header += ["measured accuracy"] if scored else []
    rows = [
        [s.condition, s.label, f"{s.documents:,}", f"{s.uncovered:,}"]
        + ([f"{s.changed or 0:,}"] if known else [])
        + [percent(s.usual), share_words(s.accuracy)]
        + ([share_words(s.measured)] if scored else [])
        for s in shown
    ]
    return head + paragraph(message) + table(header, rows, kind="next")


def _removals(facts: Facts) -> str:
    if not facts.removals:
        return ""
    scored = any(r.adds is not None for r in facts.removals)
    message = (
        f"Counted on {facts.answers_on}, for majority vote, which needs no training; documents without votes get the "
        "commonest class of the votes that are left. To see what the trained model does without a source, disable it "
        "and fit again."
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
