"""Weighted majority vote: sources that agree with the others weigh more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import SettingsError
from unruly.labelmodels.dawid_skene import learned_prior
from unruly.labelmodels.label_model import (
    LogLinear,
    Prior,
    Real,
    as_votes,
    distinct_votes,
    fitted,
    likeliest,
    stated_prior,
)
from unruly.votes.sparse import DistinctVotes
from unruly.votes.votes import Votes

GUESS = 0.7  # the accuracy of a source of which nothing is known
SURE = 1e-3  # no source is taken to be righter, or wronger, than this


@dataclass
class WeightedVote:
    r"""Majority vote in which each source weighs as much as its accuracy warrants.

    $$ P(y \mid v) \propto \pi_y \exp \sum_{j: v_j = y} w_j, \qquad w_j = \log \frac{(m-1)\,\alpha_j}{1 - \alpha_j} $$

    is the best rule for independent sources that are right with probability alpha_j. Accuracies that
    are known can be given. Otherwise alpha_j is the average share of the votes that go with source j,
    over the documents where it is not alone; `smoothing` votes at 70 % are added, so that a source
    that nobody meets keeps an average weight. One pass, nothing iterates, nothing can collapse.

    S. Nitzan and J. Paroush (1982), Optimal decision rules in uncertain dichotomous choice situations,
    International Economic Review 23(2).

    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(0, 2, 5000)
    >>> right = rng.random((5000, 4)) < [0.9, 0.6, 0.6, 0.6]  # four sources, each as often right
    >>> votes = np.where(right, gold[:, None], 1 - gold[:, None])
    >>> model = WeightedVote().fit(votes)
    >>> int(model.weights_.argmax()), bool(model.accuracies_[0] > model.accuracies_[1:].max())
    (0, True)
    >>> known = WeightedVote(accuracies=[0.9, 0.6, 0.6, 0.6]).fit(votes)
    >>> known.weights_.round(1).tolist()
    [2.2, 0.4, 0.4, 0.4]
    """

    prior: Prior = "uniform"
    accuracies: Sequence[float] | None = None
    smoothing: float = 2.0  # votes at 70 %, added to each source's

    prior_: Real = field(init=False, repr=False)  # (m,)
    accuracies_: Real = field(init=False, repr=False)  # (k,)
    weights_: Real = field(init=False, repr=False)  # (k,)
    classes_: tuple[str, ...] = field(init=False, repr=False)
    sources_: tuple[str, ...] = field(init=False, repr=False)
    _rule: LogLinear | None = field(init=False, repr=False, default=None)

    def fit(self, votes: Votes | ArrayLike) -> Self:
        """Weigh the sources, by the accuracies that are given or by how far they agree."""
        if self.smoothing < 0:
            raise SettingsError(f"smoothing is {self.smoothing}: give a number of votes, 0 or more")
        votes = as_votes(votes)
        distinct = distinct_votes(votes)
        prior = stated_prior(self.prior, votes.classes, distinct.cast)
        self.prior_ = learned_prior(distinct) if prior is None else prior
        if self.accuracies is None:
            alpha = _agreement(distinct, self.smoothing)
        else:
            alpha = _given(self.accuracies, votes.k)
        self.accuracies_ = np.where(distinct.cast.any(axis=1), alpha, np.nan)
        sure = np.clip(alpha, SURE, 1 - SURE)
        self.weights_ = np.log((votes.m - 1) * sure / (1 - sure))
        weights = self.weights_[:, None, None] * np.eye(votes.m)  # (k, m, m)
        self.classes_, self.sources_ = votes.classes, votes.sources
        self._rule = LogLinear(
            votes.sources, votes.classes, weights, np.log(self.prior_), self.prior_
        )
        return self

    def predict_proba(self, votes: Votes | ArrayLike) -> Real:
        """(n, m): the probability of each class; the prior where no source voted."""
        return fitted(self._rule, self).proba(votes)

    def predict(self, votes: Votes | ArrayLike) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""
        return likeliest(self.predict_proba(votes))


def _agreement(distinct: DistinctVotes, smoothing: float) -> Real:
    """(k,): the share of votes that go with each source's own, where it is not alone."""
    met = np.asarray(distinct.votes.onehot.sum(axis=1)) > 1.5  # (u,): at least two sources voted
    together = distinct.only(met)
    right = np.einsum("jcc->j", together.joint(together.votes.shares(np.zeros(distinct.m))))
    cast = together.cast.sum(axis=1)
    total = cast + smoothing
    return np.where(total > 0, (right + smoothing * GUESS) / np.where(total > 0, total, 1), GUESS)


def _given(accuracies: Sequence[float], k: int) -> Real:
    alpha = np.asarray(accuracies, dtype=np.float64)
    if alpha.shape != (k,):
        raise SettingsError(f"{alpha.size} accuracies are given, but there are {k} sources")
    if not ((alpha >= 0) & (alpha <= 1)).all():
        raise SettingsError(
            f"accuracies {alpha.tolist()} must lie between 0 and 1: the share of right votes"
        )
    return alpha
