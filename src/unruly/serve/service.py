"""What the server does, without HTTP: predict in batches, explain one by one, describe itself, count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import unruly
from unruly.model.explanation import Explanation, explain
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents
from unruly.model.predictions import Predictions
from unruly.serve.answers import Answers
from unruly.serve.asking import Asked, ExplainRequest
from unruly.serve.batching import Batcher
from unruly.serve.metrics import Metrics, Samples, SharedCounters, labelled
from unruly.serve.model_file import ModelFile
from unruly.serve.problems import full
from unruly.serve.settings import ServeSettings
from unruly.texts.corpus import Corpus

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
        served = self.file.served
        predictions = served.fitted.predictions(documents_of(asked))
        self._count(predictions)
        return Answers.of(predictions, served.checksum)

    def _explained(self, request: ExplainRequest) -> Explanation:
        return explain(
            self.file.served.fitted,
            documents_of(request.asked),
            None,
            words=request.words,
            neighbours=request.neighbours,
        )

    def _count(self, predictions: Predictions) -> None:
        """Labels, confidence and votes, so that a drift of the texts shows."""
        metrics, votes = self.metrics, predictions.votes
        for number, count in _counts(predictions.numbers, len(predictions.classes)):
            labels = {"label": predictions.classes[number]}
            metrics.add("unruly_predictions_total", count, labels)
        metrics.observe("unruly_confidence", predictions.confidence.tolist())
        metrics.add("unruly_uncovered_total", int((~votes.covered).sum()))
        cells = votes.matrix.astype(np.int64) + votes.m * np.arange(votes.k)  # (n, k)
        for cell, count in _counts(cells[votes.voted], votes.k * votes.m):
            source, label = divmod(cell, votes.m)
            labels = {"source": votes.sources[source], "label": votes.classes[label]}
            metrics.add("unruly_votes_total", count, labels)

    def gauges(self) -> Samples:
        """What is so now."""
        info = {"model": self.settings.name, "checksum": self.file.served.checksum[:12]}
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


def documents_of(asked: Asked) -> Documents:
    """The documents of a request, or of several together."""
    corpus = Corpus.from_texts(list(asked.texts), name="the request")
    if asked.columns is not None:
        corpus = replace(corpus, columns=asked.columns)
    return Documents(corpus, None)


def rules_in_words(fitted: Fitted) -> list[dict[str, Any]]:
    """Each rule that the model carries: its source, its label, and what it looks for."""
    book = fitted.rules
    if book is None:
        return []
    return [
        {"source": source.name, "label": rule.label, "when": rule.when.reason()}
        for source in book.sources.sources
        for rule in source.rules
    ]


def _counts(numbers: np.ndarray[Any, Any], size: int) -> list[tuple[int, int]]:
    """Each number that occurs, and how often."""
    found = np.bincount(numbers.reshape(-1), minlength=size)
    return [(int(number), int(found[number])) for number in np.flatnonzero(found)]
