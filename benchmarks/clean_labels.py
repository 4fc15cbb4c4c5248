"""What 20, 50, 200 and 1,000 clean labels add to the default, beside a classifier trained on them alone.

    python benchmarks/clean_labels.py --data DIR [--datasets youtube,...] [--encoders lsa] [--seeds 5] [--json]
    python benchmarks/clean_labels.py --data DIR --choose      its constants, one data set left out

Test accuracy in percent (F1 of the second class for spouse), mean over seeds; each seed draws its own
labels among the training documents. `change` is against the same seeds without a clean label, with the
standard error of the paired difference over test documents; `hurts` says whether it is below zero by more
than two of them. Gold use:
the n clean labels for training and the class prior, test labels for scoring. No class prior is given.

--choose looks at validation documents, and never at test documents: the most that a clean label may count for
(MOST), and how rare a disagreement with the guessed prior must be to move it (CHANCE), each by itself, chosen by the
mean score over all sizes on the other data sets, and what that gives on the one left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import Cache
from unruly.features.encoder import Features
from unruly.features.spec import encoder_from
from unruly.model.metrics import confusion, f1_scores
from unruly.recipe import clean_labels
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.hand_labels import fit_hand_labels
from unruly.settings import Settings
from unruly.texts.corpus import Corpus
from unruly.training.compute import computing
from unruly.votes.votes import Votes

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse")
RARE = ("spouse",)
SIZES = (20, 50, 200, 1000)
CHOICES = {"MOST": (3.0, 10.0, 30.0), "CHANCE": (0.001, 0.01, 0.1)}
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Documents of one split, encoded."""

    features: Features
    votes: Votes
    gold: Labels


@dataclass(frozen=True)
class Line:
    """One data set with so many clean labels."""

    dataset: str
    encoders: str
    labels: int
    without: float
    default: float
    change: float
    error: float  # standard error of the change
    alone: float  # the classifier trained on the labels alone
    prior: float  # held for the last class, mean
    hurts: bool


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, help="at most so many training documents, at random")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--choose", action="store_true", help="constants by validation documents")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    if args.choose:
        choose(args)
        return
    print("| data | labels | without | default | change | labels alone | hurts |")
    print("|" + "---|" * 7)
    lines: list[Line] = []
    for name in args.datasets.split(","):
        train, test = load(args.data / name, args.encoders, args.most)
        lines += measure(name, args.encoders, train, test, range(args.seeds))
    if args.json:
        print(json.dumps({"lines": [asdict(line) for line in lines]}))


def load(
    folder: Path, encoders: str, most: int | None, judged: str = "test"
) -> tuple[Split, Split]:
    """The training documents and those to judge by, encoded through the cache."""
    corpora = {split: Corpus.from_wrench(folder, split) for split in ("train", judged)}
    cache = Cache()
    encoder = encoder_from(encoders.split("+")).fit(corpora["train"], cache)
    encoder = encoder.blotted(corpora["train"], Votes.from_wrench(folder, "train"), cache)
    splits = []
    for split, corpus in corpora.items():
        assert corpus.gold is not None
        features, votes = encoder.encode(corpus, cache), Votes.from_wrench(folder, split)
        gold = np.asarray(corpus.gold, np.int64)
        if split == "train" and most and most < votes.n:
            rows = np.sort(np.random.default_rng(0).choice(votes.n, most, replace=False))
            features, votes, gold = features.take(rows), votes.take(rows), gold[rows]
        splits.append(Split(features, votes, gold))
    return splits[0], splits[1]


def scored(name: str, predicted: NDArray[np.integer], gold: Labels) -> float:
    """Accuracy, or F1 of a rare second class."""
    if name in RARE:
        return 100 * float(f1_scores(confusion(gold, predicted.astype(np.int64), 2))[1])
    return 100 * float((predicted == gold).mean())


def drawn(train: Split, size: int, seed: int) -> tuple[NDArray[np.intp], Labels]:
    """Documents whose labels are told, and the labels, -1 for all others."""
    rows = np.random.default_rng([seed, 7]).permutation(train.votes.n)[:size]
    clean = np.full(train.votes.n, -1)
    clean[rows] = train.gold[rows]
    return rows, clean


def measure(
    name: str, encoders: str, train: Split, test: Split, seeds: Sequence[int]
) -> list[Line]:
    """All sizes on one data set."""

    def score(predicted: NDArray[np.integer]) -> float:
        return scored(name, predicted, test.gold)

    def fitted(seed: int, clean: Labels | None) -> tuple[NDArray[np.intp], float]:
        recipe = fit_recipe(train.features, train.votes, Settings(seed=seed), clean=clean)
        return recipe.heads(test.features, test.votes).predicted, recipe.prior[-1]

    before = [fitted(seed, None)[0] for seed in seeds]
    plain = np.array([score(answers) for answers in before])
    lines = []
    for size in SIZES:
        mixed, alone, priors, gained = [], [], [], []
        for seed in seeds:
            rows, clean = drawn(train, size, seed)
            answers, prior = fitted(seed, clean)
            mixed.append(score(answers))
            right = (answers == test.gold).astype(np.float64)
            gained.append(right - (before[seed] == test.gold))
            priors.append(prior)
            with computing(Settings()):
                hand = fit_hand_labels(
                    train.features.take(rows), train.gold[rows], train.votes.m, seed
                )
            alone.append(score(hand.log_proba(test.features).argmax(axis=1)))
        change = np.array(mixed) - plain
        error = 100 * float(np.mean(gained, axis=0).std() / len(test.gold) ** 0.5)
        line = Line(
            dataset=name,
            encoders=encoders,
            labels=size,
            without=float(plain.mean()),
            default=float(np.mean(mixed)),
            change=float(change.mean()),
            error=error,
            alone=float(np.mean(alone)),
            prior=float(np.mean(priors)),
            hurts=bool(change.mean() < -2 * error),
        )
        lines.append(line)
        print(
            f"| {name} | {size:,} | {line.without:.1f} | {line.default:.1f} | {line.change:+.1f} ± {error:.1f} "
            f"| {line.alone:.1f} | {'yes' if line.hurts else 'no'} |",
            flush=True,
        )
    return lines


def choose(args: argparse.Namespace) -> None:
    """Each constant by itself, chosen on the validation documents of the other data sets."""
    names = args.datasets.split(",")
    print("| constant | left out | chosen by the others | there | as it is | at its own best |")
    print("|" + "---|" * 6)
    tables: dict[str, list[list[float]]] = {constant: [] for constant in CHOICES}
    for name in names:
        train, valid = load(args.data / name, args.encoders, args.most, "valid")
        for constant, values in CHOICES.items():
            row = []
            for value in values:
                with patch.object(clean_labels, constant, value):
                    row.append(mean_score(name, train, valid, range(args.seeds)))
            tables[constant].append(row)
    for constant, values in CHOICES.items():
        table, usual = np.array(tables[constant]), values.index(getattr(clean_labels, constant))
        for out, name in enumerate(names):
            best = int(np.delete(table, out, axis=0).mean(axis=0).argmax())
            print(
                f"| {constant} | {name} | {values[best]:g} | {table[out, best]:.1f} "
                f"| {table[out, usual]:.1f} | {table[out].max():.1f} |"
            )


def mean_score(name: str, train: Split, valid: Split, seeds: Sequence[int]) -> float:
    """Over all sizes and seeds, on the validation documents."""
    scores = []
    for size in SIZES:
        for seed in seeds:
            clean = drawn(train, size, seed)[1]
            recipe = fit_recipe(train.features, train.votes, Settings(seed=seed), clean=clean)
            answers = recipe.heads(valid.features, valid.votes).predicted
            scores.append(scored(name, answers, valid.gold))
    return float(np.mean(scores))


if __name__ == "__main__":
    main()
