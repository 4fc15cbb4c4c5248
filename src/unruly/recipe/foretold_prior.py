"""The class prior under which text and the other sources foretell each source's votes best.

    g(pi)   how much likelier a left-out vote is under the prior pi than by chance, after three rounds of the loop
            (`left_out_votes`): under a wrong balance text must call documents of one class by another's name, and
            foretells votes worse
    d(pi)   how far pi is from the votes' own shares: the largest difference in log-odds of a class

    pi*   = argmax  N g(pi) - (d(pi) / 1.5)^2 / 2,    N = 50 votes, or as many as there are; uniform has half a nat more, and what
                                                                                 is near to it counts as uniform

Two classes: from uniform outwards on either side, to 5 and 95 %, as long as it gets better, and then finer around the best. If
both sides have a better one than uniform, votes cannot tell which class is the rare one, and it is uniform. More classes: on the
line from uniform through the votes' shares and beyond, voted^a, and where a run with nothing held drifts to (`released_run`).
Of many documents, some thousands drawn at random tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unruly.progress import SILENT, Progress, stage
from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import Ingredients, gain, posteriors
from unruly.recipe.released_run import class_odds, proper, released
from unruly.recipe.sampled import sampled
from unruly.settings import Settings

_ROUNDS = 3
_STEP, _MOST = 1.0, 3.0  # of the log-odds that are tried, for two classes
_FINER = 2  # times that the step is halved around the best
_AT_MOST = 11  # priors that are tried, then
_POWERS = (0.0, 0.5, 1.0, 1.5, 2.0)  # a, for more classes
_DOCUMENTS = 2_000  # drawn of more
_NEAR = 0.5  # log-odds of a class up to which a prior is as good as uniform


@dataclass(frozen=True)
class Scale:
    """What a nat of foretelling counts for beside the distance from the votes' shares."""

    votes: float = 50.0  # N
    width: float = 1.5  # of the distance, in log-odds
    uniform: float = 0.5  # nats that the uniform prior is given


SCALE = Scale()


@dataclass(frozen=True, eq=False)
class Tried:
    """One prior, and how well votes are foretold under it."""

    prior: Real64  # (m,)
    gain: float  # g

    @property
    def even(self) -> bool:
        """Whether it is uniform."""
        return bool(np.allclose(self.prior, 1 / len(self.prior)))


@dataclass(frozen=True, eq=False)
class Foretold:
    """The prior that was found, and its rival on the other side of uniform, if neither can be told from the other."""

    prior: Real64  # (m,)
    rivals: tuple[Real64, ...] = ()


def foretold_prior(
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients,
    progress: Progress = SILENT,
) -> Foretold:
    """pi*."""
    with stage(progress, "class prior", _AT_MOST, "prior"):
        return _searched(
            *sampled(texts, evidence, settings, _DOCUMENTS), settings, ingredients, progress
        )


def _searched(
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients,
    progress: Progress,
) -> Foretold:
    held = replace(ingredients, hold=True, soft_labels=True, turn_back=False)

    def trial(prior: Real64) -> Tried:
        found = posteriors(
            texts,
            evidence,
            proper(prior),
            tau=settings.tau,
            rounds=min(_ROUNDS, settings.rounds),
            ingredients=held,
        )
        progress.advance(1)
        return Tried(found.pi, gain(found, evidence))

    voted = proper(vote_prior(evidence))
    votes = float(evidence.said.sum())
    if evidence.m > 2:
        drift = released(texts, evidence, settings, ingredients)
        line = [voted**a / (voted**a).sum() for a in _POWERS]
        return best([trial(prior) for prior in (*line, drift.estimate)], voted, votes)
    tried = _walked(trial, worth(voted, votes))
    found = best(tried, voted, votes)
    for finer in range(1, _FINER + 1):
        if not np.allclose(found.prior, 0.5):
            x = float(np.log(found.prior[1] / found.prior[0]))
            tried += [trial(two(x + side * _STEP / 2**finer)) for side in (-1, 1)]
            found = best(tried, voted, votes)
    return found


def _walked(trial: Callable[[Real64], Tried], value: Callable[[Tried], float]) -> list[Tried]:
    """Uniform and, on either side, one balance after the other as long as they get better.

    If one side is better than uniform, the other is walked to its end: there may be a rival beyond a valley.
    """
    sides = np.arange(_STEP, _MOST + _STEP / 2, _STEP)  # log-odds
    even = trial(two(0.0))

    def walk(side: int, start: Sequence[Tried], to_the_end: bool) -> list[Tried]:
        found = [even, *start]
        for x in sides[len(start) :]:
            if not to_the_end and len(found) > 1 and value(found[-1]) <= value(found[-2]):
                break
            found.append(trial(two(side * x)))
        return found[1:]

    rare, common = walk(-1, (), False), walk(1, (), False)
    if max(map(value, rare)) > value(even):
        common = walk(1, common, True)
    if max(map(value, common)) > value(even):
        rare = walk(-1, rare, True)
    return [even, *rare, *common]


def worth(voted: Real64, votes: float, scale: Scale = SCALE) -> Callable[[Tried], float]:
    """N g - (d / 1.5)^2 / 2, given the votes' shares (m,) and how many votes there are."""
    odds = class_odds(voted)

    def of(one: Tried) -> float:
        away = float(np.abs(class_odds(one.prior) - odds).max()) / scale.width
        return min(scale.votes, votes) * one.gain - away**2 / 2 + scale.uniform * one.even

    return of


def best(tried: Sequence[Tried], voted: Real64, votes: float, scale: Scale = SCALE) -> Foretold:
    """The best of the priors that were tried, uniform among them.

    >>> gains = (0.3, 0.4, 0.2, 0.1)
    >>> tried = [Tried(two(x), g) for x, g in zip((-2.0, -1.0, 0.0, 1.0), gains, strict=True)]
    >>> best(tried, two(-0.8), 500).prior.round(2).tolist()
    [0.73, 0.27]
    >>> slight = [Tried(one.prior, one.gain / 50) for one in tried]  # too small a difference
    >>> best(slight, two(-0.4), 500).prior.tolist()
    [0.5, 0.5]
    >>> found = best([*tried, Tried(two(2.0), 0.41)], two(-0.8), 500)  # good on both sides
    >>> found.prior.tolist(), [rival.round(2).tolist() for rival in found.rivals]
    ([0.5, 0.5], [[0.73, 0.27], [0.12, 0.88]])
    """
    value = worth(voted, votes, scale)
    even = next(one for one in tried if one.even)
    if len(voted) == 2:
        rare = max((one for one in tried if one.prior[1] < 0.5 and not one.even), key=value)
        common = max((one for one in tried if one.prior[1] > 0.5 and not one.even), key=value)
        if min(value(rare), value(common)) > value(even):
            return Foretold(even.prior, (rare.prior, common.prior))
    found = max(tried, key=value)
    near = bool(np.abs(class_odds(found.prior)).max() < _NEAR)
    return Foretold(even.prior if near else found.prior)


def two(log_odds: float) -> Real64:
    """(2,): the shares of two classes when the second has these log-odds."""
    share = 1 / (1 + np.exp(-log_odds))
    return np.array([1 - share, share])
