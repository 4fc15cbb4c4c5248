"""One bad row does not stop a file: texts may be missing, and malformed rows may be left out."""

from __future__ import annotations

import gzip
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import BadRowError, InputError, polars_errors
from unruly.texts.corpus import Corpus
from unruly.texts.csv_table import CsvRecords

FRAME = pl.DataFrame({"text": ["a", None, "c", None], "n": [1, 2, 3, 4]})


def written(folder: Path, kind: str, frame: pl.DataFrame = FRAME) -> Path:
    path = folder / f"x.{kind}"
    match kind:
        case "csv":
            frame.write_csv(path)
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "jsonl":
            frame.write_ndjson(path)
        case "parquet":
            frame.write_parquet(path)
        case "arrow":
            frame.write_ipc(path)
    return path


@pytest.mark.parametrize(
    ("name", "content"), [("x.csv", "text,n\na,1,2\nb,3,4\n"), ("x.jsonl", '{"text":\n{"text"\n')]
)
def test_a_file_of_which_all_rows_are_skipped_is_not_called_empty(
    name: str, content: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    line = 2 if name == "x.csv" else 1
    with pytest.raises(InputError, match=rf"no row is left: 2 rows skipped: .*, line {line}: "):
        Corpus.read(path, on_bad_row="skip")


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_rows_without_a_text_are_kept_and_marked(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, kind)
    corpus = Corpus.read(path)
    assert corpus.texts.to_list() == ["a", "", "c", ""]
    assert corpus.missing is not None
    assert corpus.missing.tolist() == [False, True, False, True]
    assert corpus.missing_count == 2
    assert corpus.take([1, 2]).missing_count == 1
    batches = list(Corpus.scan(path, batch_rows=3))
    assert [batch.missing_count for batch in batches] == [1, 1]
    skipped = Corpus.read(path, on_bad_row="skip")
    assert skipped.ids.to_list() == [0, 2]  # rows keep their numbers
    assert [bad.row for bad in skipped.skipped] == [1, 3]
    assert all("the text (column 'text') is missing" in bad.reason for bad in skipped.skipped)
    with pytest.raises(InputError, match=r"the text \(column 'text'\) is missing") as caught:
        Corpus.read(path, on_bad_row="error")
    assert caught.value.where == Corpus.read(path, on_bad_row="skip").skipped[0].where


@pytest.mark.parametrize(
    "frame", [FRAME, FRAME.lazy(), pd.DataFrame(FRAME.to_dict(as_series=False))]
)
def test_frames_too(frame: object) -> None:
    corpus = Corpus.from_frame(frame)
    assert (corpus.texts.to_list(), corpus.missing_count) == (["a", "", "c", ""], 2)
    skipped = Corpus.from_frame(frame, on_bad_row="skip")
    assert [bad.row for bad in skipped.skipped] == [1, 3]
    assert skipped.columns["n"].to_list() == [1, 3]


def test_lists_too() -> None:
    corpus = Corpus.from_texts(["a", None, float("nan")])  # type: ignore[list-item]
    assert corpus.missing_count == 2
    assert Corpus.of(pd.Series(["a", None, "b"])).missing_count == 1


EMPTY = pl.DataFrame({"text": ["a", "", " \t\n", None], "n": [1, 2, 3, 4]})


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json", "parquet", "arrow"])
def test_an_empty_text_is_none_in_every_format(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    if kind == "json":
        path.write_text(EMPTY.select("text").write_json())
    else:
        written(tmp_path, kind, EMPTY)
    corpus = Corpus.read(path)
    assert corpus.texts.to_list() == ["a", "", "", ""]
    assert corpus.missing_count == 3
    assert Corpus.read(path, on_bad_row="skip").ids.to_list() == [0]
    with pytest.raises(InputError, match=r"the text \(column 'text'\) is missing or empty"):
        Corpus.read(path, on_bad_row="error")


def test_an_empty_text_is_none_in_frames_and_lists() -> None:
    assert Corpus.from_frame(EMPTY).missing_count == 3
    assert Corpus.from_frame(EMPTY.cast({"text": pl.Categorical})).missing_count == 3
    assert Corpus.from_texts(EMPTY["text"].to_list()).missing_count == 3


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.sampled_from([None, "", "a", "b\nc", '"'])),
    end=st.sampled_from(["\n", "\r\n"]),
    blanks=st.integers(0, 2),
    piece=st.integers(1, 9),
)
def test_a_blank_line_below_a_header_of_one_column_is_a_row(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str | None],
    end: str,
    blanks: int,
    piece: int,
) -> None:
    path = tmp_path_factory.mktemp("one") / "x.csv"
    frame = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    above = end * blanks  # there is no row above the header
    path.write_bytes(above.encode() + frame.write_csv(line_terminator=end).encode())
    cut = [int(n) for records in CsvRecords(path, piece=piece) for n in records.numbers]
    assert cut == list(range(-1, len(texts)))
    if texts:
        assert Corpus.read(path, text="text").texts.to_list() == [text or "" for text in texts]


def test_a_blank_line_among_several_columns_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,n\na,1\n\nb,2\n\n")
    assert Corpus.read(tmp_path / "x.csv").texts.to_list() == ["a", "b"]


MALFORMED = [
    ("csv", b"text,n\na,1\nb,2,3\nc,3\nd\ne,5\n", {1: "3 fields", 3: "1 fields"}, "ace"),
    ("csv", b'text,n\na,1\nb "x,2\nc,3\n"d,4\ne,5\n', {1: "broken quote", 3: "broken quote"}, "ace"),
    ("csv", b"text,n\na,1\nb\x81,2\nc,3\n", {1: "not valid UTF-8"}, "ac"),
    ("jsonl", b'{"text":"a"}\n{"text":\n\n[1]\n{"text":"d"}\n', {1: "not JSON", 2: "a list"}, "ad"),
    ("jsonl", b'{"text":"a"}\n{"text":5}\n{"text":"c"}\n', {1: "'text' is 5, not a string"}, "ac"),
    ("jsonl", b'{"text":"a"}\n{"text":"\xff"}\n{"text":"c"}\n', {1: "not valid UTF-8"}, "ac"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "bad", "texts"), MALFORMED)
def test_malformed_rows_stop_a_file_unless_they_are_skipped(
    kind: str, content: bytes, bad: dict[int, str], texts: str, tmp_path: Path
) -> None:
    path = tmp_path / f"x.{kind}"
    path.write_bytes(content)
    for mode in ("keep", "error"):
        with pytest.raises(InputError) as caught:
            Corpus.read(path, on_bad_row=mode)
        assert isinstance(caught.value, BadRowError) or "UTF-8" in str(caught.value)
        assert caught.value.where is not None
        assert caught.value.where.line is not None
    corpus = Corpus.read(path, on_bad_row="skip")
    assert "".join(corpus.texts) == texts
    assert [found.row for found in corpus.skipped] == list(bad)
    for found, reason in zip(corpus.skipped, bad.values(), strict=True):
        assert reason in found.reason
        assert found.where.line is not None
    assert corpus.skipped[0].where == caught.value.where
    assert sorted([*corpus.ids, *bad]) == list(range(len(corpus) + len(bad)))
    batches = list(Corpus.scan(path, on_bad_row="skip", batch_rows=1))
    assert "".join(text for batch in batches for text in batch.texts) == texts
    assert [found.row for batch in batches for found in batch.skipped] == list(bad)


def test_labels_and_ids_that_cannot_be_used_are_skipped_too(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,k,y\na,1,ham\nb,,spam\nc,3,eggs\nd,4,spam\n")
    corpus = Corpus.read(
        tmp_path / "x.csv", id="k", label="y", classes=["ham", "spam"], on_bad_row="skip"
    )
    assert corpus.ids.to_list() == [1, 4]
    assert [bad.row for bad in corpus.skipped] == [1, 2]
    assert np.array_equal(corpus.gold, [0, 1])  # type: ignore[arg-type]


def test_a_wrong_word_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="on_bad_row = 'drop': must be one of error, skip, keep"):
        Corpus.read(written(tmp_path, "csv"), on_bad_row="drop")  # type: ignore[arg-type]


bad_cells = st.text(alphabet='ab",\n\r é', max_size=6)


@settings(max_examples=80, deadline=None)
@given(st.lists(bad_cells, max_size=10), st.integers(1, 40))
def test_skipping_never_fails_and_does_not_depend_on_how_the_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], piece: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "x.csv"
    path.write_bytes("\n".join(["text,n", *lines]).encode())
    whole = list(CsvRecords(path, skip=True))
    kept = [int(n) for records in whole for n in records.numbers]
    left_out = [bad.row for records in whole for bad in records.skipped]
    assert sorted(kept + left_out) == list(range(-1, len(kept) + len(left_out) - 1))
    cut = list(CsvRecords(path, skip=True, piece=piece))
    assert [int(n) for records in cut for n in records.numbers] == kept
    assert b"".join(r.data for r in cut) == b"".join(r.data for r in whole)


def test_a_label_of_four_billion_is_one_clean_error(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text,y\na,1\nb,4000000000\n")
    with pytest.raises(InputError, match="the labels name 4,000,000,001 classes"):
        Corpus.read(tmp_path / "x.csv", label="y")


def test_labels_that_are_structs_or_lists_are_one_clean_error() -> None:
    for labels in ([{"a": 1}, {"a": 2}], [[1], [2]], [b"a", b"b"]):
        with pytest.raises(InputError, match="labels must be class names or numbers"):
            Corpus.from_frame(pl.DataFrame({"text": ["a", "b"], "y": labels}), label="y")


def seconds(path: Path) -> float:
    start = time.perf_counter()
    with pytest.raises(InputError):
        Corpus.read(path)
    return time.perf_counter() - start


def test_old_macs_line_ends_and_damaged_gzip_fail_fast(tmp_path: Path) -> None:
    (tmp_path / "mac.csv").write_bytes(b"text,n\r" + b"some words,1\r" * 2_000_000)
    assert seconds(tmp_path / "mac.csv") < 2
    data = bytearray(gzip.compress(b"text,n\n" + b"some words,1\n" * 500_000, mtime=0))
    for at in range(200, len(data), 997):
        data[at] ^= 0xFF
    (tmp_path / "x.csv.gz").write_bytes(bytes(data))
    assert seconds(tmp_path / "x.csv.gz") < 5


def test_a_header_of_many_columns_is_read_in_linear_time(tmp_path: Path) -> None:
    def work(columns: int) -> float:
        """CPU seconds to read one row."""
        names = ",".join(f"c{i}" for i in range(columns))
        (tmp_path / "x.csv").write_text(f"text,{names}\nhello,{','.join('1' * columns)}\n")
        start = time.process_time()
        assert Corpus.read(tmp_path / "x.csv").columns.width == columns
        return time.process_time() - start

    work(2_000)  # libraries are loaded
    assert work(20_000) < 40 * work(2_000)  # 10 times if linear, 100 if quadratic


def test_a_line_without_an_end_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b'{"text":"' + b"a" * (1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="a line is longer than 64 MB"):
        Corpus.read(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KB


def test_a_panic_in_polars_is_one_clean_error() -> None:
    with (
        pytest.raises(InputError, match=r"^x\.arrow: cannot be read as Arrow IPC \(gone\)"),
        polars_errors("x.arrow", "Arrow IPC"),
    ):
        raise pl.exceptions.PanicException("gone")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_damaged_files_never_end_in_a_panic(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, kind)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        try:
            Corpus.read(path)
        except InputError:
            continue
