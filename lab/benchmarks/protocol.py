"""The paper's three outputs by which epoch is kept: by gold validation labels (its protocol), and without.

    python lab/benchmarks/protocol.py --data DIR [--datasets youtube,...] [--encoder minilm] [--rows N] [--seeds 5]
                                      [--attention voters] [--json]

For each data set and seed, `best_settings(data set)` is trained, and an epoch is kept in three ways:
    last       the last of 500 epochs; no gold
    by votes   by held-out votes, patience 50; no gold
    by gold    by accuracy on the gold validation labels, as in the paper: the same training as `last`
Test accuracy in percent of the denoiser, the classifier and both together, mean and standard deviation over
seeds; t tied classes count 1/t, which is what the denoiser gets on documents without a vote. Gold labels of the test documents score and do nothing else. With --rows, at most so many training
and validation documents are drawn at random, the same for all seeds; all test documents count. A data set
with features of its own uses those.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from _options import wrench_parser
from unruly.features.cache import FeatureCache
from unruly.paper.cotraining import Epochs, cotrain
from unruly.paper.inference import CoTrained
from unruly.paper.training_set import prepare
from unruly.settings import ATTENTIONS, PaperSettings
from unruly.texts.columns import UNKNOWN
from unruly_lab.bench.datasets import Dataset, Split, folder_of
from unruly_lab.bench.runs import GIVEN
from unruly_lab.paper_settings import best_settings

SETS = "youtube,imdb,yelp,agnews,spouse,spouse_bert"
WAYS = ("last", "by votes", "by gold")
OUTPUTS = ("denoiser", "classifier", "together")


@dataclass(frozen=True)
class Scores:
    """Test accuracy in percent, and the epoch that was kept."""

    denoiser: float
    classifier: float
    together: float
    kept: int


def main() -> None:
    """Measure and print."""
    parser = wrench_parser(__doc__, SETS)
    parser.add_argument("--encoder", default="minilm", help="where a folder has no features")
    parser.add_argument("--rows", type=int, help="most training documents; absent: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=500, help="most epochs; the paper has 500")
    parser.add_argument("--attention", choices=ATTENTIONS, default="all", help="of Equation 1")
    args = parser.parse_args()
    print("| data, documents | epoch kept | denoiser | classifier | together | epoch |")
    print("|" + "---|" * 6)
    found: dict[str, dict[str, list[Scores]]] = {}
    for name in args.datasets.split(","):
        folder = folder_of(args.data, name)
        encoder = GIVEN if folder.brings_features else args.encoder
        dataset = folder.load(encoder, args.rows, FeatureCache())
        settings = best_settings(name)
        settings = replace(settings, epochs=args.epochs, attention=args.attention)
        runs = [trained(dataset, settings, seed) for seed in range(args.seeds)]
        found[name] = {way: [run[way] for run in runs] for way in WAYS}
        for way in WAYS:
            print(line(dataset, way, found[name][way]), flush=True)
    if args.json:
        plain = {
            name: {way: [asdict(scores) for scores in runs] for way, runs in ways.items()}
            for name, ways in found.items()
        }
        print(json.dumps(plain))


def line(dataset: Dataset, way: str, runs: list[Scores]) -> str:
    """One row of the table."""
    values = np.array([[getattr(run, name) for name in OUTPUTS] for run in runs])
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    cells = [f"{m:.1f} ± {d:.1f}" for m, d in zip(mean, deviation, strict=True)]
    title = f"{dataset.name}, {dataset.sizes[0]:,}" if way == WAYS[0] else ""
    return f"| {title} | {way} | {' | '.join(cells)} | {np.mean([run.kept for run in runs]):.0f} |"


def trained(dataset: Dataset, settings: PaperSettings, seed: int) -> dict[str, Scores]:
    """One seed, the epoch kept in each of the three ways."""
    seen = dataset.train.documents
    by_votes = replace(settings, selection="votes", patience=50)
    learner = cotrain(seen.features, seen.votes, by_votes, seed=seed)
    assert not learner.gold_used
    kept = next(epoch.number for epoch in learner.history if epoch.kept)
    last, by_gold = last_and_gold(dataset, settings, seed)
    return dict(zip(WAYS, (last, scored(learner, dataset.test, kept), by_gold), strict=True))


def last_and_gold(dataset: Dataset, settings: PaperSettings, seed: int) -> tuple[Scores, Scores]:
    """One training, judged by validation labels after each epoch; of equal epochs the earliest is kept."""
    seen, valid = dataset.train.documents, dataset.valid
    if valid is None:
        raise SystemExit(f"{dataset.name}: no valid.json, so gold cannot choose the epoch")
    nothing = np.full(seen.n, UNKNOWN, np.int64)
    data = prepare(
        seen.features,
        seen.votes,
        settings,
        hidden=np.zeros(seen.n, np.bool_),
        clean=nothing,
        weights=None,
    )
    best, by_gold = -1.0, None
    with threadpool_limits(1, user_api="blas"):
        run = Epochs(data, seen.votes, settings, seed)
        for t in range(1, settings.epochs + 1):
            run.epoch(t)
            learner = run.learner()
            judged = learner.heads(valid.documents.features, valid.documents.votes).predicted
            right = float((judged == valid.gold).mean())
            if right > best:
                best, by_gold = right, scored(learner, dataset.test, t)
        last = scored(run.learner(), dataset.test, settings.epochs)
    assert by_gold is not None
    return last, by_gold


def scored(learner: CoTrained, test: Split, kept: int) -> Scores:
    """Accuracy of the three outputs on the test documents."""
    heads = learner.heads(test.documents.features, test.documents.votes)
    outputs = (heads.denoiser, heads.classifier, heads.combined)
    right = [100 * accuracy(output.astype(np.float64), test.gold) for output in outputs]
    return Scores(right[0], right[1], right[2], kept)


def accuracy(proba: NDArray[np.float64], gold: NDArray[np.int64]) -> float:
    """The share of right answers; one of t tied classes counts 1/t, so the order of classes does not matter."""
    top = proba >= proba.max(axis=1, keepdims=True) - 1e-6  # (n, m)
    return float((top[np.arange(len(gold)), gold] / top.sum(axis=1)).mean())


if __name__ == "__main__":
    main()
