"""How far the default's confidence is from its accuracy, by what is known of the class balance, and what other
temperatures would do.

    python lab/benchmarks/calibration.py --data DIR [--datasets ...] [--encoders lsa] [--most 3000] [--draws 2] [--whole]
                                         [--json]

The sets and cuts of `balance.py` (with --whole, the sets alone, with all documents); two thirds of the documents are learnt
from, the others scored. Each cell has the expected calibration error and, behind it, the mean confidence less the accuracy:
above 0 is too sure. The states are those of `balance.py`. The last lines have the means, the error that chance alone
would leave, and the means if scores were divided by other numbers than `Settings.tau` or what labels tell.
Gold labels score, cut, state the shares and are the labels; under "nothing" they only cut and score.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import balance
from _options import wrench_parser
from balance import SETS, Case, cases, perturbed, stated, with_labels
from unruly.denoising.denoised import DenoisedModel
from unruly.denoising.fit import denoise
from unruly.model.evaluation import calibration_error
from unruly.settings import Settings
from unruly.statistics import Float64, softmax

STATES = ("nothing", "rough", "exact", "20", "50")
CHOICES = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
Figures = NDArray[
    np.float64
]  # (3 + choices,): error, confidence less accuracy, error of chance, error at each choice


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=3000, help="documents of each set, at most")
    parser.add_argument("--draws", type=int, default=2, help="of rough shares and of labels")
    parser.add_argument("--whole", action="store_true", help="no cuts, and all documents")
    args = parser.parse_args()
    print("| data | " + " | ".join(STATES) + " |\n|" + "---|" * (len(STATES) + 1))
    rows: dict[str, Figures] = {}  # (states, 3 + choices)
    for case in whole(args) if args.whole else cases(args):
        found = measure(case, args.draws)
        rows[case.name] = np.array([np.mean(found[state], axis=0) for state in STATES])
        cells = [f"{error:.3f} ({sure:+.3f})" for error, sure, *_ in rows[case.name]]
        print(f"| {case.name} | " + " | ".join(cells) + " |", flush=True)
    mean = np.mean(list(rows.values()), axis=0)  # (states, 3 + choices)
    names = ("mean", "too sure", "chance", *(f"divided by {choice:g}" for choice in CHOICES))
    for name, values in zip(names, mean.T, strict=True):
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    if args.json:
        print(json.dumps({name: found.tolist() for name, found in rows.items()}))


def whole(args: argparse.Namespace) -> Iterator[Case]:
    """Each data set as it is."""
    for name in args.datasets.split(","):
        yield Case(name, *balance.encoded(args.data / name, args.encoders))


def measure(case: Case, draws: int) -> dict[str, list[Figures]]:
    """The figures of each draw under each state."""
    order = np.random.default_rng(5).permutation(case.votes.n)
    cut = 2 * case.votes.n // 3
    train, test = (part(case, np.sort(rows)) for rows in (order[:cut], order[cut:]))
    settings = Settings()
    plain = denoise(train.features, train.votes, settings)
    proba = plain.heads(train.features, train.votes).combined
    models = {
        "nothing": [plain],
        "rough": [stated(train, settings, perturbed(train.truth, i)) for i in range(draws)],
        "exact": [stated(train, settings, train.truth, exact=True)],
    }
    for size in (20, 50):
        models[str(size)] = [with_labels(train, settings, proba, size, i)[0] for i in range(draws)]
    return {state: [figures(model, test) for model in some] for state, some in models.items()}


def part(case: Case, rows: NDArray[np.intp]) -> Case:
    """Some documents."""
    return Case(case.name, case.features.take(rows), case.votes.take(rows), case.gold[rows])


def figures(model: DenoisedModel, test: Case) -> Figures:
    """Of one model."""
    p = model.heads(test.features, test.votes).combined.astype(np.float64)
    confidence = p.max(axis=1)
    sure = confidence.mean() - (p.argmax(axis=1) == test.gold).mean()
    rng = np.random.default_rng(0)
    drawn = [(p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1) for _ in range(20)]
    chance = np.mean([calibration_error(labels, p) for labels in drawn])
    scores: Float64 = np.log(np.maximum(p, 1e-30)) * model.temperature
    others = [
        calibration_error(test.gold, softmax(np.asarray(scores / choice, np.float64)))
        for choice in CHOICES
    ]
    return np.array([calibration_error(test.gold, p), sure, chance, *others])


if __name__ == "__main__":
    main()
