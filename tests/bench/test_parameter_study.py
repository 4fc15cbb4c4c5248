"""The parameter study's plan: one thing varied at a time."""

from __future__ import annotations

from dataclasses import asdict

from tests.bench.handmade import outcome

from unruly.bench.paper_figures import DEFAULTS
from unruly.bench.parameter_study import changes, chosen_by, curve
from unruly.bench.run import Run
from unruly.settings import Settings


def test_one_parameter_at_a_time_and_each_choice_once() -> None:
    choices = [
        chosen_by(Run("youtube", "paper", experiment="parameters", settings=change))
        for change in changes()
    ]
    assert len(set(choices)) == len(choices) == 1 + 8 + 7 + 6 + 4
    for chosen in choices:
        moved = [n for n, v in asdict(chosen).items() if v != getattr(DEFAULTS, n)]
        assert len(moved) <= 1
        Settings(**asdict(chosen))  # all of them can be trained


def test_the_defaults_are_those_of_the_settings() -> None:
    plain = Settings.paper()
    assert asdict(DEFAULTS) == {name: getattr(plain, name) for name in asdict(DEFAULTS)}


def test_a_curve_leaves_out_what_moved_two_things() -> None:
    one = outcome("youtube", "paper", 0.9, {"settings": (("c1", 0.5),)})
    two = outcome("youtube", "paper", 0.8, {"settings": (("c1", 0.7), ("hidden", 64))})
    plain = outcome("youtube", "paper", 0.85)
    assert curve([one, two, plain], "c1") == {0.2: [plain], 0.5: [one]}
    assert curve([one, two, plain], "hidden") == {128: [plain]}
