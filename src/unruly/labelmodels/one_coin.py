"""One-coin Dawid-Skene: one number for each source, its reliability, by expectation-maximisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unruly.labelmodels.ballots import Ballots
from unruly.labelmodels.dawid_skene import (
    accuracies,
    check_cast,
    check_em,
    evidence,
    learnt_prior,
)
from unruly.labelmodels.em import Soft, settle
from unruly.labelmodels.log_linear import LogLinear, fitted, likeliest, posterior
from unruly.labelmodels.prior import Prior, fixed_prior
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

    >>> from unruly.labelmodels.planted import planted_votes
    >>> votes, gold = planted_votes(5000, [0.9, 0.8, 0.7, 0.6], 0.8, seed=1)
    >>> model = OneCoin().fit(votes)
    >>> model.accuracies_.round(1).tolist(), expit(model.coins_).round(1).tolist()
    ([0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6])
    """

    prior: Prior = "uniform"
    abstention: float = 0.3
    smoothing: float = 2.0  # votes without information, added to each source's
    max_iter: int = 100
    tolerance: float = 1e-5  # stop when soft labels move less than this on average

    prior_: NDArray[np.float64] = field(init=False, repr=False)  # (m,)
    accuracies_: NDArray[np.float64] = field(init=False, repr=False)  # (k,)
    coins_: NDArray[np.float64] = field(init=False, repr=False)  # (k,): theta
    rates_: NDArray[np.float64] = field(init=False, repr=False)  # (k, m, m): T[j, c, y]
    n_iter_: int = field(init=False, repr=False)
    classes_: tuple[str, ...] = field(init=False, repr=False)
    sources_: tuple[str, ...] = field(init=False, repr=False)
    _rule: LogLinear | None = field(init=False, repr=False, default=None)

    def fit(self, votes: Votes) -> Self:
        """Alternate E and M steps, from the vote shares, until the soft labels settle."""
        check_em(self.abstention, self.smoothing, self.max_iter, self.tolerance)
        ballots = Ballots.of(votes)
        check_cast(ballots)
        prior = fixed_prior(self.prior, ballots.cast)
        self.prior_ = learnt_prior(ballots) if prior is None else prior

        def step(q: Soft) -> Soft:
            self._m_step(ballots, q)
            return self._e_step(ballots)

        first, often = ballots.shares(self.prior_), self.max_iter
        q, self.n_iter_ = settle(ballots, first, step, max_iter=often, tolerance=self.tolerance)
        self.accuracies_ = accuracies(ballots, q)
        self.classes_, self.sources_ = votes.classes, votes.sources
        self._rule = LogLinear(votes.sources, votes.classes, *self._evidence(ballots), self.prior_)
        return self

    def _e_step(self, ballots: Ballots) -> NDArray[np.float64]:
        """(u, m): P(y | ballot) under the present coins."""
        return posterior(ballots, *self._evidence(ballots))

    def _m_step(self, ballots: Ballots, q: NDArray[np.float64]) -> None:
        """Coins and rates that give as many right votes as the soft labels q (u, m) do."""
        m = ballots.m
        share = (ballots.mass(q) + 1) / (ballots.n + m)  # (m,): the classes' present shares
        right = np.einsum("jcc->j", ballots.joint(q))  # (k,)
        self.coins_ = theta = _coins(ballots.cast, right, logit(share), self.smoothing)
        base = ballots.cast / ballots.n / (1 + np.expm1(theta)[:, None] * share)  # (k, m): b
        self.rates_ = base[:, :, None] * np.exp(theta[:, None, None] * np.eye(m))

    def _evidence(self, ballots: Ballots) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A coin and its base rates may promise more votes than there are documents: silence has a floor."""
        overall = 1 - ballots.cast.sum(axis=1, keepdims=True) / ballots.n  # (k, 1)
        floor = np.maximum(overall / 10, 1e-3)
        silence = np.clip(1 - self.rates_.sum(axis=1), floor, 1)  # (k, m)
        spoken = self.coins_[:, None, None] * np.eye(
            ballots.m
        )  # log T, without what all classes share
        return evidence(spoken, silence, self.prior_, self.abstention)

    def predict_proba(self, votes: Votes) -> NDArray[np.float64]:
        """(n, m): the probability of each class; the prior where no source voted."""
        return fitted(self._rule, self).proba(votes)

    def predict(self, votes: Votes) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""
        return likeliest(self.predict_proba(votes))


def _coins(
    cast: NDArray[np.float64],
    right: NDArray[np.float64],
    odds: NDArray[np.float64],
    smoothing: float,
) -> NDArray[np.float64]:
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
