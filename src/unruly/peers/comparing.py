"""One system of a comparison: fitted several times, asked, or reported with why it could not be."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, UnrulyError
from unruly.peers.comparison_task import ComparisonTask
from unruly.peers.system import Documents, Fitted, Lesson
from unruly.peers.systems import Entry
from unruly.peers.unseen_votes import unseen_likelihood, without_votes
from unruly.progress import Progress

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a system says after each of f fits: one for each seed, and one without the hidden votes."""

    training: Labels  # (f, n): of the training documents
    scored: Labels | None  # (s, d): of the scored documents, one row for each seed
    unseen: float | None  # log-likelihood of the hidden votes
    seconds: float  # processor time of a fit, the mean over seeds
    parameters: int
    gold_used: tuple[str, ...]


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
        None if scored is None else np.stack([_answers(f, scored.documents) for f in fits]),
        unseen,
        seconds,
        fits[0].parameters,
        fits[0].gold_used,
    )


def _fit(
    entry: Entry, task: ComparisonTask, documents: Documents, seed: int, progress: Progress
) -> Fitted:
    clean = task.taught if entry.needs_gold else task.clean
    lesson = Lesson(documents, seed, task.prior, clean=clean, keywords=task.keywords)
    return entry.build().fit(lesson, progress)


def _answers(fitted: Fitted, documents: Documents) -> Labels:
    proba = fitted.predict_proba(documents)  # (n, m)
    if proba.shape != (documents.n, documents.votes.m) or not np.isfinite(proba).all():
        raise InputError(
            f"its answers are of the shape {proba.shape} or not finite: expected a probability for each "
            f"of {documents.n} documents and {documents.votes.m} classes"
        )
    return np.asarray(proba.argmax(axis=1), np.int64)
