"""What `WeakClassifier()` gives with no gold label anywhere, on data sets in WRENCH's layout.

    python lab/benchmarks/default.py --data DIR [--datasets youtube,...] [--encoders lsa,minilm,...]
                                 [--static FOLDER] [--seeds 5] [--paper-seeds 1] [--json]
    python lab/benchmarks/default.py --data DIR --ablation      each ingredient left out
    python lab/benchmarks/default.py --data DIR --lodo          constants chosen on the other data sets

Test accuracy in percent (F1 of the second class where --priors names one, as for spouse), mean and
standard deviation over seeds, beside
    MV        majority vote; ties and uncovered documents at random, mean of 20 draws
    MVbal→LR  vote shares, classes re-weighted to equal mass (or to the prior, where one is given),
              softmax regression on each encoder, predictions averaged
    paper     the paper as written, the last epoch (--paper-seeds of them)
    gold      softmax regression on the training documents' true labels: a ceiling, and the only column
              that sees them
Gold labels of the test documents are used for scoring alone. The default uses no gold for training,
tuning, selection or the class prior; a prior is given only where the row says so.
ECE: expected calibration error. `sources`: mean distance between estimated and true accuracy of the
sources, and the share of true ones inside their 95 % interval. `cpu`: seconds of one fit, features
ready. --lodo looks at the gold labels of the validation documents, and of nothing else, to choose.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from unruly.recipe.evidence import Evidence, shares
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.posteriors import WHOLE, Ingredients
from unruly.recipe.recipe import Recipe
from unruly.recipe.softmax_regression import pooled
from unruly.settings import Settings
from unruly.training.compute import computing
from unruly.training.cotraining import cotrain

from unruly.features.cache import Cache
from unruly.features.encoder import Block, Features
from unruly.features.spec import encoder_from
from unruly.model.metrics import calibration_error, confusion, f1_scores
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse")
PRIORS = {"spouse": (0.9, 0.1)}  # given there, for the must figure; and left out, beside it
MUST = {"youtube": 94.0, "imdb": 84.0, "yelp": 88.5, "agnews": 84.0, "spouse": 42.0}
GRID: dict[str, tuple[float, ...]] = {
    "tau": (2.0, 3.0, 4.0, 6.0),
    "rounds": (4, 8, 16),
    "folds": (2, 3, 5),
    "l2": (0.3, 1.0, 3.0),
}
Prior = tuple[float, ...] | None
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Documents of one split, encoded."""

    features: Features
    votes: Votes
    gold: Labels


@dataclass(frozen=True, eq=False)
class Task:
    """One data set under one set of encoders."""

    name: str
    encoders: str
    splits: dict[str, Split]

    def score(self, predicted: NDArray[np.integer], split: str = "test") -> float:
        """Accuracy in percent, or F1 of the second class where it is rare."""
        gold = self.splits[split].gold
        if self.name in PRIORS:
            return 100 * float(f1_scores(confusion(gold, predicted.astype(np.int64), 2))[1])
        return 100 * float((predicted == gold).mean())


@dataclass(frozen=True)
class Line:
    """One row of the table."""

    dataset: str
    encoders: str
    prior: str
    default: float
    deviation: float
    text: float  # the classifier's head alone
    majority: float
    balanced: float
    paper: float | None
    gold: float
    ece: float
    source_error: float
    interval_coverage: float
    interval_width: float
    cpu: float
    held: tuple[float, ...]
    must: float | None
    notes: tuple[str, ...]


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", help="sets with commas between, as in lsa,minilm+lsa")
    parser.add_argument("--static", type=Path, help="a Model2Vec folder: also with static vectors")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--paper-seeds", type=int, default=1, help="0 leaves the paper out")
    parser.add_argument("--ablation", action="store_true", help="each ingredient left out")
    parser.add_argument("--lodo", action="store_true", help="constants, one data set left out")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    names, seeds = args.datasets.split(","), range(args.seeds)
    single = args.ablation or args.lodo
    default = "minilm+lsa" if single else "lsa,minilm,minilm+lsa"
    if args.static and not args.encoders and not single:
        default += ",static+lsa,minilm+lsa+static"
    encoders = (args.encoders or default).split(",")
    if args.lodo:
        judged = ("train", "valid")  # test documents take no part in the choice
        tasks = [load(args.data, n, encoders[0], args.static, judged) for n in names]
        found: object = lodo(tasks, seeds)
    elif args.ablation:
        found = [ablation(load(args.data, n, encoders[0], args.static), seeds) for n in names]
    else:
        found = everything(args.data, names, encoders, args.static, seeds, args.paper_seeds)
    if args.json:
        print(json.dumps(found))


def everything(
    data: Path,
    names: Sequence[str],
    encoders: Sequence[str],
    static: Path | None,
    seeds: Sequence[int],
    paper_seeds: int,
) -> list[dict[str, object]]:
    """The main table, a row as soon as it is known."""
    print(
        "| data | encoders | prior | default | text alone | MV | MVbal→LR | paper | gold | ECE "
        "| sources: error, in interval | cpu | must |"
    )
    print("|" + "---|" * 13)
    lines = []
    for name in names:
        for spec in encoders:
            task = load(data, name, spec, static)
            paper = paper_score(task, range(paper_seeds)) if paper_seeds else None
            for prior in dict.fromkeys((PRIORS.get(name), None)):
                lines.append(measure(task, prior, seeds, paper))
                print(row(lines[-1]), flush=True)
    return [asdict(line) for line in lines]


def load(
    data: Path, name: str, spec: str, static: Path | None, splits: Sequence[str] = ("train", "test")
) -> Task:
    """Read and encode, through the cache on disk."""
    folder = data / name
    parts: list[object] = [
        {"name": "static", "model": str(static)} if part == "static" else part
        for part in spec.split("+")
    ]
    corpora = {split: Corpus.from_wrench(folder, split) for split in splits}
    encoder, cache = encoder_from(parts), Cache()
    fitted = encoder.fit(corpora["train"], cache)

    encoded = {}
    for split, corpus in corpora.items():
        assert corpus.gold is not None
        votes = Votes.from_wrench(folder, split)
        features = fitted.encode(corpus, cache)
        encoded[split] = Split(features, votes, np.asarray(corpus.gold, np.int64))
    return Task(name, spec, encoded)


def measure(task: Task, prior: Prior, seeds: Sequence[int], paper: float | None) -> Line:
    """The default on one task, beside the others."""
    train, test = task.splits["train"], task.splits["test"]
    scores, texts, errors, distances, inside, widths, times = (list[float]() for _ in range(7))
    for seed in seeds:
        start = time.process_time()
        recipe = fit_recipe(train.features, train.votes, Settings(seed=seed), prior=prior)
        times.append(time.process_time() - start)
        heads = recipe.heads(test.features, test.votes)
        scores.append(task.score(heads.predicted))
        texts.append(task.score(heads.classifier.argmax(axis=1)))
        errors.append(calibration_error(test.gold, heads.combined))
        distance, covered, width = against_truth(recipe, train)
        distances.append(distance)
        inside.append(covered)
        widths.append(width)
    balanced, gold = baselines(task, prior)
    return Line(
        dataset=task.name,
        encoders=task.encoders,
        prior="given" if prior else "none",
        default=float(np.mean(scores)),
        deviation=float(np.std(scores)),
        text=float(np.mean(texts)),
        majority=majority(task),
        balanced=balanced,
        paper=paper,
        gold=gold,
        ece=float(np.mean(errors)),
        source_error=float(np.mean(distances)),
        interval_coverage=float(np.mean(inside)),
        interval_width=float(np.mean(widths)),
        cpu=float(np.mean(times)),
        held=recipe.prior,
        must=MUST.get(task.name) if prior or task.name not in PRIORS else None,
        notes=recipe.notes,
    )


def against_truth(recipe: Recipe, train: Split) -> tuple[float, float, float]:
    """Estimated and true accuracy of the sources: mean distance, share inside the interval, its width."""
    votes, gold = train.votes, train.gold
    voted = votes.voted & (gold >= 0)[:, None]
    right = (votes.matrix == gold[:, None]) & voted
    seen = voted.any(axis=0)
    truth = right.sum(axis=0)[seen] / voted.sum(axis=0)[seen]
    estimate, low, high = recipe.accuracy[seen].T
    inside = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    return float(np.abs(estimate - truth).mean()), float(inside.mean()), float((high - low).mean())


def majority(task: Task, draws: int = 20) -> float:
    """Majority vote on the test documents, ties and uncovered documents at random."""
    counts = task.splits["test"].votes.counts()
    rng = np.random.default_rng(0)
    tossed = [(counts + 0.5 * rng.random(counts.shape)).argmax(axis=1) for _ in range(draws)]
    return float(np.mean([task.score(answer) for answer in tossed]))


def baselines(task: Task, prior: Prior) -> tuple[float, float]:
    """MVbal→LR, and the ceiling: the same regressions on vote shares and on true labels."""
    train, test = task.splits["train"], task.splits["test"]
    n, m = train.votes.n, train.votes.m
    evidence = Evidence.of(train.votes, np.full(n, -1))
    balance = np.array(prior or [1 / m] * m)
    voted = shares(evidence, balance) * evidence.covered[:, None]
    tilted = voted * balance / np.maximum(voted.sum(axis=0), 1e-9)
    true = np.eye(m)[train.gold]
    results = []
    with computing(Settings()):
        for target in (tilted, true):
            weight = target.sum(axis=1)
            said = []
            for block, other in zip(train.features.blocks, test.features.blocks, strict=True):
                model = FoldedRegression(block.values, m, np.zeros(n, np.intp), 1, 1 / n)
                model.fit(target / np.maximum(weight, 1e-12)[:, None], weight, 100)
                said.append(model.regression().log_proba(other.values))
            results.append(task.score(pooled(said, train.features.weights).argmax(axis=1)))
    return results[0], results[1]


def paper_score(task: Task, seeds: Sequence[int]) -> float:
    """The paper as written, its last epoch."""
    train, test = task.splits["train"], task.splits["test"]
    scores = []
    for seed in seeds:
        learner = cotrain(train.features, train.votes, replace(Settings.paper(), seed=seed))
        scores.append(task.score(learner.heads(test.features, test.votes).predicted))
    return float(np.mean(scores))


def row(line: Line) -> str:
    """One line of Markdown."""
    paper = "-" if line.paper is None else f"{line.paper:.1f}"
    must = "-" if line.must is None else f"{line.must:g}"
    return (
        f"| {line.dataset} | {line.encoders} | {line.prior} | {line.default:.1f} ± {line.deviation:.1f} "
        f"| {line.text:.1f} | {line.majority:.1f} | {line.balanced:.1f} | {paper} | {line.gold:.1f} "
        f"| {line.ece:.3f} | {line.source_error:.3f}, {line.interval_coverage:.0%} | {line.cpu:.1f} | {must} |"
    )


def concatenated(task: Task) -> Task:
    """The same features as one block."""
    splits = {
        name: replace(split, features=Features((Block("all", split.features.matrix()),)))
        for name, split in task.splits.items()
    }
    return replace(task, splits=splits)


def ablation(task: Task, seeds: Sequence[int]) -> dict[str, object]:
    """The default with each ingredient left out; test scores."""
    plain = Settings()
    variants: dict[str, Callable[[], tuple[Task, Settings, Ingredients]]] = {
        "whole": lambda: (task, plain, WHOLE),
        "no hold on the class balance": lambda: (task, plain, replace(WHOLE, hold=False)),
        "text judges its own data": lambda: (task, plain, replace(WHOLE, out_of_fold=False)),
        "tau 1": lambda: (task, replace(plain, tau=1.0), WHOLE),
        "hard labels": lambda: (task, plain, replace(WHOLE, soft_labels=False)),
        "no redundancy discount": lambda: (task, plain, replace(WHOLE, redundancy=False)),
        "sources not told apart by word": lambda: (task, plain, replace(WHOLE, shades=False)),
        "never turns back": lambda: (task, plain, replace(WHOLE, turn_back=False)),
        "text never lowered": lambda: (task, plain, replace(WHOLE, loudness=False)),
        "all encoders heard alike": lambda: (task, plain, replace(WHOLE, says=False)),
        "no networks": lambda: (task, plain, replace(WHOLE, networks=False)),
        "encoders concatenated": lambda: (concatenated(task), plain, WHOLE),
        "one round": lambda: (task, replace(plain, rounds=1), WHOLE),
    }
    print(f"\n{task.name}, {task.encoders}\n\n| | score | change |\n|---|---|---|")
    scores: dict[str, float] = {}
    for name, make in variants.items():
        where, settings, ingredients = make()
        scores[name] = float(np.mean([run(where, settings, seed, ingredients) for seed in seeds]))
        print(
            f"| {name} | {scores[name]:.1f} | {scores[name] - scores['whole']:+.1f} |", flush=True
        )
    return {"dataset": task.name, "encoders": task.encoders, "scores": scores}


def run(
    task: Task,
    settings: Settings,
    seed: int,
    ingredients: Ingredients = WHOLE,
    split: str = "test",
) -> float:
    """One fit and its score; the prior is given where the task has one."""
    train, asked = task.splits["train"], task.splits[split]
    recipe = fit_recipe(
        train.features,
        train.votes,
        replace(settings, seed=seed),
        prior=PRIORS.get(task.name),
        ingredients=ingredients,
    )
    return task.score(recipe.heads(asked.features, asked.votes).predicted, split)


def lodo(tasks: Sequence[Task], seeds: Sequence[int]) -> list[dict[str, object]]:
    """Each constant by itself: chosen on the validation documents of the other data sets."""
    print(
        "| constant | left out | chosen by the others | there | at the default | at its own best |"
    )
    print("|---|---|---|---|---|---|")
    found: list[dict[str, object]] = []
    for constant, values in GRID.items():
        table = np.array([[_valid(task, constant, v, seeds) for v in values] for task in tasks])
        usual = values.index(getattr(Settings(), constant))
        for out, task in enumerate(tasks):
            others = np.delete(table, out, axis=0).mean(axis=0)
            best = int(others.argmax())
            there, at_default, own = table[out, best], table[out, usual], table[out].max()
            print(
                f"| {constant} | {task.name} | {values[best]:g} | {there:.1f} | {at_default:.1f} | {own:.1f} |",
                flush=True,
            )
            found.append(
                {
                    "constant": constant,
                    "left_out": task.name,
                    "chosen": values[best],
                    "score": float(there),
                    "default": float(at_default),
                    "best": float(own),
                    "grid": dict(zip(map(str, values), table[out].tolist(), strict=True)),
                }
            )
    return found


def _valid(task: Task, constant: str, value: float, seeds: Sequence[int]) -> float:
    """The mean score on the validation documents with one constant changed."""
    whole = isinstance(getattr(Settings(), constant), int)
    settings = Settings.from_plain({constant: int(value) if whole else value})
    return float(np.mean([run(task, settings, seed, split="valid") for seed in seeds]))


if __name__ == "__main__":
    main()
