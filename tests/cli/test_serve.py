"""`unruly studio` from the command line: the link, and what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly, command_line


def test_serves_until_it_is_stopped(spam: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command_line(["studio", str(spam), "--no-open", "--port", "0"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "UNRULY_CACHE": str(tmp_path / "cache")},
    )
    assert process.stdout is not None
    link = process.stdout.readline().strip()
    try:
        assert link.startswith("http://127.0.0.1:")
        host, _, rest = link.removeprefix("http://").partition("/")
        asked = HTTPConnection(host, timeout=30)
        asked.request("GET", "/" + rest)
        answer = asked.getresponse()
        assert answer.status == 303
        cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        answer.read()
        asked.request("GET", "/documents", headers={"cookie": cookie})
        assert b"of 73" in asked.getresponse().read()
        asked.close()
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "Traceback" not in errors
    assert errors.endswith("\nstopped\n")
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("path", "said"), [("nowhere", "no such project"), ("nowhere.csv", "no such project")]
)
def test_what_is_not_there_is_said(unruly: Unruly, path: str, said: str) -> None:
    done = unruly("studio", path, "--no-open")
    assert done.code == 2
    assert said in done.err


def test_a_port_that_is_taken_is_said(unruly: Unruly, spam: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = unruly("studio", spam, "--no-open", "--port", port)
    assert done.code == 2
    assert "is in use" in done.err
    assert "choose another with --port" in done.err


def test_a_broken_project_is_refused_with_its_line(unruly: Unruly, spam: Path) -> None:
    file = spam / "unruly.toml"
    file.write_text(file.read_text().replace("[task]", "[tsk]"))
    done = unruly("studio", spam, "--no-open")
    assert done.code == 2
    assert "unruly.toml:" in done.err
