"""The paper's three outputs on its five data sets, with gold selection (its protocol) and without.

    python lab/benchmarks/protocol.py --data DIR [--features DIR] [--rows N] [--seeds 5] [--attention voters] [--json]

For each data set and seed, PaperSettings.best(data set) is trained, and an epoch is kept in three manners:
  last   the last of 500 epochs; no gold
  gold   by accuracy on the gold validation labels, as in the paper: the same training as `last`
  votes  by held-out votes, patience 50; no gold
Printed: mean and standard deviation over seeds of the test accuracy (and F1 of the second class where
it is rare) of the denoiser, the classifier and the ensemble, beside majority vote with ties and
uncovered documents shared evenly, and the paper's own figure, which was chosen by gold labels. Gold
labels of the test documents are used for scoring only. With --rows, at most so many documents are
trained on, and at most a quarter of that validate, drawn at random; all test documents count.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unruly.features.encoder import Features
from unruly.features.spec import encoder_from
from unruly.learner import UNKNOWN, Heads
from unruly.paper.cotraining import Epochs, cotrain
from unruly.paper.settings import ATTENTIONS, PaperSettings
from unruly.paper.training_set import prepare
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

PAPER = {
    "youtube": 94.9,
    "imdb": 82.9,
    "yelp": 87.5,
    "agnews": 85.7,
    "spouse": 81.3,
    "spouse_bert": 81.3,
}
SELECTIONS = ("last", "gold", "votes")
SPLITS = ("train", "valid", "test")
Split = tuple[Features, Votes, NDArray[np.int64]]


@dataclass(frozen=True)
class Outputs:
    """Test accuracy of the three outputs, in percent, and the F1 of the rare class."""

    denoiser: float
    classifier: float
    ensemble: float
    f1: float  # of the ensemble
    kept: int  # epoch


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of data sets in WRENCH's layout"
    )
    parser.add_argument("--features", type=Path, help="folder of ready .npy features")
    parser.add_argument(
        "--names", default="minilm6,potion", help="which of them, first that is complete"
    )
    parser.add_argument(
        "--encoder", default="lsa", help="encoder where there are no ready features"
    )
    parser.add_argument("--sets", default=",".join(PAPER), help="data sets, with commas")
    parser.add_argument("--rows", type=int, help="most training documents; absent: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=500, help="most epochs; the paper has 500")
    parser.add_argument(
        "--attention", choices=ATTENTIONS, default="all", help="whom the softmax of Eq. 1 runs over"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line"
    )
    args = parser.parse_args()
    print(
        f"{'data':12} {'chosen by':9} {'denoiser':>11} {'classifier':>11} {'ensemble':>11} {'F1':>6} {'epoch':>6}"
    )
    found = [_data_set(args, data) for data in args.sets.split(",")]
    if args.json:
        print(json.dumps({"seeds": args.seeds, "data_sets": found}))


def _data_set(args: argparse.Namespace, data: str) -> dict[str, Any]:
    features, kind = _features(args, data)
    splits = {split: (features[split], *_votes(args.data / data, split)) for split in SPLITS}
    train, valid, test = splits["train"], splits["valid"], splits["test"]
    if args.rows:
        train, valid = _some(train, args.rows), _some(valid, args.rows // 4)
    row: dict[str, Any] = {
        "data": data,
        "features": kind,
        "documents": train[1].n,
        "validation": valid[1].n,
        "test": test[1].n,
        "paper": PAPER[data],
        "majority_vote": _majority(test),
    }
    found = [_runs(args, data, seed, train, valid, test) for seed in range(args.seeds)]
    for selection in SELECTIONS:
        runs = [outputs[selection] for outputs in found]
        row[selection] = {
            name: [
                float(np.mean([getattr(run, name) for run in runs])),
                float(np.std([getattr(run, name) for run in runs])),
            ]
            for name in Outputs.__dataclass_fields__
        }
        cells = [
            f"{row[selection][name][0]:5.1f} ±{row[selection][name][1]:4.1f}"
            for name in ("denoiser", "classifier", "ensemble")
        ]
        print(
            f"{data:12} {selection:9} {' '.join(cells)} {row[selection]['f1'][0]:6.1f} {row[selection]['kept'][0]:6.0f}",
            flush=True,
        )
    print(
        f"{'':12} majority vote {row['majority_vote']:.1f} (no gold); the paper {PAPER[data]} "
        f"(gold chose the epoch and the settings); features: {kind}; {train[1].n} documents",
        flush=True,
    )
    return row


def _runs(
    args: argparse.Namespace, data: str, seed: int, train: Split, valid: Split, test: Split
) -> dict[str, Outputs]:
    settings = replace(PaperSettings.best(data), epochs=args.epochs, attention=args.attention)
    found = _last_and_gold(settings, seed, train, valid, test)
    by_votes = replace(settings, selection="votes", patience=50)
    learner = cotrain(train[0], train[1], by_votes, seed=seed)
    assert not learner.gold_used
    kept = next(epoch.number for epoch in learner.history if epoch.kept)
    return {**found, "votes": _scored(learner.heads(test[0], test[1]), test[2], kept)}


def _last_and_gold(
    settings: PaperSettings, seed: int, train: Split, valid: Split, test: Split
) -> dict[str, Outputs]:
    """One training, looked at by validation labels after each epoch, and at its end."""
    features, votes, _ = train
    none = np.zeros(votes.n, dtype=np.bool_)
    data = prepare(
        features,
        votes,
        settings,
        hidden=none,
        clean=np.full(votes.n, UNKNOWN, np.int64),
        targets=None,
        weights=None,
    )
    best, by_gold = -1.0, None
    with threadpool_limits(1, user_api="blas"):
        run = Epochs(data, votes, settings, seed)
        for t in range(1, settings.epochs + 1):
            run.epoch(t)
            learner = run.learner()
            right = float((learner.heads(valid[0], valid[1]).predicted == valid[2]).mean())
            if right > best:
                best, by_gold = right, _scored(learner.heads(test[0], test[1]), test[2], t)
        last = _scored(run.learner().heads(test[0], test[1]), test[2], settings.epochs)
    assert by_gold is not None
    return {"last": last, "gold": by_gold}


def _some(split: Split, rows: int) -> Split:
    """At most so many documents, drawn at random: some data sets are sorted by class."""
    features, votes, gold = split
    index = np.sort(np.random.default_rng(0).permutation(votes.n)[:rows])
    return features.take(index), votes.take(index), gold[index]


def _scored(heads: Heads, gold: NDArray[np.int64], kept: int) -> Outputs:
    outputs = (heads.denoiser, heads.classifier, heads.combined)
    right = [100 * float((output.argmax(axis=1) == gold).mean()) for output in outputs]
    said, true = heads.predicted == 1, gold == 1
    f1 = 200 * float((said & true).sum()) / max(1, int(said.sum() + true.sum()))
    return Outputs(right[0], right[1], right[2], f1, kept)


def _majority(test: Split) -> float:
    counts = test[1].counts()
    top = counts == counts.max(axis=1, keepdims=True)
    return 100 * float(
        (top / top.sum(axis=1, keepdims=True))[np.arange(len(test[2])), test[2]].mean()
    )


def _votes(folder: Path, split: str) -> tuple[Votes, NDArray[np.int64]]:
    rows = list(json.loads((folder / f"{split}.json").read_text(encoding="utf-8")).values())
    classes = json.loads((folder / "label.json").read_text(encoding="utf-8"))
    votes = Votes.from_array([row["weak_labels"] for row in rows], classes=list(classes.values()))
    return votes, np.array([row["label"] for row in rows])


def _features(args: argparse.Namespace, data: str) -> tuple[dict[str, Features], str]:
    own = {split: args.data / data / f"{split}_features.npy" for split in SPLITS}
    ready = [("their own", own)]
    if args.features:
        ready += [
            (name, {split: args.features / f"{data}_{split}_{name}.npy" for split in SPLITS})
            for name in args.names.split(",")
        ]
    for name, paths in ready:
        if all(path.exists() for path in paths.values()):
            return {
                split: Features.from_array(np.load(path)) for split, path in paths.items()
            }, name
    corpora = {split: Corpus.from_wrench(args.data / data, split) for split in SPLITS}
    encoder = encoder_from(args.encoder).fit(corpora["train"])
    return {split: encoder.encode(corpus) for split, corpus in corpora.items()}, encoder.name


if __name__ == "__main__":
    main()
