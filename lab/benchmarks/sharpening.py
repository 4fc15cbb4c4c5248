"""Which class shares sharpened text should keep: the shift b0 of the default, in five ways.

    python lab/benchmarks/sharpening.py --data DIR [--datasets ...] [--most 2000] [--draws 2] [--b0 plain,once] [--json]

The default sharpens text by tau inside its rounds. Sharper text has other class shares, so a shift b0 says where the
constraint on the class marginals starts from:
    none    0: whatever sharpening gives
    once    -(tau - 1) log mean q: the prior that text has learnt counts once, not tau times
    text    mean softmax(tau lp + b0) = mean softmax(lp)
    pooled  mean softmax(tau lp + ev + b0) = mean softmax(lp + ev / tau)
    plain   mean softmax(tau lp + ev + b0) = mean softmax(lp + ev): the product's
Cases are those of balance.py, and cuts of documents with votes of which majority vote is right on 91 % and one class has
90 %. Accuracy in percent on training documents, lsa, beside majority vote (MV) and the balanced regression. Gold labels cut,
score, state the shares and are the labels; under "nothing" they do nothing else but cut and score. "short" is the sum of the points by which
"nothing" lies below the better baseline less a standard error.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _options import wrench_parser
from balance import (
    SETS,
    Case,
    answers,
    balanced_regression,
    bar,
    cases,
    majority,
    majority_shares,
    others_right,
    perturbed,
    right,
    stated,
    with_labels,
)
from unruly.denoising import em, fit
from unruly.denoising.balance import EXACT, Balance, match_marginals, shift
from unruly.denoising.behaviour import evidence, source_behaviour
from unruly.learner import with_labels as labelled
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.statistics import softmax

Real = NDArray[np.float64]
B0 = Callable[[Real, Real, Real, float], Real]  # of lp, ev, mean q and tau
SHARE, RIGHT, LEAST = 0.9, 0.91, 200  # of the cuts with right votes: their size, at least


def kept(scores: Real, plain: Real) -> Real:
    """(m,): the shift that gives sharp scores (n, m) the class shares of the plain posteriors (n, m)."""
    return match_marginals(scores, plain.mean(axis=0), np.zeros(scores.shape[1]), EXACT)


WAYS: dict[str, B0] = {
    "none": lambda lp, ev, mean, tau: np.zeros(len(mean)),
    "once": lambda lp, ev, mean, tau: -(tau - 1) * np.log(np.maximum(mean, 1e-6)),
    "text": lambda lp, ev, mean, tau: kept(tau * lp, softmax(lp)),
    "pooled": lambda lp, ev, mean, tau: kept(tau * lp + ev, softmax(lp + ev / tau)),
    "plain": lambda lp, ev, mean, tau: kept(tau * lp + ev, softmax(lp + ev)),
}


def rounds(
    way: B0, task: em.Task, balance: Balance, settings: Settings, progress: Progress = SILENT
) -> em.Posteriors:
    """`expectation_maximisation`, with b0 in this way."""
    q, mass = em._first_targets(task, balance.shares)
    weights: list[Any] = [None] * len(task.texts)
    for t in range(settings.rounds):
        steps = em.STEPS if t else em.FIRST_STEPS
        weights = [
            text.descend(w, q, mass, steps) for text, w in zip(task.texts, weights, strict=True)
        ]
        behaviour = source_behaviour(task.votes, q, mass)
        pairs = zip(task.texts, weights, strict=True)
        by_encoder = tuple(text.held_out(w, q, mass) for text, w in pairs)
        lp, ev = (
            em.pooled(by_encoder, task.weights),
            evidence(task.votes, behaviour.log_likelihoods),
        )
        b0 = way(lp, ev, mass @ q / mass.sum(), settings.tau)
        b0 = b0 - b0.mean()
        scores = settings.tau * lp + ev
        b = shift(scores, b0, balance)
        posterior = softmax(scores + b)
        q = labelled(posterior, task.clean)
        mass = np.where(task.known, em.LABEL_MASS, 1.0)
    return em.Posteriors(
        posterior, lp, by_encoder, ev, b0, b, behaviour, tuple(weights), balance, settings
    )


def right_votes(case: Case) -> Iterator[Case]:
    """Cuts of a set as it comes: documents with votes, mostly right, one of the two largest classes at 90 %."""
    covered, m = case.votes.covered, case.votes.m
    wins = majority_shares(case)[np.arange(case.votes.n), case.gold] > 0.6
    rng = np.random.default_rng(1)
    for large in np.argsort(-np.bincount(case.gold[covered], minlength=m))[:2]:
        groups = {
            (y, won): rng.permutation(
                np.flatnonzero(covered & (case.gold == y) & (wins if won else ~wins))
            )
            for y in range(m)
            for won in (True, False)
        }
        size = len(groups[int(large), True]) / (SHARE * RIGHT)
        chosen = [
            rows[: round(size * share * (RIGHT if won else 1 - RIGHT))]
            for (y, won), rows in groups.items()
            for share in [SHARE if y == large else (1 - SHARE) / (m - 1)]
        ]
        rows = np.sort(np.concatenate(chosen))
        if len(rows) >= LEAST:
            name = f"{case.name}, right votes, {case.votes.classes[large]}"
            yield Case(name, case.features.take(rows), case.votes.take(rows), case.gold[rows])


def measure(case: Case, draws: int) -> dict[str, float]:
    """Nothing stated, rough statements and twenty labels."""
    settings = Settings()
    plain = fit.denoise(case.features, case.votes, settings)
    heads = plain.heads(case.features, case.votes)
    rough = [stated(case, settings, perturbed(case.truth, i)) for i in range(draws)]
    labelled = [with_labels(case, settings, heads.combined, 20, seed) for seed in range(draws)]
    return {
        "nothing": right(heads.predicted, case),
        "rough": float(np.mean([right(answers(model, case), case) for model in rough])),
        "20": float(np.mean([others_right(case, *one) for one in labelled])),
    }


def group(case: Case) -> str:
    """Which mean a case belongs to."""
    if "right votes" in case.name:
        return "right votes"
    return "one class has 90 %" if "90" in case.name.split(" ")[-1].split("/") else "24"


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--most", type=int, default=2000, help="documents of each set, at most")
    parser.add_argument("--draws", type=int, default=2, help="of rough shares and of labels")
    parser.add_argument("--b0", default=",".join(WAYS), help="with commas between")
    args = parser.parse_args()
    found = list(cases(argparse.Namespace(**vars(args), encoders="lsa")))
    uncut = [case for case in found if " " not in case.name]
    found += [one for case in uncut for one in right_votes(case)]
    base = [
        {
            "MV": majority(case),
            "MVbal→LR": right(balanced_regression(case), case),
            "documents": case.votes.n,
        }
        for case in found
    ]
    print("| b0 | cases | nothing | rough | 20 labels | short |\n|" + "---|" * 6)
    rows = []
    for name in args.b0.split(","):
        setattr(fit, "expectation_maximisation", partial(rounds, WAYS[name]))  # noqa: B010
        scored = [measure(case, args.draws) for case in found]
        for part in ("24", "one class has 90 %", "right votes", "all"):
            inside = [i for i, case in enumerate(found) if part in ("all", group(case))]
            if not inside:
                continue
            mean = {key: float(np.mean([scored[i][key] for i in inside])) for key in scored[0]}
            short = sum(min(scored[i]["nothing"] - bar(base[i]), 0.0) for i in inside)
            rows.append({"b0": name, "cases": part, **mean, "short": short})
            cells = (f"{mean['nothing']:.1f}", f"{mean['rough']:.1f}", f"{mean['20']:.1f}")
            print(f"| {name} | {part} | {' | '.join(cells)} | {short:.0f} |", flush=True)
    if args.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
