"""Systems side by side on one's own documents: with gold how accurate they are, without it how they differ.

Each system is fitted several times; one that fails is reported with the reason, and the others go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, UnrulyError
from unruly.labelmodels.majority_vote import majority_vote
from unruly.ledger import GoldUse, Ledger, Use
from unruly.progress import SILENT, Progress, stage
from unruly.statistics import Share
from unruly_lab.compare.scores import (
    GoldScores,
    answer_shares,
    gold_scores,
    hidden_rows,
    unseen_likelihood,
    without_votes,
)
from unruly_lab.compare.task import ComparisonTask
from unruly_lab.peers.systems import SYSTEMS, Documents, Entry, Fitted, Proba, TrainingData, entry

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a system says after each of f fits: one for each seed, and one without the hidden votes."""

    training: Labels  # (f, n): of the training documents
    scored: Proba | None  # (s, d, m): shares of each class on the scored documents, for each seed
    unseen: float | None  # log-likelihood of the hidden votes
    seconds: float  # processor time of a fit, the mean over seeds
    parameters: int
    gold_used: tuple[GoldUse, ...]


@dataclass(frozen=True)
class Failed:
    """Why a system could not be run."""

    reason: str


def try_system(
    entry: Entry,
    task: ComparisonTask,
    seeds: tuple[int, ...],
    hidden: NDArray[np.bool_],
    progress: Progress,
) -> Answers | Failed:
    """Fit and ask a system; any error of its own is its result, and does not end the comparison."""
    try:
        return _ask(entry, task, seeds, hidden, progress)
    except UnrulyError as error:
        return Failed(str(error))
    except Exception as error:  # whatever another's library raises
        return Failed(f"unexpected {type(error).__name__}: {error}")


def _ask(
    entry: Entry,
    task: ComparisonTask,
    seeds: tuple[int, ...],
    hidden: NDArray[np.bool_],
    progress: Progress,
) -> Answers:
    documents, scored = task.documents, task.scored
    started, fits = time.process_time(), []
    for seed in seeds:
        fits.append(_fit(entry, task, documents, seed, progress))
        progress.advance(1, entry.title)
    seconds = (time.process_time() - started) / len(seeds)
    training = [_answers(fitted, documents) for fitted in fits]
    unseen = None
    if hidden.any():
        blind = _fit(entry, task, without_votes(documents, hidden), seeds[0], progress)
        training.append(_answers(blind, documents))
        unseen = unseen_likelihood(blind, documents, hidden)
        progress.advance(1, entry.title)
    return Answers(
        np.stack(training),
        None
        if scored is None
        else np.stack([answer_shares(_proba(f, scored.documents)) for f in fits]),
        unseen,
        seconds,
        fits[0].parameters,
        fits[0].gold_used,
    )


def _fit(
    entry: Entry, task: ComparisonTask, documents: Documents, seed: int, progress: Progress
) -> Fitted:
    clean = task.taught if entry.needs_gold else task.clean
    data = TrainingData(
        documents,
        seed,
        task.prior,
        clean=clean,
        classifier=task.classifier,
        keywords=task.keywords,
    )
    return entry.build().fit(data, progress)


def _answers(fitted: Fitted, documents: Documents) -> Labels:
    return np.asarray(_proba(fitted, documents).argmax(axis=1), np.int64)


def _proba(fitted: Fitted, documents: Documents) -> Proba:
    proba = fitted.predict_proba(documents)  # (n, m)
    if proba.shape != (documents.n, documents.votes.m) or not np.isfinite(proba).all():
        raise InputError(
            f"its answers are of the shape {proba.shape} or not finite: expected a probability for each "
            f"of {documents.n} documents and {documents.votes.m} classes"
        )
    return proba


QUICK = ("majority-vote", "dawid-skene", "snorkel", "bert-mlp", "mean-teacher", "paper", "default")


@dataclass(frozen=True)
class Row:
    """One system's figures; those of a failed one are None."""

    entry: Entry
    failure: str | None = None
    stability: float | None = None  # share of answers that two fits have in common, the mean
    majority: float | None = None  # share of covered documents where it follows a clear majority
    unseen: float | None = None  # mean log-likelihood of votes that it was not shown
    gold: GoldScores | None = None
    seconds: float | None = None
    parameters: int | None = None
    gold_used: tuple[GoldUse, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        gold = self.gold
        return {
            "name": self.entry.name,
            "title": self.entry.title,
            "cites": self.entry.cites,
            "failure": self.failure,
            "accuracy": _plain(gold.accuracy) if gold else None,
            "macro_f1": _plain(gold.macro_f1) if gold else None,
            "f1": [_plain(share) for share in gold.f1] if gold else None,
            "stability": self.stability,
            "follows_majority": self.majority,
            "unseen_votes": self.unseen,
            "cpu_seconds": self.seconds,
            "parameters": self.parameters,
            "gold_used": Ledger.of(self.gold_used).to_plain(),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """All rows, and how far every two systems agree."""

    rows: tuple[Row, ...]
    agreement: NDArray[np.float64]  # (r, r): of the systems that ran, in the order of `ran`
    classes: tuple[str, ...]
    documents: int
    covered: int
    hidden: int  # documents whose votes were hidden for `unseen`
    seeds: int
    encoder: str
    scored_on: str | None
    repeats: int
    ledger: Ledger

    @property
    def ran(self) -> tuple[Row, ...]:
        """The rows of systems that did not fail."""
        return tuple(row for row in self.rows if row.failure is None)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows of those that did."""
        return tuple(row for row in self.rows if row.failure is not None)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "documents": self.documents,
            "covered": self.covered,
            "hidden": self.hidden,
            "seeds": self.seeds,
            "encoder": self.encoder,
            "classes": list(self.classes),
            "scored_on": self.scored_on,
            "repeats": self.repeats,
            "systems": [row.to_plain() for row in self.rows],
            "agreement": {
                "names": [row.entry.name for row in self.ran],
                "shares": self.agreement.tolist(),
            },
            "gold_used": self.ledger.to_plain(),
        }


def chosen(methods: str | None) -> tuple[Entry, ...]:
    """The systems behind `--methods`: names with commas between, "all", or None for a quick choice.

    >>> [e.title for e in chosen("majority-vote, bert-mlp")]
    ['Majority vote', 'BERT-MLP']
    """
    if methods is None:
        return tuple(entry(name) for name in QUICK)
    if methods.strip() == "all":
        return SYSTEMS
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise InputError("--methods names no system: give names with commas between, or all")
    return tuple(entry(name) for name in dict.fromkeys(names))


def compare(
    task: ComparisonTask,
    entries: Sequence[Entry],
    *,
    seeds: int = 2,
    first_seed: int = 0,
    progress: Progress = SILENT,
) -> Comparison:
    """Fit every system once for each seed, and once more with some votes hidden."""
    documents = task.documents
    hidden = hidden_rows(documents.features, documents.votes, first_seed)
    numbers = tuple(range(first_seed, first_seed + seeds))
    fits = seeds + int(hidden.any())
    with stage(progress, "comparing", fits * len(entries), "fits"):
        found = [(e, try_system(e, task, numbers, hidden, progress)) for e in entries]
    answers = [result.training[0] for _, result in found if isinstance(result, Answers)]
    scored = task.scored
    return Comparison(
        rows=tuple(_row(e, result, task) for e, result in found),
        agreement=agreement(answers),
        classes=documents.votes.classes,
        documents=documents.n,
        covered=int(documents.votes.covered.sum()),
        hidden=int(hidden.sum()),
        seeds=seeds,
        encoder=task.encoder,
        scored_on=scored.origin if scored else None,
        repeats=scored.repeats if scored else 0,
        ledger=_ledger(task, found),
    )


def agreement(answers: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """(r, r): the share of documents to which every two of r systems give the same answer.

    >>> agreement([np.array([0, 1]), np.array([0, 0])]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return np.array([[float((a == b).mean()) for b in answers] for a in answers]).reshape(
        len(answers), len(answers)
    )


def stability(answers: NDArray[np.int64]) -> float | None:
    """The share of answers that two fits have in common, the mean over all pairs of f fits, (f, n).

    >>> stability(np.array([[0, 1, 1, 0], [0, 1, 1, 1]]))
    0.75
    """
    pairs = list(combinations(answers, 2))
    return float(np.mean([(a == b).mean() for a, b in pairs])) if pairs else None


def _row(entry: Entry, result: Answers | Failed, task: ComparisonTask) -> Row:
    if isinstance(result, Failed):
        return Row(entry, failure=result.reason)
    winners = majority_vote(task.documents.votes)
    clear = winners >= 0
    follows = float((result.training[0] == winners)[clear].mean()) if clear.any() else None
    gold = None
    if task.scored is not None and result.scored is not None:
        gold = gold_scores(task.scored.gold, result.scored)
    return Row(
        entry,
        stability=stability(result.training),
        majority=follows,
        unseen=result.unseen,
        gold=gold,
        seconds=result.seconds,
        parameters=result.parameters,
        gold_used=result.gold_used,
    )


def _ledger(task: ComparisonTask, found: Sequence[tuple[Entry, Answers | Failed]]) -> Ledger:
    """Every use of true labels, with the systems that it was for."""
    ran = [(e.name, result) for e, result in found if isinstance(result, Answers)]
    users: dict[tuple[Use, int], list[str]] = {}
    for name, result in ran:
        for used in result.gold_used:
            users.setdefault((used.use, used.labels), []).append(name)
    ledger = Ledger()
    for (use, labels), names in users.items():
        every = len(names) == len(ran) > 1
        ledger = ledger.add(use, labels, "every system" if every else ", ".join(names))
    if task.scored is not None:
        ledger = ledger.add(Use.SCORING, len(task.scored.gold), task.scored.origin)
    return ledger


def _plain(share: Share) -> dict[str, float | None]:
    """A figure and its interval; null where there was nothing to score."""
    known = not math.isnan(share.value)
    return {
        "value": share.value if known else None,
        "low": share.low if known else None,
        "high": share.high if known else None,
    }
