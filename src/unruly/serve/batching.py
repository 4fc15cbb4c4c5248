"""Micro-batching: requests that arrive while a batch is predicted make up the next one.

Nobody waits for company: a text that comes alone is predicted at once, and the more requests come together, the
larger the batches grow by themselves. One thread predicts; the event loop reads and writes meanwhile.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from unruly.serve.messages import Answers, Asked, full
from unruly.serve.metrics import Metrics
from unruly.serve.settings import Limits

LONGEST = 60  # seconds: the largest Retry-After


@dataclass(frozen=True, eq=False)
class Waiting:
    """A request in the queue."""

    asked: Asked
    answer: asyncio.Future[Answers]

    @property
    def characters(self) -> int:
        """Of all its texts."""
        return sum(map(len, self.asked.texts))


class Batcher:
    """Takes requests, predicts them in batches, and gives each its own answers."""

    def __init__(
        self, predict: Callable[[Asked], Answers], limits: Limits, metrics: Metrics
    ) -> None:
        self._predict, self._limits, self._metrics = predict, limits, metrics
        self._queue: deque[Waiting] = deque()
        self._filled = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "unruly-predict")
        self._seconds = 0.001  # for one text, of late
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
        finally:
            self.waiting -= number

    def _retry_after(self) -> int:
        return min(max(1, math.ceil(self.waiting * self._seconds)), LONGEST)

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
        self._seconds = 0.8 * self._seconds + 0.2 * took / len(asked.texts)
        self._metrics.observe("unruly_batch_texts", [len(asked.texts)])
        self._metrics.observe("unruly_batch_seconds", [took])
        return answers
