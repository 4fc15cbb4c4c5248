"""What is trained on: the documents' features, votes and labels, and which of them are matched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.settings import Settings
from unruly.training.cells import Cells, VoteTable
from unruly.training.clean_labels import Gold, checked
from unruly.training.pseudo_labels import majority_vote, pseudo_labels
from unruly.votes.votes import ABSTAIN, Votes

_CHUNK = 65_536  # documents looked at together, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """n documents. D_L: matched by more than p sources, or with a known label. D_U: the rest."""

    features: Features
    matrix: NDArray[np.int8]  # (n, k): the votes of the sources that voted at all
    m: int
    voting: NDArray[np.int64]  # (k,): which of the user's sources they are
    supervised: NDArray[np.bool_]  # (n,): D_L for the classifier
    matched: NDArray[np.bool_]  # (n,): D_L for the denoiser: supervised, and with a vote
    fixed: NDArray[np.bool_]  # (n,): labels that are never renewed
    labels: NDArray[np.float32]  # (n, m): the current labels, as distributions
    weights: NDArray[np.float32]  # (n,)
    table: VoteTable
    attention: str
    centre: NDArray[np.float32] | None  # (d,)
    scale: NDArray[np.float32] | None  # (d,)

    @property
    def n(self) -> int:
        return len(self.matrix)

    def rows(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """(rows, d): the features of some documents, as the networks see them."""
        values = self.features.take(index).matrix()
        return standardised(np.ascontiguousarray(values, dtype=np.float32), self.centre, self.scale)

    def renew(self, reliability: NDArray[np.float64]) -> int:
        """Give contested documents new pseudo-labels (Eq. 2); tells how many changed."""
        changed = 0
        for start in range(0, self.n, _CHUNK):
            part = slice(start, start + _CHUNK)
            cells = Cells.of(self.matrix[part], self.m, "voters")
            fresh = pseudo_labels(reliability, cells)
            open_to = self.matched[part] & ~self.fixed[part]
            changed += int((open_to & (fresh != self.labels[part]).any(axis=1)).sum())
            self.labels[part][open_to] = fresh[open_to]
        return changed


def prepare(
    features: Features,
    votes: Votes,
    settings: Settings,
    *,
    hidden: NDArray[np.bool_],  # (n,): documents whose votes are hidden from training
    clean: Gold | None,
    targets: NDArray[np.floating[Any]] | None,
    weights: NDArray[np.floating[Any]] | None,
) -> TrainingSet:
    """Check the parts against each other and put them together."""
    n, m = votes.n, votes.m
    check_features(features, votes)
    gold = checked(clean, n, m)
    matrix = (
        np.where(hidden[:, None], np.int8(ABSTAIN), votes.matrix) if hidden.any() else votes.matrix
    )
    voting = np.flatnonzero((matrix != ABSTAIN).any(axis=0))
    matrix = matrix[:, voting]
    weight = _weights(weights, n)
    known = gold >= 0
    count = (matrix >= 0).sum(axis=1)
    if targets is None:
        labels = _majority(matrix, m)
        supervised = ((count > settings.p) | known) & (weight > 0)
        fixed = known.copy()
    else:
        labels = _targets(targets, n, m)
        supervised = (weight > 0) & ((labels.sum(axis=1) > 0) | known) & (~hidden | known)
        fixed = np.ones(n, dtype=np.bool_)
    labels[known] = np.eye(m, dtype=np.float32)[gold[known]]
    if not supervised.any():
        raise InputError(_nothing_to_learn_from(votes, settings))
    centre, scale = moments(features) if settings.standardise else (None, None)
    return TrainingSet(
        features=features,
        matrix=matrix,
        m=m,
        voting=voting,
        supervised=supervised,
        matched=supervised & (count > 0),
        fixed=fixed,
        labels=labels,
        weights=weight,
        table=_table(matrix, m, settings.attention),
        attention=settings.attention,
        centre=centre,
        scale=scale,
    )


def check_features(features: Features, votes: Votes) -> None:
    """Refuse features of other documents, or with NaN in them."""
    if features.n != votes.n:
        raise InputError(
            f"there are features of {features.n} documents and votes on {votes.n}: they must be the same"
        )
    for block in features.blocks:
        for start in range(0, features.n, _CHUNK):
            good = np.isfinite(block.values[start : start + _CHUNK]).all(axis=1)
            if not good.all():
                row = start + int(np.flatnonzero(~good)[0])
                raise InputError(
                    f"{block.name}, row {row}: a feature is NaN or infinite; encode that text again or leave it out"
                )


def check_known(
    features: Features,
    votes: Votes,
    sources: tuple[str, ...],
    classes: tuple[str, ...],
    width: int,
) -> None:
    """Refuse votes and features other than those that a learner was trained on."""
    if votes.sources != sources:
        odd = sorted(set(votes.sources) ^ set(sources))
        raise InputError(
            f"the model knows the sources {', '.join(sources) or '(none)'}, in this order; these votes "
            f"have {', '.join(votes.sources) or '(none)'}"
            + (f" (differing: {', '.join(odd)})" if odd else "")
        )
    if votes.classes != classes:
        raise InputError(
            f"the model knows the classes {', '.join(classes)}; these votes have {', '.join(votes.classes)}"
        )
    if features.width != width:
        raise InputError(
            f"the model was trained on {width} features for each document, not {features.width}: "
            "encode with the encoder that it was trained with"
        )
    check_features(features, votes)


def moments(features: Features) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
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


def standardised(
    values: NDArray[np.float32],
    centre: NDArray[np.float32] | None,
    scale: NDArray[np.float32] | None,
) -> NDArray[np.float32]:
    """(n, d): the features as the networks see them."""
    return values if centre is None or scale is None else (values - centre) / scale


def _majority(matrix: NDArray[np.int8], m: int) -> NDArray[np.float32]:
    labels = np.zeros((len(matrix), m), dtype=np.float32)
    for start in range(0, len(matrix), _CHUNK):
        part = slice(start, start + _CHUNK)
        labels[part] = majority_vote(Cells.of(matrix[part], m, "voters"))
    return labels


def _table(matrix: NDArray[np.int8], m: int, attention: str) -> VoteTable:
    codes = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(matrix), _CHUNK):
        codes.append(np.unique(Cells.of(matrix[start : start + _CHUNK], m, attention).codes))
    return VoteTable(np.unique(np.concatenate(codes)), m)


def _weights(weights: NDArray[np.floating[Any]] | None, n: int) -> NDArray[np.float32]:
    if weights is None:
        return np.ones(n, dtype=np.float32)
    given = np.asarray(weights, dtype=np.float32)
    if given.shape != (n,) or not np.isfinite(given).all() or (given < 0).any():
        raise InputError(
            f"weights must be {n} numbers, one for each document, none negative or NaN"
        )
    return given


def _targets(targets: NDArray[np.floating[Any]], n: int, m: int) -> NDArray[np.float32]:
    given = np.array(targets, dtype=np.float32)
    if given.shape != (n, m) or not np.isfinite(given).all() or (given < 0).any():
        raise InputError(
            f"targets must be a matrix of {n} documents × {m} classes, none negative or NaN, "
            f"not of shape {given.shape}"
        )
    return given


def _nothing_to_learn_from(votes: Votes, settings: Settings) -> str:
    most = int(votes.voted.sum(axis=1).max(initial=0))
    if most == 0:
        return f"none of the {votes.n} documents has a vote: write rules that match, or give clean labels"
    return (
        f"no document has more than p = {settings.p} votes (the most is {most}): lower p, "
        "or write rules that overlap"
    )
