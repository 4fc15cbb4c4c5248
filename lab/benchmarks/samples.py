"""What learning from a sample costs in accuracy: the same fit on a random part of the documents and on all of them, many times.

    OMP_NUM_THREADS=1 python lab/benchmarks/samples.py --data DIR [--datasets agnews,imdb] [--documents 3000,6000,12000] [--part 5] [--seeds 10] [--json]

DIR holds folders in WRENCH's layout. Each seed draws so many training documents, and one in --part of these; `denoise` learns from both, with the sources' votes
and equal class shares stated, and both are scored on the test documents, whose labels are used for nothing else. lsa is fitted once on all training texts: of more
than 50,000 it takes so many in any case, whatever the sample.
Differences are of one seed each, so that what the documents drawn have in common counts for nothing.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.fit import denoise
from unruly.features.encoder import Features
from unruly.features.registry import encoder_from
from unruly.prior import parse_prior
from unruly.texts.wrench import read_wrench
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class Loss:
    """Test accuracy, percent, after learning from all of so many documents and from one in `part`."""

    dataset: str
    documents: int
    part: int
    all: tuple[float, ...]  # by seed
    sample: tuple[float, ...]

    @property
    def row(self) -> str:
        """One line of the table."""
        gained = np.array(self.sample) - np.array(self.all)
        error = gained.std(ddof=1) / math.sqrt(len(gained))
        return (
            f"| {self.dataset} | {self.documents:,} | {self.documents // self.part:,} "
            f"| {np.mean(self.all):.2f} | {np.mean(self.sample):.2f} | {gained.mean():+.2f} | {error:.2f} | {np.median(gained):+.2f} |"
        )


@dataclass(frozen=True)
class Task:
    """One set, encoded."""

    name: str
    features: Features
    votes: Votes
    test: tuple[Features, Votes, NDArray[np.int64]]  # with the gold labels

    @classmethod
    def read(cls, folder: Path) -> Task:
        """From a folder in WRENCH's layout."""
        train, test = read_wrench(folder, "train"), read_wrench(folder, "test")
        stack = encoder_from("lsa").fit(train.corpus)
        cast, new = (
            Votes.from_array(part.votes, sources=part.sources, classes=part.classes)
            for part in (train, test)
        )
        scored = (stack.encode(test.corpus), new, np.asarray(test.corpus.gold))
        return cls(folder.name, stack.encode(train.corpus), cast, scored)

    def accuracy(self, rows: NDArray[np.intp], seed: int) -> float:
        """On the test documents, after learning from these training documents."""
        features, votes, truth = self.test
        even = parse_prior("uniform", self.votes.classes)
        model = denoise(self.features.take(rows), self.votes.take(rows), seed=seed, balance=even)
        return 100 * float((model.heads(features, votes).predicted == truth).mean())

    def loss(self, documents: int, part: int, seeds: int) -> Loss:
        """So many draws of so many documents."""
        pairs = list[tuple[float, float]]()
        for seed in range(seeds):
            rows = np.random.default_rng(seed).permutation(self.votes.n)[:documents]
            few = np.sort(rows[: documents // part])
            pairs.append((self.accuracy(np.sort(rows), seed), self.accuracy(few, seed)))
        whole, sample = zip(*pairs, strict=True)
        return Loss(self.name, documents, part, whole, sample)


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folders in WRENCH's layout")
    parser.add_argument("--datasets", default="agnews,imdb", help="with commas between")
    parser.add_argument("--documents", default="3000,6000,12000", help="with commas between")
    parser.add_argument("--part", type=int, default=5, help="a sample is one in so many")
    parser.add_argument("--seeds", type=int, default=10, help="draws of each")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| | documents | sample | all | the sample | difference | standard error | median |")
    print("|---|---|---|---|---|---|---|---|")
    found = []
    for name in args.datasets.split(","):
        task = Task.read(args.data / name)
        for documents in map(int, args.documents.split(",")):
            if documents <= task.votes.n:
                found.append(task.loss(documents, args.part, args.seeds))
                print(found[-1].row, flush=True)
    if args.json:
        print(json.dumps([asdict(loss) for loss in found]))


if __name__ == "__main__":
    main()
