"""Two entities in a document, and the words around them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.texts.corpus import Corpus
from unruly.texts.relation import Relation


def related(**columns: list[object]) -> Relation:
    relation = Corpus.from_frame(pl.DataFrame(columns), text="text").relation
    assert relation is not None
    return relation


def test_plain_texts_have_no_relation() -> None:
    assert Corpus.from_texts(["a"]).relation is None
    assert (
        Corpus.from_frame(pl.DataFrame({"text": ["a"], "entity1": ["a"]}), text="text").relation
        is None
    )


def test_the_answer_is_kept_with_the_corpus() -> None:
    corpus = Corpus.from_frame(
        pl.DataFrame({"text": ["a b"], "entity1": ["a"], "entity2": ["b"]}), text="text"
    )
    assert corpus.relation is corpus.relation


def test_entities_are_found_in_the_text() -> None:
    relation = related(
        text=[
            "Then Ann Lee, wife of Bo Lee, left home.",
            "Bo met Ann.",
            "Ann saw Ann leave",
            "nobody",
        ],
        entity1=["Ann Lee", "Ann", "Ann", "Ann"],
        entity2=["Bo Lee", "Bo", "Ann", ""],
    )
    assert relation.between.to_list() == [", wife of", "met", "saw", None]
    assert relation.before.to_list() == ["Then", "", "", None]
    assert relation.after.to_list() == [", left home.", ".", "leave", None]
    assert relation.order.to_list() == [True, False, True, True]
    assert relation.distance.to_list() == [3, 1, 1, None]
    assert relation.lastname1.to_list() == ["Lee", None, None, None]
    assert relation.lastname2.to_list() == ["Lee", None, None, None]
    assert relation.masked_text("A", "B").to_list() == [
        "Then A, wife of B, left home.",
        "B met A.",
        "A saw B leave",
        None,
    ]


def test_words_and_their_spans_come_first() -> None:
    relation = related(
        text=["Ann and Ann sit", "x"],
        entity1=["Ann", "x"],
        entity2=["Ann", "y"],
        tokens=[["Ann", "and", "Ann", "sit"], ["x"]],
        span1_tok=[[2, 2], [0, 0]],
        span2_tok=[[0, 0], [4, 4]],
    )
    assert relation.order.to_list() == [False, True]
    assert relation.between.to_list() == ["and", None]
    assert relation.masked_text("A", "B").to_list() == ["B and A sit", None]
    assert relation.left_window(1, entity=1).to_list() == ["and", None]
    assert relation.left_window(9, entity=2).to_list() == ["", None]
    assert relation.right_window(2, entity=2).to_list() == ["and Ann", None]


@pytest.mark.parametrize("spans", [([8, 11], [0, 3]), ([8, 10], [0, 2]), ("[8, 11]", "[0, 3]")])
def test_spans_of_characters(spans: tuple[object, object]) -> None:
    relation = related(
        text=["Ann and Ann sit"],
        entity1=["Ann"],
        entity2=["Ann"],
        span1=[spans[0]],
        span2=[spans[1]],
    )
    assert relation.masked_text("A", "B").to_list() == ["B and A sit"]


def test_windows_and_surroundings() -> None:
    relation = related(text=["a b c X d e Y f g h"], entity1=["X"], entity2=["Y"])
    assert relation.left_window(2).to_list() == ["b c"]
    assert relation.left_window(2, skip=1).to_list() == ["a b"]
    assert relation.left_window(2, skip=9).to_list() == [""]
    assert relation.left_window(4, entity=2).to_list() == ["c X d e"]
    assert relation.right_window(2).to_list() == ["f g"]
    assert relation.right_window(2, entity=1).to_list() == ["d e"]
    assert relation.around(1).to_list() == ["c d e f"]
    assert relation.frame(2).height == 1
    with pytest.raises(ValueError, match="entity must be 1 or 2, not 3"):
        relation.left_window(2, entity=3)


words = st.lists(st.text("abc", min_size=1, max_size=3), max_size=4)


@given(words, words, words, st.booleans())
def test_the_parts_make_up_the_text(
    before: list[str], between: list[str], after: list[str], swapped: bool
) -> None:
    names = ("Yo", "Xi") if swapped else ("Xi", "Yo")
    text = " ".join([*before, names[0], *between, names[1], *after])
    relation = related(text=[text], entity1=["Xi"], entity2=["Yo"])
    assert relation.before[0] == " ".join(before)
    assert relation.between[0] == " ".join(between)
    assert relation.after[0] == " ".join(after)
    assert relation.distance[0] == len(between)
    assert relation.masked_text("Xi", "Yo")[0] == text
    assert bool(relation.order[0]) is not swapped
