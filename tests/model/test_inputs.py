"""What users pass in, made plain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.model.inputs import Documents, aligned, check_rows, corpus_gold, labels_of, votes_of
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

TEXTS = ["call me", "nice song"]


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pl.Series(TEXTS),
        pd.Series(TEXTS),
        pl.DataFrame({"text": TEXTS, "stars": [1, 2]}),
        pd.DataFrame({"text": TEXTS, "stars": [1, 2]}),
        Corpus.from_texts(TEXTS),
    ],
    ids=lambda given: type(given).__name__,
)
def test_texts_of_every_kind(texts: Any) -> None:
    documents = Documents.of(texts)
    assert documents.corpus is not None
    assert documents.corpus.texts.to_list() == TEXTS


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\ncall me\nnice song\n")
    assert Documents.of(tmp_path / "a.csv").n == 2


@pytest.mark.parametrize(
    "numbers",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]]),
        pl.DataFrame({"a": [1, 3], "b": [2, 4]}),
        pd.DataFrame({"a": [1, 3], "b": [2, 4]}),
    ],
    ids=lambda given: type(given).__name__,
)
def test_numbers_of_every_kind(numbers: Any) -> None:
    features = Documents.of(numbers).features
    assert features is not None
    np.testing.assert_array_equal(features.matrix(), [[1, 2], [3, 4]])


def test_one_string_and_a_row_of_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="one string"):
        Documents.of("call me")
    with pytest.raises(InputError, match="Reshape your data"):
        Documents.of(np.array([1.0, 2.0]))


@given(st.permutations(range(3)), st.permutations(range(3)))
def test_turning_classes_and_sources_round_is_undone(
    classes: list[int], sources: list[int]
) -> None:
    rng = np.random.default_rng(0)
    votes = Votes.from_array(
        rng.integers(-1, 3, (20, 3)), classes=["a", "b", "c"], sources=["x", "y", "z"]
    )
    names = tuple("abc"[c] for c in classes)
    who = tuple("xyz"[s] for s in sources)
    turned = aligned(votes, names, who)
    assert turned.classes == names
    for j, name in enumerate(who):
        spelled = [None if v < 0 else names[v] for v in turned.matrix[:, j]]
        column = votes.matrix[:, "xyz".index(name)]
        assert spelled == [None if v < 0 else "abc"[v] for v in column]
    np.testing.assert_array_equal(
        aligned(turned, ("a", "b", "c"), ("x", "y", "z")).matrix, votes.matrix
    )


def test_soft_votes_are_turned_round_with_their_classes() -> None:
    soft = {"x": np.array([[0.9, 0.1]], dtype=np.float32)}
    votes = Votes(np.array([[0]], dtype=np.int8), ("x",), ("a", "b"), pl.Series("id", [0]), soft)
    turned = aligned(votes, ("b", "a"), ("x",))
    assert turned.matrix.tolist() == [[1]]
    np.testing.assert_allclose(turned.soft["x"], [[0.1, 0.9]])


def test_ids_that_differ_are_named() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "text": TEXTS})
    documents = Documents.of(Corpus.from_frame(frame, id="id"))
    same = Votes.from_array([[0], [1]], ids=["a", "b"])
    check_rows(documents, same)
    check_rows(documents, Votes.from_array([[0], [1]]))  # row numbers: nothing to compare
    with pytest.raises(
        InputError, match="row 1: the document's id is 'b', but the votes are on 'c'"
    ):
        check_rows(documents, Votes.from_array([[0], [1]], ids=["a", "c"]))


def test_rows_of_a_pandas_frame_that_was_split_are_told_where_its_ids_come_from() -> None:
    frame = pd.DataFrame({"text": ["one", "two", "three"], "key": ["a", "b", "c"]})
    votes = Votes.from_array([[0], [1]], ids=["b", "c"])
    with pytest.raises(InputError, match="or set the index of the frame to their ids"):
        check_rows(Documents.of(frame[1:]), votes)
    check_rows(Documents.of(frame[1:].set_index("key")), votes)


def test_a_matrix_of_votes_takes_the_documents_ids() -> None:
    votes, numbered = votes_of([[0], [1]], pl.Series("id", ["a", "b"]))
    assert numbered
    assert votes.ids.to_list() == ["a", "b"]


@pytest.mark.parametrize(
    "labels",
    [
        ["spam", None, "ham"],
        [1, -1, 0],
        [1.0, float("nan"), 0.0],
        np.array(["spam", "", "ham"]),
        pd.Series(["spam", None, "ham"]),
        pl.Series([1, None, 0]),
        {"k0": "spam", "k2": 0},
        ["spam", None, 0],
    ],
    ids=str,
)
def test_labels_of_every_kind(labels: Any) -> None:
    ids = pl.Series("id", ["k0", "k1", "k2"])
    assert labels_of(labels, ("ham", "spam"), ids).tolist() == [1, -1, 0]


def test_gold_of_a_corpus_is_matched_by_class_name() -> None:
    corpus = Corpus.from_frame(
        pl.DataFrame({"text": ["a", "b", "c"], "y": ["spam", "ham", None]}),
        label="y",
        classes=["spam", "ham"],
    )
    assert corpus_gold(corpus, ("ham", "spam")).tolist() == [1, 0, -1]
    assert corpus_gold(corpus, ("0", "1"), numbered=True).tolist() == [0, 1, -1]
    with pytest.raises(InputError, match="no gold labels"):
        corpus_gold(Corpus.from_texts(["a"]), ("ham", "spam"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_columns_of_a_frame_of_votes_name_the_sources(library: str) -> None:
    frame = pytest.importorskip(library).DataFrame({"links": [0, 1, -1], "money": [1, 1, 0]})
    votes, numbered = votes_of(frame)
    assert votes.sources == ("links", "money")
    assert votes.matrix.tolist() == [[0, 1], [1, 1], [-1, 0]]
    assert numbered


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0]], [[1.0], []], [["a"], ["b", "c"]]])
def test_rows_of_unequal_length_are_no_matrix(rows: list[list[Any]]) -> None:
    with pytest.raises(InputError, match="the features are not a matrix: give each document one"):
        Documents.of(rows)
    with pytest.raises(InputError, match="the votes are not a matrix: give each document one"):
        Votes.from_array(rows)
    with pytest.raises(InputError, match="labels must be one for each document, not lists of"):
        labels_of(rows, ("ham", "spam"), pl.Series([0, 1]))
    with pytest.raises(InputError, match="gold must be one for each document, not lists of"):
        Votes.from_array([[0], [1]]).summary(gold=rows)


def test_texts_that_are_not_found_in_a_frame_are_named_by_a_call_that_works() -> None:
    frame = pl.DataFrame({"q": ["call me"], "a": ["nice song"]})
    rule = Rule("spam", Keywords(["call"]))
    sources = Sources(["ham", "spam"], [Source("call", [rule])])
    for use in (sources.vote, Documents.of):
        with pytest.raises(InputError, match=r'pass it with Corpus\.of\(\.\.\., text="\.\.\."\)'):
            use(frame)
    corpus = Corpus.of(frame, text="q")
    assert sources.vote(corpus).matrix.tolist() == [[1]]
    assert Documents.of(corpus).n == 1
