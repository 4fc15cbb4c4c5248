"""Files in batches: the same documents as in one piece, checked across batches."""

from __future__ import annotations

import codecs
import csv
import errno
import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError, Where
from unruly.texts.corpus import Corpus
from unruly.texts.csv_table import CsvRecords, cut_records
from unruly.texts.stream import Batch, CorpusStream, RowWriter, SeenIds, defused
from unruly.texts.table import Pipe


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


def test_all_ids_that_occur_twice_are_counted(tmp_path: Path) -> None:
    keys = [f"k{i}" for i in range(40)]
    pl.DataFrame({"text": ["x"] * 80, "key": [*keys, *keys]}).write_csv(tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"line 42: the id 'k0' is taken .*; 40 ids of the rows"):
        list(Corpus.scan(tmp_path / "x.csv", id="key", batch_rows=40))


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


@given(st.lists(st.lists(st.integers(0, 30), unique=True), max_size=8), st.sampled_from([0, 5, 99]))
def test_ids_met_twice_are_all_found(batches: list[list[int]], most: int) -> None:
    with SeenIds(most) as seen:
        found = [*(seen.add(pl.Series(batch, dtype=pl.Int64)) for batch in batches), seen.rest()]
    every = pl.Series([value for batch in batches for value in batch], dtype=pl.Int64)
    twice = every.filter(every.is_duplicated()).unique().hash()
    assert set(np.concatenate(found).tolist()) == set(twice.to_list())


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_sample_holds_no_memory_of_other_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    made = pl.DataFrame({"text": [rng.bytes(50).hex() for _ in range(100_000)]})
    for part in range(10):  # 100 MB in all
        made.write_parquet(tmp_path / f"{part}.parquet")
    code = """
import sys
from pathlib import Path
from unruly.texts.corpus import Corpus
def most():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
stream = Corpus.scan(sys.argv[1], text="text", batch_rows=20_000)
before = most()
assert len(stream.sample(2_000)) == 2_000
print(most() - before)
"""
    asked = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 70_000  # KB


def test_many_ids_are_not_kept_in_memory() -> None:
    with SeenIds(most=1_000) as seen:
        for start in range(0, 20_000, 500):
            assert not len(seen.add(pl.Series(range(start, start + 500))))
            assert sum(map(len, seen._held)) <= 1_000
        assert len(seen.add(pl.Series([7]))) + len(seen.rest()) == 1


def test_rows_of_parquet_are_made_in_the_caller_s_thread(tmp_path: Path) -> None:
    data = tmp_path / "x.csv"
    data.write_text("text\n" + "a b\n" * 50, encoding="utf-8")
    stream, threads = CorpusStream.open(data, batch_rows=5), set()

    def made() -> Iterator[tuple[Batch, pl.DataFrame]]:
        for batch in stream.batches():
            threads.add(threading.get_ident())
            yield batch, pl.DataFrame({"n": [len(batch.corpus)] * len(batch.corpus)})

    RowWriter(stream, tmp_path / "out.parquet", {"n": pl.Int64()}).write(made())
    assert threads == {threading.get_ident()}
    assert pl.read_parquet(tmp_path / "out.parquet")["n"].to_list() == [5] * 50


def test_an_error_on_either_side_of_parquet_ends_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "x.csv"
    data.write_text("text\n" + "a b\n" * 50, encoding="utf-8")
    stream, target = CorpusStream.open(data, batch_rows=5), tmp_path / "out.parquet"

    def made(bad: int | None) -> Iterator[tuple[Batch, pl.DataFrame]]:
        for number, batch in enumerate(stream.batches()):
            if number == bad:
                raise InputError("the third batch is bad")
            yield batch, pl.DataFrame({"n": [number] * len(batch.corpus)})

    with pytest.raises(InputError, match="the third batch is bad"):
        RowWriter(stream, target, {"n": pl.Int64()}).write(made(2))

    def full(*given: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    with pytest.raises(OSError, match="No space left"):
        RowWriter(stream, target, {"n": pl.Int64()}).write(made(None))
    assert list(tmp_path.iterdir()) == [data]


TELLING = [
    "1234567890123456789",
    "12345678901234567890",
    "+4915112345678",
    "2.50",
    "1e5",
    "007",
    "-0",
]


def written(data: Path | Pipe, out: Path, batch_rows: int = 100) -> Path:
    """All rows of a file, with the length of the text added."""
    return copied(CorpusStream.open(data, text="text", batch_rows=batch_rows), out)


def copied(stream: CorpusStream, out: Path, added: str = "length") -> Path:
    writer = RowWriter(stream, out, {added: pl.UInt32()})
    writer.write(
        (batch, batch.corpus.texts.str.len_chars().alias(added).to_frame())
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


def test_a_blank_line_of_one_column_stays_a_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"text\r\nab\r\n\r\nc\r\n\r\n")
    out = written(tmp_path / "in.csv", tmp_path / "out.csv", 2).read_bytes()
    assert out == b"text,length\r\nab,2\r\n,0\r\nc,1\r\n,0\r\n"


def test_quotes_that_are_not_needed_stay(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b'"text","id"\n"a","0012"\r\nb,7')
    out = written(tmp_path / "in.csv", tmp_path / "out.csv", 1).read_bytes()
    assert out == b'"text","id",length\n"a","0012",1\r\nb,7,1\n'


def test_cells_that_a_spreadsheet_would_run_are_defused(tmp_path: Path) -> None:
    rows = ["=1+1", "+4915112345678", "-2.5", "@SUM(A1)", "+cmd|' /C calc'!A0", "-1+1", "fine"]
    rows += ["＝1", "＋1", "－1", "＠SUM(A1)"]
    lines = "".join(f"{row},{row}\n" for row in rows)
    (tmp_path / "in.csv").write_text("text,=x\n" + lines)
    stream = Corpus.scan(tmp_path / "in.csv", text="text")
    writer = RowWriter(stream, tmp_path / "out.csv", {"a": pl.String()}, defuse=True)
    writer.write((batch, pl.DataFrame({"a": ["=1"] * len(rows)})) for batch in stream.batches())
    found = rows_of(tmp_path / "out.csv")
    assert found[0] == ["text", "'=x", "a"]
    assert [row[1] for row in found[1:]] == [
        "'=1+1", "+4915112345678", "-2.5", "'@SUM(A1)", "'+cmd|' /C calc'!A0", "'-1+1", "fine",
        "'＝1", "'＋1", "'－1", "'＠SUM(A1)",
    ]  # fmt: skip
    assert {row[2] for row in found[1:]} == {"'=1"}


def test_defused_names_stay_apart() -> None:
    assert defused(pl.DataFrame({"=x": [1], "'=x": [2]})).columns == ["''=x", "'=x"]


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


QUOTING: dict[str, Literal[0, 1, 2]] = {
    "as needed": csv.QUOTE_MINIMAL,
    "all": csv.QUOTE_ALL,
    "words": csv.QUOTE_NONNUMERIC,
}


@settings(max_examples=300, deadline=None)
@given(
    table=st.lists(st.tuples(table_cells, table_cells, table_cells), min_size=1, max_size=8),
    file=st.sampled_from(
        [(".csv", ","), (".csv", ";"), (".csv", "\t"), (".csv", "|"), (".tsv", "\t")]
    ),
    quoting=st.sampled_from(sorted(QUOTING)),
    end=st.sampled_from(["\r\n", "\n"]),
    last_end=st.booleans(),
    mark=st.sampled_from([b"", codecs.BOM_UTF8]),
    piped=st.booleans(),
    batch_rows=st.integers(1, 4),
)
def test_everything_but_the_added_column_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    table: list[tuple[str, str, str]],
    file: tuple[str, str],
    quoting: str,
    end: str,
    last_end: bool,
    mark: bytes,
    piped: bool,
    batch_rows: int,
) -> None:
    if (
        end == "\n"
    ):  # Python's writer leaves a bare CR unquoted then, which ends the line for everybody else
        table = [tuple(cell.replace("\r", "") for cell in row) for row in table]  # type: ignore[misc]
    folder = tmp_path_factory.mktemp("rows")
    (ending, separator), names = file, ("text", "one", "two")
    data, out = folder / f"in{ending}", folder / f"out{ending}"
    lines = io.StringIO(newline="")
    writer = csv.writer(lines, delimiter=separator, lineterminator=end, quoting=QUOTING[quoting])
    writer.writerows([names, *table])
    whole = lines.getvalue() if last_end else lines.getvalue().removesuffix(end)
    data.write_bytes(mark + whole.encode())
    written(Pipe(io.BytesIO(mark + whole.encode())) if piped else data, out, batch_rows)
    assert out.read_bytes().startswith(mark + out.read_bytes().removeprefix(codecs.BOM_UTF8)[:4])
    out.write_bytes(out.read_bytes().removeprefix(mark))
    data.write_bytes(whole.encode())
    assert [row[:3] for row in rows_of(out, separator)] == [list(names), *map(list, table)]
    before = data.read_bytes() if last_end else data.read_bytes() + end.encode()
    after = out.read_bytes()
    assert after.endswith(b"\n")
    records = cut_records(before, separator), cut_records(after, separator)
    for old, new in zip(*records, strict=True):  # the very bytes, quotes and line ends included
        assert new.startswith(old.removesuffix(end.encode()) + separator.encode())
        assert new.endswith(end.encode()) or not last_end


def spelt(value: object, blank: str) -> st.SearchStrategy[str]:
    """Some of the ways in which JSON spells a value."""
    match value:
        case dict():
            inner = [
                st.tuples(st.just(json.dumps(key)), spelt(one, blank)).map(f":{blank}".join)
                for key, one in value.items()
            ]
            return st.tuples(*inner).map(lambda all: f"{{{blank}{f',{blank}'.join(all)}{blank}}}")
        case list():
            return st.tuples(*(spelt(one, blank) for one in value)).map(
                lambda all: f"[{f',{blank}'.join(all)}]"
            )
        case str():
            return st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False)])
        case float() if value.is_integer():
            return st.sampled_from([f"{value:.0f}.0", f"{value:.0f}.00", f"{value:.0f}e0"])
        case _:
            return st.just(json.dumps(value))


any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)
plain_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**25), 10**25),
    st.floats(),
    st.sampled_from([0.0, -0.0, 2.5, 1e5, 1e300]),
    any_text,
)
values = st.recursive(
    plain_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=5,
)
rows_of_json = st.dictionaries(
    any_text | st.sampled_from(["one", "two", "length"]), values, max_size=4
)


@settings(max_examples=100, deadline=None)
@given(
    data=st.data(),
    rows=st.lists(st.tuples(st.none() | any_text, rows_of_json), min_size=1, max_size=6),
    end=st.sampled_from(["\r\n", "\n", "\n\n"]),
    source=st.sampled_from(["file", "pipe", "array"]),
    batch_rows=st.integers(1, 4),
)
def test_every_object_of_json_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    rows: list[tuple[str | None, dict[str, object]]],
    end: str,
    source: str,
    batch_rows: int,
) -> None:
    blank = data.draw(st.sampled_from(["", " "]))
    objects = [{**more, "text": text} for text, more in rows]
    records = [data.draw(spelt(one, blank)) for one in objects]
    folder = tmp_path_factory.mktemp("json")
    whole = end.join(records) if source != "array" else f"[{f',{end}'.join(records)}]"
    path = folder / ("in.json" if source == "array" else "in.jsonl")
    path.write_bytes(whole.encode())
    file: Path | Pipe = Pipe(io.BytesIO(whole.encode())) if source == "pipe" else path
    stream = CorpusStream.open(file, text="text", batch_rows=batch_rows)
    texts = [text for corpus in CorpusStream.open(path, text="text") for text in corpus.texts]
    assert [text.strip() for text in texts] == [(text or "").strip() for text, _ in rows]
    added = "length" if all("length" not in one for one in objects) else "other"
    lines = copied(stream, folder / "out.jsonl", added).read_bytes().decode().split("\n")
    assert lines.pop() == ""
    for record, line in zip(records, lines, strict=True):  # the very bytes
        assert line.startswith(record[:-1])
        assert list(json.loads(line[len(record) - 1 :].replace(",", "{", 1))) == [added]


def test_numbers_lists_and_absent_keys_of_json_lines_stay(tmp_path: Path) -> None:
    lines = [
        '{"text":"song","id":1234567890123456789,"v":0}',
        '{"v":"abc", "id":1.50, "text":"x", "list":[1,"a"], "nan":NaN}',
        '{"text":"y","big":123456789012345678901234567890,"deep":{"b":{},"a":[]}}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    out = written(tmp_path / "in.jsonl", tmp_path / "out.jsonl").read_text()
    lengths = [4, 1, 1]
    expected = [f'{line[:-1]},"length":{n}}}' for line, n in zip(lines, lengths, strict=True)]
    assert out.splitlines() == expected


@pytest.mark.parametrize(
    "cells",
    [("True", "0"), ("0", "True"), ("1234567890123456", "0.5"), ("7", "0.5"), ("", "7")],
)
def test_a_column_has_a_kind_that_all_its_values_fit(
    tmp_path: Path, cells: tuple[str, str]
) -> None:
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    data.write_text(f"text,one\na,{cells[0]}\nb,{cells[1]}", encoding="utf-8")  # two pieces
    written(data, out, 1)
    assert [row[1] for row in rows_of(out, ",")] == ["one", *cells]


def test_a_file_without_quoting_gets_cells_without_quotes(tmp_path: Path) -> None:
    data = tmp_path / "in.tsv"
    data.write_bytes(b'text\tsize\n5" pipe\t1\n"so" he said\t2\n')
    names = {'a; "b"': pl.String()}
    stream = CorpusStream.open(data, text="text")
    writer = RowWriter(stream, tmp_path / "out.tsv", names)
    writer.write(
        (batch, pl.DataFrame({'a; "b"': ["tab\there", None]})) for batch in stream.batches()
    )
    assert (tmp_path / "out.tsv").read_bytes() == (
        b'text\tsize\ta; "b"\n5" pipe\t1\ttab here\n"so" he said\t2\t\n'
    )


class Slow(io.BytesIO):
    """A writer that sends these bytes one after the other; `sent` is what has not been asked for yet."""

    def __init__(self, sent: list[bytes]) -> None:
        super().__init__()
        self.sent = list(sent)

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.sent.pop(0) if self.sent else b""


@pytest.mark.parametrize(
    ("sent", "column"),
    [
        ([b"te", b"xt,n\n", b"a,1\nb,", b"2\nc,3.5\n", b'"d\n', b'd",none\n', b"e,5"], "n"),
        (
            [
                b'{"text":',
                b' "a", "n": 1}\n{"text": "b", "n": 2}\n',
                b'{"text": "c", "n": 3.5}\n',
                b'{"text": "d\\nd", "n": "none", "more": [1]}\n',
                b'{"text": "e", "n": 5}',
            ],
            "n",
        ),
    ],
)
def test_a_pipe_is_answered_as_it_comes(sent: list[bytes], column: str) -> None:
    pipe = Slow(sent)
    stream = CorpusStream.open(Pipe(pipe))
    assert len(pipe.sent) == len(sent) - (
        3 if sent[0] == b"te" else 2
    )  # no more than the first rows
    assert stream.rows is None
    seen = [(corpus, len(pipe.sent)) for corpus in stream]
    texts = [text for corpus, _ in seen for text in corpus.texts]
    assert texts == ["a", "b", "c", "d\nd", "e"]
    assert [number for corpus, _ in seen for number in corpus.ids] == [0, 1, 2, 3, 4]
    left = [left for corpus, left in seen if len(corpus)]
    assert left[0] > left[-1]  # the first rows were given while others had not come
    kinds = [corpus.columns.schema[column] for corpus, _ in seen]
    assert kinds[0] == pl.Int64
    assert kinds[-1] == pl.String


def test_errors_in_a_pipe_name_their_line() -> None:
    sent = [b"text,n\na,1\n", b"b,2\nc\n"]
    with pytest.raises(InputError, match=r"standard input, line 4: 1 fields") as caught:
        list(CorpusStream.open(Pipe(Slow(sent))))
    assert caught.value.where == Where("standard input", 4)
    lines = [b'{"text": "a"}\n', b'{"text": "b"}\n{"text": 3}\n{"text": "x"}\n']
    with pytest.raises(InputError, match=r"standard input, line 3: 'text' is 3"):
        list(CorpusStream.open(Pipe(Slow(lines))))
    twice = [b"text,key\na,x\n", b"b,y\n", b"c,x\n"]
    with pytest.raises(InputError, match="an id occurs more than once"):
        list(CorpusStream.open(Pipe(Slow(twice)), text="text", id="key"))
    skipped = [b"text,n\na,1\n", b"b\nc,3\n"]
    stream = CorpusStream.open(Pipe(Slow(skipped)), on_bad_row="skip")
    bad = [bad for corpus in stream for bad in corpus.skipped]
    assert [(one.row, one.where.line) for one in bad] == [(1, 3)]


@pytest.mark.parametrize("sent", [[], [b"text\n"], [b"\n\n"]])
def test_a_pipe_without_rows_is_refused(sent: list[bytes]) -> None:
    with pytest.raises(InputError, match="standard input: "):
        CorpusStream.open(Pipe(Slow(sent)))


def test_a_key_that_comes_late_does_not_hide_an_added_one(tmp_path: Path) -> None:
    stream = CorpusStream.open(Pipe(Slow([b'{"text": "a"}\n', b'{"text": "b", "added": 1}\n'])))
    with pytest.raises(InputError, match="'added' first appears here"):
        copied(stream, tmp_path / "out.jsonl", "added")


def test_nothing_is_written_before_the_first_rows_are_done(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,n\na,1\n")
    stream, out = CorpusStream.open(tmp_path / "in.csv"), io.BytesIO()

    def labelled(batch: Batch) -> tuple[Batch, pl.DataFrame]:
        raise InputError("no encoder")

    with pytest.raises(InputError, match="no encoder"):
        RowWriter(stream, out, {"added": pl.Int64()}, form=".csv").write(
            map(labelled, stream.batches())
        )
    assert out.getvalue() == b""
    RowWriter(stream, out, {"added": pl.Int64()}, form=".csv").write(iter(()))
    assert out.getvalue() == b"text,n,added\n"
