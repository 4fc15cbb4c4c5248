"""Typed reading of TOML: errors name the file, the line, what was found and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from unruly.errors import ProjectError
from unruly.project.table import Table

TEXT = """\
[task]
classes = ["ham", "spam"]
mixed = ["yes", 1]
empty = ""
number = 3

[[source]]
name = "a"
[[source]]
name = "b"

[single]
"""


def parsed() -> Table:
    return Table.parse(TEXT, "unruly.toml")


def test_reads_what_is_there_and_nothing_where_nothing_is() -> None:
    task = parsed().table("task")
    assert task.texts("classes") == ("ham", "spam")
    assert task.text("absent") is None
    assert task.texts("absent") == ()
    assert [source.text("name") for source in parsed().tables("source")] == ["a", "b"]
    assert parsed().tables("absent") == ()
    assert parsed().table("absent").values == {}


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: parsed().table("task").text("number"),
            "unruly.toml:5: number: expected a text in quotes, found a whole number, 3",
        ),
        (
            lambda: parsed().table("task").text("empty"),
            "unruly.toml:4: empty is empty: write something or leave it out",
        ),
        (
            lambda: parsed().table("task").texts("mixed"),
            "unruly.toml:3: mixed: expected a text in quotes, found a whole number, 1: write '1'",
        ),
        (
            lambda: parsed().table("task").texts("number"),
            "unruly.toml:5: number: expected a list, found a whole number, 3",
        ),
        (
            lambda: parsed().table("task").table("number"),
            "unruly.toml:5: number: expected a table, found a whole number, 3",
        ),
        (
            lambda: parsed().tables("single"),
            "unruly.toml:12: write [[single]] with double brackets: there may be several",
        ),
        (
            lambda: parsed().only(["tasks", "source", "single"]),
            "unruly.toml:1: unknown key 'task': did you mean 'tasks'?",
        ),
        (
            lambda: parsed().tables("source")[1].only(["rule"]),
            "unruly.toml:10: unknown key 'name' in [[source]]: expected one of rule",
        ),
    ],
)
def test_errors_name_the_line(read: Callable[[], object], message: str) -> None:
    with pytest.raises(ProjectError) as caught:
        read()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[task]\nclasses = ham", r":2: not valid TOML \(column 11\)"),
        ("[task]\n[task]\n", r":2: not valid TOML"),
        ("a = 1\na = 2\n", r":2: not valid TOML"),
        ("a = 1\nb = [1,\n", r":2: not valid TOML: .* \(at the end of the file\)"),
        ('a = 1\nb = "open', r":2: not valid TOML"),
    ],
)
def test_syntax_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(ProjectError, match=message):
        Table.parse(text, "unruly.toml")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "unruly.toml").write_bytes(b"[task]\nclasses = ['caf\xe9']\n")
    with pytest.raises(ProjectError, match=r"unruly\.toml:2: not UTF-8"):
        Table.read(tmp_path / "unruly.toml")


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "unruly.toml").write_bytes(b"\xef\xbb\xbf[task]\n")
    assert Table.read(tmp_path / "unruly.toml").values == {"task": {}}


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="cannot be read: No such file"):
        Table.read(tmp_path / "unruly.toml")
