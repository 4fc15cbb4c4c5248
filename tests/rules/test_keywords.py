from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.reference import has_any

from unruly.errors import RuleError
from unruly.rules.condition import TEXT, spans_of
from unruly.rules.keywords import Keywords, WordSequence, read_words
from unruly.rules.regular_expressions import SearchedTexts, find_all_spans
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

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
    spans = spans_of(rule, {TEXT: text})
    assert bool(spans) == matched(rule, [text])[0]
    for start, end in spans:
        assert text[start:end].lower() in {word.lower() for word in keywords}


# İ and i with a combining dot are one letter here, as in Unicode's full case folding; for a regular expression they are
# two. So only one of them is drawn.
ODD = "ſsSςσΣµkKİ\u0301\x01\x1c\u2003 \n.w-"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(phrases | st.text(alphabet=ODD, min_size=1, max_size=3), min_size=1, max_size=5),
    st.lists(texts | st.text(alphabet=ODD, max_size=12), min_size=1, max_size=6),
    st.sampled_from(["word", "substring"]),
)
def test_spans_are_those_of_the_regular_expression(
    keywords: list[str], documents: list[str], match: Literal["word", "substring"]
) -> None:
    rule = Keywords([word for word in keywords if word.strip()] or ["x"], match)
    (pattern,) = rule.patterns()
    rows = list(range(len(documents)))
    assert rule.spans_in(SearchedTexts(documents), rows) == find_all_spans(documents, pattern)


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
    assert spans_of(rule, {TEXT: "check out this, check"}) == ((0, 14), (16, 21))


def test_spans_count_characters_and_not_bytes() -> None:
    assert spans_of(Keywords(["great"]), {TEXT: "ünï😀 great, GREAT"}) == ((5, 10), (12, 17))


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


tokens = st.lists(st.sampled_from(["would", "watch", "again", "a", "NOT", "Again"]), max_size=9)


def holds(rule: WordSequence, text: str) -> bool:
    return bool(pl.DataFrame({TEXT: [text]}).select(rule.mask()).to_series()[0])


def near(words: list[str], first: set[str], then: set[str], within: int | None) -> bool:
    """The slow and obvious way, for words between spaces."""
    low = [word.lower() for word in words]
    return any(
        low[i] in first and low[j] in then and (within is None or j - i - 1 <= within)
        for i in range(len(low))
        for j in range(i + 1, len(low))
    )


@settings(max_examples=150, deadline=None)
@given(tokens, st.one_of(st.none(), st.integers(0, 4)))
def test_sequences_are_those_of_a_slow_and_obvious_way(
    words: list[str], within: int | None
) -> None:
    rule = WordSequence(["would"], ["again"], within_words=within)
    assert holds(rule, " ".join(words)) == near(words, {"would"}, {"again"}, within)


@settings(max_examples=100, deadline=None)
@given(tokens, st.integers(0, 20))
def test_within_characters(words: list[str], within: int) -> None:
    text = " ".join(words)
    found = [
        (m.end(), n.start())
        for m in re.finditer(r"\bwould\b", text, re.IGNORECASE)
        for n in re.finditer(r"\bagain\b", text, re.IGNORECASE)
    ]
    expected = any(0 <= start - end <= within for end, start in found)
    assert holds(WordSequence(["would"], ["again"], within_chars=within), text) == expected


def test_punctuation_is_no_word() -> None:
    assert holds(WordSequence(["would"], ["again"], within_words=0), "would, again!")
    assert not holds(WordSequence(["would"], ["again"], within_words=0), "would go again")
    assert holds(WordSequence(["would"], ["again"], within_words=1), "would don't again")


def test_the_second_word_may_stand_lines_below() -> None:
    text = "I would\nsay: watch it\r\nagain"
    assert holds(WordSequence(["would"], ["again"]), text)
    assert holds(WordSequence(["would"], ["again"], within_chars=30), text)
    assert holds(WordSequence(["would"], ["again"], within_words=3), text)


def test_a_negator_blocks() -> None:
    rule = WordSequence(["recommend"], ["it"], negators=["not", "never"], negators_within=2)
    assert holds(rule, "I recommend it")
    assert not holds(rule, "I do not recommend it")
    assert holds(rule, "not that anyone cares but I recommend it")


def test_the_leftmost_match_decides() -> None:
    rule = WordSequence(["recommend"], ["it"], within_words=0, negators=["not"])
    assert holds(rule, "recommend it, do not recommend it")
    assert not holds(rule, "do not recommend it, I recommend it")


def test_a_negator_flips() -> None:
    rule = WordSequence(["recommend"], ["it"], negators=["not"], negated="flip")
    sources = Sources(["bad", "good"], [Source("r", [Rule("good", rule)])])
    votes = sources.vote(Corpus.from_texts(["I recommend it", "do NOT recommend it", "no"]))
    assert votes.matrix[:, 0].tolist() == [1, 0, -1]
    assert votes.matches(1)[0].label == "bad"
    assert votes.matches(1)[0].spans == ((3, 19),)


def test_flipping_needs_two_classes() -> None:
    rule = WordSequence(["recommend"], ["it"], negators=["not"], negated="flip")
    with pytest.raises(RuleError, match=r"source 'r', rule 1: .*two classes"):
        Sources(["a", "b", "c"], [Source("r", [Rule("a", rule)])])


@pytest.mark.parametrize(
    ("first", "then"), [([], ["a"]), (["a"], []), ([" "], ["a"])], ids=["first", "then", "blank"]
)
def test_empty_lists_are_refused(first: list[str], then: list[str]) -> None:
    with pytest.raises(RuleError, match=r"empty|blank"):
        WordSequence(first, then)


def test_one_limit_only() -> None:
    with pytest.raises(RuleError, match="not both"):
        WordSequence(["a"], ["b"], within_words=1, within_chars=1)


@pytest.mark.parametrize(
    ("number", "shown", "few", "sequence"),
    [
        (3, "['w0', 'w1', 'w2']", "w0, w1, w2", "w0/w1/w2"),
        (4, "['w0', 'w1', 'w2', 'w3']", "w0, w1, w2 and 1 more", "w0/w1/w2/…"),
        (5, "['w0', 'w1', 'w2', 'w3', 'w4']", "w0, w1, w2 and 2 more", "w0/w1/w2/…"),
        (6, "['w0', 'w1', 'w2', 'w3', 'w4', … 1 more]", "w0, w1, w2 and 3 more", "w0/w1/w2/…"),
    ],
)
def test_long_lists_are_shown_in_short(number: int, shown: str, few: str, sequence: str) -> None:
    words = [f"w{i}" for i in range(number)]
    assert repr(Keywords(words)) == f"Keywords({shown})"
    assert Keywords(words).reason() == f"keywords: {few}"
    assert WordSequence(words, ["then"]).reason() == f"sequence: {sequence} … then"


def test_a_sequence_is_written_with_what_differs_from_the_usual() -> None:
    usual = {"first": ["a"], "then": ["b"]}
    assert WordSequence(["a"], ["b"]).to_plain() == {"sequence": usual}
    near = WordSequence(["a"], ["b"], within_words=0, negators=["not"], negators_within=2)
    assert near.to_plain() == {
        "sequence": {
            **usual,
            "within_words": 0,
            "negators": ["not"],
            "negated": near.negated,
            "negators_within": 2,
        }
    }
    assert WordSequence(["a"], ["b"], within_chars=5).to_plain() == {
        "sequence": {**usual, "within_chars": 5}
    }
