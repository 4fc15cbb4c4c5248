"""The parameter study: one hyper-parameter is varied, the others stand at the paper's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from unruly.bench.paper_figures import DEFAULTS, RANGES, STUDY_LEARNING_RATE, Chosen, Ranges
from unruly.bench.run import Outcome, Run, Setting

PARAMETERS = ("c1", "c3", "learning_rate", "hidden")
# What the paper searched, and the end of the range that its study names for the learning rate.
STUDY = replace(RANGES, learning_rate=(*RANGES.learning_rate, STUDY_LEARNING_RATE[1]))


def changes(ranges: Ranges = STUDY) -> tuple[tuple[Setting, ...], ...]:
    """What each run of the study sets: nothing in the first, then one parameter after the other.

    c1 and c3 go as far as the other's default leaves room.

    >>> len(changes()), changes()[0], changes()[1]
    (26, (), (('c1', 0.1),))
    """
    found: list[tuple[Setting, ...]] = [()]
    for name in PARAMETERS:
        for value in getattr(ranges, name):
            chosen = replace(DEFAULTS, **{name: value})
            if chosen != DEFAULTS and chosen.c1 + chosen.c3 <= 1 + 1e-9:
                found.append(((name, value),))
    return tuple(found)


def chosen_by(run: Run) -> Chosen:
    """The four hyper-parameters of a run; those that it does not name are the paper's defaults.

    >>> chosen_by(Run("imdb", "paper", experiment="parameters", settings=(("c1", 0.5),))).c1
    0.5
    """
    named = {name: value for name, value in run.settings if name in PARAMETERS}
    return Chosen(**{**asdict(DEFAULTS), **named})


def curve(outcomes: Sequence[Outcome], parameter: str) -> dict[float, list[Outcome]]:
    """The outcomes in which at most this parameter is not the default, by its value, small ones first.

    One for each value and seed: a run at the defaults counts once, however it was asked for.
    """
    found: dict[float, dict[int, Outcome]] = {}
    for outcome in outcomes:
        chosen = chosen_by(outcome.run)
        if replace(chosen, **{parameter: getattr(DEFAULTS, parameter)}) == DEFAULTS:
            at = found.setdefault(getattr(chosen, parameter), {})
            at.setdefault(outcome.run.seed, outcome)
    return {value: list(found[value].values()) for value in sorted(found)}
