"""A folder of Parquet files: one table in the order of the names, and what becomes of broken files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.folder_table import FolderTable, parquet_files


def written(folder: Path, sizes: list[int]) -> Path:
    folder.mkdir(exist_ok=True)
    first = 0
    for number, size in enumerate(sizes):
        rows = pl.int_range(first, first + size, eager=True)
        frame = pl.DataFrame({"id": rows, "text": "text " + rows.cast(pl.String)})
        frame.write_parquet(folder / f"part-{number:03}.parquet")
        first += size
    return folder


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 7))
def test_every_row_once_and_in_order(sizes: list[int], batch: int) -> None:
    with tempfile.TemporaryDirectory() as room:
        folder = written(Path(room) / "data", sizes)
        stream = Corpus.scan(folder, text="text", id="id", batch_rows=batch)
        ids = [i for corpus in stream for i in corpus.ids]
        whole = Corpus.read(folder, text="text", id="id")
        assert stream.rows == len(whole) == sum(sizes)
        assert ids == whole.ids.to_list() == list(range(sum(sizes)))


def test_a_row_is_named_by_its_file(tmp_path: Path) -> None:
    table = FolderTable(written(tmp_path / "data", [2, 3]))
    assert str(table.where(1)).endswith("part-000.parquet, row 1")
    assert str(table.where(2)).endswith("part-001.parquet, row 0")
    assert str(table.where(4)).endswith("part-001.parquet, row 2")


def test_hidden_files_and_markers_are_no_data(tmp_path: Path) -> None:
    folder = written(tmp_path / "data", [2])
    (folder / "_SUCCESS").touch()
    (folder / "._part-000.parquet").write_bytes(b"nothing")
    written(folder / "_temporary", [1])
    written(folder / "day=2", [1])
    assert [path.name for path in parquet_files(folder)] == ["part-000.parquet"] * 2


@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_broken_file_is_named_and_the_rest_is_done(tmp_path: Path, where: int) -> None:
    folder = written(tmp_path / "data", [2, 3, 4])
    broken = folder / f"part-{where:03}.parquet"
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(InputError, match=rf"part-00{where}.parquet: cannot be read as Parquet"):
        Corpus.read(folder, text="text")
    corpus = Corpus.read(folder, text="text", id="id", on_bad_row="skip")
    lost = [range(2), range(2, 5), range(5, 9)][where]
    assert corpus.ids.to_list() == [i for i in range(9) if i not in lost]
    assert [(bad.whole_file, bad.where.file) for bad in corpus.skipped] == [(True, str(broken))]


def test_damage_inside_a_file_costs_what_comes_after_it(tmp_path: Path) -> None:
    folder = written(tmp_path / "data", [1, 1])
    rows = pl.int_range(2, 2002, eager=True)
    frame = pl.DataFrame({"id": rows, "text": "text " + rows.cast(pl.String)})
    frame.write_parquet(folder / "part-002.parquet", row_group_size=500, compression="zstd")
    data = bytearray((folder / "part-002.parquet").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 400] = b"\0" * 400
    (folder / "part-002.parquet").write_bytes(data)
    stream = Corpus.scan(folder, text="text", id="id", batch_rows=500, on_bad_row="skip")
    corpora = list(stream)
    ids = [i for corpus in corpora for i in corpus.ids]
    assert ids == list(range(len(ids)))
    assert 2 <= len(ids) < 2002
    (bad,) = (bad for corpus in corpora for bad in corpus.skipped)
    assert f"{2002 - len(ids):,} rows from row {len(ids) - 2:,} on are left out" in str(bad)


def test_other_columns_are_refused_by_name(tmp_path: Path) -> None:
    folder = written(tmp_path / "data", [1])
    pl.DataFrame({"id": ["a"], "body": ["x"]}).write_parquet(folder / "part-009.parquet")
    message = r"part-009.parquet: its columns differ .*no column text; more columns body; other kinds in id"
    with pytest.raises(InputError, match=message):
        Corpus.read(folder, text="text")


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="none of its 1 Parquet files can be read"):
        Corpus.read(folder, on_bad_row="skip")
