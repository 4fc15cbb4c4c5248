"""How a source's votes are counted: a hit rate and a false-alarm rate for each class, or a rate for every pair of classes.

    python lab/benchmarks/rates.py --data DIR [--datasets agnews,trec,yoruba] [--encoders lsa] [--most 3000] [--seeds 4]

    common   P(votes c | class c) and P(votes c | another class): the product's
    pairs    P(votes c | class y) for every y, as Dawid and Skene have it
    shrunk   each pair's own rate, with 200 documents at the common one
Cases are those of balance.py; with two classes all three are the same. Accuracy in percent on training documents, mean over seeds:
nothing stated, shares stated roughly, the true shares, 20 labels. Gold labels cut, score, state the shares and are the labels; under
"nothing" they do nothing else but cut and score.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from _options import wrench_parser
from balance import Case, answers, cases, majority, others_right, perturbed, right, stated
from balance import with_labels as labelled
from unruly.denoising import em
from unruly.denoising.behaviour import Behaviour, redundancy_discount, source_behaviour
from unruly.denoising.fit import denoise
from unruly.settings import Settings
from unruly.statistics import Float64
from unruly.votes.sparse import SparseVotes

Counting = Callable[[SparseVotes, Float64, Float64], Behaviour]
RIGHT = 4.0  # votes that each source is believed to have cast before, as in the product
LABELS = 20


def by_pairs(votes: SparseVotes, q: Float64, mass: Float64, shared: float = 0.0) -> Behaviour:
    """A rate for every pair of true and voted class; `shared` more documents of each class have the common rate."""
    k, m = votes.k, votes.m
    weighted = q * mass[:, None]
    total = weighted.sum(axis=0)[:, None]  # (y, 1)
    extra = total / total.sum()
    counts = np.asarray(votes.onehot.T @ weighted).reshape(k, m, m).transpose(0, 2, 1)  # (k, y, c)
    cast = (
        counts + extra * (1 + RIGHT * np.eye(m)) + shared * source_behaviour(votes, q, mass).rates
    )
    rates = np.maximum(cast / (total + (m + RIGHT) * extra + shared), 1e-6)
    return Behaviour(rates, redundancy_discount(votes, q, rates))


COUNTINGS: dict[str, Counting] = {
    "common": source_behaviour,
    "pairs": by_pairs,
    "shrunk": partial(by_pairs, shared=200.0),
}


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, "agnews,trec,yoruba")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=3000, help="documents of each set, at most")
    parser.add_argument("--seeds", type=int, default=4, help="of folds, statements and labels")
    args = parser.parse_args()
    print("| data | MV | " + " | ".join(COUNTINGS) + " |\n" + "|---" * (len(COUNTINGS) + 2) + "|")
    rows: list[dict[str, Float64]] = []
    for case in cases(args):
        rows.append({name: measure(case, name, args.seeds) for name in COUNTINGS})
        print(line(f"{case.name} | {majority(case):.1f}", rows[-1]), flush=True)
    print(line("mean | ", {name: np.mean([r[name] for r in rows], axis=0) for name in COUNTINGS}))


def line(first: str, found: dict[str, Float64]) -> str:
    """One row of the table."""
    cells = [", ".join(f"{value:.1f}" for value in values) for values in found.values()]
    return f"| {first} | " + " | ".join(cells) + " |"


def measure(case: Case, counting: str, seeds: int) -> Float64:
    """(4,): nothing stated, rough and exact shares, 20 labels."""
    setattr(em, "source_behaviour", COUNTINGS[counting])  # noqa: B010
    try:
        found = np.array([once(case, Settings(), seed) for seed in range(seeds)])  # (seeds, 4)
        return np.asarray(found.mean(axis=0))
    finally:
        setattr(em, "source_behaviour", source_behaviour)  # noqa: B010


def once(case: Case, settings: Settings, seed: int) -> tuple[float, ...]:
    """The same with one seed."""
    plain = denoise(case.features, case.votes, settings, seed=seed)
    proba = plain.heads(case.features, case.votes).combined
    rough = stated(case, settings, perturbed(case.truth, seed), seed=seed)
    exact = stated(case, settings, case.truth, exact=True, seed=seed)
    return (
        *(right(answers(model, case), case) for model in (plain, rough, exact)),
        others_right(case, *labelled(case, settings, proba, LABELS, seed)),
    )


if __name__ == "__main__":
    main()
