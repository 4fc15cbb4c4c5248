"""A rule's label, and the classes that it may be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import RuleError, Where
from unruly.rules.column import Column, Probabilities
from unruly.rules.condition import AllOf, AnyOf, Condition, Not
from unruly.rules.field import Field, PartWords, SameLastName
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, class_number, source_from_plain, source_to_plain
from unruly.rules.tools import Entity, Length, Sentiment


def test_a_class_of_two_lines_is_named_on_one() -> None:
    with pytest.raises(RuleError, match=r"the classes are ham, 'a\\nb'") as caught:
        class_number("spam", ("ham", "a\nb"))
    assert "\n" not in str(caught.value)


CLASSES = ("ham", "spam")
word = st.text(alphabet="abcé ", min_size=1, max_size=5).filter(lambda w: bool(w.strip()))
words = st.lists(word, min_size=1, max_size=3)

simple: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Keywords, words, st.sampled_from(["word", "substring"])),
    st.builds(Pattern, st.sampled_from(["a+", r"\bx\b"]), st.booleans()),
    st.just(Pattern("(?=a)", engine="python", seconds=0.5)),
    st.builds(WordSequence, words, words, st.integers(0, 5), st.none(), words),
    st.builds(Length, st.integers(0, 3), st.integers(3, 9)),
    st.builds(Sentiment, st.sampled_from(["polarity", "subjectivity", "vader"]), st.floats(-1, 1)),
    st.builds(Entity, st.just("PERSON"), st.just("model")),
    st.builds(Field, word, st.one_of(word, st.integers(), st.booleans())),
    st.builds(Field, word, st.none(), st.lists(word, min_size=1)),
    st.builds(Field, word, st.none(), st.none(), st.floats(0, 1), st.floats(1, 2)),
    st.builds(
        PartWords, st.builds(Keywords, words), st.just("around"), st.none(), st.integers(1, 5)
    ),
    st.just(SameLastName()),
)
conditions = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=4,
)
rules = st.one_of(
    st.builds(Rule, st.sampled_from(CLASSES), conditions, st.lists(word), st.lists(word)),
    st.builds(
        Rule, st.none(), st.builds(Column, word, st.dictionaries(word, st.sampled_from(CLASSES)))
    ),
    st.builds(Rule, st.none(), st.just(Probabilities({"spam": "p"}, above=0.5))),
)


@settings(max_examples=200, deadline=None)
@given(word, st.lists(rules, min_size=1, max_size=3))
def test_there_and_back(name: str, listed: list[Rule]) -> None:
    source = Source(name, listed)
    assert source_from_plain(source_to_plain(source), CLASSES) == source


def read(rule: Mapping[str, object]) -> Source:
    return source_from_plain({"name": "s", "rule": [rule]}, CLASSES, where="unruly.toml")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            {"label": "spam", "keyword": ["a"]},
            "'keyword' is not a key of a rule; did you mean 'keywords'",
        ),
        ({"label": "spam", "keywords": []}, "the list of keywords is empty"),
        ({"label": "spam", "keywords": ["a", 3]}, "expected a text in quotes, found int 3"),
        (
            {"label": "spam", "keywords": ["a"], "engine": "python"},
            "'engine' is not a key of a rule with keywords; its keys are keywords, ",
        ),
        ({"label": "spam", "keywords": ["a"], "match": "subtring"}, "did you mean 'substring'"),
        ({"label": "spam", "keywords": ["a"], "pattern": "b"}, "keywords and pattern together"),
        ({"label": "spam"}, "exactly one kind of condition"),
        (
            {"label": "spamm", "keywords": ["a"]},
            "is not a class: the classes are ham, spam; did you mean 'spam'",
        ),
        ({"keywords": ["a"]}, "there is no label"),
        ({"label": "spam", "pattern": "(a"}, "unclosed group, at character 1"),
        ({"label": "spam", "length": {"max_word": 3}}, "did you mean 'max_words'"),
        ({"label": "spam", "length": {"max_words": -1}}, "whole number from 0"),
        (
            {"vote": "spam", "keywords": ["a"]},
            "'vote' is not a key of a rule with keywords; did you mean 'label'?",
        ),
        (
            {"label": "spam", "regex": "a"},
            "'regex' is not a key of a rule; did you mean 'pattern'?",
        ),
        ({"label": "spam", "polarity": {"over": 3}}, "'over' is not a key of polarity"),
        ({"label": "spam", "polarity": 0.9}, "expected a table in braces, found float 0.9"),
        ({"label": "spam", "sequence": {"first": ["a"]}}, "a sequence needs then"),
        ({"label": "spam", "entity": {}}, "needs a type"),
        ({"label": "spam", "field": {"column": "a"}}, "needs one test"),
        (
            {"label": "spam", "field": {"name": "a", "equal": 1}},
            "'name' is not a key of field; did you mean 'column'?",
        ),
        (
            {"label": "spam", "field": {"column": "a", "above": 1}},
            "'above' is not a key of field; did you mean 'min'?",
        ),
        ({"label": "spam", "name": "a"}, "'name' is not a key of a rule; its keys are"),
        (
            {"label": "spam", "field": {"part": "betwen", "keywords": ["a"]}},
            "did you mean 'between'",
        ),
        ({"label": "spam", "lookup": {"columns": ["a"]}}, "a lookup needs file"),
        ({"label": "spam", "keywords_file": "none.txt"}, "there is no file none.txt"),
        ({"label": "spam", "column": {"name": "v"}}, "picks the class itself: drop label"),
        ({"column": {"name": "v", "map": {"1": "spma"}}}, "did you mean 'spam'"),
        ({"label": "spam", "all": []}, "needs a list of conditions"),
        (
            {"label": "spam", "all": [{"label": "ham", "keywords": ["a"]}]},
            "label belongs to the rule",
        ),
        ({"label": "spam", "not": {"column": {"name": "v"}}}, "picks the class itself"),
        ({"label": "spam", "keywords": ["a"], "examples": [1]}, "expected a text in quotes"),
    ],
)
def test_what_is_refused(rule: dict[str, object], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        read(rule)
    text = str(caught.value)
    assert text.startswith("unruly.toml: source 's', rule 1: ")
    assert message in text
    assert "\n" not in text


def test_sources_without_a_name_or_rules() -> None:
    with pytest.raises(RuleError, match="has no name"):
        source_from_plain({"rule": []}, CLASSES)
    with pytest.raises(RuleError, match=r"\[\[source\.rule\]\]"):
        source_from_plain({"name": "s"}, CLASSES)
    with pytest.raises(RuleError, match="'rules' is not a key of a source; did you mean 'rule'"):
        source_from_plain({"name": "s", "rules": []}, CLASSES)
    for key in ("classifier", "keywords", "label"):
        with pytest.raises(RuleError, match=rf"'{key}' belongs to a rule, .* write rule = \[{{"):
            source_from_plain({"name": "s", key: "x"}, CLASSES)


def test_the_place_of_the_trouble_is_told_by_its_keys() -> None:
    def where(path: tuple[str | int, ...]) -> Where:
        return Where(file=".".join(str(key) for key in path))

    table = {"name": "s", "rule": [{"label": "spam", "all": [{"pattern": "a"}, {"pattern": "("}]}]}
    with pytest.raises(RuleError, match=r"^rule\.0\.all\.1\.pattern: source 's', rule 1: "):
        source_from_plain(table, CLASSES, where=where)
    sequence = {"first": ["a"], "then": ["b", 3]}
    with pytest.raises(RuleError, match=r"^rule\.0\.sequence\.then\.1: source 's', rule 1: "):
        source_from_plain(
            {"name": "s", "rule": [{"label": "spam", "sequence": sequence}]}, CLASSES, where=where
        )


def test_words_from_a_file_are_written_back_as_the_file(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("one\ntwo\n")
    table = {"name": "s", "rule": [{"label": "spam", "keywords_file": "words.txt"}]}
    source = source_from_plain(table, CLASSES, tmp_path)
    assert source_to_plain(source) == table
    assert source.rules[0].when.reason() == "keywords: one, two"
