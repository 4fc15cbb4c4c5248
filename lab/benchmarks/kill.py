"""`kill -9` at random moments: outputs are absent or whole, caches usable, and the next run gives the same bytes.

    python lab/benchmarks/kill.py [--kills 200] [--scenes vote,fit,predict,llm,label,studio] [--seed 0] [--texts 1500] [--json]

Each scene runs once undisturbed, which gives what to expect and the time it takes. Then the scenes are started in
turns and killed at a random moment; commands now with an empty cache, now with the one that killed runs left.
After a kill, files that commands write must be absent or as expected; answers that a person was told of must be on
disk; and the next run must end well, give the bytes of an undisturbed one, ask a language model for no more than what
was in flight, and leave no temporary folder behind.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from _scenes import Asks, Labels, Scene, Studio, Writes, finished, start
from unruly.project.new import make_starter

SCENES = ("vote", "fit", "predict", "llm", "label", "studio")


def main() -> None:
    """Run, kill, look, run again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--scenes", default=",".join(SCENES), help="which, with commas between")
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
        scenes = [_scene(room, name) for name in args.scenes.split(",")]
        for scene in scenes:
            scene.undisturbed()
        for number in range(args.kills):
            scene = scenes[number % len(scenes)]
            if rng.random() < 0.5:
                shutil.rmtree(room / "cache", ignore_errors=True)
            hit = scene.killed(rng.uniform(0, scene.seconds))
            counts[f"{scene.name} {'killed' if hit else 'done before'}"] += 1
            if (number + 1) % 10 == 0:
                print(f"{number + 1} of {args.kills} kills", file=sys.stderr, flush=True)
            if fault := scene.fault():
                failures.append(fault)
                print(f"FAILED {number} ({scene.name}): {fault}", flush=True)
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
    fit = ("fit", "spam", "-o", "spam.unruly", "--encoder", "lsa", "-q")
    if problem := finished(start(room, fit)):
        raise SystemExit(f"no model to begin with: {problem}")


def _scene(room: Path, name: str) -> Scene:
    match name:
        case "vote":
            arguments: tuple[str, ...] = ("vote", "spam", "-o", "votes.parquet", "-q")
            return Writes(name, room, arguments, "votes.parquet")
        case "fit":
            arguments = ("fit", "spam", "-o", "new.unruly", "--encoder", "lsa", "-q")
            return Writes(name, room, arguments, "new.unruly")
        case "predict":
            arguments = ("predict", "spam.unruly", "spam/comments.csv", "-o", "out.csv", "-q")
            return Writes(name, room, arguments, "out.csv")
        case "llm":
            return Asks(room)
        case "label":
            return Labels(room)
        case "studio":
            return Studio(room)
    raise SystemExit(f"--scenes {name}: there are {', '.join(SCENES)}")


if __name__ == "__main__":
    main()
