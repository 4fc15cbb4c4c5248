"""Why Neural-only and BERT-MLP differ here though they are one in the paper: one change at a time.

    python lab/benchmarks/neural_only.py --data DIR [--datasets spouse,youtube] [--encoder minilm] [--rows 2000]
                                         [--seeds 3] [--json]

Both are one hidden layer on frozen features, taught majority votes. The first row is the ablation with the
paper's settings (500 full-batch epochs, Adam at 0.02, features as they come, documents with more than p
votes); each row after it changes one more thing, until the last but one has all of BERT-MLP's settings; the
last is BERT-MLP itself (ties drawn, not shared). Test accuracy in per cent with the last epoch and with the
one that gold validation labels choose, the mean over seeds; `kept` is that epoch, and `one class` the share
of test documents that then get the same answer. Gold chooses the epoch and scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from _options import wrench_parser
from unruly.features.cache import FeatureCache
from unruly.settings import PaperSettings
from unruly_lab.bench.datasets import Dataset, folder_of
from unruly_lab.bench.paper_figures import known
from unruly_lab.bench.runs import GIVEN
from unruly_lab.paper_settings import best_settings
from unruly_lab.peers.bert_mlp import FittedMlp, Mlp, majority
from unruly_lab.peers.paper import FittedPaper, PapersMethod
from unruly_lab.peers.systems import TrainingData


@dataclass(frozen=True)
class Step:
    """One row: a mean over seeds."""

    change: str
    last: float  # per cent
    gold: float
    kept: float  # epoch
    one_class: float  # per cent


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, "spouse,youtube")
    parser.add_argument("--encoder", default="minilm", help="where a folder has no features")
    parser.add_argument("--rows", type=int, default=2000, help="training documents at most")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print("| data | change | last epoch | by gold | kept | one class |")
    print("|---|---|---|---|---|---|")
    found: dict[str, list[Step]] = {}
    for name in args.datasets.split(","):
        folder = folder_of(args.data, name)
        encoder = GIVEN if folder.brings_features else args.encoder
        dataset = folder.load(encoder, args.rows, FeatureCache())
        found[name] = []
        for change, system in systems(name, dataset.train.documents.votes.n):
            step = measured(change, system, dataset, args.seeds)
            found[name].append(step)
            print(
                f"| {name} | {step.change} | {step.last:.1f} | {step.gold:.1f} | {step.kept:.0f} | "
                f"{step.one_class:.0f} % |",
                flush=True,
            )
    if args.json:
        print(json.dumps({name: [vars(step) for step in steps] for name, steps in found.items()}))


def systems(name: str, n: int) -> Iterator[tuple[str, PapersMethod | None]]:
    """Neural-only, and ever more of BERT-MLP's settings; None is BERT-MLP."""
    mlp = Mlp()
    paper = known(name)
    settings = best_settings(paper) if paper else PaperSettings()
    settings = replace(settings, ablation="neural-only")
    yield "Neural-only", PapersMethod(settings)
    changes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("all documents with a vote (p = 0)", {"p": 0}),
        ("features centred and scaled", {"standardise": True}),
        ("learning rate 0.001, weight decay", {"learning_rate": 0.001, "weight_decay": 0.001}),
        (f"batches of {mlp.batch_size}", {"batch_size": mlp.batch_size, "epochs": mlp.passes(n)}),
    )
    for change, values in changes:
        settings = replace(settings, **values)
        yield f"+ {change}", PapersMethod(settings)
    yield "BERT-MLP", None


def measured(change: str, system: PapersMethod | None, dataset: Dataset, seeds: int) -> Step:
    """One row of the table."""
    test, valid = dataset.test, dataset.valid
    assert valid is not None
    rows = []
    for seed in range(seeds):
        data = TrainingData(dataset.train.documents, seed)
        judged = replace(data, valid=(valid.documents, valid.gold))
        fits = [(system or majority()).fit(one) for one in (data, judged)]
        last, gold = (f.predict_proba(test.documents).argmax(axis=1) for f in fits)
        rows.append(
            [
                100 * float((last == test.gold).mean()),
                100 * float((gold == test.gold).mean()),
                kept(fits[1]),
                100 * float(np.bincount(gold).max() / len(gold)),
            ]
        )
    return Step(change, *np.mean(rows, axis=0).tolist())


def kept(fitted: FittedPaper | FittedMlp) -> int:
    """The epoch that was kept."""
    if isinstance(fitted, FittedMlp):
        return fitted.kept_epoch
    return next(epoch.number for epoch in fitted.learner.history if epoch.kept)


if __name__ == "__main__":
    main()
