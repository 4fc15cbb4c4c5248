"""How many requests a second the prompt client keeps busy, and what a run pays for that is ended again and again.

    python lab/benchmarks/prompts.py [--documents 5000] [--in-flight 32] [--took 0.02] [--ends 5] [--signal KILL] [--json]

The server is the stand-in of the tests, in a process of its own on loopback. First all documents are asked in one run:
requests a second, and the CPU time of client and server, which is the figure to compare where others use the
machine. With `--ends`, `unruly vote` then asks as many new documents and is ended so many times on its way, by Ctrl-C's
signal (INT), TERM or KILL; it counts the requests, the different ones that a server paid by idempotency key would
charge, and whether the votes are those of an undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from unruly import Corpus, Rule, Source, Sources, Votes
from unruly.project.voting import asked_line
from unruly.prompts.endpoint import Endpoint
from unruly.rules import Prompt
from unruly.rules.prompt import ask

STAND_IN = Path(__file__).parents[2] / "tests" / "prompts" / "stand_in.py"
CLASSES = ["ham", "spam"]


@dataclass(frozen=True)
class Load:
    """One run without a disturbance."""

    documents: int
    in_flight: int
    seconds: float
    per_second: float
    client_ms: float  # CPU, for a request
    server_ms: float
    most_in_flight: int


@dataclass(frozen=True)
class Ended:
    """A run that was ended on its way."""

    documents: int
    ends: int
    signal: str
    requests: int
    paid: int
    same_votes: bool


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--took", type=float, default=0.0, help="seconds that an answer takes")
    parser.add_argument("--ends", type=int, default=0, help="how often the second run is ended")
    parser.add_argument("--signal", choices=("INT", "TERM", "KILL"), default="KILL")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNRULY_CACHE"] = str(Path(folder) / ".cache")
        load = busy(args.documents, args.in_flight, args.took)
        found["load"] = asdict(load)
        print(
            f"{load.documents:,} requests, {load.in_flight} in flight (the server saw {load.most_in_flight}): "
            f"{load.seconds:.1f} s, {load.per_second:.0f} a second; CPU ms a request: client {load.client_ms:.2f}, "
            f"server {load.server_ms:.2f}",
            flush=True,
        )
        if args.ends:
            ended = disturbed(Path(folder), args.documents, args.in_flight, args.took, args.ends, args.signal)  # fmt: skip
            found["ended"] = asdict(ended)
            print(
                f"{ended.documents:,} documents, ended {ended.ends} times by {ended.signal}: {ended.requests:,} requests, "
                f"{ended.paid:,} paid; {'the same votes' if ended.same_votes else 'OTHER VOTES'}"
            )
    if args.json:
        print(json.dumps(found))


@contextmanager
def served(took: float) -> Iterator[str]:
    """The stand-in in its own process; gives its address."""
    command = [sys.executable, str(STAND_IN), str(took)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def seen(url: str) -> dict[str, float]:
    """What the server counted."""
    with urllib.request.urlopen(url) as reply:
        return dict(json.load(reply))


def texts_of(count: int) -> list[str]:
    """Comments, a third of them spam by the stand-in's own rule."""
    return [f"please subscribe {i}" if i % 3 == 0 else f"a lovely song {i}" for i in range(count)]


def busy(documents: int, in_flight: int, took: float) -> Load:
    """All documents asked, in this process."""
    corpus = Corpus.from_texts(texts_of(documents))
    with served(took) as url:
        prompt = Prompt(
            Endpoint(url, in_flight=in_flight),
            "stand-in",
            "Spam? {text}",
            {"spam": ("yes",), "ham": ("no",)},
        )
        sources = Sources(CLASSES, [Source("llm", [Rule(None, prompt)])])
        before, cpu, begun = seen(url), time.process_time(), time.monotonic()
        (asked,) = ask(sources, corpus)
        seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
        after = seen(url)
    if asked.answered != documents:
        raise SystemExit(f"only {asked.answered} answers: {asked_line(asked)}")
    return Load(
        documents=documents,
        in_flight=in_flight,
        seconds=seconds,
        per_second=documents / seconds,
        client_ms=1000 * cpu / documents,
        server_ms=1000 * (after["cpu"] - before["cpu"]) / documents,
        most_in_flight=int(after["most_in_flight"]),
    )


def disturbed(
    folder: Path, documents: int, in_flight: int, took: float, ends: int, name: str
) -> Ended:
    """`unruly vote`, ended after equal numbers of answers, then run to its end."""
    lines = ["text", *texts_of(documents)]
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    with served(took) as url:
        (folder / "unruly.toml").write_text(
            '[task]\nclasses = ["ham", "spam"]\n[data]\ntrain = "train.csv"\n[[source]]\nname = "llm"\n'
            f'prompt = {{ endpoint = "{url}", model = "ended", ask = "Spam? {{text}}", in_flight = {in_flight}, '
            'answers = { spam = ["yes"], ham = ["no"] } }\n'
        )
        out = folder / "votes.parquet"
        command = [sys.executable, "-m", "unruly", "vote", str(folder), "-q", "-o", str(out)]
        for turn in range(1, ends + 1):
            run = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            while seen(url)["delivered"] < documents * turn // (ends + 1):
                time.sleep(0.02)
                if run.poll() is not None:
                    raise SystemExit(f"the run ended by itself, with code {run.returncode}")
            run.send_signal(signal.Signals[f"SIG{name}"])
            run.wait()
        subprocess.run(command, check=True)
        counted = seen(url)
    cast = Votes.read(out).matrix[:, 0].tolist()
    expected = [1 if "subscribe" in text else 0 for text in texts_of(documents)]
    return Ended(
        documents, ends, name, int(counted["requests"]), int(counted["paid"]), cast == expected
    )


if __name__ == "__main__":
    main()
