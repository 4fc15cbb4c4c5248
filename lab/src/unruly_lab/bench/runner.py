"""Runs a plan: what the store does not have, in this process or in several, each run kept when it is done.

The data set in use stays loaded, since the next run mostly needs the same.
"""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path

from unruly.errors import UnrulyError
from unruly.features.cache import FeatureCache
from unruly.progress import SILENT, Progress, stage
from unruly_lab.bench.datasets import Dataset, Folder
from unruly_lab.bench.measuring import Keywords, make
from unruly_lab.bench.plan import Chain, Plan
from unruly_lab.bench.runs import UNREAD, Failure, Outcome, Run, Store
from unruly_lab.peers.systems import entry


class Loader:
    """Loads what a run needs, and keeps the last data set, for the next run mostly needs the same."""

    def __init__(
        self,
        folders: Mapping[str, Folder],
        keywords: Mapping[str, Keywords],
        cache: Path | None = None,
    ) -> None:
        self._folders, self._keywords = dict(folders), dict(keywords)
        self._cache = FeatureCache(cache) if cache else FeatureCache()
        self._key: tuple[str, str, int | None, int | None] | None = None
        self._dataset: Dataset | None = None

    def emptied(self) -> Loader:
        """The same loader with nothing loaded, small enough to be sent to another process."""
        return Loader(self._folders, self._keywords, self._cache.folder)

    def dataset(self, run: Run, progress: Progress = SILENT) -> Dataset:
        """The data set of a run, read and encoded."""
        encoder = run.encoder if entry(run.method).reads_features else UNREAD
        key = run.dataset, encoder, run.rows, run.draw
        if self._dataset is None or self._key != key:
            self._dataset = None  # its memory is free before the next is read
            folder = self._folders[run.dataset]
            self._dataset = folder.load(encoder, run.rows, self._cache, progress, draw=run.draw)
            self._key = key
        return self._dataset

    def attempt(self, run: Run, progress: Progress = SILENT) -> Outcome | Failure:
        """Make a run; whatever goes wrong becomes a sentence."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dataset = self.dataset(run, progress)
                return make(run, dataset, self._keywords.get(run.dataset), progress)
        except UnrulyError as error:
            return Failure(run, _line(str(error)))
        except Exception as error:
            return Failure(run, _line(f"unexpected {type(error).__name__}: {error}"))


def _line(text: str) -> str:
    return " ".join(text.split())


@dataclass(frozen=True)
class Tally:
    """How many runs were made, and which failed."""

    made: int
    failures: tuple[Failure, ...]


def run_plan(
    plan: Plan, store: Store, loader: Loader, jobs: int = 1, progress: Progress = SILENT
) -> Tally:
    """Make every run that the store does not have; failures are kept, shown, and tried again next time."""
    done = {outcome.run: outcome for outcome in store.outcomes()}
    made: list[Outcome | Failure] = []

    def keep(result: Outcome | Failure) -> None:
        store.add(result)
        made.append(result)
        if isinstance(result, Outcome):
            done[result.run] = result

    with stage(progress, "benchmark", plan.size, "runs"):

        def shown(result: Outcome | Failure) -> None:
            progress.advance(1, _note(result))

        queue = Queue(plan.chains(), done, shown)
        if jobs > 1:
            _prepare(plan, done, loader, progress)
            _spread(queue, loader.emptied(), jobs, keep)
        else:
            for chain, run in queue:
                result = loader.attempt(run, progress)
                keep(result)
                queue.back(chain, result)
    return Tally(len(made), tuple(r for r in made if isinstance(r, Failure)))


class Queue:
    """Hands out the runs that are to be made; a chain goes on when its last result is back."""

    def __init__(
        self,
        chains: Iterable[Chain],
        done: dict[Run, Outcome],
        shown: Callable[[Outcome | Failure], None],
    ) -> None:
        self._fresh = iter(chains)
        self._ready: list[tuple[Chain, Run]] = []
        self._done, self._as_optuna_trial = done, shown

    def __iter__(self) -> Iterator[tuple[Chain, Run]]:
        return self

    def __next__(self) -> tuple[Chain, Run]:
        """The next run that is not done; StopIteration when no run is ready now."""
        while not self._ready:
            chain = next(self._fresh)
            self._forward(chain, next(chain, None))
        return self._ready.pop(0)

    def back(self, chain: Chain, result: Outcome | Failure) -> None:
        """A run has ended."""
        self._as_optuna_trial(result)
        self._forward(chain, _following(chain, result))

    def _forward(self, chain: Chain, run: Run | None) -> None:
        """Pass over what is done already."""
        while run is not None and run in self._done:
            self._as_optuna_trial(self._done[run])
            run = _following(chain, self._done[run])
        if run is not None:
            self._ready.append((chain, run))


class Worker:
    """Another process that makes runs, one at a time."""

    def __init__(self, loader: Loader) -> None:
        spawned = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawned.Pipe()
        self._process = spawned.Process(target=serve, args=(theirs, loader), daemon=True)
        self._process.start()
        theirs.close()
        self.busy: tuple[Chain, Run] | None = None

    def give(self, task: tuple[Chain, Run]) -> None:
        """Start a run."""
        self.busy = task
        with suppress(ConnectionError):  # it died meanwhile; `take` will tell
            self.pipe.send(task[1])

    def take(self) -> tuple[Chain, Outcome | Failure]:
        """The result of the run; a process that died is a failure of its run."""
        assert self.busy is not None
        chain, run = self.busy
        self.busy = None
        try:
            result: Outcome | Failure = self.pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            result = Failure(run, f"the process that made it ended with {code}: out of memory?")
        return chain, result

    @property
    def alive(self) -> bool:
        """Whether it can take another run."""
        return self._process.is_alive()

    def end(self) -> None:
        """Stop, whatever it is doing."""
        self.pipe.close()
        self._process.terminate()
        self._process.join()


def serve(pipe: Connection, loader: Loader) -> None:
    """What a worker does: make the runs that it is sent, until no more come."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    with suppress(EOFError, ConnectionError):
        while True:
            pipe.send(loader.attempt(pipe.recv()))


def _spread(
    queue: Queue, loader: Loader, jobs: int, keep: Callable[[Outcome | Failure], None]
) -> None:
    """Keep so many processes busy; each result is written here, by one process."""
    workers: list[Worker] = []
    try:
        while True:
            busy = [worker for worker in workers if worker.busy]
            while len(busy) < jobs and (task := next(queue, None)) is not None:
                worker = next((w for w in workers if not w.busy), None)
                if worker is None:
                    worker = Worker(loader)
                    workers.append(worker)
                worker.give(task)
                busy.append(worker)
            if not busy:
                return
            ready = wait([worker.pipe for worker in busy])
            for worker in [w for w in busy if w.pipe in ready]:
                chain, result = worker.take()
                keep(result)
                queue.back(chain, result)
                if not worker.alive:
                    workers.remove(worker)
                    worker.end()
    finally:
        for worker in workers:
            worker.end()


def _prepare(plan: Plan, done: dict[Run, Outcome], loader: Loader, progress: Progress) -> None:
    """Encode each data set once, before several processes ask for it."""
    runs = [*plan.searches(), *(run for run in plan.runs() if run not in done)]
    reading = [run for run in runs if entry(run.method).reads_features]
    wanted = {(run.dataset, run.encoder, run.draw): run for run in reading}
    for run in wanted.values():
        loader.dataset(run, progress)


def _following(chain: Chain, result: Outcome | Failure) -> Run | None:
    try:
        return chain.send(result)
    except StopIteration:
        return None


def _note(result: Outcome | Failure) -> str:
    run = result.run
    said = "failed" if isinstance(result, Failure) else f"{100 * result.accuracy:.1f} %"
    return f"{run.dataset}, {run.method}, seed {run.seed}: {said}"
