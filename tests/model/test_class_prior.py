"""The class prior that a user gives."""

from __future__ import annotations

from typing import Any

import pytest
from tests.model.planted import planted, quick

from unruly.errors import SettingsError
from unruly.model.class_prior import checked_prior


def test_numbers_are_scaled_to_shares() -> None:
    assert checked_prior([9, 1], ("a", "b")) == (0.9, 0.1)
    assert checked_prior({"b": 0.25, "a": 0.75}, ("a", "b")) == (0.75, 0.25)


@pytest.mark.parametrize("word", ["auto", "uniform", "votes", None])
def test_words_are_kept(word: str | None) -> None:
    assert checked_prior(word, ("a", "b")) == word


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("even", "must be auto, uniform, votes, or numbers"),
        ([1, 1, 1], "must be 2 numbers above 0"),
        ([1, 0], "must be 2 numbers above 0"),
        ([float("nan"), 1], "must be 2 numbers above 0"),
        ({"a": 1, "c": 1}, "class_prior names a, c, but the classes are a, b"),
    ],
)
def test_others_are_refused(given: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        checked_prior(given, ("a", "b"))


def test_a_wrong_prior_is_refused_by_fit_not_by_init() -> None:
    data = planted(n=20)
    model = quick().set_params(class_prior=[1, 2, 3])
    with pytest.raises(SettingsError):
        model.fit(data.features, data.votes)
