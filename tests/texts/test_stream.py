"""Files in batches: the same documents as in one piece, checked across batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.csv_records import CsvRecords
from unruly.texts.stream import SeenIds


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
