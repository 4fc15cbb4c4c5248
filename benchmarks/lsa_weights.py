"""How `lsa` weighs rare words: powers of idf, chosen with one data set left out.

    python benchmarks/lsa_weights.py --data DIR [--datasets ...] [--seeds 2] [--most 6000] [--json]

The default recipe on `lsa` alone, with one power of idf or several (a block of features for each). Accuracy in percent on the
validation documents (F1 of the second class for spouse, whose prior is given). Gold labels of the validation documents choose and
score; the recipe sees none. At most so many training documents, drawn by chance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from default import SETS, Split, Task, run
from unruly.features.lsa import Lsa
from unruly.features.several import Several
from unruly.settings import Settings
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

CHOICES: tuple[tuple[float, ...], ...] = ((1,), (1.5,), (2,), (3,), (1, 2), (1, 3))


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--most", type=int, default=6000, help="training documents of each")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    names = args.datasets.split(",")
    print("| data | " + " | ".join(told(powers) for powers in CHOICES) + " |")
    print("|" + "---|" * (len(CHOICES) + 1))
    table = np.empty((len(names), len(CHOICES)))
    for i, name in enumerate(names):
        for j, powers in enumerate(CHOICES):
            task = load(args.data / name, powers, args.most)
            scores = [run(task, Settings(), seed, split="valid") for seed in range(args.seeds)]
            table[i, j] = np.mean(scores)
        print(f"| {name} | " + " | ".join(f"{score:.1f}" for score in table[i]) + " |", flush=True)
    left_out(names, table)
    if args.json:
        print(json.dumps({"sets": names, "powers": CHOICES, "scores": table.tolist()}))


def told(powers: tuple[float, ...]) -> str:
    """As in "idf, idf^2"."""
    return ", ".join("idf" if power == 1 else f"idf^{power:g}" for power in powers)


def load(folder: Path, powers: tuple[float, ...], most: int) -> Task:
    """One data set, read with these powers."""
    corpora = {split: Corpus.from_wrench(folder, split) for split in ("train", "valid")}
    votes = {split: Votes.from_wrench(folder, split) for split in corpora}
    rows = np.random.default_rng(0).permutation(len(corpora["train"]))[:most]
    corpora["train"] = corpora["train"].take(np.sort(rows))
    votes["train"] = votes["train"].take(np.sort(rows))
    encoder = Several((Lsa(powers=powers),)).fit(corpora["train"])
    encoder = encoder.blotted(corpora["train"], votes["train"])
    splits = {}
    for split, corpus in corpora.items():
        assert corpus.gold is not None
        gold = np.asarray(corpus.gold, np.int64)
        splits[split] = Split(encoder.encode(corpus), votes[split], gold)
    return Task(folder.name, "lsa", splits)


def left_out(names: Sequence[str], table: np.ndarray) -> None:
    """What the other data sets choose, and what it gives on the one left out."""
    print("\n| left out | chosen by the others | there | with ours | at its own best |")
    print("|" + "---|" * 5)
    ours = CHOICES.index(Lsa().powers)
    for i, name in enumerate(names):
        best = int(np.delete(table, i, axis=0).mean(axis=0).argmax())
        there, usual, own = table[i, best], table[i, ours], table[i].max()
        print(f"| {name} | {told(CHOICES[best])} | {there:.1f} | {usual:.1f} | {own:.1f} |")


if __name__ == "__main__":
    main()
