"""Options made from settings: every one is there, of the right kind, and only typed ones count."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from unruly.cli.setting_options import setting_options, typed_settings
from unruly.settings import Settings

FOUND: list[dict[str, Any]] = []


@click.command()
@setting_options
@click.pass_context
def tool(context: click.Context) -> None:
    FOUND.append(typed_settings(context))


def typed(*args: str) -> dict[str, Any]:
    result = CliRunner().invoke(tool, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return FOUND.pop()


def test_nothing_typed_nothing_changed() -> None:
    assert typed() == {}


@pytest.mark.parametrize("option", Settings.options(), ids=lambda option: option.name)
def test_each_setting_can_be_typed(option: Any) -> None:
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
    assert getattr(Settings(**{"c1": 0.0, "c3": 0.0, **found}), option.name) == value


@pytest.mark.parametrize("args", [["--hidden", "1.5"], ["--method", "guess"], ["--alpha", "much"]])
def test_wrong_kinds_are_refused(args: list[str]) -> None:
    assert CliRunner().invoke(tool, args).exit_code == 2
