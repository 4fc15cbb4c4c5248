"""Estimates for all documents from labels: the accuracy of a model and the share of each class, with intervals.

    a  = sum_i w_i (r_i - l (c_i - C_i))                       over the labelled documents

r: whether the answer is right; c: its confidence, a control variate, and C the mean confidence on all documents of the
model that gave it; w: the weights of `answers`, which correct for how documents were drawn; l, from 0 to 1, the slope
of r on c - C. The interval is Wilson's with as many labels, drawn evenly, as would be as precise.

Labels that the model was trained on cannot judge it: they are held out in turn, in at most five parts, and the
model is fitted again without each part. All other labels judge the model as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.balance import Balance, from_labels
from unruly.errors import InputError
from unruly.findings import BalanceOrigin
from unruly.labelling.answers import Labelled, problem_lines
from unruly.labelling.sampling import from_votes
from unruly.ledger import GoldUse, Ledger, Use
from unruly.progress import SILENT, Progress, stage
from unruly.statistics import Z95, Float64, Share, paired_difference, sample_rows, wilson
from unruly.texts.columns import UNKNOWN
from unruly.votes.votes import Votes
from unruly.wording import plural

# Rows (r,), their labels and how much each counts (r,) -> (r, m): what a model that is fitted again on these predicts.
Refitted = Callable[[NDArray[np.intp], NDArray[np.int64], Float64], NDArray[np.float32]]
FOLDS = 5
_MOST = 20_000  # documents on which the model is fitted again
_EXTRA = 0.25  # squared error of one label that is added, so that a few without an error do not claim certainty
# What follows decides what is said, not what is estimated.
_NEARER = 2 / 3  # of today's half width: what more labels are counted for; about twice as many
_NARROW = 0.4  # half width below which a share is reported: beyond, nearly every share is possible
_WIDE = 0.1  # of an interval of accuracy: models that people choose between differ by less
_NONE = 1e-6  # labels that the shares count as before any label


@dataclass(frozen=True)
class AccuracyEstimate:
    """The accuracy of a model on all documents, estimated from labels."""

    accuracy: Share  # n: the effective sample size, in labels drawn evenly
    labels: int
    trained: int  # of these, that the model was trained on, and that were held out
    held_out: int  # parts in which they were; 0: the model has seen none
    gold: GoldUse
    right: NDArray[np.bool_] = field(
        repr=False, compare=False
    )  # (l,): its answers, in the order of the documents

    @property
    def wide(self) -> bool:
        """Whether the estimate of a model that is clearly better or worse could come out the same by chance."""
        return self.accuracy.high - self.accuracy.low > _WIDE

    @property
    def held(self) -> str:
        """What became of labels that the model was trained on, in words that follow their number."""
        if not self.trained:
            return ""
        refits = plural(self.held_out, "refit")
        if self.trained == self.labels:
            return f", held out in turn ({refits})"
        was = "was" if self.trained == 1 else "were"
        return f", of which {self.trained:,} {was} trained on and held out ({refits})"

    def __str__(self) -> str:
        a = self.accuracy
        return (
            f"accuracy about {a.value:.0%} ({a.low:.0%} to {a.high:.0%}), "
            f"from {plural(self.labels, 'label')}{self.held}"
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "accuracy": self.accuracy.value,
            "accuracy_low": self.accuracy.low,
            "accuracy_high": self.accuracy.high,
            "labels": self.labels,
            "worth": self.accuracy.n,
            "trained": self.trained,
            "held_out": self.held_out,
            "gold": {**asdict(self.gold), "use": self.gold.use.value},
        }


def weighted_accuracy(
    right: NDArray[np.bool_], confidence: Float64, everywhere: Float64 | float, weights: Float64
) -> Share:
    """The share of all documents that is right, with its interval.

    `right` and `confidence` (l,) are of labelled documents, `everywhere` is the mean confidence over all of the
    model, or for each document (l,) of the model that answered.

    >>> right = np.array([True] * 45 + [False] * 5)
    >>> print(weighted_accuracy(right, np.full(50, 0.9), 0.9, np.ones(50)))
    90.0% (78.6% to 95.7%)
    """
    w = weights / weights.sum()
    r = right.astype(np.float64)
    extra = _EXTRA * float(w.max())
    above = confidence - everywhere
    centred = above - w @ above
    slope = float(np.clip((w @ (centred * r)) / (w @ centred**2 + extra), 0.0, 1.0))
    rest = r - slope * above
    value = float(np.clip(w @ rest, 0.0, 1.0))
    plain, spread = float(w @ (r - w @ r) ** 2), float(w @ (rest - w @ rest) ** 2)
    even = 1 / float(w @ w)  # labels of equal weight that would tell as much
    size = round(even * (plain + extra) / (spread + extra))
    return wilson(value * size, max(size, 1))


def estimate_accuracy(
    proba: NDArray[np.floating[Any]],
    labelled: Labelled,
    held_out: HeldOut | None = None,
) -> AccuracyEstimate:
    """The accuracy of a model that gives `proba` (n, m) to these documents, of which some have labels.

    `held_out` judges the labels that the model was trained on; without it, it must have seen none.
    """
    rows = check_drawn(labelled)
    judged = np.asarray(proba[rows], np.float64)
    rest = labelled.numbers == UNKNOWN
    everywhere = judged.max(axis=1)  # where all have a label, nothing is to be told of others
    if rest.any():
        everywhere = np.full(len(rows), float(proba[rest].max(axis=1).mean()))
    if held_out is not None:
        places = np.searchsorted(rows, held_out.rows)
        judged[places] = held_out.proba
        everywhere[places] = held_out.everywhere
    right = np.asarray(judged.argmax(axis=1) == labelled.numbers[rows])
    share = weighted_accuracy(right, judged.max(axis=1), everywhere, labelled.weights[rows])
    return AccuracyEstimate(
        share,
        len(rows),
        trained=0 if held_out is None else len(held_out.rows),
        held_out=0 if held_out is None else held_out.folds,
        gold=GoldUse(Use.SCORING, len(rows), labelled.origin),
        right=right,
    )


@dataclass(frozen=True)
class AccuracyGain:
    """How much more accurate one model is than another, by the same labels."""

    gain: Share  # from -1 to 1; n: as many labels, drawn evenly
    changed: int  # labels on which one of the two is right and the other is wrong

    def __str__(self) -> str:
        g = self.gain
        value, low, high = (f"{round(100 * x):+d}" for x in (g.value, g.low, g.high))
        points = f"{value} points ({low} to {high})"
        if g.low <= 0 <= g.high:
            points += ": these labels do not tell which is better"
        return points

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        gain = self.gain
        return {
            "gain": gain.value,
            "gain_low": gain.low,
            "gain_high": gain.high,
            "changed": self.changed,
        }


def compare_accuracies(
    new: AccuracyEstimate, old: AccuracyEstimate, labelled: Labelled
) -> AccuracyGain:
    """What the same labels say of two models: much is alike for both, so this is more precise than either estimate."""
    d = new.right.astype(np.float64) - old.right
    gain = paired_difference(d, labelled.weights[labelled.rows])
    return AccuracyGain(gain, int((d != 0).sum()))


def check_drawn(labelled: Labelled) -> NDArray[np.intp]:
    """The rows whose labels can estimate for all documents; an error where there is none."""
    rows = labelled.rows
    if len(rows):
        return rows
    if not labelled.labels and labelled.problems:
        why = "; ".join(problem_lines(labelled.problems, labelled.origin or "the labels"))
        raise InputError(f"{why}: no label is left to estimate from")
    if not labelled.labels:
        raise InputError("no document has a label yet: `unruly label PROJECT` asks for some")
    raise InputError(
        "no label was drawn at random from all documents, so the accuracy cannot be estimated: label some "
        "with --by balance or --by random"
    )


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for documents whose labels a model was trained on, by models that have not seen them."""

    rows: NDArray[np.intp]  # (l,), in order
    proba: Float64  # (l, m)
    everywhere: Float64  # (l,): the mean confidence, on documents without a label, of the model that answered
    folds: int


def hold_out(
    refitted: Refitted,
    trained: Labelled,
    rows: NDArray[np.intp],
    *,
    unlabelled: NDArray[np.bool_] | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> HeldOut:
    """Hold the labels of some rows (l,) out in turn, in at most five parts, and fit again without each.

    `trained` are all labels of the training; `unlabelled` (n,) marks the documents that have none now.
    """
    folds = min(FOLDS, len(rows))
    fold = np.random.default_rng(seed).permutation(np.arange(len(rows)) % folds)
    known = np.flatnonzero(trained.numbers != UNKNOWN)
    some = np.union1d(known, sample_rows(len(trained.numbers), _MOST, seed))
    others = (trained.numbers == UNKNOWN if unlabelled is None else unlabelled)[some]
    places = np.searchsorted(some, rows)
    parts, everywhere = list[Float64](), np.zeros(len(rows))
    with stage(progress, "holding labels out", folds, "fits"):
        for f in range(folds):
            out = fold == f
            clean = trained.numbers[some]
            clean[places[out]] = UNKNOWN
            answers = refitted(some, clean, trained.weights[some])  # (s, m)
            parts.append(np.asarray(answers[places[out]], np.float64))
            sure = answers.max(axis=1)
            everywhere[out] = sure[others].mean() if others.any() else sure[places[out]]
            progress.advance(1)
    found = np.concatenate(parts)[np.argsort(np.argsort(fold, kind="stable"))]  # (l, m): as `rows`
    return HeldOut(rows, found, everywhere, folds)


@dataclass(frozen=True)
class BalanceEstimate:
    """Class shares with their 95 % intervals, from labels alone."""

    classes: tuple[str, ...]
    shares: tuple[float, ...]
    half_widths: tuple[float, ...]  # of the intervals
    labels: int  # behind it
    worth: float  # labels drawn evenly, without a model, that would be as precise
    left: int  # documents without an answer

    @property
    def widest(self) -> int:
        """The class that is known least."""
        return int(np.argmax(self.half_widths))

    @property
    def narrow(self) -> bool:
        """Whether the intervals are narrow enough to report."""
        return self.half_widths[self.widest] < _NARROW

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    def sentence(self) -> str:
        """What is known, and what more labels would do.

        >>> found = BalanceEstimate(("ham", "spam"), (0.7, 0.3), (0.09, 0.09), 10, 20.0, left=990)
        >>> print(found.sentence())
        the share of ham is now known to ± 9 points (70%); 13 more labels would make it ± 6
        """
        c = self.widest
        name, share, half = self.classes[c], self.shares[c], 100 * self.half_widths[c]
        if not self.left:
            return f"the share of {name} is {share:.0%}: every document has an answer"
        return (
            f"the share of {name} is now known to ± {half:.0f} points ({share:.0%}); "
            f"{plural(self.more, 'more label')} would make it ± {_NEARER * half:.0f}"
        )

    @property
    def more(self) -> int:
        """The labels that would make the interval a third narrower, of the documents that are left."""
        all_documents = 1 / (self.labels + self.left)
        wanted = _NEARER**2 * (1 / self.labels - all_documents) + all_documents
        return math.ceil(1 / wanted - self.labels - 1e-9)  # rounding


def balance_beside_model(
    labelled: Labelled,
    votes: Votes,
    proba: NDArray[np.floating[Any]] | None,
    ledger: Ledger | None,
) -> BalanceEstimate | None:
    """The shares of all documents, beside a model's predictions `proba` (n, m), if there is one, and its ledger.

    Predictions that were learnt from labels are no independent control variate: then the votes are used.
    """
    if proba is None or ledger is None or ledger.used_for(Use.TRAINING):
        proba = from_votes(votes)
    return estimate_balance(labelled, proba, votes.classes)


def estimate_balance(
    labelled: Labelled, proba: NDArray[np.floating[Any]], classes: tuple[str, ...]
) -> BalanceEstimate | None:
    """The shares of all documents; None where no label tells about all of them.

    `proba` (n, m) is a control variate, which must not have been learnt from these labels: predictions that are
    often right make the interval narrower, and wrong ones do no harm (see `denoising.balance`). The share of the
    documents that have no answer yet scales the variance: where all have one, the shares are known.
    """
    rows = labelled.rows
    if not len(rows):
        return None
    weights = labelled.weights[rows]
    even = Balance(np.full(len(classes), 1 / len(classes)), _NONE, BalanceOrigin.ASSUMED)
    q = np.asarray(proba, np.float64)
    truth = np.asarray(labelled.numbers[rows], np.intp)
    known = from_labels(even, lambda _: q, rows, truth, weights / weights.sum())
    n = max(known.labels, 1.0)
    centre = (known.shares * n + 1) / (n + 2)  # a class that was never seen is not known exactly
    left = int((~labelled.answered).sum())
    shares = known.shares if left else np.bincount(truth, minlength=len(classes)) / len(truth)
    half = Z95 * np.sqrt(centre * (1 - centre) / n * left / (left + len(rows)))
    return BalanceEstimate(
        classes=classes,
        shares=tuple(shares.tolist()),
        half_widths=tuple(np.minimum(half, 1.0).tolist()),
        labels=len(rows),
        worth=float(n),
        left=left,
    )
