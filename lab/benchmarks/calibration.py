"""How sure the default should be: its temperature, chosen with one data set left out.

    python lab/benchmarks/calibration.py --data DIR [--datasets ...] [--encoders lsa] [--most 6000] [--json]

Expected calibration error of the default's probabilities on the validation documents, if its scores were
divided by tau times each of several temperatures; nothing is stated of the class balance, one seed, at
most so many training documents, drawn by chance. Then, for each data set, the temperature that the others
would choose, and the error that it gives there. The default itself sees no gold label; the labels of the
validation documents choose and score.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from _options import wrench_parser
from unruly.denoising.fit import denoise
from unruly.features.cache import FeatureCache
from unruly.model.evaluation import calibration_error
from unruly.statistics import softmax
from unruly_lab.bench.datasets import folder_of

SETS = "youtube,imdb,yelp,agnews,spouse,sms,trec,yoruba"
CHOICES = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5)  # 1: as it is
Errors = NDArray[np.float64]  # (choices,)


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, SETS)
    parser.add_argument("--encoders", default="lsa", help="one set, as in minilm+lsa")
    parser.add_argument("--most", type=int, default=6000, help="training documents of each")
    args = parser.parse_args()
    print("| data | " + " | ".join(f"{choice:g}" for choice in CHOICES) + " |")
    print("|" + "---|" * (len(CHOICES) + 1))
    errors: dict[str, Errors] = {}
    for name in args.datasets.split(","):
        errors[name] = on_validation(args.data, name, args.encoders, args.most)
        print(f"| {name} | " + " | ".join(f"{e:.3f}" for e in errors[name]) + " |", flush=True)
    if len(errors) > 1:
        left_out(errors)
    if args.json:
        print(json.dumps({name: found.tolist() for name, found in errors.items()}))


def on_validation(data: Path, name: str, encoders: str, most: int) -> Errors:
    """(choices,): the error on the validation documents of one data set."""
    dataset = folder_of(data, name).load(encoders, most, FeatureCache())
    if dataset.valid is None:
        raise SystemExit(f"{name}: no valid.json: the temperature is chosen on its documents")
    seen, valid = dataset.train.documents, dataset.valid
    model = denoise(seen.features, seen.votes)
    p = model.heads(valid.documents.features, valid.documents.votes).combined
    known = valid.gold >= 0
    scores = np.log(np.maximum(p[known].astype(np.float64), 1e-30))  # over tau
    tempered = [softmax(scores / choice) for choice in CHOICES]
    return np.array([calibration_error(valid.gold[known], q.astype(np.float32)) for q in tempered])


def left_out(errors: dict[str, Errors]) -> None:
    """What the other data sets choose, and what it gives on the one left out."""
    print("\n| left out | chosen by the others | there | as it is | at its own best |")
    print("|" + "---|" * 5)
    for name, found in errors.items():
        others = np.mean([other for key, other in errors.items() if key != name], axis=0)
        best = int(others.argmin())
        ours = found[CHOICES.index(1.0)]
        print(
            f"| {name} | {CHOICES[best]:g} | {found[best]:.3f} | {ours:.3f} | {found.min():.3f} |"
        )


if __name__ == "__main__":
    main()
