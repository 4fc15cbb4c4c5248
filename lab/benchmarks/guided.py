"""Coverage-guided fuzzing of the readers: inputs that reach new lines of unruly are changed further; nothing may escape.

    pip install -c constraints.txt './lab[fuzz]'
    python lab/benchmarks/guided.py [--seconds 600] [--readers toml,table,model] [--seed 1] [--keep FOLDER] [--json]

Three readers share the time: project files (`Project.read` and a vote), tables (CSV, TSV, JSON Lines and JSON through
`Corpus.read` and `Corpus.scan`) and model files (`unruly.load`; one member of a sound model is replaced, and the
checksum put right). A refusal in one line is well. Any other exception, a message of several lines, or more than
SECONDS of the processor is a finding, counted once for each place in the code. Inputs that failed are kept with --keep.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 5.0
MEGABYTES = 3000
READERS = ("toml", "table", "model")
Reader = Callable[[bytes], None]


def main() -> None:
    """Each reader in a process of its own: the fuzzer ends its process when the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--seconds", type=int, default=600, help="of the processor, for all readers together"
    )
    parser.add_argument("--readers", default=",".join(READERS), help="which, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that fail")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        _fuzz(args.readers, args.inside, args.seconds, args.seed)
        return
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit(
            "coverage-guided fuzzing needs atheris: pip install -c constraints.txt './lab[fuzz]'"
        )
    names = args.readers.split(",")
    runs = findings = 0
    for name in names:
        done, found = _reader_alone(name, args.seconds // len(names), args.seed, args.keep)
        runs, findings = runs + done, findings + found
    print(f"{runs:,} inputs, {findings} findings")
    if args.json:
        print(json.dumps({"inputs": runs, "findings": findings}))
    raise SystemExit(bool(findings))


def _reader_alone(name: str, seconds: int, seed: int, keep: Path | None) -> tuple[int, int]:
    """Inputs tried on one reader, and places in the code that failed."""
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        command = [sys.executable, __file__, "--readers", name, "--inside", folder]
        command += ["--seconds", str(seconds), "--seed", str(seed)]
        environment = {**os.environ, "UNRULY_CACHE": str(room / "cache"), "POLARS_MAX_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        said = done.stderr.splitlines()
        ended = room / "inputs"
        seen = re.findall(r"cov: (\d+)", done.stderr)
        findings = sorted((room / "findings").glob("*.txt"))
        reached = f"{int(seen[-1]):,} places reached, {int(seen[0]):,} at first" if seen else ""
        inputs = int(ended.read_text()) if ended.exists() else 0
        print(f"{name}: {inputs:,} inputs, {reached}", flush=True)
        for finding in findings:
            print(f"FAILED {name}: {finding.read_text()}", flush=True)
        if not inputs:
            print(f"FAILED {name}: the fuzzer ended early: {said[-3:]}", flush=True)
        if keep is not None:
            keep.mkdir(exist_ok=True)
            for path in (room / "findings").iterdir():
                shutil.move(path, keep / f"{name}-{path.name}")
        return inputs, len(findings) + (not inputs)


# --- Inside the fuzzer's process ---------------------------------------------------------------------


def _fuzz(name: str, room: Path, seconds: int, seed: int) -> None:
    atheris: Any = importlib.import_module("atheris")
    (room / "findings").mkdir()
    (room / "seeds").mkdir()
    with atheris.instrument_imports(include=["unruly", "tomllib"]):
        _import_all()
    read, seeds = _PREPARE[name](room)
    for number, data in enumerate(seeds):
        (room / "seeds" / str(number)).write_bytes(data)
    options = [f"-seed={seed}", "-max_len=20000", "-timeout=60", f"-rss_limit_mb={MEGABYTES}"]
    tried = _until(seconds, _watched(read, room / "findings"), room / "inputs")
    atheris.Setup([sys.argv[0], *options, str(room / "seeds")], tried)
    atheris.Fuzz()


def _import_all() -> None:
    """Every module of the readers, for what is imported later is not instrumented."""
    import unruly

    for module in pkgutil.walk_packages(unruly.__path__, "unruly."):
        if not module.name.startswith(("unruly.__main__", "unruly.cli", "unruly.studio")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)


def _until(seconds: float, read: Reader, ended: Path) -> Reader:
    """A reader that ends its process after so many seconds of it, with the count of inputs in a file."""
    last = time.process_time() + seconds
    inputs = 0

    def counted(data: bytes) -> None:
        nonlocal inputs
        read(data)
        inputs += 1
        if time.process_time() > last:
            ended.write_text(str(inputs))
            os._exit(0)

    return counted


def _watched(read: Reader, findings: Path) -> Reader:
    """A reader whose failures are written down, once for each place, and do not stop it."""
    from unruly.errors import UnrulyError

    def watched(data: bytes) -> None:
        begin = time.process_time()
        fault = None
        try:
            read(data)
        except UnrulyError as error:
            if "\n" in str(error):
                fault = f"more than one line: {str(error)!r}"
        except BaseException as error:  # a panic of polars is no Exception
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            fault = f"{type(error).__name__} at {place}: {str(error)[:200]}"
        if (took := time.process_time() - begin) > SECONDS:
            fault = fault or f"slow: {took:.0f} seconds"
        if fault:
            _write(findings, fault, data)

    return watched


def _write(findings: Path, fault: str, data: bytes) -> None:
    name = re.sub(r"\W+", "-", fault.partition(": ")[0])[:80]
    if not (findings / f"{name}.txt").exists():
        (findings / f"{name}.txt").write_text(fault)
        (findings / f"{name}.bin").write_bytes(data)


def _toml(room: Path) -> tuple[Reader, list[bytes]]:
    import unruly
    from _damage import PROJECT

    (room / "words.txt").write_text("lovely\nsong\n")
    (room / "table.csv").write_text("vendor\nham\nx\n")
    rows = "text,key,label,vendor,number\nsubscribe now,a,ham,x,1\ncheck it out,b,spam,ham,2\n"
    (room / "train.csv").write_text(rows)

    def read(data: bytes) -> None:
        (room / "unruly.toml").write_bytes(data)
        project = unruly.Project.read(room)
        project.sources.vote(project.corpus("train"))

    head = PROJECT.partition("[[source]]")[0]
    sources = [head + "[[source]]" + part for part in PROJECT.split("[[source]]")[1:]]
    return read, [text.encode() for text in (PROJECT, head, *sources)]


def _table(room: Path) -> tuple[Reader, list[bytes]]:
    """The first byte chooses the ending, what is done with bad rows, and the columns."""
    import unruly
    from _damage import TEXT_KINDS, written

    def read(data: bytes) -> None:
        if not data:
            return
        how, kind = data[0], TEXT_KINDS[data[0] % 4]
        path = room / f"x.{kind}"
        path.write_bytes(data[1:])
        bad = ("keep", "skip", "error")[how // 4 % 3]
        label = {"label": "label", "classes": ["ham", "spam"]} if how & 64 else {}
        options: dict[str, Any] = {
            "on_bad_row": bad,
            "text": "text" if how & 128 else None,
            **label,
        }
        repr(unruly.Corpus.read(path, **options))
        for _ in unruly.Corpus.scan(path, batch_rows=2, **options).batches():
            pass

    seeds = []
    for number, kind in enumerate(TEXT_KINDS):
        written(room / f"sound.{kind}", kind)
        data = (room / f"sound.{kind}").read_bytes()
        seeds += [bytes([number + more]) + data for more in (0, 4 + 128, 8 + 64 + 128)]
    return read, seeds


def _model(room: Path) -> tuple[Reader, list[bytes]]:
    """The first byte chooses a member, the rest takes its place."""
    import unruly
    from hostile import TEXTS, in_order, packed, sound

    members = sound(room)
    names = sorted(members)
    path = room / "fuzzed.unruly"

    def read(data: bytes) -> None:
        if not data:
            return
        changed = {**members, names[data[0] % len(names)]: data[1:]}
        path.write_bytes(packed(in_order(changed)))
        with contextlib.redirect_stdout(None):
            unruly.load(path).predict(TEXTS[:1])

    small = [n for n, name in enumerate(names) if len(members[name]) < 20_000]
    return read, [bytes([n]) + members[names[n]] for n in small]


_PREPARE: dict[str, Callable[[Path], tuple[Reader, list[bytes]]]] = {
    "toml": _toml,
    "table": _table,
    "model": _model,
}

if __name__ == "__main__":
    main()
