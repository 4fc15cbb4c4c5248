"""A Ray cluster: connected to or started here, the same versions on every node, and workers that survive kills."""

from __future__ import annotations

import json
import logging
import os
import platform
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from unruly import __version__
from unruly.errors import InputError, need
from unruly.wording import plural

# A worker has one processor to itself: libraries in it must not start a thread for each of the machine's.
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


MOST_CONNECTING = 10  # seconds
# Ray speaks gRPC: its servers answer the beginning of HTTP/2, which ends in an empty frame of settings, with theirs.
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
SETTINGS = b"\4"  # the fourth byte of such a frame


class Work(Protocol):
    """What a worker does with one item."""

    def __call__(self, item: dict[str, Any]) -> dict[str, Any]:
        """Plain values in, plain values out."""


class Job(Protocol):
    """What a worker is made of: a few plain values, such as the path of a model, never the model itself."""

    def begin(self) -> Work:
        """Load what the work needs; called once in each worker."""


class Worker:
    """An actor of the pool: begins a job once, and does one item after the other."""

    def __init__(self, job: Job) -> None:
        self._work = job.begin()

    def __call__(self, batch: Any) -> Any:
        import pyarrow

        items = [json.loads(text) for text in batch["item"].to_pylist()]
        return pyarrow.table({"item": [json.dumps(self._work(item)) for item in items]})


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process is connected to."""

    ray: Any  # the library
    workers: int

    def map(self, job: Job, items: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The answers, in the order in which they are ready. An item whose worker is killed is done again by another.

        Ray Data keeps the pool: as many items are on their way as workers can take, and what comes out is a few
        plain values, so that no row passes through this process.
        """
        data = need("ray.data", "ray", "--engine ray and unruly.distributed")
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        rows = [{"item": json.dumps(item)} for item in items]
        pool = data.ActorPoolStrategy(size=min(self.workers, len(rows)))
        answers = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            Worker,
            fn_constructor_args=(job,),
            batch_size=1,
            batch_format="pyarrow",
            compute=pool,
            num_cpus=1,
            runtime_env={"env_vars": ONE_THREAD},  # also on a connection that the caller made
        )
        for row in answers.iter_rows():
            yield json.loads(row["item"])


@contextmanager
def connected(address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
    """The cluster at an address (`auto`: the one of this machine); without one, a local cluster for this block.

    Where the caller is connected already, that connection is used and left open.
    """
    ray = need("ray", "ray", "--engine ray and unruly.distributed")
    if workers is not None and workers < 1:
        raise InputError(f"{workers} workers: at least one is needed")
    if ray.is_initialized():
        yield _checked(ray, workers)
        return
    _connect(ray, address, workers)
    try:
        yield _checked(ray, workers)
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quietly = {"logging_level": logging.ERROR, "log_to_driver": False}
    environment = {"env_vars": ONE_THREAD}
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # Ray's own messages help nobody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is None:
        processors = workers or os.cpu_count() or 1
        try:
            ray.init(
                address="local",
                num_cpus=processors,
                include_dashboard=False,
                runtime_env=environment,
                **quietly,
            )
        except Exception as error:  # Ray raises just that where its processes do not start in time
            ray.shutdown()
            raise InputError(
                f"Ray cannot start on this machine ({_one_line(str(error))}): try again when it has less to do, or "
                "leave --engine ray out"
            ) from None
        return
    _check_listening(address)
    try:
        ray.init(address=address, runtime_env=environment, **quietly)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        ray.shutdown()
        raise InputError(_unreachable(address, str(error))) from None


def _check_listening(address: str) -> None:
    """Refuse at once an address where Ray does not listen: Ray itself would keep trying."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return  # "auto", "local"
    try:
        with socket.create_connection((host, int(port)), MOST_CONNECTING) as connection:
            connection.sendall(HTTP2)
            answer = connection.recv(4)
    except (OSError, OverflowError) as error:
        raise InputError(_unreachable(address, str(error))) from None
    if answer[3:] != SETTINGS and "RAY_USE_TLS" not in os.environ:
        raise InputError(_unreachable(address, "what listens there is not Ray"))


def _unreachable(address: str, words: str) -> str:
    first = _one_line(words)
    if "ersion mismatch" in first:
        return (
            f"the Ray cluster at {address} has other versions ({first}): install the same Ray and Python on all "
            "machines"
        )
    return (
        f"no Ray cluster can be reached at {address} ({first}): start one with `ray start --head`, check the "
        "address, or leave --address out for a local one"
    )


def _one_line(words: str) -> str:
    return " ".join(words.split())[:200].rstrip(". ")


def _checked(ray: Any, workers: int | None) -> Cluster:
    """The cluster, when every node of it has our version of unruly and of Python."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ours, task = versions(), ray.remote(versions)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    asked = {
        node["NodeManagerHostname"]: task.options(
            num_cpus=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote()
        for node in nodes
    }
    for host, answer in asked.items():
        try:
            theirs = ray.get(answer)
        except ray.exceptions.RayError as error:
            what = str(error).strip().splitlines()[-1]
            raise InputError(
                f"the node {host} cannot run unruly ({what}): pip install 'unruly[ray]=={__version__}' there"
            ) from None
        if theirs != ours:
            raise InputError(
                f"the node {host} has {_listed(theirs)}, this machine {_listed(ours)}: install the same on all machines"
            )
    processors = int(ray.cluster_resources().get("CPU", 0))
    if not processors:
        raise InputError(f"the cluster of {plural(len(nodes), 'node')} has no processors to offer")
    return Cluster(ray, min(workers or processors, processors))


def versions() -> dict[str, str]:
    """What must be the same everywhere."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"unruly": __version__, "python": python}


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
