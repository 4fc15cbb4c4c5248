"""A studio on the starter project, asked over HTTP without a browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from unruly.project.new import make_starter
from unruly.rules.matching import VoteCache
from unruly.serve.server import listening
from unruly.studio.app import Studio, application
from unruly.studio.server import Access, link_of
from unruly.studio.workspace import Workspace

ACCESS = Access("secret", 8765)
BASE = "http://127.0.0.1:8765"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VoteCache:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    return VoteCache.default()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A starter project."""
    return make_starter(tmp_path / "spam")


@pytest.fixture
def workspace(folder: Path, cache: VoteCache) -> Workspace:
    return Workspace(folder, by="ada")


@pytest.fixture
def studio(folder: Path, cache: VoteCache) -> Studio:
    made = Studio(ACCESS, by="ada")
    made.open(folder)
    return made


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the starter project, fitted once."""
    from unruly.cli.main import run

    home = tmp_path_factory.mktemp("trained")
    make_starter(home / "spam")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("UNRULY_CACHE", str(home / "cache"))
        assert run(["fit", "spam", "-o", "first.unruly", "--encoder", "lsa", "-q"]) == 0
    return home / "first.unruly"


@pytest.fixture
def modelled(folder: Path, cache: VoteCache, trained: Path) -> Studio:
    """A studio with a model."""
    shutil.copy(trained, folder / "first.unruly")
    made = Studio(ACCESS, by="ada")
    made.open(folder)
    assert made.trainer is not None
    made.trainer.wait(60)
    return made


def client_of(studio: Studio) -> Any:
    """A client that has visited the start link."""
    testing = pytest.importorskip("starlette.testclient")
    client = testing.TestClient(application(studio), base_url=BASE)
    assert client.get("/?token=secret").status_code == 200
    return client


@contextmanager
def hosted(studio: Studio) -> Iterator[str]:
    """The studio on a real port of this process; gives the link to start with."""
    import uvicorn

    with listening("127.0.0.1", [0]) as made:
        studio.access = Access("secret", made.getsockname()[1])
        config = uvicorn.Config(application(studio), log_level="warning", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [made]}, daemon=True)
        thread.start()
        yield link_of(studio.access)
        server.should_exit = True
        thread.join(20)


@pytest.fixture
def client(studio: Studio) -> Iterator[Any]:
    with client_of(studio) as made:
        yield made
