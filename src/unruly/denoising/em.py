"""Posterior labels from votes and text together: expectation-maximisation with a classifier inside.

n documents, k sources, m classes, E encoders. One round:

    p_e   = softmax regression on encoder e with the soft targets q, cross-fitted          (n, m)
    lp    = sum_e v_e log p_e, normalised: a log-opinion pool                               (n, m)
    T, r  = P(source votes c | class y), counted with q; discount for repetition           (k, m, m), (k,)
    ev    = sum_j r_j log T[j, :, vote_ij]                                                 (n, m)
    b0    : mean_i softmax(tau lp + ev + b0) = mean_i softmax(lp + ev)                     (m,)
    q     = softmax(tau lp + ev + b),   b by the constraint on the class marginals         (n, m)
    pi    = class shares for the next round, where nothing is known of them (`balance.py`)  (m,)

The M-step learns the classifier and the sources' behaviours, the E-step pools their opinions in logarithms
(Raykar et al., 2010; Dawid and Skene, 1979). It starts from vote shares, with the classes re-weighted to the
balance. Cross-fitted text is under-confident, for it has not seen the document: tau = 3 makes up for that. Sharpening
alone shifts the class shares; b0 undoes that: the shares are those of the plain posteriors, softmax(lp + ev).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.balance import (
    ASSUMED_LABELS,
    EXACT,
    Balance,
    match_marginals,
    right_vote_shares,
    shift,
    vote_shares,
)
from unruly.denoising.behaviour import Behaviour, evidence, source_behaviour
from unruly.denoising.regression import CrossFitting
from unruly.findings import BalanceOrigin
from unruly.learner import Gold, with_labels
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.statistics import Float32, Float64, log_softmax, softmax
from unruly.texts.columns import UNKNOWN
from unruly.votes.sparse import SparseVotes

# Steps of the regressions in the first round, and in the others, which start from there. Half or double of either changes
# the mean accuracy by 0.4 points at most, whether shares are stated or not (lab/LOG.md, 2026-11-18: half and double).
FIRST_STEPS, STEPS = 15, 3
LABEL_MASS = 3.0  # documents that one with a true label counts for


@dataclass(frozen=True, eq=False)
class Task:
    """What is learnt from: E encoders on n documents, their votes, and the true labels of some."""

    texts: tuple[CrossFitting, ...]
    weights: tuple[float, ...]  # E numbers that sum to 1: of the encoders
    votes: SparseVotes
    clean: Gold  # (n,): the true class, -1 where unknown

    @property
    def known(self) -> NDArray[np.bool_]:
        """(n,): documents with a true label."""
        return np.asarray(self.clean != UNKNOWN)

    def unlabelled(self) -> Task:
        """The same without the true labels."""
        hidden = np.full_like(self.clean, UNKNOWN)
        return Task(self.texts, self.weights, self.votes, hidden)


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What expectation-maximisation came to."""

    q: Float64  # (n, m): posteriors, which are the soft labels
    lp: Float64  # (n, m): cross-fitted text, encoders averaged
    by_encoder: tuple[Float64, ...]  # E times (n, m)
    ev: Float64  # (n, m): evidence of the votes
    b0: Float64  # (m,): the shift at which sharpening keeps the class shares
    b: Float64  # (m,): the shift that the constraint on the class marginals chose
    behaviour: Behaviour
    weights: tuple[Float32, ...]  # of the regressions, one for each encoder
    balance: Balance
    settings: Settings

    def under(self, balance: Balance) -> Float64:
        """(n, m): the posteriors under another balance, text and votes being what they are."""
        return softmax(self.scores + shift(self.scores, self.b0, balance))

    @property
    def scores(self) -> Float64:
        """(n, m): tau lp + ev."""
        return self.settings.tau * self.lp + self.ev


def expectation_maximisation(
    task: Task, balance: Balance | None, settings: Settings, progress: Progress = SILENT
) -> Posteriors:
    """Run the rounds under this class balance; None: under the shares of the right votes, learnt with the rest."""
    known = balance or _assumed(vote_shares(task.votes))
    q, mass = _first_targets(task, known.shares)
    weights: Sequence[Float32 | None] = [None] * len(task.texts)
    b0 = np.zeros(task.votes.m)
    with stage(progress, "learning", settings.rounds, "rounds"):
        for t in range(settings.rounds):
            # M-step
            weights = [
                text.descend(w, q, mass, STEPS if t else FIRST_STEPS)
                for text, w in zip(task.texts, weights, strict=True)
            ]
            behaviour = source_behaviour(task.votes, q, mass)
            # E-step
            by_encoder = tuple(
                text.held_out(w, q, mass)
                for text, w in zip(task.texts, weights, strict=True)
                if w is not None
            )
            lp = pooled(by_encoder, task.weights)
            ev = evidence(task.votes, behaviour.log_likelihoods)
            scores = settings.tau * lp + ev
            b0 = match_marginals(scores, softmax(lp + ev).mean(axis=0), b0, EXACT)
            b = shift(scores, b0, known)
            posterior = softmax(scores + b)
            before, q = q, with_labels(posterior, task.clean)
            mass = np.where(task.known, LABEL_MASS, 1.0)
            moved = float(np.abs(q - before).sum(axis=1).mean() / 2)
            if balance is None and t < settings.rounds - 1:
                known = _assumed(right_vote_shares(task.votes, scores + b, behaviour))
            progress.advance(1, f"{moved:.1%} moved")
    return Posteriors(
        q=posterior,
        lp=lp,
        by_encoder=by_encoder,
        ev=ev,
        b0=b0,
        b=b,
        behaviour=behaviour,
        weights=tuple(w for w in weights if w is not None),
        balance=known,
        settings=settings,
    )


def _assumed(shares: Float64) -> Balance:
    return Balance(shares, ASSUMED_LABELS, BalanceOrigin.ASSUMED)


def pooled(log_probas: Sequence[Float64], weights: Sequence[float]) -> Float64:
    """(n, m): log-probabilities averaged by weight, and normalised: a log-opinion pool."""
    return log_softmax(np.tensordot(np.asarray(weights), np.stack(list(log_probas)), 1))


def _first_targets(task: Task, pi: Float64) -> tuple[Float64, Float64]:
    """(n, m), (n,): vote shares of covered documents and their mass, classes re-weighted to the balance.

    A partial vote only strengthens other votes for its classes; counted on its own, it would give a rare class too many
    words.
    """
    votes = task.votes
    q = with_labels(votes.combined_shares(pi), task.clean)
    mass = np.where(task.known, LABEL_MASS, votes.covered.astype(np.float64))
    if not mass.any():
        return q, np.ones(votes.n)  # nothing is known but the balance
    present = (mass @ q) / mass.sum()
    tilted = q * (pi / np.maximum(present, 1e-9))  # (n, m)
    total = tilted.sum(axis=1)
    return tilted / total[:, None], mass * total
