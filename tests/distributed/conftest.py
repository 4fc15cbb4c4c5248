"""A project and a model of it, documents in several files, and a cluster that is this process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from unruly.cli.main import run
from unruly.distributed import learn
from unruly.distributed import run as running
from unruly.distributed.cluster import Cluster, Job
from unruly.project.new import make_starter

ROWS = 400


@dataclass(frozen=True)
class Place:
    """What a test works with."""

    folder: Path
    data: Path  # four files, 100 rows each, ids 0 to 399
    model: Path
    project: Path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("distributed")
    project = make_starter(folder / "spam")
    comments = pl.read_csv(project / "comments.csv")
    rows = pl.int_range(ROWS, eager=True)
    texts = comments["comment"].gather(rows % len(comments)) + " number " + rows.cast(pl.String)
    (folder / "data").mkdir()
    for number, part in enumerate(pl.DataFrame({"id": rows, "comment": texts}).iter_slices(100)):
        part.write_parquet(folder / "data" / f"{number}.parquet")
    toml = (project / "unruly.toml").read_text().replace("comments.csv", "../data")
    lines = [line for line in toml.splitlines() if not line.startswith('label = "is_spam"')]
    (project / "unruly.toml").write_text(
        "\n".join(lines).replace('text = "comment"', 'text = "comment"\nid = "id"', 1)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("UNRULY_CACHE", str(folder / "cache"))
        assert run(["fit", "spam", "-o", "spam.unruly", "--encoder", "lsa", "-q"]) == 0
    return Place(folder, folder / "data", folder / "spam.unruly", project)


@dataclass(frozen=True)
class Here(Cluster):
    """Does the work in this process, in an order of its own, through JSON as the real one does."""

    most: int = 10**9  # items, after which the run is interrupted

    def map(self, job: Job, items: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        work = job.begin()
        for done, item in enumerate(reversed(items)):
            if done == self.most:
                raise KeyboardInterrupt
            yield json.loads(json.dumps(work(json.loads(json.dumps(item)))))


def use(patch: pytest.MonkeyPatch, cluster: Here) -> None:
    """Let everything run on this cluster."""

    @contextmanager
    def connected(address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
        yield cluster

    patch.setattr(running, "connected", connected)
    patch.setattr(learn, "connected", connected)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Here:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    cluster = Here(None, 1)
    use(monkeypatch, cluster)
    return cluster
