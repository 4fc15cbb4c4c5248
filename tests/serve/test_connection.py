"""Slow clients over real connections: heads that never end, answers that nobody reads, and too many of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn

from unruly.serve.connection import SPARE
from unruly.serve.messages import Limits
from unruly.serve.metrics import Metrics
from unruly.serve.server import connections_within, listening

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE = 60.0  # seconds for what is bound to happen
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class App:
    """Answers with so many bytes, when it may."""

    body: bytes = b"hello"
    metrics: Metrics = field(default_factory=Metrics)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            scope["state"]["metrics"] = self.metrics
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        self.asked += 1
        await self.go.wait()
        length = (b"content-length", str(len(self.body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": self.body})

    def cut(self, reason: str) -> int:
        """How many connections were cut for this reason."""
        return int(
            self.metrics.snapshot().get(f'unruly_connections_cut_total{{reason="{reason}"}}', 0)
        )


async def until(true: Callable[[], bool]) -> None:
    """Wait for what is bound to happen."""
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.01)


Connect = Callable[[bytes], Awaitable[Stream]]


@asynccontextmanager
async def serving(app: App, limits: Limits) -> AsyncIterator[Connect]:
    """A server of these limits; what it gives makes a connection and sends some bytes."""
    with listening("127.0.0.1", [0]) as port:
        http = connections_within(limits)
        config = uvicorn.Config(app, http=http, log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        running = asyncio.create_task(server._serve([port]))
        made = list[asyncio.StreamWriter]()

        async def connect(sent: bytes) -> Stream:
            reader, writer = await asyncio.open_connection(*port.getsockname()[:2])
            made.append(writer)
            writer.write(sent)
            await writer.drain()
            return reader, writer

        await until(lambda: server.started)
        try:
            yield connect
        finally:
            for writer in made:
                writer.transport.abort()
            server.should_exit = True
            await running


async def rest(stream: Stream) -> bytes:
    """All that comes until the server ends the connection."""
    async with asyncio.timeout(PATIENCE):
        return await stream[0].read()


def run(work: Callable[[App], Awaitable[None]]) -> None:
    async def inside() -> None:
        await work(App())

    asyncio.run(inside())


@pytest.mark.parametrize("half", [b"P", HEAD[:-2]])
def test_half_a_head_is_told_that_it_is_late(half: bytes) -> None:
    async def work(app: App) -> None:
        async with serving(app, Limits(seconds=0.1)) as connect:
            head, _, body = (await rest(await connect(half))).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n")
            assert json.loads(body) == {
                "error": "the head of the request was not sent within 0.1 seconds",
                "error_type": "too_slow",
            }
            assert (app.asked, app.cut("slow_head")) == (0, 1)

    run(work)


def test_a_connection_that_says_nothing_is_closed_without_a_word() -> None:
    async def work(app: App) -> None:
        async with serving(app, Limits(seconds=0.1)) as connect:
            assert await rest(await connect(b"")) == b""

    run(work)


def test_a_head_that_drips_gets_no_more_time_for_it() -> None:
    async def work(app: App) -> None:
        async with serving(app, Limits(seconds=0.3)) as connect:
            reader, writer = await connect(b"GET /")
            while app.cut("slow_head") == 0:
                writer.write(b"a")
                await asyncio.sleep(0.02)
            assert (await rest((reader, writer))).startswith(b"HTTP/1.1 408 ")

    run(work)


def test_the_next_request_of_a_connection_has_the_same_limit() -> None:
    async def work(app: App) -> None:
        app.go.set()
        async with serving(app, Limits(seconds=0.1)) as connect:
            stream = await connect(HEAD)
            await stream[0].readuntil(b"hello")
            stream[1].write(HEAD)
            await stream[0].readuntil(b"hello")
            stream[1].write(HEAD[:9])
            assert (await rest(stream)).startswith(b"HTTP/1.1 408 ")
            assert app.asked == 2

    run(work)


def test_a_slow_answer_is_no_fault_of_the_client() -> None:
    async def work(app: App) -> None:
        async with serving(app, Limits(seconds=0.05)) as connect:
            stream = await connect(HEAD)
            assert await rest(await connect(b"")) == b""  # a connection made later is over by now
            app.go.set()
            assert b"HTTP/1.1 200 OK" in await stream[0].readuntil(b"hello")

    run(work)


def test_where_there_are_too_many_the_one_that_waited_longest_makes_room() -> None:
    async def work(app: App) -> None:
        async with serving(app, Limits(connections=2)) as connect:
            asked = await connect(HEAD)
            await until(lambda: app.asked == 1)
            waiting = [await connect(b"GET") for _ in range(SPARE + 1)]
            for number, last in enumerate((b"GET", b"", HEAD), start=1):
                stream = await connect(last)
                assert await rest(waiting.pop(0)) == b""
                assert app.cut("crowded") == number
            app.go.set()
            for each in (asked, stream):  # what is being answered is not cut
                await each[0].readuntil(b"hello")
            assert not any(each[0].at_eof() for each in waiting)

    run(work)


def test_where_all_are_being_answered_the_newest_is_closed() -> None:
    async def work(app: App) -> None:
        async with serving(app, Limits(connections=1)) as connect:
            asked = [await connect(HEAD) for _ in range(SPARE + 1)]
            await until(lambda: app.asked == SPARE + 1)
            assert await rest(await connect(b"")) == b""
            app.go.set()
            for stream in asked:
                await stream[0].readuntil(b"hello")

    run(work)


def test_an_answer_that_nobody_reads_is_given_up() -> None:
    async def work(app: App) -> None:
        app.body = b"a" * 50_000_000
        app.go.set()
        async with serving(app, Limits(seconds=0.1)) as connect:
            _, writer = await connect(HEAD)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            await until(lambda: app.cut("unread") == 1)

    run(work)


def test_an_answer_that_is_read_slowly_is_not() -> None:
    async def work(app: App) -> None:
        app.body = b"a" * 20_000_000
        app.go.set()
        async with serving(app, Limits(seconds=0.5)) as connect:
            reader, _ = await connect(HEAD)
            await reader.readuntil(b"\r\n\r\n")
            left = len(app.body)
            while left:
                left -= len(await reader.read(500_000))
                await asyncio.sleep(0.02)
            assert app.cut("unread") == 0

    run(work)
