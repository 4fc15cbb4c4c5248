"""What the loop says of the shares of the classes when nothing holds them, and whether to believe it.

    mass      where a run from a uniform start drifts to
    named     what the class-balanced classifier of its first round answers
    voted     how the votes fall
    sure      how sure text is: its mean largest probability, scaled to 0 .. 1

    estimate  = mass^sure voted^(1 - sure), made to sum to 1

The run overshoots where text is unsure, and there votes fall short; hence the mean of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import WHOLE, Ingredients, posteriors
from unruly.settings import Settings

_LEAST = 1e-4  # no class is ruled out
_ROUNDS = 6


@dataclass(frozen=True)
class Limits:
    """From where on a drift is believed (see `believed`)."""

    far: float = 4.0  # log-odds of the drift over text's doubt
    support: float = 1.25  # odds factor by which balanced classifier and votes, each, lean its way


LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Drift:
    """What a run with the hold released says of the shares of the m classes."""

    mass: Real64  # (m,): where it drifts to
    named: Real64  # (m,): what the class-balanced classifier of its first round answers
    voted: Real64  # (m,): how the votes fall
    sure: float  # how sure text is, 0 to 1

    @property
    def estimate(self) -> Real64:
        """(m,): mass^sure voted^(1 - sure), made to sum to 1."""
        between = self.mass**self.sure * self.voted ** (1 - self.sure)
        return np.asarray(between / between.sum())


def released(
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients = WHOLE,
) -> Drift:
    """The loop from a uniform start with nothing held."""
    free = replace(ingredients, hold=False, soft_labels=True, turn_back=False)
    even = np.full(evidence.m, 1 / evidence.m)
    rounds = min(_ROUNDS, settings.rounds)
    run = posteriors(texts, evidence, even, tau=settings.tau, rounds=rounds, ingredients=free)
    mass = np.maximum(run.q.mean(axis=0), 0.05 / evidence.m)
    named = np.bincount(run.first.argmax(axis=1), minlength=evidence.m) / evidence.n
    return Drift(mass / mass.sum(), proper(named), proper(vote_prior(evidence)), certainty(run.lp))


def believed(drift: Drift, limits: Limits = LIMITS) -> bool:
    """Whether the class mass of the released run speaks of the documents, rather than of its own drift.

    The mass must be far from uniform by the measure of text's doubt: its log-odds over 1 - sure. Noise in
    votes pulls their shares and the balanced classifier's answers towards uniform, never away from it. So
    each of these two must lean the same way, else the run has only amplified itself.

    >>> def drift(mass, named, voted):
    ...     return Drift(*(np.array([p, 1 - p]) for p in (mass, named, voted)), sure=0.8)
    >>> believed(drift(0.87, 0.71, 0.7))
    True
    >>> believed(drift(0.34, 0.38, 0.23))  # biased votes
    False
    >>> believed(drift(0.1, 0.5, 0.53))  # amplified from nothing
    False
    """
    away = class_odds(drift.mass)  # (m,)
    most = int(np.abs(away).argmax())
    way = np.sign(away[most])
    support = min(way * class_odds(other)[most] for other in (drift.named, drift.voted))
    far = abs(away[most]) / max(1 - drift.sure, 1e-3)
    return bool(far > limits.far and support > np.log(limits.support))


def certainty(lp: Real64) -> float:
    """How sure text is on average, from log-probabilities (n, m): 0 where all classes are alike to it, 1 where one is certain.

    >>> certainty(np.log(np.array([[0.75, 0.25], [0.25, 0.75]])))
    0.5
    """
    m = lp.shape[1]
    return float((np.exp(lp.max(axis=1)).mean() - 1 / m) / (1 - 1 / m))


def class_odds(shares: Real64) -> Real64:
    """(m,): log of each class's odds beside what they are when all classes are alike."""
    kept = np.clip(shares, 1e-3, 1 - 1e-3)
    return np.log(kept / (1 - kept) * (len(shares) - 1))


def proper(prior: Real64) -> Real64:
    """(m,): positive and summing to 1."""
    raised = np.maximum(prior, _LEAST)
    return np.asarray(raised / raised.sum())
