"""A TOML file that knows its lines: reading and scanning; its edits are tested through `editing`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import ProjectError
from unruly.project.toml import Place, Table, lines_of

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


@pytest.mark.parametrize(
    "value", [str(2**63), "[0, -1" + 400 * "0" + "]", "0x" + 40 * "f", "1_" + 5000 * "0"]
)
def test_a_whole_number_beyond_64_bits_names_the_line(value: str) -> None:
    with pytest.raises(ProjectError, match=r"^unruly.toml:3: a whole number has at most 64 bits"):
        Table.parse(f"[task]\nsmall = {2**63 - 1}\nlarge = {value}\n", "unruly.toml")


@pytest.mark.parametrize(
    "text", ["a = " + 400 * "[" + 400 * "]", "a = " + 9000 * "[", "a" + 3000 * ".a" + " = 1"]
)
def test_what_is_too_deep_is_one_error(text: str) -> None:
    with pytest.raises(ProjectError, match="too deep within each other"):
        Table.parse(text, "unruly.toml")


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "unruly.toml").write_bytes(b"[task]\nclasses = ['caf\xe9']\n")
    with pytest.raises(ProjectError, match=r"unruly\.toml:2: not UTF-8"):
        Table.read(tmp_path / "unruly.toml")


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "unruly.toml").write_bytes(b"\xef\xbb\xbf[task]\n")
    assert Table.read(tmp_path / "unruly.toml").values == {"task": {}}


def test_a_file_without_end_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(5_000_001)
    with pytest.raises(ProjectError, match="5,000,001 bytes, and at most 5,000,000 are read"):
        Table.read(tmp_path / "large.toml")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="cannot be read: No such file"):
        Table.read(tmp_path / "unruly.toml")


keys = st.text(min_size=1, max_size=6).filter(lambda key: key.isprintable())
scalars = st.one_of(
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
    st.just('tricky "quotes" # [not] {a} = comment\n, second line'),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def places(value: object, place: Place = ()) -> Iterator[Place]:
    if place:
        yield place
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*place, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, (*place, i))


@given(st.dictionaries(keys, values, max_size=4))
def test_exactly_the_places_of_the_document(document: dict[str, object]) -> None:
    text = tomlkit.dumps(document)
    assert set(lines_of(text)) == set(places(tomllib.loads(text)))


@given(st.dictionaries(keys, values, max_size=4), st.integers(0, 5))
def test_blank_lines_above_move_every_line(document: dict[str, object], blanks: int) -> None:
    text = tomlkit.dumps(document)
    moved = lines_of("\n" * blanks + text)
    assert moved == {place: line + blanks for place, line in lines_of(text).items()}


def test_lines_of_a_project_file() -> None:
    text = """\
# a comment with [brackets] and = signs
[task]
classes = [
    "ham",  # ] not the end
    "spam",
]

[[source]]
name = 'a # no comment'
[[source.rule]]
label = \"\"\"spam
\"\"\"
all = [{ polarity = { above = 0.9 } },
       { not = { keywords = ["http"] } }]
[[source.rule]]
"label" = "ham"
[[source]]
rule = [{ label = "ham", length.max_words = 4 }]
[source.rule-of."thumb.x"]
a.b = 1979-05-27 07:32:00
"""
    lines = lines_of(text)
    assert set(lines) == set(places(tomllib.loads(text)))
    assert lines["task", "classes", 1] == 5
    assert lines["source", 0, "rule", 0, "label"] == 11
    assert lines["source", 0, "rule", 0, "all", 1, "not", "keywords", 0] == 14
    assert lines["source", 0, "rule", 1, "label"] == 16
    assert lines["source", 1, "rule", 0, "length", "max_words"] == 18
    assert lines["source", 1, "rule-of", "thumb.x", "a", "b"] == 20


def test_windows_line_ends() -> None:
    assert lines_of("[task]\r\nclasses = [1,\r\n2]\r\n")["task", "classes", 1] == 3
