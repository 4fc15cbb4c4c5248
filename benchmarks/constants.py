"""The recipe's limits, each chosen with one data set left out.

    python benchmarks/constants.py --data DIR [--datasets ...] [--encoders lsa] [--most 3000] [--constants fall,...] [--json]

Each constant by itself, the others as they are. Groups: every data set (at most so many documents; the prior given for
spouse), and every planted scenario of `guard.py` in two seeds that its table does not use. Chosen is the value with the best mean accuracy over
the other groups, real ones and planted ones for as much together (of equals the one nearest to ours); gold labels of the training documents choose and score.
    fall        how much worse left-out votes may be foretold before the loop turns back (`posteriors.FALL`)
    clearly     how many times as much text must tell of left-out votes before it is lowered (`loudness.CLEARLY`)
    shrunk      votes of the whole source that each of its words is given (`source_behaviour.SHRUNK`)
    rise        by what share left-out votes must be foretold better before an encoder is heard less (`encoder_say.RISE`); ask
                for it with two encoders, as in --encoders minilm+lsa
    knows       z of the text below which majority vote answers (`guard.KNOWS`; with few documents two thirds of it)
    doubt       agreement with votes that may be lost to a guessed prior (`guard.DOUBT`)
    swallowed   of the answers that the prior calls for, below which the balanced classifier answers (`guard.SWALLOWED`)
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from default import PRIORS
from guard import GRID, SETS, Case, encoded, planted
from unruly.recipe import encoder_say, guard, loudness, source_behaviour
from unruly.recipe import posteriors as loop
from unruly.recipe.balanced import class_balanced
from unruly.recipe.class_prior import held_prior
from unruly.recipe.evidence import Evidence
from unruly.recipe.left_out_votes import left_out_agreement
from unruly.recipe.posteriors import WHOLE, Posteriors, gain, posteriors, regressions
from unruly.settings import Settings
from unruly.training.compute import computing

SEEDS = (7, 8)
NEVER = float("inf")
VALUES: dict[str, tuple[float, ...]] = {
    "fall": (0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1, NEVER),
    "clearly": (1.0, 1.1, 1.25, 1.4, 1.6, 2.0, NEVER),
    "shrunk": (1.0, 5.0, 20.0, 100.0),
    "rise": (0.0, 0.01, 0.02, 0.03, 0.05, NEVER),
    "knows": (0.0, 1.5, 3.0, 4.5, 6.0, 9.0),
    "doubt": (0.05, 0.1, 0.15, 0.2, 0.3, NEVER),
    "swallowed": (0.0, 0.05, 0.1, 0.2, 0.4),
}
OURS = {
    "fall": loop.FALL,
    "clearly": loudness.CLEARLY,
    "shrunk": source_behaviour.SHRUNK,
    "rise": encoder_say.RISE,
    "knows": guard.KNOWS,
    "doubt": guard.DOUBT,
    "swallowed": guard.SWALLOWED,
}


@dataclass(frozen=True)
class Facts:
    """What one set of documents comes to; every accuracy in percent."""

    group: str
    few: bool  # so few covered documents that the text's z is judged leniently,
    heard: bool  # or so many that text may be lowered,
    several: bool  # or one of several encoders
    rounds: tuple[tuple[float, float], ...]  # after each: agreement with left-out votes, accuracy
    loud: tuple[tuple[float, float], ...]  # tau, tau / 2, ...: gain, accuracy
    shrunk: dict[float, float]  # accuracy
    says: tuple[
        tuple[float, float], ...
    ]  # after each quartering of an encoder's say: gain, accuracy
    z: float
    turned: bool  # the recipe contradicts most of what sources agree on
    lost: float
    answered: float  # the least share that a class has of the answers that its prior calls for
    trusted: bool  # the prior
    recipe: float
    balanced: float
    majority: float

    def at(self, constant: str, value: float) -> float:
        """The accuracy if this constant had this value."""
        if constant == "fall":
            best = self.rounds[0]
            for one in self.rounds:
                best = one if one[0] > best[0] else best
                if one[0] < best[0] - value:
                    return best[1]
            return self.rounds[-1][1]
        if constant == "clearly":
            kept = self.loud[0]
            for softer in self.loud[1:] if self.heard else ():
                if softer[0] <= value * kept[0]:
                    break
                kept = softer
            return kept[1]
        if constant == "shrunk":
            return self.shrunk[value]
        if constant == "rise":
            kept = self.says[0]
            for lowered in self.says[1:] if self.several else ():
                if lowered[0] <= (1 + value) * kept[0]:
                    break
                kept = lowered
            return kept[1]
        limits = {**OURS, constant: value}
        if self.z < limits["knows"] * (guard.KNOWS_FEW / guard.KNOWS if self.few else 1):
            return self.majority
        if self.turned:
            return self.majority
        if self.lost > limits["doubt"] and not self.trusted:
            return self.balanced
        return self.balanced if self.answered < limits["swallowed"] else self.recipe


def main() -> None:
    """Measure, choose and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=3000, help="documents of each data set")
    parser.add_argument("--constants", default=",".join(VALUES), help="with commas between")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    facts = [measure(case, seed) for case, seed in cases(args)]
    print("| constant | ours | chosen by the others | mean, left out | with ours | at its best |")
    print("|" + "---|" * 6)
    found = {constant: left_out(constant, facts) for constant in args.constants.split(",")}
    if args.json:
        print(json.dumps(found))


def cases(args: argparse.Namespace) -> Iterator[tuple[Case, int]]:
    """The real data sets, then planted ones."""
    for name in args.datasets.split(","):
        features, votes, gold = encoded(args.data / name, args.encoders)
        rows = np.sort(np.random.default_rng(0).permutation(len(gold))[: args.most])
        part = features.take(rows), votes.take(rows), gold[rows]
        yield Case(name, "e", *part, PRIORS.get(name)), 0
    for scenario in GRID:
        for seed in SEEDS:
            yield planted(scenario, seed), seed


def measure(case: Case, seed: int) -> Facts:
    """Everything that the limits look at, and what would come of each answer."""
    votes, gold, settings = case.votes, case.gold, Settings(seed=seed)
    evidence = Evidence.of(votes, np.full(votes.n, -1), case.features.held)

    def right(scores: Posteriors | np.ndarray) -> float:
        table = scores.q if isinstance(scores, Posteriors) else scores
        return 100 * float((evidence.classes[table.argmax(axis=1)] == gold).mean())

    with computing(settings):
        texts = regressions(case.features, evidence.m, settings)
        balanced = class_balanced(texts, evidence)
        held = held_prior(case.prior, texts, evidence, settings)

        def run(tau: float, rounds: int = settings.rounds, turn_back: bool = True) -> Posteriors:
            return posteriors(
                texts,
                evidence,
                held.shares,
                tau=tau,
                rounds=rounds,
                ingredients=replace(WHOLE, turn_back=turn_back),
            )

        walked = [run(settings.tau, t + 1, turn_back=False) for t in range(settings.rounds)]
        halved = list[Posteriors]()
        tau = settings.tau
        while tau >= loudness.LEAST:
            halved.append(run(tau))
            tau /= 2
        shrunk = {}
        for value in VALUES["shrunk"]:
            with patch.object(source_behaviour, "SHRUNK", value):
                shrunk[value] = right(run(settings.tau))
        said = list[tuple[float, float]]()
        for step in encoder_say.walk(
            texts, case.features.owners, evidence, held.shares, settings, rise=0.0
        ):
            encoder_say.give(texts, case.features.owners, step.says)
            said.append((step.gain, right(run(settings.tau))))
        encoder_say.give(texts, case.features.owners, dict.fromkeys(case.features.owners, 1.0))
        fitted = loudness.heard_posteriors(texts, evidence, held.shares, settings)
        z = guard.text_knows(case.features, balanced, evidence, settings)
    answers = fitted.q.argmax(axis=1)
    against, agreed = guard.contradicted(answers, evidence)
    full = np.zeros((votes.n, votes.m))
    full[:, evidence.classes] = guard.majority_shares(evidence)
    covered = int(evidence.covered.sum())
    lean = guard.agreement(balanced.lp.argmax(axis=1), evidence)
    return Facts(
        group=case.name,
        few=covered <= guard.FEW,
        heard=covered >= loudness.ENOUGH,
        several=covered >= encoder_say.ENOUGH and not held.blind,
        rounds=tuple(
            (left_out_agreement(one.scores + one.b, evidence, one.opinion, one.r), right(one))
            for one in walked
        ),
        loud=tuple((gain(one, evidence), right(one)) for one in halved),
        shrunk=shrunk,
        says=tuple(said),
        z=z,
        turned=agreed >= 10 and against > 0.5,
        lost=lean - guard.agreement(answers, evidence),
        answered=guard.least_answered(answers, fitted.pi)[1],
        trusted=held.trusted,
        recipe=right(fitted),
        balanced=right(balanced.lp),
        majority=100 * float(full[np.arange(votes.n), gold].mean()),
    )


def left_out(constant: str, facts: Sequence[Facts]) -> dict[str, object]:
    """One constant by the other groups, each of which counts once."""
    values, ours = VALUES[constant], OURS[constant]
    groups = list(dict.fromkeys(one.group for one in facts))

    def mean(group: str, value: float) -> float:
        return float(np.mean([one.at(constant, value) for one in facts if one.group == group]))

    table = np.array([[mean(group, value) for value in values] for group in groups])
    usual = values.index(ours)
    near = -np.abs(np.arange(len(values)) - usual)
    made = {scenario.name for scenario in GRID}
    real = np.array([group not in made for group in groups])
    # Real data sets count for as much together as planted ones do.
    weight = np.where(real, 1 / max(real.sum(), 1), 1 / max((~real).sum(), 1))
    chosen = []
    for g in range(len(groups)):
        others = np.delete(weight, g) @ np.delete(table, g, axis=0)
        chosen.append(int(np.lexsort((near, others.round(6)))[-1]))
    there = float(weight @ table[np.arange(len(groups)), chosen] / weight.sum())
    usually, most = (
        float(weight @ column / weight.sum()) for column in (table[:, usual], table.max(axis=1))
    )
    told = ", ".join(
        f"{values[c]:g} ({chosen.count(c)} of {len(groups)})" for c in sorted(set(chosen))
    )
    print(
        f"| {constant} | {ours:g} | {told} | {there:.2f} | {usually:.2f} | {most:.2f} |",
        flush=True,
    )
    return {
        "chosen": {group: values[c] for group, c in zip(groups, chosen, strict=True)},
        "table": {g: r.tolist() for g, r in zip(groups, table, strict=True)},
    }


if __name__ == "__main__":
    main()
