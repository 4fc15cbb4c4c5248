"""How much the features of each encoder know: a logistic regression on top of them, per data set.

    python lab/benchmarks/encoder_quality.py --data DIR [--static FOLDER] [--only youtube yelp] [--json]

DIR holds data sets in WRENCH's layout, one folder each. Two columns for each encoder: trained on the
training documents' gold labels (the ceiling that the features allow: GOLD TOUCHES TRAINING), and
trained on their majority votes (no gold; ties and documents without votes are left out). Scores are
on the validation split, so that choosing a default by this table does not look at test data
(--split test for the test split): accuracy, or the F1 of the positive class where fewer than a
fifth of the documents are positive. Blocks of several encoders are averaged as log-probabilities.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from unruly import Corpus, Votes
from unruly.features.cache import FeatureCache
from unruly.features.encoder import Encoder, Features
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM, available
from unruly.features.stack import EncoderStack
from unruly.features.static import Static

DATA_SETS = ("youtube", "spouse", "agnews", "yelp", "imdb")
MOST = 3_000  # training documents, drawn at random: the table compares encoders, not data sizes
HELD = 2_000  # documents to score on, likewise
MINILM = "minilm"
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One encoder on one data set."""

    data: str
    encoder: str
    score: str  # accuracy or F1
    gold: float
    votes: float
    width: int


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="data sets in WRENCH's layout")
    parser.add_argument("--static", type=Path, help="a Model2Vec folder")
    parser.add_argument("--only", nargs="*", default=DATA_SETS, help="some of the data sets")
    parser.add_argument("--split", default="valid", choices=("valid", "test"))
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(
        f"trained on at most {MOST} training documents, scored on at most {HELD} of the {args.split} split"
    )
    print("gold: gold labels of the training documents used for training; votes: no gold used")
    rows: list[Row] = []
    for name in args.only:
        for row in table(args.data / name, name, args.split, args.static):
            print(
                f"{row.data:9}{row.encoder:28}{row.score:9} gold {row.gold:.3f}  votes {row.votes:.3f}",
                flush=True,
            )
            rows.append(row)
    if args.json:
        used = {"gold": "gold labels of training documents", "votes": "none"}
        print(
            json.dumps({"split": args.split, "gold_used": used, "rows": [asdict(r) for r in rows]})
        )


def table(folder: Path, name: str, split: str, static: Path | None) -> list[Row]:
    """All encoders on one data set."""
    train, votes, held = load(folder, split)
    cache = FeatureCache()
    encoders: list[Encoder] = [Lsa(), *([MiniLM()] if available() else [])]
    encoders += [Static.open(static)] if static else []
    fitted = EncoderStack(tuple(encoders)).fit(train, cache)
    a, b = fitted.encode(train, cache), fitted.encode(held, cache)
    assert train.gold is not None
    assert held.gold is not None
    told = majority(votes)
    opinions = {
        "gold": block_opinions(a, b, train.gold.astype(np.int64), votes.m),
        "votes": block_opinions(a, b, told, votes.m),
    }
    binary = votes.m == 2 and float((held.gold == 1).mean()) < 0.2
    widths = {block.name: block.values.shape[1] for block in a.blocks}
    return [
        Row(
            data=name,
            encoder=label,
            score="F1" if binary else "accuracy",
            gold=score([opinions["gold"][block] for block in blocks], held.gold, binary),
            votes=score([opinions["votes"][block] for block in blocks], held.gold, binary),
            width=sum(widths[block] for block in blocks),
        )
        for label, blocks in combinations([block.name for block in a.blocks]).items()
    ]


def load(folder: Path, split: str) -> tuple[Corpus, Votes, Corpus]:
    """The training documents, or some of them drawn at random, their votes, and those to score on."""
    train = Corpus.from_wrench(folder, "train")
    votes = Votes.from_wrench(folder, "train")
    held = Corpus.from_wrench(folder, split)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(train))[:MOST])
    return train.take(rows), votes.take(rows), held.take(np.sort(rng.permutation(len(held))[:HELD]))


def combinations(blocks: list[str]) -> dict[str, list[str]]:
    """Encoders, single layers of minilm, and what stands together."""
    lsa = [name for name in blocks if name.startswith("lsa")]
    static = [name for name in blocks if name.startswith("static")]
    minilm = [name for name in blocks if name.startswith(MINILM)]
    found = {"lsa": lsa}
    for layer in MiniLM.layers if minilm else ():
        name = f"{MINILM} layer {layer}"
        found[name] = [block for block in minilm if block.startswith(name)]
    if minilm:
        found[MINILM] = minilm
        found[f"{MINILM} + lsa"] = minilm + lsa
    if static:
        found["static"] = static
        found["static + lsa"] = static + lsa
    if static and minilm:
        found[f"{MINILM} + lsa + static"] = minilm + lsa + static
    return found


def majority(votes: Votes) -> NDArray[np.int64]:
    """(n,): the class with most votes; -1 for a tie and for no vote."""
    counts = votes.counts()
    best = counts.max(axis=1)
    alone = (counts == best[:, None]).sum(axis=1) == 1
    return np.where((best > 0) & alone, counts.argmax(axis=1), -1).astype(np.int64)


def block_opinions(
    train: Features, held: Features, labels: NDArray[np.int64], classes: int
) -> dict[str, Array]:
    """Log-probabilities (held documents, classes) from each block alone."""
    return {
        a.name: opinion(a.array, b.array, labels, classes)
        for a, b in zip(train.blocks, held.blocks, strict=True)
    }


def opinion(
    a: NDArray[np.float32], b: NDArray[np.float32], labels: NDArray[np.int64], classes: int
) -> Array:
    known = labels >= 0
    centre = a.mean(axis=0)
    model = LogisticRegression(C=10, max_iter=200).fit(a[known] - centre, labels[known])
    found = np.full((len(b), classes), -20.0)
    found[:, model.classes_] = model.predict_log_proba(b - centre)
    return found


def score(opinions: list[Array], gold: NDArray[np.int16], binary: bool) -> float:
    """Of the averaged opinions: accuracy, or the F1 of class 1."""
    told = np.sum(opinions, axis=0).argmax(axis=1)
    found = f1_score(gold, told) if binary else float((told == gold).mean())
    return round(float(found), 4)


if __name__ == "__main__":
    main()
