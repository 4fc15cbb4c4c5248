from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.reference import first_match

from unruly.errors import RuleError
from unruly.rules.field import Field
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Length
from unruly.sentences import sentence
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
        Sources(CLASSES, []).vote(["one"])
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


def test_no_rule_votes_on_a_document_without_a_text() -> None:
    short = Source("short", [Rule("spam", Length(max_words=3))])
    votes = Sources(["ham", "spam"], [short]).vote(Corpus.from_texts(["hi", None, ""]))
    assert votes.matrix.tolist() == [[1], [-1], [-1]]
    assert [len(votes.matches(row)) for row in range(3)] == [1, 0, 0]


def test_votes_of_the_same_rules_put_together_still_know_them() -> None:
    sources = Sources(["ham", "spam"], [Source("song", [Rule("ham", Keywords(["song"]))])])
    parts = [
        sources.vote(Corpus.from_frame(pl.DataFrame({"text": ["a song"], "k": [i]}), id="k"))
        for i in (1, 2)
    ]
    both = Votes.concat(parts)
    assert both.matches(1)[0].spans == ((2, 6),)
    assert both[[1]].matches(0) == both.matches(1)


def test_whatever_holds_texts_can_be_voted_on(tmp_path: Path) -> None:
    sources = Sources(["ham", "spam"], [Source("s", [Rule("spam", Keywords(["buy"]))])])
    texts = ["buy now", "a song"]
    expected = [[1], [-1]]
    assert sources.vote(texts).matrix.tolist() == expected
    assert sources.vote(tuple(texts)).matrix.tolist() == expected
    assert sources.vote(pl.Series("text", texts)).matrix.tolist() == expected
    assert sources.vote(pl.DataFrame({"text": texts, "n": [1, 2]})).matrix.tolist() == expected
    assert sources.vote(Corpus.from_texts(texts)).matrix.tolist() == expected
    assert sources.vote(np.array(texts)).matrix.tolist() == expected
    pl.DataFrame({"text": texts}).write_csv(tmp_path / "texts.csv")
    assert sources.vote(tmp_path / "texts.csv").matrix.tolist() == expected


def test_pandas_can_be_voted_on() -> None:
    pandas = pytest.importorskip("pandas")
    sources = Sources(["ham", "spam"], [Source("s", [Rule("spam", Keywords(["buy"]))])])
    frame = pandas.DataFrame({"text": ["buy now", "a song"]}, index=[7, 9])
    assert sources.vote(frame).matrix.tolist() == [[1], [-1]]
    assert sources.vote(frame["text"]).matrix.tolist() == [[1], [-1]]


def test_rules_are_shown_in_short() -> None:
    rule = Rule("spam", Keywords([f"w{i}" for i in range(1_000)], match="substring"))
    sources = Sources(["ham", "spam"], [Source("many", [rule]), Source("b", [rule, rule])])
    assert repr(sources) == "Sources(ham, spam: 2 sources, many, b)"
    assert repr(sources.sources[1]) == "Source('b', 2 rules)"
    assert repr(rule) == (
        "Rule('spam', Keywords(['w0', 'w1', 'w2', 'w3', 'w4', … 995 more], match='substring'))"
    )
    assert repr(sources.vote(["w1"]).provenance) == "Evidence(2 sources, 1 document)"


TWO = ["ham", "spam"]


def check(*rules: Rule) -> list[str]:
    return [sentence(f) for f in Sources(TWO, [Source("s", rules)]).check_examples()]


def test_examples_that_hold() -> None:
    rule = Rule("spam", Keywords(["subscribe"]), ["please SUBSCRIBE"], ["unsubscribed long ago"])
    assert check(rule) == []


def test_examples_that_do_not() -> None:
    rule = Rule("spam", Keywords(["subscribe"]), ["nice"], ["subscribe now", "fine"])
    assert check(rule) == [
        "source 's', rule 1 does not match its example 'nice'",
        "source 's', rule 1 matches its counter-example 'subscribe now'",
    ]


def test_a_rule_is_tested_alone_whatever_comes_before_it() -> None:
    first, second = Rule("ham", Keywords(["a"])), Rule("spam", Keywords(["a"]), ["a"])
    assert check(first, second) == []


def test_a_flipped_vote_is_no_match() -> None:
    rule = WordSequence(["recommend"], ["it"], negators=["not"], negated="flip")
    assert check(Rule("ham", rule, ["I recommend it"], ["do not recommend it"])) == []


def test_examples_have_no_other_columns() -> None:
    with pytest.raises(
        RuleError, match=r"rule 1: the rule reads the column 'stars'.*drop the examples"
    ):
        check(Rule("ham", Field("stars", equal=1), ["x"]))
