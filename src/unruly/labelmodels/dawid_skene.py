"""Dawid-Skene by expectation-maximisation, abstention included: a confusion matrix for each source, or one coin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from unruly.errors import SettingsError
from unruly.labelmodels.label_model import (
    LogLinearModel,
    Prior,
    as_votes,
    distinct_votes,
    posterior,
    stated_prior,
)
from unruly.statistics import Float64, ratio
from unruly.votes.sparse import DistinctVotes
from unruly.votes.votes import Votes


@dataclass(eq=False)
class DawidSkene(LogLinearModel):
    r"""The full Dawid-Skene model, with "no vote" as one of the answers that a source can give.

    $$ P(y \mid v) \propto \pi_y \prod_{j: v_j \ne \emptyset} T_{j v_j y}
       \prod_{j: v_j = \emptyset} \Big(1 - \sum_c T_{jcy}\Big)^{\lambda},
       \qquad T_{jcy} = P(v_j = c \mid y) = \frac{\sum_i q_{iy} [v_{ij} = c] + s f_{jc}}{\sum_i q_{iy} + s} $$

    The rates T count firing: a source that only ever says "spam" is informative because it fires more
    often on spam. In the textbook form, where rows sum to 1 over the votes cast, such a source carries
    no information and the model collapses. Rates are smoothed towards the source's overall rate f_jc
    by s documents. Sources stay silent together (a short text matches nothing), so that silence is
    weaker evidence than independence makes it: it counts with the weight `abstention` (1 is the exact
    model, 0 ignores silence).

    A document that a source was never asked about (`Votes.unasked`) counts in none of its rates, and
    says nothing about the class.

    The class prior is held fixed; with "learn" it is first estimated by the exact model, where it is
    identified, and then held.

    A. P. Dawid and A. M. Skene (1979), Maximum likelihood estimation of observer error-rates using the
    EM algorithm, Applied Statistics 28(1).

    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(0, 2, 5000)
    >>> right = rng.random((5000, 4)) < [0.9, 0.8, 0.7, 0.6]  # four sources, each as often right
    >>> votes = np.where(right, gold[:, None], 1 - gold[:, None])
    >>> votes[rng.random((5000, 4)) < 0.2] = -1  # each abstains on a fifth
    >>> model = DawidSkene().fit(votes)
    >>> model.accuracies_.round(1).tolist()
    [0.9, 0.8, 0.7, 0.6]
    >>> bool((model.predict(votes) == gold).mean() > 0.85)
    True
    """

    class_prior: Prior = "uniform"
    abstention: float = 0.3
    smoothing: float = 1.0  # s, in documents
    max_iter: int = 100
    tol: float = 1e-5  # stop when soft labels move less than this on average

    rates_: Float64 = field(init=False, repr=False)  # (k, m, m): T[j, c, y]
    n_iter_: int = field(init=False, repr=False)

    def fit(self, votes: Votes | ArrayLike, y: object = None) -> Self:
        """Alternate E and M steps, from the vote shares, until the soft labels no longer change."""
        self._check()
        votes = as_votes(votes)
        distinct = distinct_votes(votes)
        self.class_prior_ = fitted_prior(
            self.class_prior, votes.classes, distinct, self._prior_smoothing
        )
        q = distinct.votes.shares(self.class_prior_)
        for n in range(1, self.max_iter + 1):
            self.n_iter_ = n
            self._m_step(distinct, q)
            before, q = q, posterior(distinct, *self._evidence(distinct))  # (u, m): P(y | row)
            moved = np.einsum("u,u->", distinct.counts, np.abs(q - before).max(axis=1))
            if moved / distinct.n < self.tol:
                break
        self.accuracies_ = accuracies(distinct, q)
        self._keep(votes, *self._evidence(distinct))
        return self

    def _check(self) -> None:
        if not 0 <= self.abstention <= 1:
            raise SettingsError(
                f"abstention is {self.abstention}: give a weight from 0 (ignored) to 1 (exact)"
            )
        if not self.smoothing > 0:
            raise SettingsError(f"smoothing is {self.smoothing}: give a number above 0")
        if self.max_iter < 1:
            raise SettingsError(f"max_iter is {self.max_iter}: give 1 or more")
        if self.tol < 0:
            raise SettingsError(f"tol is {self.tol}: give 0 or more")

    @property
    def _prior_smoothing(self) -> float:
        """Documents that smooth a prior that is to be learnt."""
        return self.smoothing

    def _m_step(self, distinct: DistinctVotes, q: Float64) -> None:
        self.rates_ = rates(distinct, q, self.smoothing)

    def _evidence(self, distinct: DistinctVotes) -> tuple[Float64, Float64, Float64]:
        return log_linear_terms(
            log_rates(self.rates_), _silence(self.rates_), self.class_prior_, self.abstention
        )


def rates(distinct: DistinctVotes, q: Float64, smoothing: float) -> Float64:
    """(k, m, m): T[j, c, y], how often source j says c on documents of class y."""
    overall = distinct.cast / distinct.asked  # (k, m)
    mass = distinct.asked_mass(q)[:, None, :]  # (k, 1, m)
    return (distinct.joint(q) + smoothing * overall[:, :, None]) / (mass + smoothing)


def _silence(rates: Float64) -> Float64:
    """(k, m): how often each source abstains on documents of class y."""
    return np.asarray(np.clip(1 - rates.sum(axis=1), 1e-9, 1))


def log_rates(rates: Float64) -> Float64:
    """(k, m, m): log T; a vote that was never cast is no evidence for any class."""
    return np.log(np.where(rates > 0, rates, 1.0))


def log_linear_terms(
    spoken: Float64,
    silence: Float64,
    prior: Float64,
    abstention: float,
) -> tuple[Float64, Float64, Float64]:
    """Weights (k, m, m) of votes and a bias (m,), from log rates of voting (k, m, m) and rates of silence (k, m).

    The silence of all sources goes into the bias, and each vote takes its source's back, so that no
    work is done for abstentions; so does a source that was not asked. The third is each one's part (k, m).
    """
    silent = abstention * np.log(silence)
    return spoken - silent[:, None, :], np.log(prior) + silent.sum(axis=0), silent


def learned_prior(distinct: DistinctVotes, smoothing: float = 1.0) -> Float64:
    """(m,): the class prior that makes the votes likeliest under the exact model (abstention = 1).

    With silence as a full answer the prior is identified by how votes and silences go together; in
    the composite likelihoods (abstention < 1) it drifts towards a single class.
    """
    m = distinct.m
    prior = np.full(m, 1 / m)
    q = distinct.votes.shares(prior)
    for _ in range(300):
        found = rates(distinct, q, smoothing)
        before, prior = prior, (distinct.mass(q) + 1) / (distinct.n + m)
        q = posterior(distinct, *log_linear_terms(log_rates(found), _silence(found), prior, 1.0))
        if np.abs(prior - before).max() < 1e-5:
            break
    return prior


def fitted_prior(
    wish: Prior, classes: tuple[str, ...], distinct: DistinctVotes, smoothing: float = 1.0
) -> Float64:
    """(m,): the prior that is asked for; one that is to be learnt is smoothed by so many documents."""
    prior = stated_prior(wish, classes, distinct.cast)
    return learned_prior(distinct, smoothing) if prior is None else prior


def accuracies(distinct: DistinctVotes, q: Float64) -> Float64:
    """(k,): the expected share of right votes among the votes that each source cast; NaN without any."""
    return ratio(distinct.right(q), distinct.cast.sum(axis=1), np.nan)


@dataclass(eq=False)
class OneCoin(DawidSkene):
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

    smoothing: float = 2.0  # votes without information, added to each source's

    coins_: Float64 = field(init=False, repr=False)  # (k,): theta

    @property
    def _prior_smoothing(self) -> float:
        return 1.0  # `smoothing` counts votes here, not documents

    def _m_step(self, distinct: DistinctVotes, q: Float64) -> None:
        """Coins and rates that give as many right votes as the soft labels q (u, m) do."""
        m = distinct.m
        share = (distinct.mass(q) + 1) / (distinct.n + m)  # (m,): the classes' present shares
        right = np.einsum("jcc->j", distinct.joint(q))  # (k,)
        self.coins_ = theta = _coins(distinct.cast, right, logit(share), self.smoothing)
        base = distinct.cast / distinct.asked / (1 + np.expm1(theta)[:, None] * share)  # (k, m): b
        self.rates_ = base[:, :, None] * np.exp(theta[:, None, None] * np.eye(m))

    def _evidence(self, distinct: DistinctVotes) -> tuple[Float64, Float64, Float64]:
        """A coin and its base rates may promise more votes than there are documents: silence has a floor."""
        overall = 1 - distinct.cast.sum(axis=1, keepdims=True) / distinct.asked  # (k, 1)
        floor = np.maximum(overall / 10, 1e-3)
        silence = np.clip(1 - self.rates_.sum(axis=1), floor, 1)  # (k, m)
        # log T, without what all classes share
        spoken = self.coins_[:, None, None] * np.eye(distinct.m)
        return log_linear_terms(spoken, silence, self.class_prior_, self.abstention)


def _coins(
    cast: Float64,
    right: Float64,
    odds: Float64,
    smoothing: float,
) -> Float64:
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
