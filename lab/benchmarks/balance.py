"""The default under each state of knowledge of the class balance, on data sets and cuts to other balances.

    python lab/benchmarks/balance.py --data DIR [--datasets ...] [--encoders lsa] [--most 3000] [--draws 3]
                                     [--labels 20,50] [--set tau=3 ...] [--json]

Every data set as it is, and cut so that its classes have other shares (two classes: 13, 30, 70 and 87 % of
the second; more: two skewed mixtures and their mirror images, and 90 % of one class), at most so many documents. Accuracy in
percent on these documents; documents whose labels were given are not scored.
    MV         majority vote; a tie of t classes counts 1/t, documents without votes get the commonest class
    MVbal→LR   scikit-learn: LogisticRegression(class_weight="balanced") on the majority votes
    nothing    the default with nothing stated and no label
    rough      shares stated roughly: each class's odds off by a factor of up to two, at random
    exact      the true shares, stated as exact
    20, 50     so many labels, drawn by `labelling.sampling` under the model with nothing stated
Gold labels cut, score, state the shares, and are the labels; under "nothing" they do nothing else but score.
A set counts as below when the default lies more than a standard error below the better of the two baselines. The last line
has the share of true source accuracies inside their 95 % interval, of sources with ten votes or more, and its mean width.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from _options import wrench_parser
from unruly.denoising.denoised import DenoisedModel
from unruly.denoising.fit import denoise
from unruly.features.cache import FeatureCache
from unruly.features.encoder import Features
from unruly.features.registry import encoder_from
from unruly.labelling.sampling import draw
from unruly.prior import StatedBalance
from unruly.settings import Settings
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse", "sms", "trec", "yoruba")
Labels = NDArray[np.int64]
Answers = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Case:
    """Documents with votes and true labels."""

    name: str
    features: Features
    votes: Votes
    gold: Labels

    @property
    def truth(self) -> NDArray[np.float64]:
        """(m,): the true shares; a class that does not occur gets half a document."""
        counts = np.maximum(np.bincount(self.gold, minlength=self.votes.m), 0.5)
        return np.asarray(counts / counts.sum())


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=3000, help="documents of each set, at most")
    parser.add_argument("--draws", type=int, default=3, help="of rough shares and of labels")
    parser.add_argument("--labels", default="20,50", help="how many, with commas between")
    parser.add_argument("--set", nargs="*", default=[], help="settings, as in tau=2")
    args = parser.parse_args()
    changed = dict(pair.split("=") for pair in args.set)
    settings = Settings.from_plain({name: json.loads(value) for name, value in changed.items()})
    sizes = [int(size) for size in args.labels.split(",") if size]
    rows: list[dict[str, Any]] = []
    for case in cases(args):
        rows.append(measure(case, settings, args.draws, sizes))
        if len(rows) == 1:
            print("| data | documents | " + " | ".join(list(rows[0])[2:-1]) + " |")
            print("|" + "---|" * (len(rows[0]) - 1))
        print(line(rows[-1]), flush=True)
    names = list(rows[0])[2:-1]
    means = {name: float(np.mean([row[name] for row in rows])) for name in names}
    print(
        line({"data": "mean", "documents": int(np.mean([r["documents"] for r in rows])), **means})
    )
    below = [row["data"] for row in rows if row["nothing"] < bar(row)]
    print(f"nothing stated, below the better baseline by more than a standard error: {below}")
    for state in ("nothing", "rough", "exact", *args.labels.split(",")):
        found = np.array([pair for row in rows for pair in row["intervals"].get(state, ())])
        if len(found):
            inside, width = found.mean(axis=0)
            print(f"{state}: {inside:.1%} of true source accuracies inside, width {width:.2f}")
    if args.json:
        print(json.dumps({"means": means, "below": below, "rows": rows}))


def bar(row: dict[str, Any]) -> float:
    """The better baseline, less a standard error."""
    return less_an_error(max(row["MV"], row["MVbal→LR"]), row["documents"])


def less_an_error(accuracy: float, documents: int) -> float:
    """An accuracy in percent, less its standard error."""
    return float(accuracy - np.sqrt(accuracy * (100 - accuracy) / documents))


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    shown = [value for name, value in row.items() if name != "intervals"]
    cells = [f"{v:.1f}" if isinstance(v, float) else str(v) for v in shown]
    return "| " + " | ".join(cells) + " |"


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """Each data set as it is, then its cuts."""
    for name in args.datasets.split(","):
        features, votes, gold = encoded(args.data / name, args.encoders)
        for wanted in mixtures(votes.m, gold):
            rows = cut(gold, wanted, args.most)
            shares = "" if wanted is None else " " + "/".join(f"{100 * s:.0f}" for s in wanted)
            yield Case(name + shares, features.take(rows), votes.take(rows), gold[rows])


def encoded(folder: Path, encoders: str) -> tuple[Features, Votes, Labels]:
    """The training split of a data set."""
    corpus = Corpus.from_wrench(folder, "train")
    assert corpus.gold is not None
    stack = encoder_from(encoders.split("+")).fit(corpus, FeatureCache())
    return (
        stack.encode(corpus, FeatureCache()),
        Votes.from_wrench(folder, "train"),
        corpus.gold.astype(np.int64),
    )


def mixtures(m: int, gold: Labels) -> Sequence[NDArray[np.float64] | None]:
    """The class shares to cut to; None: as they are. Sets that are skewed already are cut to one large class only."""
    count = np.bincount(gold, minlength=m)
    skewed = count.min() < 0.5 * len(gold) / m
    if m == 2:
        return [None, *(np.array([1 - p, p]) for p in (0.13, 0.3, 0.7, 0.87) if not skewed)]
    falling, steep = np.arange(m, 0, -1.0), 2.0 ** -np.arange(m)
    mild = [] if skewed else [falling, falling[::-1], steep, steep[::-1]]
    large = np.argsort(-count, kind="stable")[: 2 if skewed else m]
    most = [np.where(np.arange(m) == c, 0.9, 0.1 / (m - 1)) for c in large]
    return [None, *(s / s.sum() for s in (*mild, *most))]


def cut(gold: Labels, wanted: NDArray[np.float64] | None, most: int) -> NDArray[np.intp]:
    """Rows drawn by chance, of which each class has the wanted share."""
    rng = np.random.default_rng(1)
    if wanted is None:
        return np.sort(rng.permutation(len(gold))[:most])
    count = np.bincount(gold, minlength=len(wanted))
    short = wanted < 0.05  # a class this small may have a few documents less
    size = min(float((count / wanted)[~short].min()), most)
    parts = [
        rng.permutation(np.flatnonzero(gold == c))[: round(size * share)]
        for c, share in enumerate(wanted)
    ]
    return np.sort(np.concatenate(parts))


def measure(case: Case, settings: Settings, draws: int, sizes: Sequence[int]) -> dict[str, Any]:
    """One row of the table."""
    plain = denoise(case.features, case.votes, settings)
    heads = plain.heads(case.features, case.votes)
    intervals = {"nothing": held_intervals(plain, case)}
    row: dict[str, Any] = {
        "data": case.name,
        "documents": case.votes.n,
        "MV": majority(case),
        "MVbal→LR": right(balanced_regression(case), case),
        "nothing": right(heads.predicted, case),
    }
    rough = [stated(case, settings, perturbed(case.truth, i)) for i in range(draws)]
    row["rough"] = float(np.mean([right(answers(model, case), case) for model in rough]))
    exact = stated(case, settings, case.truth, exact=True)
    row["exact"] = right(answers(exact, case), case)
    intervals |= {"rough": held_intervals(rough[0], case), "exact": held_intervals(exact, case)}
    for size in sizes:
        found = [with_labels(case, settings, heads.combined, size, seed) for seed in range(draws)]
        row[str(size)] = float(np.mean([others_right(case, *labelled) for labelled in found]))
        intervals[str(size)] = held_intervals(found[0][0], case)
    row["intervals"] = intervals
    return row


def right(predicted: Answers, case: Case) -> float:
    """Accuracy in percent."""
    return 100 * float((predicted == case.gold).mean())


def majority(case: Case) -> float:
    """Majority vote's expected accuracy in percent."""
    return 100 * float(majority_shares(case)[np.arange(len(case.gold)), case.gold].mean())


def majority_shares(case: Case) -> NDArray[np.float64]:
    """(n, m): 1/t for each of t classes with most votes; documents without votes get the commonest class."""
    counts, covered = case.votes.counts(), case.votes.covered
    top = (counts == counts.max(axis=1, keepdims=True)) & covered[:, None]
    shares = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    shares[~covered, shares.sum(axis=0).argmax()] = 1
    return np.asarray(shares)


def balanced_regression(case: Case, test: Case | None = None) -> Answers:
    """Five lines of scikit-learn on the majority votes, ties broken at random; answers for `test`."""
    x, covered = case.features.matrix(), case.votes.covered
    noise = np.random.default_rng(0).random((case.votes.n, case.votes.m))
    labels = (case.votes.counts() + 0.01 * noise).argmax(axis=1)[covered]
    model = LogisticRegression(class_weight="balanced", max_iter=200).fit(x[covered], labels)
    return np.asarray(model.predict((test or case).features.matrix()))


def perturbed(shares: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """The shares with each class's odds off by a factor of up to two."""
    off = np.random.default_rng(seed).uniform(-np.log(2), np.log(2), len(shares))
    if len(shares) == 2:
        off[1] = -off[0]  # the odds of two classes are one number
    odds = shares / (1 - shares) * np.exp(off)
    moved = odds / (1 + odds)
    return np.asarray(moved / moved.sum())


def stated(
    case: Case,
    settings: Settings,
    shares: NDArray[np.float64],
    exact: bool = False,
    seed: int = 0,
) -> DenoisedModel:
    """The default with these shares stated."""
    balance = StatedBalance(tuple(shares.tolist()), exact)
    return denoise(case.features, case.votes, settings, balance=balance, seed=seed)


def answers(model: DenoisedModel, case: Case) -> Answers:
    """What it predicts for these documents."""
    return model.heads(case.features, case.votes).predicted


def true_accuracies(case: Case) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(k,), (k,): how often each source is right when it votes; and which vote ten times or more."""
    voted = case.votes.voted
    right = (case.votes.matrix == case.gold[:, None]) & voted
    count = voted.sum(axis=0)
    return right.sum(axis=0) / np.maximum(count, 1), np.asarray(count >= 10)


def held_intervals(model: DenoisedModel, case: Case) -> list[tuple[bool, float]]:
    """Of each source: whether its true accuracy lies inside its interval, and how wide that is."""
    true, cast = true_accuracies(case)
    _, low, high = model.accuracy[cast].T
    return list(zip(((low <= true[cast]) & (true[cast] <= high)).tolist(), high - low, strict=True))


def with_labels(
    case: Case, settings: Settings, proba: NDArray[np.float32], size: int, seed: int
) -> tuple[DenoisedModel, NDArray[np.intp]]:
    """The default after so many labels, drawn as the product draws them; and the labelled documents."""
    drawn = draw(proba, size, seed=seed)
    clean = np.full(case.votes.n, UNKNOWN)
    clean[drawn.rows] = case.gold[drawn.rows]
    weights = np.zeros(case.votes.n)
    weights[drawn.rows] = 1 / drawn.probability
    model = denoise(case.features, case.votes, settings, clean=clean, label_weights=weights)
    return model, drawn.rows


def others_right(case: Case, model: DenoisedModel, rows: NDArray[np.intp]) -> float:
    """Accuracy on the documents that were not labelled."""
    rest = np.ones(case.votes.n, np.bool_)
    rest[rows] = False
    return 100 * float((answers(model, case) == case.gold)[rest].mean())


if __name__ == "__main__":
    main()
