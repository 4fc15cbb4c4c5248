"""Our n-gram counting beside scikit-learn's, and what `static` costs beside the library that it calls.

    python lab/benchmarks/features.py --data DIR [--static FOLDER] [--datasets imdb,agnews] [--most 8000] [--json]

(a) `lsa` beside scikit-learn's TfidfVectorizer and TruncatedSVD with the same terms (words and pairs; runs of characters within
words where lsa reads them), weights and number of axes. (b) `static` beside model2vec's own `encode` on the same model. (An encoder of our own that looked up each word once was 1.5 times
faster than model2vec on reviews, 3.43 against 5.12 CPU seconds for 8,000, too little to keep.) CPU
seconds of all threads, the best of `--rounds`, and accuracy of a logistic regression on gold labels on documents that
neither saw.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from _options import wrench_parser
from unruly.features.lsa import Lsa
from unruly.features.ngrams import CharGrams
from unruly.features.static import Static
from unruly.texts.corpus import Corpus

Real = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Task:
    """Training and test texts with gold labels."""

    name: str
    train: list[str]
    test: list[str]
    gold: NDArray[np.int64]
    truth: NDArray[np.int64]

    def accuracy(self, train: Real, test: Real) -> float:
        """In percent."""
        spread = np.sqrt(((train - train.mean(axis=0)) ** 2).sum(axis=1).mean())
        model = LogisticRegression(C=10, max_iter=200).fit(train / spread, self.gold)
        return 100 * float(model.score(test / spread, self.truth))


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, "imdb,agnews")
    parser.add_argument("--static", type=Path, help="a Model2Vec folder")
    parser.add_argument("--most", type=int, default=8_000, help="training documents of each")
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    print("| data | encoder | fit, CPU s | encode, CPU s | accuracy |\n|---|---|---|---|---|")
    found = []
    for name in args.datasets.split(","):
        task = load(args.data / name, args.most)
        found += [ours_lsa(task, args.rounds), theirs_lsa(task, args.rounds)]
        if args.static:
            found += static(task, args.static, args.rounds)
    if args.json:
        print(json.dumps(found))


def load(folder: Path, most: int) -> Task:
    """Documents drawn by chance: some sets are sorted by class."""
    train, test = (Corpus.from_wrench(folder, split) for split in ("train", "test"))
    rows = np.sort(np.random.default_rng(0).permutation(len(train))[:most])
    train = train.take(rows)
    assert train.gold is not None
    assert test.gold is not None
    gold, truth = (np.asarray(corpus.gold, np.int64) for corpus in (train, test))
    return Task(folder.name, train.texts.to_list(), test.texts.to_list(), gold, truth)


def ours_lsa(task: Task, rounds: int) -> dict[str, object]:
    """Our counting, weights and axes: both blocks, of which the first is scored."""
    fit, lsa = cpu(lambda: Lsa(powers=(1,)).fit(task.train), rounds)
    encode, train = cpu(lambda: lsa.encode(task.train), rounds)
    return row(task, "lsa, ours", fit, encode, task.accuracy(train, lsa.encode(task.test)))


def theirs_lsa(task: Task, rounds: int) -> dict[str, object]:
    """scikit-learn's, with the terms that lsa would count."""
    lsa = Lsa(powers=(1,))
    chars = any(isinstance(part.grams, CharGrams) for part in lsa.chosen_terms(task.train))
    vectorisers = [
        TfidfVectorizer(
            ngram_range=(1, 2),
            sublinear_tf=True,
            token_pattern=r"\w+",
            min_df=2,
            max_features=lsa.max_terms,
            dtype=np.float32,
        )
    ]
    if chars:
        vectorisers.append(
            TfidfVectorizer(
                analyzer="char_wb",
                ngram_range=(2, 5),
                sublinear_tf=True,
                min_df=3,
                max_features=lsa.max_runs,
                dtype=np.float32,
            )
        )
    svd = TruncatedSVD(lsa.dim, n_iter=3, random_state=0)

    def fitted() -> None:
        svd.fit(hstack([part.fit_transform(task.train) for part in vectorisers], format="csr"))

    def encoded(texts: list[str]) -> Real:
        rows = hstack([part.transform(texts) for part in vectorisers], format="csr")
        return np.asarray(svd.transform(rows))

    fit, _ = cpu(fitted, rounds)
    encode, train = cpu(lambda: encoded(task.train), rounds)
    return row(task, "lsa, scikit-learn", fit, encode, task.accuracy(train, encoded(task.test)))


def static(task: Task, folder: Path, rounds: int) -> list[dict[str, object]]:
    """The encoder, and the library without it."""
    from model2vec import StaticModel

    ours, theirs = Static.open(folder), StaticModel.from_pretrained(str(folder))

    def library(texts: list[str]) -> Real:
        return np.asarray(theirs.encode(texts, use_multiprocessing=False))

    found = []
    encoders: tuple[tuple[str, Callable[[list[str]], Real]], ...] = (
        ("static", ours.encode),
        ("model2vec alone", library),
    )
    for name, encode in encoders:
        spent, train = cpu(partial(encode, task.train), rounds)
        found.append(row(task, name, 0.0, spent, task.accuracy(train, encode(task.test))))
    return found


T = TypeVar("T")


def cpu(work: Callable[[], T], rounds: int) -> tuple[float, T]:
    """The least CPU seconds of some rounds, and what the work gave."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        given = work()
        spent.append(time.process_time() - start)
    return min(spent), given


def row(task: Task, name: str, fit: float, encode: float, accuracy: float) -> dict[str, object]:
    """One line of the table, printed at once."""
    print(f"| {task.name} | {name} | {fit:.2f} | {encode:.2f} | {accuracy:.1f} |", flush=True)
    return {"data": task.name, "encoder": name, "fit": fit, "encode": encode, "accuracy": accuracy}


if __name__ == "__main__":
    main()
