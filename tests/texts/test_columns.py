"""Which column is the text; gold labels by name and by number."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError, Where
from unruly.texts.columns import (
    NoTextColumn,
    classes_of,
    find_layout,
    gold_numbers,
    remembered,
    without_surrogates,
)

STRING, NUMBER = pl.String(), pl.Int64()


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (["text", "comment"], "text"),
        (["COMMENT_ID", "AUTHOR", "CONTENT"], "CONTENT"),
        (["title_of_song", "Review"], "Review"),
        (["whatever"], "whatever"),
        (["entity1", "entity2", "sentence"], "sentence"),
    ],
)
def test_obvious_text_columns_are_found(columns: list[str], text: str) -> None:
    schema: dict[str, pl.DataType] = {"n": NUMBER, **dict.fromkeys(columns, STRING)}
    assert find_layout(schema, name="x").text == text


def test_a_column_is_telling_by_one_word_of_its_name_where_none_is_by_all() -> None:
    schema = {"Ticket ID": pl.String(), "Body text": pl.String(), "created": pl.String()}
    assert find_layout(schema, name="x").text == "Body text"
    assert find_layout({**schema, "message": pl.String()}, name="x").text == "message"
    with pytest.raises(InputError, match=r"not obvious.*Body text, Reply_text"):
        find_layout({**schema, "Reply_text": pl.String()}, name="x")


@pytest.mark.parametrize(
    "columns",
    [
        ["tweet_id", "phrase"],
        ["review_date", "phrase"],
        ["post_author", "remark"],
        ["email_address", "note"],
        ["question_type", "q"],
        ["doc_id", "docstring", "kind"],
    ],
)
def test_a_column_about_texts_is_not_taken_for_the_texts(columns: list[str]) -> None:
    with pytest.raises(NoTextColumn, match="not obvious"):
        find_layout(dict.fromkeys(columns, STRING), name="x")


@pytest.mark.parametrize("name", ["full review text", "free text", "comment"])
def test_an_only_column_may_have_a_name_of_several_words(name: str) -> None:
    assert find_layout({name: STRING}, name="x").text == name


def test_a_sentence_is_no_name_of_an_only_column() -> None:
    with pytest.raises(InputError, match="the only column is called 'Great post about this song'"):
        find_layout({"Great post about this song": STRING}, name="x")
    assert find_layout({"Would you buy it again?": STRING, "n": NUMBER}, name="x").text


def test_a_label_that_is_spelt_otherwise_is_pointed_to_its_class() -> None:
    with pytest.raises(
        InputError, match=r"label 'spma ' is not a class: did you mean 'spam'\? classes"
    ):
        gold_numbers(pl.Series(["ham", "spma "]), ["ham", "spam"], lambda row: Where(row=row))


def test_capitals_of_a_label_matter_only_where_classes_differ_by_them() -> None:
    def where(row: int) -> Where:
        return Where(row=row)

    labels = pl.Series(["HAM", "Spam "])
    assert gold_numbers(labels, ["ham", "spam"], where).tolist() == [0, 1]
    with pytest.raises(InputError, match="'HAM' is not a class"):
        gold_numbers(labels, ["ham", "Ham", "spam"], where)


def test_the_only_string_beside_the_named_ones_is_the_text() -> None:
    schema: dict[str, pl.DataType] = {"key": STRING, "words": STRING, "kind": STRING}
    layout = find_layout(schema, name="x", id="key", label="kind")
    assert layout.text == "words"
    assert layout.own == {"key", "words", "kind"}


def test_ids_beside_true_labels_are_not_the_texts_of_a_model_that_knows_another_column() -> None:
    schema = {"ticket": STRING, "topic": STRING}
    with pytest.raises(NoTextColumn, match="no column 'comment', as in training: pass"):
        find_layout(schema, name="truth.csv", text=remembered("comment"), label="topic")
    named = {"message": STRING, "topic": STRING}
    assert find_layout(named, name="x", text=remembered("comment"), label="topic").text == "message"
    numbered = {"ticket": STRING, "stars": NUMBER}
    assert find_layout(numbered, name="x", text=remembered("comment")).text == "ticket"
    found = find_layout(numbered, name="x", text=remembered("comment"), label="stars")
    assert found.text == "ticket", "classes may be numbers: nothing tells that these are no texts"
    assert find_layout(schema, name="x", text="ticket", label="topic").text == "ticket"


def test_many_candidates_are_listed_shortly() -> None:
    schema: dict[str, pl.DataType] = {f"c{i}": STRING for i in range(20)}
    with pytest.raises(InputError, match=r"one of c0, c1, .*, c11 and 8 more\)"):
        find_layout(schema, name="x")


TWO = ["ham", "spam"]


def at_row(row: int) -> Where:
    return Where(row=row)


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series(["spam", "ham", None]),
        pl.Series([1, 0, None]),
        pl.Series([1, 0, -1]),
        pl.Series([1.0, 0.0, float("nan")]),
        pl.Series(["1", "0", ""]),
        pl.Series(["1.0", " 0 ", "-1"]),
        pl.Series([True, False, None]),
        pl.Series(["spam", "ham", None], dtype=pl.Categorical),
        pl.Series(["spam", "ham", None], dtype=pl.Enum(TWO)),
    ],
)
def test_labels_of_every_kind(labels: pl.Series) -> None:
    assert gold_numbers(labels, TWO, at_row).tolist() == [1, 0, -1]


def test_names_go_before_numbers() -> None:
    assert gold_numbers(pl.Series([1, 2]), ["1", "2"], at_row).tolist() == [0, 1]
    assert gold_numbers(pl.Series([2, 1]), ["2", "1"], at_row).tolist() == [0, 1]
    assert gold_numbers(pl.Series([True, False]), ["True", "False"], at_row).tolist() == [0, 1]


def test_no_label_at_all() -> None:
    assert gold_numbers(pl.Series([None, None]), TWO, at_row).tolist() == [-1, -1]
    assert gold_numbers(pl.Series([], dtype=pl.String), TWO, at_row).tolist() == []


@pytest.mark.parametrize("odd", [2, -2, 0.5, "eggs", "Spam "])
def test_strangers_are_named_with_their_row(odd: object) -> None:
    labels = pl.Series([odd if odd != "Spam " else "eggs ", odd if odd != "Spam " else "eggs "])
    with pytest.raises(
        InputError, match=r"row 0: the label .* is not a class: classes are ham, spam"
    ):
        gold_numbers(labels, TWO, at_row)


@given(st.lists(st.sampled_from(["b", "a", "c", None])))
def test_classes_found_turn_labels_into_themselves(values: list[str | None]) -> None:
    labels = pl.Series(values, dtype=pl.String)
    named = {value for value in values if value is not None}
    if len(named) < 2:
        with pytest.raises(InputError, match="2 to 127 are needed"):
            classes_of(labels, "x")
        return
    classes = classes_of(labels, "x")
    numbers = gold_numbers(labels, classes, at_row).tolist()
    assert [None if number < 0 else classes[number] for number in numbers] == values


def test_numbers_make_their_own_classes() -> None:
    assert classes_of(pl.Series([0, 3, None]), "x") == ("0", "1", "2", "3")
    assert classes_of(pl.Series(["0", "1"]), "x") == ("0", "1")
    assert classes_of(pl.Series([True, False]), "x") == ("false", "true")


@pytest.mark.parametrize("name", ["ticket_id", "ID", "orderId", "userID", "my key", "uuid"])
def test_ids_are_not_taken_for_texts(name: str) -> None:
    with pytest.raises(InputError, match="no column holds text"):
        find_layout({name: pl.String(), "n": pl.Int64()}, name="c.csv")
    assert find_layout({name: pl.String()}, name="c.csv", text=name).text == name


@pytest.mark.parametrize("name", ["paid", "idea", "keyed in", "valid"])
def test_names_that_only_look_like_ids_are(name: str) -> None:
    assert find_layout({name: pl.String(), "n": pl.Int64()}, name="c.csv").text == name


@given(st.text(st.characters(codec="utf-8")))
def test_a_text_without_halves_stays(text: str) -> None:
    assert without_surrogates(text) == text


@given(st.text(st.characters()))
def test_all_that_comes_back_is_utf_8(text: str) -> None:
    found = without_surrogates(text)
    assert found.encode().decode() == found
    assert without_surrogates(found) == found


def test_halves_are_replaced_and_pairs_joined() -> None:
    assert without_surrogates("a\ud800b\udc00") == "a�b�"
    assert without_surrogates("\ud83d\ude00") == "😀"
