"""A pattern's size and words are known before any engine compiles it."""

from __future__ import annotations

import re
import sys
from types import FrameType

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import PatternSizeError, RuleError
from unruly.rules import regular_expressions
from unruly.rules.pattern import Pattern
from unruly.rules.regular_expressions import (
    checked,
    find_all_spans,
    folded,
    read_expression,
    short,
)
from unruly.rules.sources import Sources


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        ("a{1000}{1000}", 1_000_000),
        ("(a{1,500}){1,50}b", 25_001),
        (r"\x{41}{5}", 5),
        ("a{,500}", 500),
        ("[a-z]{3}|b", 4),
        ("x{y}", 4),
        ("(?:ab){2,}", 6),
    ],
)
def test_sizes(pattern: str, size: int) -> None:
    assert read_expression(pattern).size == size


@pytest.mark.parametrize("engine", ["linear", "python"])
@pytest.mark.parametrize(
    "bomb",
    [
        "(((a{99}){99}){99}){99}",
        "[[](((a{99}){99}){99}){99}",
        "[[]((((a{99}){99}){99}){99})]",
        "(?x)# [\n(((a{99}){99}){99}){99}#]",
        "((((((a{9}){9}){9}){9}){9}){9}){9}",
        "(a{1,500}){1,50}b",
        "(?i)(?:(?P<n>a{50}){50}){50}",
        "a{99999999999999999999}",
        "(|a){30000}",
        "b" * 30_000,
    ],
)
def test_bombs_are_refused_before_they_are_compiled(bomb: str, engine: str) -> None:
    with pytest.raises(
        RuleError, match=r"the pattern '.*' is (too large|not a regular expression)"
    ):
        Pattern(bomb, engine=engine)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "piece", ["(", "[", "[]", "(?", "(?<", "{1", "\\p{", "a|b", "(?#", ")", "\\"]
)
def test_reading_takes_linear_time_whatever_the_pattern(piece: str) -> None:
    """Four times the length, four times the calls: counted, not timed."""
    assert _calls((piece * 8_000)[:8_000]) < 5 * _calls((piece * 2_000)[:2_000])


def _calls(pattern: str) -> int:
    """How many functions are called while a pattern is read."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        read_expression(pattern, "python")
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"https?://|sub(scribe)?\b|\bwin\b", ("http", "https", "sub", "subscribe", "win")),
        (r"(?i)\bCheck\s+.*out", ("check", "out")),
        (r"love(ly)? (song|video)s?", ("love", "song", "songs", "video", "videos", "lovely")),
        (r"(?<!un)subscribe", ("subscribe",)),
        (r"(?!not)good", ("good",)),
        (r"w\d+|fr[aeiou]g", ("frag", "freg", "frig", "frog", "frug")),
        (r"soo+ good", ("good",)),
        (r"^win$|up^?date", ("win", "update")),  # an anchor has no width
        (r"cat.dog", ("cat", "dog")),  # any sign parts two words
        (r"\w+ing", ()),
        (r"[A-Z]{3,}", ()),
        (r"", ()),
    ],
)
def test_words_of_simple_patterns(pattern: str, words: tuple[str, ...]) -> None:
    assert read_expression(pattern, "python").words == words


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("ab(|)[]{}?*+\\1,2.^ -"), max_size=25))
def test_any_text_can_be_read(pattern: str) -> None:
    found = read_expression(pattern, "python")
    assert found.size >= 1
    assert all(re.fullmatch(r"\w+", word) for word in found.words)


def test_messages_show_sixty_letters_of_a_pattern() -> None:
    assert short("a" * 60) == "a" * 60
    assert short("a" * 61) == "a" * 57 + "..."


def test_size_is_at_most_what_is_written_without_repetition() -> None:
    assert checked("a" * 500).size == 500


def test_rules_tell_the_words_that_they_look_for() -> None:
    from unruly.rules.source import source_from_plain

    classes = ["ham", "spam"]
    tables: list[dict[str, object]] = [
        {"name": "a", "rule": [{"label": "spam", "keywords": ["Subscribe", "check  out"]}]},
        {"name": "b", "rule": [{"label": "spam", "pattern": r"\bfree\b"}, {"label": "ham", "length": {"max_words": 3}}]},
        {"name": "c", "rule": [{"label": "spam", "all": [{"keywords": ["money"]}, {"not": {"keywords": ["song"]}}]}]},
        {"name": "d", "rule": [{"label": "ham", "sequence": {"first": ["would"], "then": ["again"], "negators": ["not"]}}]},
        {"name": "e", "rule": [{"label": "ham", "field": {"column": "user", "keywords": ["ann"]}}]},
        {"name": "f", "rule": [{"label": "ham", "field": {"part": "between", "keywords": ["wife"]}}]},
        {"name": "g", "rule": [{"label": "ham", "any": [{"pattern": "subscribe"}, {"keywords": ["tune"]}]}]},
    ]  # fmt: skip
    sources = Sources(classes, [source_from_plain(table, classes) for table in tables])
    assert [source.reads() for source in sources.sources] == [
        ("subscribe", "check out"), ("free",), ("money",), ("would", "again"), (), ("wife",), ("subscribe", "tune"),
    ]  # fmt: skip
    assert sources.words() == (
        "subscribe", "check out", "free", "money", "would", "again", "wife", "tune",
    )  # fmt: skip


def test_letters_that_differ_in_case_only_become_one() -> None:
    """Each letter of the basic plane beside the one that Python's case folding makes of it."""
    pairs = [
        (lower, simple)
        for letter in map(chr, [*range(0xD800), *range(0xE000, 0x10000)])
        if len(lower := letter.lower()) == len(simple := letter.casefold()) == 1
    ]
    made = pl.DataFrame(pairs, schema=["lower", "simple"], orient="row").select(
        folded(pl.col("lower", "simple"))
    )
    assert made.filter(pl.col("lower") != pl.col("simple")).is_empty()
    assert pl.select(folded(pl.lit("\u0130i\u0307I"))).item() == "\u0130\u0130i"


def test_letters_beyond_lower_case_are_found_in_every_text() -> None:
    """They are looked for before the text is in lower case: alone, and at the end of a word."""
    letters = pl.Series([chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000])
    texts = pl.DataFrame({"text": pl.concat([letters, "a" + letters, "a" + letters + "."])})
    lower = texts.select(pl.col("text").str.to_lowercase())
    assert texts.select(folded(pl.col("text"))).equals(lower.select(folded(pl.col("text"))))


def _group(parts: list[list[tuple[str, int]]]) -> tuple[str, int]:
    """Alternatives of sequences: they are all written out, and an empty group is one part."""
    inside = "|".join("".join(text for text, _ in sequence) for sequence in parts)
    return f"(?:{inside})", max(sum(size for sequence in parts for _, size in sequence), 1)


def _times(item: tuple[str, int], low: int, more: int | None, mark: str) -> tuple[str, int]:
    """One item, repeated: so often as the largest number says, and once more where there is none."""
    text, size = item
    if mark:
        return f"(?:{text}){mark}", size + 1
    most = low + 1 if more is None else max(low + more, 1)
    counted = f"{{{low},}}" if more is None else f"{{{low},{low + more}}}"
    return f"(?:{text}){counted}", size * most


pieces = st.recursive(
    st.sampled_from([("a", 1), ("[xy]", 1), (r"\.", 1), (".", 1), ("[^a]", 1), (r"\bz", 2)]),
    lambda items: st.one_of(
        st.lists(st.lists(items, max_size=3), min_size=1, max_size=3).map(_group),
        st.builds(
            _times,
            items,
            st.integers(0, 3),
            st.none() | st.integers(0, 2),
            st.sampled_from(["", "", "*", "+", "?"]),
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=4))
def test_the_size_is_that_of_the_pattern_with_its_repetitions_written_out(
    items: list[tuple[str, int]],
) -> None:
    pattern = "".join(text for text, _ in items)
    re.compile(pattern)  # one that an engine would take
    expected = sum(size for _, size in items)
    for engine in ("linear", "python"):
        assert read_expression(pattern, engine).size == expected


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("", "a"), ("aXa", "a"), ("äa ba", r"\ba"), ("\ue000a\ue001a", "a"), ("aaa", "a*")],
)
def test_spans_are_those_of_pythons_engine_whatever_stands_in_the_text(
    text: str, pattern: str
) -> None:
    expected = tuple(match.span() for match in re.finditer(pattern, text))
    if pattern == "a*":
        expected = ((0, 3),)  # an empty match behind another is none in the linear engine
    assert find_all_spans([text, "a"], pattern)[0] == expected


def test_a_pattern_may_be_as_long_as_the_limit_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expressions, "_LONGEST", 50)
    monkeypatch.setattr(regular_expressions, "LARGEST", 30)
    assert checked("b" * 50).size == 50  # what is written out in full counts for nothing
    with pytest.raises(PatternSizeError, match="it has 51 characters, and at most 50"):
        checked("b" * 51)
    assert checked("c{34}").size == 34  # five characters are written
    assert checked("c{35}").size == 35
    with pytest.raises(PatternSizeError, match="it has 36 parts"):
        checked("c{36}")
