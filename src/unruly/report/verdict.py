"""The verdict: how good the model is beside majority vote, how sure that is, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unruly.facts import BalanceOrigin, SourceBelowChance
from unruly.html import escape
from unruly.model.evaluation import Evaluation, Part
from unruly.model.wording import sentence
from unruly.report.markup import listed, percent, points_words, section, share_words, table
from unruly.wording import listed as listed_names
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.report.facts import Facts

TOO_FEW = 100  # true labels, below which the page warns
_MOST_BELOW = 5  # sources that are below chance, by name


@dataclass(frozen=True)
class Verdict:
    """The first thing that a reader sees."""

    headline: str
    tone: str  # 'good', 'bad' or 'open'
    sentences: tuple[str, ...]


def verdict(facts: Facts) -> Verdict:
    """Against true labels where there are any, else from what the fit itself knows."""
    if facts.evaluation is None:
        return _without_gold(facts)
    return _with_gold(facts, facts.evaluation)


def _with_gold(facts: Facts, evaluation: Evaluation) -> Verdict:
    whole = evaluation.everything
    gain = whole.gain
    points = f"{abs(100 * gain.value):.1f} points"
    if gain.low > 0:
        headline, tone = f"{points} better than majority vote", "good"
    elif gain.high < 0:
        headline, tone = f"{points} worse than majority vote", "bad"
    else:
        headline, tone = "No clear difference from majority vote", "open"
    below = _commonest(facts, evaluation)
    if below and tone == "good":
        headline, tone = f"{headline}, but below the commonest class", "open"
    sentences = [
        f"Accuracy: {share_words(whole.model.accuracy)}; majority vote: {share_words(whole.majority.accuracy)}. "
        f"Difference: {points_words(gain)}. Ranges are 95% intervals.",
        *below,
        *_never(facts, evaluation),
        f"Scored on {facts.scored_on}. {_gold(facts)}",
        *_repeats(evaluation),
    ]
    if whole.model.documents < TOO_FEW:
        sentences.append(
            f"Only {plural(whole.model.documents, 'true label')}: the intervals are wide."
        )
    return Verdict(headline, tone, (*sentences, *_balance(facts), *_notes(facts)))


def _without_gold(facts: Facts) -> Verdict:
    sentences = ["No true labels were given: the answers have not been checked.", *_balance(facts)]
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
    sentences += [*_notes(facts), _gold(facts)]
    sentences.append(
        "To measure accuracy, give documents with true labels (a hundred or more): "
        "unruly report MODEL --data test.csv --label COLUMN -o report.html"
    )
    return Verdict("Accuracy not measured", "open", tuple(sentences))


def _commonest(facts: Facts, evaluation: Evaluation) -> list[str]:
    """Said only where naming one class throughout would do better than the model."""
    counts = evaluation.everything.model.confusion.sum(axis=1)  # (m,)
    share = float(counts.max() / counts.sum())
    if share <= evaluation.everything.model.accuracy.value:
        return []
    name = facts.classes[int(counts.argmax())]
    return [f"Always predicting {name} would be right on {percent(share)}: more than the model."]


def _never(facts: Facts, evaluation: Evaluation) -> list[str]:
    table_ = evaluation.everything.model.confusion  # (m, m)
    return [
        f"{facts.classes[r]} is never predicted here, though it is the true class of "
        f"{plural(int(table_[r].sum()), 'document')}."
        for r in np.flatnonzero((table_.sum(axis=0) == 0) & (table_.sum(axis=1) > 0)).tolist()
    ]


def _balance(facts: Facts) -> list[str]:
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


def _notes(facts: Facts) -> list[str]:
    """The notes of the fit; of sources that are below chance a few, and how many more there are."""
    notes = [note for note in facts.summary.notes if note != facts.balance]
    below = [note for note in notes if isinstance(note, SourceBelowChance)][_MOST_BELOW:]
    lines = [" ".join(sentence(note).split("\n")) for note in notes if note not in below]
    if below:
        lines.append(f"{plural(len(below), 'more source')} like these: see the table of sources.")
    return lines


def _repeats(evaluation: Evaluation) -> list[str]:
    documents = evaluation.everything.model.documents
    if not evaluation.repeats:
        return []
    if evaluation.repeats == documents:
        return ["Optimistic: scored on the training documents. Expect less on new ones."]
    return [
        f"{evaluation.repeats:,} of these documents ({percent(evaluation.repeats / documents)}) are also "
        "training documents: the figures may be optimistic."
    ]


def _gold(facts: Facts) -> str:
    message = str(facts.ledger)
    return message[0].upper() + message[1:] + "."


def verdict_section(facts: Facts) -> str:
    """The verdict, its figures, and what the model is."""
    found = verdict(facts)
    figures = ""
    if facts.evaluation is not None:
        header = ("documents", "number", "majority vote", "denoiser", "model", "gain", "macro-F1")
        rows = [_row(part, facts.evaluation) for part in facts.evaluation.parts]
        message = "Accuracy with its 95% interval. Majority vote: ties count in equal parts, documents without votes get the commonest class of the votes."
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
        ("gold labels", str(facts.ledger).removeprefix("gold labels: ")),
    ]
    if facts.balance is not None:
        shares = zip(facts.balance.classes, facts.balance.shares, strict=True)
        message = ", ".join(f"{c}: {percent(share)}" for c, share in shares)
        rows.append((f"class shares ({facts.balance.origin.value})", message))
    return rows
