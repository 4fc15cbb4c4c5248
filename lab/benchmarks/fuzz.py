"""Damaged project files and tables through the commands: a traceback, a panic, exit code 70 or a long wait is a failure.

    python lab/benchmarks/fuzz.py [--projects 5000] [--tables 5000] [--seed 0] [--keep FOLDER] [--json]

Project files with every kind of rule are mutated: bytes, lines, values and keys changed, repeated or left out.
Tables with every kind of column are written as CSV, TSV, JSON Lines, JSON, Parquet and Arrow, gzipped and in other
encodings, with columns of other types, and damaged. Each goes through `check`, `vote`, `predict` and the Python readers in a process of its
own. Exit codes 0, 1 and 2 with at most one line of error are well. Files that fail are kept with --keep.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import unruly
from _damage import TABLE, project_file, table
from _trial import FAILED, OK, trial
from unruly.cli.main import run
from unruly.errors import UnrulyError
from unruly.project.new import make_starter
from unruly.texts.stream import RowWriter

SECONDS = 5.0  # of the processor
PATIENCE = 60.0


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
            ("projects", args.projects, project_file),
            ("tables", args.tables, table),
        ):
            for at in range(number):
                rng = random.Random(f"{args.seed} {what} {at}")
                fault, outcome = _tried(room, files, rng)
                counts[f"{what} {outcome}"] += 1
                if (at + 1) % 100 == 0:
                    print(f"{at + 1:,} of {number:,} {what}", file=sys.stderr, flush=True)
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
    case = room / "case"
    case.mkdir()
    data = project_file(case, random.Random(0))
    for library in trial(partial(_loaded, room, case, data), 120).words.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(library)


def _loaded(room: Path, case: Path, data: Path) -> str:
    """The modules that one case loads."""
    _commands(room, case, data, random.Random(0))
    return " ".join(sorted(sys.modules))


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
    _readers(data, rng)
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


def _readers(data: Path, rng: random.Random) -> None:
    """A project through `Project.read`; a table through `Corpus.read`, and `Corpus.scan` to a file with a column added."""
    chosen: dict[str, Any] = {"on_bad_row": rng.choice(["keep", "skip", "error"])}
    for role in ("text", "id", "label"):
        if rng.random() < 0.5:
            chosen[role] = rng.choice(list(TABLE))
    if rng.random() < 0.5:
        chosen["classes"] = ["ham", "spam"]
    try:
        if data.is_dir():
            repr(unruly.Project.read(data))
            return
        repr(unruly.Corpus.read(data, **chosen))
        stream = unruly.Corpus.scan(data, batch_rows=rng.choice([1, 2, 100]), **chosen)
        out = Path(f"added.{rng.choice(['csv', 'tsv', 'jsonl', 'parquet'])}")
        RowWriter(stream, out, {"added": pl.UInt32()}).write(
            (batch, batch.corpus.texts.str.len_chars().alias("added").to_frame())
            for batch in stream.batches()
        )
    except UnrulyError as error:
        if "\n" in str(error):
            raise RuntimeError(f"more than one line: {error}") from None


if __name__ == "__main__":
    main()
