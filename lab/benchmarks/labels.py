"""What labels by hand are worth when they are drawn as `unruly label` draws them, beside random draws.

    python lab/benchmarks/labels.py --data DIR [--datasets ...] [--encoders lsa] [--most 2000] [--seeds 4]
                                    [--draws 100] [--labels 10,20,50,100,200] [--ways "2 random,balance"] [--json]

Of each data set at most so many training documents; the model is fitted on them, and the labels are theirs. Each
number of labels, n, gives two rows.
Balance: half the sum over classes of |estimated share - true share|, in points; means over the draws.
    counted    n random labels, the share of each class counted
    2 counted  the same with 2 n
    random     n random labels, estimated as `unruly label` does, with the predictions as control variate
    2 random   the same with 2 n
    balance    n labels drawn by `labelling.sampling.ask` under the model without labels, estimated in the same way
Accuracy: in percent, on the test documents, of the model fitted with the labels; means over the seeds. With --ways of
these only, `2 random` and `balance` among them.
    none       no label
    random     n random labels
    2 random   the same with 2 n
    balance    n labels, drawn as above
    rounds     n labels in three such draws, the second and third under the model with the labels so far
    mixed      n / 2 labels drawn as above, then the n / 2 most doubtful documents under the model with these
±: the standard error of the difference between `balance` and `2 random`, used for `2 counted` as well. Gold labels of training documents are the
labels and the true shares, those of test documents score.

With --bound nothing is drawn: how many random labels, estimated with the control variate, one label of the best
possible draw could be worth. The residual of document i is e_i = (1[y_i = c] - q_ic)_c. With strata h (predicted
class x tenth of confidence), shares W_h and the true deviations S_h of e in them, Neyman's allocation has variance
(sum_h W_h S_h)^2 / n, random labels have Var(e) / n; `bound` is the ratio. `draw` is the same ratio for `labelling.sampling`
without its order (each stratum gets its sum of s), `flat` for strata in proportion to their size.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _options import wrench_parser
from unruly.denoising.fit import denoise
from unruly.features.cache import FeatureCache
from unruly.features.encoder import Features
from unruly.features.registry import encoder_from
from unruly.labelling.answers import Labelled, labelled
from unruly.labelling.estimates import estimate_balance
from unruly.labelling.label_file import Answer, LabelFile
from unruly.labelling.sampling import ask
from unruly.labelling.sampling import sizes as inclusion_sizes
from unruly.learner import Learner
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

WAYS = ("none", "random", "2 random", "balance", "rounds", "mixed")
SETS = ("youtube", "imdb", "yelp", "agnews", "spouse", "sms", "trec", "yoruba")
ROUNDS = 3
Labels = NDArray[np.int64]
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Part:
    """Documents with votes and true labels."""

    features: Features
    votes: Votes
    gold: Labels


@dataclass(frozen=True, eq=False)
class Task:
    """A data set, and the model without labels."""

    name: str
    train: Part
    test: Part
    plain: Learner
    proba: NDArray[np.float32]  # (n, m): its predictions for the training documents

    def accuracy(self, learner: Learner) -> float:
        """In percent."""
        right = learner.heads(self.test.features, self.test.votes).predicted == self.test.gold
        return 100 * float(right.mean())

    def shares_off(self, shares: Sequence[float]) -> float:
        """In points."""
        true = np.bincount(self.train.gold, minlength=len(shares)) / len(self.train.gold)
        return 50 * float(np.abs(np.asarray(shares) - true).sum())

    def balance(self, n: int, by: str, seed: int) -> tuple[float, float]:
        """How far n labels are off, as estimated and as counted."""
        part, m = self.train, self.train.votes.m
        numbers, weights = np.full(part.votes.n, UNKNOWN), np.zeros(part.votes.n)
        for question in ask(part.votes, self.proba, n, by, seed=seed):
            numbers[question.row] = part.gold[question.row]
            weights[question.row] = 1 / (question.probability or 1.0)
        known = numbers[numbers != UNKNOWN]
        labels = Labelled(numbers, weights, numbers != UNKNOWN, ())
        found = estimate_balance(labels, self.proba, part.votes.classes)
        assert found is not None
        counted = np.bincount(known, minlength=m) / len(known)
        return self.shares_off(found.shares), self.shares_off(counted.tolist())

    def fit(self, labels: Labelled) -> Learner:
        """The model with these labels."""
        part = self.train
        return denoise(
            part.features, part.votes, clean=labels.numbers, label_weights=labels.weights
        )

    def drawn(self, n: int, by: Sequence[str], seed: int) -> Learner:
        """The model after n labels, drawn in as many rounds of equal size."""
        part, answers, learner = self.train, tuple[Answer, ...](), self.plain
        ids, classes = part.votes.ids.to_list(), part.votes.classes
        for turn, kind in enumerate(by):
            so_far = labelled(LabelFile(Path("labels.csv"), answers), ids, classes)
            size = n * (turn + 1) // len(by) - len(answers)
            proba = learner.heads(part.features, part.votes).combined
            asked = ask(part.votes, proba, size, kind, answered=so_far.answered, seed=1000 * seed)
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
        stack = encoder_from(args.encoders.split("+")).fit(train, FeatureCache())
        parts = {}
        for split, corpus in (("train", train), ("test", corpora["test"])):
            votes = Votes.from_wrench(folder, split)
            votes = votes.take(rows) if split == "train" else votes
            assert corpus.gold is not None
            parts[split] = Part(
                stack.encode(corpus, FeatureCache()), votes, corpus.gold.astype(np.int64)
            )
        plain = denoise(parts["train"].features, parts["train"].votes)
        proba = plain.heads(parts["train"].features, parts["train"].votes).combined
        yield Task(name, parts["train"], parts["test"], plain, proba)


def measure_balance(task: Task, n: int, draws: int) -> Row:
    """How far off the class shares are."""
    once = np.array([task.balance(n, "random", seed) for seed in range(draws)])
    twice = np.array([task.balance(2 * n, "random", seed) for seed in range(draws)])
    ours = np.array([task.balance(n, "balance", seed) for seed in range(draws)])
    found = {
        "counted": once[:, 1],
        "2 counted": twice[:, 1],
        "random": once[:, 0],
        "2 random": twice[:, 0],
        "balance": ours[:, 0],
    }
    return row_of(task, n, found)


def measure_accuracy(task: Task, n: int, seeds: int, wanted: Sequence[str]) -> Row:
    """How often the fitted model is right."""
    ways: dict[str, Callable[[int], Learner]] = {
        "none": lambda _: task.plain,
        "random": lambda seed: task.drawn(n, ["random"], seed),
        "2 random": lambda seed: task.drawn(2 * n, ["random"], seed),
        "balance": lambda seed: task.drawn(n, ["balance"], seed),
        "rounds": lambda seed: task.drawn(n, ["balance"] * ROUNDS, seed),
        "mixed": lambda seed: task.drawn(n, ["balance", "doubt"], seed),
    }
    return row_of(
        task,
        n,
        {k: np.array([task.accuracy(ways[k](s)) for s in range(seeds)]) for k in wanted},
    )


def measure_bound(task: Task) -> Row:
    """What one label of the best draw is worth, in random ones that are estimated alike."""
    q = np.asarray(task.proba, np.float64)
    residual = np.eye(q.shape[1])[task.train.gold] - q  # (n, m)
    confidence = q.max(axis=1)
    tenth = np.searchsorted(np.quantile(confidence, np.arange(1, 10) / 10), confidence)
    stratum = q.argmax(axis=1) * 10 + tenth
    size = inclusion_sizes(q)
    parts = [np.flatnonzero(stratum == h) for h in np.unique(stratum)]
    share = np.array([len(rows) / len(q) for rows in parts])
    within = np.array([_spread(residual[rows]) for rows in parts])
    drawn = np.array([size[rows].sum() for rows in parts]) / size.sum()
    alone = _spread(residual)
    return {
        "data": task.name,
        "documents": len(q),
        "flat": float(alone / (share @ within)),
        "draw": float(alone / (share**2 * within / drawn).sum()),
        "bound": float(alone / (share @ np.sqrt(within)) ** 2),
    }


def _spread(residual: NDArray[np.float64]) -> float:
    """The variance of rows, all classes together."""
    return float(residual.var(axis=0).sum())


def row_of(task: Task, n: int, found: Mapping[str, NDArray[np.float64]]) -> Row:
    """Means, and the standard error of the difference that matters."""
    apart = found["balance"] - found["2 random"]
    error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
    means = {name: float(values.mean()) for name, values in found.items()}
    return {"data": task.name, "labels": n, **means, "±": error}


def line(row: Row) -> str:
    """One row of the table."""
    cells = [f"{v:.1f}" if isinstance(v, float) else str(v) for v in row.values()]
    return "| " + " | ".join(cells) + " |"


def table(what: str, rows: Sequence[Row], better: int) -> list[str]:
    """All rows, the means for each number of labels, and where twice as many random labels do clearly better."""
    lines = [f"{what}", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += [line(row) for row in rows]
    for n in sorted({row["labels"] for row in rows}):
        some = [row for row in rows if row["labels"] == n]
        mean = {k: float(np.mean([row[k] for row in some])) for k in list(some[0])[2:]}
        lines.append(line({"data": "mean", "labels": n, **mean}))
    names = [name for name in list(rows[0])[2:-1] if name.startswith("2 ")]
    for name in names:
        worse = [r for r in rows if better * (r[name] - r["balance"]) > 2 * r["±"]]
        sets = ", ".join(f"{r['data']} {r['labels']}" for r in worse) or "none"
        lines.append(
            f"{name} is better than balance by more than two standard errors in {len(worse)} of "
            f"{len(rows)}: {sets}"
        )
    return lines


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=2000, help="training documents, at most")
    parser.add_argument("--seeds", type=int, default=4, help="fits of each kind")
    parser.add_argument(
        "--draws", type=int, default=100, help="for the balance, which needs no fit"
    )
    parser.add_argument("--labels", default="10,20,50,100,200", help="with commas between")
    parser.add_argument("--ways", default=",".join(WAYS), help="with commas between")
    parser.add_argument("--bound", action="store_true", help="what the best draw could be worth")
    args = parser.parse_args()
    if args.bound:
        bounds = [measure_bound(task) for task in tasks(args)]
        print("\n".join([" ".join(bounds[0]), *map(line, bounds)]))
        return
    sizes = [int(size) for size in args.labels.split(",")]
    balance: list[Row] = []
    accuracy: list[Row] = []
    for task in tasks(args):
        balance += [measure_balance(task, n, args.draws) for n in sizes]
        accuracy += [measure_accuracy(task, n, args.seeds, args.ways.split(",")) for n in sizes]
        print(f"{task.name} done", flush=True)
    print("\n".join(table("Balance, points off", balance, better=-1)))
    print("\n".join(table("Accuracy, percent", accuracy, better=1)))
    if args.json:
        print(json.dumps({"balance": balance, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
