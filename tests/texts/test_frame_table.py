"""Excel sheets and folders of Parquet are read; what is not one is refused in one line."""

from __future__ import annotations

import gzip
import struct
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.texts import table
from unruly.texts.columns import Layout
from unruly.texts.corpus import Corpus
from unruly.texts.frame_table import MOST_BYTES, FolderTable, parquet_files, parquet_table

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def cell(value: str | float | None) -> str:
    if value is None:
        return "<c/>"
    text = f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return text if isinstance(value, str) else f"<c><v>{value}</v></c>"


def workbook(path: Path, rows: Sequence[Sequence[str | float | None]]) -> Path:
    """The least that is an Excel file."""
    cells = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}">'
        '<sheets><sheet name="one" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def test_a_sheet_is_read(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = workbook(
        tmp_path / "x.xlsx", [["text", "note"], ["subscribe", "007"], ["a song", "+49"]]
    )
    corpus = Corpus.read(path)
    assert corpus.texts.to_list() == ["subscribe", "a song"]
    assert corpus.columns["note"].to_list() == ["007", "+49"]


def test_whole_numbers_of_a_sheet_stay_whole(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows: list[list[str | float | None]]
    rows = [["text", "id", "price"], ["a", 1234567890123456, 2], ["b", 2, 2.5], ["c", None, None]]
    columns = Corpus.read(workbook(tmp_path / "x.xlsx", rows), text="text").columns
    assert columns["id"].to_list() == [1234567890123456, 2, None]
    assert columns["id"].dtype == pl.Int64
    assert columns["price"].to_list() == [2.0, 2.5, None]


def test_a_word_far_down_a_column_of_numbers_is_not_lost(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    rows: list[list[str | float]] = [["a", i] for i in range(1_200)]
    path = workbook(tmp_path / "x.xlsx", [["text", "n"], *rows, ["z", "none"]])
    assert Corpus.read(path, text="text").columns["n"].to_list()[-2:] == ["1199", "none"]


@pytest.mark.parametrize(
    "far",
    [
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        '<row r="1048576"><c r="xfd1048576"><v>1</v></c></row>',
        '<row>' + "<c><v>1</v></c>" * 16384 + '</row><row note=">" r="1048576"><c/></row>',
    ],
)  # fmt: skip
def test_a_sheet_with_two_cells_far_apart_is_refused(tmp_path: Path, far: str) -> None:
    """The library would make room for 17 billion cells, and end the process."""
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "x.xlsx", [["text"], ["a"]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            more = b" " * (1 << 20) + far.encode() + b"</sheetData>"
            given = content.replace(b"</sheetData>", more)
            archive.writestr(name, given if name == sheet else content)
    with pytest.raises(InputError, match=r"a sheet of 17,179,869,184 cells, most of them empty"):
        Corpus.read(path)


OPEN = "urn:oasis:names:tc:opendocument:xmlns"


def open_document(path: Path, *sheets: str) -> Path:
    """The least that is an OpenDocument spreadsheet."""
    spaces = " ".join(f'xmlns:{name}="{OPEN}:{name}:1.0"' for name in ("office", "table", "text"))
    tables = "".join(f'<table:table table:name="s">{rows}</table:table>' for rows in sheets)
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{OPEN}:manifest:1.0"/>',
        "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>{tables}"
        "</office:spreadsheet></office:body></office:document-content>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def row(cells: str, times: object = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{cells}</table:table-row>'


def ods_cell(text: str, times: object = 1, more: str = "") -> str:
    return (
        f'<table:table-cell office:value-type="string"{more} table:number-columns-repeated="{times}">'
        f"<text:p>{text}</text:p></table:table-cell>"
    )


def gap(times: int) -> str:
    return f'<table:table-cell table:style-name="ce1" table:number-columns-repeated="{times}"/>'


def test_an_open_document_is_read_with_the_empty_rest_that_programs_write(tmp_path: Path) -> None:
    """LibreOffice fills each row, and the sheet, up to its limits."""
    pytest.importorskip("fastexcel")
    rows = (
        row(ods_cell("text") + gap(16383))
        + row(ods_cell("a song"))
        + row(ods_cell("buy") + gap(16383), 2)
    )
    path = open_document(tmp_path / "x.ods", rows + row(gap(16384), 1_048_572))
    assert Corpus.read(path).texts.to_list() == ["a song", "buy", "buy"]


@pytest.mark.parametrize(
    ("sheets", "cells"),
    [
        ([row(ods_cell("text")) + row(gap(16383) + ods_cell("x")) + row(ods_cell("y"), 8190)], "134,217,728"),
        ([row(ods_cell("text")) + row(ods_cell("y", 9999), 9999)], "99,990,000"),
        ([row(ods_cell("text")) + row(ods_cell("y", 9999, more=" a='>'"), 9999)], "99,990,000"),
        ([row(ods_cell("text")) + row(ods_cell("y", 9999, more=' table:number-rows-repeated="1"'), 9999)], "99,990,000"),
        ([row(ods_cell("text")) + row('<table:table-cell office:value="3"/>') + row(gap(9), 99_999_999)
          + row(ods_cell("end"))], "100,000,002"),
        ([row(ods_cell("text")) + row(ods_cell("a")), *[row(ods_cell("b", 9999), 3000)] * 2], "59,994,002"),
    ],
)  # fmt: skip
def test_an_open_document_of_too_many_cells_is_refused(
    tmp_path: Path, sheets: list[str], cells: str
) -> None:
    """A file of a kilobyte, for which the library would make room for all of them."""
    pytest.importorskip("fastexcel")
    path = open_document(tmp_path / "x.ods", *sheets)
    with pytest.raises(InputError, match=rf"x\.ods: a sheet of {cells} cells, most of them empty"):
        Corpus.read(path)


@pytest.mark.parametrize(
    "rows",
    [
        row(ods_cell("text")) + row(ods_cell("a", "many")),
        row(ods_cell("text")) + row(ods_cell("a", "&#57;&#57;&#57;&#57;"), 9999),
        row(ods_cell("text")) + row(ods_cell("a", 9999, more=' a="<"'), 9999),
    ],
)
def test_an_open_document_whose_cells_cannot_be_counted_is_refused(
    tmp_path: Path, rows: str
) -> None:
    pytest.importorskip("fastexcel")
    with pytest.raises(InputError, match=r"x\.ods: damaged: content\.xml cannot be read \("):
        Corpus.read(open_document(tmp_path / "x.ods", rows))


def record(kind: int, body: bytes = b"") -> bytes:
    """A record of a binary workbook."""
    low, high = kind & 127, kind >> 7
    return (bytes([low | 128, high]) if high else bytes([low])) + bytes([len(body)]) + body


def binary_workbook(path: Path, cells: dict[tuple[int, int], str]) -> Path:
    """The least that is a binary workbook; its cells by row and column."""

    def wide(text: str) -> bytes:
        return struct.pack("<I", len(text)) + text.encode("utf-16-le")

    book = record(0x9C, struct.pack("<II", 0, 1) + wide("r1") + wide("one"))
    sheet = b""
    for (line, column), text in cells.items():
        sheet += record(0, struct.pack("<I", line) + bytes(13))
        sheet += record(6, struct.pack("<II", column, 0) + wide(text))
    size = record(0x94, struct.pack("<IIII", 0, 1, 0, 0))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        whole = record(0x83) + record(0x8F) + book + record(0x90) + record(0x84)
        archive.writestr("xl/workbook.bin", whole)
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        )
        whole = record(0x81) + size + record(0x91) + sheet + record(0x92) + record(0x82)
        archive.writestr("xl/worksheets/sheet1.bin", whole)
    return path


def test_a_binary_workbook_is_bounded_too(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = binary_workbook(tmp_path / "x.xlsb", {(0, 0): "text", (1, 0): "a song"})
    assert Corpus.read(path).texts.to_list() == ["a song"]
    binary_workbook(path, {(0, 0): "text", (1_048_575, 16_383): "far"})
    with pytest.raises(InputError, match=r"a sheet of 17,179,869,184 cells"):
        Corpus.read(path)


@pytest.mark.parametrize("name", ["x.json.gz", "x.parquet.gz", "x.xlsx.gz"])
def test_a_gzipped_file_that_is_not_read_in_pieces(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"[]"))
    with pytest.raises(
        InputError, match=rf"only \.csv, .* are read: unpack it, e\.g\. gunzip {name}"
    ):
        Corpus.read(tmp_path / name)


def test_an_ending_in_capitals_is_unzipped_too(tmp_path: Path) -> None:
    (tmp_path / "X.CSV.GZ").write_bytes(gzip.compress(b"text\na song\n"))
    assert Corpus.read(tmp_path / "X.CSV.GZ").texts.to_list() == ["a song"]


@pytest.mark.parametrize("content", [b"PK\x03\x04 nothing", b"text\na\n"])
def test_a_damaged_workbook_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("fastexcel")
    (tmp_path / "x.xlsx").write_bytes(content)
    with pytest.raises(InputError) as caught:
        Corpus.read(tmp_path / "x.xlsx")
    assert "\n" not in str(caught.value)


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "x.xlsx", [["text"], ["a"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 3_000_000)
    monkeypatch.setattr(table, "LARGEST", 1_000_000)
    with pytest.raises(InputError, match="read whole: save it as CSV or Parquet"):
        Corpus.read(path)


@pytest.mark.parametrize(("offset", "value"), [(6, 197), (10, 99), (10, 12), (10, 14)])
def test_a_workbook_that_zip_tools_of_the_future_wrote_is_named(
    tmp_path: Path, offset: int, value: int
) -> None:
    """A version or a compression that is not known, or is not the one that was used."""
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "x.xlsx", [["text"], ["a"]])
    raw = bytearray(path.read_bytes())
    for signature, place in ((b"PK\x01\x02", offset), (b"PK\x03\x04", offset - 2)):
        at = raw.find(signature)
        while at >= 0:
            raw[at + place : at + place + 2] = value.to_bytes(2, "little")
            at = raw.find(signature, at + 4)
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"x\.xlsx: damaged"):
        Corpus.read(path)


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
    folder = FolderTable(written(tmp_path / "data", [2, 3]))
    assert str(folder.where(1)).endswith("part-000.parquet, row 1")
    assert str(folder.where(2)).endswith("part-001.parquet, row 0")
    assert str(folder.where(4)).endswith("part-001.parquet, row 2")


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
    assert [bad.file for bad in corpus.broken] == [str(broken)]
    assert corpus.skipped == ()


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
    (bad,) = (bad for corpus in corpora for bad in corpus.broken)
    assert (bad.start, bad.rows) == (len(ids) - 2, 2002 - len(ids))
    assert f"{2002 - len(ids):,} rows from row {len(ids) - 2:,} on are left out" in str(bad)


def test_other_columns_are_refused_by_name(tmp_path: Path) -> None:
    folder = written(tmp_path / "data", [1])
    pl.DataFrame({"id": ["a"], "body": ["x"]}).write_parquet(folder / "part-009.parquet")
    message = r"part-009.parquet: its columns differ .*no column text; more columns body; other kinds in id"
    with pytest.raises(InputError, match=message):
        Corpus.read(folder, text="text")


@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_file_without_rows_adds_nothing(tmp_path: Path, where: int) -> None:
    folder = written(tmp_path / "data", [2, 3, 4])
    empty = folder / f"part-{where:03}.parquet"
    pl.read_parquet(empty).clear().with_columns(note=None).write_parquet(empty)
    corpus = Corpus.read(folder, text="text", id="id")
    lost = [range(2), range(2, 5), range(5, 9)][where]
    assert corpus.ids.to_list() == [i for i in range(9) if i not in lost]
    for path in parquet_files(folder):
        pl.read_parquet(path).clear().write_parquet(path)
    with pytest.raises(InputError, match="data: there are columns, but no rows: add documents"):
        Corpus.read(folder)


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="none of its 1 Parquet files can be read"):
        Corpus.read(folder, on_bad_row="skip")


def test_one_long_text_named_many_times_is_not_written_out_at_once(tmp_path: Path) -> None:
    """Three kilobytes of Parquet that are a gigabyte of texts."""
    text = pl.Series("text", ["x" * 1_000_000], dtype=pl.Categorical)
    pl.DataFrame({"text": pl.concat([text] * 1000)}).write_parquet(tmp_path / "x.parquet")
    parquet = parquet_table(tmp_path / "x.parquet")
    rows = list(parquet.batches(Layout("text"), 100_000))
    assert max(part.frame.height for part in rows) <= MOST_BYTES // 1_000_000
    assert np.concatenate([part.numbers for part in rows]).tolist() == list(range(1000))
