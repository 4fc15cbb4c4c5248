"""All the numbers of a report, gathered before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import Cache
from unruly.model.evaluation import Evaluation, evaluate
from unruly.model.fitted import Fitted
from unruly.model.ledger import Ledger, Use
from unruly.model.summary import FitSummary
from unruly.plural import plural
from unruly.progress import SILENT, Progress
from unruly.report.advice import Advice, advice
from unruly.report.answers import Answers, answers
from unruly.report.by_matched import Matched, by_matched
from unruly.report.confidence import Slice, confidence_slices
from unruly.report.instructive import Instructive, instructive
from unruly.report.next_words import NextWord, next_words
from unruly.report.noise import Noise, noise
from unruly.report.pairs import Pairs, pairs
from unruly.report.prior_doubt import PriorDoubt, prior_doubt
from unruly.report.reliability_spread import Spread, reliability_spread
from unruly.report.silenced import Silenced, silenced
from unruly.report.source_facts import SourceFacts, source_facts
from unruly.texts.corpus import Corpus
from unruly.training.heads import Epoch
from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Facts:
    """What the page tells. None, or empty, stands for what cannot be known from what was given."""

    model: str  # the model's file
    classes: tuple[str, ...]
    summary: FitSummary
    ledger: Ledger  # of the model, and of this report's scoring
    history: tuple[Epoch, ...]
    documents: str  # what the votes below were counted on, in words
    scored_on: str | None  # what the gold below belongs to, in words
    noise_on: str | None
    evaluation: Evaluation | None
    with_majority: float | None  # answers that go with a clear majority of votes
    doubts: tuple[PriorDoubt, ...]
    sources: tuple[SourceFacts, ...]
    adds: Mapping[str, Silenced]
    pairs: Pairs
    spreads: tuple[Spread, ...]
    noise: tuple[Noise, ...]
    matched: tuple[Matched, ...]
    slices: tuple[Slice, ...]
    instructive: tuple[Instructive, ...]
    advice: Advice
    words: tuple[NextWord, ...]

    def to_plain(self) -> dict[str, Any]:
        """The gist, as JSON has it."""
        return {
            "model": self.model,
            "documents": self.documents,
            "scored_on": self.scored_on,
            "evaluation": self.evaluation.to_plain() if self.evaluation else None,
            "gold": str(self.ledger),
            "notes": list(self.summary.notes),
        }


def facts(
    model: str,
    fitted: Fitted,
    documents: Corpus | None = None,
    scored: Corpus | None = None,
    *,
    votes: Votes | None = None,
    scored_votes: Votes | None = None,
    cache: Cache | None = None,
    progress: Progress = SILENT,
) -> Facts:
    """Ask the model about documents (the training documents, best of all) and score it on `scored`.

    Without documents, the sample of training documents that the model itself keeps has to do. Votes are
    only needed where the model carries no rules of its own.
    """
    if documents is None:
        return _from_sample(model, fitted)
    seen = answers(fitted, documents, votes, cache, progress)
    held = seen if scored is None else answers(fitted, scored, scored_votes, cache, progress)
    if held.gold is None and seen.gold is not None:
        held = seen
    return _from_answers(model, fitted, seen, held, progress)


def _from_answers(
    model: str, fitted: Fitted, seen: Answers, held: Answers, progress: Progress
) -> Facts:
    gold = held.gold
    noisy = seen if seen.gold is not None else held
    sources = source_facts(fitted.summary, seen.votes, held.votes, gold)
    counted = pairs(seen.votes)
    adds = silenced(fitted.learner, held.features, held.votes, gold, progress)
    evaluation = None if gold is None else _evaluation(fitted, held, gold)
    return Facts(
        model=model,
        classes=fitted.classes,
        summary=fitted.summary,
        ledger=fitted.ledger if evaluation is None else evaluation.ledger,
        history=fitted.learner.history,
        documents=f"the {plural(seen.votes.n, 'document')} of {seen.name}",
        scored_on=None if gold is None else _gold_words(gold, held),
        noise_on=None if noisy.gold is None else _gold_words(noisy.gold, noisy),
        evaluation=evaluation,
        with_majority=_with_majority(seen.votes, seen.final),
        doubts=prior_doubt(seen.heads.combined, fitted.classes),
        sources=sources,
        adds=adds,
        pairs=counted,
        spreads=reliability_spread(_reliability(fitted), seen.votes, seen.heads),
        noise=() if noisy.gold is None else noise(noisy.votes, noisy.heads, noisy.gold),
        matched=() if gold is None else by_matched(held.votes, held.heads, gold, fitted.commonest),
        slices=confidence_slices(held.heads.combined, held.votes, gold),
        instructive=instructive(seen),
        advice=advice(sources, counted, seen.votes, seen.final, adds),
        words=next_words(seen.texts, seen.votes, seen.heads.combined),
    )


def _from_sample(model: str, fitted: Fitted) -> Facts:
    """What the file alone can tell: the fit, and the votes on the documents that it keeps."""
    near = fitted.neighbourhood
    votes = Votes.from_array(
        near.votes.reshape(len(near), len(fitted.sources)),
        classes=fitted.classes,
        sources=fitted.sources,
    )
    final = near.labels.astype(np.int64)
    sources = source_facts(fitted.summary, votes)
    counted = pairs(votes)
    return Facts(
        model=model,
        classes=fitted.classes,
        summary=fitted.summary,
        ledger=fitted.ledger,
        history=fitted.learner.history,
        documents=f"the {plural(votes.n, 'training document')} that the model keeps",
        scored_on=None,
        noise_on=None,
        evaluation=None,
        with_majority=_with_majority(votes, final),
        doubts=(),
        sources=sources,
        adds={},
        pairs=counted,
        spreads=(),
        noise=(),
        matched=(),
        slices=(),
        instructive=(),
        advice=advice(sources, counted, votes, final, {}),
        words=_words_of_sample(near.snippets, votes, final),
    )


def _words_of_sample(
    snippets: tuple[str, ...] | None, votes: Votes, final: NDArray[np.int64]
) -> tuple[NextWord, ...]:
    return () if snippets is None else next_words(snippets, votes, np.eye(votes.m)[final])


def _evaluation(fitted: Fitted, held: Answers, gold: NDArray[np.int64]) -> Evaluation:
    return evaluate(
        held.heads,
        held.votes,
        gold,
        ledger=fitted.ledger.add(Use.SCORING, int((gold >= 0).sum()), held.name),
        commonest=fitted.commonest,
        repeats=held.repeats,
    )


def _gold_words(gold: NDArray[np.int64], held: Answers) -> str:
    return f"the {plural(int((gold >= 0).sum()), 'gold label')} of {held.name}"


def _reliability(fitted: Fitted) -> tuple[float, ...]:
    return tuple(float(share) for share in fitted.learner.reliability)


def _with_majority(votes: Votes, final: NDArray[np.integer]) -> float | None:
    """The share of documents with a clear majority that are given the majority's class."""
    counts = votes.counts()
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    rows = votes.covered & clear
    return float((counts.argmax(axis=1) == final)[rows].mean()) if rows.any() else None
