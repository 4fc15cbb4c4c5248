"""How small `lsa` can be: fewer terms, fewer bits, one projection for both blocks.

    python lab/benchmarks/lsa_size.py --data DIR [--datasets imdb,yelp,agnews,youtube] [--splits 5] [--train 8000] [--json]

Logistic regression on gold labels, one for each block of features, log-probabilities averaged; accuracy in percent on
documents that neither the encoder nor the regression saw. Every split draws its training documents anew. `MB` is what the
projection takes in a saved model. The first row is the encoder that the others are measured against; `gap` is the mean
difference to it over the splits, with its standard error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags, hstack, vstack
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from _options import wrench_parser
from unruly.features.lsa import EIGHT_BITS, Axes, Lsa
from unruly.features.ngrams import Terms
from unruly.texts.corpus import Corpus

SETS = ("imdb", "yelp", "agnews", "youtube")
POWERS = (1, 3)
MOST = 60_000  # terms of each kind in the largest encoder
TESTED = 4_000  # documents scored, at most

Real = NDArray[np.float32]


@dataclass(frozen=True)
class Variant:
    """One way to make the encoder smaller."""

    words: int  # and pairs
    runs: int  # of characters, where there are any
    bits: int  # of each number of the projection: 32, 8 or 4; 0: as Lsa chooses
    shared: bool = False  # one projection for both blocks

    def __str__(self) -> str:
        kind = ", one projection" if self.shared else ""
        return f"{self.words:,} words, {self.runs:,} runs, {self.bits or '8 or 4'} bits{kind}"


VARIANTS = (
    Variant(MOST, MOST, 32),
    Variant(MOST, MOST, 4),
    Variant(10_000, 28_000, 0),  # what Lsa does
    Variant(10_000, 28_000, 0, shared=True),
    Variant(10_000, 10_000, 0),
)


@dataclass(frozen=True)
class Split:
    """Training and test documents: TF-IDF for each kind of term, and gold labels."""

    terms: tuple[Terms, ...]
    train: tuple[csr_matrix, ...]
    test: tuple[csr_matrix, ...]
    gold: NDArray[np.int64]
    truth: NDArray[np.int64]


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--train", type=int, default=8_000, help="training documents")
    args = parser.parse_args()
    found = {}
    for name in args.datasets.split(","):
        print(f"\n{name}\n| encoder | MB | accuracy | gap |\n|---|---|---|---|", flush=True)
        scores = np.empty((args.splits, len(VARIANTS)))
        sizes = np.empty(len(VARIANTS))
        for seed in range(args.splits):
            split = read(args.data / name, args.train, seed)
            for place, variant in enumerate(VARIANTS):
                scores[seed, place], sizes[place] = score(split, variant)
        for place, variant in enumerate(VARIANTS):
            gap = scores[:, place] - scores[:, 0]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            print(
                f"| {variant} | {sizes[place]:.1f} | {scores[:, place].mean():.2f} | "
                f"{gap.mean():+.2f} ± {error:.2f} |",
                flush=True,
            )
        found[name] = {"scores": scores.tolist(), "megabytes": sizes.tolist()}
    if args.json:
        print(json.dumps({"variants": [str(variant) for variant in VARIANTS], "sets": found}))


def read(folder: Path, most: int, seed: int) -> Split:
    """One split: training documents drawn by chance, tested on the test and validation documents."""
    train = Corpus.from_wrench(folder, "train")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(train))[: min(most, int(0.8 * len(train)))]
    train = train.take(np.sort(rows))
    tests = [Corpus.from_wrench(folder, split) for split in ("test", "valid")]
    texts = [text for corpus in tests for text in corpus.texts.to_list()]
    truth = np.concatenate([gold_of(corpus) for corpus in tests])
    if len(texts) > TESTED:
        some = np.random.default_rng(0).choice(len(texts), TESTED, replace=False)
        texts, truth = [texts[row] for row in some], truth[some]
    learnt = train.texts.to_list()
    terms = Lsa(max_terms=MOST, max_runs=MOST).chosen_terms(learnt)
    learnt_terms, tested = (
        tuple(part.weigh(some) for part in terms) for some in (learnt, texts)
    )  # (n, t) TF-IDF for each kind of term
    return Split(terms, learnt_terms, tested, gold_of(train), truth)


def gold_of(corpus: Corpus) -> NDArray[np.int64]:
    """The true labels."""
    assert corpus.gold is not None
    return np.asarray(corpus.gold, np.int64)


def score(split: Split, variant: Variant) -> tuple[float, float]:
    """Accuracy in percent, and the megabytes of the projection."""
    most = (variant.words, variant.runs)
    keep = [commonest(terms, n) for terms, n in zip(split.terms, most, strict=False)]
    train = [raised(split.train, split.terms, keep, power) for power in POWERS]
    test = [raised(split.test, split.terms, keep, power) for power in POWERS]
    if variant.shared:
        axes = [projection(vstack(train, format="csr"))] * len(POWERS)
    else:
        axes = [projection(rows) for rows in train]
    numbers = sum(v.size for v in axes[: 1 if variant.shared else None])
    bits = variant.bits or (8 if numbers <= EIGHT_BITS else 4)
    megabytes = numbers * bits / 8e6
    if bits < 32:
        axes = [Axes.rounded(v, bits).matrix for v in axes]
    pooled = np.zeros((len(split.truth), int(split.gold.max()) + 1))
    for rows, new, v in zip(train, test, axes, strict=True):
        values, fresh = rows @ v, new @ v
        spread = np.sqrt(((values - values.mean(axis=0)) ** 2).sum(axis=1).mean())
        model = LogisticRegression(C=10, max_iter=200).fit(values / spread, split.gold)
        pooled[:, model.classes_] += np.log(model.predict_proba(fresh / spread) + 1e-9)
    return 100 * float((pooled.argmax(axis=1) == split.truth).mean()), megabytes


def commonest(terms: Terms, most: int) -> NDArray[np.intp]:
    """Columns of the terms in most documents."""
    return np.sort(np.argsort(terms.idf, kind="stable")[:most])


def raised(
    rows: Sequence[csr_matrix],
    terms: Sequence[Terms],
    keep: Sequence[NDArray[np.intp]],
    power: float,
) -> csr_matrix:
    """(n, kept terms): with idf to this power, each kind of term at unit length."""
    parts = [
        normalize(matrix[:, some] @ diags(part.idf[some] ** (power - 1)))
        for matrix, part, some in zip(rows, terms, keep, strict=True)
    ]
    return hstack(parts, format="csr", dtype=np.float32)


def projection(rows: csr_matrix) -> Real:
    """(terms, 256): the right singular vectors."""
    with threadpool_limits(1):
        v = randomized_svd(rows, min(256, *rows.shape), n_iter=3, random_state=0)[2]
    return np.ascontiguousarray(v.T, dtype=np.float32)


if __name__ == "__main__":
    main()
