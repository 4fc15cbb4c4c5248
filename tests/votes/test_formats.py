"""Votes out and in again: Parquet, CSV, TSV, JSON Lines, WRENCH, crowd-kit's long table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.votes import files
from unruly.votes.files import LossWarning, loss, read_votes
from unruly.votes.votes import Votes

CLASSES = ["not so", "10", 'ä,"b"']
matrices = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6),
    elements=st.integers(-1, 2),
)


def same(one: Votes, other: Votes) -> bool:
    return (
        np.array_equal(one.matrix, other.matrix)
        and one.sources == other.sources
        and one.classes == other.classes
        and one.ids.equals(other.ids)
        and one.soft.keys() == other.soft.keys()
        and all(np.array_equal(one.soft[s], other.soft[s], equal_nan=True) for s in one.soft)
    )


@settings(max_examples=30, deadline=None)
@given(matrix=matrices, names=st.booleans())
def test_files_round_trip(
    tmp_path_factory: pytest.TempPathFactory, matrix: np.ndarray, names: bool
) -> None:
    ids = [f"id {i}" for i in range(len(matrix))] if names else list(range(5, 5 + len(matrix)))
    sources = ["a b", "true", 'x,"y', "ü", "1", "s"][: matrix.shape[1]]
    votes = Votes.from_array(matrix, classes=CLASSES, sources=sources, ids=ids)
    folder = tmp_path_factory.mktemp("votes")
    for kind in ("parquet", "csv", "tsv", "jsonl"):
        votes.write(folder / f"v.{kind}")
        assert same(Votes.read(folder / f"v.{kind}", classes=CLASSES), votes), kind


def test_parquet_keeps_everything(tmp_path: Path) -> None:
    soft = np.array([[0.25, 0.75], [np.nan, np.nan]], dtype=np.float32)
    votes = Votes(
        matrix=np.array([[1, 0], [-1, 1]], dtype=np.int8),
        sources=("id", "model"),
        classes=("ham", "spam"),
        ids=pl.Series("id", ["x", "y"]),
        soft={"id": soft},
    )
    votes.write(tmp_path / "v.parquet")
    assert same(Votes.read(tmp_path / "v.parquet"), votes)
    with pytest.raises(InputError, match="the votes' classes are ham, spam, not yes, no"):
        Votes.read(tmp_path / "v.parquet", classes=["yes", "no"])
    first = (tmp_path / "v.parquet").read_bytes()
    votes.write(tmp_path / "v.parquet")
    assert (tmp_path / "v.parquet").read_bytes() == first


def test_columns_of_a_parquet_file_are_snorkels_matrix(tmp_path: Path) -> None:
    Votes.from_array([[0, -1], [1, 1]], sources=["a", "b"]).write(tmp_path / "v.parquet")
    assert pl.read_parquet(tmp_path / "v.parquet").select("a", "b").to_numpy().tolist() == [
        [0, -1],
        [1, 1],
    ]


def test_votes_of_someone_else(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    pl.DataFrame({"id": ["x", "y"], "a": [0, -1], "b": [1, 1]}).write_parquet(path)
    votes = Votes.read(path, classes=["ham", "spam"])
    assert votes.ids.to_list() == ["x", "y"]
    assert votes.matrix.tolist() == [[0, 1], [-1, 1]]
    pl.DataFrame({"a": [0, None]}).write_parquet(path)
    with pytest.raises(InputError, match="a vote is missing: write -1 where a source abstains"):
        Votes.read(path)
    pl.DataFrame({"a": [0], "t": ["x"]}).write_parquet(path)
    with pytest.raises(InputError, match="the column 't' holds String"):
        Votes.read(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        Votes.read(path)


@pytest.mark.parametrize(
    "about",
    [
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 1, "id": "id", "classes": [1, 2], "sources": ["a"], "soft": {}}',
        '{"version": 1, "id": "id", "classes": ["x", "y"], "sources": ["t"], "soft": {}}',
        '{"version": 1, "id": "id", "classes": ["x", "y"], "sources": ["a"], "soft": {"a": "t"}}',
        '{"version": 1, "id": "id", "classes": ["x", "y"], "sources": ["gone"], "soft": {}}',
    ],
)
def test_damaged_metadata_is_one_clean_error(about: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": ["x"], "a": pl.Series([0], dtype=pl.Int8), "t": ["text"]})
    frame.write_parquet(tmp_path / "v.parquet", metadata={"unruly.votes": about})
    with pytest.raises(InputError, match="write the votes again"):
        Votes.read(tmp_path / "v.parquet")


def test_class_names_are_found_when_not_listed(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("id,a,b\nx,spam,\ny,,ham\n")
    votes = Votes.read(tmp_path / "v.csv")
    assert votes.classes == ("ham", "spam")
    assert votes.matrix.tolist() == [[1, -1], [-1, 0]]
    (tmp_path / "v.csv").write_text("a,b\n1,-1\n0,1\n")
    votes = Votes.read(tmp_path / "v.csv")
    assert votes.classes == ("0", "1")
    assert votes.matrix.tolist() == [[1, -1], [0, 1]]


def test_votes_that_cannot_be_written_leave_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("old")
    with pytest.raises(InputError, match="a source is named 'id'"):
        Votes.from_array([[1]], sources=["id"]).write(path)
    assert path.read_text() == "old"
    with pytest.raises(InputError, match=r"votes are not written to files ending in '.xls'"):
        Votes.from_array([[1]]).write(tmp_path / "v.xls")
    path.write_text("id,a\n1,eggs\n")
    with pytest.raises(InputError, match=r"v.csv, line 2: the label 'eggs' is not a class"):
        Votes.read(tmp_path / "v.csv", classes=["ham", "spam"])


@given(matrices)
def test_the_long_table_round_trips(matrix: np.ndarray) -> None:
    votes = Votes.from_array(matrix, classes=CLASSES, ids=[f"d{i}" for i in range(len(matrix))])
    table = votes.to_long()
    assert table.columns == ["task", "worker", "label"]
    assert table.height == votes.voted.sum()
    back = Votes.from_long(table, classes=CLASSES, ids=votes.ids, sources=votes.sources)
    assert same(back, votes)


def test_long_tables_from_pandas() -> None:
    table = pd.DataFrame({"task": [7, 7, 3], "worker": ["w1", "w2", "w1"], "label": [1, 0, 1]})
    votes = Votes.from_long(table)
    assert votes.ids.to_list() == [7, 3]
    assert votes.sources == ("w1", "w2")
    assert votes.matrix.tolist() == [[1, 0], [1, -1]]


def test_crowd_kit_reads_the_long_table() -> None:
    aggregation = pytest.importorskip("crowdkit.aggregation")
    votes = Votes.from_array([[0, 0, 1], [1, 1, -1]], classes=["ham", "spam"], ids=["x", "y"])
    answer = aggregation.MajorityVote().fit_predict(pd.DataFrame(votes.to_long().to_dicts()))
    assert answer.to_dict() == {"x": "ham", "y": "spam"}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ({"task": [1, 1], "worker": ["w", "w"], "label": ["a", "b"]}, r"row 1: worker 'w' has voted on task 1 already \(row 0\)"),
        ({"task": [2, 1, 2, 1], "worker": ["v", "w", "w", "w"], "label": ["a", "a", "b", "b"]}, r"row 3: worker 'w' has voted on task 1 already \(row 1\)"),
        ({"task": [1], "worker": ["w"]}, "no column 'label'"),
        ({"task": [1], "worker": ["w"], "label": ["zzz"]}, "row 0: the label 'zzz' is not a class"),
    ],
)  # fmt: skip
def test_long_tables_that_do_not_fit(rows: dict[str, list[object]], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        Votes.from_long(pl.DataFrame(rows), classes=["a", "b"])


def test_long_tables_with_strangers() -> None:
    table = pl.DataFrame({"task": ["x"], "worker": ["w"], "label": ["a"]})
    with pytest.raises(InputError, match="row 0: the task 'x' is not in the list given"):
        Votes.from_long(table, classes=["a", "b"], ids=["y"])
    with pytest.raises(InputError, match="the worker 'w' is listed more than once"):
        Votes.from_long(table, classes=["a", "b"], sources=["w", "w"])
    with pytest.raises(InputError, match="expected a pandas or polars frame"):
        Votes.from_long([1])


def test_wrench_round_trips(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["a", "b ü"], "n": [1, 2], "y": [1, None]})
    corpus = Corpus.from_frame(frame, label="y", classes=["ham", "spam"])
    votes = Votes.from_array([[0, -1], [1, 1]], classes=["ham", "spam"], sources=["s", "t"])
    votes.to_wrench(tmp_path / "w", corpus, "train")
    assert same(Votes.from_wrench(tmp_path / "w"), votes)
    back = Corpus.from_wrench(tmp_path / "w")
    assert back.texts.equals(corpus.texts)
    assert back.columns.equals(corpus.columns)
    assert back.gold is not None
    assert back.gold.tolist() == [1, -1]
    with pytest.raises(InputError, match="the folder holds other classes"):
        Votes.from_array([[0, -1], [1, 1]]).to_wrench(tmp_path / "w", corpus, "valid")
    with pytest.raises(InputError, match="differ in their ids"):
        votes.take([1]).to_wrench(tmp_path / "w", corpus)


def test_numbers_that_count_from_one_are_not_read_in_silence(tmp_path: Path) -> None:
    path, classes = tmp_path / "votes.csv", ["a", "b", "c", "d"]
    path.write_text("id,links,praise\n" + "".join(f"{i},{i % 3 + 1},\n" for i in range(12)))
    with pytest.warns(UserWarning, match=r"votes.csv: the labels are 1 to 3, never 0"):
        Votes.read(path, classes=classes)
    long = pl.DataFrame({"task": range(12), "worker": ["w"] * 12, "label": [1, 2, 3] * 4})
    with pytest.warns(UserWarning, match="the long table: the labels are 1 to 3, never 0"):
        Votes.from_long(long, classes=classes)


def test_votes_of_rare_sources_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unruly.texts.json_table.MOST_EMPTY", 1_000)
    lines = [f'{{"id": {i}, "source_{i}": "spam"}}\n' for i in range(300)]
    (tmp_path / "votes.jsonl").write_text("".join(lines))
    with (
        pytest.warns(UserWarning, match="not read as columns"),
        pytest.raises(InputError, match="300 sources vote on fewer than 1 of 100 documents"),
    ):
        read_votes(tmp_path / "votes.jsonl")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize("n", [0, 1, 3, 7])
def test_writing_in_slices_changes_nothing(
    kind: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = np.arange(2 * n).reshape(n, 2) % 4 - 1
    votes = Votes.from_array(matrix, classes=CLASSES, sources=["a", "b"])
    votes.write(tmp_path / f"whole.{kind}")
    monkeypatch.setattr(files, "SLICE", 3)
    votes.write(tmp_path / f"slices.{kind}")
    whole = (tmp_path / f"whole.{kind}").read_bytes()
    assert (tmp_path / f"slices.{kind}").read_bytes() == whole
    assert whole.count(b"\n") == (n if kind == "jsonl" else n + 1)


def test_wrench_keeps_documents_without_gold_and_other_columns(tmp_path: Path) -> None:
    corpus = Corpus.from_frame(pl.DataFrame({"text": ["a", "b"]}))
    votes = Votes.from_array([[0, -1], [1, 1]], classes=["ham", "spam"])
    votes.to_wrench(tmp_path / "new" / "deep", corpus)
    items = json.loads((tmp_path / "new" / "deep" / "train.json").read_text(encoding="utf-8"))
    assert [item["label"] for item in items.values()] == [-1, -1]
    assert [item["weak_labels"] for item in items.values()] == [[0, -1], [1, 1]]
    votes.to_wrench(tmp_path / "new" / "deep", corpus, "valid")  # beside it, with the same classes
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        votes.to_wrench(tmp_path / "file", corpus)


def test_wrench_keeps_the_text_beside_a_column_called_text(tmp_path: Path) -> None:
    frame = pl.DataFrame({"comment": ["the text"], "text": ["another"], "text_": ["a third"]})
    corpus = Corpus.from_frame(frame, text="comment")
    Votes.from_array([[0]], classes=["ham", "spam"]).to_wrench(tmp_path / "w", corpus)
    back = Corpus.from_wrench(tmp_path / "w")
    assert back.texts.to_list() == ["the text"]
    assert back.columns.to_dicts() == [{"text_2": "another", "text_": "a third"}]


@pytest.mark.parametrize("sources", [["s", "t"], ["spam", "ham"], ["ham", "spam"]])
def test_wrench_keeps_the_names_of_as_many_sources_as_classes(
    sources: list[str], tmp_path: Path
) -> None:
    corpus = Corpus.from_texts(["a", "b"])
    votes = Votes.from_array([[0, -1], [1, 1]], classes=["ham", "spam"], sources=sources)
    votes.to_wrench(tmp_path / "w", corpus)
    assert Votes.from_wrench(tmp_path / "w").sources == tuple(sources)


SHARES = {"model": np.array([[0.25, 0.75], [np.nan, np.nan]], dtype=np.float32)}
UNASKED = {"model": np.array([False, True])}


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ({"soft": SHARES}, "the probabilities of model: write .parquet"),
        ({"unasked": UNASKED}, "which documents model was not asked about: write .parquet"),
        ({"soft": SHARES, "unasked": UNASKED}, "the probabilities of model and which documents"),
    ],
)
def test_what_a_file_of_class_names_does_not_hold_is_said(
    kind: str, more: dict[str, Any], lost: str, tmp_path: Path
) -> None:
    votes = Votes.from_array([[1], [-1]], classes=["ham", "spam"], sources=["model"])
    votes = replace(votes, **more)
    with pytest.warns(LossWarning, match=rf"v\.{kind} does not hold {lost}"):
        votes.write(tmp_path / f"v.{kind}")
    with pytest.warns(LossWarning, match=f"train.json does not hold {lost}"):
        votes.to_wrench(tmp_path / "w", Corpus.from_texts(["a", "b"]))


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_where_nothing_is_lost(tmp_path: Path) -> None:
    votes = Votes.from_array([[1], [-1]], classes=["a", "b", "c"], sources=["model"])
    sure = np.array([[0, 1, 0], [np.nan] * 3], dtype=np.float32)
    either = np.array([[0, 0.5, 0.5], [np.nan] * 3], dtype=np.float32)
    nobody = {"model": np.array([False, False])}
    for soft in (sure, either):
        known = replace(votes, soft={"model": soft}, unasked=nobody)
        known.write(tmp_path / "v.csv")
        replace(known, unasked={"model": ~nobody["model"]}).write(tmp_path / "v.parquet")
    with pytest.raises(LossWarning, match=r"train\.json does not hold the partial votes of model"):
        known.to_wrench(tmp_path / "w", Corpus.from_texts(["a", "b"]))


def test_the_probabilities_of_a_source_that_also_casts_partial_votes_are_lost(
    tmp_path: Path,
) -> None:
    votes = Votes.from_array([[0], [0]], classes=["a", "b", "c"], sources=["model"])
    votes = replace(votes, soft={"model": np.array([[0.5, 0.5, 0], [0.6, 0.4, 0]], np.float32)})
    assert "the probabilities of model: write .parquet" in loss(votes, tmp_path / "v.csv")
    assert not loss(votes, tmp_path / "v.pq")


def test_votes_as_tables_of_class_names() -> None:
    votes = Votes.from_array(
        [[0, -1], [1, 1]], classes=["ham", "spam"], sources=["a", "b"], ids=["x", "y"]
    )
    assert votes.to_frame().rows() == [("x", "ham", None), ("y", "spam", "spam")]
    frame = votes.to_pandas()
    assert frame.index.tolist() == ["x", "y"]
    assert frame["a"].tolist() == ["ham", "spam"]
    assert frame["b"].isna().tolist() == [True, False]
