"""Options that commands share: settings as options, and places for outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from unruly.cli.options import (
    TABLES,
    check_output,
    check_typed,
    setting_options,
    typed_settings,
)
from unruly.errors import InputError
from unruly.model.methods import SETTINGS

FOUND: list[dict[str, Any]] = []


@click.command()
@setting_options
@click.pass_context
def tool(context: click.Context) -> None:
    FOUND.append(dict(typed_settings(context)))


def typed(*args: str) -> dict[str, Any]:
    result = CliRunner().invoke(tool, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return FOUND.pop()


def test_nothing_typed_nothing_changed() -> None:
    assert typed() == {}


OPTIONS = [(method, option) for method, kind in SETTINGS.items() for option in kind.options()]


@pytest.mark.parametrize(("method", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
def test_each_setting_can_be_typed(method: str, option: Any) -> None:
    value: Any
    if option.range is None:
        assert typed(option.flag) == {option.name: True}
        assert typed(f"--no-{option.flag[2:]}") == {option.name: False}
        return
    if option.range.choices:
        value = option.range.choices[-1]
    else:
        value = max(1, int(option.range.low)) if option.range.whole else max(0.5, option.range.low)
    found = typed(option.flag, str(value))
    assert found == {option.name: value}
    assert type(found[option.name]) is type(value)
    zero = {"c1": 0.0, "c3": 0.0} if method == "paper" else {}
    assert getattr(SETTINGS[method](**{**zero, **found}), option.name) == value


@pytest.mark.parametrize(
    "args", [["--hidden", "1.5"], ["--ablation", "guess"], ["--alpha", "much"]]
)
def test_wrong_kinds_are_refused(args: list[str]) -> None:
    assert CliRunner().invoke(tool, args).exit_code == 2


@pytest.mark.parametrize(("method", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
def test_an_option_of_another_method_is_refused_with_a_hint(method: str, option: Any) -> None:
    other = next(name for name in SETTINGS if name != method)
    shared = {o.name for o in SETTINGS[other].options()}
    check_typed({option.name: 1}, method)
    if option.name in shared:
        return
    with pytest.raises(
        InputError, match=f"{option.flag} is an option of --method {method}: add it"
    ):
        check_typed({option.name: 1}, other)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "A.CSV", "b.tsv", "c.jsonl"])
def test_places_that_will_do(tmp_path: Path, name: str) -> None:
    check_output(tmp_path / name, TABLES)
    (tmp_path / name).write_text("old")
    check_output(tmp_path / name, TABLES)
    assert (tmp_path / name).read_text() == "old"


def test_any_ending_where_none_is_asked_for(tmp_path: Path) -> None:
    check_output(tmp_path / "model.anything")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.xlsx", "cannot write '.xlsx' files: use .parquet, .csv, .tsv or .jsonl"),
        ("a", "cannot write a file without an ending"),
        ("no/a.csv", "does not exist"),
        ("folder.csv", "it is a folder, name a file"),
    ],
)
def test_places_that_will_not(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=message):
        check_output(tmp_path / name, TABLES)


def test_a_read_only_folder_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match="is read-only"):
        check_output(tmp_path / "a.csv")
