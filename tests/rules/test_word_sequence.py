from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import RuleError
from unruly.rules.condition import TEXT
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.word_sequence import WordSequence
from unruly.texts.corpus import Corpus

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
def test_same_as_the_slow_and_obvious_way(words: list[str], within: int | None) -> None:
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
