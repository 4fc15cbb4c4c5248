"""Scenes to be killed in: a command that writes a file, a language model that is asked, a person who labels, the studio.

Each scene starts a process, kills it at a given moment, looks at what lies on the disk, runs again to the end and
looks once more. `seconds` is how long the scene takes when nobody disturbs it.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol
from urllib.parse import urlencode, urlsplit

from unruly.labelling.label_file import LabelFile
from unruly.project.editing import source_names, source_text
from unruly.project.project import Project

LONGEST = 600.0  # seconds that anything may take


class Scene(Protocol):
    """Something to be killed in."""

    name: str
    seconds: float

    def undisturbed(self) -> None:
        """Run it once to the end: what is to be expected, and how long it takes."""

    def killed(self, after: float) -> bool:
        """Start it, and kill it after so many seconds; False where it was done before."""

    def fault(self) -> str | None:
        """What is not as it should be after the kill, or after the run that follows it."""


def start(
    room: Path, arguments: tuple[str, ...], given: int | None = None
) -> subprocess.Popen[bytes]:
    """A command in a session of its own; `given` is its standard input."""
    return subprocess.Popen(
        [sys.executable, "-m", "unruly", *arguments],
        cwd=room,
        env={**os.environ, "UNRULY_CACHE": str(room / "cache"), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL if given is None else given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finished(process: subprocess.Popen[bytes], given: bytes | None = None) -> str | None:
    """To the end; why it did not end well, where it did not."""
    _, said = process.communicate(given, timeout=LONGEST)
    return f"exit {process.returncode}: {said.decode()[-300:]}" if process.returncode else None


def kill(process: subprocess.Popen[bytes]) -> bytes:
    """Now; what it had printed."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    printed, _ = process.communicate()
    return printed


def left_behind(room: Path) -> str | None:
    """Temporary files that a finished run should have cleared away."""
    left = [path.name for path in room.rglob("*unruly-*")]
    left += [path.name for path in (room / "cache").rglob("part-*")]
    return f"left behind: {left[:3]}" if left else None


@dataclass
class Writes:
    """A command that writes one file: absent or whole after a kill, and the same bytes after the next run."""

    name: str
    room: Path
    arguments: tuple[str, ...]
    output: str
    expected: bytes = b""
    seconds: float = 0.0

    def undisturbed(self) -> None:
        shutil.rmtree(self.room / "cache", ignore_errors=True)
        begin = time.perf_counter()
        if problem := finished(start(self.room, self.arguments)):
            raise SystemExit(f"{self.name}: {problem}")
        self.seconds = time.perf_counter() - begin
        self.expected = (self.room / self.output).read_bytes()

    def killed(self, after: float) -> bool:
        (self.room / self.output).unlink(missing_ok=True)
        process = start(self.room, self.arguments)
        time.sleep(after)
        kill(process)
        return process.returncode < 0

    def fault(self) -> str | None:
        target = self.room / self.output
        if target.exists() and target.read_bytes() != self.expected:
            return "a half-written or other output"
        if problem := finished(start(self.room, self.arguments)):
            return f"the next run: {problem}"
        if target.read_bytes() != self.expected:
            return "the next run gives other bytes"
        return left_behind(self.room)


IN_FLIGHT = 4
ASK = (
    '\n[[source]]\nname = "llm"\nprompt = {{ endpoint = "http://127.0.0.1:{port}/v1", model = "stand-in", '
    'ask = "Spam? {{text}}", answers = {{ spam = ["yes"], ham = ["no"] }}, in_flight = {in_flight} }}\n'
)


class LanguageModel(ThreadingHTTPServer):
    """A stand-in for a language model on this machine; it counts what it answers."""

    daemon_threads = True
    answered = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet: those who ask are killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LanguageModel

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        word = "yes" if "channel" in body["messages"][-1]["content"] else "no"
        said = json.dumps({"answer": word}) if "response_format" in body else word
        time.sleep(0.01)
        data = json.dumps(
            {"model": "stand-in", "choices": [{"message": {"content": said}}]}
        ).encode()
        self.server.answered += 1
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass


@dataclass
class Asks:
    """A language model is asked about every text: at most what was in flight is asked for again."""

    room: Path
    server: LanguageModel = field(default_factory=LanguageModel)
    name: str = "llm"
    seconds: float = 0.0
    texts: int = 0
    known: int = 0  # answers that the run which was killed had received
    vote: Writes = field(init=False)

    def __post_init__(self) -> None:
        folder = shutil.copytree(self.room / "spam", self.room / "asking")
        ask = ASK.format(port=self.server.server_address[1], in_flight=IN_FLIGHT)
        (folder / "unruly.toml").write_text((folder / "unruly.toml").read_text() + ask)
        self.vote = Writes(
            "llm", self.room, ("vote", "asking", "-o", "asked.parquet", "-q"), "asked.parquet"
        )

    def undisturbed(self) -> None:
        self.vote.undisturbed()
        self.seconds, self.texts = self.vote.seconds, self.server.answered

    def killed(self, after: float) -> bool:
        shutil.rmtree(self.room / "cache", ignore_errors=True)
        self.server.answered = 0
        hit = self.vote.killed(after)
        self.known = self.server.answered
        return hit

    def fault(self) -> str | None:
        if problem := self.vote.fault():
            return problem
        again = self.server.answered - self.texts
        return f"{again} answers were asked for again" if again > IN_FLIGHT else None


@dataclass
class Labels:
    """A person answers by a pipe: what was acknowledged is in the file, and nothing of it is ever changed."""

    room: Path
    answers: int = 25
    name: str = "label"
    seconds: float = 0.0
    expected: list[tuple[str, ...]] = field(default_factory=list)
    acknowledged: int = 0

    @property
    def file(self) -> Path:
        return self.room / "labelling" / "labels.csv"

    def undisturbed(self) -> None:
        shutil.copytree(self.room / "spam", self.room / "labelling")
        begin = time.perf_counter()
        if problem := self._rest(self.answers):
            raise SystemExit(f"label: {problem}")
        self.seconds = time.perf_counter() - begin
        self.expected = self._lines()

    def killed(self, after: float) -> bool:
        self.file.unlink(missing_ok=True)
        process = self._start(self.answers)
        assert process.stdin is not None
        process.stdin.write(b"spam\n" * self.answers)
        process.stdin.close()
        process.stdin = None
        time.sleep(after)
        self.acknowledged = kill(process).decode(errors="replace").count("-> ")
        return process.returncode < 0

    def fault(self) -> str | None:
        before = self.file.read_bytes() if self.file.exists() else b""
        lines = self._lines()
        if lines != self.expected[: len(lines)]:
            return "other lines than without a kill"
        if not self.acknowledged <= len(lines):
            return f"{len(lines)} lines of {self.acknowledged} that were acknowledged"
        if (rest := self.answers - len(lines)) and (problem := self._rest(rest)):
            return f"the next run: {problem}"
        if not self.file.read_bytes().startswith(before[: before.rfind(b"\n") + 1]):
            return "the next run changed what was written"
        found = {line[0] for line in self._lines()}
        return None if len(found) == self.answers else f"{len(found)} labels in the end"

    def _start(self, answers: int) -> subprocess.Popen[bytes]:
        arguments = ("label", "labelling", "-n", str(answers), "--by-whom", "ada", "-q")
        return start(self.room, arguments, subprocess.PIPE)

    def _rest(self, answers: int) -> str | None:
        return finished(self._start(answers), b"spam\n" * answers)

    def _lines(self) -> list[tuple[str, ...]]:
        """Id, label, why, probability of every line that can be read."""
        project = Project.read(self.room / "labelling")
        file = LabelFile.open(self.file, project.label_file().names)
        return [(a.id, a.label, a.why, str(a.probability)) for a in file.answers]


@dataclass
class Studio:
    """A person labels and edits a rule in the studio: what was answered is on disk, and the next studio opens it."""

    room: Path
    writes: int = 20
    name: str = "studio"
    seconds: float = 0.0
    done: list[int] = field(default_factory=list)  # writes that were answered

    @property
    def folder(self) -> Path:
        return self.room / "studying"

    def undisturbed(self) -> None:
        begin = time.perf_counter()
        self._fresh()
        process = self._start()
        self._write_all(process)
        kill(process)
        self.seconds = time.perf_counter() - begin
        if len(self.done) < self.writes:
            raise SystemExit(f"studio: {len(self.done)} of {self.writes} writes were answered")

    def killed(self, after: float) -> bool:
        self._fresh()
        process = self._start()
        timer = threading.Timer(after, kill_group, (process,))
        timer.start()
        self._write_all(process)
        timer.join()
        hit = len(self.done) < self.writes
        kill(process)
        return hit

    def fault(self) -> str | None:
        project = Project.read(self.folder)
        labels = {a.id for a in project.label_file().answers}
        if lost := [n for n in self.done if n % 2 == 0 and str(n) not in labels]:
            return f"labels of documents {lost[:3]} were answered and are not there"
        words = (self.folder / "unruly.toml").read_text()
        edits = [n for n in self.done if n % 2]
        if edits and not any(f"word{n}" in words for n in range(edits[-1], self.writes + 1)):
            return f"edit {edits[-1]} was answered and is not there"
        if problem := finished(start(self.room, ("check", "studying", "-q"))):
            return f"the next check: {problem}"
        self.done = []
        process = self._start()
        self._write_all(process)
        kill(process)
        if len(self.done) < self.writes:
            return f"the next studio answered {len(self.done)} of {self.writes} writes"
        return left_behind(self.folder)

    def _fresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.room / "spam", self.folder)
        self.done = []

    def _start(self) -> subprocess.Popen[bytes]:
        return start(self.room, ("studio", "studying", "--no-open", "--port", "0"))

    def _write_all(self, process: subprocess.Popen[bytes]) -> None:
        """Label and edit in turns, until all is done or nobody answers."""
        assert process.stdout is not None
        link = urlsplit(process.stdout.readline().decode().strip())
        if link.hostname is None:
            return
        try:
            page = Page(link.hostname, link.port or 0, link.query)
            for number in range(self.writes):
                page.write(number, self.folder)
                self.done.append(number)
        except (OSError, http.client.HTTPException):
            return


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill it, without reading what it printed."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


class Page:
    """A browser's part: the cookie of the start link, and forms that are posted."""

    def __init__(self, host: str, port: int, query: str) -> None:
        self.connection = http.client.HTTPConnection(host, port, timeout=60)
        self.connection.request("GET", f"/?{query}")
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def write(self, number: int, folder: Path) -> None:
        """A label where the number is even, else an edit of the rule `extra`."""
        if number % 2 == 0:
            self._post("/label/one", {"row": str(number), "label": "spam"})
            return
        text = (folder / "unruly.toml").read_text()
        known = "extra" in source_names(text)
        new = f'[[source]]\nname = "extra"\nrule = [{{ label = "spam", keywords = ["word{number}"] }}]'
        old = {"saved": "extra", "original": source_text(text, "extra")} if known else {}
        self._post("/rules/save", {"toml": new, **old})

    def _post(self, path: str, form: dict[str, str]) -> None:
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request("POST", path, urlencode(form), headers)
        answer = self.connection.getresponse()
        said = answer.read().decode("utf-8", "replace")
        if answer.status != 200:
            raise SystemExit(f"POST {path}: {answer.status}: {said[-300:]}")
