"""Errors carry their place as a value; their text is the place and the message."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import unruly
from unruly.errors import (
    InputError,
    MissingExtraError,
    ProjectError,
    RuleError,
    SettingsError,
    UnrulyError,
    Where,
    need,
    not_fitted,
    panics_of,
)
from unruly.model.saved_rules import LackingWarning
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.field import Field
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (Where(), ""),
        (Where(file="c.csv"), "c.csv"),
        (Where(file="c.csv", line=3), "c.csv, line 3"),
        (Where(file="frame", row=0, column="text"), "frame, row 0, column 'text'"),
        (Where(file="a/unruly.toml", line=3), "a/unruly.toml:3"),
        (Where(source="a"), "source 'a'"),
        (Where(source="a", rule=1, id="x"), "source 'a', rule 1, row id 'x'"),
        (
            Where(file="unruly.toml", line=9, source="a", rule=1),
            "unruly.toml:9: source 'a', rule 1",
        ),
    ],
)
def test_a_place_in_words(where: Where, text: str) -> None:
    assert str(where) == text
    assert str(InputError("no", where=where)) == (f"{text}: no" if text else "no")


def test_the_text_of_an_error_is_harmless_to_a_terminal() -> None:
    error = InputError("no \x1b[2J\x9b1m\u202e", where=Where(file="a\x07.csv", source="s\x1b]0;x"))
    assert str(error) == r"a\u0007.csv: source 's\x1b]0;x': no \u001b[2J\u009b1m\u202e"
    assert error.message == "no \x1b[2J\x9b1m\u202e"  # as it was given, for programs


@pytest.mark.parametrize(
    "kind", [UnrulyError, InputError, ProjectError, RuleError, SettingsError, MissingExtraError]
)
def test_every_error_keeps_its_place_when_moved_and_pickled(kind: type[UnrulyError]) -> None:
    error = kind("no", where=Where(source="a", rule=2))
    moved = error.located(Where(file="unruly.toml", line=4, source="b"))
    assert type(moved) is kind
    assert moved.where == Where(file="unruly.toml", line=4, source="a", rule=2)
    assert error.where == Where(source="a", rule=2)  # the first one is untouched
    again = pickle.loads(pickle.dumps(moved))
    assert (str(again), again.where) == (str(moved), moved.where)


def test_a_setting_that_is_wrong_is_named() -> None:
    moved = SettingsError("no", option="epochs").located(Where(file="unruly.toml"))
    assert moved.option == "epochs"


def test_a_wrong_value_is_a_value_error() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(SettingsError, ValueError)


def test_an_unfitted_model_raises_scikit_learns_own_error() -> None:
    assert type(not_fitted("call fit")) is NotFittedError


@pytest.mark.parametrize(
    ("library", "name", "value"),
    [("onnxruntime", "ORT_DISABLE_TELEMETRY", "1"), ("ray", "RAY_USAGE_STATS_ENABLED", "0")],
)
def test_telemetry_is_off(
    library: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "as it was")
    monkeypatch.setitem(sys.modules, library, SimpleNamespace())
    need(library, extra="some", purpose="tests")
    assert os.environ[name] == value


def test_a_folder_of_its_name_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m unruly` looks in the current folder, which may have a folder called ray."""
    (tmp_path / "no_such_library").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match=r"need the library no_such_library"):
        need("no_such_library", extra="some", purpose="tests")


def test_a_panic_becomes_one_line() -> None:
    panic = type("PanicException", (BaseException,), {})
    expected = r"a\.parquet: polars cannot work with this \(oh\)"
    with pytest.raises(InputError, match=expected), panics_of("polars", "a.parquet"):
        raise panic("oh\nand more")


def test_warnings_point_at_the_users_line() -> None:
    """And so all go through `warn`: a fixed stacklevel is wrong for somebody."""
    frame = pl.DataFrame({"text": ["good", "bad"] * 5, "stars": [5, 1] * 5})
    stars = Source(
        "stars", [Rule("yes", Field("stars", low=4)), Rule("no", Field("stars", high=2))]
    )
    model = WeakClassifier("lsa", cache=False).fit(frame, sources=Sources(["no", "yes"], [stars]))
    with pytest.warns(LackingWarning) as caught:
        model.predict(["good"])
    assert [warning.filename for warning in caught] == [__file__]
    own = Path(unruly.__file__).parent
    direct = [p.name for p in own.rglob("*.py") if "warnings.warn(" in p.read_text("utf-8")]
    assert direct == ["errors.py"]
