"""One run made: a method learns, and everything that the tables need is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unruly import __version__
from unruly.bench.datasets import Dataset, Split
from unruly.bench.foretold_votes import foretold_votes
from unruly.bench.run import Matched, Noise, Outcome, Run
from unruly.bench.tuning import system_for
from unruly.errors import InputError
from unruly.model.metrics import calibration_error, confusion, f1_scores, macro_f1
from unruly.peers.system import Fitted, Lesson
from unruly.progress import SILENT, Progress
from unruly.training.clean_labels import Gold, share
from unruly.votes.votes import Votes

Keywords = tuple[tuple[str, ...], ...] | None


def make(
    run: Run, dataset: Dataset, keywords: Keywords = None, progress: Progress = SILENT
) -> Outcome:
    """Fit the method on one thread and score it.

    True labels reach the method only as the run says: `clean` ones of training documents, and with
    `selection` those of the validation documents. All else is for scoring.
    """
    lesson = lesson_for(run, dataset, keywords)
    with one_thread():
        cpu, clock = time.process_time(), time.perf_counter()
        fitted = system_for(run).fit(lesson, progress)
        spent = time.process_time() - cpu, time.perf_counter() - clock
        return measured(run, dataset, fitted, spent)


def lesson_for(run: Run, dataset: Dataset, keywords: Keywords = None) -> Lesson:
    """What the method may see."""
    train, valid = dataset.train, dataset.valid
    if run.selection == "gold" and (valid is None or not (valid.gold >= 0).any()):
        raise InputError(f"{dataset.name}: no validation labels, so they cannot choose the epoch")
    if run.clean is not None and not (train.gold >= 0).any():
        raise InputError(f"{dataset.name}: no training labels, so none can be given as clean ones")
    if run.prior is not None and len(run.prior) != train.documents.votes.m:
        raise InputError(
            f"{dataset.name}: a prior of {len(run.prior)} shares, but {train.documents.votes.m} classes"
        )
    return Lesson(
        documents=train.documents,
        seed=run.seed,
        prior=run.prior,
        clean=share(train.gold, run.clean, run.seed) if run.clean is not None else None,
        valid=(valid.documents, valid.gold) if valid and run.selection == "gold" else None,
        keywords=keywords if run.keywords.startswith("rules") else None,
    )


def measured(run: Run, dataset: Dataset, fitted: Fitted, spent: tuple[float, float]) -> Outcome:
    """The figures of a fitted method on all three splits."""
    proba, gold = _known(dataset.test, fitted.predict_proba(dataset.test.documents))
    answers = proba.argmax(axis=1)
    votes = dataset.test.documents.votes.take(dataset.test.gold >= 0)
    table = confusion(gold, answers, votes.m)
    train = dataset.train
    said = fitted.predict_proba(train.documents).argmax(axis=1)
    return Outcome(
        run=run,
        accuracy=float((answers == gold).mean()),
        f1=tuple(f1_scores(table).tolist()),
        macro_f1=macro_f1(table),
        ece=calibration_error(gold, proba),
        valid_accuracy=_accuracy(dataset.valid, fitted),
        foretold_votes=_foretold(run, dataset, fitted),
        cpu=spent[0],
        seconds=spent[1],
        parameters=fitted.parameters,
        gold_used=fitted.gold_used,
        documents=dataset.sizes,
        classes=votes.classes,
        by_matched=by_matched(votes, answers == gold),
        noise_before=majority_noise(train.documents.votes, train.gold),
        noise_after=noise(train.documents.votes, train.gold, said == train.gold),
        version=__version__,
    )


def by_matched(votes: Votes, right: NDArray[np.bool_]) -> tuple[Matched, ...]:
    """Documents by how many sources voted on them, and how many of them are right.

    >>> votes = Votes.from_array([[0, -1], [1, 1], [0, 1]])
    >>> by_matched(votes, np.array([True, True, False]))
    (Matched(sources=1, documents=1, right=1), Matched(sources=2, documents=2, right=1))
    """
    number = votes.voted.sum(axis=1)
    return tuple(
        Matched(int(count), int((number == count).sum()), int(right[number == count].sum()))
        for count in np.unique(number)
    )


def noise(votes: Votes, gold: Gold, credit: NDArray[np.generic]) -> Noise:
    """The share of wrong labels where the truth is known; `credit` is 1 for a right one."""
    known = gold >= 0
    wrong = 1.0 - credit.astype(np.float64)
    matched = known & votes.covered
    return Noise(
        float(wrong[matched].mean()) if matched.any() else math.nan,
        float(wrong[known].mean()) if known.any() else math.nan,
    )


def majority_noise(votes: Votes, gold: Gold) -> Noise:
    """The noise that majority vote may expect, ties and documents without votes by chance.

    >>> majority_noise(Votes.from_array([[0, 1], [0, 0], [-1, -1]]), np.array([0, 0, 1]))
    Noise(matched=0.25, all=0.3333333333333333)
    """
    counts = votes.counts()
    top = counts == counts.max(axis=1, keepdims=True)  # (n, m); all classes where nobody voted
    credit = top[np.arange(votes.n), np.maximum(gold, 0)] / top.sum(axis=1)
    return noise(votes, gold, credit)


@contextmanager
def one_thread() -> Iterator[None]:
    """Work on one thread: CPU seconds compare, and two runs do not slow each other down."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def _known(
    split: Split, proba: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return proba[split.gold >= 0], split.gold[split.gold >= 0]


def _accuracy(split: Split | None, fitted: Fitted) -> float:
    if split is None or not (split.gold >= 0).any():
        return math.nan
    proba, gold = _known(split, fitted.predict_proba(split.documents))
    return float((proba.argmax(axis=1) == gold).mean())


def _foretold(run: Run, dataset: Dataset, fitted: Fitted) -> float:
    """The score of a search without gold; elsewhere nobody asks for it."""
    if run.experiment != "search":
        return math.nan
    documents = (dataset.valid or dataset.train).documents
    return foretold_votes(fitted, documents)
