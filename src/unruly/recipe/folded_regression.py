"""Softmax regression with all its folds at once: what text says of a document it has not learnt from.

    min over W_f of  sum_i w_if CE(q_i, softmax(x_i W_f)) + lam/2 |W_f|^2,   f = 1 .. F + 1

w_if is 0 for the documents of fold f, so that model f judges them unseen; model F + 1 sees all of them
and judges new documents. All F + 1 problems share each pass over the features: one step is two products
of (n, d) with (d, (F + 1) m). The steps are Nesterov's, preconditioned with

    M = X^T X / 2n + lam I,  which is above the Hessian everywhere (Boehning's bound),

inverted once. From round to round of the loop around it the weights start where they were, so that a few
steps suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.recipe.log_odds import Real64, log_softmax
from unruly.recipe.softmax_regression import SoftmaxRegression

Real = NDArray[np.float32]
_CHUNK = 16_384  # documents multiplied together
_KEPT = (
    2**28
)  # numbers: below a gigabyte the scaled features are kept, above they are made as needed
_WIDEST = 4_096  # features: beyond it the preconditioner is a number, not a matrix


@dataclass(frozen=True, eq=False)
class _FirstLesson:
    """What was taught first after a reset, and the weights that came of it."""

    targets: Real64
    weight: Real64
    steps: int
    learnt: Tensor

    def same(self, targets: Real64, weight: Real64, steps: int) -> bool:
        return (
            steps == self.steps
            and np.array_equal(weight, self.weight)
            and np.array_equal(targets, self.targets)
        )


class FoldedRegression:
    """F + 1 softmax regressions on the features (n, d) of one encoder."""

    def __init__(
        self,
        values: Real,
        m: int,
        fold: NDArray[np.intp],
        folds: int,
        penalty: float,
        say: float = 1.0,
    ) -> None:
        self.values, self.m, self.fold, self.folds, self.say = values, m, fold, folds, say
        self.n, d = values.shape
        self.centre, self.scale = _moments(values)
        self.kept = (
            torch.from_numpy(_scaled(values, self.centre, self.scale))
            if values.size <= _KEPT
            else None
        )
        self.penalty = torch.full((d + 1, 1), penalty)
        self.penalty[-1] = 1e-6  # the bias is free
        self.inverse = self._preconditioner(d)
        self.weights = torch.zeros(d + 1, (folds + 1) * m)
        self.fresh = True  # nothing has been learnt since the last reset
        self.first: _FirstLesson | None = None

    def part(self, rows: NDArray[np.intp], penalty: float) -> FoldedRegression:
        """A fresh one on some of the documents, in the same folds."""
        return FoldedRegression(
            self.values[rows], self.m, self.fold[rows], self.folds, penalty, self.say
        )

    def reset(self) -> None:
        """Forget what was learnt."""
        self.weights, self.fresh = torch.zeros_like(self.weights), True

    def fit(self, targets: Real64, weight: Real64, steps: int) -> None:
        """So many steps towards the soft targets (n, m), documents counting by weight (n,).

        The first lesson after a reset is remembered: the recipe's loops mostly begin with the same one.
        """
        fresh, self.fresh = self.fresh, False
        if fresh and self.first is not None and self.first.same(targets, weight, steps):
            self.weights = self.first.learnt
            return
        self._descend(targets, weight, steps)
        if fresh:
            self.first = _FirstLesson(targets, weight, steps, self.weights)

    def _descend(self, targets: Real64, weight: Real64, steps: int) -> None:
        q = torch.from_numpy(targets.astype(np.float32))
        w = self._fold_weights(weight)  # (n, F + 1)
        old = ahead = self.weights
        t = 1.0
        for _ in range(steps):
            gradient = self._gradient(ahead, q, w) + self.penalty * ahead
            step = self.inverse @ gradient if self.inverse.ndim == 2 else self.inverse * gradient
            new = ahead - step
            following = (1 + (1 + 4 * t * t) ** 0.5) / 2
            ahead = new + (t - 1) / following * (new - old)
            old, t = new, following
        self.weights = old

    def out_of_fold(self) -> Real64:
        """(n, m): log-probabilities, each document judged by the model that did not see it."""
        return self._said(self.fold)

    def in_fold(self) -> Real64:
        """(n, m): log-probabilities by the model that saw all documents."""
        return self._said(np.full(self.n, self.folds))

    def regression(self) -> SoftmaxRegression:
        """The model that saw all documents, for new ones."""
        last = self.weights.view(-1, self.folds + 1, self.m)[:, -1].numpy()
        weights, bias = last[:-1].copy(), last[-1].copy()
        return SoftmaxRegression(self.centre, self.scale, weights, bias, self.say)

    def _rows(self, start: int) -> Tensor:
        """(documents, d): scaled features of one chunk."""
        if self.kept is not None:
            return self.kept[start : start + _CHUNK]
        part = self.values[start : start + _CHUNK]
        return torch.from_numpy(_scaled(part, self.centre, self.scale))

    def _logits(self, x: Tensor, weights: Tensor) -> Tensor:
        """(documents, (F + 1) m); the last row of the weights is the bias."""
        return torch.addmm(weights[-1], x, weights[:-1])

    def _gradient(self, weights: Tensor, q: Tensor, w: Tensor) -> Tensor:
        """(d + 1, (F + 1) m): of the weighted cross-entropy."""
        total = torch.zeros_like(weights)
        for start in range(0, self.n, _CHUNK):
            x, part = self._rows(start), slice(start, start + _CHUNK)
            said = self._logits(x, weights).view(-1, self.folds + 1, self.m).softmax(2)
            slope = said.sub_(q[part, None]).mul_(w[part, :, None]).view(len(x), -1)
            total[:-1].addmm_(x.t(), slope)
            total[-1] += slope.sum(0)
        return total

    def _fold_weights(self, weight: Real64) -> Tensor:
        """(n, F + 1): w_if, each column summing to 1 (or all 0, where nothing is left to learn from)."""
        w = np.repeat(weight[:, None], self.folds + 1, axis=1)
        w[np.arange(self.n), self.fold] = 0
        return torch.from_numpy((w / np.maximum(w.sum(axis=0), 1e-9)).astype(np.float32))

    def _said(self, model: NDArray[np.intp]) -> Real64:
        said = np.empty((self.n, self.m))
        for start in range(0, self.n, _CHUNK):
            x, part = self._rows(start), slice(start, start + _CHUNK)
            logits = self._logits(x, self.weights).view(-1, self.folds + 1, self.m).numpy()
            said[part] = logits[np.arange(len(x)), model[part]]
        return log_softmax(said)

    def _preconditioner(self, d: int) -> Tensor:
        """(d + 1, d + 1): M^-1; or, for very wide features, the number that is above all of it."""
        if d > _WIDEST:
            return 1 / (
                torch.tensor(1.0) + self.penalty.max()
            )  # trace of X^T X / 2n is (1 + 1) / 2
        square = torch.zeros(d + 1, d + 1)
        for start in range(0, self.n, _CHUNK):
            x = self._rows(start)
            square[:-1, :-1].addmm_(x.t(), x)
            square[-1, :-1] += x.sum(0)
        square[:-1, -1] = square[-1, :-1]
        square[-1, -1] = self.n
        square *= 0.5 / self.n
        square.diagonal().add_(self.penalty[:, 0])
        return torch.cholesky_inverse(torch.linalg.cholesky(square))


def _moments(values: Real) -> tuple[Real, float]:
    """(d,): the mean; and the number that makes mean |x - mean|^2 one (1 where nothing varies)."""
    centre = values.mean(axis=0, dtype=np.float64)
    square = sum(
        float(((values[start : start + _CHUNK] - centre) ** 2).sum())
        for start in range(0, len(values), _CHUNK)
    )
    spread = (square / max(len(values), 1)) ** 0.5
    return centre.astype(np.float32), 1 / spread if spread > 1e-6 else 1.0


def _scaled(values: Real, centre: Real, scale: float) -> Real:
    return np.ascontiguousarray((values - centre) * np.float32(scale), dtype=np.float32)
