"""What a fit costs as documents grow: CPU seconds, memory and accuracy of `unruly fit`, from Parquet to a saved model.

    python lab/benchmarks/fit_scale.py --data DIR [--documents 10000,100000,1000000] [--encoder lsa] [--json]
    python lab/benchmarks/fit_scale.py --data DIR --documents 1000000 --encoder /models/potion-base-8M
    python lab/benchmarks/fit_scale.py --data DIR --documents 100000 --texts mixed --samples 20000,0 --seeds 0,1,2
    python lab/benchmarks/fit_scale.py --planted 1000000x50x10,10000000x200x100
    python lab/benchmarks/fit_scale.py --grid [--cells 50000x25x5,100000x25x5] [--json]

DIR holds folders in WRENCH's layout. `--texts repeated`: the training texts of agnews again and again, each time with every word left out with a
probability of 1 in 10, so that no two are likely to be equal. `--texts mixed`: each text is a third of the words of three texts of one class, so that documents
in different folds share little; gold labels say which texts may be mixed. The rules are those of examples/agnews. Each fit is a process of its own with an
empty cache: its CPU seconds (of all threads) and peak memory are the operating system's. Accuracy is that of the 12,000 test documents
as they are, whose labels are used for scoring only; the class shares are stated as equal, which they are. `--samples` are handed to `unruly fit --sample`
(0: all documents), `--seeds` draw the sample and the generated texts, so that fits of one seed see the same documents.

`--planted` is `unruly fit` on generated texts of 12 words or a few more for so many documents x sources x classes: each class has 20 words of its own, of which a text has two on
average, 5,000 words are common to all, and each source is a keyword that one text in 20 of its class has, and one in 1,000 of the others. Accuracy is that of 10,000 more.

`--grid` asks how the learning itself grows: `denoise` on generated features (32 numbers a document) and votes (each source on one document in 20,
right in 70 %), for so many documents x sources x classes, each in a process of its own. Where cost is linear in documents, µs a document stays the same
as they grow; where it is linear in classes, so does µs a document and class.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.denoising.fit import denoise
from unruly.features.encoder import Features
from unruly.texts.wrench import read_wrench
from unruly.votes.votes import ABSTAIN, Votes

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "examples" / "agnews" / "unruly.toml"
LOST, MIXED, PART = 0.1, 3, 100_000
PLANTED, OWN = 500_000, 20  # generated texts written at a time; words of a class
WIDTH, COVERAGE, RIGHT = 32, 0.05, 0.7
GRID = (
    *(f"{n}x25x5" for n in (50_000, 100_000, 200_000, 400_000, 800_000)),
    *(f"50000x{k}x5" for k in (50, 100, 200)),
    *(f"50000x25x{m}" for m in (10, 20, 50, 100)),
    "200000x200x100",
)
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Cost:
    """What one fit took, and came to."""

    documents: int
    sample: int | None  # documents learnt from at most; 0: all; None: the default
    seed: int
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
    parser.add_argument("--data", type=Path, help="folders in WRENCH's layout")
    parser.add_argument("--documents", default="10000,100000,1000000", help="with commas between")
    parser.add_argument("--encoder", default="lsa")
    parser.add_argument("--texts", choices=["repeated", "mixed"], default="repeated")
    parser.add_argument("--samples", help="documents learnt from, with commas between; 0: all")
    parser.add_argument("--seeds", default="0", help="with commas between")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--planted", help="documents x sources x classes, with commas between")
    parser.add_argument("--grid", action="store_true", help="how learning itself grows")
    parser.add_argument("--cells", default=",".join(GRID), help="documents x sources x classes")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.cell:
        print(json.dumps(learnt(*map(int, args.cell.split("x")))))
        return
    if args.grid:
        grid(args.cells.split(","), args.json)
        return
    if args.data is None and not args.planted:
        parser.error("--data is needed, or --planted, or --grid")
    print(
        "| documents | learnt from | seed | encoder | CPU s | s | peak MB | model MB | accuracy |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    samples = [int(n) for n in args.samples.split(",")] if args.samples else [None]
    sizes = (args.planted or args.documents).split(",")
    found = []
    for size, seed in product(sizes, map(int, args.seeds.split(","))):
        with tempfile.TemporaryDirectory() as room:
            documents, *rest = map(int, size.split("x"))
            if args.planted:
                sources, classes = rest
                plant_project(Path(room), documents, sources, classes, seed)
            else:
                write_project(Path(room), args.data / "agnews", documents, args.texts, seed)
            for sample in samples:
                found.append(measured(Path(room), documents, args.encoder, sample, seed))
                print(row(found[-1]), flush=True)
    if args.json:
        print(json.dumps([asdict(cost) for cost in found]))


def row(cost: Cost) -> str:
    """One line of the table."""
    sample = "the default" if cost.sample is None else f"{cost.sample:,}" if cost.sample else "all"
    start = f"| {cost.documents:,} | {sample} | {cost.seed} | {Path(cost.encoder).name} "
    times = f"| {cost.cpu:.1f} | {cost.wall:.1f} | {cost.peak:,.0f} | {cost.model:.1f} "
    return f"{start}{times}| {cost.accuracy:.2f} |"


def write_project(folder: Path, data: Path, documents: int, kind: str, seed: int) -> None:
    """Rules, so many training documents, and the test documents as they are."""
    train = read_wrench(data, "train").corpus
    gold = np.asarray(train.gold)
    made = (
        partial(mixed, gold=gold, seed=seed) if kind == "mixed" else partial(perturbed, seed=seed)
    )
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


def plant_project(folder: Path, documents: int, sources: int, classes: int, seed: int) -> None:
    """Texts of which the classes are known, one keyword a source, and 10,000 more to score."""
    (folder / "train").mkdir()
    for start in range(0, documents, PLANTED):
        rng = np.random.default_rng([seed, start])
        part = planted(rng, min(PLANTED, documents - start), sources, classes)
        part.drop("label").write_parquet(folder / "train" / f"{start:09}.parquet")
    planted(np.random.default_rng([seed, documents]), 10_000, sources, classes).write_parquet(
        folder / "test.parquet"
    )
    head = f"[task]\nclasses = {json.dumps([f'c{c}' for c in range(classes)])}\n\n[data]\n"
    files = 'train = "train"\ntest = "test.parquet"\ntext = "text"\nlabel = "label"\n'
    rules = [
        f'\n[[source]]\nname = "{key}"\nrule = [{{ label = "c{j % classes}", keywords = ["{key}"] }}]\n'
        for j, key in enumerate(invented(5_000 + classes * OWN + sources)[-sources:])
    ]
    (folder / "unruly.toml").write_text(head + files + "".join(rules), encoding="utf-8")


def planted(rng: np.random.Generator, rows: int, sources: int, classes: int) -> pl.DataFrame:
    """So many texts and their labels."""
    truth = rng.integers(0, classes, rows)
    words = invented(5_000 + classes * OWN + sources)
    common, special, keys = words[:5_000], words[5_000:-sources], words[-sources:]

    def filler() -> pl.Series:
        return common.gather(np.minimum(rng.pareto(1.0, rows) * 50, 4_999).astype(np.int64))

    columns = []
    for place in range(12):
        word = filler()
        if place < 4:
            mine = special.gather(truth * OWN + rng.integers(0, OWN, rows))
            word = mine.zip_with(pl.Series(rng.random(rows) < 0.5), word)
        columns.append(word.alias(f"w{place}"))
    for place in range(sources // classes):
        right = pl.Series(rng.random(rows) < 0.05)
        key = keys.gather(truth + place * classes)
        columns.append(key.zip_with(right, filler()).alias(f"k{place}"))
    stray = pl.Series(rng.random(rows) < sources / 1_000)
    key = keys.gather(rng.integers(0, sources, rows))
    columns.append(key.zip_with(stray, filler()).alias("s"))
    text = pl.DataFrame(columns).select(text=pl.concat_str(pl.all(), separator=" "))
    return text.with_columns(label=pl.Series([f"c{c}" for c in range(classes)]).gather(truth))


def invented(count: int) -> pl.Series:
    """So many different words of eight letters, always the same."""
    letters = np.random.default_rng(0).integers(
        ord("a"), ord("z") + 1, (2 * count, 8), dtype=np.uint8
    )
    return pl.Series([row.tobytes().decode() for row in letters]).unique(maintain_order=True)[
        :count
    ]


def perturbed(texts: pl.Series, rows: Rows, seed: int) -> list[str]:
    """The texts of these rows, going round; from the second round on without a tenth of their words."""
    rng = np.random.default_rng([seed, int(rows[0])])
    found = texts.gather(rows % len(texts)).to_list()
    return [
        text
        if row < len(texts)
        else " ".join(word for word in text.split() if rng.random() >= LOST)
        for row, text in zip(rows.tolist(), found, strict=True)
    ]


def mixed(texts: pl.Series, rows: Rows, gold: Rows, seed: int) -> list[str]:
    """Texts of their own: a third of the words of each of three texts of one class, in their order."""
    rng = np.random.default_rng([seed, int(rows[0])])
    words = [np.array(text.split(), dtype=object) for text in texts]
    members = [np.flatnonzero(gold == c) for c in np.unique(gold)]
    found = []
    for row in rows.tolist():
        parts = [words[i] for i in rng.choice(members[row % len(members)], MIXED)]
        found.append(" ".join(w for part in parts for w in part[rng.random(len(part)) < 1 / MIXED]))
    return found


def measured(folder: Path, documents: int, encoder: str, sample: int | None, seed: int) -> Cost:
    """One fit in a process of its own."""
    command = [sys.executable, "-m", "unruly", "fit", str(folder), "-o", str(folder / "m.unruly")]
    command += [
        "--encoder",
        encoder,
        "--prior",
        "uniform",
        "--seed",
        str(seed),
        "--json",
        "--quiet",
    ]
    command += [] if sample is None else ["--sample", str(sample)]
    shutil.rmtree(folder / "cache", ignore_errors=True)
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
        sample=sample,
        seed=seed,
        encoder=encoder,
        cpu=used.ru_utime + used.ru_stime,
        wall=time.perf_counter() - started,
        peak=used.ru_maxrss / 1000,
        model=(folder / "m.unruly").stat().st_size / 1e6,
        accuracy=100 * answer["evaluation"]["all"]["model"]["accuracy"],
        notes=answer["notes"],
    )


def grid(cells: list[str], as_json: bool) -> None:
    """Learn at every size, each in a process of its own."""
    print(
        "| documents | sources | classes | CPU s | µs a document | µs a document and class |",
        end="",
    )
    print(" peak MB | accuracy |\n|---|---|---|---|---|---|---|---|")
    found = []
    for cell in cells:
        command = [sys.executable, __file__, "--cell", cell]
        one = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        found.append(one)
        n, k, m, each = one["documents"], one["sources"], one["classes"], 1e6 * one["cpu"]
        print(
            f"| {n:,} | {k} | {m} | {one['cpu']:.2f} | {each / n:.1f} | {each / n / m:.2f} "
            f"| {one['peak']:,.0f} | {one['accuracy']:.1f} |",
            flush=True,
        )
    if as_json:
        print(json.dumps(found))


def learnt(documents: int, sources: int, classes: int) -> dict[str, float]:
    """CPU seconds of learning from generated features and votes, the peak memory of the process, and the accuracy."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, documents)
    features = rng.standard_normal((documents, WIDTH), dtype=np.float32)
    features += rng.normal(0, 0.5, (classes, WIDTH)).astype(np.float32)[truth]
    matrix = np.full((documents, sources), ABSTAIN, dtype=np.int16)
    for j in range(sources):
        rows = np.flatnonzero(rng.random(documents) < COVERAGE)
        right = rng.random(len(rows)) < RIGHT
        matrix[rows, j] = np.where(right, truth[rows], rng.integers(0, classes, len(rows)))
    votes = Votes.from_array(matrix, classes=[f"c{c}" for c in range(classes)])
    given, cpu = Features.from_array(features), time.process_time()
    model = denoise(given, votes)
    cpu = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    accuracy = 100 * float((model.heads(given, votes).predicted == truth).mean())
    sizes = {"documents": documents, "sources": sources, "classes": classes}
    return {**sizes, "cpu": cpu, "peak": peak, "accuracy": accuracy}


if __name__ == "__main__":
    main()
