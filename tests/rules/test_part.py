from __future__ import annotations

import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.rules.keywords import Keywords
from unruly.rules.part import PartWords
from unruly.rules.pattern import Pattern
from unruly.rules.relation_parts import Part
from unruly.rules.rule import Rule
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

FRAME = pl.DataFrame(
    {
        "text": ["His wife Ann Lee met é husband Bo Orr in sunny York"],
        "title": ["A Wedding"],
        "entity1": ["Ann Lee"],
        "entity2": ["Bo Orr"],
    }
)


def vote(condition: PartWords, frame: pl.DataFrame = FRAME) -> Votes:
    sources = Sources(["no", "yes"], [Source("p", [Rule("yes", condition)])])
    return sources.vote(Corpus.from_frame(frame, text="text"))


@pytest.mark.parametrize(
    ("part", "words", "word", "expected"),
    [
        ("between", None, "husband", True),
        ("between", None, "wife", False),
        ("before", None, "his", True),
        ("before", 1, "his", False),
        ("before", 1, "wife", True),
        ("after", 1, "york", False),
        ("after", None, "york", True),
        ("around", 1, "wife", True),
        ("around", 1, "husband", True),
        ("around", 1, "york", False),
        ("left1", 1, "wife", True),
        ("left2", 1, "husband", True),
        ("left2", 1, "met", False),
        ("left2", None, "wife", True),
        ("right1", 1, "met", True),
        ("right2", 1, "in", True),
    ],
)
def test_parts(part: Part, words: int | None, word: str, expected: bool) -> None:
    assert bool(vote(PartWords(Keywords([word]), part, words=words)).voted[0, 0]) == expected


def test_spans_are_those_of_the_whole_text() -> None:
    (match,) = vote(PartWords(Keywords(["husband"]), "between")).matches(0)
    start, end = match.spans[0]
    assert FRAME["text"][0][start:end] == "husband"


def test_spans_where_the_data_brings_its_own_tokens() -> None:
    frame = pl.DataFrame(
        {
            "text": ["Ann, ex-wife of Bo"],
            "entity1": ["Ann"],
            "entity2": ["Bo"],
            "tokens": [["Ann", ",", "ex-wife", "of", "Bo"]],
            "span1_tok": [[0, 0]],
            "span2_tok": [[4, 4]],
        }
    )
    (match,) = vote(PartWords(Keywords(["ex-wife"]), "between"), frame).matches(0)
    assert match.spans == ((5, 12),)


def test_words_in_another_column() -> None:
    assert vote(PartWords(Keywords(["wedding"]), column="title")).voted[0, 0]
    assert vote(PartWords(Pattern("^A"), column="title")).voted[0, 0]
    assert not vote(PartWords(Pattern("^a"), column="title")).voted[0, 0]


def test_an_entity_that_is_not_found_does_not_match() -> None:
    frame = FRAME.with_columns(entity2=pl.lit("Nobody"))
    assert not vote(PartWords(Keywords(["met"]), "between"), frame).voted.any()


def test_what_does_not_go_together() -> None:
    with pytest.raises(RuleError, match="either a part"):
        PartWords(Keywords(["a"]))
    with pytest.raises(RuleError, match="words must be"):
        PartWords(Keywords(["a"]), "between", words=2)
    with pytest.raises(RuleError, match="linear engine only"):
        PartWords(Pattern("a", engine="python"), "between")
