"""What training costs: CPU seconds, peak memory and test accuracy on the same features and votes.

    python lab/benchmarks/training.py --data DIR [--encoder minilm] [--authors CHECKOUT] [--json]
    python lab/benchmarks/training.py --scaling [--json]

For each data set, one thread, each contestant in a process of its own:
  paper    best_settings(data set): 500 full-batch epochs, the last one kept; no gold
  quick    QUICK: mini-batches, stopped early by held-out votes; no gold
  default  WeakClassifier() on the same features; no gold
  authors  the training code of the paper's authors, from a checkout of their repository (weakrules/
           Denoise-multi-weak-sources), driven as their own script does: 500 epochs, each followed by a
           test on gold validation labels, which choose the epoch
Times are of training alone: no import, no encoding. Gold is used for scoring, and by the authors' code
as described. Texts are encoded with --encoder; spouse_bert brings its features. --who chooses contestants: 500
epochs take minutes on the larger sets. times_less is against the authors, or else the paper. --scaling trains
on generated data, 1,000 to 1,000,000 documents, 10 to 200 sources, 2 to 50 classes, from a memory-mapped file.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import FeatureCache
from unruly.features.encoder import Block, Features
from unruly.learner import Learner
from unruly.model.weak_classifier import WeakClassifier
from unruly.paper.cotraining import cotrain
from unruly.progress import SILENT
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes
from unruly_lab.bench.datasets import folder_of
from unruly_lab.bench.runs import GIVEN
from unruly_lab.paper_settings import QUICK, best_settings

DATA_SETS = ("spouse_bert", "youtube", "yelp", "spouse", "agnews", "imdb")
Split = tuple[Features, Votes, NDArray[np.int64]]


@dataclass(frozen=True)
class Cost:
    """What one contestant needed and reached."""

    data: str
    contestant: str
    documents: int
    width: int
    cpu_seconds: float
    epochs: int
    peak_mb: float
    accuracy: float  # of the ensemble, on the test documents
    gold: str


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of data sets in WRENCH's layout")
    parser.add_argument("--encoder", default="minilm", help="where a folder has no features")
    parser.add_argument("--authors", type=Path, help="checkout of the authors' repository")
    parser.add_argument("--who", default="paper,quick,default", help="contestants, with commas")
    parser.add_argument("--sets", default=",".join(DATA_SETS), help="data sets, with commas")
    parser.add_argument(
        "--scaling", action="store_true", help="the scaling table on generated data"
    )
    parser.add_argument(
        "--largest", type=int, default=1_000_000, help="most documents for --scaling"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)  # contestant,data set: run in this process
    args = parser.parse_args()
    if args.one:
        print(json.dumps(asdict(_measure(args, *args.one.split(",")))))
        return
    found: dict[str, Any] = {}
    if args.data:
        found["costs"] = _costs(args)
    if args.scaling:
        found["scaling"] = _scaling(args.largest)
    if args.json:
        print(json.dumps(found))


def _costs(args: argparse.Namespace) -> list[dict[str, Any]]:
    contestants = args.who.split(",") + (["authors"] if args.authors else [])
    rows = []
    print(f"{'data':12} {'who':8} {'CPU s':>7} {'epochs':>6} {'MB':>6} {'test':>6}  gold")
    for data in args.sets.split(","):
        done = {}
        for who in contestants:
            child = [sys.executable, __file__, *sys.argv[1:], "--one", f"{who},{data}"]
            out = subprocess.run(child, capture_output=True, text=True, check=True).stdout
            cost = done[who] = Cost(**json.loads(out.splitlines()[-1]))
            print(
                f"{data:12} {who:8} {cost.cpu_seconds:7.2f} {cost.epochs:6} {cost.peak_mb:6.0f} "
                f"{100 * cost.accuracy:6.1f}  {cost.gold}",
                flush=True,
            )
        against = done.get("authors") or done.get("paper")
        ratios = {
            f"times_less_{who}": against.cpu_seconds / cost.cpu_seconds
            for who, cost in done.items()
            if against is not None and cost is not against
        }
        print(f"{'':12} " + ", ".join(f"{name} {value:.1f}" for name, value in ratios.items()))
        rows.append({"data": data, **{who: asdict(cost) for who, cost in done.items()}, **ratios})
    return rows


def _measure(args: argparse.Namespace, who: str, data: str) -> Cost:
    train, valid, test = _splits(args.data, data, args.encoder)
    if who == "authors":
        accuracy, seconds = _authors(args.authors, best_settings(data), train, valid, test)
        epochs, gold = 500, "choice of the epoch"
    else:
        learner, seconds = _ours(who, data, train)
        accuracy = float((learner.heads(test[0], test[1]).predicted == test[2]).mean())
        uses = [f"{used.labels} for {used.use.value}" for used in learner.gold_used]
        epochs, gold = len(learner.history), "; ".join(uses) or "none"
    return Cost(data, who, train[1].n, train[0].width, seconds, epochs, _peak_mb(), accuracy, gold)


def _splits(folder: Path, name: str, encoder: str) -> list[Split]:
    """Training, validation and test documents, all of them."""
    source = folder_of(folder, name)
    dataset = source.load(GIVEN if source.brings_features else encoder, None, FeatureCache())
    assert dataset.valid is not None
    parts = (dataset.train, dataset.valid, dataset.test)
    return [(part.documents.features, part.documents.votes, part.gold) for part in parts]


def _ours(who: str, data: str, train: Split) -> tuple[Learner, float]:
    paper = best_settings(data)
    if who == "default":
        model = WeakClassifier(keep_documents=0)
        start = time.process_time()
        model.fit(train[0], train[1], progress=SILENT)
        return model.fitted.learner, time.process_time() - start
    settings = paper if who == "paper" else replace(QUICK, hidden=paper.hidden)
    start = time.process_time()
    learner = cotrain(train[0], train[1], settings)
    return learner, time.process_time() - start


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _authors(
    checkout: Path, settings: PaperSettings, train: Split, valid: Split, test: Split
) -> tuple[float, float]:
    """Their modules, driven as their script drives them, with the paper's best settings."""
    import torch

    torch.set_num_threads(1)
    sys.path.insert(0, str(checkout))
    model_file: Any = importlib.import_module("core_conditional_attn.Model")
    train_file: Any = importlib.import_module("core_conditional_attn.TrainFunc")
    start = time.process_time()
    torch.manual_seed(0)
    cpu, (features, votes, gold) = torch.device("cpu"), train
    x, lf = torch.from_numpy(features.matrix()), torch.from_numpy(votes.matrix.astype(np.float32))
    count = votes.voted.sum(axis=1)
    labelled, rest = np.flatnonzero(count > settings.p), np.flatnonzero(count <= settings.p)
    major, true = torch.from_numpy(votes.counts().argmax(axis=1)), torch.from_numpy(gold)
    parts = [values[rows] for values in (x, major, lf, true) for rows in (rest, labelled)]
    uncovered = np.flatnonzero(count[rest] == 0)

    def tested(split: Split) -> tuple[Any, ...]:
        matrix = torch.from_numpy(split[1].matrix.astype(np.float32))
        return torch.from_numpy(split[0].matrix()), torch.from_numpy(split[2]), matrix

    model = model_file.AssembleModel(x.shape[1], votes.k, settings.hidden, votes.m)
    adam = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=5e-4)
    zeros = torch.zeros(len(uncovered), votes.m)
    z, labels, best, kept = zeros.clone(), major[labelled].clone(), 0.0, None
    judged = tested(valid)
    for epoch in range(500):
        score, _, labels, z = train_file.train(
            epoch, model, adam, tuple(parts), cpu, uncovered, zeros, z, votes.m, labels,
            settings.c1, 0.1, settings.c3, 50, 0.1,
        )  # fmt: skip
        accuracy = train_file.test(model, judged, score, cpu, votes.m)[0]
        if accuracy >= best:
            best, kept = accuracy, copy.deepcopy(model.state_dict())
    seconds = time.process_time() - start
    model.load_state_dict(kept)
    return float(train_file.test(model, tested(test), score, cpu, votes.m)[0]), seconds


def _scaling(largest: int) -> list[dict[str, Any]]:
    """Mini-batches of 1,024, two epochs, 64 features, 10 sources and 2 classes unless varied."""
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= largest]
    plan = [(n, 10, 2) for n in sizes]
    plan += [(20_000, k, 2) for k in (10, 50, 200)] + [(20_000, 10, m) for m in (2, 10, 50)]
    rows = []
    print(
        f"{'documents':>9} {'sources':>7} {'classes':>7} {'CPU s/epoch':>11} {'us/document':>11} {'MB':>6}"
    )
    for n, k, m in plan:
        code = f"import runpy, sys; sys.argv = ['']; m = runpy.run_path({__file__!r}); m['_scaled']({n}, {k}, {m})"
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        row = json.loads(out.stdout.splitlines()[-1])
        print(
            f"{n:9,} {k:7} {m:7} {row['seconds']:11.2f} {1e6 * row['seconds'] / n:11.1f} {row['peak_mb']:6.0f}",
            flush=True,
        )
        rows.append({"documents": n, "sources": k, "classes": m, **row})
    return rows


def _scaled(n: int, k: int, m: int, width: int = 64, epochs: int = 2) -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, m, n)
    matrix = np.full((n, k), -1, dtype=np.int8)
    for j in range(k):
        voted = rng.random(n) < 0.2
        matrix[voted, j] = np.where(rng.random(n) < 0.75, gold, rng.integers(0, m, n))[voted]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npy"
        values = np.lib.format.open_memmap(path, "w+", np.float32, (n, width))
        centres = rng.normal(size=(m, width)).astype(np.float32)
        for start in range(0, n, 65_536):
            part = gold[start : start + 65_536]
            values[start : start + 65_536] = centres[part] + rng.normal(size=(len(part), width))
        del values
        features = Features((Block("generated", np.load(path, mmap_mode="r")),))
        votes = Votes.from_array(matrix, classes=[str(r) for r in range(m)])
        settings = replace(QUICK, batch_size=1024, epochs=epochs, selection="last")
        begin = time.process_time()
        cotrain(features, votes, settings)
        seconds = (time.process_time() - begin) / epochs
    print(json.dumps({"seconds": seconds, "peak_mb": _peak_mb()}))


if __name__ == "__main__":
    main()
