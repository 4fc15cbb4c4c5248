"""The corpus itself, and what can be made into one."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.texts.columns import without_text
from unruly.texts.corpus import Corpus

FRAME = pl.DataFrame(
    {
        "key": ["a", "b", "c"],
        "comment": ["call me", 'say "hi",\nplease', "naïve ☃ 雪"],
        "stars": [1, 5, 3],
        "gold": ["spam", "ham", None],
    }
)
WAYS = [
    "x.csv",
    "x.tsv",
    "x.jsonl",
    "x.ndjson",
    "x.csv.gz",
    "x.tsv.gz",
    "x.jsonl.gz",
    "x.parquet",
    "x.arrow",
    "x.feather",
    "x.ipc",
]


def written(frame: pl.DataFrame, path: Path) -> Path:
    kind = path.name.partition(".")[2]
    if kind.startswith(("csv", "tsv")):
        data = frame.write_csv(separator="\t" if kind.startswith("tsv") else ",").encode()
    elif kind.startswith(("jsonl", "ndjson")):
        data = frame.write_ndjson().encode()
    elif kind == "parquet":
        frame.write_parquet(path)
        return path
    else:
        frame.write_ipc(path)
        return path
    path.write_bytes(gzip.compress(data) if kind.endswith("gz") else data)
    return path


@pytest.mark.parametrize("name", WAYS)
def test_every_format_gives_the_same_corpus(name: str, tmp_path: Path) -> None:
    path = written(FRAME, tmp_path / name)
    corpus = Corpus.read(path, text="comment", id="key", label="gold", classes=["ham", "spam"])
    assert corpus.texts.to_list() == FRAME["comment"].to_list()
    assert corpus.ids.to_list() == ["a", "b", "c"]
    assert corpus.columns.to_dict(as_series=False) == {"stars": [1, 5, 3]}
    assert corpus.gold is not None
    assert corpus.gold.tolist() == [1, 0, -1]
    assert corpus.classes == ("ham", "spam")
    assert corpus.name == str(path)


def test_arrow_streams_are_read_too(tmp_path: Path) -> None:
    FRAME.write_ipc_stream(tmp_path / "x.arrow")
    assert Corpus.read(tmp_path / "x.arrow", text="comment").columns.width == 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), min_size=1))
def test_any_texts_survive_csv_and_json_lines(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    frame = pl.DataFrame(
        {"text": texts, "n": range(len(texts))}, schema={"text": pl.String, "n": pl.Int64}
    )
    blank = without_text(frame["text"])
    expected = frame["text"].set(blank, "").to_list()  # nothing but white space is no text
    for name in ("x.csv", "x.jsonl", "x.parquet"):
        corpus = Corpus.read(written(frame, folder / name))
        assert corpus.texts.to_list() == expected, name
        assert corpus.missing_count == blank.sum()
        assert corpus.columns["n"].to_list() == list(range(len(texts)))


def test_numbers_in_the_text_column_stay_as_written(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("body,key\n007,1.50\n1e3,02\n")
    corpus = Corpus.read(tmp_path / "x.csv", text="body", id="key")
    assert corpus.texts.to_list() == ["007", "1e3"]
    assert corpus.ids.to_list() == ["1.50", "02"]


def test_columns_find_their_kinds_over_the_whole_file(tmp_path: Path) -> None:
    rows = "".join(f"t{i},{i},{i}.5,true,{i}\n" for i in range(300))
    (tmp_path / "x.csv").write_text("text,whole,real,flag,late\n" + rows + "end,1,2,False,n/a\n")
    assert dict(Corpus.read(tmp_path / "x.csv").columns.schema) == {
        "whole": pl.Int64,
        "real": pl.Float64,
        "flag": pl.Boolean,
        "late": pl.String,
    }


def test_json_lines_whose_keys_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "a", "n": 1}\n\n{"text": "b", "m": [1, 2]}\n')
    corpus = Corpus.read(tmp_path / "x.jsonl")
    assert corpus.columns.to_dicts() == [{"n": 1, "m": None}, {"n": None, "m": [1, 2]}]


def test_pandas_frames_keep_their_index_as_ids() -> None:
    frame = pd.DataFrame({"review": ["fine", "poor", "so"], "stars": [4, 1, None]}, index=[7, 3, 5])
    corpus = Corpus.of(frame)
    assert corpus.ids.to_list() == [7, 3, 5]
    assert corpus.columns.to_dict(as_series=False) == {"stars": [4.0, 1.0, None]}
    assert Corpus.of(frame.reset_index(drop=True)).ids.to_list() == [0, 1, 2]
    assert Corpus.of(frame.rename_axis("key"), id="key").ids.to_list() == [7, 3, 5]
    with pytest.raises(InputError, match=r"the index holds 7 more than once: frame.reset_index"):
        Corpus.of(pd.concat([frame, frame]))


@pytest.mark.parametrize(
    "make",
    [
        list,
        lambda texts: pd.Series(texts, dtype=object),
        lambda texts: pd.DataFrame({"text": pd.Series(texts, dtype=object)}),
    ],
    ids=["list", "series", "frame"],
)
def test_halves_of_characters_are_replaced(make: Callable[[list[str]], object]) -> None:
    corpus = Corpus.of(make(["a \ud800", "\ud83d\ude00", "b"]))
    assert corpus.texts.to_list() == ["a \ufffd", "\U0001f600", "b"]


def test_pandas_texts_that_are_no_strings_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"frame, row 1: expected a text in column 'text', found int 5"
    ):
        Corpus.of(pd.DataFrame({"text": ["a", 5]}))
    with pytest.raises(InputError, match=r"frame, row 1: the text \(column 'text'\) is missing"):
        Corpus.of(pd.DataFrame({"text": ["a", None]}), on_bad_row="error")
    with pytest.raises(
        InputError, match=r"the text column 'text' holds Int64, not strings, e\.g\. 3"
    ):
        Corpus.of(pd.DataFrame({"text": [3, 4]}))


def test_hugging_face_class_labels_give_gold_and_classes() -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["neg", "pos"]),
            "n": datasets.Value("int64"),
        }
    )
    data = datasets.Dataset.from_dict(
        {"text": ["a", "b"], "label": [1, 0], "n": [8, 9]}, features=features
    )
    corpus = Corpus.of(data)
    assert corpus.classes == ("neg", "pos")
    assert corpus.gold is not None
    assert corpus.gold.tolist() == [1, 0]
    assert corpus.columns.to_dict(as_series=False) == {"n": [8, 9]}
    with pytest.raises(InputError, match="pick one of its splits"):
        Corpus.from_dataset(datasets.DatasetDict({"train": data}))


def test_of_takes_whatever_there_is(tmp_path: Path) -> None:
    path = written(FRAME, tmp_path / "x.csv")
    corpus = Corpus.of(str(path), text="comment")
    assert Corpus.of(corpus) is corpus
    assert Corpus.of(np.array(["a", "b"])).texts.to_list() == ["a", "b"]
    assert Corpus.of(pl.Series(["a", "b"])).texts.to_list() == ["a", "b"]
    assert Corpus.of(("a",)).texts.to_list() == ["a"]
    assert Corpus.of(FRAME.lazy(), text="comment").texts.to_list() == FRAME["comment"].to_list()
    with pytest.raises(
        InputError, match="expected a path, a frame, a Dataset or a list of texts, got int"
    ):
        Corpus.of(5)
    with pytest.raises(InputError, match=r"texts, row 1: expected a text, found int 5"):
        Corpus.of(["a", 5])
    for read in (Corpus.read, Corpus.scan):
        for path_of in (FRAME, ["a"], None):
            with pytest.raises(
                InputError, match=r"expected the path of a file, got .*Corpus\.of takes"
            ):
                read(path_of)  # type: ignore[arg-type]


@given(st.data())
def test_take_keeps_rows_together(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 20))
    rows = data.draw(st.lists(st.integers(-n, n - 1), unique_by=lambda r: r % n))
    frame = pl.DataFrame(
        {
            "id": range(n),
            "text": [f"t{i}" for i in range(n)],
            "label": [i % 2 for i in range(n)],
            "x": range(n),
        }
    )
    part = Corpus.from_frame(frame, id="id", label="label").take(rows)
    wanted = [row % n for row in rows]
    assert part.ids.to_list() == wanted
    assert part.texts.to_list() == [f"t{i}" for i in wanted]
    assert part.columns["x"].to_list() == wanted
    assert part.gold is not None
    assert part.gold.tolist() == [i % 2 for i in wanted]
    assert part.classes == ("0", "1") if n > 1 else True


def test_take_refuses_rows_that_are_not_there() -> None:
    with pytest.raises(IndexError):
        Corpus.from_texts(["a"]).take([1])


@pytest.mark.parametrize("ending", ["csv", "parquet", "frame"])
def test_numbers_that_count_from_one_are_not_read_in_silence(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": [f"t{i}" for i in range(12)], "label": [1, 2, 3] * 4})

    def read(table: pl.DataFrame, classes: list[str]) -> Corpus:
        if ending == "frame":
            return Corpus.from_frame(table, label="label", classes=classes)
        path = tmp_path / f"t.{ending}"
        table.write_csv(path) if ending == "csv" else table.write_parquet(path)
        return Corpus.read(path, label="label", classes=classes)

    for table in (frame, frame.head(3)):
        with pytest.warns(UserWarning, match=r"1 to 3, never 0.*read as b to d"):
            assert read(table, ["a", "b", "c", "d"]).counted_from_one
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(frame, ["0", "1", "2", "3"])  # numbers are names
        read(frame.head(2), ["a", "b", "c", "d"])  # 3 does not occur either
        assert not read(
            frame.with_columns(label=pl.col("label") - 1), ["a", "b", "c"]
        ).counted_from_one


def test_documents_are_picked_by_row() -> None:
    corpus = Corpus.from_texts(["a", "b", "c"])
    assert corpus[[2, 0], ...].texts.to_list() == ["c", "a"]
    assert corpus[1:, :].texts.to_list() == ["b", "c"]
    with pytest.raises(InputError, match="other columns are in"):
        corpus[:, "text"]
    with pytest.raises(InputError, match="by number or by a mask"):
        corpus["text"]


@pytest.mark.parametrize(
    "text", ["a text here", "two\nlines of it", "nul \0 inside", "long " * 2_000]
)
def test_one_text_in_the_place_of_documents_is_pointed_to_a_list(text: str) -> None:
    with pytest.raises(InputError, match="if this is a text, put it into a list"):
        Corpus.of(text)
