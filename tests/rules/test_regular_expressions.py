"""A pattern's size and words are known before any engine compiles it."""

from __future__ import annotations

import re
import sys
from types import FrameType

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import RuleError
from unruly.rules.pattern import Pattern
from unruly.rules.regular_expressions import checked, folded, read_expression, short
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
