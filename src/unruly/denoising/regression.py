"""Cross-fitted softmax regression: the probability of each class, from a model that has not seen the document.

    min over W_f of  sum_i w_if CE(q_i, softmax(x_i W_f)) + lam/2 |W_f|^2,   f = 1 .. F + 1

w_if is 0 for the documents of fold f, so that model f predicts them unseen; model F + 1 is trained on all
documents and predicts new ones. All F + 1 problems share each pass over the features. The steps are
Nesterov's, preconditioned with

    M = X^T X / 2n + lam I,   which is above the Hessian where all documents count alike (Boehning's bound),

inverted once. In the first round only documents with votes count; a bound of their own, computed anew, gives the same
accuracies. All functions are pure: `descend` takes weights and gives new ones.

A model trained without a fold underestimates the classes of that fold, and would contradict the labels of a handful of
documents. So each held-out prediction is moved from the class shares of the other folds to those of all documents:
log p_f + log s - log s_f,  where s_f has one more document, of shares s. These models are trained with that document as
well, at the centre of the features: where they have not seen a class, their bias would run away.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.features.lsa import Projected
from unruly.statistics import Float32, Float64, log_softmax, softmax

_CHUNK = 16_384  # documents multiplied together
_KEPT = 2**28  # numbers: below a gigabyte the scaled features are kept, above made as needed
_WIDEST = 4_096  # features: beyond it the preconditioner is a number, not a matrix


@dataclass(frozen=True, eq=False)
class SoftmaxRegression:
    """p(y | x) = softmax(W^T scale (x - centre) + bias), for new documents."""

    centre: Float32  # (d,)
    scale: float
    weights: Float32  # (d, m)
    bias: Float32  # (m,)

    def log_proba(self, values: Float32 | Projected) -> Float64:
        """(n, m): log-probabilities of the classes."""
        scaled = (values - self.centre) * self.scale
        return log_softmax((scaled @ self.weights + self.bias).astype(np.float64))


@dataclass(frozen=True, eq=False)
class CrossFitting:
    """The F + 1 regressions on the features (n, d) of one encoder, before any weights."""

    values: Float32  # (n, d), as given
    kept: Float32 | None  # (n, d), centred and scaled, where they fit in memory
    centre: Float32  # (d,)
    scale: float  # makes the mean of |x - centre|^2 one
    fold: NDArray[np.intp]  # (n,): the fold of each document
    folds: int
    penalty: Float32  # (d + 1, 1): lam, and almost nothing for the bias
    inverse: Float32  # (d + 1, d + 1): M^-1; or (1, 1), for very wide features

    @classmethod
    def of(cls, values: Float32, fold: NDArray[np.intp], folds: int, l2: float) -> CrossFitting:
        """Centre, scale and precondition; lam = l2 / n.

        >>> x = np.array([[0.0], [0.1], [1.0], [0.9]], np.float32)
        >>> text = CrossFitting.of(x, np.array([0, 1, 0, 1]), 2, l2=0.1)
        >>> q, mass = np.eye(2)[[0, 0, 1, 1]], np.ones(4)
        >>> text.held_out(text.descend(None, q, mass, steps=50), q, mass).argmax(axis=1).tolist()
        [0, 0, 1, 1]
        """
        n, d = values.shape
        centre, scale = _moments(values)
        kept = _scaled(values, centre, scale) if values.size <= _KEPT else None
        penalty = np.full((d + 1, 1), l2 / max(n, 1), np.float32)
        penalty[-1] = 1e-6  # the bias is free
        bare = cls(values, kept, centre, scale, fold, folds, penalty, np.empty((0, 0), np.float32))
        inverse = bare._preconditioner()
        return cls(values, kept, centre, scale, fold, folds, penalty, inverse)

    def descend(
        self, weights: Float32 | None, targets: Float64, mass: Float64, steps: int
    ) -> Float32:
        """(d + 1, (F + 1) m): so many steps towards the soft targets (n, m) of documents with mass (n,)."""
        m = targets.shape[1]
        if weights is None:
            weights = np.zeros((len(self.penalty), (self.folds + 1) * m), np.float32)
        q, w = targets.astype(np.float32), self._fold_mass(mass)
        anchor, hold = self._anchor(targets, mass)
        old = ahead = weights
        t = 1.0
        for _ in range(steps):
            gradient = self._gradient(ahead, q, w) + self.penalty * ahead
            gradient[-1] += (hold * (softmax(ahead[-1].reshape(-1, m)) - anchor)).ravel()
            new = ahead - (
                self.inverse @ gradient if len(self.inverse) > 1 else self.inverse * gradient
            )
            following = (1 + (1 + 4 * t * t) ** 0.5) / 2
            ahead = new + np.float32((t - 1) / following) * (new - old)
            old, t = new, following
        return old

    def held_out(self, weights: Float32, targets: Float64, mass: Float64) -> Float64:
        """(n, m): log-probabilities, each document predicted by the model that did not see it, nor its class share."""
        m = weights.shape[1] // (self.folds + 1)
        predicted = np.empty((len(self.values), m))
        for part, x in self._rows():
            logits = (x @ weights[:-1] + weights[-1]).reshape(len(x), self.folds + 1, m)
            predicted[part] = logits[np.arange(len(x)), self.fold[part]]
        return log_softmax(predicted + self._unseen_shares(targets, mass)[self.fold])

    def regression(self, weights: Float32) -> SoftmaxRegression:
        """The model that was trained on all documents."""
        m = weights.shape[1] // (self.folds + 1)
        last = weights[:, self.folds * m :]
        return SoftmaxRegression(self.centre, self.scale, last[:-1].copy(), last[-1].copy())

    def _rows(self) -> Iterator[tuple[slice, Float32]]:
        """The scaled features, some documents at a time."""
        for start in range(0, len(self.values), _CHUNK):
            part = slice(start, start + _CHUNK)
            if self.kept is not None:
                yield part, self.kept[part]
            else:
                yield part, _scaled(self.values[part], self.centre, self.scale)

    def _gradient(self, weights: Float32, q: Float32, w: Float32) -> Float32:
        """(d + 1, (F + 1) m): of the weighted cross-entropy."""
        total = np.zeros_like(weights)
        for part, x in self._rows():
            logits = (x @ weights[:-1] + weights[-1]).reshape(len(x), self.folds + 1, -1)
            slope = softmax(logits)
            slope -= q[part, None]
            slope *= w[part, :, None]
            flat = slope.reshape(len(x), -1)
            total[:-1] += x.T @ flat
            total[-1] += flat.sum(axis=0)
        return total

    def _anchor(self, targets: Float64, mass: Float64) -> tuple[Float32, Float32]:
        """(m,), (F + 1, 1): the class shares of all documents, and the mass of one more document with these shares.

        The model of all documents has seen every class, and does without.
        """
        total = mass @ targets  # (m,)
        shares = total / max(float(total.sum()), 1e-9)
        own = np.bincount(self.fold, mass, self.folds)  # (F,)
        hold = np.append(1 / (mass.sum() - own + 1), 0)[:, None]
        return shares.astype(np.float32), hold.astype(np.float32)

    def _fold_mass(self, mass: Float64) -> Float32:
        """(n, F + 1): w_if, each column summing to 1 (or all 0, where nothing is left to learn from)."""
        w = np.repeat(mass[:, None], self.folds + 1, axis=1)
        w[np.arange(len(mass)), self.fold] = 0
        return np.asarray(w / np.maximum(w.sum(axis=0), 1e-9), np.float32)

    def _unseen_shares(self, targets: Float64, mass: Float64) -> Float64:
        """(F, m): log s - log s_f, the classes' shares in all documents beside those in the other folds, unnormalised."""
        weighted = targets * mass[:, None]
        total = weighted.sum(axis=0)  # (m,)
        own = np.stack([weighted[self.fold == f].sum(axis=0) for f in range(self.folds)])
        shares = np.maximum(total / max(float(total.sum()), 1e-9), 1e-9)
        others = total - own + shares  # (F, m)
        return np.asarray(np.log(shares) - np.log(others))

    def _preconditioner(self) -> Float32:
        n, d = self.values.shape
        if d > _WIDEST:  # the trace of X^T X / 2n is one
            return np.full((1, 1), 1 / (1 + self.penalty.max()), np.float32)
        square = np.zeros((d + 1, d + 1), np.float64)
        for _, x in self._rows():
            square[:-1, :-1] += x.T @ x
            square[-1, :-1] += x.sum(axis=0)
        square[:-1, -1] = square[-1, :-1]
        square[-1, -1] = n
        square *= 0.5 / max(n, 1)
        square[np.diag_indices(d + 1)] += self.penalty[:, 0]
        return np.asarray(np.linalg.inv(square), np.float32)


def content_folds(features: Features, folds: int, seed: int) -> tuple[NDArray[np.intp], int]:
    """(n,): the fold of each document, by what it says and not by its place; and how many distinct documents there are.

    Equal documents share a fold. A digest of each, in ascending order, is cut into folds of equal size: one document more
    moves at most one other from each fold to the next. The digest is that of the text where it is known, for features of
    the same text differ in the last bit from fit to fit.

    >>> x = np.arange(6, dtype=np.float32).reshape(6, 1)
    >>> fold, distinct = content_folds(Features.from_array(x), 3, seed=0)
    >>> backwards, _ = content_folds(Features.from_array(x[::-1]), 3, seed=0)
    >>> sorted(fold.tolist()), fold.tolist() == backwards[::-1].tolist(), distinct
    ([0, 0, 1, 1, 2, 2], True, 6)
    """
    rng = np.random.default_rng(seed)
    if features.keys is not None:
        digest = _mixed(features.keys, _odd(rng, 1))
    else:
        digest = _row_digest(features, rng)
    values, number = np.unique(digest, return_inverse=True)
    return np.asarray(number * folds // max(len(values), 1), np.intp), len(values)


def _row_digest(features: Features, rng: np.random.Generator) -> NDArray[np.uint64]:
    """(n,): a sum over the features of each document."""
    digest = np.zeros(features.n, np.uint64)
    for block in features.blocks:
        values = block.array
        keys = _odd(rng, values.shape[1])
        for start in range(0, features.n, _CHUNK):
            part = np.ascontiguousarray(values[start : start + _CHUNK], np.float32)
            mixed = _mixed(part.view(np.uint32).astype(np.uint64), keys)
            digest[start : start + _CHUNK] += mixed.sum(axis=1, dtype=np.uint64)
    return digest


def _odd(rng: np.random.Generator, size: int) -> NDArray[np.uint64]:
    """(size,): odd numbers, by which no two numbers have the same product."""
    return rng.integers(1, 2**63, size, dtype=np.uint64) | np.uint64(1)


def _mixed(bits: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = bits * keys  # wraps around
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def _moments(values: Float32) -> tuple[Float32, float]:
    """(d,): the mean; and the number that makes the mean of |x - mean|^2 one (1 where nothing varies)."""
    n = max(len(values), 1)
    centre = np.zeros(values.shape[1])
    for start in range(0, len(values), _CHUNK):
        centre += values[start : start + _CHUNK].sum(axis=0, dtype=np.float64) / n
    square = 0.0
    for start in range(0, len(values), _CHUNK):
        square += float(((values[start : start + _CHUNK] - centre) ** 2).sum()) / n
    return centre.astype(np.float32), 1 / square**0.5 if square > 1e-12 else 1.0


def _scaled(values: Float32, centre: Float32, scale: float) -> Float32:
    return np.ascontiguousarray((values - centre) * np.float32(scale), dtype=np.float32)
