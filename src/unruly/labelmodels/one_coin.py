"""One-coin Dawid-Skene: one number for each source, its reliability, by expectation-maximisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from unruly.labelmodels.dawid_skene import accuracies, check_em, evidence, learned_prior, settle
from unruly.labelmodels.label_model import (
    LogLinear,
    Prior,
    Real,
    as_votes,
    distinct_votes,
    fitted,
    likeliest,
    posterior,
    stated_prior,
)
from unruly.votes.sparse import DistinctVotes
from unruly.votes.votes import Votes


@dataclass
class OneCoin:
    r"""Dawid-Skene with one coin a source: a vote is worth the same whatever class it names.

    $$ T_{jcy} = P(v_j = c \mid y) = b_{jc}\, e^{\theta_j [c = y]}, \qquad
       P(y \mid v) \propto \pi_y\, e^{\sum_j \theta_j [v_j = y]} \prod_{j: v_j = \emptyset} P(\emptyset \mid y)^\lambda $$

    so that the fitted model is a weighted majority vote. The coin theta_j is the log-ratio of hits to
    false alarms, and b_jc says how readily source j names class c; a source that knows one class only
    has b = 0 for the others. (The textbook coin, "right with probability a", is the case where all b
    are equal: theta = log(a (m-1) / (1-a)).) By Bayes a vote for c is right with probability
    sigmoid(theta_j + logit pi_c), and the M step sets theta_j so that the expected number of right
    votes is the one that the soft labels show. Silence has the weight `abstention`, as in `DawidSkene`.

    A. P. Dawid and A. M. Skene (1979), as in `DawidSkene`; the one-coin model by this name:
    Y. Zhang, X. Chen, D. Zhou and M. I. Jordan (2016), Spectral methods meet EM, JMLR 17.

    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(0, 2, 5000)
    >>> right = rng.random((5000, 4)) < [0.9, 0.8, 0.7, 0.6]  # four sources, each as often right
    >>> model = OneCoin().fit(np.where(right, gold[:, None], 1 - gold[:, None]))
    >>> model.accuracies_.round(1).tolist(), expit(model.coins_).round(1).tolist()
    ([0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6])
    """

    prior: Prior = "uniform"
    abstention: float = 0.3
    smoothing: float = 2.0  # votes without information, added to each source's
    max_iter: int = 100
    tolerance: float = 1e-5  # stop when soft labels move less than this on average

    prior_: Real = field(init=False, repr=False)  # (m,)
    accuracies_: Real = field(init=False, repr=False)  # (k,)
    coins_: Real = field(init=False, repr=False)  # (k,): theta
    rates_: Real = field(init=False, repr=False)  # (k, m, m): T[j, c, y]
    n_iter_: int = field(init=False, repr=False)
    classes_: tuple[str, ...] = field(init=False, repr=False)
    sources_: tuple[str, ...] = field(init=False, repr=False)
    _rule: LogLinear | None = field(init=False, repr=False, default=None)

    def fit(self, votes: Votes | ArrayLike) -> Self:
        """Alternate E and M steps, from the vote shares, until the soft labels settle."""
        check_em(self.abstention, self.smoothing, self.max_iter, self.tolerance)
        votes = as_votes(votes)
        distinct = distinct_votes(votes)
        prior = stated_prior(self.prior, votes.classes, distinct.cast)
        self.prior_ = learned_prior(distinct) if prior is None else prior

        def step(q: Real) -> Real:
            self._m_step(distinct, q)
            return self._e_step(distinct)

        first, often = distinct.votes.shares(self.prior_), self.max_iter
        q, self.n_iter_ = settle(distinct, first, step, max_iter=often, tolerance=self.tolerance)
        self.accuracies_ = accuracies(distinct, q)
        self.classes_, self.sources_ = votes.classes, votes.sources
        weights, bias, silent = self._evidence(distinct)
        self._rule = LogLinear(votes.sources, votes.classes, weights, bias, self.prior_, silent)
        return self

    def _e_step(self, distinct: DistinctVotes) -> Real:
        """(u, m): P(y | row) under the present coins."""
        return posterior(distinct, *self._evidence(distinct))

    def _m_step(self, distinct: DistinctVotes, q: Real) -> None:
        """Coins and rates that give as many right votes as the soft labels q (u, m) do."""
        m = distinct.m
        share = (distinct.mass(q) + 1) / (distinct.n + m)  # (m,): the classes' present shares
        right = np.einsum("jcc->j", distinct.joint(q))  # (k,)
        self.coins_ = theta = _coins(distinct.cast, right, logit(share), self.smoothing)
        base = distinct.cast / distinct.asked / (1 + np.expm1(theta)[:, None] * share)  # (k, m): b
        self.rates_ = base[:, :, None] * np.exp(theta[:, None, None] * np.eye(m))

    def _evidence(self, distinct: DistinctVotes) -> tuple[Real, Real, Real]:
        """A coin and its base rates may promise more votes than there are documents: silence has a floor."""
        overall = 1 - distinct.cast.sum(axis=1, keepdims=True) / distinct.asked  # (k, 1)
        floor = np.maximum(overall / 10, 1e-3)
        silence = np.clip(1 - self.rates_.sum(axis=1), floor, 1)  # (k, m)
        spoken = self.coins_[:, None, None] * np.eye(
            distinct.m
        )  # log T, without what all classes share
        return evidence(spoken, silence, self.prior_, self.abstention)

    def predict_proba(self, votes: Votes | ArrayLike) -> Real:
        """(n, m): the probability of each class; the prior where no source voted."""
        return fitted(self._rule, self).proba(votes)

    def predict(self, votes: Votes | ArrayLike) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""
        return likeliest(self.predict_proba(votes))


def _coins(
    cast: Real,
    right: Real,
    odds: Real,
    smoothing: float,
) -> Real:
    """(k,): solve sum_c cast[j, c] sigmoid(theta_j + odds_c) = right_j for theta, by bisection.

    The left side rises with theta. `smoothing` votes are added that are right by chance, 1 in m.

    >>> coins = _coins(np.array([[50.0, 50.0]]), np.array([80.0]), np.zeros(2), smoothing=0.0)
    >>> expit(coins).round(3).tolist()
    [0.8]
    """
    m = cast.shape[1]
    low, high = np.full(len(cast), -20.0), np.full(len(cast), 20.0)
    for _ in range(50):
        theta = (low + high) / 2
        expected = (cast * expit(theta[:, None] + odds)).sum(axis=1)
        expected += smoothing * (expit(theta - np.log(m - 1)) - 1 / m)
        low, high = np.where(expected < right, theta, low), np.where(expected < right, high, theta)
    return np.asarray((low + high) / 2)
