"""What is trained on: documents with features, votes and labels, laid out for one step at a time.

Three facts, all exact, make a step cheap: documents with the same features get the same prediction, so
the classifier sees each distinct row once; and the two of `denoiser`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.learner import Gold, check_features
from unruly.paper.attention import cast, even_split, outcomes, sum_by_source
from unruly.paper.denoiser import Attended, contested
from unruly.paper.pseudo_labels import majority_labels, pseudo_labels
from unruly.settings import PaperSettings
from unruly.statistics import Float32, log_softmax
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import ABSTAIN, Votes

_CHUNK = 65_536  # documents looked at together, so that memory stays bounded
_MOST_NUMBERS = 2**26  # feature matrices above 256 MB are not searched for repeated rows
Whole = NDArray[np.intp]


@dataclass(eq=False)
class TrainingSet:
    """n documents. D_L: matched by more than p sources, or with a known label. D_U: the rest.

    Training renews `labels` in place; all else stays.
    """

    features: Features
    matrix: NDArray[np.int8]  # (n, k)
    m: int
    votes_at_all: NDArray[np.bool_]  # (k,): sources with a vote; the others are left out entirely
    supervised: NDArray[np.bool_]  # (n,): D_L for the classifier
    matched: NDArray[np.bool_]  # (n,): D_L for the denoiser: supervised, and with a vote
    fixed: NDArray[np.bool_]  # (n,): labels that are never renewed
    labels: Float32  # (n, m): the current labels, as distributions
    weights: Float32  # (n,)
    codes: Whole  # (c,), sorted: the pairs source * (m + 1) + outcome that occur
    attention: str
    centre: Float32 | None  # (d,)
    scale: Float32 | None  # (d,)

    @property
    def n(self) -> int:
        """How many documents."""
        return len(self.matrix)

    def rows(self, index: Whole) -> Float32:
        """(rows, d): the features of some documents, as the networks see them."""
        values = self.features.take(index).matrix()
        return standardised(np.ascontiguousarray(values, dtype=np.float32), self.centre, self.scale)

    def cells(self, rows: Whole | slice) -> SparseVotes:
        """The cells of some documents that the softmax of Eq. 1 runs over."""
        return outcomes(self.matrix[rows], self.m, self.attention, self.votes_at_all)

    def target(self, rows: Whole) -> Float32:
        """(rows, m): the current labels of some documents, times their weights."""
        return np.asarray(self.labels[rows] * self.weights[rows, None])

    def renew(self, rows: Whole, votes: SparseVotes, reliability: NDArray[np.float64]) -> int:
        """Equation 2: new pseudo-labels for matched documents, clean ones excepted; how many changed."""
        fresh = pseudo_labels(reliability, votes)
        keep = self.fixed[rows] | ~self.matched[rows]
        fresh = np.where(keep[:, None], self.labels[rows], fresh)
        changed = int((fresh != self.labels[rows]).any(axis=1).sum())
        self.labels[rows] = fresh
        return changed

    def renew_all(self, reliability: NDArray[np.float64]) -> int:
        """The same for all documents."""
        changed = 0
        for start in range(0, self.n, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, self.n))
            votes = SparseVotes.from_matrix(self.matrix[rows], self.m)
            changed += self.renew(rows, votes, reliability)
        return changed


def prepare(
    features: Features,
    votes: Votes,
    settings: PaperSettings,
    *,
    hidden: NDArray[np.bool_],  # (n,): documents whose votes are held out of training
    clean: Gold,
    weights: NDArray[np.floating[Any]] | None,
) -> TrainingSet:
    """Check the parts against each other and put them together."""
    n, m = votes.n, votes.m
    check_features(features, votes)
    matrix = votes.hard  # the paper knows votes for one class only
    if hidden.any():
        matrix = np.where(hidden[:, None], np.int8(ABSTAIN), matrix)
    weight = _weights(weights, n)
    known = clean >= 0
    count = (matrix >= 0).sum(axis=1)
    labels = _majority(matrix, m)
    supervised = ((count > settings.p) | known) & (weight > 0)
    labels[known] = np.eye(m, dtype=np.float32)[clean[known]]
    if not supervised.any():
        raise InputError(_nothing_to_learn_from(votes, settings))
    centre, scale = moments(features) if settings.standardise else (None, None)
    votes_at_all = (matrix != ABSTAIN).any(axis=0)
    return TrainingSet(
        features=features,
        matrix=matrix,
        m=m,
        votes_at_all=votes_at_all,
        supervised=supervised,
        matched=supervised & (count > 0),
        fixed=known,
        labels=labels,
        weights=weight,
        codes=_codes(matrix, m, settings.attention, votes_at_all),
        attention=settings.attention,
        centre=centre,
        scale=scale,
    )


@dataclass(frozen=True, eq=False)
class Batch:
    """The documents of one step."""

    n: int
    features: Float32  # (u, d): distinct rows
    memory: Whole | None  # (u,): their places in the temporal ensemble; None for all in order
    uncontested: (
        Float32  # (u, m): labels times weights of supervised documents that are not contested
    )
    unmatched: Float32  # (u,): how many documents of D_U each row stands for
    attended: Attended
    group: Whole  # (contested,): the distinct row of each contested document
    received: NDArray[np.float64]  # (k,): attention of documents with a single cell
    even: NDArray[np.float64]  # (k,): what an even split would give
    l1_uncontested: float  # the denoiser's loss on documents that are not contested
    matched: int
    supervised: int

    def target(self, contested: Float32) -> Float32:
        """(u, m): labels times weights of all supervised documents, summed over equal rows."""
        target = self.uncontested.copy()
        np.add.at(target, self.group, contested)
        return target


def make_batch(data: TrainingSet, rows: Whole, whole: bool) -> Batch:
    """Lay out some documents, in ascending order; `whole` when they are the only batch of an epoch."""
    values = data.rows(rows)  # (n, d)
    first, group = _distinct(values) if whole else (np.arange(len(rows)), np.arange(len(rows)))
    cells = data.cells(rows)
    matched = data.matched[rows]
    differs = contested(cells) & matched
    mass = data.target(rows) * data.supervised[rows, None]  # (n, m)
    seen = cells.take(np.flatnonzero(matched))
    alone = np.diff(seen.onehot.indptr)[seen.row] == 1
    return Batch(
        n=len(rows),
        features=values if len(first) == len(values) else values[first],
        memory=None if whole else rows,
        uncontested=_sum_rows(mass * ~differs[:, None], group, len(first)),
        unmatched=np.bincount(group, weights=~data.supervised[rows], minlength=len(first)).astype(
            np.float32
        ),
        attended=_attended(data, rows, values, cells, matched, differs),
        group=group[differs],
        received=sum_by_source(seen, alone & cast(seen)),
        even=even_split(seen),
        l1_uncontested=_uncontested_loss(cells, mass * (matched & ~differs)[:, None]),
        matched=int(matched.sum()),
        supervised=int(data.supervised[rows].sum()),
    )


def _attended(
    data: TrainingSet,
    rows: Whole,
    values: Float32,
    cells: SparseVotes,
    matched: NDArray[np.bool_],
    differs: NDArray[np.bool_],
) -> Attended:
    agreeing = matched & ~differs & (np.diff(cells.onehot.indptr) > 1)
    order = np.concatenate([np.flatnonzero(differs), np.flatnonzero(agreeing)])
    taken = cells.take(order)
    return Attended(
        rows=rows[order],
        features=values[order],
        cells=taken,
        pair=np.searchsorted(data.codes, taken.onehot.indices),
        pairs=len(data.codes),
        contested=int(differs.sum()),
    )


def _distinct(values: Float32) -> tuple[Whole, Whole]:
    """The first place of each distinct row, in order, and the number of each row's group."""
    n, d = values.shape
    if values.size > _MOST_NUMBERS or d == 0:
        return np.arange(n), np.arange(n)
    keys = np.ascontiguousarray(values).view(np.dtype((np.void, d * values.itemsize))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[group]


def _sum_rows(values: Float32, group: Whole, groups: int) -> Float32:
    if groups == len(values):
        return values
    total = np.zeros((groups, values.shape[1]), dtype=np.float32)
    np.add.at(total, group, values)
    return total


def _uncontested_loss(cells: SparseVotes, mass: Float32) -> float:
    """-sum mass log z^, where all votes agree: y_ir (Eq. 3) is 1 at their class."""
    place = cells.row * cells.m + cells.outcome
    votes = np.bincount(place, minlength=cells.n * cells.m).reshape(cells.n, cells.m)
    return -float((mass * log_softmax((votes[:, :-1] > 0).astype(np.float64))).sum())


def moments(features: Features) -> tuple[Float32, Float32]:
    """(d,), (d,): the mean and the standard deviation of each feature (1 where it never changes)."""
    total = np.zeros(features.width)
    square = np.zeros(features.width)
    first = features.take(np.arange(min(1, features.n))).matrix().astype(np.float64).sum(axis=0)
    for start in range(0, features.n, _CHUNK):
        part = np.arange(start, min(start + _CHUNK, features.n))
        values = features.take(part).matrix().astype(np.float64) - first  # (rows, d)
        total += values.sum(axis=0)
        square += (values**2).sum(axis=0)
    mean = total / max(features.n, 1)
    deviation = np.sqrt(np.maximum(square / max(features.n, 1) - mean**2, 0))
    deviation[deviation < 1e-6] = 1
    return (mean + first).astype(np.float32), deviation.astype(np.float32)


def standardised(values: Float32, centre: Float32 | None, scale: Float32 | None) -> Float32:
    """(n, d): the features as the networks see them."""
    return values if centre is None or scale is None else (values - centre) / scale


def _majority(matrix: NDArray[np.int8], m: int) -> Float32:
    labels = np.zeros((len(matrix), m), dtype=np.float32)
    for start in range(0, len(matrix), _CHUNK):
        part = slice(start, start + _CHUNK)
        labels[part] = majority_labels(SparseVotes.from_matrix(matrix[part], m))
    return labels


def _codes(
    matrix: NDArray[np.int8], m: int, attention: str, votes_at_all: NDArray[np.bool_]
) -> Whole:
    used = np.zeros(matrix.shape[1] * (m + 1), dtype=np.bool_)
    for start in range(0, len(matrix), _CHUNK):
        part = outcomes(matrix[start : start + _CHUNK], m, attention, votes_at_all)
        used[part.onehot.indices] = True
    return np.flatnonzero(used)


def _weights(weights: NDArray[np.floating[Any]] | None, n: int) -> Float32:
    if weights is None:
        return np.ones(n, dtype=np.float32)
    given = np.asarray(weights, dtype=np.float32)
    if given.shape != (n,) or not np.isfinite(given).all() or (given < 0).any():
        raise InputError(
            f"weights must be {n} numbers, one for each document, none negative or NaN"
        )
    return given


def _nothing_to_learn_from(votes: Votes, settings: PaperSettings) -> str:
    most = int((votes.hard != ABSTAIN).sum(axis=1).max(initial=0))
    if most == 0:
        used = (
            " for one class alone, and the method paper uses no others" if votes.voted.any() else ""
        )
        return f"none of the {votes.n} documents has a vote{used}: write rules that match, or give clean labels"
    return (
        f"no document has more than p = {settings.p} votes (the most is {most}): lower p, "
        "or write rules that overlap"
    )
