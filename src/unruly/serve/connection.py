"""One connection: its client must send the head of a request and read its answers in time, and there is room for the next.

uvicorn limits the time between two requests. It does not limit the time for the head of a request, nor for reading an
answer, so clients that send half a head, or read nothing, would keep their connections, and in the end all that
there may be. Connections are bounded: where there are too many, the one that has waited longest for a request is closed.
How many requests are answered at once is for `Gate` to say, which leaves `SPARE` connections to health checks.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from unruly.serve.messages import Limits, Problem, too_slow

SPARE = 32  # connections beyond the limit, whose requests are told so, unless they ask for the server's health


class Connection(AutoHTTPProtocol):  # type: ignore[misc]  # untyped
    """uvicorn's, with bounds."""

    def __init__(
        self,
        limits: Limits,
        config: Any,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._begun = False  # whether something of the next request is there
        self._head: asyncio.TimerHandle | None = None  # runs until the head of a request is whole
        self._unread: asyncio.TimerHandle | None = None  # runs while the client must read
        self.since = self.loop.time()  # when it began to wait for a request

    @property
    def waits(self) -> bool:
        """Whether no request of this connection is being read or answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Make room for it, and give it time to send the head of a request."""
        super().connection_made(transport)
        self._head = self.loop.call_later(self._limits.seconds, self._late)
        most = self._limits.connections + SPARE
        if len(self.connections) > most:
            there = [other for other in self.connections if not other.transport.is_closing()]
            waiting = (other for other in there if other is not self and other.waits)
            if len(there) > most:
                min(waiting, key=lambda other: float(other.since), default=self).cut("crowded")

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is to be waited for any more."""
        self._stop_head()
        self._stop_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Stop the clock where the head is whole; start it at the first bytes of a head that is not."""
        super().data_received(data)
        self._begun = self.waits
        if not self._begun:
            self._stop_head()
        elif self._head is None:
            self._head = self.loop.call_later(self._limits.seconds, self._late)

    def on_response_complete(self) -> None:
        """It waits for the next request from now on."""
        super().on_response_complete()
        self.since = self.loop.time()

    def pause_writing(self) -> None:
        """Give the client time to read."""
        super().pause_writing()
        self._stop_unread()
        self._watch_reading()

    def resume_writing(self) -> None:
        """It has read."""
        super().resume_writing()
        self._stop_unread()

    def timeout_keep_alive_handler(self) -> None:
        """Close it, also where the client has not read the last answer."""
        if self.transport.get_write_buffer_size():
            self.cut("unread")
        else:
            super().timeout_keep_alive_handler()

    def cut(self, reason: str, last: bytes = b"") -> None:
        """End it after some last words, which are lost where the client does not read; and count it."""
        if self.transport.is_closing():
            return
        if (metrics := self.app_state.get("metrics")) is not None:
            metrics.add("unruly_connections_cut_total", labels={"reason": reason})
        self.transport.write(last)
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _late(self) -> None:
        """The head did not come in time: say so where it was begun."""
        self._head = None
        if self.waits:
            self.cut("slow_head", _raw(too_slow("head", self._limits)) if self._begun else b"")

    def _watch_reading(self, left: int | None = None) -> None:
        """Look again and again whether the client has read something of what is left, in bytes; else end it."""
        now = self.transport.get_write_buffer_size()
        if left is not None and now >= left:
            self.cut("unread")
        else:
            self._unread = self.loop.call_later(self._limits.seconds, self._watch_reading, now)

    def _stop_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def _raw(problem: Problem) -> bytes:
    """An error as it goes over the wire, to a client whose request is not there yet."""
    body = json.dumps(problem.to_plain()).encode()
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode("ascii") + body
