"""How sure the default should be: its temperature, chosen with one data set left out.

    python lab/benchmarks/calibration.py --data DIR [--datasets ...] [--encoders lsa,minilm+lsa] [--most 6000] [--json]

Expected calibration error of the default's probabilities on the validation documents, when its scores are divided by tau times
so much; one seed, at most so many training documents, drawn by chance; and of planted data sets (`guard.py`: those where it should answer by
itself), a mean over them, on their own documents. Gold labels choose and score; the recipe sees none (but the prior of spouse).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from guard import GRID, Scenario, planted
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.log_odds import Real64, softmax
from unruly.recipe.recipe import TOO_SURE, Recipe
from unruly.settings import Settings

from default import PRIORS, SETS, load
from unruly.model.metrics import calibration_error

CHOICES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5)
PLANTED = "planted"


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder of WRENCH folders")
    parser.add_argument("--datasets", default=",".join(SETS), help="with commas between")
    parser.add_argument("--encoders", default="lsa,minilm+lsa", help="sets with commas between")
    parser.add_argument("--most", type=int, default=6000, help="training documents of each")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| data | " + " | ".join(f"{choice:g}" for choice in CHOICES) + " |")
    print("|" + "---|" * (len(CHOICES) + 1))
    errors: dict[str, Real64] = {}
    for name in args.datasets.split(","):
        sets = args.encoders.split(",")
        found = [real(args.data, name, encoders, args.most) for encoders in sets]
        errors[name] = np.mean(found, axis=0)
        print(line(name, errors[name]), flush=True)
    scenarios = [scenario for scenario in GRID if scenario.should == "r"]
    errors[PLANTED] = np.mean([on_planted(scenario) for scenario in scenarios], axis=0)
    print(line(PLANTED, errors[PLANTED]), flush=True)
    left_out(errors)
    if args.json:
        print(json.dumps({name: found.tolist() for name, found in errors.items()}))


def real(data: Path, name: str, encoders: str, most: int) -> Real64:
    """(choices,): the error on the validation documents of one data set."""
    splits = load(data, name, encoders, None, ("train", "valid")).splits
    train, valid = splits["train"], splits["valid"]
    rows = np.sort(np.random.default_rng(0).permutation(train.votes.n)[:most])
    recipe = fit_recipe(
        train.features.take(rows), train.votes.take(rows), Settings(), prior=PRIORS.get(name)
    )
    p = recipe.heads(valid.features, valid.votes).combined
    return errors_of(recipe, valid.gold, p)


def on_planted(scenario: Scenario) -> Real64:
    """(choices,): the error on one planted data set."""
    case = planted(scenario, 0)
    recipe = fit_recipe(case.features, case.votes, Settings(), prior=case.prior)
    return errors_of(recipe, case.gold, recipe.heads(case.features, case.votes).combined)


def errors_of(recipe: Recipe, gold: np.ndarray, p: np.ndarray) -> Real64:
    """(choices,): the error if the scores behind p were divided by tau times each choice."""
    scores = np.log(np.maximum(p.astype(np.float64), 1e-30)) * recipe.temperature / recipe.tau
    return np.array(
        [calibration_error(gold, softmax(scores / one).astype(np.float32)) for one in CHOICES]
    )


def line(name: str, errors: Real64) -> str:
    """One line of Markdown."""
    return f"| {name} | " + " | ".join(f"{error:.3f}" for error in errors) + " |"


def left_out(errors: dict[str, Real64]) -> None:
    """What the other data sets choose, and what it gives on the one left out."""
    print("\n| left out | chosen by the others | there | with ours | at 1 | at its own best |")
    print("|" + "---|" * 6)
    for name, found in errors.items():
        others = np.mean([other for key, other in errors.items() if key != name], axis=0)
        best = int(others.argmin())
        ours, plain = found[CHOICES.index(TOO_SURE)], found[0]
        print(
            f"| {name} | {CHOICES[best]:g} | {found[best]:.3f} | {ours:.3f} | {plain:.3f} | {found.min():.3f} |"
        )


if __name__ == "__main__":
    main()
