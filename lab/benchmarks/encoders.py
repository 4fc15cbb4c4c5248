"""How fast the encoders are, beside the libraries that users would take instead.

    python lab/benchmarks/encoders.py [--data DIR] [--static FOLDER] [--json]
    python lab/benchmarks/encoders.py --stream 1000000

2,000 short texts (about 20 words) and 500 long ones (about 200): `minilm` against
`SentenceTransformer.encode` with default settings, same layer, cosine checked; `static` against
model2vec's own `encode`, same features checked; `lsa` fitted on 25,000 long reviews; a second run
from the cache. CPU seconds of the whole process, all contestants in one run. With --data the texts
are cut from yelp's and imdb's in WRENCH's layout; without, they are made of common words. --stream
encodes so many texts with `static` into a memory-mapped file and reports the peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import FeatureCache
from unruly.features.encoder import Encoder
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM, find_weights
from unruly.features.static import Static

SHORT, LONG, REVIEWS = 2_000, 500, 25_000
DIM = 256

T = TypeVar("T")


@dataclass(frozen=True)
class Race:
    """Two contestants on the same texts; CPU seconds, and how alike their features are."""

    what: str
    texts: int
    ours: float
    theirs: float
    ratio: float  # theirs / ours
    cosine: float  # mean over texts
    least_cosine: float
    wall: float  # our seconds by the clock


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="data sets in WRENCH's layout: yelp and imdb")
    parser.add_argument("--static", type=Path, help="a Model2Vec folder; without: random vectors")
    parser.add_argument("--stream", type=int, metavar="N", help="encode N texts in a stream")
    parser.add_argument("--stream-child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        folder = args.static or random_static(Path(room) / "static")
        if args.stream_child:
            return stream_child(args.stream_child, folder, Path(room))
        if args.stream:
            found: dict[str, object] = stream(args.stream, args.static)
        else:
            found = everything(args.data, folder, Path(room))
    if args.json:
        print(json.dumps(found))
    return None


def everything(data: Path | None, folder: Path, room: Path) -> dict[str, object]:
    """All races, printed as they end."""
    short, long = texts(data, "yelp", SHORT, 20), texts(data, "yelp", LONG, 200)
    races = [*minilm_races(short, long), *static_races(short, long, folder)]
    for race in races:
        print(
            f"{race.what:38} {race.texts:6} texts  ours {race.ours:7.2f}  theirs {race.theirs:7.2f}  "
            f"ratio {race.ratio:5.2f}  cosine {race.cosine:.4f} (least {race.least_cosine:.4f})"
        )
    found: dict[str, object] = {race.what: asdict(race) for race in races}
    found["threads"] = threads(short)
    found["lsa"] = lsa_fit(texts(data, "imdb", REVIEWS, 230))
    found["cache"] = second_run(short, folder, room)
    return found


def minilm_races(short: list[str], long: list[str]) -> Iterator[Race]:
    """`minilm`, last layer, against sentence-transformers; then the default layer against itself."""
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(find_weights()), device="cpu")
    ours = MiniLM(layers=(6,))
    for what, given in (("short", short), ("long", long)):
        yield race(f"minilm, {what}", given, ours.encode, lambda t: theirs.encode(list(t)))


def static_races(short: list[str], long: list[str], folder: Path) -> Iterator[Race]:
    """`static` against model2vec, the best of five runs each: one run is too short to time."""
    from model2vec import StaticModel

    theirs = StaticModel.from_pretrained(str(folder))
    ours = Static.open(folder)
    for what, given in (("short", short), ("long", long)):
        yield race(f"static, {what}", given, ours.encode, lambda t: theirs.encode(list(t)), runs=5)


def race(
    what: str,
    given: list[str],
    ours: Callable[[Sequence[str]], NDArray[np.float32]],
    theirs: Callable[[Sequence[str]], NDArray[np.float32]],
    runs: int = 1,
) -> Race:
    """Warm both up, then time them in turn."""
    ours(given[:8]), theirs(given[:8])
    mine, others, walls = [], [], []
    for _ in range(runs):
        clock = time.perf_counter()
        spent, a = cpu(lambda: ours(given))
        walls.append(time.perf_counter() - clock)
        mine.append(spent)
        spent, b = cpu(lambda: theirs(given))
        others.append(spent)
    alike = cosine(a, np.asarray(b, dtype=np.float32))
    return Race(
        what=what,
        texts=len(given),
        ours=round(min(mine), 4),
        theirs=round(min(others), 4),
        ratio=round(min(others) / min(mine), 3),
        cosine=round(float(alike.mean()), 5),
        least_cosine=round(float(alike.min()), 5),
        wall=round(min(walls), 4),
    )


def threads(given: list[str]) -> dict[str, object]:
    """CPU and clock seconds of `minilm` with one worker and with one for each core."""
    found: dict[str, object] = {}
    for workers in (1, 0):
        encoder = MiniLM(threads=workers)
        encoder.encode(given[:8])
        clock = time.perf_counter()
        spent, _ = cpu(lambda encoder=encoder: encoder.encode(given[:500]))  # type: ignore[misc]
        wall = time.perf_counter() - clock
        name = "one worker" if workers else "one worker a core"
        found[name] = {"cpu": round(spent, 3), "wall": round(wall, 3)}
        print(f"minilm, 500 short texts, {name}: {spent:.2f} CPU seconds, {wall:.2f} by the clock")
    return found


def lsa_fit(reviews: list[str]) -> dict[str, object]:
    """CPU seconds to fit `lsa` on long reviews."""
    spent, lsa = cpu(lambda: Lsa().fit(reviews))
    again, _ = cpu(lambda: lsa.encode(reviews[:2_000]))
    print(f"lsa, fitted on {len(reviews)} long reviews: {spent:.1f} CPU seconds")
    return {"texts": len(reviews), "fit": round(spent, 2), "encode 2000": round(again, 2)}


def second_run(given: list[str], folder: Path, room: Path) -> dict[str, object]:
    """CPU seconds of a first and a second run through the cache."""
    found: dict[str, object] = {}
    encoders: tuple[Encoder, ...] = (MiniLM(), Static.open(folder), Lsa().fit(given))
    for encoder in encoders:
        cache = FeatureCache(room / "cache")
        many = given * (1 if isinstance(encoder, MiniLM) else 10)
        many = [f"{text} {i}" for i, text in enumerate(many)]
        encoder.encode(many[:8])
        _ = encoder.identity
        first, a = cpu(lambda c=cache, e=encoder, m=many: c.encode(e, m))  # type: ignore[misc]
        second, b = cpu(lambda c=cache, e=encoder, m=many: c.encode(e, m))  # type: ignore[misc]
        assert np.array_equal(a, b)
        ratio = round(first / second, 1)
        name = encoder.name.split()[0]
        found[name] = {"texts": len(many), "first": first, "second": second, "ratio": ratio}
        print(
            f"cache, {name}, {len(many)} texts: first {first:.3f}, second {second:.5f}: {ratio} times"
        )
    return found


def stream(n: int, static: Path | None) -> dict[str, object]:
    """Encode n texts in a process of its own, and read its peak memory."""
    command = [sys.executable, __file__, "--stream-child", str(n)]
    command += ["--static", str(static)] if static else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"stream, static, {n} texts: {found['cpu']} CPU seconds, peak {found['peak_mb']} MB, features "
        f"{found['features_mb']} MB, beyond them at most {found['beyond_mb']} MB"
    )
    return found


def stream_child(n: int, folder: Path, room: Path) -> None:
    """The work of `stream`: texts are made batch by batch and never all held."""
    encoder = Static.open(folder)
    file = np.memmap(room / "stream", np.float32, "w+", shape=(n, encoder.width))
    spent, _ = cpu(lambda: fill(file, encoder, made_batches(n)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = file.nbytes / 1024**2
    found = {"texts": n, "cpu": round(spent, 1), "peak_mb": round(peak), "features_mb": round(size)}
    print(json.dumps({**found, "beyond_mb": round(max(0.0, peak - size))}))


def fill(file: NDArray[np.float32], encoder: Encoder, batches: Iterator[list[str]]) -> None:
    """Encode batch after batch into the file."""
    start = 0
    for texts in batches:
        file[start : start + len(texts)] = encoder.encode(texts)
        start += len(texts)


def made_batches(n: int, size: int = 20_000) -> Iterator[list[str]]:
    """Batches of made-up short texts."""
    for start in range(0, n, size):
        yield made(min(size, n - start), 20, seed=start)


def texts(data: Path | None, name: str, n: int, words: int) -> list[str]:
    """n texts of about so many words: cut from a data set, or made up."""
    if data is None:
        return made(n, words, seed=words)
    lists = []
    for split in ("train", "valid", "test"):
        with (data / name / f"{split}.json").open(encoding="utf-8") as stream:
            lists += [row["data"]["text"].split() for row in json.load(stream).values()]
    if n > 10_000:
        return [" ".join(found) for found in lists[:n]]
    rng = np.random.default_rng(words)
    lengths = rng.integers(words // 2, words + words // 2, size=len(lists))
    cut = [
        " ".join(one[:size]) for one, size in zip(lists, lengths, strict=True) if len(one) >= size
    ]
    return [cut[row] for row in rng.permutation(len(cut))[:n]]


def made(n: int, words: int, seed: int) -> list[str]:
    """n texts of common words, drawn by Zipf's law."""
    vocabulary = [
        w for w in vocabulary_of(find_weights() / "tokenizer.json") if w.isalpha() and len(w) > 1
    ]
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(3, len(vocabulary) + 3)
    lengths = rng.integers(words // 2, words + words // 2, size=n)
    drawn = rng.choice(len(vocabulary), size=int(lengths.sum()), p=share / share.sum())
    parts = np.split(drawn, np.cumsum(lengths)[:-1])
    return [" ".join(vocabulary[word] for word in part) for part in parts]


def vocabulary_of(tokenizer: Path) -> list[str]:
    """The words of a tokenizer, in order of their number."""
    found: dict[str, int] = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    return sorted(found, key=lambda word: found[word])


def random_static(folder: Path) -> Path:
    """A Model2Vec folder of random vectors over minilm's tokens: as fast as a real one."""
    from safetensors.numpy import save_file

    folder.mkdir()
    tokenizer = json.loads((find_weights() / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer |= {"truncation": None, "padding": None, "post_processor": None}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    config = {"model_type": "model2vec", "normalize": True, "hidden_dim": DIM}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    size = len(tokenizer["model"]["vocab"])
    vectors = np.random.default_rng(0).normal(size=(size, DIM)).astype(np.float32)
    save_file({"embeddings": vectors}, folder / "model.safetensors")
    return folder


def cpu(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of the process, all threads, and what came of it."""
    start = time.process_time()
    done = work()
    return time.process_time() - start, done


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,): row by row."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / np.maximum(lengths, 1e-12), dtype=np.float32)


if __name__ == "__main__":
    main()
