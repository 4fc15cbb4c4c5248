"""Which planted bugs the tests catch: each mutant of lab/mutants is one small error, put in and tested.

    python lab/benchmarks/mutants.py [ROOM ...] [--only WORDS] [--generated 40] [--seed 0] [--json]

A room's mutants are in lab/mutants/ROOM.toml: a name, a file, and the texts to be replaced. Source and
tests are copied to a temporary folder; each mutant is put into the copy, and the tests run until one fails:
the examples in the file's own docstrings, the test file that mirrors it, then the room's tests (or those that
the mutant names, where the room's take long). A mutant that no test notices survives, and is printed. Before
that, the tests must pass on the unchanged copy; a mutant whose text is no longer in the file is an error. With
--generated, so many mutants are drawn at random from all that the operators of `_generated.py` make of the
room's files, in place of the listed ones. Some of those change no result (a buffer size, say), so their score
is a lower bound.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import _generated

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "lab" / "mutants"
LIBRARIES = (
    "numpy",
    "polars",
    "scipy.sparse",
    "scipy.optimize",
    "sklearn",
    "hypothesis",
    "pytest",
    "torch",
)
PARTS = ("src", "tests", "lab/src", "lab/tests")  # what is copied
# A run that takes longer has been broken by its mutant. On a busy machine the clock tells little.
SECONDS = 600  # of processor time
CLOCK = 60  # minutes


@dataclass(frozen=True)
class Mutant:
    """One planted bug."""

    name: str
    file: str  # below the room's source
    edits: tuple[tuple[str, str], ...]  # what stands there once, and what it becomes
    tests: tuple[str, ...]  # that must catch it

    def applied(self, text: str) -> str:
        """The file with the bug in it."""
        for old, new in self.edits:
            if text.count(old) != 1:
                raise SystemExit(
                    f"{self.name}: the text {old!r} stands {text.count(old)} times in {self.file}, not once"
                )
            text = text.replace(old, new)
        return text


@dataclass(frozen=True)
class Room:
    """The mutants of one room, and the tests that must catch them."""

    name: str
    source: str  # the folder that its files are named from
    tests: tuple[str, ...]
    elsewhere: dict[str, list[str]]  # files whose tests stand in another room, and those tests
    mutants: tuple[Mutant, ...]

    @classmethod
    def read(cls, path: Path) -> Room:
        """From its TOML file."""
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        tests = tuple(table["tests"])
        mutants = tuple(
            Mutant(
                entry["name"],
                entry["file"],
                tuple((old, new) for old, new in entry["edits"]),
                tuple(entry.get("tests", tests)),
            )
            for entry in table["mutant"]
        )
        elsewhere = table.get("elsewhere", {})
        return cls(path.stem, table.get("source", "src/unruly"), tests, elsewhere, mutants)

    def generated(self, number: int, seed: int) -> tuple[Mutant, ...]:
        """So many mutants, drawn at random from all that can be made of the room's files."""
        below = ROOT / self.source
        sources = {
            str(path.relative_to(below)): path.read_text(encoding="utf-8")
            for path in sorted((below / self.name).rglob("*.py"))
        }
        places = [
            (file, place, words)
            for file, source in sources.items()
            for place, words in enumerate(_generated.places(source))
        ]
        drawn = random.Random(seed).sample(places, min(number, len(places)))
        return tuple(
            Mutant(
                f"{file}, {words}",
                file,
                ((sources[file], _generated.planted(sources[file], place)),),
                (*self.elsewhere.get(file, ()), *self.tests),
            )
            for file, place, words in sorted(drawn)
        )


def main() -> None:
    """Run the mutants and print the score of each room."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    known = sorted(path.stem for path in MUTANTS.glob("*.toml"))
    parser.add_argument("rooms", nargs="*", default=known, help=f"of {', '.join(known)}; all")
    parser.add_argument("--only", help="mutants whose name holds these words")
    parser.add_argument(
        "--generated", type=int, metavar="N", help="draw so many instead of the list"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line"
    )
    args = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ[name] = "1"  # before any library is loaded
    found: dict[str, Any] = {}
    for name in args.rooms:
        room = Room.read(MUTANTS / f"{name}.toml")
        every = room.generated(args.generated, args.seed) if args.generated else room.mutants
        mutants = [m for m in every if not args.only or args.only in m.name]
        survivors = [mutant.name for mutant in survived(room, mutants)]
        killed = len(mutants) - len(survivors)
        print(f"{name}: {killed} of {len(mutants)} killed ({killed / max(len(mutants), 1):.0%})")
        found[name] = {"mutants": len(mutants), "killed": killed, "survivors": survivors}
    if args.json:
        print(json.dumps(found))


def survived(room: Room, mutants: list[Mutant]) -> list[Mutant]:
    """The mutants that no test of the room notices."""
    alive = []
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for part in PARTS:
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        if not passes(copy, room.tests):
            log = (copy / "pytest.log").read_text(encoding="utf-8")
            raise SystemExit(
                f"{log}\n{room.name}: without any mutant the tests fail, or take more than {SECONDS} "
                f"seconds of processor time or {CLOCK} minutes by the clock"
            )
        for mutant in mutants:
            path = copy / room.source / mutant.file
            whole = path.read_text(encoding="utf-8")
            path.write_text(mutant.applied(whole), encoding="utf-8")
            caught = not passes(copy, (str(path), *mirror(copy, mutant), *mutant.tests))
            path.write_text(whole, encoding="utf-8")
            print(f"  {'killed' if caught else 'SURVIVED':8}  {mutant.name}", flush=True)
            if not caught:
                alive.append(mutant)
    return alive


def mirror(copy: Path, mutant: Mutant) -> tuple[str, ...]:
    """The test file that mirrors the mutant's own: asked first, it mostly spares the rest."""
    file = Path(mutant.file)
    own = Path("tests") / file.parent / f"test_{file.name}"
    return (str(own),) if (copy / own).is_file() else ()


def passes(folder: Path, tests: tuple[str, ...]) -> bool:
    """Whether all of these tests pass on the copy, in a fork that has the libraries loaded already."""
    for library in LIBRARIES:
        importlib.import_module(library)
    child = os.fork()
    if child == 0:
        _run(folder, tests)
    end = time.monotonic() + 60 * CLOCK
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(folder: Path, tests: tuple[str, ...]) -> NoReturn:
    """In the fork: the tests, with the copy's source before the installed one."""
    paths = [str(folder / "src"), str(folder / "lab" / "src"), str(folder)]
    sys.path[:0] = paths
    os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    log = os.open(folder / "pytest.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    import pytest

    code = 3
    try:
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
