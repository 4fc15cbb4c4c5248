"""The class shares that are assumed where nothing is stated: estimates from the votes, side by side.

    python lab/benchmarks/assumed_shares.py --data DIR [--datasets ...] [--encoders lsa] [--most 2000] [--seeds 2]

    votes       each class's share of the votes on a document, averaged over documents
    counted     each class's share of all votes
    accuracy    votes weighted by the estimated accuracy of their source
    right       by accuracy, and by the discount for repetition: the product's
    each        each vote weighted by its own probability of being right, and the discount
    documents   the posterior of each class, summed over documents with a vote for it
    shrunk      the product's, accuracies shrunk towards that of all votes as if each source had cast ten more
All but the first two are renewed in every round. Cases are those of balance.py. Accuracy in percent on training documents with
nothing stated, and half the summed difference to the true shares, in points; mean over seeds, which draw the folds. Then how many
cases lie below the better of majority vote and balanced regression by more than a standard error, and by how many points together.
Gold labels cut and score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _options import wrench_parser
from balance import SETS, Case, balanced_regression, bar, cases, majority, right
from unruly.denoising import em
from unruly.denoising.balance import right_vote_shares, vote_shares
from unruly.denoising.behaviour import Behaviour
from unruly.denoising.fit import denoise
from unruly.settings import Settings
from unruly.statistics import Float64, softmax
from unruly.votes.sparse import SparseVotes

SHRINKAGE = 10.0  # votes
Estimate = Callable[[SparseVotes, Float64, Behaviour], Float64]


def normalised(total: NDArray[np.number[Any]]) -> Float64:
    """Shares of totals (m,), half a vote added to each class."""
    return np.asarray((total + 0.5) / (total + 0.5).sum())


def by_accuracy(votes: SparseVotes, scores: Float64, behaviour: Behaviour) -> Float64:
    """The product's without the discount."""
    own = behaviour.log_likelihoods[votes.source, votes.outcome]  # (v, m)
    earned = softmax(scores[votes.row] - own)[np.arange(len(own)), votes.outcome]
    cast = np.bincount(votes.source, minlength=votes.k)
    accuracy = np.bincount(votes.source, earned, votes.k) / np.maximum(cast, 1)
    return normalised(np.bincount(votes.outcome, accuracy[votes.source], votes.m))


def each_vote(votes: SparseVotes, scores: Float64, behaviour: Behaviour) -> Float64:
    """Each vote by its own probability of being right."""
    own = behaviour.log_likelihoods[votes.source, votes.outcome]
    earned = softmax(scores[votes.row] - own)[np.arange(len(own)), votes.outcome]
    return normalised(
        np.bincount(votes.outcome, earned * behaviour.discount[votes.source], votes.m)
    )


def shrunk(votes: SparseVotes, scores: Float64, behaviour: Behaviour) -> Float64:
    """By accuracies that are shrunk towards that of all votes, and the discount."""
    own = behaviour.log_likelihoods[votes.source, votes.outcome]
    earned = softmax(scores[votes.row] - own)[np.arange(len(own)), votes.outcome]
    cast = np.bincount(votes.source, minlength=votes.k)
    of_all = earned.sum() / max(len(earned), 1)
    accuracy = (np.bincount(votes.source, earned, votes.k) + SHRINKAGE * of_all) / (
        cast + SHRINKAGE
    )
    weight = accuracy * behaviour.discount
    return normalised(np.bincount(votes.outcome, weight[votes.source], votes.m))


def documents(votes: SparseVotes, scores: Float64, _: Behaviour) -> Float64:
    """Documents with a vote for a class, by its posterior."""
    return normalised((softmax(scores) * (votes.counts() > 0)).sum(axis=0))


ESTIMATES: dict[str, Estimate] = {
    "votes": lambda votes, _, __: vote_shares(votes),
    "counted": lambda votes, _, __: normalised(votes.counts().sum(axis=0)),
    "accuracy": by_accuracy,
    "right": right_vote_shares,
    "each": each_vote,
    "documents": documents,
    "shrunk": shrunk,
}


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=2000, help="documents of each set, at most")
    parser.add_argument("--seeds", type=int, default=2, help="of the folds")
    args = parser.parse_args()
    print("| data | bar | " + " | ".join(ESTIMATES) + " |\n" + "|---" * (len(ESTIMATES) + 2) + "|")
    found, bars = [], []
    for case in cases(args):
        baselines = {
            "MV": majority(case),
            "MVbal→LR": right(balanced_regression(case), case),
            "documents": case.votes.n,
        }
        bars.append(bar(baselines))
        found.append([measure(case, name, args.seeds) for name in ESTIMATES])
        cells = [f"{accuracy:.1f}, {apart:.0f}" for accuracy, apart in found[-1]]
        print(f"| {case.name} | {bars[-1]:.1f} | " + " | ".join(cells) + " |", flush=True)
    all_of = np.array(found)  # (cases, estimates, 2)
    means = [f"{accuracy:.1f}, {apart:.1f}" for accuracy, apart in all_of.mean(axis=0)]
    print(f"| mean | {np.mean(bars):.1f} | " + " | ".join(means) + " |")
    short = np.minimum(all_of[:, :, 0] - np.array(bars)[:, None], 0)  # (cases, estimates)
    below = [f"{(one < 0).sum()}, {one.sum():.0f}" for one in short.T]
    print("| below | | " + " | ".join(below) + " |")


def measure(case: Case, name: str, seeds: int) -> tuple[float, float]:
    """Accuracy, and the distance of the shares from the true ones, both in percent."""
    setattr(em, "right_vote_shares", ESTIMATES[name])  # noqa: B010
    try:
        models = [
            denoise(case.features, case.votes, Settings(), seed=seed) for seed in range(seeds)
        ]
    finally:
        setattr(em, "right_vote_shares", right_vote_shares)  # noqa: B010
    scores = [right(one.heads(case.features, case.votes).predicted, case) for one in models]
    apart = [50 * np.abs(np.array(one.balance.shares) - case.truth).sum() for one in models]
    return float(np.mean(scores)), float(np.mean(apart))


if __name__ == "__main__":
    main()
