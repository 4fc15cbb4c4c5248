"""The verdict: how much better than majority vote, how sure, and what gold was used."""

from __future__ import annotations

from dataclasses import dataclass

from unruly.model.evaluation import Evaluation, Part
from unruly.plural import plural
from unruly.report.charts.words import percent, points_words, share_words
from unruly.report.facts import Facts

TOO_FEW = 100  # gold labels, below which the page says so


@dataclass(frozen=True)
class Verdict:
    """The first thing that a reader sees."""

    headline: str
    tone: str  # 'good', 'bad' or 'open'
    sentences: tuple[str, ...]


def verdict(facts: Facts) -> Verdict:
    """Against gold where there is some, else from what the fit itself noticed."""
    if facts.evaluation is None:
        return _without_gold(facts)
    return _with_gold(facts, facts.evaluation)


def _with_gold(facts: Facts, evaluation: Evaluation) -> Verdict:
    whole = evaluation.everything
    gain = whole.gain
    points = abs(100 * gain.value)
    if gain.low > 0:
        headline, tone = f"{points:.1f} points better than majority vote", "good"
    elif gain.high < 0:
        headline, tone = f"{points:.1f} points worse than majority vote", "bad"
    else:
        headline, tone = "Not clearly different from majority vote", "open"
    sentences = [
        f"The model is right on {share_words(whole.model.accuracy)} of the documents, majority vote on "
        f"{share_words(whole.majority.accuracy)}.",
        f"The difference is {points_words(gain)}: with 95 % certainty it lies between these bounds.",
        f"Scored on {facts.scored_on}. {_gold(facts)}",
        *_repeats(evaluation),
    ]
    if whole.model.documents < TOO_FEW:
        sentences.append(
            f"Only {plural(whole.model.documents, 'gold label')}: the bounds are wide."
        )
    return Verdict(headline, tone, (*sentences, *_warnings(facts)))


def parts_table(evaluation: Evaluation) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """All, covered and uncovered documents, ours beside majority vote: header and rows."""
    header = (
        "documents",
        "number",
        "majority vote",
        "denoiser",
        "final classifier",
        "gain",
        "macro-F1",
    )
    return header, tuple(_row(part, evaluation) for part in evaluation.parts)


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


def _without_gold(facts: Facts) -> Verdict:
    guard = [note for note in facts.summary.notes if note.startswith("The guard")]
    headline = "The guard took over" if guard else "No gold labels: quality is not measured"
    sentences = (
        [*guard]
        if guard
        else ["The guard found nothing against the recipe."]
        if (facts.summary.method == "default")
        else []
    )
    if facts.summary.agreement is not None:
        sentences.append(
            f"The two heads, one reading votes and one reading texts, agree on {percent(facts.summary.agreement)} of "
            "the documents with votes."
        )
    if facts.with_majority is not None:
        sentences.append(
            f"Where sources have a clear majority, the model follows it on {percent(facts.with_majority)} of the documents."
        )
    sentences += [*_prior(facts), *_warnings(facts), _gold(facts)]
    sentences.append(
        "To know how good the model is, give this report documents with true labels: "
        "unruly report MODEL --data test.csv --label COLUMN -o report.html. A hundred are a start."
    )
    return Verdict(headline, "bad" if guard else "open", tuple(sentences))


def _prior(facts: Facts) -> list[str]:
    if not facts.doubts:
        return []
    worst = max(facts.doubts, key=lambda d: max(d.twice, d.half))
    much = max(worst.twice, worst.half)
    how = "twice" if worst.twice >= worst.half else "half"
    return [
        f"Were {worst.name} {how} as likely as assumed, {percent(much)} of the answers would change."
    ]


def _repeats(evaluation: Evaluation) -> list[str]:
    if not evaluation.repeats:
        return []
    share = evaluation.repeats / evaluation.everything.model.documents
    if share > 0.999:
        return [
            "These are the training documents themselves: their labels were not used, but new documents may fare worse."
        ]
    return [
        f"{evaluation.repeats:,} of these documents ({percent(share)}) also stand among the training documents."
    ]


def _warnings(facts: Facts) -> list[str]:
    """What the recipe noticed, but for the guard's word, which comes first anyway."""
    if facts.evaluation is None:
        return [note for note in facts.summary.notes if not note.startswith("The guard")]
    return list(facts.summary.notes)


def _gold(facts: Facts) -> str:
    told = str(facts.ledger)
    return told[0].upper() + told[1:] + "."
