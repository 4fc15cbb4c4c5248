"""What the loop says of the shares of the classes when nothing holds them.

    mass      where a run from a uniform start drifts to
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


@dataclass(frozen=True, eq=False)
class Drift:
    """What a run with the hold released says of the shares of the m classes."""

    mass: Real64  # (m,): where it drifts to
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
    return Drift(mass / mass.sum(), proper(vote_prior(evidence)), certainty(run.lp))


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
