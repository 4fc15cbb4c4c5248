"""Files in batches: the same documents as in one piece, checked across batches."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.csv_records import CsvRecords, cut_records
from unruly.texts.stream import RowWriter, SeenIds


def many(folder: Path, kind: str, n: int = 1000) -> Path:
    path = folder / f"many.{kind}"
    frame = pl.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "text": [f'text "{i}",\nsecond line' if i % 7 == 0 else f"text {i}" for i in range(n)],
            "label": [None if i % 5 == 0 else i % 2 for i in range(n)],
        }
    )
    match kind:
        case "csv":
            frame.write_csv(path)
        case "jsonl":
            frame.write_ndjson(path)
        case "parquet":
            frame.write_parquet(path, row_group_size=130)
        case "arrow":
            frame.write_ipc(path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_batches_are_the_file_in_order(kind: str, tmp_path: Path) -> None:
    path = many(tmp_path, kind)
    whole = Corpus.read(path, id="key", label="label", classes=["a", "b"])
    stream = Corpus.scan(path, id="key", label="label", classes=["a", "b"], batch_rows=64)
    assert stream.rows == 1000
    for _ in range(2):  # a stream can be read again
        batches = list(stream)
        assert max(len(batch) for batch in batches) <= 64
        assert pl.concat([batch.ids for batch in batches]).equals(whole.ids)
        assert pl.concat([batch.texts for batch in batches]).equals(whole.texts)
        golds = [batch.gold for batch in batches if batch.gold is not None]
        assert np.array_equal(np.concatenate(golds), whole.gold)  # type: ignore[arg-type]


def test_row_numbers_go_on_from_batch_to_batch(tmp_path: Path) -> None:
    ids = [batch.ids for batch in Corpus.scan(many(tmp_path, "csv"), text="text", batch_rows=300)]
    assert pl.concat(ids).to_list() == list(range(1000))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_an_id_in_two_batches_is_refused_with_both_places(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["x"] * 500, "key": [f"k{i}" for i in range(499)] + ["k17"]})
    path = tmp_path / f"x.{kind}"
    {
        "csv": frame.write_csv,
        "jsonl": frame.write_ndjson,
        "parquet": frame.write_parquet,
        "arrow": frame.write_ipc,
    }[kind](path)  # type: ignore[operator]
    places = {"csv": ("line 501", "line 19"), "jsonl": ("line 500", "line 18")}
    here, there = places.get(kind, ("row 499", "row 17"))
    with pytest.raises(InputError, match=rf"{here}: the id 'k17' is taken already \(.*, {there}\)"):
        list(Corpus.scan(path, id="key", batch_rows=50))


def test_labels_in_batches_need_their_classes(tmp_path: Path) -> None:
    stream = Corpus.scan(many(tmp_path, "csv"), text="text", label="label")
    with pytest.raises(InputError, match=r"need their classes: give classes = \[...\]"):
        next(iter(stream))


def test_an_error_in_a_late_batch_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,n\n" + "a,1\n" * 400 + ",2\n")
    with pytest.raises(InputError, match="line 402: the text"):
        list(Corpus.scan(tmp_path / "x.csv", batch_rows=100, on_bad_row="error"))
    with pytest.raises(InputError, match="batch_rows must be at least 1, not 0"):
        Corpus.scan(tmp_path / "x.csv", batch_rows=0)


cells = st.text(alphabet='ab",\n\r é', max_size=6)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=12), piece=st.integers(1, 40))
def test_records_do_not_depend_on_how_the_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], piece: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x.csv"
    pl.DataFrame(rows, schema={"text": pl.String, "b": pl.String}, orient="row").write_csv(path)
    whole = list(CsvRecords(path))
    cut = list(CsvRecords(path, piece=piece))
    assert b"".join(records.data for records in cut) == b"".join(records.data for records in whole)
    lines = [line for records in cut for line in records.lines.tolist()]
    assert lines == [line for records in whole for line in records.lines.tolist()]
    assert len(lines) == len(rows) + 1


@given(st.lists(st.lists(st.integers(0, 30), unique=True), max_size=8))
def test_ids_met_twice_are_all_found(batches: list[list[int]]) -> None:
    seen = SeenIds()
    found = sum(len(seen.add(pl.Series(batch, dtype=pl.Int64))) for batch in batches) + len(
        seen.rest()
    )
    every = [value for batch in batches for value in batch]
    assert (found > 0) == (len(set(every)) < len(every))


TELLING = [
    "1234567890123456789",
    "12345678901234567890",
    "+4915112345678",
    "2.50",
    "1e5",
    "007",
    "-0",
]


def written(data: Path, out: Path, batch_rows: int = 100) -> Path:
    """All rows of a file, with the length of the text added."""
    stream = Corpus.scan(data, text="text", batch_rows=batch_rows)
    writer = RowWriter(stream, out, {"length": pl.UInt32()})
    writer.write(
        (batch, batch.corpus.texts.str.len_chars().alias("length").to_frame())
        for batch in stream.batches()
    )
    return out


def rows_of(path: Path, separator: str = ",") -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=separator))


def test_cells_that_look_like_numbers_are_not_touched(tmp_path: Path) -> None:
    data = tmp_path / "in.csv"
    data.write_text("text,value, Odd name \n" + "".join(f"a,{c},{c}\n" for c in TELLING))
    lines = written(data, tmp_path / "out.csv").read_text().splitlines()
    assert lines == ["text,value, Odd name ,length", *(f"a,{c},{c},1" for c in TELLING)]
    kept = [
        json.loads(line)["value"]
        for line in written(data, tmp_path / "out.jsonl").read_text().splitlines()
    ]
    assert kept == TELLING
    assert pl.read_parquet(written(data, tmp_path / "o.parquet"))["value"].to_list() == TELLING


def test_numbers_are_numbers_where_that_loses_nothing(tmp_path: Path) -> None:
    data = tmp_path / "in.csv"
    data.write_text("text,n,x,y,t,T\na,1,0.5,0.50,true,True\n3,-7,,2.0,false,False\n")
    frame = pl.read_parquet(written(data, tmp_path / "out.parquet"))
    assert frame.rows() == [
        ("a", 1, 0.5, "0.50", True, "True", 1),
        ("3", -7, None, "2.0", False, "False", 1),
    ]


def test_empty_and_missing_cells_stay_apart(tmp_path: Path) -> None:
    data = tmp_path / "in.csv"
    data.write_bytes(b'text,n\r\na,""\r\n,\r\n"",2\r\n')
    assert written(data, tmp_path / "out.csv").read_text() == (
        'text,n,length\na,"",1\n,,0\n"",2,0\n'
    )
    assert (tmp_path / "out.csv").read_bytes() == (b'text,n,length\r\na,"",1\r\n,,0\r\n"",2,0\r\n')


def test_quotes_that_are_not_needed_stay(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b'"text","id"\n"a","0012"\r\nb,7')
    out = written(tmp_path / "in.csv", tmp_path / "out.csv", 1).read_bytes()
    assert out == b'"text","id",length\n"a","0012",1\r\nb,7,1\n'


def test_cells_that_a_spreadsheet_would_run_are_defused(tmp_path: Path) -> None:
    rows = ["=1+1", "+4915112345678", "-2.5", "@SUM(A1)", "+cmd|' /C calc'!A0", "-1+1", "fine"]
    lines = "".join(f"{row},{row}\n" for row in rows)
    (tmp_path / "in.csv").write_text("text,=x\n" + lines)
    stream = Corpus.scan(tmp_path / "in.csv", text="text")
    writer = RowWriter(stream, tmp_path / "out.csv", {"a": pl.String()}, defuse=True)
    writer.write((batch, pl.DataFrame({"a": ["=1"] * 7})) for batch in stream.batches())
    found = rows_of(tmp_path / "out.csv")
    assert found[0] == ["text", "'=x", "a"]
    assert [row[1] for row in found[1:]] == [
        "'=1+1", "+4915112345678", "-2.5", "'@SUM(A1)", "'+cmd|' /C calc'!A0", "'-1+1", "fine",
    ]  # fmt: skip
    assert {row[2] for row in found[1:]} == {"'=1"}


def test_columns_without_a_name_keep_none(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,,\na,1,2\n")
    assert rows_of(written(tmp_path / "in.csv", tmp_path / "out.csv"))[0] == [
        "text",
        "",
        "",
        "length",
    ]


@pytest.mark.parametrize("values", [[["a"]], [{"a": 1}]])
def test_what_text_cannot_hold_is_refused_before_any_work(
    values: list[object], tmp_path: Path
) -> None:
    pl.DataFrame({"text": ["a"], "odd": values}).write_parquet(tmp_path / "in.parquet")
    with pytest.raises(InputError, match=r"column 'odd' .* cannot: write \.jsonl or \.parquet"):
        written(tmp_path / "in.parquet", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_bytes_are_written_as_parquet_alone(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a"], "odd": [b"\xff"]}).write_parquet(tmp_path / "in.parquet")
    for name in ("out.csv", "out.jsonl"):
        with pytest.raises(InputError, match=r"holds Binary, which .* cannot: write \.parquet"):
            written(tmp_path / "in.parquet", tmp_path / name)
    written(tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["odd"].to_list() == [b"\xff"]


table_cells = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
    st.text(alphabet='0123456789.+-eE", ;\t\r\n', max_size=6),
    st.sampled_from([*TELLING, "", "null", "NaN", "true", "True", "=1+1", " x ", "\ufeffx"]),
)


@settings(max_examples=150, deadline=None)
@given(
    table=st.lists(st.tuples(table_cells, table_cells, table_cells), min_size=1, max_size=8),
    ending=st.sampled_from([".csv", ".tsv"]),
    batch_rows=st.integers(1, 4),
)
def test_everything_but_the_added_column_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    table: list[tuple[str, str, str]],
    ending: str,
    batch_rows: int,
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    data, out = folder / f"in{ending}", folder / f"out{ending}"
    separator = "\t" if ending == ".tsv" else ","
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerows([("text", "one", "two"), *table])
    written(data, out, batch_rows)
    expected = [["text", "one", "two"], *map(list, table)]
    assert [row[:3] for row in rows_of(out, separator)] == expected
    before, after = data.read_bytes(), out.read_bytes()
    whole = cut_records(before, separator), cut_records(after, separator)
    for old, new in zip(*whole, strict=True):  # the very bytes, quotes and line ends included
        assert new.startswith(old.removesuffix(b"\r\n") + separator.encode())
        assert new.endswith(b"\r\n")
