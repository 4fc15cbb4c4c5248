"""The guard on a grid of planted scenarios and on real data: what it did, and what that was worth.

    python benchmarks/guard.py [--seeds 3] [--json]                planted scenarios
    python benchmarks/guard.py --data DIR [--datasets ...] [--encoders lsa] [--most 3000] [--json]    real ones

Accuracy in percent on the training documents, all of them, with no gold used but for scoring:
    MV      majority vote; a tie of t classes counts 1/t, documents without votes get the commonest class
    MVbal   the plain class-balanced classifier
    recipe  the default with its guard taken off
    final   the default
`answers` is who answered in each seed (r recipe, b balanced, m majority vote), `named` how many sources
were said to be contradicted by everything else, `below` whether final ends below MV by more than two
standard errors of the paired difference and half a point. `should` is what the guard should do: r stand back, f fall
back, e either (so little data, or votes so near to chance, that luck decides), u what cannot be known from votes and texts (the mirror
image of a rule set has the same votes; a class prior that is given is believed). The guard's
thresholds were set while looking at this grid (its first seeds) and at the training labels of these data
sets: other seeds and other data are the fair test. Real data sets are also
cut to 13 % and 30 % of the second class.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import Cache
from unruly.features.encoder import Features
from unruly.features.spec import encoder_from
from unruly.labelmodels.planted import planted_votes
from unruly.recipe.balanced import class_balanced
from unruly.recipe.evidence import Evidence
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.guard import majority_shares
from unruly.recipe.planted_features import planted_features
from unruly.recipe.posteriors import Ingredients, regressions
from unruly.settings import Settings
from unruly.texts.corpus import Corpus
from unruly.training.compute import computing
from unruly.votes.votes import Votes

SETS = ("youtube", "imdb", "yelp", "agnews", "spouse", "spouse_bert")
Labels = NDArray[np.int64]
Prior = tuple[float, ...] | None


@dataclass(frozen=True)
class Scenario:
    """Votes and features to plant; source accuracies and coverages are drawn from the two spans."""

    name: str
    should: str = "r"
    n: int = 2000
    k: int = 10
    m: int = 2
    accuracy: tuple[float, float] = (0.6, 0.9)
    coverage: tuple[float, float] = (0.05, 0.3)
    inverted: int = 0
    one_class: float = 0.5  # share of sources that say one class only
    copies: int = 0  # sources that repeat the first one on 95 % of the documents
    unheard: int = 0  # classes that no source votes for
    prior: tuple[float, ...] = ()
    given: tuple[float, ...] = ()
    signal: float = 1.0
    echo: float = 0.0  # how loudly the words that fired a source are heard in the text
    first: tuple[float, float] | None = None  # accuracy and coverage of source 0


TEN = Scenario(
    "ten skewed classes, 26 one-class sources",
    n=3000,
    k=26,
    m=10,
    one_class=1.0,
    accuracy=(0.4, 0.95),
    coverage=(0.01, 0.12),
    prior=(0.3, 0.24, 0.13, 0.12, 0.11, 0.05, 0.02, 0.02, 0.005, 0.005),
    signal=0.8,
)

GRID = (
    Scenario("healthy"),
    Scenario("weak text", signal=0.5),
    Scenario("no text signal", "f", signal=0.0),
    Scenario(
        "no text signal, excellent votes",
        "f",
        signal=0.0,
        accuracy=(0.93, 0.99),
        coverage=(0.3, 0.6),
    ),
    Scenario("one inverted source", inverted=1),
    Scenario("two inverted of ten", inverted=2, one_class=0.0),
    Scenario("three inverted of ten", "e", inverted=3, one_class=0.0),
    Scenario("eight inverted of ten", "u", inverted=8, one_class=0.0),
    Scenario("adversary on half of the documents", first=(0.05, 0.5), one_class=0.0),
    Scenario("one-class sources only", one_class=1.0),
    Scenario("six near-duplicates", k=15, copies=5),
    Scenario("one source", k=1, one_class=0.0, coverage=(0.5, 0.5)),
    Scenario("coverage 3 %", "e", coverage=(0.003, 0.003)),
    Scenario("30 documents", "e", n=30),
    Scenario("100 documents", "e", n=100),
    Scenario("30 documents, no text signal", "f", n=30, signal=0.0),
    Scenario("100 documents, no text signal", "f", n=100, signal=0.0),
    Scenario("13 % positives, prior unknown", prior=(0.87, 0.13)),
    Scenario("13 % positives, prior right", prior=(0.87, 0.13), given=(0.87, 0.13)),
    Scenario("13 % positives, prior given as 26 %", prior=(0.87, 0.13), given=(0.74, 0.26)),
    Scenario("13 % positives, prior given as 50 %", "u", prior=(0.87, 0.13), given=(0.5, 0.5)),
    Scenario("30 % positives, prior unknown", prior=(0.7, 0.3)),
    Scenario("7 % positives, prior unknown", prior=(0.93, 0.07)),
    Scenario("13 % positives, weak text", signal=0.5, prior=(0.87, 0.13)),
    Scenario(
        "13 % positives, weak text, one-class sources only",
        signal=0.5,
        one_class=1.0,
        prior=(0.87, 0.13),
    ),
    Scenario("text echoes the rules", echo=1.0),
    Scenario("weak text that echoes the rules", "e", signal=0.5, echo=1.0),
    Scenario("text does nothing but echo the rules", "u", signal=0.0, echo=1.0),
    Scenario("four classes, skewed", m=4, k=16, prior=(0.6, 0.25, 0.1, 0.05)),
    Scenario("ten classes", m=10, k=60, n=3000, coverage=(0.02, 0.1)),
    Scenario("73 sources", k=73, coverage=(0.005, 0.03)),
    Scenario("73 sources, 13 % positives", k=73, coverage=(0.005, 0.03), prior=(0.87, 0.13)),
    Scenario(
        "13 % positives, 73 good one-class sources on 4 in 10 documents",
        n=4500,
        k=73,
        one_class=1.0,
        accuracy=(0.85, 1.0),
        coverage=(0.002, 0.015),
        prior=(0.87, 0.13),
    ),
    Scenario(
        "13 % positives, votes on 2 in 10 documents",
        n=4000,
        coverage=(0.01, 0.03),
        prior=(0.87, 0.13),
    ),
    Scenario(
        "votes on 2 in 10 documents, half of them by a coin",
        n=4000,
        coverage=(0.01, 0.03),
        signal=0.5,
        first=(0.5, 0.15),
    ),
    Scenario(
        "six classes, 68 one-class sources, one class rare",
        n=5000,
        k=68,
        m=6,
        one_class=1.0,
        accuracy=(0.4, 0.95),
        coverage=(0.005, 0.05),
        prior=(0.22, 0.22, 0.2, 0.18, 0.16, 0.02),
    ),
    TEN,
    replace(TEN, name="the same, weak text", should="e", signal=0.5),
    Scenario("a class nobody votes for", m=3, unheard=1, prior=(0.45, 0.45, 0.1), one_class=1.0),
)


@dataclass(frozen=True, eq=False)
class Case:
    """One set of documents."""

    name: str
    should: str
    features: Features
    votes: Votes
    gold: Labels
    prior: Prior = None


@dataclass
class Line:
    """One row of the table: means over seeds."""

    name: str
    should: str
    answers: str = ""
    named: int = 0
    majority: float = 0.0
    balanced: float = 0.0
    recipe: float = 0.0
    final: float = 0.0
    error: float = 0.0  # standard error of final - majority
    below: bool = False
    notes: list[str] = field(default_factory=list)


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=3000, help="documents of each data set")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| scenario | should | answers | named | MV | MVbal | recipe | final | below |")
    print("|" + "---|" * 9)
    lines = []
    if args.data:
        for name in args.datasets.split(","):
            for case in real(args.data / name, args.encoders, args.most):
                lines.append(measure([case]))
    else:
        for scenario in GRID:
            lines.append(measure([planted(scenario, seed) for seed in range(args.seeds)]))
    worst = [line.name for line in lines if line.below and line.should != "u"]
    print(f"below majority vote where it need not be: {', '.join(worst) or 'none'}")
    if args.json:
        print(json.dumps({"lines": [asdict(line) for line in lines], "below": worst}))


def planted(scenario: Scenario, seed: int) -> Case:
    """Draw one set of documents."""
    s = scenario
    rng = np.random.default_rng([seed, 3])
    m = s.m - s.unheard  # classes that sources know of
    accuracy = rng.uniform(*s.accuracy, s.k).tolist()
    coverage = rng.uniform(*s.coverage, s.k).tolist()
    for j in range(s.inverted):
        accuracy[j] = (1 - accuracy[j]) / (m - 1)
    if s.first:
        accuracy[0], coverage[0] = s.first
    prior = np.array(s.prior) if s.prior else np.full(s.m, 1 / s.m)
    one_class = {j: j % m for j in range(round(s.one_class * s.k))}
    for j, c in one_class.items():
        limits = (prior[c] / max(accuracy[j], 1e-6), (1 - prior[c]) / max(1 - accuracy[j], 1e-6))
        coverage[j] = min(coverage[j], 0.95 * min(limits))
    votes, gold = planted_votes(
        s.n,
        accuracy,
        coverage,
        classes=s.m,
        prior=prior.tolist(),
        one_class=one_class,
        copies=dict.fromkeys(range(s.k - s.copies, s.k), 0) if s.copies else None,
        fidelity=0.95,
        seed=seed,
    )
    truth = gold.astype(np.int64)
    features = planted_features(votes, truth, signal=s.signal, echo=s.echo, seed=seed)
    return Case(s.name, s.should, features, votes, truth, s.given or None)


def encoded(folder: Path, encoders: str) -> tuple[Features, Votes, Labels]:
    """The training documents of one data set."""
    corpus, votes = Corpus.from_wrench(folder, "train"), Votes.from_wrench(folder, "train")
    gold = np.asarray(corpus.gold, np.int64)
    stored = folder / "train_features.npy"
    if stored.is_file():
        return Features.from_array(np.load(stored), stored.name), votes, gold
    cache = Cache()
    encoder = encoder_from(encoders.split("+")).fit(corpus, cache).blotted(corpus, votes, cache)
    return encoder.encode(corpus, cache), votes, gold


def real(folder: Path, encoders: str, most: int) -> Iterator[Case]:
    """One data set as it is, with its prior given if it is skewed, and cut to 13 % and 30 %."""
    features, votes, gold = encoded(folder, encoders)
    rng = np.random.default_rng(0)
    everything = rng.permutation(len(gold))
    shares = np.bincount(gold, minlength=votes.m) / len(gold)

    def case(name: str, rows: NDArray[np.int64], prior: Prior = None) -> Case:
        rows = np.sort(rows[:most])
        return Case(name, "e", features.take(rows), votes.take(rows), gold[rows], prior)

    yield case(folder.name, everything)
    if shares.min() < 0.5 / votes.m:
        given = tuple(np.round(shares, 1).clip(0.1, 0.9).tolist())
        yield case(f"{folder.name}, prior given", everything, given)
    elif votes.m == 2:
        for share in (0.13, 0.3):
            first, second = (everything[gold[everything] == c] for c in (0, 1))
            kept = second[: int(len(first) * share / (1 - share))]
            mixed = rng.permutation(np.concatenate([first, kept]))
            yield case(f"{folder.name}, cut to {share:.0%}", mixed)


def measure(cases: Sequence[Case]) -> Line:
    """The same scenario in all its seeds, as one row."""
    line = Line(cases[0].name, cases[0].should)
    gains, rows = [], []
    for seed, case in enumerate(cases):
        votes, gold, settings = case.votes, case.gold, Settings(seed=seed)
        evidence = Evidence.of(votes, np.full(votes.n, -1))
        with computing(settings):
            plain = class_balanced(regressions(case.features, evidence.m, settings), evidence)
        bare = fit_recipe(
            case.features,
            votes,
            settings,
            prior=case.prior,
            ingredients=Ingredients(guard=False),
        )
        final = fit_recipe(case.features, votes, settings, prior=case.prior)
        shares = np.zeros((votes.n, votes.m))
        shares[:, evidence.classes] = majority_shares(evidence)
        credit = shares[np.arange(votes.n), gold]
        right = final.heads(case.features, votes).predicted == gold
        recipe = bare.heads(case.features, votes).predicted == gold
        balanced = evidence.classes[plain.lp.argmax(axis=1)] == gold
        rows.append([credit.mean(), balanced.mean(), recipe.mean(), right.mean()])
        gains.append(right - credit)
        line.answers += final.answers[0]
        line.named += sum("is contradicted by texts" in note for note in final.notes)
        line.notes = list(final.notes)
    line.majority, line.balanced, line.recipe, line.final = (
        100 * float(value) for value in np.mean(rows, axis=0)
    )
    gain = np.concatenate(gains)
    line.error = 100 * float(gain.std() / len(gain) ** 0.5)
    line.below = bool(line.final < line.majority - 2 * line.error - 0.5)
    print(
        f"| {line.name} | {line.should} | {line.answers} | {line.named} | {line.majority:.1f} | {line.balanced:.1f} "
        f"| {line.recipe:.1f} | {line.final:.1f} | {'yes' if line.below else 'no'} |",
        flush=True,
    )
    return line


if __name__ == "__main__":
    main()
