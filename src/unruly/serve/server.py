"""Run the server: the listening socket, one or several worker processes, and a graceful stop."""

from __future__ import annotations

import asyncio
import errno
import functools
import ipaddress
import logging
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from unruly.errors import InputError, harmless, need
from unruly.files import temporary_folder

if TYPE_CHECKING:
    from unruly.serve.app import Gate
    from unruly.serve.messages import Limits
    from unruly.serve.service import Served, ServeSettings


BACKLOG = 2048  # connections that wait to be taken, and that asyncio takes at once
_LEAST_BACKLOG = 32
_OWN_FILES = 64  # that a server has open beside its connections
_ROUNDS = 4  # of asyncio's loop, from taking a connection to closing the one that makes room for it
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOGGING = {  # what uvicorn and asyncio say, warnings and worse only
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"log": {"()": "unruly.serve.server.Log"}},
    "loggers": {
        name: {"handlers": ["log"], "level": "WARNING", "propagate": False}
        for name in ("uvicorn", "asyncio")
    },
}


def log(line: str) -> None:
    """A line of the server's log, on standard error; it may quote a request or a file from somebody else."""
    print(harmless(line), file=sys.stderr)


class Log(logging.Handler):
    """Libraries' log records in the server's log."""

    def emit(self, record: logging.LogRecord) -> None:
        log(self.format(record))


@contextmanager
def listening(host: str, ports: Sequence[int]) -> Iterator[socket.socket]:
    """A socket on the first of these ports that is free (0: any), or one line on why there is none.

    >>> with listening("127.0.0.1", [0]) as made:
    ...     made.getsockname()[0]
    '127.0.0.1'
    """
    made = _bound(host, ports)
    with made:
        made.listen(BACKLOG)
        made.setblocking(False)
        yield made


def is_ours(
    host: str, names: Sequence[str] = (), *, port: int | None = None, addresses: bool = True
) -> bool:
    """Whether a `Host` header names a server of this machine, and not a web site that was made to point here.

    `names` are others that it goes by; with `port`, it must name that port; with `addresses`, any number will do.

    >>> is_ours("localhost:8080"), is_ours("[::1]:80"), is_ours("evil.example:8080")
    (True, True, False)
    >>> is_ours("localhost:8080", port=8081), is_ours("10.0.0.1", addresses=False)
    (False, False)
    """
    try:
        parts = urlsplit(f"//{host}")
        name, at = parts.hostname or "", parts.port or 80
    except ValueError:
        return False
    if port is not None and at != port:
        return False
    return name in (*LOOPBACK, *names) or (addresses and _is_address(name))


def _is_address(name: str) -> bool:
    """A number, which no web site can make to point here, unlike a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def address(host: str, port: int) -> str:
    """The address for a browser.

    >>> address("127.0.0.1", 8080), address("::1", 80)
    ('http://127.0.0.1:8080', 'http://[::1]:80')
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(host: str, ports: Sequence[int]) -> socket.socket:
    for port in ports:
        made, place = _tcp(host, port)
        try:
            made.bind(place)
        except OSError as error:
            made.close()
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise InputError(_not_bound(host, port, error)) from None
        else:
            return made
    raise ValueError("no port was given")


def _tcp(host: str, port: int) -> tuple[socket.socket, tuple[object, ...]]:
    """A socket for this address. asyncio sends answers at once only where the protocol is named."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, place = found[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"--host {host}: there is no such address ({error.strerror})") from None
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made, place


def _not_bound(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use: stop what listens there, or choose another with --port"
    if error.errno == errno.EACCES:
        return f"port {port} is not open to you: choose one above 1023 with --port"
    return f"--host {host} --port {port}: cannot listen there ({error.strerror})"


def serve(settings: ServeSettings, notify: Callable[[str], None] = print) -> None:
    """Serve a model until SIGINT or SIGTERM; `notify` gets the address and every reload as a sentence."""
    need("starlette", extra="serve", purpose="servers")
    need("uvicorn", extra="serve", purpose="servers")
    from unruly.serve.service import load_served

    settings = replace(settings, limits=_within_open_files(settings.limits, notify))
    served = load_served(settings.model, settings.functions)
    warnings.simplefilter("ignore")  # shown once, when the model was made ready
    with listening(settings.host, [settings.port]) as port:
        where = address(*port.getsockname()[:2])
        for line in served.remarks():
            notify(line)
        notify(f"{settings.model}: serving on {where} (documentation at /docs), stop it by Ctrl-C")
        if settings.workers == 1:
            _one(settings, served, port, notify)
        else:
            _several(settings, port)
    notify("stopped")


def _one(
    settings: ServeSettings, served: Served, port: socket.socket, notify: Callable[[str], None]
) -> None:
    """In this process."""
    import uvicorn

    class Server(uvicorn.Server):  # type: ignore[misc]  # untyped
        """uvicorn's, which ends by itself when asked to, not by the signal that asked; and lets clients wait."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            if threading.current_thread() is not threading.main_thread():
                yield
                return
            kinds = (signal.SIGINT, signal.SIGTERM)
            before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
            try:
                yield
            finally:
                for kind, handler in before.items():
                    signal.signal(kind, handler)

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            port.listen(BACKLOG)  # many may wait, though few are taken at once

    app = _app(settings, served, notify)
    server = Server(_configured(app, settings))
    asyncio.run(server.serve(sockets=[port]))


def _several(settings: ServeSettings, port: socket.socket) -> None:
    """In processes of their own, which share the port, and their counters by a folder."""
    from uvicorn.supervisors import Multiprocess

    class Workers(Multiprocess):  # type: ignore[misc]  # untyped
        """uvicorn's, which refuse who comes while they end: nobody takes what would wait at a port that is left open."""

        def terminate_all(self) -> None:
            port.close()
            super().terminate_all()

    with temporary_folder() as folder:
        settings = replace(settings, counters=folder)
        config = _configured(functools.partial(worker_app, settings), settings)
        config.factory, config.workers = True, settings.workers
        Workers(config, sockets=[port]).run()


def worker_app(settings: ServeSettings) -> Gate:
    """The application of one of several workers, which loads the model itself."""
    from unruly.serve.service import load_served

    warnings.simplefilter("ignore")
    served = load_served(settings.model, settings.functions)
    return _app(settings, served, log)


def _app(settings: ServeSettings, served: Served, notify: Callable[[str], None]) -> Gate:
    from unruly.serve.app import create_app
    from unruly.serve.service import ModelFile, Service

    file = ModelFile(settings.model, settings.functions, served)
    return create_app(Service(settings, file, notify))


def open_files(wanted: int = 0) -> int | None:
    """How many files and connections this process may have open, raised to what is wanted as far as it may be.

    None where there is no limit. With none left, asyncio would take no connection for seconds, and say so thousandfold.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    most, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return None
    if most < wanted:
        more = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
        with suppress(OSError, ValueError):  # where the system has a limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, highest))
            most = more
    return most


def _files(connections: int, backlog: int) -> int:
    """How many files a server with so many connections may have open for a moment."""
    from unruly.serve.connection import SPARE

    return connections + SPARE + _OWN_FILES + _ROUNDS * backlog


def _within_open_files(limits: Limits, notify: Callable[[str], None]) -> Limits:
    """The limits, with so few connections that the process does not run out of open files."""
    most = open_files(_files(limits.connections, BACKLOG))
    if most is None or _files(limits.connections, _LEAST_BACKLOG) <= most:
        return limits
    fewer = max(1, most - _files(0, _LEAST_BACKLOG))
    notify(
        f"at most {fewer:,} connections at once, not {limits.connections:,}: this process may have {most:,} "
        "files open, raise that by ulimit -n"
    )
    return replace(limits, connections=fewer)


def _backlog(limits: Limits) -> int:
    """How many connections are taken at once: no more than there are open files left."""
    most = open_files()
    free = BACKLOG if most is None else (most - _files(limits.connections, 0)) // _ROUNDS
    return min(max(free, _LEAST_BACKLOG), BACKLOG)


def connections_within(limits: Limits) -> Callable[..., Any]:
    """What makes a connection of uvicorn's, within these limits; workers get it by pickle."""
    from unruly.serve.connection import Connection

    return functools.partial(Connection, limits)


def _configured(app: Any, settings: ServeSettings) -> Any:
    import uvicorn

    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=LOGGING,
        access_log=False,
        server_header=False,
        http=connections_within(settings.limits),
        backlog=_backlog(settings.limits),
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.limits.seconds),
    )
