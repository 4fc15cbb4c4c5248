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


def masked(relation: Relation) -> list[str | None]:
    """The texts with A in the place of entity 1 and B in that of entity 2; None where they are not found."""
    found: list[str | None] = []
    for parts, swapped in zip(relation.parts.rows(), relation.swapped, strict=True):
        first, second = "BA" if swapped else "AB"
        before, _, between, _, after = parts
        found.append(None if before is None else f"{before}{first}{between}{second}{after}")
    return found


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
    assert relation.swapped.tolist() == [False, True, False, False]
    assert relation.lastname1.to_list() == ["Lee", None, None, None]
    assert relation.lastname2.to_list() == ["Lee", None, None, None]
    assert masked(relation) == [
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
    assert relation.swapped.tolist() == [True, False]
    assert relation.between.to_list() == ["and", None]
    assert masked(relation) == ["B and A sit", None]
    assert relation.left(1).to_list() == ["Ann and", None]
    assert relation.left(2).to_list() == ["", None]
    assert relation.right(2).to_list() == ["and Ann sit", None]


@pytest.mark.parametrize("spans", [([8, 11], [0, 3]), ([8, 10], [0, 2]), ("[8, 11]", "[0, 3]")])
def test_spans_of_characters(spans: tuple[object, object]) -> None:
    relation = related(
        text=["Ann and Ann sit"],
        entity1=["Ann"],
        entity2=["Ann"],
        span1=[spans[0]],
        span2=[spans[1]],
    )
    assert masked(relation) == ["B and A sit"]


def test_the_words_on_either_side_of_each_entity() -> None:
    relation = related(text=["a b  c X d e Y f g h"], entity1=["X"], entity2=["Y"])
    assert relation.left(1).to_list() == ["a b c"]
    assert relation.left(2).to_list() == ["a b c X d e"]
    assert relation.right(1).to_list() == ["d e Y f g h"]
    assert relation.right(2).to_list() == ["f g h"]


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
    parts = relation.parts.row(0)
    assert "".join(parts) == text
    assert (parts[1], parts[3]) == names
    assert bool(relation.swapped[0]) is swapped
