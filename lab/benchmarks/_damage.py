"""Damaged projects and tables to try commands and readers with: sound ones, and what random changes make of them."""

from __future__ import annotations

import gzip
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from _trial import OK, trial

KINDS = ("csv", "tsv", "jsonl", "json", "parquet", "arrow")
TEXT_KINDS = ("csv", "tsv", "jsonl", "json")
ENCODINGS = ("utf-16", "utf-16-le", "cp1252", "utf-8-sig", "utf-32", "shift_jis")
PIECES = (
    b'"', b"\n", b"\r", b",", b"\0", b"\xff", b"{", b"}", b"[", b"]", b"=", b"'''", b'"""', b"9" * 400, b'""', b"null",
    b"1e999", b"-1", b"true", b"\xe2\x80\xae", b"\x1b[31m", b"../", b"\\", b"#", b"nan", b"1979-05-27",
)  # fmt: skip
PROJECT = """
[task]
classes = ["ham", "spam"]
prior = "spam is about 1 in 3"

[data]
train = "train.csv"
test = "train.csv"
text = "text"
id = "key"
label = "label"

[encoder]
name = "lsa"
dim = 16

[train]
method = "default"

[[source]]
name = "words"
rule = [
  { label = "spam", keywords = ["subscribe", "my channel"], match = "word", examples = ["please SUBSCRIBE"] },
  { label = "ham", keywords_file = "words.txt" },
]

[[source]]
name = "patterns"
rule = [
  { label = "spam", pattern = 'check\\s+.*out', ignore_case = true, counter_examples = ["hello"] },
  { label = "ham", pattern = '(?<=a)b', engine = "python", seconds = 0.5 },
]

[[source]]
name = "others"
rule = [
  { label = "ham", length = { max_words = 4 } },
  { label = "spam", sequence = { first = ["would"], then = ["again"], within_words = 4, negators = ["never"] } },
  { label = "spam", field = { column = "number", min = 2, max = 5 } },
  { label = "ham", field = { column = "vendor", equal = "ham" } },
  { label = "spam", lookup = { file = "table.csv", columns = ["vendor"] } },
  { label = "ham", all = [{ keywords = ["song"] }, { not = { keywords = ["my"] } }] },
  { label = "spam", any = [{ length = { min_chars = 400 } }, { pattern = "x{3}" }] },
]

[[source]]
name = "crowd"
rule = [{ column = { name = "vendor", map = { spam = "spam", ham = "ham" }, others = "abstain" } }]
"""
TABLE = {
    "text": ["subscribe now", "c, d", 'q "x"', None, "é\nf", "", "=1+1", "check it out"],
    "number": [1, 2, None, 4, 5, 6, -7, 2**62],
    "label": ["ham", "spam", "ham", None, "spam", "ham", "ham", "spam"],
    "vendor": ["ham", "spam", "ham", None, "spam", "x", "ham", "spam"],
    "share": [0.5, 1.5, None, float("nan"), float("inf"), 4.0, 1e-300, 7.0],
    "key": ["a", "b", "c", "d", "e", "f", "g", "h"],
    "truth": [True, False, None, True, True, False, True, False],
    "list": [[1], [2, 3], [], None, [1], [2], [None], [4]],
    "struct": [{"a": 1}] * 8,
    "bytes": [b"a", b"\xff", b"", None, b"c", b"d", b"\0", b"h"],
}
# Types that a column may have in place of its own.
TYPES: dict[str, pl.DataType] = {
    "u8": pl.UInt8(), "f32": pl.Float32(), "i128": pl.Int128(), "decimal": pl.Decimal(20, 3), "null": pl.Null(),
    "date": pl.Date(), "time": pl.Time(), "duration": pl.Duration("ms"), "utc": pl.Datetime("us", "UTC"),
    "binary": pl.Binary(), "categorical": pl.Categorical(), "enum": pl.Enum(["ham", "spam"]), "truth": pl.Boolean(),
    "list": pl.List(pl.String()), "array": pl.Array(pl.Int8(), 2), "struct": pl.Struct({"a": pl.String()}),
}  # fmt: skip


def project_file(case: Path, rng: random.Random) -> Path:
    """A mutated project beside sound data: its folder."""
    (case / "words.txt").write_text("lovely\nsong\n")
    (case / "table.csv").write_text("vendor\nham\nx\n")
    written(case / "train.csv", "csv")
    (case / "unruly.toml").write_bytes(mutated_text(PROJECT.encode(), rng))
    if rng.random() < 0.1:
        name = rng.choice(["words.txt", "table.csv"])
        (case / name).write_bytes(damaged((case / name).read_bytes(), rng))
    return case


def mutated_text(data: bytes, rng: random.Random) -> bytes:
    """Lines, values and bytes changed."""
    lines = data.split(b"\n")
    for _ in range(rng.choice([0, 1, 1, 1, 2, 5])):
        at = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(rng.randrange(len(lines)), lines[at])
            case 2:
                values = (
                    b'""',
                    b"0",
                    b"-1",
                    b"[]",
                    b"{}",
                    b"true",
                    b'["a"]',
                    b"1e308",
                    b"nan",
                    b"-inf",
                    b"9" * 20,
                    b"9" * 400,
                    b"9" * 5000,
                    b"[" * 400 + b"]" * 400,
                    b'"' + b"x" * 9000 + b'"',
                )
                places = list(re.finditer(rb"= [^,}\]]+", lines[at]))
                if places:
                    start, end = rng.choice(places).span()
                    lines[at] = lines[at][:start] + b"= " + rng.choice(values) + lines[at][end:]
            case 3:
                lines[at] = re.sub(
                    rb"\w+ =",
                    rng.choice([b"labels =", b"when =", b"'' =", b"name ="]),
                    lines[at],
                    count=1,
                )
            case 4:
                words = re.findall(rb"[\w.]+", lines[at]) or [b"x"]
                new = rng.choice(
                    [b"", b"\xc3\xa9", b"a" * 5000, b"*", b"(((", b"{1,999}", rng.choice(words) * 2]
                )
                lines[at] = lines[at].replace(rng.choice(words), new, 1)
            case _:
                lines[at] = damaged(lines[at], rng)
        if not lines:
            lines = [b""]
    return b"\n".join(lines)


def table(case: Path, rng: random.Random) -> Path:
    """A sound project beside a damaged table: the table."""
    (case / "words.txt").write_text("lovely\nsong\n")
    (case / "table.csv").write_text("vendor\nham\nx\n")
    kind = rng.choice(KINDS)
    name = f"train.{kind}"
    column, other = rng.choice(list(TABLE)), rng.choice(["", "", *TYPES])
    written(case / name, kind, column if other else "", other)
    data = (case / name).read_bytes()
    if not other or rng.random() < 0.5:
        data = damaged(data, rng)
    if kind in TEXT_KINDS:
        if rng.random() < 0.15:
            data = data.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")
        if kind != "json" and rng.random() < 0.2:
            (case / name).unlink()
            name, data = f"{name}.gz", damaged(gzip.compress(data), rng)
    (case / name).write_bytes(data)
    text = PROJECT.replace("train.csv", name)
    for role in ("text", "id", "label"):
        if rng.random() < 0.15:
            column = rng.choice([*TABLE, "nowhere"])
            text = re.sub(rf'^{role} = ".*"$', f'{role} = "{column}"', text, flags=re.MULTILINE)
    (case / "unruly.toml").write_text(text)
    return case / name


_SOUND: dict[tuple[str, str, str], bytes] = {}


def written(path: Path, kind: str, column: str = "", other: str = "") -> None:
    """The table in one format; made once, in a fork, for polars must not run here."""
    key = (kind, column, other)
    if key not in _SOUND:
        made = trial(partial(_write, path, kind, column, other), 60)
        if made.outcome != OK:
            raise SystemExit(f"no table to begin with ({key}): {made.words}")
        _SOUND[key] = path.read_bytes()
    path.write_bytes(_SOUND[key])


def _write(path: Path, kind: str, column: str, other: str) -> str:
    """`column` has the type `other`, where one is named."""
    frame = pl.DataFrame(TABLE, strict=False)
    if other:
        frame = frame.with_columns(_of_type(TYPES[other], frame.height).alias(column))
    flat = (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum, pl.Date, pl.Time, pl.Datetime)
    match kind:
        case "csv" | "tsv":
            plain = [n for n, t in frame.schema.items() if t.is_numeric() or t in flat]
            frame.select(plain).write_csv(path, separator="\t" if kind == "tsv" else ",")
        case "jsonl":
            _for_json(frame).write_ndjson(path)
        case "json":
            _for_json(frame).write_json(path)
        case "parquet":
            frame.write_parquet(path)
        case _:
            frame.write_ipc(path)
    return kind


def _for_json(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(
        [
            n
            for n, t in frame.schema.items()
            if t not in (pl.Binary, pl.Int128, pl.Time, pl.Duration)
        ]
    )


def _of_type(dtype: pl.DataType, rows: int) -> pl.Series:
    """Values of a type, one of them missing."""
    values: dict[str, Any] = {
        "Binary": b"\xff", "Categorical": "ham", "Enum": "spam", "Boolean": True, "List": ["ham", None],
        "Array": [1, 2], "Struct": {"a": "ham"}, "Null": None,
    }  # fmt: skip
    value = values.get(type(dtype).__name__, 1)
    if dtype.is_temporal() or dtype.is_decimal():
        return pl.Series([*[1] * (rows - 1), None]).cast(dtype)
    return pl.Series([*[value] * (rows - 1), None], dtype=dtype)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, put in, taken out and repeated."""
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
    return bytes(changed)
