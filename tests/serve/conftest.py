"""A model to serve, fitted once, and real servers in processes of their own."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from unruly.cli.main import run
from unruly.project.new import make_starter

FIT = ("--encoder", "lsa", "--method", "paper", "--epochs", "15", "-q")
PATIENCE = 60.0  # seconds for a server to come up on a busy machine


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the starter project."""
    folder = tmp_path_factory.mktemp("served")
    make_starter(folder / "spam")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("UNRULY_CACHE", str(folder / "cache"))
        assert run(["fit", "spam", "-o", "spam.unruly", *FIT]) == 0
    return folder / "spam.unruly"


@pytest.fixture(scope="session")
def other_model(model: Path) -> Path:
    """Another model of the same project."""
    other = model.parent / "other.unruly"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(model.parent)
        patch.setenv("UNRULY_CACHE", str(model.parent / "cache"))
        assert run(["fit", "spam", "-o", str(other), *FIT, "--seed", "7"]) == 0
    return other


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Running:
    """A server in a process of its own, on a free port."""

    process: subprocess.Popen[str]
    port: int
    said: list[str] = field(default_factory=list)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: dict[str, str] | None = None,
        timeout: float = 60,
    ) -> Answer:
        """One request; a body that is not bytes goes as JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            own = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, own, answer.read())
        finally:
            connection.close()

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: object, headers: dict[str, str] | None = None) -> Answer:
        return self.ask("POST", path, body, headers)

    def metric(self, name: str) -> float:
        """One sample of /metrics, 0 where it is not there yet."""
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rpartition(" ")[2])
        return 0.0

    def stop(self, kind: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and everything said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(kind)
        _, rest = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, "".join(self.said) + rest


def wait_for(true: Callable[[], bool], what: str) -> None:
    """Until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


Start = Callable[..., Running]


def begin(
    *args: str | Path,
    environment: dict[str, str] | None = None,
    limit: Callable[[], None] | None = None,
) -> Running:
    """Start a server, whose process `limit` may set limits for, and wait until it has said where it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "unruly", "serve", *map(str, args), "--port", "0"],
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )
    assert process.stderr is not None
    running = Running(process, 0)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stderr], [], [], 0.2)
        # From the pipe itself: a line that readline() kept in its buffer is one that select() waits for in vain.
        running.said.append(os.read(process.stderr.fileno(), 65536).decode() if ready else "")
        if found := re.search(r"http://127\.0\.0\.1:(\d+)\D", "".join(running.said)):
            running.port = int(found.group(1))
            return running
        if process.poll() is not None:
            break
    code, said = running.stop(signal.SIGKILL)
    raise AssertionError(f"the server did not start ({code}): {said}")


@pytest.fixture
def start() -> Iterator[Start]:
    """Start servers, which end with the test."""
    started: list[Running] = []

    def call(
        *args: str | Path,
        environment: dict[str, str] | None = None,
        limit: Callable[[], None] | None = None,
    ) -> Running:
        started.append(begin(*args, environment=environment, limit=limit))
        return started[-1]

    yield call
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Running]:
    """One server for all tests of a file, which leave it as it was."""
    running = begin(model, "--log", "none", "--max-characters", "50000", "--max-texts", "100")
    yield running
    code, said = running.stop()
    assert code == 0, said
    assert "bug" not in said
