"""The default on data sets that took no part in making it, by what is known of the class balance.

    python lab/benchmarks/unseen_sets.py --to DIR
    python lab/benchmarks/unseen.py --data DIR [--datasets packages,...] [--encoders lsa,minilm+lsa]
                                    [--seeds 5] [--draws 10] [--json]

The sets and their rules are those of `unseen_sets.py`; the rules were written and committed before any score was computed,
from unlabelled texts, coverage and conflicts. Columns and protocol are those of `default.py`; "stated" are the true
shares of training documents, rounded to 5 %, not as exact; "exact" are the true ones, stated as exact. Accuracy on test
documents in percent, macro-F1 after the comma; means over seeds or draws, standard deviation of the accuracy in brackets.
Below the table: the mean over sets, and the sets on which the default with nothing stated lies more than a standard error
below the best of MV, MVbal→LR and Snorkel→LR. A last table has the calibration error, how far off the sources' accuracies are in
points, and the share of true ones inside their 95 % interval: with nothing stated, with 20 labels, with the exact shares.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from _options import wrench_parser
from balance import less_an_error
from default import header, line, measure, print_trust, splits
from unseen_sets import SETS

BASELINES = ("MV", "MVbal→LR", "Snorkel→LR")
COLUMNS = (*BASELINES, "nothing", "rough", "20 labels", "stated", "exact", "gold")
EVERY = 1_000_000  # training documents: all


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--encoders", default="lsa,minilm+lsa", help="sets, with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="of folds and draws")
    parser.add_argument("--draws", type=int, default=10, help="of rough shares and of labels")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(header(COLUMNS))
    for encoders in args.encoders.split(","):
        made: list[dict[str, Any]] = []
        for name in args.datasets.split(","):
            train, test = splits(args.data / name, encoders, EVERY)
            found = measure(train, test, encoders, args.seeds, args.draws)
            made.append({**found, "documents": len(test.gold)})
            print(line(made[-1], COLUMNS), flush=True)
        print(line(mean_row(made), COLUMNS))
        rows += made
    print(f"\nnothing stated, below the best baseline by more than a standard error: {below(rows)}")
    print_trust(rows)
    if args.json:
        print(json.dumps(rows))


def mean_row(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean over data sets of each column."""
    means = {name: [_mean(rows, name)] for name in COLUMNS}
    return {"data": "mean", "encoders": rows[0]["encoders"], **means}


def _mean(rows: Sequence[dict[str, Any]], name: str) -> tuple[float, float]:
    accuracy, f1 = np.mean([np.mean(row[name], axis=0) for row in rows], axis=0)
    return float(accuracy), float(f1)


def below(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Where the default with nothing stated loses by more than a standard error of the test documents."""
    lost: list[str] = []
    for row in rows:
        best = max(_mean([row], name)[0] for name in BASELINES)
        if _mean([row], "nothing")[0] < less_an_error(best, row["documents"]):
            lost.append(f"{row['data']} ({row['encoders']})")
    return lost


if __name__ == "__main__":
    main()
