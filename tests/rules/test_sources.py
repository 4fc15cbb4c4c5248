from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.reference import first_match

from unruly.errors import RuleError
from unruly.rules.keywords import Keywords
from unruly.rules.length import Length
from unruly.rules.pattern import Pattern
from unruly.rules.rule import Rule
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

CLASSES = ("a", "b", "c")
word = st.sampled_from(["one", "two", "Three", "fünf", "six seven", "c++"])
texts = st.lists(
    st.lists(
        st.sampled_from(["one", "TWO", "three", "fünf", "six", "seven", "c++", "onetwo", "!"]),
        max_size=6,
    ).map(" ".join),
    min_size=1,
    max_size=8,
)
plain_rules = st.lists(
    st.tuples(st.integers(0, 2), st.lists(word, min_size=1, max_size=3)), min_size=1, max_size=4
)


def build(sources: list[list[tuple[int, list[str]]]]) -> Sources:
    return Sources(
        CLASSES,
        [
            Source(f"s{i}", [Rule(CLASSES[label], Keywords(words)) for label, words in rules])
            for i, rules in enumerate(sources)
        ],
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(plain_rules, min_size=1, max_size=3), texts)
def test_the_first_rule_that_matches_decides(
    sources: list[list[tuple[int, list[str]]]], documents: list[str]
) -> None:
    votes = build(sources).vote(Corpus.from_texts(documents))
    expected = [[first_match(d, rules) for rules in sources] for d in documents]
    assert votes.matrix.tolist() == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(plain_rules, min_size=1, max_size=2), texts, st.randoms(use_true_random=False))
def test_permuted_rows_give_permuted_votes(
    sources: list[list[tuple[int, list[str]]]], documents: list[str], random: object
) -> None:
    built, corpus = build(sources), Corpus.from_texts(documents)
    order = list(range(len(documents)))
    random.shuffle(order)  # type: ignore[attr-defined]
    straight, shuffled = built.vote(corpus), built.vote(corpus.take(order))
    assert shuffled.matrix.tolist() == straight.matrix[order].tolist()
    assert shuffled.ids.to_list() == order


@settings(max_examples=50, deadline=None)
@given(st.lists(plain_rules, min_size=1, max_size=2), texts)
def test_matches_tell_the_votes_again(
    sources: list[list[tuple[int, list[str]]]], documents: list[str]
) -> None:
    built = build(sources)
    votes = built.vote(Corpus.from_texts(documents))
    for i, text in enumerate(documents):
        told = {match.source: match for match in votes.matches(i)}
        for j, name in enumerate(votes.sources):
            if votes.matrix[i, j] < 0:
                assert name not in told
                continue
            match = told[name]
            assert votes.classes[votes.matrix[i, j]] == match.label
            label, words = sources[j][match.rule]
            assert CLASSES[label] == match.label
            assert match.spans
            for start, end in match.spans:
                assert text[start:end].lower() in {w.lower() for w in words}


def test_a_stream_gives_the_same_votes() -> None:
    rules = [Rule("a", Keywords(["one"])), Rule("b", Length(max_words=1)), Rule("c", Pattern("t"))]
    sources = Sources(CLASSES, [Source("s", rules)])
    corpus = Corpus.from_texts(["one", "two two", "x", "x x x", "one t"] * 5)
    batches = [corpus.take(np.arange(i, min(i + 7, 25))) for i in range(0, 25, 7)]
    streamed = Votes.concat(list(sources.vote_stream(batches)))
    whole = sources.vote(corpus)
    assert streamed.matrix.tolist() == whole.matrix.tolist()
    assert streamed.ids.to_list() == whole.ids.to_list()


def test_no_documents() -> None:
    votes = build([[(0, ["one"])]]).vote(Corpus.from_texts([]))
    assert votes.matrix.shape == (0, 1)


def test_a_source_may_be_called_anything() -> None:
    names = ["text", "id", "__text", "vote", "a b", ""]
    rule = Rule("a", Keywords(["one"]))
    sources = Sources(CLASSES, [Source(name, [rule]) for name in names[:-1]])
    assert sources.vote(Corpus.from_texts(["one", "x"])).matrix.tolist() == [[0] * 5, [-1] * 5]
    with pytest.raises(RuleError, match="needs a name"):
        Source("", [rule])


def test_what_is_refused() -> None:
    rule = Rule("a", Keywords(["one"]))
    source = Source("s", [rule])
    with pytest.raises(RuleError, match="two sources are named 's'"):
        Sources(CLASSES, [source, source])
    with pytest.raises(RuleError, match="there are no sources"):
        Sources(CLASSES, [])
    with pytest.raises(RuleError, match="2 to 127 classes, not 1"):
        Sources(["a"], [source])
    with pytest.raises(RuleError, match="listed twice"):
        Sources(["a", "a"], [source])
    with pytest.raises(
        RuleError, match=r"source 's', rule 1: 'a' is not a class: the classes are x, y"
    ):
        Sources(["x", "y"], [source])
    with pytest.raises(RuleError, match="no rules"):
        Source("s", [])
    with pytest.raises(RuleError, match="has no label"):
        Rule(None, Keywords(["one"]))
