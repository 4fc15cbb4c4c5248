"""Which hyper-parameters are tried: one by one in the parameter study, together in the search.

The paper tried every combination of its ranges with c1 + c3 <= 1: 5 × 6 × 45 = 1350 trials. A laptop tries
fewer. The first trials, and every second one after them, are drawn uniformly from those 1350, so that their
mean and deviation are estimates of the paper's; the others follow Optuna's tree-structured Parzen estimator
(Bergstra et al., 2011, Algorithms for hyper-parameter optimization), given all trials before. What a trial
tries depends on the seed, its number and the trials before it alone: a search that was interrupted goes on to
the same trials.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from unruly.errors import InputError
from unruly.progress import SILENT, Progress, stage
from unruly_lab.bench.paper_figures import DEFAULTS, RANGES, STUDY_LEARNING_RATE, Chosen, Ranges
from unruly_lab.bench.runs import Outcome, Run, Setting

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


UNIFORM, GUIDED = "uniform", "guided"
_FIRST = 6  # trials that are drawn uniformly before any is guided
_ASKS = 20  # proposals that were tried already, after which an untried one is drawn instead


@dataclass(frozen=True)
class Scored:
    """What one choice gave. The search sees the objective alone, and never `test`."""

    objective: float  # higher is better; NaN where there was nothing to judge by
    valid: float | None = None  # accuracy on gold validation labels
    test: float | None = None  # accuracy on test labels, for the reader


@dataclass(frozen=True)
class Trial:
    """One choice of hyper-parameters, how it was drawn, and what it gave."""

    number: int
    chosen: Chosen
    drawn: str  # UNIFORM or GUIDED
    scored: Scored


TrialRunner = Callable[[Chosen], Scored]


def scored(outcome: Outcome) -> Scored:
    """What a search learns of a run: validation accuracy where it uses gold, else held-out votes predicted."""
    gold = outcome.run.selection == "gold"
    return Scored(
        objective=outcome.valid_accuracy if gold else outcome.held_out_votes,
        valid=outcome.valid_accuracy,
        test=outcome.accuracy,
    )


def grid(ranges: Ranges = RANGES) -> tuple[Chosen, ...]:
    """Every combination whose c1 and c3 leave something, or nothing, for c2: never less.

    >>> len(grid())
    1350
    """
    every = product(ranges.hidden, ranges.learning_rate, ranges.c1, ranges.c3)
    return tuple(Chosen(*choice) for choice in every if choice[2] + choice[3] <= 1 + 1e-9)


def search(
    trial_runner: TrialRunner,
    done: Sequence[Trial],
    trials: int,
    seed: int = 0,
    ranges: Ranges = RANGES,
    progress: Progress = SILENT,
) -> Iterator[Trial]:
    """Run the trials that are missing, one by one, each yielded as it is finished.

    `done` are the trials of before, in any order; whoever calls keeps what is yielded.

    >>> best = max(
    ...     search(lambda c: Scored(-abs(c.c1 - 0.3)), [], 20), key=lambda t: t.scored.objective
    ... )
    >>> best.chosen.c1
    0.3
    """
    if trials < 1:
        raise InputError(f"{trials} trials: a search needs 1 or more")
    past = sorted(done, key=lambda trial: trial.number)
    if [trial.number for trial in past] != list(range(len(past))):
        raise InputError("the trials of before are not numbered 0, 1, 2 …: some are missing")
    left = min(trials, len(grid(ranges))) - len(past)
    with stage(progress, "search", max(left, 0), "trials"):
        for _ in range(left):
            chosen, drawn = propose(past, seed, ranges)
            trial = Trial(len(past), chosen, drawn, trial_runner(chosen))
            past.append(trial)
            progress.advance(1, f"best {best(past).scored.objective:.4f}")
            yield trial


def best(trials: Sequence[Trial]) -> Trial:
    """The trial with the highest objective; the earliest of equals; one without an objective comes last."""

    def worth(trial: Trial) -> tuple[float, int]:
        value = trial.scored.objective
        return (-math.inf if math.isnan(value) else value, -trial.number)

    return max(trials, key=worth)


def propose(past: Sequence[Trial], seed: int, ranges: Ranges = RANGES) -> tuple[Chosen, str]:
    """What to try after these trials, and how it is drawn; never what was tried before.

    >>> propose([], seed=0) == propose([], seed=0)
    True
    """
    tried = {trial.chosen for trial in past}
    untried = [choice for choice in grid(ranges) if choice not in tried]
    if not untried:
        raise InputError(f"all {len(tried)} combinations have been tried")
    drawn = drawn_as(len(past))
    guided = _guided(past, seed, ranges) if drawn == GUIDED else None
    if guided is not None:
        return guided, drawn
    rng = np.random.default_rng([seed, len(past)])
    return untried[int(rng.integers(len(untried)))], drawn


def drawn_as(number: int) -> str:
    """How the trial of this number is drawn.

    >>> [drawn_as(number) for number in (4, 5, 6, 7)]
    ['uniform', 'uniform', 'uniform', 'guided']
    """
    return GUIDED if number >= _FIRST and number % 2 else UNIFORM


def _guided(past: Sequence[Trial], seed: int, ranges: Ranges) -> Chosen | None:
    """Optuna's next choice, given all trials; None when it proposes only what was tried."""
    import optuna

    tried = {trial.chosen for trial in past}
    with _quiet(optuna):
        state = int(np.random.default_rng([seed, len(past)]).integers(2**31))
        sampler = optuna.samplers.TPESampler(seed=state, n_startup_trials=0)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for trial in past:
            if math.isfinite(trial.scored.objective):
                study.add_trial(_as_optuna_trial(optuna, trial, ranges))
        for _ in range(_ASKS):
            asked = _chosen(study.ask(), ranges)
            if asked not in tried:
                return asked
    return None


def _chosen(trial: Any, ranges: Ranges) -> Chosen:
    """Ask for places in the ranges, not for values: the ranges are ordered, but unevenly spaced."""
    c1 = ranges.c1[trial.suggest_int("c1", 0, len(ranges.c1) - 1)]
    return Chosen(
        ranges.hidden[trial.suggest_int("hidden", 0, len(ranges.hidden) - 1)],
        ranges.learning_rate[trial.suggest_int("learning_rate", 0, len(ranges.learning_rate) - 1)],
        c1,
        ranges.c3[trial.suggest_int("c3", 0, _last_c3(c1, ranges))],
    )


def _last_c3(c1: float, ranges: Ranges) -> int:
    """The place of the largest c3 that c1 leaves room for."""
    return max(place for place, c3 in enumerate(ranges.c3) if c1 + c3 <= 1 + 1e-9)


def _as_optuna_trial(optuna: Any, trial: Trial, ranges: Ranges) -> Any:
    """A finished trial as Optuna holds it."""
    chosen, whole = trial.chosen, optuna.distributions.IntDistribution
    return optuna.trial.create_trial(
        params={
            "c1": ranges.c1.index(chosen.c1),
            "hidden": ranges.hidden.index(chosen.hidden),
            "learning_rate": ranges.learning_rate.index(chosen.learning_rate),
            "c3": ranges.c3.index(chosen.c3),
        },
        distributions={
            "c1": whole(0, len(ranges.c1) - 1),
            "hidden": whole(0, len(ranges.hidden) - 1),
            "learning_rate": whole(0, len(ranges.learning_rate) - 1),
            "c3": whole(0, _last_c3(chosen.c1, ranges)),
        },
        value=trial.scored.objective,
    )


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Optuna speaks of every study on the screen; for a moment it does not."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
