"""The server without HTTP: predictions in batches, explanations, metrics, and reloading the model.

Micro-batching: requests that arrive while a batch is predicted form the next one. A lone text is predicted at once,
and batches grow with the load. One thread predicts, while the event loop reads and writes.
"""

from __future__ import annotations

import asyncio
import math
import time
import warnings
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import unruly
from unruly.errors import InputError, UnrulyError, Where
from unruly.model.explanation import Explanation, explain
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents
from unruly.model.predictions import Predictions
from unruly.model.saved_rules import LackingWarning
from unruly.model.storage import load
from unruly.rules.source import Rule
from unruly.serve.messages import Answers, Asked, ExplainRequest, Limits, full, version_of
from unruly.serve.metrics import Metrics, Samples, SharedCounters, labelled
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import listed

_WARM = ("a text to begin with", "")


@dataclass(frozen=True)
class ServeSettings:
    """Everything that `unruly serve` takes; workers get it by pickle, so it holds plain values alone."""

    model: Path
    functions: tuple[Path, ...] = ()  # Python files with the model's rule functions
    host: str = "127.0.0.1"
    port: int = 8080  # 0: any free one
    names: tuple[str, ...] = ()  # that a proxy on this machine may call the server by
    workers: int = 1
    token: str | None = field(default=None, repr=False)  # clients must send it, where there is one
    limits: Limits = field(default_factory=Limits)
    log: str = "requests"  # or "none", or "texts": the texts, too
    counters: Path | None = None  # a folder where several workers share their metrics

    @property
    def name(self) -> str:
        """The model's name in answers: that of its file.

        >>> ServeSettings(Path("models/spam.unruly")).name
        'spam'
        """
        return self.model.stem


@dataclass(frozen=True)
class Stamp:
    """What a file is recognised by without reading it."""

    inode: int
    bytes: int
    changed: int  # nanoseconds

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The stamp of a file, None where there is none."""
        try:
            about = path.stat()
        except OSError:
            return None
        return cls(about.st_ino, about.st_size, about.st_mtime_ns)


@dataclass(frozen=True, eq=False)
class Served:
    """A model that is ready to answer."""

    fitted: Fitted
    checksum: str  # which the file ends with
    stamp: Stamp
    loaded: float  # seconds since 1970

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns beside the text that its rules read, or may read."""
        return () if self.fitted.rules is None else self.fitted.rules.reads

    def remarks(self) -> Iterator[str]:
        """What to know before asking it."""
        if self.columns:
            yield (
                f"rules may read other columns ({listed(self.columns)}): requests that send documents with them get "
                "all votes; for texts alone, sources that need a column abstain"
            )


def load_served(path: Path, functions: tuple[Path, ...] = ()) -> Served:
    """Read a model and let it answer once, so that everything it needs is there before the first request."""
    for _ in range(10):
        stamp = Stamp.of(path)
        loaded = load(path, tuple(functions) or None)
        if stamp is not None and stamp == Stamp.of(path):
            break
    else:
        raise InputError(
            "the file is written to all the time: replace it as a whole", where=Where(str(path))
        )
    fitted = loaded.fitted
    if fitted.encoder is None:
        raise InputError(
            "the model was fitted on features, and requests are texts: fit it on texts",
            where=Where(str(path)),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LackingWarning)  # said by `Served.remarks`
        fitted.predictions(Documents(Corpus.from_texts(_WARM, name="a request"), None))
    return Served(fitted, loaded.checksum, stamp, time.time())


class ModelFile:
    """The model in service; `watch` replaces it when its file is."""

    def __init__(self, path: Path, functions: tuple[Path, ...], served: Served) -> None:
        self.path, self.functions = path, functions
        self.served = served
        self.problem: str | None = (
            None  # why the file that lies there now, or none, is not in service
        )
        self._seen: Stamp | None = served.stamp  # None: the file is gone, which was said

    async def watch(self, notify: Callable[[str, str], None], seconds: float = 1.0) -> None:
        """Look at the file again and again; `notify` gets the outcome of each reload, and a sentence."""
        while True:
            before = Stamp.of(self.path)
            await asyncio.sleep(seconds)
            now = Stamp.of(self.path)
            if now == before and now != self._seen:
                self._seen = now
                if now is None:
                    self._keep("missing", f"{self.path}: the file is gone", notify)
                else:
                    await self._reload(notify)

    def _keep(self, outcome: str, problem: str, notify: Callable[[str, str], None]) -> None:
        """Say why the model stays."""
        self.problem = problem
        notify(outcome, f"{problem}; the model loaded before stays in service")

    async def _reload(self, notify: Callable[[str, str], None]) -> None:
        """Load the new file while the old model answers; keep the old one where the new cannot be used."""
        try:
            served = await asyncio.to_thread(load_served, self.path, self.functions)
        except (UnrulyError, OSError) as error:
            self._keep("failed", str(error), notify)
            return
        self.served, self.problem, self._seen = served, None, served.stamp
        notify(
            "done", f"{self.path}: the replaced model is in service ({version_of(served.checksum)})"
        )


SHARED_EVERY = 1.0  # seconds between two notes to the other workers


class Service:
    """One process's model, queue and counters."""

    def __init__(
        self, settings: ServeSettings, file: ModelFile, notify: Callable[[str], None] = print
    ) -> None:
        self.settings, self.file, self._notify = settings, file, notify
        self.metrics = Metrics()
        self.batcher = Batcher(self._predicted, settings.limits, self.metrics)
        self.in_flight = 0
        self._explaining = 0
        self._explainer = ThreadPoolExecutor(1, "unruly-explain")
        folder = settings.counters
        self._shared = None if folder is None else SharedCounters(folder)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """From the start to the end, when what waits is still answered."""
        work = asyncio.create_task(self.batcher.run())
        beside = [asyncio.create_task(self.file.watch(self._reloaded))]
        if self._shared is not None:
            beside.append(asyncio.create_task(self._share(self._shared)))
        try:
            yield
        finally:
            self.batcher.stop()
            await work
            for task in beside:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            self._explainer.shutdown()

    async def _share(self, shared: SharedCounters) -> None:
        while True:
            shared.leave(self.metrics.snapshot(), self.gauges())
            await asyncio.sleep(SHARED_EVERY)

    def _reloaded(self, outcome: str, sentence: str) -> None:
        self.metrics.add("unruly_reloads_total", labels={"outcome": outcome})
        self._notify(sentence)

    async def predict(self, asked: Asked) -> Answers:
        """The answers for these documents."""
        return await self.batcher.ask(asked)

    async def explain(self, request: ExplainRequest) -> Explanation:
        """Why one document gets its label; few may wait, since it is slow."""
        if self._explaining >= self.settings.limits.explanations:
            raise full(1)
        self._explaining += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._explainer, self._explained, request)
        finally:
            self._explaining -= 1

    def _predicted(self, asked: Asked) -> Answers:
        served, corpus = self.file.served, corpus_of(asked)
        predictions = served.fitted.predictions(Documents(corpus, None))
        missing = np.array([text is None for text in asked.texts])  # (n,); an empty text is a text
        self._count(predictions, missing)
        return Answers.of(predictions, served.checksum, missing)

    def _explained(self, request: ExplainRequest) -> Explanation:
        return explain(
            self.file.served.fitted,
            Documents(corpus_of(request.asked), None),
            words=request.words,
            neighbours=request.neighbours,
        )

    def _count(self, predictions: Predictions, missing: NDArray[np.bool_]) -> None:
        """Labels, confidence and votes, so that a drift of the texts shows; those without a text (n,) by themselves."""
        metrics, votes = self.metrics, predictions.votes
        there = ~missing
        for number, count in _counts(predictions.numbers[there], len(predictions.classes)):
            labels = {"label": predictions.classes[number]}
            metrics.add("unruly_predictions_total", count, labels)
        metrics.observe("unruly_confidence", predictions.confidence[there].tolist())
        metrics.add("unruly_uncovered_total", int((there & ~votes.covered).sum()))
        if missing.any():
            metrics.add("unruly_missing_total", int(missing.sum()))
        for (source, label), count in votes_by_label(votes).items():
            metrics.add("unruly_votes_total", count, {"source": source, "label": label})

    def gauges(self) -> Samples:
        """What is so now."""
        info = {"model": self.settings.name, "checksum": version_of(self.file.served.checksum)}
        return {
            "unruly_requests_in_flight": self.in_flight,
            "unruly_texts_waiting": self.batcher.waiting,
            labelled("unruly_model_info", {**info, "version": unruly.__version__}): 1,
        }

    def metrics_text(self) -> str:
        """The page for Prometheus, of all workers."""
        others = [] if self._shared is None else self._shared.others()
        return self.metrics.text(self.gauges(), others)

    def info(self) -> dict[str, Any]:
        """What is served: classes, rules, what gold was used, versions and checksum."""
        served = self.file.served
        fitted = served.fitted
        return {
            "name": self.settings.name,
            "classes": list(fitted.classes),
            "method": fitted.method,
            "encoder": None if fitted.encoder is None else fitted.encoder.name,
            "sources": list(fitted.sources),
            "rules": rules_in_words(fitted),
            "columns": list(served.columns),
            "ledger": fitted.ledger.to_plain(),
            "gold": str(fitted.ledger),
            "gold_free": fitted.ledger.gold_free,
            "checksum": served.checksum,
            "bytes": served.stamp.bytes,
            "loaded": round(served.loaded, 3),
            "not_in_service": self.file.problem,
            "versions": {
                "unruly": unruly.__version__,
                "polars": pl.__version__,
                "numpy": np.__version__,
            },
            "limits": {
                "body_bytes": self.settings.limits.body,
                "texts": self.settings.limits.texts,
                "characters": self.settings.limits.characters,
            },
        }


def corpus_of(asked: Asked) -> Corpus:
    """The documents of a request, or of several together."""
    corpus = Corpus.from_texts(list(asked.texts), name="the request")
    return corpus if asked.columns is None else replace(corpus, columns=asked.columns)


def rules_in_words(fitted: Fitted) -> list[dict[str, Any]]:
    """Each rule that the model carries: its source, its label, and what it looks for."""
    book = fitted.rules
    if book is None:
        return []
    return [
        {"source": source.name, "label": _label(rule, fitted.classes), "when": rule.when.reason()}
        for source in book.sources.sources
        for rule in source.rules
    ]


def _label(rule: Rule, classes: tuple[str, ...]) -> str | list[str] | None:
    """The class that a rule votes for, or its classes; None where its condition picks the class."""
    names = [classes[number] for number in rule.named(classes)]
    return names[0] if len(names) == 1 else names or None


def votes_by_label(votes: Votes) -> Counter[tuple[str, str]]:
    """How often each source names each class, or the classes of a partial vote."""
    hard = votes.hard
    cells = hard.astype(np.int64) + votes.m * np.arange(votes.k)  # (n, k)
    found: Counter[tuple[str, str]] = Counter()
    for cell, count in _counts(cells[hard >= 0], votes.k * votes.m):
        source, label = divmod(cell, votes.m)
        found[votes.sources[source], votes.classes[label]] = count
    for j, sets in votes.sets.items():
        for row in np.flatnonzero(sets.any(axis=1)).tolist():
            found[votes.sources[j], votes.label(row, j)] += 1
    return found


def _counts(numbers: np.ndarray[Any, Any], size: int) -> list[tuple[int, int]]:
    """Each number that occurs, and how often."""
    found = np.bincount(numbers.reshape(-1), minlength=size)
    return [(int(number), int(found[number])) for number in np.flatnonzero(found)]


LONGEST = 60  # seconds: the largest Retry-After


@dataclass(frozen=True, eq=False)
class Waiting:
    """A request in the queue."""

    asked: Asked
    answer: asyncio.Future[Answers]

    @property
    def characters(self) -> int:
        """Of all its texts."""
        return sum(len(text or "") for text in self.asked.texts)


class Batcher:
    """Takes requests, predicts them in batches, and gives each its own answers."""

    def __init__(
        self, predict: Callable[[Asked], Answers], limits: Limits, metrics: Metrics
    ) -> None:
        self._predict, self._limits, self._metrics = predict, limits, metrics
        self._queue: deque[Waiting] = deque()
        self._filled = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "unruly-predict")
        self._seconds = 0.01  # for one batch, of late
        self._stopping = False
        self.waiting = 0  # texts, those in the present batch included

    async def ask(self, asked: Asked) -> Answers:
        """The answers for these documents; refused with 429 when too many wait already."""
        number = len(asked.texts)
        if self.waiting and self.waiting + number > self._limits.waiting:
            raise full(self._retry_after())
        entry = Waiting(asked, asyncio.get_running_loop().create_future())
        self._queue.append(entry)
        self.waiting += number
        self._filled.set()
        try:
            return await entry.answer
        except asyncio.CancelledError:  # the client hung up
            with suppress(ValueError):  # being predicted already
                self._queue.remove(entry)
            raise
        finally:
            self.waiting -= number

    def _retry_after(self) -> int:
        batches = self.waiting / self._limits.batch
        return min(max(1, math.ceil(batches * self._seconds)), LONGEST)

    async def run(self) -> None:
        """Predict batch after batch until `stop`, and then what is left."""
        while self._queue or not self._stopping:
            await self._filled.wait()
            self._filled.clear()
            while self._queue:
                await self._answer(self._next())
        self._thread.shutdown()

    def stop(self) -> None:
        """Take nothing more; `run` ends when the queue is empty."""
        self._stopping = True
        self._filled.set()

    def _next(self) -> list[Waiting]:
        """The requests at the head of the queue that fit one batch; one with columns goes alone."""
        batch = [self._queue.popleft()]
        texts, characters = len(batch[0].asked.texts), batch[0].characters
        while self._queue and batch[0].asked.columns is None:
            coming = self._queue[0]
            texts, characters = texts + len(coming.asked.texts), characters + coming.characters
            many = texts > self._limits.batch or characters > self._limits.batch_characters
            if many or coming.asked.columns is not None:
                break
            batch.append(self._queue.popleft())
        return batch

    async def _answer(self, batch: Sequence[Waiting]) -> None:
        """Predict a batch; when that fails, each request by itself, so that one cannot spoil the others'."""
        batch = [entry for entry in batch if not entry.answer.done()]  # the client hung up
        if not batch:
            return
        texts = [text for entry in batch for text in entry.asked.texts]
        asked = batch[0].asked if len(batch) == 1 else Asked(texts)
        try:
            answers = await self._timed(asked)
        except Exception as error:
            if len(batch) > 1:
                for entry in batch:
                    await self._answer([entry])
            else:
                with suppress(asyncio.InvalidStateError):
                    batch[0].answer.set_exception(error)
            return
        start = 0
        for entry in batch:
            stop = start + len(entry.asked.texts)
            with suppress(asyncio.InvalidStateError):  # given up meanwhile
                entry.answer.set_result(answers.part(start, stop))
            start = stop

    async def _timed(self, asked: Asked) -> Answers:
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        answers = await loop.run_in_executor(self._thread, self._predict, asked)
        took = time.perf_counter() - started
        self._seconds = 0.8 * self._seconds + 0.2 * took
        self._metrics.observe("unruly_batch_texts", [len(asked.texts)])
        self._metrics.observe("unruly_batch_seconds", [took])
        return answers
