"""What 20, 50, 200 and 1,000 clean labels add to the default, beside a classifier trained on them alone.

    python lab/benchmarks/clean_labels.py --data DIR [--datasets youtube,...] [--encoders lsa] [--seeds 5] [--json]

Test accuracy in percent (F1 of the second class for spouse), mean over seeds; each seed draws its own
labels among the training documents. `change` is against the same seeds without a clean label, with the
standard error of the paired difference over test documents; `hurts` says whether it is below zero by more
than two of them. The classifier trained on the labels alone is BERT-MLP, on the same features. Gold use:
the n clean labels for training and the class prior, test labels for scoring. No class prior is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from _options import wrench_parser
from unruly.learner import Gold
from unruly.model.evaluation import confusion, f1_scores
from unruly.texts.columns import UNKNOWN
from unruly_lab.bench.datasets import Dataset, folder_of
from unruly_lab.peers.bert_mlp import supervised
from unruly_lab.peers.default import Default
from unruly_lab.peers.systems import System, TrainingData

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse")
RARE = ("spouse",)
SIZES = (20, 50, 200, 1000)
Answers = NDArray[np.intp]


@dataclass(frozen=True)
class Line:
    """One data set with so many clean labels; scores in percent."""

    dataset: str
    encoders: str
    labels: int
    without: float
    default: float
    change: float
    error: float  # standard error of the change
    alone: float  # the classifier trained on the labels alone
    hurts: bool


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, help="at most so many training documents, at random")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    print("| data | labels | without | default | change | labels alone | hurts |")
    print("|" + "---|" * 7)
    lines: list[Line] = []
    for name in args.datasets.split(","):
        dataset = folder_of(args.data, name).load(args.encoders, args.most)
        lines += measure(dataset, args.encoders, range(args.seeds))
    if args.json:
        print(json.dumps({"lines": [asdict(line) for line in lines]}))


def measure(dataset: Dataset, encoders: str, seeds: Sequence[int]) -> list[Line]:
    """All sizes on one data set."""
    before = [answers(Default(), dataset, seed, None) for seed in seeds]
    return [_line(dataset, encoders, size, seeds, before) for size in SIZES]


def _line(
    dataset: Dataset, encoders: str, size: int, seeds: Sequence[int], before: list[Answers]
) -> Line:
    test = dataset.test.gold
    clean = [drawn(dataset.train.gold, size, seed) for seed in seeds]
    mixed = [answers(Default(), dataset, s, c) for s, c in zip(seeds, clean, strict=True)]
    alone = [answers(supervised(), dataset, s, c) for s, c in zip(seeds, clean, strict=True)]
    gained = [
        (now == test).astype(np.float64) - (then == test)
        for now, then in zip(mixed, before, strict=True)
    ]
    means = [float(np.mean([score(dataset, a) for a in some])) for some in (before, mixed, alone)]
    error = 100 * float(np.mean(gained, axis=0).std() / len(test) ** 0.5)
    change = means[1] - means[0]
    line = Line(
        dataset=dataset.name,
        encoders=encoders,
        labels=size,
        without=means[0],
        default=means[1],
        change=change,
        error=error,
        alone=means[2],
        hurts=bool(change < -2 * error),
    )
    print(
        f"| {line.dataset} | {size:,} | {line.without:.1f} | {line.default:.1f} | {change:+.1f} ± {error:.1f} "
        f"| {line.alone:.1f} | {'yes' if line.hurts else 'no'} |",
        flush=True,
    )
    return line


def answers(system: System, dataset: Dataset, seed: int, clean: Gold | None) -> Answers:
    """(n,): the classes of the test documents."""
    fitted = system.fit(TrainingData(dataset.train.documents, seed, clean=clean))
    return np.asarray(fitted.predict_proba(dataset.test.documents).argmax(axis=1))


def drawn(gold: Gold, size: int, seed: int) -> Gold:
    """(n,): the true labels of `size` random documents, -1 for all others."""
    rows = np.random.default_rng([seed, 7]).permutation(len(gold))[:size]
    clean = np.full(len(gold), UNKNOWN, np.int64)
    clean[rows] = gold[rows]
    return clean


def score(dataset: Dataset, predicted: Answers) -> float:
    """Accuracy, or F1 of a rare second class, in percent."""
    if dataset.name in RARE:
        return 100 * float(f1_scores(confusion(dataset.test.gold, predicted, 2))[1])
    return 100 * float((predicted == dataset.test.gold).mean())


if __name__ == "__main__":
    main()
