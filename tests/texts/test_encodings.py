"""Tables that spreadsheets write, in Windows-1252 and UTF-16, are read as if they were UTF-8."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError, UnrulyWarning
from unruly.texts.corpus import Corpus
from unruly.texts.csv_table import CsvRecords, CsvTable
from unruly.texts.stream import CorpusStream, RowWriter
from unruly.texts.table import Doubt, Encoding, Pipe, pieces, windows_doubt

WINDOWS = 'Nr;text\r\n7;gut\r\n8;sehr schön – für 5 €\r\n9;nie "wieder"\r\n'.replace(
    'nie "wieder"', '"nie ""wieder"""'
)
TEXTS = ["gut", "sehr schön – für 5 €", 'nie "wieder"']


def test_a_table_of_western_excel_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "kunden.csv"
    path.write_bytes(WINDOWS.encode("cp1252"))
    with pytest.warns(UnrulyWarning) as told:
        corpus = Corpus.read(path, id="Nr")
    assert corpus.texts.to_list() == TEXTS
    assert corpus.ids.to_list() == [7, 8, 9]
    assert [str(one.message) for one in told] == [
        "kunden.csv is not UTF-8: read as Windows-1252; line 3 then reads '8;sehr schön – für 5 €'. If that looks wrong, "
        "convert the file to UTF-8."
    ]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-16", "be"])
def test_unicode_text_of_excel_is_read_without_one(
    name: str, encoding: str, tmp_path: Path
) -> None:
    text = "\ufeff" + WINDOWS.replace(";", "\t").replace("gut", "gut 😀")
    data = (
        text.encode("utf-16-be")
        if encoding == "be"
        else text.removeprefix("\ufeff").encode("utf-16")
    )
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = Corpus.read(tmp_path / name, id="Nr")
    assert corpus.texts.to_list() == ["gut 😀", *TEXTS[1:]]
    assert corpus.columns.columns == []


words = st.text(alphabet='ab é\n\t;,"€ÿ', max_size=8)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(words, words), min_size=1, max_size=8),
    st.sampled_from([Encoding.WINDOWS_1252, Encoding.UTF_16]),
    st.integers(1, 40),
)
def test_it_does_not_matter_how_the_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    table: list[tuple[str, str]],
    encoding: Encoding,
    piece: int,
) -> None:
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows([("text", "more"), *table])
    text, folder = lines.getvalue(), tmp_path_factory.mktemp("cut")
    (folder / "x.csv").write_bytes(text.encode(encoding))
    (folder / "utf8.csv").write_bytes(text.encode())
    assert b"".join(pieces(folder / "x.csv", piece, encoding)) == text.encode()
    plain = list(CsvRecords(folder / "utf8.csv"))
    cut = list(CsvRecords(folder / "x.csv", piece=piece, encoding=encoding))
    assert b"".join(some.data for some in cut) == b"".join(some.data for some in plain)
    numbers = [[int(line) for some in part for line in some.lines] for part in (plain, cut)]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
@pytest.mark.parametrize("batch_rows", [1, 100])
def test_a_copy_is_utf8_with_the_mark_that_excel_needs(
    encoding: str, batch_rows: int, tmp_path: Path
) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_bytes(WINDOWS.encode(encoding))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnrulyWarning)
        stream = CorpusStream.open(path, id="Nr", batch_rows=batch_rows)
    added = {"long": pl.Boolean()}
    rows = (
        (batch, pl.DataFrame({"long": batch.corpus.texts.str.len_chars() > 9}))
        for batch in stream.batches()
    )
    RowWriter(stream, out, added).write(rows)
    lines = out.read_bytes().decode("utf-8").split("\r\n")
    assert lines == [
        "\ufeffNr;text;long",
        "7;gut;false",
        "8;sehr schön – für 5 €;true",
        '9;"nie ""wieder""";true',
        "",
    ]
    assert out.read_bytes().startswith(codecs.BOM_UTF8)


def test_rows_are_left_out_only_where_encodings_are_mixed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("text,n\nschön,1\nshort\ngrün,3\n".encode("cp1252"))
    with pytest.warns(UnrulyWarning, match="read as Windows-1252; line 2 then reads"):
        corpus = Corpus.read(path, on_bad_row="skip")
    assert corpus.texts.to_list() == ["schön", "grün"]
    assert [(bad.row, bad.where.line) for bad in corpus.skipped] == [(1, 3)]
    path.write_bytes("text,n\nschön,1\n".encode("cp1252") + "grün,3\n".encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = Corpus.read(path, on_bad_row="skip")
    assert corpus.texts.to_list() == ["grün"]
    assert [bad.reason for bad in corpus.skipped] == ["not valid UTF-8"]


def test_lines_far_apart_make_a_mixture(tmp_path: Path) -> None:
    path, filler = tmp_path / "x.csv", b"plain,1\n" * 1_200_000  # more than one piece
    path.write_bytes(b"text,n\nsch\xf6n,1\n" + filler + "grün,1\n".encode())
    with pytest.raises(InputError, match=r"line 2: .* the encodings are mixed"):
        CsvTable(path)


def test_a_tsv_with_loose_quotes_may_be_windows_1252(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes('text\tn\n"so" schön\t1\n'.encode("cp1252"))
    with pytest.warns(UnrulyWarning, match="Windows-1252"):
        corpus = Corpus.read(tmp_path / "x.tsv")
    assert corpus.texts.to_list() == ['"so" schön']


def test_a_pipe_must_be_utf8() -> None:
    with pytest.raises(InputError, match="iconv -f WINDOWS-1252"):
        CsvTable(Pipe(io.BytesIO("text,n\nschön,1\n".encode("cp1252"))))


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_doubt_does_not_depend_on_the_parts(size: int) -> None:
    def doubt(data: bytes) -> Doubt | None:
        return windows_doubt(data[at : at + size] for at in range(0, len(data), size))

    assert doubt(b"a\nsch\xf6n\ncaf\xe9") is None
    assert doubt("\nschön\n".encode() + b"caf\xe9") is Doubt.MIXED
    assert doubt(b"f\x81r\n" + "schön\n".encode()) is Doubt.MIXED
    assert doubt(b"sch\xf6n\nf\x81r") is Doubt.UNDEFINED
    assert doubt(b"sch\xf6n\n\0") is Doubt.BINARY
    assert doubt("x\nутро".encode("cp1251")) is Doubt.OTHER_SCRIPT
