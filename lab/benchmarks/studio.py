"""The studio at size: keystroke to counts, pages of documents, start time and memory, over real HTTP.

    python lab/benchmarks/studio.py                      # 100,000 documents, 20 sources
    python lab/benchmarks/studio.py --documents 1000000 --no-model

A real server in a process of its own, asked over loopback as the browser asks. Texts of some forty words are
made from a fixed seed. Rules are typed letter by letter; every keystroke is one request, and its time runs from
sending to the last byte of the answer; the editor was opened a second before. Pages are asked under filters drawn at random, each for the first time. The
model is trained on 2,000 of the documents with `lsa`, and asked about all of them before anything is measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import polars as pl

WORDS = 20_000  # of the language that the texts are made of
LENGTH = 40  # words in a text, on average
CLASSES = ("ham", "spam")


@dataclass(frozen=True)
class Times:
    """Milliseconds, by the clock and of the server's processor time."""

    what: str
    requests: int
    median: float
    p95: float
    most: float
    cpu: float  # a request, on average: what a busy machine does not change

    @classmethod
    def of(cls, what: str, seconds: Sequence[float], cpu: float) -> Times:
        """From a list of times, and the processor seconds of all together."""
        ms = 1000 * np.array(seconds)
        p50, p95 = np.percentile(ms, [50, 95])
        shown = [round(float(one), 1) for one in (p50, p95, ms.max(), 1000 * cpu / len(ms))]
        return cls(what, len(ms), *shown)


def word(number: int) -> str:
    """A word of its own for each number, with letters as they are spread in a language.

    >>> word(0), word(7), word(20_000)
    ('ta', 'si', 'tirapa')
    """
    starts, vowels = "tnrlshdcmfpgbvk", "aeiou"
    found = ""
    while True:
        number, rest = divmod(number, 75)
        found = starts[rest // 5 * 4 % 15] + vowels[rest % 5] + found
        if not number:
            return found
        number -= 1


def make_project(folder: Path, documents: int, sources: int) -> None:
    """Texts and rules."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, WORDS + 1)
    words = np.array([word(i) for i in range(WORDS)], dtype=object)
    texts: list[str] = []
    for _ in range(0, documents, 50_000):
        n = min(50_000, documents - len(texts))
        lengths = rng.poisson(LENGTH, n) + 1
        drawn = words[rng.choice(WORDS, int(lengths.sum()), p=shares / shares.sum())]
        ends = np.cumsum(lengths)
        texts += [
            " ".join(drawn[b - a : b]) for a, b in zip(lengths.tolist(), ends.tolist(), strict=True)
        ]
    folder.mkdir()
    frame = pl.DataFrame({"id": range(documents), "text": texts})
    frame.write_parquet(folder / "texts.parquet")
    frame.head(2_000).write_parquet(folder / "few.parquet")
    rules = "".join(_source(j) for j in range(sources))
    (folder / "unruly.toml").write_text(_head("texts.parquet") + rules)
    (folder / "few.toml").write_text(_head("few.parquet") + rules)


def _head(train: str) -> str:
    return (
        f'encoder = "lsa"\n[task]\nclasses = ["ham", "spam"]\n[data]\ntrain = "{train}"\n'
        'text = "text"\nid = "id"\n\n'
    )


def _source(j: int) -> str:
    label = CLASSES[j % 2]
    few = [word(30 + 11 * j + 3 * i) for i in range(5)]
    if j % 3 == 0:
        rule = f"pattern = '{few[0]}\\b.{{0,20}}[mn]a\\b'"
    elif j % 3 == 1:
        rule = f"keywords = {json.dumps(few)}"
    else:
        rule = f'sequence = {{ first = ["{few[0]}", "{few[1]}"], then = ["{few[2]}"], within_words = 8 }}'
    return f'[[source]]\nname = "source {j}"\n[[source.rule]]\nlabel = "{label}"\n{rule}\n\n'


@dataclass
class Server:
    """A studio in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    cookie: str
    start_seconds: float  # from the command to the first page
    start_cpu: float = 0.0  # processor seconds until then

    @classmethod
    def start(cls, folder: Path, environment: dict[str, str]) -> Server:
        begin = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "unruly",
            "studio",
            str(folder),
            "--no-open",
            "--port",
            "0",
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        port = int(link.split(":")[2].split("/")[0])
        asked = http.client.HTTPConnection("127.0.0.1", port)
        asked.request("GET", "/documents?token=" + link.split("token=")[1])
        answer = asked.getresponse()
        answer.read()
        cookie = (answer.getheader("set-cookie") or "").split(";")[0]
        server = cls(process, port, cookie, 0.0)
        server.get(asked, "/documents")
        server.start_seconds = time.perf_counter() - begin
        server.start_cpu = server.cpu_seconds()
        return server

    def connect(self) -> http.client.HTTPConnection:
        """A connection that is kept, as a browser keeps it."""
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def get(self, asked: http.client.HTTPConnection, path: str) -> bytes:
        asked.request("GET", path, headers={"cookie": self.cookie, "x-part": "1"})
        return _body(asked)

    def post(self, asked: http.client.HTTPConnection, path: str, form: dict[str, str]) -> bytes:
        headers = {
            "cookie": self.cookie,
            "x-part": "1",
            "origin": f"http://127.0.0.1:{self.port}",
            "content-type": "application/x-www-form-urlencoded",
        }
        asked.request("POST", path, urlencode(form), headers)
        return _body(asked)

    def megabytes(self) -> int:
        """The most memory that it has held."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024

    def cpu_seconds(self) -> float:
        """The processor time that it has used, all threads together."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_for_answers(self) -> None:
        """Until the model has been asked about all documents."""
        asked = self.connect()
        while (json.loads(self.get(asked, "/status")).get("job") or {}).get("state") == "running":
            time.sleep(0.5)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def _body(asked: http.client.HTTPConnection) -> bytes:
    answer = asked.getresponse()
    body = answer.read()
    assert answer.status == 200, body[:300]
    return body


def keystrokes(kind: str) -> Iterator[str]:
    """A source after each letter that is typed."""
    head = '[[source]]\nname = "typed"\n[[source.rule]]\nlabel = "spam"\n'
    if kind == "keywords":
        text = ", ".join(word(i) for i in (31, 532, 77, 1045, 9, 812))
        for end in range(1, len(text) + 1):
            words = [w.strip() for w in text[:end].split(",") if w.strip()]
            yield f"{head}keywords = {json.dumps(words)}\n"
    elif kind == "pattern":
        text = f"{word(12)}[a-z]* .*{word(20)}? {word(3)}"
        for end in range(1, len(text) + 1):
            yield f"{head}pattern = '{text[:end]}'\n"
    else:
        text = " ".join(word(i) for i in (44, 212, 98, 310))
        for end in range(1, len(text) + 1):
            first = json.dumps(text[:end].split())
            yield f"{head}sequence = {{ first = {first}, then = {json.dumps([word(5), word(61)])}, within_words = 6 }}\n"


def type_rules(server: Server, kind: str, rounds: int) -> Times:
    """Every keystroke is one request; unfinished patterns are answered, too."""
    asked, taken = server.connect(), []
    server.get(asked, "/rule?name=source+4")  # as a browser does
    time.sleep(1)  # until somebody has found the field
    used = server.cpu_seconds()
    form = {"saved": "source 4", "way": "toml", "typed": "1"}
    for _ in range(rounds):
        for text in keystrokes(kind):
            begin = time.perf_counter()
            server.post(asked, "/rules/preview", {**form, "toml": text})
            taken.append(time.perf_counter() - begin)
    return Times.of(f"keystroke to counts: {kind}", taken, server.cpu_seconds() - used)


def browse(server: Server, model: bool, sources: int, rounds: int) -> Times:
    """Pages under filters at random."""
    chance, asked, taken, used = random.Random(0), server.connect(), [], server.cpu_seconds()
    for _ in range(rounds):
        parts = {
            "covered": chance.choice(["", "", "yes", "no", "conflict"]),
            "source": chance.choice(["", "", f"source {chance.randrange(sources)}"]),
            "vote": chance.choice(["", "", "spam", "ham"]),
            "words": chance.choice(
                ["", "", word(chance.randrange(500)), f"{word(chance.randrange(90))} {word(7)}"]
            ),
            "sort": chance.choice(["", "doubt", "random", "influence"]),
            "page": str(chance.choice([1, 1, 2, 40])),
        }
        if model:
            parts |= {
                "predicted": chance.choice(["", "spam", "ham"]),
                "low": chance.choice(["", "", "60"]),
                "against": chance.choice(["", "", "votes"]),
            }
        begin = time.perf_counter()
        server.get(asked, f"/documents?{urlencode(parts)}")
        taken.append(time.perf_counter() - begin)
    return Times.of("a page of documents under a filter", taken, server.cpu_seconds() - used)


def run(documents: int, sources: int, rounds: int, model: bool) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "project"
        make_project(folder, documents, sources)
        environment = {**os.environ, "UNRULY_CACHE": f"{room}/cache"}
        if model:
            fit = [
                sys.executable,
                "-m",
                "unruly",
                "fit",
                str(folder / "few.toml"),
                "-q",
                "--no-score",
            ]
            fit += ["-o", str(folder / "few.unruly")]
            subprocess.run(fit, check=True, env=environment, stdout=subprocess.DEVNULL)
        first = Server.start(folder, environment)
        try:
            first.wait_for_answers()
        finally:
            first.stop()
        server = Server.start(folder, environment)  # with its votes and answers kept on disk
        try:
            server.wait_for_answers()
            kinds = ("keywords", "pattern", "sequence")
            times = [type_rules(server, kind, max(1, rounds // 50)) for kind in kinds]
            times.append(browse(server, model, sources, rounds))
            return {
                "documents": documents,
                "sources": sources,
                "model": model,
                "times_ms": [asdict(one) for one in times],
                "start_to_first_page_s": round(server.start_seconds, 2),
                "start_processor_s": round(server.start_cpu, 2),
                "first_start_s": round(first.start_seconds, 2),
                "peak_mb": server.megabytes(),
            }
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--sources", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=150, help="pages; a third as many keystrokes")
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = run(given.documents, given.sources, given.rounds, not given.no_model)
    if given.json:
        print(json.dumps(found))
        return
    print(f"{found['documents']:,} documents, {found['sources']} sources, model: {found['model']}")
    for one in found["times_ms"]:  # type: ignore[attr-defined]
        print(
            f"{one['what']:38} median {one['median']:7.1f} ms  p95 {one['p95']:7.1f} ms  "
            f"most {one['most']:7.1f} ms  processor {one['cpu']:6.1f} ms  ({one['requests']} requests)"
        )
    print(
        f"start to first page {found['start_to_first_page_s']} s, processor {found['start_processor_s']} s "
        f"(the first time {found['first_start_s']} s)"
    )
    print(f"peak memory {found['peak_mb']:,} MB")


if __name__ == "__main__":
    main()
