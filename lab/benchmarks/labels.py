"""What labels by hand are worth when they are drawn as `unruly label` draws them, beside random draws.

    python lab/benchmarks/labels.py --data DIR [--datasets ...] [--encoders lsa] [--most 2000] [--seeds 5]
                                    [--labels 10,20,50,100,200] [--json]

Of each data set at most so many training documents; the model is fitted on them, and the labels are theirs:
    none       no label
    random     n labels, each document alike
    twice      2 n labels, each document alike
    balance    n labels, drawn by `labelling.queue.ask` under the model without labels
    rounds     n labels in three draws of the same kind, each under the model with the labels so far
Balance: half the sum over classes of |share used by the fit - true share|, in points; all four are estimated in the
same way, with the predictions as control variate. Accuracy: in percent, on the test documents. Means over the seeds;
± is the standard error of the mean over seeds of the difference between `balance` and `twice`. Gold labels of training
documents are the labels and the true shares, those of test documents score.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.fit import denoise
from unruly.features.cache import Cache
from unruly.features.encoder import Features
from unruly.features.spec import encoder_from
from unruly.labelling.answers import Labelled, labelled
from unruly.labelling.labels import Answer, LabelFile
from unruly.labelling.queue import ask
from unruly.learner import Learner
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse", "sms", "trec", "yoruba")
ROUNDS = 3
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """Documents with votes and true labels."""

    features: Features
    votes: Votes
    gold: Labels


@dataclass(frozen=True)
class Score:
    """What one fit came to, in points and percent."""

    balance: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Task:
    """A data set, and the model without labels."""

    name: str
    train: Part
    test: Part
    plain: Learner

    def score(self, learner: Learner) -> Score:
        """Balance and accuracy of a fit."""
        used = np.array(next(n for n in learner.notes if hasattr(n, "shares")).shares)
        true = np.bincount(self.train.gold, minlength=len(used)) / len(self.train.gold)
        right = learner.heads(self.test.features, self.test.votes).predicted == self.test.gold
        return Score(50 * float(np.abs(used - true).sum()), 100 * float(right.mean()))

    def fit(self, labels: Labelled) -> Learner:
        """The model with these labels."""
        part = self.train
        return denoise(
            part.features, part.votes, clean=labels.numbers, label_weights=labels.weights
        )

    def drawn(self, n: int, by: str, seed: int, rounds: int = 1) -> Learner:
        """The model after n labels, drawn in so many rounds."""
        part, answers, learner = self.train, tuple[Answer, ...](), self.plain
        ids, classes = part.votes.ids.to_list(), part.votes.classes
        for turn in range(rounds):
            so_far = labelled(LabelFile(Path("labels.csv"), answers), ids, classes)
            size = n * (turn + 1) // rounds - len(answers)
            proba = learner.heads(part.features, part.votes).combined
            asked = ask(part.votes, proba, size, by, answered=so_far.answered, seed=1000 * seed)
            when = f"2026-01-{turn + 1:02}"
            answers += tuple(
                Answer(str(q.id), classes[part.gold[q.row]], when, "", q.why, q.probability)
                for q in asked
            )
            learner = self.fit(labelled(LabelFile(Path("labels.csv"), answers), ids, classes))
        return learner


def tasks(args: argparse.Namespace) -> Iterator[Task]:
    """The data sets, one after the other."""
    for name in args.datasets.split(","):
        folder = args.data / name
        corpora = {split: Corpus.from_wrench(folder, split) for split in ("train", "test")}
        rows = np.sort(np.random.default_rng(1).permutation(len(corpora["train"]))[: args.most])
        train = corpora["train"].take(rows)
        stack = encoder_from(args.encoders.split("+")).fit(train, Cache())
        parts = {}
        for split, corpus in (("train", train), ("test", corpora["test"])):
            votes = Votes.from_wrench(folder, split)
            votes = votes.take(rows) if split == "train" else votes
            assert corpus.gold is not None
            parts[split] = Part(stack.encode(corpus, Cache()), votes, corpus.gold.astype(np.int64))
        plain = denoise(parts["train"].features, parts["train"].votes)
        yield Task(name, parts["train"], parts["test"], plain)


def ways(task: Task, n: int) -> dict[str, Callable[[int], Learner]]:
    """How labels are drawn, by name, from a seed."""
    return {
        "random": lambda seed: task.drawn(n, "random", seed),
        "twice": lambda seed: task.drawn(2 * n, "random", seed),
        "balance": lambda seed: task.drawn(n, "balance", seed),
        "rounds": lambda seed: task.drawn(n, "balance", seed, ROUNDS),
    }


def measure(task: Task, n: int, seeds: int) -> dict[str, Any]:
    """One row of the table."""
    none = task.score(task.plain)
    found = {
        name: [task.score(way(seed)) for seed in range(seeds)]
        for name, way in ways(task, n).items()
    }
    row: dict[str, Any] = {"data": task.name, "labels": n}
    for what in ("balance", "accuracy"):
        row[f"{what}, none"] = getattr(none, what)
        values = {k: np.array([getattr(s, what) for s in v]) for k, v in found.items()}
        row |= {f"{what}, {name}": float(value.mean()) for name, value in values.items()}
        apart = values["balance"] - values["twice"]
        row[f"{what}, ±"] = float(apart.std(ddof=1) / np.sqrt(seeds)) if seeds > 1 else 0.0
    return row


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    cells = [f"{v:.1f}" if isinstance(v, float) else str(v) for v in row.values()]
    return "| " + " | ".join(cells) + " |"


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """The means for each number of labels, and how often twice as many random labels do better."""
    lines = []
    for n in sorted({row["labels"] for row in rows}):
        some = [row for row in rows if row["labels"] == n]
        mean = {k: float(np.mean([row[k] for row in some])) for k in list(some[0])[2:]}
        lines.append(line({"data": "mean", "labels": n, **mean}))
    for what, sign in (("balance", 1), ("accuracy", -1)):
        worse = [
            f"{row['data']} {row['labels']}"
            for row in rows
            if sign * (row[f"{what}, balance"] - row[f"{what}, twice"]) > 2 * row[f"{what}, ±"]
        ]
        lines.append(
            f"{what}: clearly worse than twice as many random labels (two standard errors) in "
            f"{len(worse)} of {len(rows)}: {', '.join(worse) or 'none'}"
        )
    return lines


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=2000, help="training documents, at most")
    parser.add_argument("--seeds", type=int, default=5, help="draws of each kind")
    parser.add_argument("--labels", default="10,20,50,100,200", help="with commas between")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for task in tasks(args):
        for n in map(int, args.labels.split(",")):
            rows.append(measure(task, n, args.seeds))
            if len(rows) == 1:
                print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
            print(line(rows[-1]), flush=True)
    print("\n".join(summary(rows)))
    if args.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
