"""Matrix completion: source behaviour from how often pairs of sources meet, as in Snorkel's label model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from unruly.errors import InputError, SettingsError
from unruly.labelmodels.dawid_skene import fitted_prior, log_rates
from unruly.labelmodels.label_model import (
    GUESS,
    LogLinearModel,
    Prior,
    as_votes,
    distinct_votes,
)
from unruly.statistics import Float64, ratio
from unruly.votes.sparse import DistinctVotes
from unruly.votes.votes import Votes

CELLS = 1000  # cells of the dense count take as long as one pair of votes in the sparse product
MANY = 10  # from so many sources on, the pull no longer grows with them


@dataclass(eq=False)
class MatrixCompletion(LogLinearModel):
    r"""The generative model of Ratner et al.: fit second moments of the votes, ignore everything else.

    Let O be the matrix of how often two votes (j, c) and (j', c') meet on a document, d its diagonal,
    and mu[jc, y] = P(source j says c | y). Where sources err independently given the class,
    O = mu diag(pi) mu' outside the blocks of one source with itself, and mu pi = d. So

    $$ \min_\mu \; \| O - \mu\, \mathrm{diag}(\pi)\, \mu^\top \|^2_{\text{off-block}} + \| \mu \pi - d \|^2
       + r \|d\|^2 \| \mu - \mu_0 \|^2, \qquad P(y \mid v) \propto \pi_y \prod_{j: v_j \ne \emptyset} \mu_{j v_j, y} $$

    where mu_0 trusts every source alike, at 70 % (beyond ten sources r falls as 10/k: they tell more of each other). The first two terms are Snorkel's. It stops early
    where we add the third and go to the minimum with L-BFGS: with three classes or more the first two
    leave mu free up to a rotation, and sources that are not independent can turn a good one round. The
    price is that accuracies are drawn a few points towards 70 %.
    Once O is counted, the work no longer depends on the number of documents.

    A. Ratner, B. Hancock, J. Dunnmon, F. Sala, S. Pandey and C. Ré (2019), Training complex models with
    multi-task weak supervision, AAAI.

    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(0, 2, 20_000)
    >>> right = rng.random((20_000, 4)) < [0.9, 0.8, 0.7, 0.6]  # four sources, each as often right
    >>> votes = np.where(right, gold[:, None], 1 - gold[:, None])
    >>> MatrixCompletion(ridge=0).fit(votes).accuracies_.round(1).tolist()
    [0.9, 0.8, 0.7, 0.6]
    >>> bool((MatrixCompletion().fit(votes).predict(votes) == gold).mean() > 0.85)
    True
    """

    class_prior: Prior = "uniform"
    ridge: float = 0.05  # r, the pull towards equal trust
    max_iter: int = 200

    rates_: Float64 = field(init=False, repr=False)  # (k, m, m): mu[j, c, y]
    loss_: float = field(init=False, repr=False)
    n_iter_: int = field(init=False, repr=False)

    def fit(self, votes: Votes | ArrayLike, y: object = None) -> Self:
        """Count the overlaps, then complete the matrix."""
        self._check()
        votes = as_votes(votes)
        distinct = distinct_votes(votes)
        _check_sources(distinct)
        self.class_prior_ = fitted_prior(self.class_prior, votes.classes, distinct)
        with threadpool_limits(1, user_api="blas"):  # small matrices: threads would only spin
            self.rates_ = self._complete(distinct)
        right = np.einsum("jcc,c->j", self.rates_, self.class_prior_)
        share = distinct.cast.sum(axis=1) / distinct.n
        self.accuracies_ = ratio(right, share, np.nan).clip(0, 1)
        self._keep(votes, log_rates(self.rates_), np.log(self.class_prior_))
        return self

    def _complete(self, distinct: DistinctVotes) -> Float64:
        """(k, m, m): mu at the minimum; rows of votes that were never cast stay 0."""
        k, m = distinct.k, distinct.m
        used = np.flatnonzero(distinct.cast.reshape(-1))  # the a columns (j, c) that occur
        source = used // m
        problem = Completion(
            overlaps(distinct)[np.ix_(used, used)],
            distinct.cast.reshape(-1)[used] / distinct.n,
            source[:, None] != source,
            self.class_prior_,
            self.ridge * min(1.0, MANY / len(np.unique(source))),
        )
        start = problem.trusting(np.eye(m)[used % m])  # (a, m)
        few = problem.d / (distinct.cast.reshape(-1)[used] + 2)  # nothing rarer has been seen
        bounds = [(low, 1.0) for low in np.repeat(few, m)]
        found = minimize(
            problem.loss,
            start.ravel(),
            args=(start,),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": self.max_iter, "ftol": 1e-11, "gtol": 1e-9},
        )
        self.loss_, self.n_iter_ = float(found.fun), int(found.nit)
        rates = np.zeros((k * m, m))
        rates[used] = found.x.reshape(-1, m)
        return rates.reshape(k, m, m)

    def _check(self) -> None:
        if self.ridge < 0:
            raise SettingsError(f"ridge is {self.ridge}: give 0 or more")
        if self.max_iter < 1:
            raise SettingsError(f"max_iter is {self.max_iter}: give 1 or more")


@dataclass(frozen=True, eq=False)
class Completion:
    """The objective, over the a columns (source, class) that occur."""

    o: Float64  # (a, a): the share of documents on which two votes meet
    d: Float64  # (a,): the share of documents with each vote
    mask: NDArray[np.bool_]  # (a, a): different sources
    prior: Float64  # (m,)
    ridge: float

    def trusting(self, cast: Float64) -> Float64:
        """(a, m): mu_0. `cast` (a, m) is the class of each column, one-hot; all sources are right at 70 %."""
        odds = GUESS * (len(self.prior) - 1) / (1 - GUESS)
        base = self.d / (1 + (odds - 1) * (cast @ self.prior))  # (a,)
        return base[:, None] * np.where(cast > 0, odds, 1.0)

    def loss(self, flat: Float64, start: Float64) -> tuple[float, Float64]:
        """The objective and its gradient at mu, flattened."""
        mu = flat.reshape(start.shape)  # (a, m)
        joint = mu * self.prior  # (a, m): P(vote, y)
        off = (joint @ mu.T - self.o) * self.mask  # (a, a)
        marginal = joint.sum(axis=1) - self.d  # (a,)
        pull = self.ridge * float(self.d @ self.d)
        away = mu - start
        value = np.vdot(off, off) + marginal @ marginal + pull * np.vdot(away, away)
        slope = (4 * (off @ mu) + 2 * marginal[:, None]) * self.prior + 2 * pull * away
        return float(value), slope.ravel()


def _check_sources(distinct: DistinctVotes) -> None:
    voting = int(distinct.cast.any(axis=1).sum())
    if voting < 3:
        raise InputError(
            f"matrix completion needs three sources that vote, and there are {voting}: with fewer, "
            "their accuracies cannot be told apart; use majority vote, or write more rules"
        )


def overlaps(distinct: DistinctVotes) -> Float64:
    """(k*m, k*m): O, the share of documents on which source j says c and source j' says c'.

    >>> overlaps(DistinctVotes.of(Votes.from_array([[0, 1], [0, -1]]))).tolist()
    [[1.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5]]
    """
    ones = bool((distinct.counts == 1).all() and (distinct.votes.onehot.data == 1).all())
    meetings = float((np.diff(distinct.votes.onehot.indptr).astype(np.float64) ** 2).sum())
    cells = float(len(distinct.counts)) * distinct.votes.onehot.shape[1] ** 2
    if ones and meetings * CELLS > cells:
        return _by_bits(distinct) / distinct.n
    return _by_pairs(distinct) / distinct.n


def _by_pairs(distinct: DistinctVotes) -> Float64:
    """X' diag(counts) X as a sparse product: one step for each pair of votes that meet."""
    weighted = distinct.votes.onehot.multiply(distinct.counts[:, None]).tocsr()
    return np.asarray((distinct.votes.onehot.T @ weighted).toarray(), dtype=np.float64)


def _by_bits(distinct: DistinctVotes) -> Float64:
    """X' X for single, hard votes: a bit for each document, 64 documents a step."""
    bits = _bits(distinct)  # (k*m, words)
    wide = len(bits)
    total = np.zeros((wide, wide))
    for a in range(wide):
        both = np.bitwise_count(bits[a] & bits[a:])  # (k*m - a, words), uint8
        total[a, a:] = total[a:, a] = both.sum(axis=1, dtype=np.uint32)
    return total


def _bits(distinct: DistinctVotes) -> NDArray[np.uint64]:
    """(k*m, words): which documents have each vote, as bits."""
    by_vote = distinct.votes.onehot.tocsc()
    u, wide = by_vote.shape
    packed = np.zeros((wide, -(-u // 64) * 8), dtype=np.uint8)
    for a in range(wide):
        has = np.zeros(u, dtype=np.bool_)
        has[by_vote.indices[by_vote.indptr[a] : by_vote.indptr[a + 1]]] = True
        line = np.packbits(has)
        packed[a, : len(line)] = line
    return packed.view(np.uint64)
