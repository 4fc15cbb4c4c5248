"""Label models: unruly beside Snorkel's LabelModel, crowd-kit's DawidSkene and a plain NumPy majority vote.

    python lab/benchmarks/labelmodels.py               # all three shapes
    python lab/benchmarks/labelmodels.py --small       # a hundredth of the documents, to see that it runs

Each contestant runs in its own process on the same generated votes, first on a thousand rows to warm
up. CPU seconds are those of fitting and predicting all documents, the best of `--repeat`, with one
thread for everybody (idle threads of a BLAS spin, and would count as work); the input is in the contestant's own format before the clock starts. Memory is the peak of
the whole process, imports included. Accuracy counts a tie of t classes as 1/t right.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.int8]
Soft = NDArray[np.float64]
Run = Callable[[], Soft]
OURS = ("WeightedVote", "OneCoin", "DawidSkene", "MatrixCompletion")
PEERS = ("snorkel LabelModel", "crowd-kit DawidSkene", "NumPy majority vote")


@dataclass(frozen=True)
class Shape:
    """Votes to generate: sources of evenly spaced accuracy, each voting on a fifth of the documents."""

    n: int
    k: int
    m: int
    worst: float
    best: float

    @property
    def name(self) -> str:
        return f"{self.n:,}x{self.k}" + (f", {self.m} classes" if self.m > 2 else "")


SHAPES = (
    Shape(1_000_000, 10, 2, 0.65, 0.95),
    Shape(100_000, 100, 2, 0.6, 0.9),
    Shape(100_000, 70, 6, 0.4, 0.8),
)


@dataclass(frozen=True)
class Result:
    """What one contestant did with one set of votes."""

    cpu_seconds: float
    accuracy: float
    megabytes: float
    megabytes_imported: float  # before any vote was read


@dataclass(frozen=True)
class Contest:
    """All contestants on one set of votes, and how we compare."""

    shape: str
    results: dict[str, Result]
    snorkel_cpu_over_ours: float  # LabelModel / MatrixCompletion
    crowdkit_cpu_over_ours: float  # DawidSkene / DawidSkene
    snorkel_memory_over_ours: float  # LabelModel / the hungriest of ours
    accuracy_over_snorkel: float  # MatrixCompletion - LabelModel
    accuracy_over_crowdkit: float  # DawidSkene - DawidSkene


def ours(name: str, matrix: Matrix, m: int) -> Run:
    """One of our models."""
    import polars as pl

    from unruly.labelmodels.dawid_skene import DawidSkene, OneCoin
    from unruly.labelmodels.label_model import LabelModel
    from unruly.labelmodels.majority_vote import WeightedVote
    from unruly.labelmodels.matrix_completion import MatrixCompletion
    from unruly.votes.votes import Votes

    n, k = matrix.shape
    votes = Votes(
        matrix=matrix,
        sources=tuple(f"source_{j}" for j in range(k)),
        classes=tuple(str(c) for c in range(m)),
        ids=pl.Series("id", range(n), dtype=pl.Int64),
    )
    models: dict[str, Callable[[], LabelModel]] = {
        "WeightedVote": WeightedVote,
        "OneCoin": OneCoin,
        "DawidSkene": DawidSkene,
        "MatrixCompletion": MatrixCompletion,
    }
    return lambda: models[name]().fit(votes).predict_proba(votes)


def snorkel(matrix: Matrix, m: int) -> Run:
    """Snorkel's label model with its default hundred epochs."""
    from snorkel.labeling.model import LabelModel

    wide = matrix.astype(np.int64)

    def run() -> Soft:
        model = LabelModel(cardinality=m, verbose=False)
        model.fit(wide, n_epochs=100, seed=1, progress_bar=False)
        return np.asarray(model.predict_proba(wide))

    return run


def crowdkit(matrix: Matrix, m: int) -> Run:
    """crowd-kit's Dawid-Skene with its default settings; documents without votes are not in its table."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    tasks, workers = np.nonzero(matrix >= 0)
    table = pd.DataFrame({"task": tasks, "worker": workers, "label": matrix[tasks, workers]})

    def run() -> Soft:
        found = DawidSkene(n_iter=100).fit_predict_proba(table)
        soft = np.full((len(matrix), m), 1 / m)
        soft[found.index.to_numpy()[:, None], found.columns.to_numpy()] = found.to_numpy()
        return soft

    return run


def numpy_majority(matrix: Matrix, m: int) -> Run:
    """Count the votes for each class."""
    return lambda: np.stack([(matrix == c).sum(axis=1) for c in range(m)], axis=1).astype(float)


def runner(name: str, matrix: Matrix, m: int) -> Run:
    """The contestant of this name, with its input made ready."""
    match name:
        case "snorkel LabelModel":
            return snorkel(matrix, m)
        case "crowd-kit DawidSkene":
            return crowdkit(matrix, m)
        case "NumPy majority vote":
            return numpy_majority(matrix, m)
        case _:
            return ours(name, matrix, m)


def accuracy(soft: Soft, gold: NDArray[np.int16]) -> float:
    """The share of documents whose likeliest class is right; a tie of t classes counts 1/t."""
    leading = soft >= soft.max(axis=1, keepdims=True) - 1e-9
    return float((leading[np.arange(len(gold)), gold] / leading.sum(axis=1)).mean())


def megabytes() -> float:
    """The peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def contestant(name: str, folder: Path, m: int, repeat: int) -> Result:
    """In the child process: warm up, run, measure memory before scoring."""
    tiny = np.random.default_rng(0).integers(-1, m, size=(1000, 5)).astype(np.int8)
    runner(name, tiny, m)()
    imported = megabytes()
    run = runner(name, np.load(folder / "votes.npy"), m)
    seconds, soft = float("inf"), np.empty((0, m))
    for _ in range(repeat):
        start = time.process_time()
        soft = run()
        seconds = min(seconds, time.process_time() - start)
    peak = megabytes()
    return Result(seconds, accuracy(soft, np.load(folder / "gold.npy")), peak, imported)


def in_child(name: str, folder: Path, m: int, repeat: int) -> Result:
    """Run one contestant in a process of its own."""
    command = [sys.executable, __file__, "--contestant", name, "--folder", str(folder)]
    command += ["--classes", str(m), "--repeat", str(repeat)]
    one = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=one)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def generate(shape: Shape, folder: Path) -> None:
    """Write votes and the planted truth."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, shape.m, shape.n).astype(np.int16)
    votes = np.full((shape.n, shape.k), -1, dtype=np.int8)
    for j, accuracy in enumerate(np.linspace(shape.worst, shape.best, shape.k)):
        wrong = (gold + rng.integers(1, shape.m, shape.n)) % shape.m
        named = np.where(rng.random(shape.n) < accuracy, gold, wrong)
        votes[:, j] = np.where(rng.random(shape.n) < 0.2, named, -1)
    np.save(folder / "votes.npy", votes)
    np.save(folder / "gold.npy", gold)


def contest(shape: Shape, repeat: int) -> Contest:
    """All contestants on one set of votes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(shape, folder)
        results = {who: in_child(who, folder, shape.m, repeat) for who in (*OURS, *PEERS)}
    label_model, crowd = results["snorkel LabelModel"], results["crowd-kit DawidSkene"]
    completion, skene = results["MatrixCompletion"], results["DawidSkene"]
    return Contest(
        shape.name,
        results,
        label_model.cpu_seconds / completion.cpu_seconds,
        crowd.cpu_seconds / skene.cpu_seconds,
        label_model.megabytes / max(results[who].megabytes for who in OURS),
        completion.accuracy - label_model.accuracy,
        skene.accuracy - crowd.accuracy,
    )


def show(done: Contest) -> None:
    print(f"\n{done.shape}")
    print(f"  {'':22}{'CPU s':>8}{'accuracy':>10}{'peak MB':>9}{'imports MB':>12}")
    for who, result in done.results.items():
        print(
            f"  {who:22}{result.cpu_seconds:8.3f}{result.accuracy:10.2%}"
            f"{result.megabytes:9.0f}{result.megabytes_imported:12.0f}"
        )
    print(
        f"  MatrixCompletion: {done.snorkel_cpu_over_ours:.1f} times less CPU than snorkel, "
        f"accuracy {100 * done.accuracy_over_snorkel:+.2f} points; all of ours: "
        f"{done.snorkel_memory_over_ours:.1f} times less memory\n"
        f"  DawidSkene: {done.crowdkit_cpu_over_ours:.1f} times less CPU than crowd-kit, "
        f"accuracy {100 * done.accuracy_over_crowdkit:+.2f} points",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the contests, print the tables; with --json, one object as the last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line"
    )
    parser.add_argument("--small", action="store_true", help="a hundredth of the documents")
    parser.add_argument(
        "--repeat", type=int, default=3, help="runs of each, of which the best counts"
    )
    parser.add_argument("--contestant", choices=(*OURS, *PEERS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--classes", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.contestant:
        print(
            json.dumps(
                asdict(contestant(asked.contestant, asked.folder, asked.classes, asked.repeat))
            )
        )
        return
    done = []
    for shape in SHAPES:
        n = shape.n // 100 if asked.small else shape.n
        done.append(contest(Shape(n, shape.k, shape.m, shape.worst, shape.best), asked.repeat))
        show(done[-1])
    if asked.json:
        print(json.dumps({"contests": [asdict(one) for one in done]}))


if __name__ == "__main__":
    main()
