"""The parameter study and the search: what is tried."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.tests.bench.handmade import outcome

from unruly.errors import InputError
from unruly.settings import PaperSettings
from unruly_lab.bench.paper_figures import DEFAULTS, RANGES, SEARCH_TRIALS, Chosen, Ranges
from unruly_lab.bench.runs import Run
from unruly_lab.bench.trials import (
    GUIDED,
    UNIFORM,
    Scored,
    Trial,
    best,
    changes,
    chosen_by,
    curve,
    grid,
    propose,
    search,
)


def test_one_parameter_at_a_time_and_each_choice_once() -> None:
    choices = [
        chosen_by(Run("youtube", "paper", experiment="parameters", settings=change))
        for change in changes()
    ]
    assert len(set(choices)) == len(choices) == 1 + 8 + 7 + 6 + 4
    for chosen in choices:
        moved = [n for n, v in asdict(chosen).items() if v != getattr(DEFAULTS, n)]
        assert len(moved) <= 1
        PaperSettings(**asdict(chosen))  # all of them can be trained


def test_the_defaults_are_those_of_the_settings() -> None:
    plain = PaperSettings()
    assert asdict(DEFAULTS) == {name: getattr(plain, name) for name in asdict(DEFAULTS)}


def test_a_curve_leaves_out_what_moved_two_things() -> None:
    one = outcome("youtube", "paper", 0.9, {"settings": (("c1", 0.5),)})
    two = outcome("youtube", "paper", 0.8, {"settings": (("c1", 0.7), ("hidden", 64))})
    plain = outcome("youtube", "paper", 0.85)
    assert curve([one, two, plain], "c1") == {0.2: [plain], 0.5: [one]}
    assert curve([one, two, plain], "hidden") == {128: [plain]}


SMALL = Ranges(hidden=(32, 64), learning_rate=(0.01,), c1=(0.1, 0.5, 0.9), c3=(0.1, 0.5))


def hill(chosen: Chosen) -> Scored:
    """Highest at hidden 64, rate 0.01, c1 0.3, c3 0.2."""
    away = abs(chosen.c1 - 0.3) + abs(chosen.c3 - 0.2) + abs(chosen.hidden - 64) / 256
    return Scored(-away - 10 * abs(chosen.learning_rate - 0.01))


def test_the_grid_is_the_papers_number_of_trials() -> None:
    every = grid()
    assert len(every) == len(set(every)) == SEARCH_TRIALS
    assert Chosen(512, 0.05, 0.9, 0.1) in every
    assert Chosen(512, 0.05, 0.9, 0.2) not in every


@settings(max_examples=10, deadline=None)
@given(stop=st.integers(0, 20), seed=st.integers(0, 3))
def test_an_interrupted_search_goes_on_to_the_same_trials(stop: int, seed: int) -> None:
    whole = list(search(hill, [], 20, seed))
    rest = list(search(hill, whole[:stop][::-1], 20, seed))
    assert whole[:stop] + rest == whole


def test_trials_are_in_the_ranges_and_never_repeat() -> None:
    made = list(search(hill, [], 40, seed=1))
    chosen = [trial.chosen for trial in made]
    assert len(set(chosen)) == 40
    for one in chosen:
        assert one.hidden in RANGES.hidden
        assert one.learning_rate in RANGES.learning_rate
        assert one.c1 + one.c3 <= 1 + 1e-9
    assert {trial.drawn for trial in made} == {UNIFORM, GUIDED}
    assert all(trial.drawn == UNIFORM for trial in made[:6])


def test_guided_trials_climb() -> None:
    made = list(search(hill, [], 60, seed=0))
    guided = [t.scored.objective for t in made[20:] if t.drawn == GUIDED]
    uniform = [t.scored.objective for t in made[20:] if t.drawn == UNIFORM]
    assert sum(guided) / len(guided) > sum(uniform) / len(uniform)


def test_another_seed_tries_other_things() -> None:
    assert [propose([], seed)[0] for seed in range(5)] != [propose([], 0)[0]] * 5


def test_a_small_space_is_tried_out_and_then_done() -> None:
    made = list(search(hill, [], 100, ranges=SMALL))
    assert sorted(t.chosen.c1 for t in made) == sorted(c.c1 for c in grid(SMALL))
    assert list(search(hill, made, 100, ranges=SMALL)) == []
    with pytest.raises(InputError, match="all 10 combinations have been tried"):
        propose(made, 0, SMALL)


def test_the_best_is_the_earliest_of_equals() -> None:
    made = [
        Trial(n, Chosen(32, 0.01, 0.1, 0.1), UNIFORM, Scored(s)) for n, s in enumerate((1, 2, 2))
    ]
    assert best(made).number == 1


def test_trials_without_an_objective_are_borne_and_never_the_best() -> None:
    def judged(chosen: Chosen) -> Scored:
        return hill(chosen) if chosen.hidden > 64 else Scored(math.nan)

    made = list(search(judged, [], 12))
    assert any(math.isnan(trial.scored.objective) for trial in made)
    assert best(made).chosen.hidden > 64
    assert len(list(search(lambda _: Scored(math.nan), [], 9))) == 9


def test_nonsense_is_refused() -> None:
    with pytest.raises(InputError, match="0 trials"):
        list(search(hill, [], 0))
    made = list(search(hill, [], 3))
    with pytest.raises(InputError, match="some are missing"):
        list(search(hill, made[1:], 5))
