"""What each part of the default earns: the mean accuracy of the sets and cuts of `balance.py` without it.

    python lab/benchmarks/parts.py --data DIR [--datasets ...] [--encoders lsa] [--most 1000] [--draws 2] [--json]

Accuracy in percent on these documents (labelled ones are not scored) for the whole default under each state of knowledge of
the class balance, as in `balance.py`; then, for each part, the difference that leaving it out makes, and in brackets the
largest loss and the largest gain of a single set or cut by leaving it out.
    tau, rounds        1 in place of 3, and of 8
    cross-fitting      each document is predicted by a regression that has learnt from it
    repetition         sources that repeat each other count in full
    right votes        no right votes are added to what a source has cast
    even sharpening    b0 is 0: sharper text moves the class shares
    marginals          nothing pulls the answers towards the shares
    assumed shares     with nothing stated, those of all votes
    control variate    labels tell the shares by themselves
Gold labels cut, score, state the shares and are the labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from _options import wrench_parser
from balance import (
    SETS,
    Case,
    answers,
    cases,
    others_right,
    perturbed,
    right,
    stated,
    with_labels,
)
from unruly.denoising import balance, behaviour, em
from unruly.denoising.fit import denoise
from unruly.denoising.regression import CrossFitting
from unruly.settings import Settings
from unruly.statistics import Float32, Float64, log_softmax

STATES = ("nothing", "rough", "exact", "20 labels")


def by_all(self: CrossFitting, weights: Float32, targets: Float64, mass: Float64) -> Float64:
    """Log-probabilities by the regression on all documents."""
    last = self.regression(weights)
    scaled = (self.values - last.centre) * last.scale
    return log_softmax((scaled @ last.weights + last.bias).astype(np.float64))


PARTS: Mapping[str, tuple[object, str, object] | dict[str, Any]] = {
    "tau": {"tau": 1.0},
    "rounds": {"rounds": 1},
    "cross-fitting": (CrossFitting, "held_out", by_all),
    "repetition": (behaviour, "redundancy_discount", lambda votes, q, rates: np.ones(votes.k)),
    "right votes": (behaviour, "_RIGHT", 0.0),
    "even sharpening": (em, "match_marginals", lambda scores, pi, b0, kappa: np.zeros_like(b0)),
    "marginals": (em, "shift", lambda scores, b0, known: b0),
    "assumed shares": (em, "right_vote_shares", lambda votes, _, __: balance.vote_shares(votes)),
    "control variate": (balance, "_slopes", lambda truth, q, weights: np.zeros(q.shape[1])),
}


@contextmanager
def without(part: str | None) -> Iterator[Settings]:
    """The settings of the default without a part; inside, its code is without it."""
    change = PARTS[part] if part else {}
    if isinstance(change, dict):
        yield Settings(**change)
        return
    place, name, other = change
    kept = getattr(place, name)
    setattr(place, name, other)
    try:
        yield Settings()
    finally:
        setattr(place, name, kept)


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=1000, help="documents of each set, at most")
    parser.add_argument("--draws", type=int, default=2, help="of rough shares and of labels")
    args = parser.parse_args()
    found: dict[str, list[list[float]]] = {}  # (cases, states) of each part
    for case in cases(args):
        for part in (None, *PARTS):
            with without(part) as settings:
                found.setdefault(part or "all", []).append(measure(case, settings, args.draws))
        print(case.name, flush=True)
    whole = np.array(found["all"])
    print("| without | " + " | ".join(STATES) + " |\n" + "|---" * (len(STATES) + 1) + "|")
    print("| nothing left out | " + " | ".join(f"{x:.1f}" for x in whole.mean(axis=0)) + " |")
    for part in PARTS:
        apart = np.array(found[part]) - whole  # (cases, states)
        columns = zip(apart.mean(axis=0), apart.min(axis=0), apart.max(axis=0), strict=True)
        cells = [f"{mean:+.1f} ({low:+.0f}, {high:+.0f})" for mean, low, high in columns]
        print(f"| {part} | " + " | ".join(cells) + " |")
    if args.json:
        print(json.dumps(found))


def measure(case: Case, settings: Settings, draws: int) -> list[float]:
    """(states,): accuracy in percent."""
    plain = denoise(case.features, case.votes, settings)
    proba = plain.heads(case.features, case.votes).combined
    rough = [stated(case, settings, perturbed(case.truth, i)) for i in range(draws)]
    exact = stated(case, settings, case.truth, exact=True)
    labelled = [with_labels(case, settings, proba, 20, i) for i in range(draws)]
    return [
        right(answers(plain, case), case),
        float(np.mean([right(answers(model, case), case) for model in rough])),
        right(answers(exact, case), case),
        float(np.mean([others_right(case, *found) for found in labelled])),
    ]


if __name__ == "__main__":
    main()
