from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.reference import has_any

from unruly.errors import RuleError
from unruly.rules.condition import TEXT
from unruly.rules.keywords import Keywords, read_words

LETTERS = "aAbBéÉßЯя中1_ .-+'\n"
words = st.text(alphabet="aAbéßЯя1_-+'", min_size=1, max_size=4)
phrases = st.lists(words, min_size=1, max_size=2).map(" ".join)
texts = st.text(alphabet=LETTERS, max_size=30)


def matched(rule: Keywords, documents: list[str]) -> list[bool]:
    return pl.DataFrame({TEXT: documents}).select(rule.mask().alias("m"))["m"].to_list()


@settings(max_examples=150, deadline=None)
@given(st.lists(phrases, min_size=1, max_size=4), st.lists(texts, min_size=1, max_size=8))
def test_same_as_the_slow_and_obvious_way(keywords: list[str], documents: list[str]) -> None:
    assert matched(Keywords(keywords), documents) == [has_any(d, keywords) for d in documents]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        phrases | st.text(alphabet="ſsSςσΣµkK x", min_size=1, max_size=3), min_size=1, max_size=4
    ),
    st.lists(texts | st.text(alphabet="ſsSςσΣµkK x.", max_size=8), min_size=1, max_size=8),
    st.sampled_from(["word", "substring"]),
)
def test_a_long_list_is_matched_like_a_short_one(
    keywords: list[str], documents: list[str], match: Literal["word", "substring"]
) -> None:
    keywords = [word for word in keywords if word.strip()] or ["x"]
    filler = [f"filler{i}word" for i in range(301)]
    long, short = Keywords([*keywords, *filler], match), Keywords(keywords, match)
    assert len(long.patterns()) > 1
    assert matched(long, documents) == matched(short, documents)


@settings(max_examples=100, deadline=None)
@given(st.lists(words, min_size=1, max_size=4), texts)
def test_spans_hold_a_keyword_and_nothing_else(keywords: list[str], text: str) -> None:
    rule = Keywords(keywords)
    spans = rule.spans({TEXT: text})
    assert bool(spans) == matched(rule, [text])[0]
    for start, end in spans:
        assert text[start:end].lower() in {word.lower() for word in keywords}


@settings(max_examples=100, deadline=None)
@given(st.lists(words, min_size=1, max_size=3), st.lists(texts, min_size=1, max_size=6))
def test_substrings(keywords: list[str], documents: list[str]) -> None:
    expected = [any(w.lower() in d.lower() for w in keywords) for d in documents]
    assert matched(Keywords(keywords, "substring"), documents) == expected


def test_whole_words_by_default() -> None:
    documents = ["SUBSCRIBE", "unsubscribed", "subscribe!", "sub scribe", "re-subscribe"]
    assert matched(Keywords(["subscribe"]), documents) == [True, False, True, False, True]


def test_letters_of_other_scripts_are_letters() -> None:
    documents = ["ПРИВЕТ всем", "приветы", "naïveté", "naïve", "École"]
    rule = Keywords(["привет", "naïve", "école"])
    assert matched(rule, documents) == [True, False, False, True, True]


def test_any_white_space_may_stand_within_a_phrase() -> None:
    documents = ["check out", "check   out", "Check\n\tout", "checkout", "check it out"]
    assert matched(Keywords(["check out"]), documents) == [True, True, True, False, False]
    assert matched(Keywords(["check  out"], "substring"), documents[:3]) == [True, True, True]


def test_marks_are_no_wild_cards() -> None:
    documents = ["a.b", "axb", "c++", "ccc", "(ab)", "ab", "[x]", "x"]
    rule = Keywords(["a.b", "c++", "(ab)", "[x]"])
    assert matched(rule, documents) == [True, False] * 4


def test_the_span_of_a_phrase_is_the_whole_phrase() -> None:
    rule = Keywords(["check", "check out", "check out this"])
    assert rule.spans({TEXT: "check out this, check"}) == ((0, 14), (16, 21))


def test_spans_count_characters_and_not_bytes() -> None:
    assert Keywords(["great"]).spans({TEXT: "ünï😀 great, GREAT"}) == ((5, 10), (12, 17))


def test_thousands_of_words_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("# names\n\n" + "\n".join(f"word{i}" for i in range(5000)), encoding="utf-8")
    rule = Keywords.from_file(path)
    assert len(rule.words) == 5000
    assert len(rule.patterns()) > 1
    documents = ["a word4999 here", "word5000", "a WORD1", "word49991", "aword4999"]
    assert matched(rule, documents) == [True, False, True, False, False]


@pytest.mark.parametrize("bad", [[], [""], ["ok", "  "]])
def test_empty_lists_and_blank_words_are_refused(bad: list[str]) -> None:
    with pytest.raises(RuleError, match=r"empty|blank"):
        Keywords(bad)


def test_one_text_is_not_a_list() -> None:
    with pytest.raises(RuleError, match=r"write \['free'\]"):
        Keywords("free")


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no file"):
        read_words(tmp_path / "none.txt")
    (tmp_path / "latin.txt").write_bytes("caf\xe9".encode("latin-1"))
    with pytest.raises(RuleError, match="UTF-8"):
        read_words(tmp_path / "latin.txt")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(RuleError, match="no keywords"):
        read_words(tmp_path / "empty.txt")


def test_meaning_ignores_order_but_not_the_way_of_matching() -> None:
    assert Keywords(["a", "b"]).meaning() == Keywords(["b", "a"]).meaning()
    assert Keywords(["a"]).meaning() != Keywords(["a"], "substring").meaning()
