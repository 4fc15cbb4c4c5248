"""The class balance: the shares that posteriors are pulled towards, how well they are known, and the pull.

How well a balance is known is counted in labels: as many labels, drawn at random, would tell it as well.

    assumed   the shares of the right votes: worth 10 labels
    stated    by the user, roughly: worth 20; exactly: the constraint is met
    labels    each label adds to that, and moves the shares:

        e_i  = onehot(y_i) - lambda q_i                of the labelled documents; q has not seen the labels
        t    = lambda mean_i q_i (all documents) + sum_i w_i e_i (labelled ones)    unbiased, whatever q is
        n'   = L var(y) / var(e)                       of L labels: so many drawn at random would tell as much
        n0'  = n0 / (1 + |pi - c|^2 / 3 v0)            c: the shares assumed or stated, worth n0 labels;
                                                       v0 = sum_y c_y (1 - c_y) / (n0 + 2), their variance
        pi   = (n0' c + n' t) / (n0' + n'),            no t below half a label of n' + 1

Where nothing is known, as many votes that are right are assumed on the documents of one class as on those of another:

    pi_c ∝ 1/2 + sum_j r_j a_j sum_i O_ijc         a_j: the accuracy of source j, judged by text and the other sources
                                                   (`accuracy.py`); r_j: its discount for repetition (`behaviour.py`)

A source that is often wrong then says little about how common its class is. The first round has no a_j yet, and takes
the shares of all votes.

The estimate t uses the predictions as a control variate (a survey's difference estimator; Angelopoulos et
al., 2023, prediction-powered inference): where q is mostly right, twenty labels tell as much as sixty. lambda (m,),
from 0 to 1, is the slope of the labels on the predictions of each class, so that wrong predictions do no harm: a rare
class may be predicted badly where the others are predicted well. w_i are the inverse inclusion probabilities,
normalised, so documents need not be drawn evenly.

An assumption that labels contradict loses weight: pi is the mode under a prior around c with the tails of Student's
distribution. Three degrees of freedom are the fewest with a variance. As q and n0' depend on pi, they are found
together in a few steps. No class is left without a share because no label has shown it yet.

Ten: on public data sets these shares are off by about 17 points. Twenty: a person's odds are off by a
factor of up to two.

The constraint on the class marginals is as firm as the balance is known: kappa is the number of labels.

    b = argmax  pi . b  -  mean_i log sum_y exp(s_iy + b_y)  -  |b - b0|^2 / 2 kappa

s are the scores of n documents, b a shift of all of them, b0 the shift that costs nothing.
The gradient is  pi - mean_i softmax(s_i + b) - (b - b0) / kappa:  the posteriors' class mass is pulled towards pi, and the
pull costs something. With a large kappa it meets pi, with a small one it stays where text and votes put it. Where text
separates the classes clearly, a shift changes few answers, so a balance that is only roughly right does little harm;
where text is vague, the balance decides. This is posterior regularisation of the class marginals with a quadratic slack
(Ganchev et al., 2010; Mann and McCallum, 2007). The function is concave, and Newton's method finds its only maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.behaviour import Behaviour
from unruly.findings import BalanceOrigin
from unruly.statistics import Float64, ratio, softmax
from unruly.votes.sparse import SparseVotes

ASSUMED_LABELS, STATED_LABELS = 10.0, 20.0
EXACT = 1e6  # kappa at which the constraint is met to the fifth digit
_STEPS = 8  # of the fixed point; 4 and 16 change the accuracy with 20 labels by 0.05 points or less (lab/LOG.md, 2026-11-18)
_FREEDOM = 3  # degrees of freedom of Student's distribution around assumed or stated shares
_DOUBT = 0.5  # squared error added to the labels': a few without an error claim no certainty
_COIN = 0.25  # the variance of one label of a class that half of the documents have: the largest
_HALF = 0.5  # of a label: what a class has at least that no label has shown
_LEAST = 1e-3  # share of any class
_NEWTON_STEPS = 40
_FAR = 2.0  # the longest step, in log-odds
_NEAR = 1e-7  # a step of this length is the last


@dataclass(frozen=True, eq=False)
class Balance:
    """Class shares, and how many labels drawn at random would tell them as well."""

    shares: Float64  # (m,)
    labels: float  # infinite: exact
    origin: BalanceOrigin
    before: BalanceOrigin | None = None  # of the shares that labels were joined with
    weight: float = 0.0  # of these beside the labels, from 0 to 1

    @property
    def deviation(self) -> Float64:
        """(m,): the standard deviation of each class's log-odds that so many labels leave.

        The part that is assumed has the variance of Student's distribution, three times as large: some shares are far off.
        """
        if math.isinf(self.labels):
            return np.zeros_like(self.shares)
        spread = np.maximum(self.shares * (1 - self.shares), _LEAST)
        heavier = _FREEDOM / (_FREEDOM - 2) - 1
        tails = 1 + heavier * self._assumed
        return np.asarray(np.sqrt(tails / ((self.labels + 2) * spread)))

    @property
    def _assumed(self) -> float:
        """The part of the knowledge that nobody gave, from 0 to 1."""
        if self.origin is BalanceOrigin.ASSUMED:
            return 1.0
        return self.weight if self.before is BalanceOrigin.ASSUMED else 0.0

    def alternatives(self) -> tuple[Float64, ...]:
        """2m times (m,): the shares with the odds of one class a standard deviation higher or lower.

        >>> known = Balance(np.array([0.5, 0.5]), 98.0, BalanceOrigin.STATED)
        >>> [x.round(2).tolist() for x in known.alternatives()][:2]
        [[0.55, 0.45], [0.45, 0.55]]
        """
        found = []
        for c, moved in enumerate(self.deviation):
            for sign in (1, -1):
                scaled = self.shares.copy()
                scaled[c] *= math.exp(sign * moved)
                found.append(scaled / scaled.sum())
        return tuple(found)


def shift(scores: Float64, b0: Float64, balance: Balance) -> Float64:
    """(m,): b, as firm as the balance is known: kappa is the number of labels that it counts as."""
    kappa = EXACT if math.isinf(balance.labels) else max(balance.labels, 1e-9)
    return match_marginals(scores, balance.shares, b0, kappa)


def match_marginals(scores: Float64, pi: Float64, b0: Float64, kappa: float) -> Float64:
    """(m,): b, for scores (n, m) and class shares pi (m,).

    >>> scores = np.log(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]))
    >>> half = np.array([0.5, 0.5])
    >>> b = match_marginals(scores, half, np.zeros(2), EXACT)
    >>> softmax(scores + b).mean(axis=0).round(3).tolist()
    [0.5, 0.5]
    >>> b = match_marginals(scores, half, np.zeros(2), kappa=1.0)
    >>> softmax(scores + b).mean(axis=0).round(2).tolist()
    [0.63, 0.37]
    """
    n, m = scores.shape
    if not n:
        return b0
    b = b0
    for _ in range(_NEWTON_STEPS):
        q = softmax(scores + b)  # (n, m)
        mass = q.mean(axis=0)
        gradient = pi - mass - (b - b0) / kappa
        curvature = np.diag(mass) - q.T @ q / n + np.eye(m) / kappa  # (m, m), positive definite
        step = np.linalg.solve(curvature, gradient)
        longest = float(np.abs(step).max())
        b = b + step * min(1.0, _FAR / max(longest, _NEAR))
        if longest < _NEAR:
            break
    return np.asarray(b)


def vote_shares(votes: SparseVotes) -> Float64:
    """(m,): each class's share of the votes on a document, averaged over documents; half a document is added to each class.

    A partial vote beside others counts for those of its classes that they name. Alone, it is divided among its classes
    by the shares that the other votes give them; a class that only partial votes name gets the mean of these shares.

    >>> from unruly.votes.votes import Votes
    >>> vote_shares(SparseVotes.of(Votes.from_array([[0, 1], [0, 0], [-1, -1]]))).round(2).tolist()
    [0.67, 0.33]
    """
    whole = votes.whole()
    shares = _mean_shares(whole, np.full(votes.m, 1 / votes.m))
    if whole is votes:
        return shares
    alone = whole.counts().sum(axis=0) > 0  # (m,)
    if alone.any():
        shares = np.where(alone, shares, shares[alone].mean())
    return _mean_shares(votes, shares)


def right_vote_shares(votes: SparseVotes, scores: Float64, behaviour: Behaviour) -> Float64:
    """(m,): each class's share of the votes that are right; half a vote is added to each class.

    `scores` (n, m) are those of text and all votes, tau lp + ev + b, where votes count by this behaviour. A partial or a
    soft vote is divided among its classes as text and the other sources see them; beside whole votes, a partial one does
    not count.

    >>> from unruly.votes.votes import Votes
    >>> votes = SparseVotes.of(Votes.from_array([[0, 1], [0, 1], [0, -1]]))
    >>> text = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> blind = Behaviour(np.full((2, 2, 2), 0.5), np.ones(2))  # votes that change no score
    >>> right_vote_shares(votes, text, blind).round(2).tolist()
    [0.81, 0.19]
    """
    counted = votes.unsupporting()
    total = np.full(votes.m, 0.5)
    for j in range(votes.k):
        one = counted.of_source(j)
        if not len(one.rows):
            continue
        q = softmax(scores[one.rows] - one.looked_up(behaviour.log_likelihoods[j]))  # (v, m): q^-j
        right = q[one.vote, one.outcome] * one.credit  # (e,)
        accuracy = float(right.sum() / one.cast.sum())  # a_j
        of_vote = np.bincount(one.vote, right).astype(np.float64)  # (v,)
        parts = ratio(right, of_vote[one.vote], 0.0)  # (e,)
        total += behaviour.discount[j] * accuracy * np.bincount(one.outcome, parts, votes.m)
    return np.asarray(total / total.sum())


def _mean_shares(votes: SparseVotes, shares: Float64) -> Float64:
    """(m,): of documents with votes; partial votes that stand alone are shared out by these shares."""
    total = votes.combined_shares(shares)[votes.covered].sum(axis=0) + 0.5
    return np.asarray(total / total.sum())


def from_labels(
    start: Balance,
    posterior: Callable[[Balance], Float64],
    rows: NDArray[np.intp],
    labels: NDArray[np.intp],
    weights: Float64,
) -> Balance:
    """The balance after labels (l,) of documents (l,) that count for `weights` (l,), which sum to 1.

    `posterior` gives q (n, m) under a balance, from scores that have not seen the labels.
    """
    known = start
    for _ in range(_STEPS):
        q = posterior(known)
        truth = np.eye(q.shape[1])[labels]  # (l, m)
        slopes = _slopes(truth, q[rows], weights)
        wrong = truth - slopes * q[rows]
        estimate = slopes * q.mean(axis=0) + weights @ wrong
        labels_drawn = 1 / float(weights @ weights)
        size = labels_drawn * _variance(truth, weights) / _variance(wrong, weights)  # n'
        before = _uncontradicted(start, known.shares)
        by_labels = _shares(np.maximum(estimate, _HALF / (size + 1)))
        mixed = (before * start.shares + size * by_labels) / (before + size)
        known = Balance(
            _shares(mixed),
            before + size,
            BalanceOrigin.LABELS,
            start.origin,
            before / (before + size),
        )
    return known


def _variance(values: Float64, weights: Float64) -> float:
    """Of the weighted mean of values (l, m), summed over classes; some is added, so that no few labels claim certainty."""
    off = ((values - weights @ values) ** 2).sum(axis=1)
    return float(weights**2 @ off) + _DOUBT * float(weights.max()) ** 2


def _uncontradicted(start: Balance, shares: Float64) -> float:
    """n0': the labels that the assumed or stated shares count as, fewer the further the labels contradict them."""
    own = float((start.shares * (1 - start.shares)).sum()) / (start.labels + 2)  # v0
    apart = float(((shares - start.shares) ** 2).sum())
    return start.labels / (1 + apart / (_FREEDOM * own))


def _slopes(truth: Float64, q: Float64, weights: Float64) -> Float64:
    """(m,): the slope of the labels (l, m) on the predictions (l, m) of each class, from 0 to 1.

    Shrunk: the slope of all classes together towards 1, and that of each class towards the common one, each by one label.
    """
    centred = q - weights @ q
    together = weights @ (centred * (truth - weights @ truth))  # (m,)
    own = weights @ centred**2  # (m,)
    one = float(weights.max())
    common = np.clip((together.sum() + one) / (own.sum() + one), 0.0, 1.0)
    each = one * _COIN
    return np.asarray(np.clip((together + each * common) / (own + each), 0.0, 1.0))


def _shares(values: Float64) -> Float64:
    """Shares that sum to 1, none of them zero."""
    positive = np.maximum(values, _LEAST)
    return np.asarray(positive / positive.sum())
