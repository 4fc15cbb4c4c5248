"""The form that every label model here takes once it is fitted: log-linear in the votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from unruly.errors import InputError, NotFittedError
from unruly.labelmodels.ballots import Ballots
from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class LogLinear:
    """log P(y | votes) = bias[y] + sum over sources j that voted of weights[j, vote, y] + constant.

    Documents without a vote get the prior, whatever the bias.

    >>> weights = np.log([[[0.9, 0.1], [0.1, 0.9]]])
    >>> rule = LogLinear(("a",), ("ham", "spam"), weights, np.zeros(2), np.array([0.7, 0.3]))
    >>> rule.proba(Votes.from_array([[0], [-1]], classes=["ham", "spam"], sources=["a"])).round(
    ...     2
    ... ).tolist()
    [[0.9, 0.1], [0.7, 0.3]]
    """

    sources: tuple[str, ...]
    classes: tuple[str, ...]
    weights: NDArray[np.float64]  # (k, m, m): source, its vote, the class
    bias: NDArray[np.float64]  # (m,)
    prior: NDArray[np.float64]  # (m,)

    def proba(self, votes: Votes) -> NDArray[np.float64]:
        """(n, m): the soft labels, for votes of the sources that the rule knows."""
        if votes.sources != self.sources or votes.classes != self.classes:
            raise InputError(
                f"these votes have sources {_some(votes.sources)} and classes {_some(votes.classes)}, but the "
                f"model was fitted on {_some(self.sources)} and {_some(self.classes)}: fit it again, or "
                "give it votes of the same sources, in the same order"
            )
        if not votes.n:
            return np.empty((0, votes.m))
        ballots = Ballots.of(votes)
        q = posterior(ballots, self.weights, self.bias)
        q[ballots.empty] = self.prior
        return ballots.expand(q)


def posterior(
    ballots: Ballots, weights: NDArray[np.float64], bias: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(u, m): the softmax over classes of bias (m,) plus the weights (k, m, m) of the votes on each ballot."""
    k, m = ballots.k, ballots.m
    edge = (weights[:, :, 1:] - weights[:, :, :1]).reshape(k * m, m - 1)  # against class 0
    logits = ballots.onehot @ edge + (bias[1:] - bias[0])  # (u, m-1)
    if m == 2:  # the usual case, and twice as fast
        second = expit(logits)
        return np.hstack([1 - second, second])
    return np.asarray(softmax(np.hstack([np.zeros((len(logits), 1)), logits]), axis=1))


def likeliest(proba: NDArray[np.float64]) -> NDArray[np.int16]:
    """(n,): the class of highest probability in each row; among equals, the first."""
    return np.asarray(proba.argmax(axis=1), dtype=np.int16)


def fitted(rule: LogLinear | None, model: object) -> LogLinear:
    """The rule of a fitted model, or the error that tells to fit it."""
    if rule is None:
        name = type(model).__name__
        raise NotFittedError(f"this {name} has not been fitted yet: call fit(votes) first")
    return rule


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
