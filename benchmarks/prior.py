"""The guessed class prior: how good it is, and its constants chosen with one data set left out.

    python benchmarks/prior.py --data DIR [--datasets ...] [--encoders lsa] [--sizes 300,4000] [--json]

Every data set as it is, and cut so that its classes have other shares (binary: 13, 30, 70 and 87 % of the second
class; more classes: two skewed mixtures and their mirror images), at most so many documents as each size says; and the
planted scenarios of `guard.py` whose prior is not given, as one more data set. Accuracy of the posteriors in percent on
the training documents, whose gold labels are used for cutting and scoring, and, under "left out", to choose:
    MV        majority vote; a tie of t classes counts 1/t, documents without votes get the commonest class
    true      the recipe under the true shares
    uniform, votes    under these shares
    guessed   under the prior that the default holds, which stands in the column before
Left out: the constants of `foretold_prior.Scale` that give the best mean accuracy on the other data sets (of equals the
first), and what they give there, among priors a quarter apart in log-odds; for two classes what g and the accuracy are
there is read off a grid three times as coarse.
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
from unruly.recipe.class_prior import held_prior
from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.foretold_prior import SCALE, Scale, Tried, best, two
from unruly.recipe.guard import majority_shares
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import gain, posteriors, regressions
from unruly.recipe.released_run import proper, released
from unruly.settings import Settings
from unruly.training.compute import computing
from unruly.votes.votes import Votes

CHOICES = [
    Scale(*three)
    for three in product((25.0, 50.0, 100.0, 200.0), (1.0, 1.5, 2.0, 3.0), (0.0, 0.5, 1.0))
]
PLANTED = "planted"
COARSE, FINE = np.linspace(-3, 3, 9), np.linspace(-3, 3, 25)  # log-odds of the second class


@dataclass(frozen=True, eq=False)
class Row:
    """One set of documents."""

    group: str  # the data set that it is of
    name: str
    documents: int
    votes: float
    truth: Real64  # (m,)
    voted: Real64
    held: Real64  # what the default guesses
    majority: float
    accuracy: dict[str, float]  # under each prior
    tried: tuple[Tried, ...]  # a grid of priors,
    scores: tuple[float, ...]  # and the accuracy under each

    def chosen(self, scale: Scale) -> float:
        """The accuracy under the prior of the grid that these constants choose."""
        prior = best(self.tried, self.voted, self.votes, scale).prior
        return next(s for one, s in zip(self.tried, self.scores, strict=True) if one.prior is prior)


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--sizes", default="300,4000", help="documents of each data set, at most")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| data | documents | true | votes | held | MV | true | uniform | votes | guessed |")
    print("|" + "---|" * 10)
    rows = []
    for group, name, features, votes, gold in cases(args):
        rows.append(measure(group, name, features, votes, gold))
        print(line(rows[-1]), flush=True)
    for size in sorted({row.documents for row in rows if row.group != PLANTED}):
        part = [row for row in rows if row.documents == size and row.group != PLANTED]
        if len(part) > 1:
            print(f"mean of the {len(part)} real sets with {size:,} documents: {means(part)}")
    print(f"mean of all {len(rows)}: {means(rows)}")
    chosen = left_out(rows)
    below = [f"{r.name} ({r.documents:,})" for r in rows if r.accuracy["guessed"] < r.majority - 1]
    print(f"below majority vote by more than a point: {', '.join(below) or 'none'}")
    if args.json:
        print(json.dumps({"left_out": chosen, "below": below}))


def means(rows: Sequence[Row]) -> str:
    """The mean of each column of accuracies."""
    shown = [f"MV {np.mean([row.majority for row in rows]):.1f}"]
    for name in rows[0].accuracy:
        shown.append(f"{name} {np.mean([row.accuracy[name] for row in rows]):.1f}")
    return ", ".join(shown)


def cases(args: argparse.Namespace) -> Iterator[tuple[str, str, Features, Votes, Labels]]:
    """Real data sets and their cuts, then planted ones."""
    for name in args.datasets.split(","):
        features, votes, gold = encoded(args.data / name, args.encoders)
        for wanted, size in product(mixtures(votes.m, gold), args.sizes.split(",")):
            rows = cut(gold, wanted, int(size))
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
    """What is guessed, and the recipe's posteriors under each prior."""
    settings = Settings()
    evidence = Evidence.of(votes, np.full(votes.n, -1), features.held)
    truth = np.bincount(gold, minlength=votes.m)[evidence.classes] / votes.n
    voted = proper(vote_prior(evidence))
    with computing(settings):
        texts = regressions(features, evidence.m, settings)

        def score(prior: Real64) -> float:
            found = posteriors(texts, evidence, proper(prior), tau=settings.tau, rounds=8)
            return 100 * float((evidence.classes[found.q.argmax(axis=1)] == gold).mean())

        def trial(prior: Real64) -> Tried:
            found = posteriors(texts, evidence, proper(prior), tau=settings.tau, rounds=3)
            return Tried(found.pi, gain(found, evidence))

        if evidence.m == 2:
            grid = [two(x) for x in COARSE]
        else:
            grid = [voted**a / (voted**a).sum() for a in (0.0, 0.5, 1.0, 1.5, 2.0)]
            grid.append(released(texts, evidence, settings).estimate)
        tried = tuple(trial(prior) for prior in grid)
        held = held_prior(None, texts, evidence, settings).shares
        named = (
            ("true", truth),
            ("uniform", np.full(evidence.m, 1 / evidence.m)),
            ("votes", voted),
            ("guessed", held),
        )
        accuracy = {told: score(prior) for told, prior in named}
        scores = tuple(score(one.prior) for one in tried)
    if evidence.m == 2:
        tried, scores = finer(tried, scores)
    full = np.zeros((votes.n, votes.m))
    full[:, evidence.classes] = majority_shares(evidence)
    majority = 100 * float(full[np.arange(votes.n), gold].mean())
    cast = float(evidence.said.sum())
    return Row(group, name, votes.n, cast, truth, voted, held, majority, accuracy, tried, scores)


def finer(
    tried: Sequence[Tried], scores: Sequence[float]
) -> tuple[tuple[Tried, ...], tuple[float, ...]]:
    """Priors a quarter apart in log-odds, between those of the coarse grid."""
    gains = np.interp(FINE, COARSE, [one.gain for one in tried])
    between = tuple(Tried(two(x), float(g)) for x, g in zip(FINE, gains, strict=True))
    return between, tuple(np.interp(FINE, COARSE, scores).tolist())


def left_out(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Constants by the other data sets, each of which counts once."""
    groups = list(dict.fromkeys(row.group for row in rows))
    parts = [[row for row in rows if row.group == group] for group in groups]
    table = np.array(
        [[np.mean([row.chosen(scale) for row in part]) for scale in CHOICES] for part in parts]
    )  # (groups, choices)
    usual = CHOICES.index(SCALE)
    print("\n| left out | votes | width | uniform | there | with ours | at its own best | MV |")
    print("|" + "---|" * 8)
    found: list[dict[str, object]] = []
    for g, group in enumerate(groups):
        choice = int(np.delete(table, g, axis=0).mean(axis=0).argmax())
        scale = CHOICES[choice]
        majority = float(np.mean([row.majority for row in parts[g]]))
        print(
            f"| {group} | {scale.votes:g} | {scale.width:g} | {scale.uniform:g} "
            f"| {table[g, choice]:.1f} | {table[g, usual]:.1f} | {table[g].max():.1f} | {majority:.1f} |"
        )
        found.append({"left_out": group, **asdict(scale), "there": float(table[g, choice])})
    print(
        f"mean: left out {np.mean([row['there'] for row in found]):.1f}, with ours {table[:, usual].mean():.1f}"
    )
    return found


def line(row: Row) -> str:
    """One line of Markdown."""
    shares = " | ".join(percent(part) for part in (row.truth, row.voted, row.held))
    scores = " | ".join(f"{score:.1f}" for score in (row.majority, *row.accuracy.values()))
    return f"| {row.name} | {row.documents:,} | {shares} | {scores} |"


def percent(shares: Real64) -> str:
    """13 for a binary task (the second class), 60/20/20 for others."""
    shown = shares[1:] if len(shares) == 2 else shares
    return "/".join(f"{100 * share:.0f}" for share in shown)


if __name__ == "__main__":
    main()
