"""What a fit costs as documents grow: CPU seconds, memory and accuracy of `unruly fit`, from Parquet to a saved model.

    python lab/benchmarks/fit_scale.py --data DIR [--documents 10000,100000,1000000] [--encoder lsa] [--json]
    python lab/benchmarks/fit_scale.py --data DIR --documents 1000000 --encoder /models/potion-base-8M
    python lab/benchmarks/fit_scale.py --data DIR --documents 300000 --texts mixed --option=--sample=0

DIR holds folders in WRENCH's layout. `--texts repeated`: the training texts of agnews again and again, each time with every word left out with a
probability of 1 in 10, so that no two are likely to be equal. `--texts mixed`: each text is a third of the words of three texts of one class, so that documents
in different folds share little; gold labels say which texts may be mixed. The rules are those of examples/agnews. Each fit is a process of its own with an
empty cache: its CPU seconds (of all threads) and peak memory are the operating system's. Accuracy is that of the 12,000 test documents
as they are, whose labels are used for scoring only; the class shares are stated as equal, which they are. `--option` is handed to `unruly fit`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.texts.wrench import read_wrench

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "examples" / "agnews" / "unruly.toml"
LOST, MIXED, PART = 0.1, 3, 100_000
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Cost:
    """What one fit took, and came to."""

    documents: int
    encoder: str
    cpu: float  # seconds, of all threads
    wall: float
    peak: float  # MB
    model: float  # MB on disk
    accuracy: float  # percent of the test documents
    notes: list[dict[str, Any]]


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folders in WRENCH's layout")
    parser.add_argument("--documents", default="10000,100000,1000000", help="with commas between")
    parser.add_argument("--encoder", default="lsa")
    parser.add_argument("--texts", choices=["repeated", "mixed"], default="repeated")
    parser.add_argument("--option", action="append", default=[], help="one more for `unruly fit`")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| documents | encoder | CPU s | s | peak MB | model MB | accuracy |")
    print("|---|---|---|---|---|---|---|")
    found = []
    for documents in map(int, args.documents.split(",")):
        with tempfile.TemporaryDirectory() as room:
            write_project(Path(room), args.data / "agnews", documents, args.texts)
            cost = measured(Path(room), documents, args.encoder, args.option)
        found.append(cost)
        print(
            f"| {cost.documents:,} | {Path(cost.encoder).name} | {cost.cpu:.1f} | {cost.wall:.1f} "
            f"| {cost.peak:,.0f} | {cost.model:.1f} | {cost.accuracy:.2f} |",
            flush=True,
        )
    if args.json:
        print(json.dumps([asdict(cost) for cost in found]))


def write_project(folder: Path, data: Path, documents: int, kind: str) -> None:
    """Rules, so many training documents, and the test documents as they are."""
    train = read_wrench(data, "train").corpus
    made = partial(mixed, gold=np.asarray(train.gold)) if kind == "mixed" else perturbed
    (folder / "train.parts").mkdir()
    for start in range(0, documents, PART):
        rows = np.arange(start, min(start + PART, documents))
        part = pl.DataFrame({"id": rows, "text": made(train.texts, rows)})
        part.write_parquet(folder / "train.parts" / f"{start:09}.parquet")
    pl.scan_parquet(folder / "train.parts").sink_parquet(folder / "train.parquet")
    test = read_wrench(data, "test")
    labels = [test.classes[c] for c in np.asarray(test.corpus.gold)]
    frame = pl.DataFrame({"id": test.corpus.ids, "text": test.corpus.texts, "label": labels})
    frame.write_parquet(folder / "test.parquet")
    head, _, rules = RULES.read_text(encoding="utf-8").partition("[data]")
    rules = rules[rules.index("[[source]]") :]
    files = 'train = "train.parquet"\ntest = "test.parquet"\ntext = "text"\nid = "id"\nlabel = "label"\n'
    (folder / "unruly.toml").write_text(f"{head}[data]\n{files}\n{rules}", encoding="utf-8")


def perturbed(texts: pl.Series, rows: Rows) -> list[str]:
    """The texts of these rows, going round; from the second round on without a tenth of their words."""
    rng = np.random.default_rng(int(rows[0]))
    found = texts.gather(rows % len(texts)).to_list()
    return [
        text
        if row < len(texts)
        else " ".join(word for word in text.split() if rng.random() >= LOST)
        for row, text in zip(rows.tolist(), found, strict=True)
    ]


def mixed(texts: pl.Series, rows: Rows, gold: Rows) -> list[str]:
    """Texts of their own: a third of the words of each of three texts of one class, in their order."""
    rng = np.random.default_rng(int(rows[0]))
    words = [np.array(text.split(), dtype=object) for text in texts]
    members = [np.flatnonzero(gold == c) for c in np.unique(gold)]
    found = []
    for row in rows.tolist():
        parts = [words[i] for i in rng.choice(members[row % len(members)], MIXED)]
        found.append(" ".join(w for part in parts for w in part[rng.random(len(part)) < 1 / MIXED]))
    return found


def measured(folder: Path, documents: int, encoder: str, options: list[str]) -> Cost:
    """One fit in a process of its own."""
    command = [sys.executable, "-m", "unruly", "fit", str(folder), "-o", str(folder / "m.unruly")]
    command += ["--encoder", encoder, "--prior", "uniform", "--json", "--quiet", *options]
    environment = {**os.environ, "UNRULY_CACHE": str(folder / "cache")}
    answer_file, started = folder / "answer.json", time.perf_counter()
    with answer_file.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    answer = json.loads(answer_file.read_text(encoding="utf-8"))
    return Cost(
        documents=documents,
        encoder=encoder,
        cpu=used.ru_utime + used.ru_stime,
        wall=time.perf_counter() - started,
        peak=used.ru_maxrss / 1000,
        model=(folder / "m.unruly").stat().st_size / 1e6,
        accuracy=100 * answer["evaluation"]["all"]["model"]["accuracy"],
        notes=answer["notes"],
    )


if __name__ == "__main__":
    main()
