"""Every key and item of a TOML document is found, on its own line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from unruly.project.positions import Place, lines_of

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
