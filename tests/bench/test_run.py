"""A run is what its outcome depends on; both survive the way to a file and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.handmade import outcome

from unruly.bench.run import Outcome, Run
from unruly.errors import InputError

NAMES = st.sampled_from(["c1", "c3", "hidden", "language.epochs"])
RUNS = st.builds(
    Run,
    dataset=st.text(min_size=1),
    method=st.sampled_from(["paper", "default"]),
    experiment=st.sampled_from(["main", "clean", "parameters", "search"]),
    seed=st.integers(0, 9),
    selection=st.sampled_from(["none", "gold"]),
    clean=st.none() | st.floats(0.001, 1.0),
    rows=st.none() | st.integers(1, 10_000),
    prior=st.none() | st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 0.9)),
    settings=st.dictionaries(NAMES, st.integers() | st.floats(0, 1)).map(
        lambda d: tuple(d.items())
    ),
    keywords=st.sampled_from(["", "votes"]),
    data=st.sampled_from(["", "0123abcd"]),
)


@given(RUNS)
def test_a_run_comes_back_from_json(run: Run) -> None:
    assert Run.from_plain(json.loads(json.dumps(run.to_plain()))) == run


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "imdb"},
        {"method": "default"},
        {"experiment": "clean"},
        {"encoder": "lsa"},
        {"seed": 1},
        {"selection": "gold"},
        {"clean": 0.5},
        {"rows": 10},
        {"prior": (0.9, 0.1)},
        {"settings": (("c1", 0.5),)},
        {"keywords": "votes"},
        {"data": "0123"},
    ],
)
def test_everything_that_the_outcome_depends_on_makes_another_run(
    change: dict[str, object],
) -> None:
    run = Run("youtube", "paper")
    other = replace(run, **change)  # type: ignore[arg-type]
    assert other != run
    assert Run.from_plain(other.to_plain()) == other


def test_the_order_of_settings_does_not_matter() -> None:
    one = Run("youtube", "paper", settings=(("c1", 0.1), ("p", 2)))
    assert one == Run("youtube", "paper", settings=(("p", 2), ("c1", 0.1)))
    assert (one.setting("p"), one.setting("c3")) == (2, None)


def test_an_outcome_comes_back_from_json_with_its_gaps() -> None:
    made = outcome("youtube", "paper", 0.9, f1=(0.5, math.nan), gold_used=("training: 5 labels",))
    text = json.dumps(made.to_plain(), allow_nan=False)
    back = Outcome.from_plain(json.loads(text))
    assert math.isnan(back.f1[1])
    assert math.isnan(back.valid_accuracy)
    assert replace(back, f1=(), valid_accuracy=0, foretold_votes=0) == replace(
        made, f1=(), valid_accuracy=0, foretold_votes=0
    )


@pytest.mark.parametrize(
    "wrong",
    [{"experiment": "all"}, {"selection": "votes"}, {"clean": 0.0}, {"clean": 1.1}, {"rows": 0}],
)
def test_nonsense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        replace(Run("youtube", "paper"), **wrong)  # type: ignore[arg-type]
