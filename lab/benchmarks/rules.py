"""Matching rules: unruly beside Snorkel's appliers and a plain Python loop, same votes, one run.

    python lab/benchmarks/rules.py                     # 100,000 texts, ten rules and seventy-three
    python lab/benchmarks/rules.py --stream 10000000   # a Parquet file of ten million texts, in a stream

CPU seconds of this process, all threads included, the best of three runs (of one for Snorkel's slow
PandasLFApplier). Texts are made from a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly import Corpus, Rule, Source, Sources, Votes
from unruly.rules import Keywords, Pattern

Matrix = NDArray[np.int8]
HAM, SPAM = 0, 1

# name, class, keywords (whole words, any case) or a pattern (case counts)
TEN: list[tuple[str, int, list[str] | str]] = [
    ("my", SPAM, ["my"]),
    ("subscribe", SPAM, ["subscribe", "subscribers"]),
    ("please", SPAM, ["please", "plz", "pls"]),
    ("song", HAM, ["song", "music", "melody"]),
    ("channel", SPAM, ["check out my channel", "my new video"]),
    ("praise", HAM, ["love", "great", "best", "awesome"]),
    ("link", SPAM, r"https?://\S+"),
    ("check out", SPAM, r"[Cc]heck\s+.{0,20}out"),
    ("money", SPAM, r"\$\s?\d+"),
    ("views", HAM, r"\d+ (?:million|billion) views"),
]
WORDS = [
    "the",
    "a",
    "this",
    "that",
    "song",
    "video",
    "music",
    "my",
    "your",
    "channel",
    "subscribe",
    "please",
    "check",
    "out",
    "now",
    "people",
    "watch",
    "listen",
    "great",
    "best",
    "love",
    "like",
    "awesome",
    "never",
    "always",
    "really",
    "thing",
    "time",
    "year",
    "day",
    "good",
    "guy",
    "girl",
    "voice",
    "melody",
    "old",
    "new",
    "million",
    "billion",
    "views",
    "comment",
    "world",
    "money",
    "free",
    "click",
    "here",
    "visit",
    "page",
    "friend",
    "school",
    "dance",
    "play",
    "band",
    "album",
    "radio",
    "concert",
    "ticket",
    "summer",
    "winter",
    "night",
    "light",
    "water",
]
ODD = [
    "http://ex.am/ple",
    "$500",
    "2 billion views",
    "SUBSCRIBE",
    "Plz",
    "check it out",
    "naïve",
    "café",
]


@dataclass(frozen=True)
class Contest:
    """One set of rules: CPU seconds of every contestant, and how many times faster unruly was."""

    rules: int
    texts: int
    characters: float
    votes: int
    seconds: dict[str, float]
    wall: dict[str, float]
    times_less: dict[str, float]


@dataclass(frozen=True)
class Streamed:
    """A file matched in a stream."""

    texts: int
    file_megabytes: float
    seconds: float
    wall_seconds: float
    peak_megabytes: float
    votes: int


def make_texts(n: int, seed: int = 0) -> list[str]:
    """Short comments, 94 characters on average."""
    rng = np.random.default_rng(seed)
    syllables = np.array(["ba", "ko", "ri", "ten", "lum", "sha", "vi", "dor", "mel", "quo"])
    made = ["".join(rng.choice(syllables, size)) for size in rng.integers(2, 4, size=3000)]
    pool = np.array(made + WORDS * 12 + ODD * 6, dtype=object)
    lengths = rng.integers(4, 23, size=n)
    picks = rng.integers(0, len(pool), size=int(lengths.sum()))
    texts, start = [], 0
    for length in lengths:
        texts.append(" ".join(pool[picks[start : start + length]]))
        start += length
    return texts


def many_patterns(count: int, seed: int = 1) -> list[tuple[str, int, list[str] | str]]:
    """As many patterns as asked for: words near words, numbers, alternatives."""
    rng = np.random.default_rng(seed)
    rules: list[tuple[str, int, list[str] | str]] = []
    for i in range(count):
        a, b, c = (str(word) for word in rng.choice(WORDS, size=3, replace=False))
        shapes = [
            rf"\b{a}\s+{b}\b",
            rf"\b(?:{a}|{b})\s+\w+\s+{c}\b",
            rf"{a}.{{0,10}}{b}",
            rf"\b{a}\w*\s\d+",
        ]
        rules.append((f"pattern {i}", i % 2, shapes[i % len(shapes)]))
    return rules


def as_sources(rules: Sequence[tuple[str, int, list[str] | str]]) -> Sources:
    """The rules as unruly has them."""
    return Sources(
        ["ham", "spam"],
        [
            Source(
                name, [Rule(("ham", "spam")[c], Pattern(w) if isinstance(w, str) else Keywords(w))]
            )
            for name, c, w in rules
        ],
    )


def as_compiled(
    rules: Sequence[tuple[str, int, list[str] | str]],
) -> list[tuple[re.Pattern[str], int, bool]]:
    """The rules as a Python programmer writes them: keywords on the lower-cased text."""
    return [
        (re.compile(what), c, False)
        if isinstance(what, str)
        else (
            re.compile(r"\b(?:" + "|".join(w.replace(" ", r"\s+") for w in what) + r")\b"),
            c,
            True,
        )
        for _, c, what in rules
    ]


def plain_loop(texts: list[str], rules: list[tuple[re.Pattern[str], int, bool]]) -> Matrix:
    """Every rule on every text, in a loop."""
    searches = [(pattern.search, c, lower) for pattern, c, lower in rules]
    votes = []
    for text in texts:
        lowered = text.lower()
        votes.append(
            [c if search(lowered if lower else text) else -1 for search, c, lower in searches]
        )
    return np.array(votes, dtype=np.int8)


def snorkel_functions(rules: list[tuple[re.Pattern[str], int, bool]]) -> list[object]:
    """The same as Snorkel labelling functions."""
    from snorkel.labeling import LabelingFunction

    def function(pattern: re.Pattern[str], c: int, lower: bool) -> Callable[[SimpleNamespace], int]:
        return lambda x: c if pattern.search(x.text.lower() if lower else x.text) else -1

    return [LabelingFunction(f"rule_{i}", function(*rule)) for i, rule in enumerate(rules)]


def contest(
    rules: Sequence[tuple[str, int, list[str] | str]], texts: list[str], pandas_too: bool
) -> Contest:
    """All contestants on the same texts; their votes must agree in every cell."""
    sources, compiled = as_sources(rules), as_compiled(rules)
    corpus = Corpus.from_texts(texts)
    runs: dict[str, Callable[[], Matrix]] = {
        "unruly": lambda: sources.vote(corpus).matrix,
        "plain loop": lambda: plain_loop(texts, compiled),
        "snorkel LFApplier": lambda: _snorkel_list(texts, compiled),
    }
    if pandas_too:
        runs["snorkel PandasLFApplier"] = lambda: _snorkel_pandas(texts, compiled)
    sources.vote(Corpus.from_texts(texts[:100]))  # imports and threads are not what is measured
    seconds, wall, answers = {}, {}, {}
    for name, run in runs.items():
        repeat = 1 if "Pandas" in name else 3
        seconds[name], wall[name], answers[name] = min(
            (_timed(run) for _ in range(repeat)), key=lambda t: t[0]
        )
    for name, matrix in answers.items():
        if not np.array_equal(matrix, answers["unruly"]):
            raise SystemExit(f"{name} gives other votes than unruly")
    return Contest(
        rules=len(rules),
        texts=len(texts),
        characters=float(np.mean([len(t) for t in texts])),
        votes=int((answers["unruly"] >= 0).sum()),
        seconds=seconds,
        wall=wall,
        times_less={n: s / seconds["unruly"] for n, s in seconds.items() if n != "unruly"},
    )


def _timed(run: Callable[[], Matrix]) -> tuple[float, float, Matrix]:
    cpu, wall = time.process_time(), time.perf_counter()
    answer = run()
    return time.process_time() - cpu, time.perf_counter() - wall, answer


def _snorkel_list(texts: list[str], rules: list[tuple[re.Pattern[str], int, bool]]) -> Matrix:
    from snorkel.labeling import LFApplier

    rows = [SimpleNamespace(text=text) for text in texts]
    return np.asarray(LFApplier(snorkel_functions(rules)).apply(rows, progress_bar=False), np.int8)


def _snorkel_pandas(texts: list[str], rules: list[tuple[re.Pattern[str], int, bool]]) -> Matrix:
    import pandas as pd
    from snorkel.labeling import PandasLFApplier

    frame = pd.DataFrame({"text": texts})
    applier = PandasLFApplier(snorkel_functions(rules))
    return np.asarray(applier.apply(frame, progress_bar=False), np.int8)


class Dots:
    """Progress, one line a tenth."""

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.total, self.done, self.said = total or 0, 0, 0

    def advance(self, units: int, note: str = "") -> None:
        self.done += units
        if self.total and self.done * 10 // self.total > self.said:
            self.said = self.done * 10 // self.total
            print(f"  {self.done:,} of {self.total:,} texts", flush=True)

    def finish(self) -> None: ...


def stream(rows: int) -> Streamed:
    """A generated file, matched in a stream and written as votes; the peak is this process's."""
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "texts.parquet", Path(name) / "votes.parquet"
        _generate(source, rows)
        sources = as_sources(TEN)
        cpu, wall = time.process_time(), time.perf_counter()
        scanned = Corpus.scan(source, text="text", id="id")
        votes = Votes.concat(list(sources.vote_stream(scanned, Dots(), rows=scanned.rows)))
        votes.write(target)
        return Streamed(
            texts=votes.n,
            file_megabytes=source.stat().st_size / 1e6,
            seconds=time.process_time() - cpu,
            wall_seconds=time.perf_counter() - wall,
            peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            votes=int(votes.voted.sum()),
        )


def _generate(path: Path, rows: int) -> None:
    """Made by another process, so that its memory is not counted."""
    import subprocess
    import sys

    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import rules; "
        "rules.generate(sys.argv[2], int(sys.argv[3]))"
    )
    here = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", code, here, str(path), str(rows)], check=True)


def generate(path: str, rows: int) -> None:
    """A Parquet file of texts and ids, written a hundred thousand at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    step, base = 100_000, pl.Series("text", make_texts(100_000), dtype=pl.String)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, step):
            n = min(step, rows - start)
            ids = pl.int_range(start, start + n, eager=True).alias("id")
            texts = base.head(n) + pl.Series([f" {start + i}" for i in range(n)])
            writer.write_table(pl.DataFrame([ids, texts.alias("text")]).to_arrow().cast(schema))


def show(result: Contest) -> None:
    """The figures as a table."""
    print(
        f"\n{result.rules} rules on {result.texts:,} texts of {result.characters:.0f} characters "
        f"({result.votes:,} votes, equal in every cell)"
    )
    for name, seconds in result.seconds.items():
        times = f"{result.times_less[name]:8.1f} times unruly" if name in result.times_less else ""
        print(f"  {name:<24}{seconds:9.3f} CPU s{result.wall[name]:9.3f} s{times}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--stream", type=int, metavar="ROWS", help="match a file of so many texts")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    if options.stream:
        streamed = stream(options.stream)
        print(
            f"{streamed.texts:,} texts ({streamed.file_megabytes:,.0f} MB) in {streamed.wall_seconds:.1f} s, "
            f"{streamed.seconds:.1f} CPU s, peak memory {streamed.peak_megabytes:,.0f} MB"
        )
        answer: dict[str, object] = {"stream": asdict(streamed)}
    else:
        texts = make_texts(options.texts)
        results = {
            "ten": contest(TEN, texts, pandas_too=True),
            "seventy_three": contest(many_patterns(73), texts, pandas_too=False),
        }
        for result in results.values():
            show(result)
        answer = {name: asdict(result) for name, result in results.items()}
    if options.json:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
