"""Uploads to a stand-in for the hub on this machine: only when asked to, whole, and private; failures say so."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Unruly

from unruly.export.folder import Destination

pytest.importorskip("huggingface_hub")
TOKEN = "hf_of_nobody"


@dataclass
class Hub:
    """What arrived."""

    address: str = ""
    status: int = 200  # of every answer
    created: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    tokens: set[str | None] = field(default_factory=set)

    def answer(self, path: str, body: bytes) -> tuple[int, Any]:
        """The few paths of the hub that an upload of small files takes."""
        if self.status != 200:
            return self.status, {"error": "no rights"}
        match path.partition("?")[0]:
            case "/api/repos/create":
                self.created.append(json.loads(body))
                return 200, {"url": f"{self.address}/nobody/films"}
            case "/api/models/nobody/films/preupload/main":
                asked = json.loads(body)["files"]
                kinds = {"uploadMode": "regular", "shouldIgnore": False}
                return 200, {"files": [{"path": one["path"], **kinds} for one in asked]}
            case "/api/models/nobody/films/commit/main":
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        content = base64.b64decode(line["value"]["content"])
                        self.files[line["value"]["path"]] = content
                commit = {"commitUrl": f"{self.address}/nobody/films/commit/1", "commitOid": "1"}
                return 200, {**commit, "success": True}
        return 200, {"sha": "0" * 40, "id": "nobody/films", "siblings": []}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub of our own."""
    found = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.tokens.add(self.headers["authorization"])
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, answer = found.answer(self.path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", found.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
        yield found
        server.shutdown()


def test_the_folder_arrives_whole_in_a_private_repository(
    unruly: Unruly, films: Path, hub: Hub, tmp_path: Path
) -> None:
    done = unruly("export", films, "-o", "out", "--no-onnx", "--push", "nobody/films", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["pushed"] == f"{hub.address}/nobody/films"
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert hub.files == written
    assert "README.md" in written  # a repository without a card says nothing
    (made,) = hub.created
    assert made["name"] == "films"
    assert made.get("private") or made.get("visibility") == "private"  # older and newer libraries
    assert hub.tokens == {f"Bearer {TOKEN}"}
    assert TOKEN not in done.out + done.err


class Recorded:
    """Progress that keeps what it was told."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None, str]] = []
        self.done: list[tuple[int, str]] = []

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.stages.append((what, total, unit))

    def advance(self, units: int, note: str = "") -> None:
        self.done.append((units, note))

    def finish(self) -> None: ...


def test_an_upload_tells_how_far_it_is(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "films.unruly").write_bytes(b"12345")
    (folder / "README.md").write_bytes(b"123")
    progress = Recorded()
    assert Destination.of("nobody/films").push(folder, progress) == f"{hub.address}/nobody/films"
    assert progress.stages == [("uploading to nobody/films", 8, "bytes")]
    assert progress.done == [(3, "README.md"), (5, "films.unruly")]
    assert hub.files == {"films.unruly": b"12345", "README.md": b"123"}


def test_nothing_is_sent_without_being_asked(unruly: Unruly, films: Path, hub: Hub) -> None:
    assert unruly("export", films, "-o", "out", "--no-onnx", "--card").code == 0
    assert (hub.created, hub.files, hub.tokens) == ([], {}, set())


def test_a_refusal_is_one_line_and_the_folder_stays(
    unruly: Unruly, films: Path, hub: Hub, tmp_path: Path
) -> None:
    hub.status = 403
    done = unruly("export", films, "-o", "out", "--no-onnx", "--push", "nobody/films")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "error: --push nobody/films: not uploaded (" in done.err
    assert "the folder out is written: try again by hf upload nobody/films out" in done.err
    assert (tmp_path / "out" / "films.unruly").is_file()
    assert not hub.files


@pytest.mark.parametrize(
    ("name", "environment", "words"),
    [
        ("films", {}, "name the owner, too: OWNER/NAME"),
        ("a b/films", {}, "not the name of a repository"),
        ("nobody/films", {"HF_TOKEN": ""}, "set the environment variable HF_TOKEN"),
        ("nobody/films", {"HF_HUB_OFFLINE": "1"}, "the hub is switched off by HF_HUB_OFFLINE"),
    ],
)
def test_what_cannot_be_pushed_is_said_before_any_work(
    unruly: Unruly,
    films: Path,
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    environment: dict[str, str],
    words: str,
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    done = unruly("export", films, "-o", "out", "--push", name)
    assert (done.code, words in done.err) == (2, True), done.err
    assert not (tmp_path / "out").exists()
    assert not hub.created
