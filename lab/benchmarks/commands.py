"""What commands cost as they are typed: CPU seconds of `fit`, and of one text by `predict` and `explain`; where they go.

    python lab/benchmarks/commands.py [--documents 3000] [--encoders lsa,auto] [--repeats 3] [--json]

Generated support tickets (`tickets.py`) and eleven keyword rules, as a project. Each command runs in a process of its
own with one thread and bytecode on disk, `fit` with an empty cache; the least of the repeats counts, in seconds of the
processor, for the machine may be busy. Then the same fit inside one process, each part by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from tickets import CLASSES, RULES, tickets
from unruly.denoising.fit import denoise
from unruly.features.registry import encoder_from
from unruly.project.project import Project
from unruly.settings import Settings

TEXT = "hello, the parcel is late, please help"


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--encoders", default="lsa,auto", help="with commas between")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        _project(room, args.documents)
        for encoder in args.encoders.split(","):
            rows[encoder] = _commands(room, encoder, args.repeats) | _parts(room, encoder)
            print(encoder + ": " + ", ".join(f"{k} {v:.2f}" for k, v in rows[encoder].items()))
    if args.json:
        print(json.dumps(rows))


def _project(room: Path, documents: int) -> None:
    folder = room / "tickets"
    folder.mkdir()
    pl.DataFrame({"text": tickets(documents, 0).texts}).write_csv(folder / "tickets.csv")
    (room / "one.csv").write_text(f'text\n"{TEXT}"\n')
    sources = [
        f'[[source]]\nname = "{name}"\nrule = [{{ label = "{CLASSES[label]}", keywords = {json.dumps(words.split())} }}]\n'
        for name, label, words in RULES
    ]
    head = (
        f'[task]\nclasses = {json.dumps(CLASSES)}\n[data]\ntrain = "tickets.csv"\ntext = "text"\n'
    )
    (folder / "unruly.toml").write_text(head + "".join(sources))


def _commands(room: Path, encoder: str, repeats: int) -> dict[str, float]:
    """The least CPU seconds of each command."""
    commands = {
        "fit": ("fit", "tickets", "-o", "m.unruly", "--encoder", encoder, "-q"),
        "predict": ("predict", "m.unruly", "one.csv", "-o", "out.csv", "-q"),
        "explain": ("explain", "m.unruly", TEXT),
    }
    found: dict[str, float] = {}
    for name, arguments in commands.items():
        times = []
        for _ in range(repeats + 1):  # the first one writes bytecode
            if name == "fit":
                shutil.rmtree(room / "cache", ignore_errors=True)
            times.append(_cpu(room, arguments))
        found[name] = min(times)
    return found


def _cpu(room: Path, arguments: tuple[str, ...]) -> float:
    """CPU seconds of one command, its children included."""
    environment = {
        **os.environ,
        "UNRULY_CACHE": str(room / "cache"),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(room / "bytecode"),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "unruly", *arguments],
        cwd=room,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{arguments}: exit {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _parts(room: Path, encoder: str) -> dict[str, float]:
    """CPU seconds of each part of a fit: reading, voting, encoding, denoising. The rest is imports and the file."""
    found: dict[str, float] = {}
    last = time.process_time()

    def lap(name: str) -> None:
        nonlocal last
        now = time.process_time()
        found[f"of it {name}"], last = now - last, now

    project = Project.read(room / "tickets")
    corpus = project.corpus("train")
    lap("reading")
    votes = project.sources.vote(corpus)
    lap("voting")
    stack = encoder_from([encoder], room).fit(corpus)
    features = stack.encode(corpus)
    lap("encoding")
    denoise(features, votes, Settings())
    lap("denoising")
    return found


if __name__ == "__main__":
    main()
