"""Damaged project files and tables through the commands: a traceback, a panic, exit code 70 or a long wait is a failure.

    python lab/benchmarks/fuzz.py [--projects 5000] [--tables 5000] [--seed 0] [--keep FOLDER] [--json]

Project files with every kind of rule are mutated: bytes, lines, values and keys changed, repeated or left out.
Tables with every kind of column are written as CSV, TSV, JSON Lines, Parquet and Arrow, gzipped and in other
encodings, and damaged. Each goes through `check`, `vote`, `predict` and the Python readers in a process of its
own. Exit codes 0, 1 and 2 with at most one line of error are well. Files that fail are kept with --keep.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import io
import json
import os
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

import unruly
from _trial import FAILED, OK, trial
from unruly.cli.main import run
from unruly.errors import UnrulyError
from unruly.project.starter import make_starter

SECONDS = 5.0  # of the processor
PATIENCE = 60.0
KINDS = ("csv", "tsv", "jsonl", "parquet", "arrow")
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


def main() -> None:
    """Mutate, run, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=5000)
    parser.add_argument("--tables", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for the files that fail")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        _prepare(room)
        for what, number, files in (
            ("projects", args.projects, _project_file),
            ("tables", args.tables, _table),
        ):
            for at in range(number):
                rng = random.Random(f"{args.seed} {what} {at}")
                fault, outcome = _tried(room, files, rng)
                counts[f"{what} {outcome}"] += 1
                if fault:
                    failures += 1
                    print(f"FAILED {what} {at}: {fault}", flush=True)
                    if args.keep:
                        shutil.copytree(
                            room / "case", args.keep / f"{what}-{at}", dirs_exist_ok=True
                        )
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"{args.projects} projects and {args.tables} tables, {failures} failures")
    if args.json:
        print(json.dumps({"projects": args.projects, "tables": args.tables, "failures": failures}))
    raise SystemExit(bool(failures))


def _prepare(room: Path) -> None:
    """A model to predict with, and all libraries loaded once; polars works in forks only."""
    os.environ.update(UNRULY_CACHE=str(room / "cache"), POLARS_MAX_THREADS="1", HF_HUB_OFFLINE="1")
    made = trial(partial(_fit, room), 120)
    if made.outcome != OK:
        raise SystemExit(f"no model to begin with: {made.words}")
    names = (
        "cli.check",
        "cli.vote",
        "cli.predict",
        "cli.documents",
        "model.predictions",
        "features.stack",
    )
    for library in (*(f"unruly.{name}" for name in names), "scipy.sparse.linalg", "fastexcel"):
        with contextlib.suppress(ImportError):
            importlib.import_module(library)


def _fit(room: Path) -> str:
    project = unruly.Project.read(make_starter(room / "spam"))
    corpus = project.corpus("train")
    model = unruly.WeakClassifier(encoder="lsa", cache=False)
    model.fit(corpus, project.sources.vote(corpus)).save(room / "model.unruly")
    return "fitted"


def _tried(
    room: Path, files: Callable[[Path, random.Random], Path], rng: random.Random
) -> tuple[str | None, str]:
    """What went wrong with one case, if anything did, and how it ended."""
    case = room / "case"
    shutil.rmtree(case, ignore_errors=True)
    case.mkdir()
    data = files(case, rng)
    found = trial(partial(_commands, room, case, data, random.Random(rng.random())), PATIENCE, 4000)
    if found.outcome == FAILED:
        return found.words, FAILED
    if found.seconds > SECONDS:
        return f"{found.seconds:.1f} seconds", FAILED
    return None, found.words


def _commands(room: Path, case: Path, data: Path, rng: random.Random) -> str:
    """One case through the readers and the commands; their exit codes."""
    os.chdir(case)
    try:
        unruly.Corpus.read(data, text="text", on_bad_row=rng.choice(["keep", "skip", "error"]))
    except UnrulyError as error:
        if "\n" in str(error):
            raise RuntimeError(f"more than one line: {error}") from None
    out = f"out.{rng.choice(['csv', 'tsv', 'jsonl', 'parquet'])}"
    bad = rng.choice([(), ("--on-bad-row", "skip"), ("--on-bad-row", "error")])
    codes = []
    for command in (
        ("check", "."),
        ("vote", ".", "-o", f"votes.{rng.choice(['csv', 'parquet', 'jsonl'])}"),
        ("predict", str(room / "model.unruly"), str(data), "-o", out, *bad),
    ):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = run(command)
        lines = said.getvalue().splitlines()
        errors = [line for line in lines if re.match(r"error|unexpected|Traceback|thread '", line)]
        assert code in (0, 1, 2), f"{command}: exit {code}: {lines[-1:]}"
        assert len(errors) <= 1, f"{command}: {len(errors)} lines of error: {errors}"
        assert code != 2 or len(errors) == 1, f"{command}: exit 2 without a line of error"
        assert not errors or "bug in unruly" not in errors[0], f"{command}: {errors[0]}"
        codes.append(str(code))
    return "exit " + "/".join(codes)


# --- Cases -------------------------------------------------------------------------------------------


def _project_file(case: Path, rng: random.Random) -> Path:
    """A mutated project beside sound data."""
    (case / "words.txt").write_text("lovely\nsong\n")
    (case / "table.csv").write_text("vendor\nham\nx\n")
    _written(case / "train.csv", "csv")
    (case / "unruly.toml").write_bytes(_mutated_text(PROJECT.encode(), rng))
    if rng.random() < 0.1:
        name = rng.choice(["words.txt", "table.csv"])
        (case / name).write_bytes(_damaged((case / name).read_bytes(), rng))
    return case / "train.csv"


def _mutated_text(data: bytes, rng: random.Random) -> bytes:
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
                    b'"' + b"x" * 9000 + b'"',
                )
                lines[at] = re.sub(
                    rb"= [^,}]+", b"= " + rng.choice(values).replace(b"\\", b""), lines[at], count=1
                )
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
                lines[at] = _damaged(lines[at], rng)
        if not lines:
            lines = [b""]
    return b"\n".join(lines)


def _table(case: Path, rng: random.Random) -> Path:
    """A sound project beside a damaged table."""
    (case / "words.txt").write_text("lovely\nsong\n")
    (case / "table.csv").write_text("vendor\nham\nx\n")
    kind = rng.choice(KINDS)
    name = f"train.{kind}"
    _written(case / name, kind)
    data = _damaged((case / name).read_bytes(), rng)
    if kind in ("csv", "tsv", "jsonl"):
        if rng.random() < 0.15:
            data = data.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")
        if rng.random() < 0.2:
            (case / name).unlink()
            name, data = f"{name}.gz", _damaged(gzip.compress(data), rng)
    (case / name).write_bytes(data)
    text = PROJECT.replace("train.csv", name)
    for role in ("text", "id", "label"):
        if rng.random() < 0.15:
            column = rng.choice([*TABLE, "nowhere"])
            text = re.sub(rf'^{role} = ".*"$', f'{role} = "{column}"', text, flags=re.MULTILINE)
    (case / "unruly.toml").write_text(text)
    return case / name


_SOUND: dict[str, bytes] = {}


def _written(path: Path, kind: str) -> None:
    """The table in one format; made once, in a fork, for polars must not run here."""
    if kind not in _SOUND:
        made = trial(partial(_write, path, kind), 60)
        if made.outcome != OK:
            raise SystemExit(f"no table to begin with: {made.words}")
        _SOUND[kind] = path.read_bytes()
    path.write_bytes(_SOUND[kind])


def _write(path: Path, kind: str) -> str:
    frame = pl.DataFrame(TABLE, strict=False)
    match kind:
        case "csv" | "tsv":
            frame.drop("list", "struct", "bytes").write_csv(
                path, separator="\t" if kind == "tsv" else ","
            )
        case "jsonl":
            frame.drop("bytes").write_ndjson(path)
        case "parquet":
            frame.write_parquet(path)
        case _:
            frame.write_ipc(path)
    return kind


def _damaged(data: bytes, rng: random.Random) -> bytes:
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


if __name__ == "__main__":
    main()
