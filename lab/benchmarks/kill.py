"""`kill -9` at random moments: outputs are absent or whole, caches usable, and the next run gives the same bytes.

    python lab/benchmarks/kill.py [--kills 200] [--seed 0] [--texts 1500] [--json]

`vote`, `fit` and `predict` each run once undisturbed, which gives the bytes to expect and the time it takes. Then
one of them is started again and again, now with an empty cache, now with the one that the killed runs
left, and killed at a random moment. After each kill the output must be absent or equal to what is expected; then
the command runs to its end, must give the expected bytes, and must leave no temporary folder behind.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from unruly.project.starter import make_starter


@dataclass(frozen=True)
class Command:
    """One command, what it writes, the bytes to expect and how long it takes."""

    name: str
    arguments: tuple[str, ...]
    output: str
    expected: bytes = b""
    seconds: float = 0.0


COMMANDS = (
    Command("vote", ("vote", "spam", "-o", "votes.parquet"), "votes.parquet"),
    Command("fit", ("fit", "spam", "-o", "new.unruly", "--encoder", "lsa"), "new.unruly"),
    Command("predict", ("predict", "spam.unruly", "spam/comments.csv", "-o", "out.csv"), "out.csv"),
)


def main() -> None:
    """Run, kill, look, run again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--texts", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    counts: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        _project(room, args.texts, rng)
        commands = [_undisturbed(room, command) for command in COMMANDS]
        for number in range(args.kills):
            command = commands[number % len(commands)]
            if rng.random() < 0.5:
                shutil.rmtree(room / "cache", ignore_errors=True)
            counts[_killed(room, command, rng.uniform(0, command.seconds))] += 1
            if fault := _fault(room, command):
                failures.append(fault)
                print(f"FAILED {number} ({command.name}): {fault}", flush=True)
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    print(f"{args.kills} kills, {len(failures)} failures")
    if args.json:
        print(json.dumps({"kills": args.kills, "failures": len(failures)}))
    raise SystemExit(bool(failures))


def _project(room: Path, texts: int, rng: random.Random) -> None:
    """The starter project with more texts, and a model of it."""
    folder = make_starter(room / "spam")
    path = folder / "comments.csv"
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    at = header.index("comment")
    for number in range(len(rows), texts):
        row = list(rng.choice(rows))
        row[at] = f"{row[at]} {number} {rng.choice(rows)[at]}"
        rows.append(row)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows[:texts]])
    _run(room, ("fit", "spam", "-o", "spam.unruly", "--encoder", "lsa"))


def _start(room: Path, arguments: tuple[str, ...]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "UNRULY_CACHE": str(room / "cache"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "unruly", *arguments, "-q"],
        cwd=room,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _run(room: Path, arguments: tuple[str, ...]) -> float:
    """To the end; how many seconds it took."""
    start = time.perf_counter()
    process = _start(room, arguments)
    _, said = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit {process.returncode}: {said.decode()}")
    return time.perf_counter() - start


def _undisturbed(room: Path, command: Command) -> Command:
    shutil.rmtree(room / "cache", ignore_errors=True)
    seconds = _run(room, command.arguments)
    expected = (room / command.output).read_bytes()
    return Command(command.name, command.arguments, command.output, expected, seconds)


def _killed(room: Path, command: Command, after: float) -> str:
    """Start it without its output, kill it; whether it was done before that."""
    (room / command.output).unlink(missing_ok=True)
    process = _start(room, command.arguments)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.stderr is not None
    process.stderr.close()
    return f"{command.name} {'killed' if process.returncode < 0 else 'done before'}"


def _fault(room: Path, command: Command) -> str | None:
    """What is not as it should be after a kill, and after the run that follows it."""
    target = room / command.output
    if target.exists() and target.read_bytes() != command.expected:
        return "a half-written or other output"
    process = _start(room, command.arguments)
    _, said = process.communicate()
    if process.returncode:
        return f"the next run ends with {process.returncode}: {said.decode()[-300:]}"
    if target.read_bytes() != command.expected:
        return "the next run gives other bytes"
    left = [path.name for path in room.rglob("*unruly-*")] + [
        path.name for path in (room / "cache").rglob("part-*")
    ]
    return f"left behind: {left[:3]}" if left else None


if __name__ == "__main__":
    main()
