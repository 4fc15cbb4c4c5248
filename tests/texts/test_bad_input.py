"""Every broken file ends in one clear line that names the place and the remedy."""

from __future__ import annotations

import gzip
import re
import subprocess
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from unruly.errors import InputError
from unruly.texts.corpus import Corpus

TWO = ["ham", "spam"]
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde" + bytes(range(120))


def refused(path: Path, content: bytes, **options: object) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Corpus.read(path, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.csv", b"", ": the file is empty"),
        ("x.csv", b"text,label\n", ": there is a header, but no row below it"),
        ("x.jsonl", b"\n", ": the file is empty"),
        ("x.txt", b"text", ": files ending in '.txt' are not read: use one of .csv"),
        ("x.csv", b'text,n\nok,1\n"open,2\nx,3\n', ", line 3: a broken quote"),
        ("x.csv", b'text,n\n"a",1\n"b"c,2\nx,3\n', ", line 3: a broken quote"),
        ("x.csv", b'text,n\nok,1\nfo"o,2\n"fine, too",3\n', ", line 3: a broken quote"),
        ("x.csv", b'text,n\nok,1\n"open,2\nx,1\n"a, ""b""",0\n"c",1\n"d",1\n', ", line 3: a broken quote"),
        ("x.csv", b'text,n\n"two\nlines",1\nthree,2,3\n', ", line 4: 3 fields, but the header has 2"),
        ("x.csv", b"text,n\nok,1\nshort\n", ", line 3: 1 fields, but the header has 2"),
        ("x.csv", b"text,text\na,b\n", ", line 1: two columns are named 'text'"),
        ("x.csv", b"text,n\nok,1\nf\x81r,2\n", ", line 3: byte 0x81 is not valid UTF-8; as Windows-1252 the line reads 'f\ufffdr,2', which is probably not what was meant: save it as CSV UTF-8 in your spreadsheet, or convert it from the encoding it has: iconv -f ENCODING -t UTF-8 < "),
        ("x.csv", b"text,n\nok,1\n" + "Доброе утро,2\n".encode("cp1251"), ", line 3: byte 0xC4 is not valid UTF-8; as Windows-1252 the line reads 'Äîáðîå óòðî,2', which is probably not"),
        ("x.csv", "text,n\nü,1\n".encode() + b"caf\xe9,2\n", "the encodings are mixed: write that line again"),
        ("x.csv", b"text,n\ncaf\xe9,2\n" + "ü,1\n".encode(), "the encodings are mixed: write that line again"),
        ("x.csv", b"\xef\xbb\xbftext,n\ncaf\xe9,2\n", "the encodings are mixed: write that line again"),
        ("x.csv", "text,n\nok,1\n".encode("utf-16-le"), ", line 1: the file is in UTF-16LE, not UTF-8: convert it, e.g. iconv -f UTF-16LE"),
        ("x.csv", "text,n\nok,1\n".encode("utf-32"), ", line 1: the file is in UTF-32, not UTF-8"),
        ("x.csv", "text,n\nok,1\n".encode("utf-16") + b"\x00\xd8\x00\x00", ": the file begins as UTF-16, but holds bytes that are none (00 D8"),
        ("x.jsonl", '{"text": "a"}\n'.encode("utf-16"), ", line 1: the file is in UTF-16, not UTF-8"),
        ("x.csv", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", ": this is a PDF, not a table of text"),
        ("x.tsv", b"PAR1\x15\x04\xa4\xb1\x0e, text", ": this is a Parquet file, not a table of"),
        ("x.csv", PNG, ": this is a picture (PNG), not a table of text: export it"),
        ("x.csv", b"PK\x03\x04\x14\x00\x08\x00" + bytes(range(256)), ": this is a ZIP archive, as .xlsx and .ods are, not a table of text"),
        ("x.csv", bytes(range(256)) * 9, ": this is no table of text"),
        ("x.jsonl", PNG, ": this is a picture (PNG), not a table of text"),
        ("x.csv", b"text,n\nok,1\n" * 99 + b"caf\xe9\0,2\n", "line 199: byte 0xE9 is not valid UTF-8; as Windows-1252 the line reads 'café\\x00,2', and there are zero bytes"),
        ("x.jsonl", b'{"text": "a"}\n{"text": "caf\xe9"}\n', ", line 2: byte 0xE9 is not valid UTF-8"),
        ("x.jsonl", b'{"text": "a"}\n\n{"text": 5}\n', ", line 3: 'text' is 5, not a string"),
        ("x.jsonl", b'{"text": "a"}\n{"text": ["b"]}\n', ", line 2: 'text' is [\"b\"], not a string"),
        ("x.jsonl", b'{"text": 4}\n{"text": 5}\n', ", line 1: the text column 'text' holds Int64"),
        ("x.jsonl", b'{"text": "a"}\n{"text": \n', ", line 2: not JSON (column 10: "),
        ("x.jsonl", b'[{"text": "a"},\n{"text": "b"}]\n', "a JSON array is not JSON Lines"),
        ("x.jsonl", b'{"text": "a"}\n"b"\n', ", line 2: a str, not an object"),
        ("x.csv", b"q,a\nx,y\n", 'not obvious: pass it with text = "..." (one of q, a)'),
        ("x.csv", b"review,comment,n\nx,y,1\n", "(one of review, comment)"),
        ("x.csv", b"a,b\n1,2\n", ": no column holds text"),
        ("x.csv", b"text,n\ra,1\rb,2\r", ", line 1: the lines end in CR alone"),
        ("x.parquet", b"nonsense", ": cannot be read as Parquet"),
        ("x.arrow", b"nonsense", ": cannot be read as Arrow IPC"),
        ("x.csv.gz", b"text,n\na,1\n", ": not a whole gzip file"),
        ("x.csv.gz", gzip.compress(b"text,n\na,1\n" * 99, mtime=0)[:-9], ": not a whole gzip file"),
    ],
)  # fmt: skip
def test_broken_files(name: str, content: bytes, expected: str, tmp_path: Path) -> None:
    assert expected in refused(tmp_path / name, content)


def test_wrong_columns_are_answered_with_near_ones(tmp_path: Path) -> None:
    message = refused(tmp_path / "x.csv", b"comment,spam\na,1\n", text="coment")
    assert message == (
        ": there is no column 'coment' (asked for by text = \"coment\"): "
        "did you mean 'comment'? columns are comment, spam"
    )
    assert "did you mean" not in refused(tmp_path / "x.csv", b"comment,spam\na,1\n", id="zzz")
    assert "\n" not in refused(tmp_path / "x.csv", b"comment,spam\na,1\n", id="zz\nz")
    same = refused(tmp_path / "x.csv", b"comment,spam\na,1\n", text="comment", label="comment")
    assert "one column cannot be two of text, id and label" in same


def test_duplicate_ids_name_both_rows(tmp_path: Path) -> None:
    message = refused(tmp_path / "x.csv", b"text,k\na,7\nb,8\n\nc,7\n", id="k")
    assert message.startswith(", line 5: the id 7 is taken already (")
    assert "x.csv, line 2)" in message
    many = refused(tmp_path / "x.csv", b"text,k\na,7\nb,8\nc,7\nd,8\ne,8\nf,9\n", id="k")
    assert many.startswith(", line 4: the id 7 is taken already (")
    assert "line 2; 2 ids of the rows read occur more than once): ids must be unique" in many
    assert ", line 3: the id (column 'k') is missing" in refused(
        tmp_path / "x.csv", b"text,k\na,7\nb,\n", id="k"
    )


def test_labels_that_are_no_classes(tmp_path: Path) -> None:
    message = refused(tmp_path / "x.csv", b"text,y\na,1\nb,\nc,eggs\n", label="y", classes=TWO)
    assert (
        message
        == ", line 4: the label 'eggs' is not a class: classes are ham, spam (or their numbers, 0 to 1)"
    )
    assert ", line 3: the label 2" in refused(
        tmp_path / "x.csv", b"text,y\na,1\nb,2\n", label="y", classes=TWO
    )
    assert "the labels name 1 classes ('ham')" in refused(
        tmp_path / "x.csv", b"text,y\na,ham\n", label="y"
    )


@pytest.mark.parametrize(
    "labels",
    [
        pl.Series([None, 1], dtype=pl.Time),  # a nanosecond, which Python does not know
        pl.Series([None, 1], dtype=pl.Datetime("ns")),
        pl.Series([None, 1], dtype=pl.Duration("ns")),
        pl.Series([None, b"x"]),
        pl.Series([None, [1]]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_types_that_are_no_classes(labels: pl.Series, tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    pl.DataFrame({"text": ["a", "b"], "y": labels}).write_ipc(path)
    with pytest.raises(InputError, match=r"x\.arrow.*label") as caught:
        Corpus.read(path, label="y", classes=TWO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ids",
    [
        pl.Series([1, 2, 1], dtype=pl.Time),
        pl.Series([1, 2, 1], dtype=pl.Datetime("ns")),
        pl.Series([1, 2, 1], dtype=pl.Duration("ns")),
        pl.Series([0, 0, 2**40]).cast(pl.Datetime("ms", "UTC")),
    ],
    ids=lambda ids: str(ids.dtype),
)
def test_times_taken_twice_as_ids(ids: pl.Series, tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    pl.DataFrame({"text": ["a", "b", "c"], "id": ids}).write_ipc(path)
    with pytest.raises(InputError, match=r"row [12]: the id '.*' is taken already \(.*row 0"):
        Corpus.read(path, id="id")
    pl.DataFrame({"text": ["a", "b"], "id": ids[1:]}).write_ipc(path)
    assert Corpus.read(path, id="id").ids.dtype == pl.String


@pytest.mark.parametrize("kind", [pl.Date(), pl.Datetime("ms"), pl.Datetime("us", "UTC")], ids=str)
@pytest.mark.parametrize("role", ["id", "label", None])
def test_dates_of_no_year_are_bad_rows(kind: pl.DataType, role: str | None, tmp_path: Path) -> None:
    days = pl.Series([10**7, 2**30]) * (1 if kind == pl.Date() else 86_400_000)
    if kind == pl.Datetime("us", "UTC"):
        days = pl.Series([10**18, 2**62])
    known = pl.Series([date(1, 1, 1), date(9999, 12, 31)]).cast(kind)
    frame = pl.DataFrame({"text": list("abcd"), "day": pl.concat([known, days.cast(kind)])})
    path = tmp_path / "x.parquet"
    frame.write_parquet(path)
    ids, labels = ("day" if role == one else None for one in ("id", "label"))
    with pytest.raises(InputError, match=r"row 2: the date in column 'day' is not of the years 1 "):
        Corpus.read(path, id=ids, label=labels)
    corpus = Corpus.read(path, id=ids, label=labels, on_bad_row="skip")
    assert corpus.texts.to_list() == ["a", "b"]
    assert [bad.row for bad in corpus.skipped] == [2, 3]


def test_missing_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "comments.csv").write_text("text\na\n")
    with pytest.raises(
        InputError, match=r"coments.csv: there is no such file: did you mean comments.csv\?"
    ):
        Corpus.read(tmp_path / "coments.csv")
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        Corpus.read(tmp_path / "nowhere" / "x.csv")
    with pytest.raises(
        InputError,
        match=re.escape(f"{tmp_path}: a folder without Parquet files, and not in WRENCH's layout"),
    ):
        Corpus.read(tmp_path)


def test_bare_quotes_are_letters_in_a_tsv(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text('text\tn\nhe said "x\t1\n"so" she\t2\n')
    assert Corpus.read(tmp_path / "x.tsv").texts.to_list() == ['he said "x', '"so" she']


def test_byte_order_marks_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b'\xef\xbb\xbftext,n\r\na,1\r\n"b\r\nc",2\r\n\r\n')
    corpus = Corpus.read(tmp_path / "x.csv")
    assert corpus.texts.to_list() == ["a", "b\r\nc"]
    assert corpus.columns["n"].to_list() == [1, 2]


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_spreadsheets_with_other_separators(separator: str, tmp_path: Path) -> None:
    rows = [["text", "n"], ["yes, please", "1"], ['"so; or\t| so"', "2"]]
    (tmp_path / "x.csv").write_text("\n".join(separator.join(row) for row in rows))
    corpus = Corpus.read(tmp_path / "x.csv")
    assert corpus.texts.to_list() == ["yes, please", "so; or\t| so"]
    assert corpus.columns["n"].to_list() == [1, 2]


def test_one_column_is_enough(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('text\n"a; b"\nc; d\n')
    assert Corpus.read(tmp_path / "x.csv").texts.to_list() == ["a; b", "c; d"]


def test_a_parquet_file_damaged_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pl.DataFrame({"text": [f"text {i}" for i in range(5000)]}).write_parquet(path)
    data = bytearray(path.read_bytes())
    data[20:2000] = bytes(1980)
    assert "x.parquet: cannot be read as" in str(path) + refused(path, bytes(data))


def test_a_header_that_begins_like_a_compressed_file(tmp_path: Path) -> None:
    # x^ are the first two bytes of some zlib streams, and a name that people give to columns.
    (tmp_path / "x.csv").write_text("x^2,text\n4,four\n")
    corpus = Corpus.read(tmp_path / "x.csv", text="text")
    assert corpus.texts.to_list() == ["four"]
    assert corpus.columns.columns == ["x^2"]


@pytest.mark.parametrize(
    "lines",
    [
        '{"text": {"q": 1}, "text": {"q": 1}}\n{"text": true}\n',
        "x\x01not json\n",  # the first bytes of a zlib stream
    ],
)
def test_what_is_no_text_is_one_line(lines: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines)
    with pytest.raises(InputError) as caught:
        Corpus.read(tmp_path / "x.jsonl")
    assert "\n" not in str(caught.value)


def test_the_command_that_converts_a_file_works_where_its_name_has_blanks(tmp_path: Path) -> None:
    told = refused(tmp_path / "my notes.jsonl", b'{"text": "caf\xe9"}\n')
    assert ": convert it: iconv -f WINDOWS-1252 -t UTF-8 < '" in told
    assert told.endswith("my notes.jsonl' > utf8.jsonl")


@pytest.mark.parametrize("name", ["mac.csv", "mac.csv.gz", "my mac.csv.gz"])
def test_the_command_that_mends_line_ends_works(name: str, tmp_path: Path) -> None:
    rows = b"text,n\ra,1\rb,2\r"
    told = refused(tmp_path / name, gzip.compress(rows) if name.endswith(".gz") else rows)
    command = told.partition("e.g. ")[2]
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    assert Corpus.read(tmp_path / "new.csv").texts.to_list() == ["a", "b"]


def test_the_command_that_converts_a_packed_file_works(tmp_path: Path) -> None:
    told = refused(tmp_path / "x.jsonl.gz", gzip.compress(b'{"text": "caf\xe9"}\n'))
    subprocess.run(told.rpartition(" convert it: ")[2], shell=True, cwd=tmp_path, check=True)
    assert Corpus.read(tmp_path / "utf8.jsonl").texts.to_list() == ["café"]
