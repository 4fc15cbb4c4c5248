"""A real Ray cluster on this machine: workers that are killed, versions that differ, addresses where nobody listens.

Skipped where Ray is not installed: `pip install 'unruly[ray]'`, then `pytest tests/distributed`.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.distributed.conftest import ROWS, Place

from unruly.distributed import cluster
from unruly.distributed.cluster import connected
from unruly.distributed.learn import fit
from unruly.distributed.run import Placement, predict, vote
from unruly.errors import InputError
from unruly.project.project import Project
from unruly.project.voting import vote_split
from unruly.votes.files import write_votes

ray: Any = pytest.importorskip("ray")

DEADLY = """
import os
from pathlib import Path

import unruly

MARK = Path(__file__).with_name("killed")


@unruly.rule
def deadly(row):
    if "number 237" in row.text and not MARK.exists():
        MARK.write_text(str(os.getpid()))
        os.kill(os.getpid(), 9)
    return "spam" if "subscribe" in row.text else None
"""


class Threads:
    """A job that tells how many threads libraries may start in the worker."""

    def begin(self) -> cluster.Work:
        def told(item: dict[str, Any]) -> dict[str, Any]:
            return {name: os.environ.get(name) for name in cluster.ONE_THREAD}

        return told


def test_workers_have_one_thread_on_a_connection_of_the_caller() -> None:
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        with connected() as own:
            assert list(own.map(Threads(), [{}])) == [cluster.ONE_THREAD]
    finally:
        ray.shutdown()


@pytest.fixture(scope="module")
def two() -> Iterator[None]:
    """A cluster of two workers, for all tests of this file."""
    with connected(workers=2):
        yield


@pytest.fixture
def deadly(made: Place, tmp_path: Path) -> Path:
    """The project with a rule that kills the worker which first sees document 237."""
    folder = tmp_path / "deadly"
    folder.mkdir()
    toml = (made.project / "unruly.toml").read_text().replace("../data", str(made.data))
    toml += '\n[[source]]\nname = "deadly"\n'
    toml += 'rule = [{ function = { file = "rules.py", name = "deadly" } }]\n'
    (folder / "unruly.toml").write_text(toml)
    (folder / "rules.py").write_text(DEADLY)
    return folder


@pytest.mark.usefixtures("two")
def test_a_killed_worker_costs_no_row(deadly: Path, tmp_path: Path) -> None:
    placement = Placement(part_rows=20)
    project = Project.read(deadly)
    data = project.data.path("train", project.folder)
    done = vote(deadly, data, tmp_path / "out", placement=placement)
    assert (deadly / "killed").exists(), "no worker was killed: the test shows nothing"
    write_votes(vote_split(project).votes, tmp_path / "one.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "out"), pl.read_parquet(tmp_path / "one.parquet"))
    assert (done.documents, done.parts) == (ROWS, ROWS // 20)


@pytest.mark.usefixtures("two")
def test_the_model_goes_by_path_and_fits_on_the_cluster(made: Place, tmp_path: Path) -> None:
    model = fit(made.project, tmp_path / "room", sample=200, placement=Placement(part_rows=50))
    model.save(tmp_path / "m.unruly")
    done = predict(tmp_path / "m.unruly", made.data, tmp_path / "out", text="comment", id="id")
    labels = pl.read_parquet(tmp_path / "out")["label"].to_list()
    texts = pl.read_parquet(made.data)["comment"].to_list()
    assert labels == model.predict(texts).tolist()
    assert done.documents == ROWS


@pytest.mark.usefixtures("two")
def test_an_error_on_a_worker_is_one_line_here(deadly: Path, tmp_path: Path) -> None:
    (deadly / "rules.py").write_text(DEADLY.replace("os.kill(os.getpid(), 9)", "row.nonsense"))
    project = Project.read(deadly)
    data = project.data.path("train", project.folder)
    with pytest.raises(InputError, match="nonsense") as caught:
        vote(deadly, data, tmp_path / "out")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("two")
def test_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "__version__", "9")
    message = r"has unruly 0\.1\.0.*this machine unruly 9.*the same"
    with pytest.raises(InputError, match=message), connected():
        pass


@pytest.mark.usefixtures("two")
def test_the_address_of_a_cluster_is_recognised() -> None:
    cluster._check_listening(ray.get_runtime_context().gcs_address)


def test_an_address_where_something_else_listens(two: None) -> None:
    if ray.is_initialized():
        ray.shutdown()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        threading.Thread(target=_refuse, args=(other,), daemon=True).start()
        with (
            pytest.raises(
                InputError, match=rf"127\.0\.0\.1:{port} \(what listens there is not Ray\)"
            ),
            connected(f"127.0.0.1:{port}"),
        ):
            pass


def _refuse(other: socket.socket) -> None:
    """Answer as a web server does."""
    connection, _ = other.accept()
    with connection:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_an_address_where_nobody_listens(two: None) -> None:
    if ray.is_initialized():
        ray.shutdown()
    with (
        pytest.raises(InputError, match=r"no Ray cluster can be reached at 127\.0\.0\.1:1 "),
        connected("127.0.0.1:1"),
    ):
        pass
