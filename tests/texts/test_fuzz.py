"""Files damaged at random: read, or refused in one line; never a traceback, a panic or a long wait."""

from __future__ import annotations

import gzip
import io
import random
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.writing import RowWriter

FILES = 400
FRAME = pl.DataFrame(
    {
        "text": ["a b", "c, d", 'q "x"', None, "é\nf", ""],
        "number": [1, 2, None, 4, 5, 6],
        "label": ["ham", "spam", "ham", None, "spam", "ham"],
        "share": [0.5, 1.5, None, 2, 3, 4],
        "key": ["a", "b", "c", "d", "e", "f"],
        "truth": [True, False, None, True, True, False],
        "list": [[1], [2, 3], [], None, [1], [2]],
        "struct": [{"a": 1}] * 6,
        "bytes": [b"a", b"\xff", b"", None, b"c", b"d"],
    }
)
TEXT_KINDS = ("csv", "tsv", "jsonl")
PIECES = [
    b'"',
    b"\n",
    b"\r",
    b",",
    b"\0",
    b"\xff",
    b"{",
    b"}",
    b"9" * 400,
    b'""',
    b"null",
    b"1e999",
]


def content(kind: str) -> bytes:
    buffer = io.BytesIO()
    match kind:
        case "csv" | "tsv":
            flat = FRAME.drop("list", "struct", "bytes")
            flat.write_csv(buffer, separator="\t" if kind == "tsv" else ",")
        case "jsonl":
            FRAME.drop("bytes").write_ndjson(buffer)
        case "parquet":
            FRAME.write_parquet(buffer)
        case "arrow":
            FRAME.write_ipc(buffer)
    return buffer.getvalue()


def damaged(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 5, 20])):
        at = rng.randrange(len(changed)) if changed else 0
        match rng.randrange(4):
            case 0 if changed:
                changed[at] = rng.randrange(256)
            case 1:
                changed[at:at] = rng.choice(PIECES)
            case 2:
                del changed[at : at + rng.randrange(1, 30)]
            case _:
                changed[at:at] = changed[: rng.randrange(60)]
    if rng.random() < 0.1:
        coding = rng.choice(["utf-16", "cp1252", "utf-8-sig"])
        return bytes(changed).decode("utf-8", "replace").encode(coding, "replace")
    return bytes(changed)


def options(rng: random.Random) -> dict[str, Any]:
    chosen: dict[str, Any] = {"on_bad_row": rng.choice(["keep", "skip", "error"])}
    for role in ("text", "id", "label"):
        if rng.random() < 0.5:
            chosen[role] = rng.choice(FRAME.columns)
    if rng.random() < 0.5:
        chosen["classes"] = ["ham", "spam"]
    return chosen


@pytest.mark.parametrize("kind", [*TEXT_KINDS, "parquet", "arrow"])
def test_damaged_files_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    rng, whole = random.Random(kind), content(kind)
    for _ in range(FILES // 5):
        data, name = damaged(whole, rng), f"x.{kind}"
        if kind in TEXT_KINDS and rng.random() < 0.2:
            data, name = damaged(gzip.compress(data), rng), f"{name}.gz"
        path = tmp_path / name
        path.write_bytes(data)
        chosen, start, message = options(rng), time.perf_counter(), ""
        try:
            assert "\n" not in repr(Corpus.read(path, **chosen))
            stream = Corpus.scan(path, batch_rows=rng.choice([1, 2, 100]), **chosen)
            ending = rng.choice([".csv", ".tsv", ".jsonl", ".parquet"])
            RowWriter(stream, tmp_path / f"out{ending}", {"added": pl.UInt32()}).write(
                (batch, batch.corpus.texts.str.len_chars().alias("added").to_frame())
                for batch in stream.batches()
            )
        except InputError as error:
            message = str(error)
        assert "\n" not in message
        assert time.perf_counter() - start < 5
