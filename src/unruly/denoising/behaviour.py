"""How each source behaves given the true class, and what its votes add to the evidence.

    N_jyc = sum_i w_i q_iy O_ijc,     N_y = sum_i w_i q_iy,     s_y = N_y / sum_y N_y
    n_jyc = N_jyc + s_y (1 + a [c = y]),     d_y = N_y + s_y (m + a)

    T[j, y, c] = n_jyc / d_y                                 y = c     P(source j votes c | class c)
               = sum_{z != c} n_jzc / sum_{z != c} d_z       y != c    P(source j votes c | another class)

A vote for c speaks for c against all other classes alike: its evidence is how much likelier source j votes c where c is
true than where it is not, a hit rate and a false-alarm rate. Which wrong class a source is drawn to is not learnt: from
posteriors in place of true classes, that teaches a rare class to take over its neighbours' documents (full matrices, as
Dawid and Skene have them, cost one to three points with three classes or more). Document i counts w_i times. One more vote
for each class, spread as the documents are, keeps a source with two votes from claiming certainty; a = 4 more votes that
are right say that rules are written to be right, which matters on a handful of documents. The sum runs over
all documents, so that a source which is silent on a class counts as evidence against it when it votes; a
document that the source was never asked about counts in neither sum.

A partial vote, or a soft one, counts for its classes by their shares. Classes that a source names together are no false
alarms of each other: each of them has its own rate n_jyc / d_y.

Sources that repeat each other share one weight:

    e_ijc  = O_ijc - sum_y q_iy T[j, y, c]                       what the class does not explain of a vote
    rho_jl = sum_ic e_ijc e_ilc / sqrt(sum_ic e_ijc^2 sum_ic e_ilc^2)
    r_j    = 1 / (1 + sum_{l != j} rho_jl^2)

and the evidence of the votes is  ev_iy = sum_j r_j sum_c O_ijc log T[j, y, c].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from unruly.statistics import Float64
from unruly.votes.sparse import SparseVotes

_LEAST = 1e-6  # probability of any vote
_RIGHT = 4.0  # a: right votes that each source is believed to have cast before
_CELLS = 2**22  # documents × sources × classes laid out densely at a time


@dataclass(frozen=True, eq=False)
class Behaviour:
    """How k sources behave, of m classes."""

    rates: Float64  # (k, y, c): T
    discount: Float64  # (k,): r

    @cached_property
    def log_likelihoods(self) -> Float64:
        """(k, c, y): what source j's vote for c adds to the log-odds of class y, centred over y."""
        logs = np.log(self.rates) * self.discount[:, None, None]
        return np.ascontiguousarray((logs - logs.mean(axis=1, keepdims=True)).transpose(0, 2, 1))


def evidence(votes: SparseVotes, log_likelihoods: Float64) -> Float64:
    """(n, m): ev, the sum of the log-likelihoods of the votes that voted on each document."""
    return np.asarray(votes.onehot @ log_likelihoods.reshape(-1, votes.m), np.float64)


def source_behaviour(votes: SparseVotes, q: Float64, mass: Float64) -> Behaviour:
    """From posteriors q (n, m) of documents that count for `mass` (n,).

    >>> from unruly.votes.votes import Votes
    >>> votes = SparseVotes.of(Votes.from_array([[0], [0], [1], [-1]]))
    >>> found = source_behaviour(votes, np.eye(2)[[0, 0, 1, 1]], np.ones(4))
    >>> found.rates.round(2).tolist(), found.discount.tolist()
    ([[[0.9, 0.1], [0.1, 0.7]]], [1.0])
    """
    k, m = votes.k, votes.m
    weighted = q * mass[:, None]
    counts = np.asarray(votes.onehot.T @ weighted).reshape(k, m, m)  # (k, c, y): N
    total = weighted.sum(axis=0)[:, None]  # (y, 1)
    extra = total / max(float(total.sum()), 1e-9)  # (y, 1): s
    if votes.unasked is not None:
        total = total - (votes.unasked.T @ weighted)[:, :, None]  # (k, y, 1)
    cast = counts.transpose(0, 2, 1) + extra * (1 + _RIGHT * np.eye(m))  # (k, y, c): n
    seen = np.broadcast_to(total + (m + _RIGHT) * extra, cast.shape)  # (k, y, c): d
    own = votes.named_together  # (k, y, c)
    false_alarms = np.where(own, 0, cast).sum(axis=1, keepdims=True)  # (k, 1, c)
    elsewhere = np.where(own, 0, seen).sum(axis=1, keepdims=True)
    rates = np.where(own, cast, false_alarms) / np.maximum(np.where(own, seen, elsewhere), 1e-9)
    rates = np.maximum(rates, _LEAST)
    return Behaviour(rates, redundancy_discount(votes, q, rates))


def redundancy_discount(votes: SparseVotes, q: Float64, rates: Float64) -> Float64:
    """(k,): r. Independent sources keep their weight (1); g copies of one source get 1/g each.

    >>> from unruly.votes.votes import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth, noise = rng.integers(0, 2, 1000), rng.random((1000, 2)) < 0.3
    >>> matrix = np.where(noise, 1 - truth[:, None], truth[:, None])[:, [0, 0, 1]]
    >>> votes, q = SparseVotes.of(Votes.from_array(matrix)), np.eye(2)[truth]
    >>> source_behaviour(votes, q, np.ones(1000)).discount.round(2).tolist()
    [0.5, 0.5, 1.0]
    """
    k, m = votes.k, votes.m
    # Unweighted: dependence between sources does not depend on document weights.
    counts = np.asarray(votes.onehot.T @ q).reshape(k, m, m).transpose(0, 2, 1)  # (k, y, c)
    if votes.unasked is None:
        flat = rates.reshape(k, m * m)  # (k, y * c)
        cross = counts.reshape(k, m * m) @ flat.T  # (k, k): sum_ic O_ijc E[O_ilc]
        expected = (q.T @ q @ rates).reshape(k, m * m)
        together = votes.together + flat @ expected.T - cross - cross.T  # (k, k)
    else:
        together = _residuals_together(votes, votes.unasked, q, rates)
    size = np.sqrt(np.maximum(np.diag(together), 1e-9))
    squared = (together / size / size[:, None]) ** 2
    np.fill_diagonal(squared, 0)
    silent = counts.sum(axis=(1, 2)) == 0
    squared[silent], squared[:, silent] = 0, 0  # one that never votes repeats nobody
    return np.asarray(1 / (1 + squared.sum(axis=1)))


def _residuals_together(
    votes: SparseVotes, unasked: NDArray[np.bool_], q: Float64, rates: Float64
) -> Float64:
    """(k, k): sum_ic e_ijc e_ilc, where e is 0 on documents that a source was not asked about."""
    k, m = votes.k, votes.m
    together = np.zeros((k, k))
    side_by_side = rates.transpose(1, 0, 2).reshape(m, k * m)  # (y, j * c)
    size = max(1, _CELLS // (k * m))
    for start in range(0, votes.n, size):
        rows = slice(start, start + size)
        e = votes.onehot[rows].toarray().reshape(-1, k, m)
        e -= (q[rows] @ side_by_side).reshape(-1, k, m) * ~unasked[rows, :, None]
        flat = e.transpose(1, 0, 2).reshape(k, -1)  # (k, i * c)
        together += flat @ flat.T
    return together
