"""What `WeakClassifier()` learns on data sets in WRENCH's layout, by what is known of the class balance.

    python lab/benchmarks/default.py --data DIR [--datasets youtube,...] [--encoders lsa,minilm+lsa]
                                     [--seeds 5] [--draws 10] [--most N] [--json]

Test accuracy in percent, macro-F1 after the comma (F1 of the second class where it is rare: spouse, sms). Means over
seeds, standard deviation of the accuracy (or that F1) in brackets.
    MV          majority vote, ties shared out, documents without votes to the commonest class
    MVbal→LR    scikit-learn: LogisticRegression(class_weight="balanced") on the majority votes
    Snorkel→LR  matrix completion (`unruly.MatrixCompletion`, Snorkel's label model), then the same regression
    nothing     the default with nothing stated and no label
    rough       shares stated roughly: each class's odds off by a factor of up to two, so many random ways
    20 labels   drawn by `labelling.sampling` under the model with nothing stated, so many draws
    stated      even shares; 9:1 for spouse; the true ones rounded to 5 % for sms, trec and yoruba; not as exact
    gold        scikit-learn's regression on the true labels of all training documents: a ceiling
Gold labels of test documents score and do nothing else. Those of training documents are what the rows "rough",
"stated", "20 labels" and "gold" say, and nothing under "nothing". The default's constants were chosen with gold of
these sets in view (lab/LOG.md).
A last table has, with nothing stated, with 20 labels (one draw) and with the true shares stated as exact: the calibration
error on test documents; the mean distance between estimated and true accuracies of the sources in points, and the share
of true ones inside their 95 % interval. And CPU seconds of a fit, features ready.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from _options import wrench_parser
from balance import (
    Answers,
    Case,
    answers,
    balanced_regression,
    majority_shares,
    perturbed,
    stated,
    true_accuracies,
    with_labels,
)
from unruly.denoising.denoised import DenoisedModel
from unruly.denoising.fit import denoise
from unruly.features.cache import FeatureCache
from unruly.features.registry import encoder_from
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.model.evaluation import calibration_error, confusion, f1_scores
from unruly.settings import Settings
from unruly.statistics import sample_rows
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse", "sms", "trec", "yoruba")
STATED = {"spouse": (0.9, 0.1)}
RARE = ("spouse", "sms")  # F1 of the second class instead of accuracy
EVEN = ("youtube", "imdb", "yelp", "agnews")  # others: the true shares, rounded to 5 %
COLUMNS = ("MV", "MVbal→LR", "Snorkel→LR", "nothing", "rough", "20 labels", "stated", "gold")


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="sets, with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="of folds and draws")
    parser.add_argument("--draws", type=int, default=10, help="of rough shares and of labels")
    parser.add_argument("--most", type=int, default=1_000_000, help="training documents, at most")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(header(COLUMNS))
    for encoders in args.encoders.split(","):
        for name in args.datasets.split(","):
            train, test = splits(args.data / name, encoders, args.most)
            rows.append(measure(train, test, encoders, args.seeds, args.draws))
            print(line(rows[-1]), flush=True)
    print_trust(rows)
    if args.json:
        print(json.dumps(rows))


def print_trust(rows: Sequence[dict[str, Any]]) -> None:
    """The last table."""
    print("\n| data | encoders | calibration error | sources off by | inside | CPU s |")
    print("|" + "---|" * 6)
    for row in rows:
        trust = [", ".join(values) for values in zip(*map(_trusted, row["trust"]), strict=True)]
        cells = [row["data"], row["encoders"], *trust, f"{row['cpu']:.1f}"]
        print("| " + " | ".join(cells) + " |")


def splits(folder: Path, encoders: str, most: int) -> tuple[Case, Case]:
    """Training and test documents of a data set, encoded."""
    corpus = Corpus.from_wrench(folder, "train")
    rows = sample_rows(len(corpus), most)
    corpus = corpus.take(rows)
    stack = encoder_from(encoders.split("+")).fit(corpus, FeatureCache())
    made = []
    for split, documents in (("train", corpus), ("test", Corpus.from_wrench(folder, "test"))):
        votes = Votes.from_wrench(folder, split)
        assert documents.gold is not None
        gold = documents.gold.astype(np.int64)
        cast = votes.take(rows) if split == "train" else votes
        made.append(Case(folder.name, stack.encode(documents, FeatureCache()), cast, gold))
    return made[0], made[1]


def measure(train: Case, test: Case, encoders: str, seeds: int, draws: int) -> dict[str, Any]:
    """One row: a list of (accuracy, F1) for each column, and what the last table shows."""
    settings = Settings()
    started = time.process_time()
    plain = [denoise(train.features, train.votes, settings, seed=s) for s in range(seeds)]
    spent = (time.process_time() - started) / seeds
    proba = plain[0].heads(train.features, train.votes).combined
    held = known_shares(train)
    exact = stated(train, settings, train.truth, exact=True)

    columns: dict[str, Iterator[Answers]] = {
        "MV": (_drawn(majority_shares(test), s) for s in range(20)),
        "MVbal→LR": iter([balanced_regression(train, test)]),
        "Snorkel→LR": iter([completed_regression(train, test)]),
        "nothing": (answers(model, test) for model in plain),
        "rough": (
            answers(stated(train, settings, perturbed(train.truth, s)), test) for s in range(draws)
        ),
        "20 labels": (
            answers(with_labels(train, settings, proba, 20, s)[0], test) for s in range(draws)
        ),
        "stated": (answers(stated(train, settings, held, seed=s), test) for s in range(seeds)),
        "exact": iter([answers(exact, test)]),
        "gold": iter([_regression(train, train.gold, test)]),
    }
    scored = {name: [score(test, given) for given in found] for name, found in columns.items()}
    states = (
        plain[0],
        with_labels(train, settings, proba, 20, 0)[0],
        exact,
    )
    return {
        "data": train.name,
        "encoders": encoders,
        **scored,
        "trust": [trust(model, train, test) for model in states],
        "cpu": spent,
    }


def trust(model: DenoisedModel, train: Case, test: Case) -> tuple[float, float, float]:
    """The calibration error; how far off the sources' accuracies are, in points; the share of true ones inside."""
    estimate, low, high = model.accuracy.T
    true, cast = true_accuracies(train)
    heads = model.heads(test.features, test.votes)
    return (
        calibration_error(test.gold, heads.combined),
        100 * float(np.abs(estimate - true)[cast].mean()),
        float(((low <= true) & (true <= high))[cast].mean()),
    )


def _trusted(found: tuple[float, float, float]) -> tuple[str, str, str]:
    return f"{found[0]:.3f}", f"{found[1]:.1f}", f"{found[2]:.0%}"


def known_shares(case: Case) -> NDArray[np.float64]:
    """(m,): what a person would state."""
    if case.name in STATED:
        return np.array(STATED[case.name])
    if case.name in EVEN:
        return np.full(case.votes.m, 1 / case.votes.m)
    steps = np.maximum(np.round(case.truth * 20), 0.5)
    return np.asarray(steps / steps.sum())


def score(test: Case, predicted: Answers) -> tuple[float, float]:
    """Accuracy and macro-F1 (or F1 of the second class, where it is rare), in percent."""
    f1 = f1_scores(confusion(test.gold, predicted.astype(np.int64), test.votes.m))
    second = f1[1] if test.name in RARE else float(np.mean(f1))
    return 100 * float((predicted == test.gold).mean()), 100 * float(second)


def completed_regression(train: Case, test: Case) -> Answers:
    """Snorkel's label model, then a regression on its labels of covered documents."""
    labels = MatrixCompletion().fit(train.votes).predict_proba(train.votes).argmax(axis=1)
    covered = train.votes.covered
    part = Case(train.name, train.features.take(np.flatnonzero(covered)), train.votes, train.gold)
    return _regression(part, labels[covered], test)


def _regression(train: Case, labels: NDArray[np.integer[Any]], test: Case) -> Answers:
    if len(np.unique(labels)) < 2:
        return np.full(len(test.gold), labels[0])
    model = LogisticRegression(max_iter=300).fit(train.features.matrix(), labels)
    return np.asarray(model.predict(test.features.matrix()))


def _drawn(shares: NDArray[np.float64], seed: int) -> Answers:
    """(n,): one class for each document, at random by its shares."""
    sums = shares.cumsum(axis=1)
    return np.asarray((sums > np.random.default_rng(seed).random((len(shares), 1))).argmax(axis=1))


def header(columns: Sequence[str]) -> str:
    """The first two lines of the table."""
    return "| data | encoders | " + " | ".join(columns) + " |\n|" + "---|" * (len(columns) + 2)


def line(row: dict[str, Any], columns: Sequence[str] = COLUMNS) -> str:
    """One row of the table."""
    cells = [_cell(row["data"], row[name]) for name in columns]
    return f"| {row['data']} | {row['encoders']} | " + " | ".join(cells) + " |"


def _cell(name: str, scores: Sequence[tuple[float, float]]) -> str:
    values = np.array(scores)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    moved = deviation[1 if name in RARE else 0]
    return f"{mean[0]:.1f}, {mean[1]:.1f}" + (f" ({moved:.1f})" if len(scores) > 1 else "")


if __name__ == "__main__":
    main()
