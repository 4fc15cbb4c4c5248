"""The guessed class prior: how good it is, and its limits chosen with one data set left out.

    python benchmarks/prior.py --data DIR [--datasets ...] [--encoders lsa] [--most 5000] [--json]

Every data set as it is, and cut so that its classes have other shares (binary: 13, 30, 70 and 87 % of the second
class; more classes: two skewed mixtures and their mirror images); and the planted scenarios of `guard.py` whose
prior is not given, as one more data set. Accuracy of the posteriors in percent on the training documents, whose gold
labels are used for cutting and scoring, and, under "left out", to choose the limits of `believed`:
    MV        majority vote; a tie of t classes counts 1/t, documents without votes get the commonest class
    true      the recipe under the true shares
    uniform, votes, estimate    under these shares, whatever is believed
    auto      under the estimate where it is believed, else uniform: what the default does
Left out: limits chosen to give the best mean of `auto` on the other data sets (of equals the most cautious), and what
they give there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np

from guard import GRID, SETS, Labels, encoded, planted
from unruly.features.encoder import Features
from unruly.recipe.evidence import ENOUGH, Evidence
from unruly.recipe.guard import majority_shares
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import posteriors, regressions
from unruly.recipe.released_run import LIMITS, Drift, Limits, believed, proper, released
from unruly.settings import Settings
from unruly.training.compute import computing
from unruly.votes.votes import Votes

CHOICES = [Limits(*pair) for pair in product((2.0, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0), (1.0, 1.25, 1.6))]
PLANTED = "planted"


@dataclass(frozen=True)
class Row:
    """One set of documents."""

    group: str  # the data set that it is of
    name: str
    drift: Drift
    enough: bool  # whether so many documents have votes that a balance may be guessed
    truth: Real64  # (m,)
    majority: float
    accuracy: dict[str, float]  # under each prior

    def auto(self, limits: Limits = LIMITS) -> float:
        """The accuracy under what the default would hold with these limits."""
        kept = self.enough and believed(self.drift, limits)
        return self.accuracy["estimate" if kept else "uniform"]


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=5000, help="documents of each data set")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print(
        "| data | true | drift | balanced | votes | sure | MV | true | uniform | votes | estimate | auto |"
    )
    print("|" + "---|" * 12)
    rows = []
    for group, name, features, votes, gold in cases(args):
        rows.append(measure(group, name, features, votes, gold))
        print(line(rows[-1]), flush=True)
    chosen = left_out(rows)
    below = [row.name for row in rows if row.auto() < row.majority - 0.5]
    print(f"below majority vote by more than half a point: {', '.join(below) or 'none'}")
    if args.json:
        print(json.dumps({"left_out": chosen, "below": below}))


def cases(args: argparse.Namespace) -> Iterator[tuple[str, str, Features, Votes, Labels]]:
    """Real data sets and their cuts, then planted ones."""
    for name in args.datasets.split(","):
        features, votes, gold = encoded(args.data / name, args.encoders)
        for wanted in mixtures(votes.m, gold):
            rows = cut(gold, wanted, args.most)
            told = name if wanted is None else f"{name} cut to {percent(np.array(wanted))}"
            yield name, told, features.take(rows), votes.take(rows), gold[rows]
    for scenario in GRID:
        if not scenario.given and scenario.should == "r":
            case = planted(scenario, seed=7)
            yield PLANTED, scenario.name, case.features, case.votes, case.gold


def mixtures(m: int, gold: Labels) -> Sequence[Sequence[float] | None]:
    """The shares of the classes to cut to; None: as they are."""
    if np.bincount(gold).min() < 0.5 * len(gold) / m:
        return [None]
    if m == 2:
        return [None, *((1 - p, p) for p in (0.13, 0.3, 0.7, 0.87))]
    falling = np.arange(m, 0, -1.0)
    steep = 2.0 ** -np.arange(m)
    return [None, *(s / s.sum() for s in (falling, falling[::-1], steep, steep[::-1]))]


def cut(gold: Labels, wanted: Sequence[float] | None, most: int) -> Labels:
    """Rows drawn by chance, of which each class has the wanted share."""
    rng = np.random.default_rng(1)
    if wanted is None:
        return np.sort(rng.permutation(len(gold))[:most])
    shares = np.asarray(wanted)
    size = min(float((np.bincount(gold) / shares).min()), most)
    parts = [
        rng.permutation(np.flatnonzero(gold == c))[: round(size * share)]
        for c, share in enumerate(shares)
    ]
    return np.sort(np.concatenate(parts))


def measure(group: str, name: str, features: Features, votes: Votes, gold: Labels) -> Row:
    """The drift, and the recipe's posteriors under each prior."""
    settings = Settings()
    evidence = Evidence.of(votes, np.full(votes.n, -1))
    truth = np.bincount(gold, minlength=votes.m)[evidence.classes] / votes.n
    with computing(settings):
        texts = regressions(features, evidence.m, settings)
        drift = released(texts, evidence, settings)
        even = np.full(evidence.m, 1 / evidence.m)
        accuracy = {}
        for prior, shares in (
            ("true", truth),
            ("uniform", even),
            ("votes", drift.voted),
            ("estimate", drift.estimate),
        ):
            found = posteriors(
                texts, evidence, proper(shares), tau=settings.tau, rounds=settings.rounds
            )
            answers = evidence.classes[found.q.argmax(axis=1)]
            accuracy[prior] = 100 * float((answers == gold).mean())
    full = np.zeros((votes.n, votes.m))
    full[:, evidence.classes] = majority_shares(evidence)
    majority = 100 * float(full[np.arange(votes.n), gold].mean())
    enough = int(evidence.covered.sum()) >= ENOUGH
    return Row(group, name, drift, enough, truth, majority, accuracy)


def left_out(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Limits by the other data sets, each of which counts once."""
    groups = list(dict.fromkeys(row.group for row in rows))
    table = np.array(
        [
            [
                np.mean([row.auto(limits) for row in rows if row.group == group])
                for limits in CHOICES
            ]
            for group in groups
        ]
    )
    usual = CHOICES.index(LIMITS)
    print("\n| left out | far | support | there | with ours | at its own best | MV |")
    print("|" + "---|" * 7)
    found: list[dict[str, object]] = []
    for g, group in enumerate(groups):
        others = np.delete(table, g, axis=0).mean(axis=0)
        best = int(np.flatnonzero(others > others.max() - 1e-9)[-1])
        limits = CHOICES[best]
        majority = float(np.mean([row.majority for row in rows if row.group == group]))
        print(
            f"| {group} | {limits.far:g} | {limits.support:g} "
            f"| {table[g, best]:.1f} | {table[g, usual]:.1f} | {table[g].max():.1f} | {majority:.1f} |"
        )
        found.append({"left_out": group, **asdict(limits), "there": float(table[g, best])})
    print(
        f"mean: left out {np.mean([row['there'] for row in found]):.1f}, with ours {table[:, usual].mean():.1f}"
    )
    return found


def line(row: Row) -> str:
    """One line of Markdown."""
    shares = (row.truth, row.drift.mass, row.drift.named, row.drift.voted)
    scores = (row.majority, *row.accuracy.values(), row.auto())
    return (
        f"| {row.name} | {' | '.join(percent(part) for part in shares)} | {row.drift.sure:.2f} "
        f"| {' | '.join(f'{score:.1f}' for score in scores)} |"
    )


def percent(shares: Real64) -> str:
    """13 for a binary task (the second class), 60/20/20 for others."""
    shown = shares[1:] if len(shares) == 2 else shares
    return "/".join(f"{100 * share:.0f}" for share in shown)


if __name__ == "__main__":
    main()
