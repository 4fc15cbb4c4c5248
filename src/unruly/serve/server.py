"""Listening: a port of one's own, one process or several, and an end that finishes what it has."""

from __future__ import annotations

import asyncio
import errno
import functools
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unruly.errors import InputError
from unruly.extras import need
from unruly.serve.model_file import ModelFile, Served, load_served
from unruly.serve.settings import ServeSettings

if TYPE_CHECKING:
    from unruly.serve.app import Gate

BACKLOG = 2048  # connections that wait to be taken


def serve(settings: ServeSettings, say: Callable[[str], None] = print) -> None:
    """Serve a model until the process is told to stop; `say` hears where it listens, and of each reload."""
    need("starlette", extra="serve", purpose="servers")
    need("uvicorn", extra="serve", purpose="servers")
    served = load_served(settings.model, settings.functions)
    warnings.simplefilter("ignore")  # said once, when the model was made ready
    with bound(settings.host, settings.port) as listening:
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        say(
            f"{settings.model}: serving on http://{shown}:{port} (GET /docs says how to ask), stop it by Ctrl-C"
        )
        if settings.workers == 1:
            _one(settings, served, listening, say)
        else:
            _several(settings, listening)


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens there, or one line on why that cannot be."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)  # asyncio sends at once where it is TCP
    except OSError as error:
        raise InputError(f"--host {host}: there is no such address ({error.strerror})") from None
    with listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
        except OSError as error:
            raise InputError(_not_bound(host, port, error)) from None
        listening.listen(BACKLOG)
        listening.setblocking(False)
        yield listening


def _not_bound(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use: stop what listens there, or choose another by --port"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by you: choose one above 1023 by --port"
    return f"--host {host} --port {port}: cannot listen there ({error.strerror})"


def _one(
    settings: ServeSettings, served: Served, listening: socket.socket, say: Callable[[str], None]
) -> None:
    """In this process."""
    import uvicorn

    class Server(uvicorn.Server):  # type: ignore[misc]  # untyped
        """uvicorn's, which ends by itself when told to, not by the signal that told it."""

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

    app = _app(settings, served, say)
    server = Server(_configured(app, settings))
    asyncio.run(server.serve(sockets=[listening]))
    say("stopped")


def _several(settings: ServeSettings, listening: socket.socket) -> None:
    """In processes of their own, which share the port, and their counters by a folder."""
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="unruly-serve-") as folder:
        settings = replace(settings, counters=Path(folder))
        config = _configured(functools.partial(worker_app, settings), settings)
        config.factory, config.workers = True, settings.workers
        Multiprocess(config, sockets=[listening]).run()


def worker_app(settings: ServeSettings) -> Gate:
    """The application of one of several workers, which loads the model itself."""
    warnings.simplefilter("ignore")
    served = load_served(settings.model, settings.functions)
    return _app(settings, served, functools.partial(print, file=sys.stderr))


def _app(settings: ServeSettings, served: Served, say: Callable[[str], None]) -> Gate:
    from unruly.serve.app import create_app
    from unruly.serve.service import Service

    file = ModelFile(settings.model, settings.functions, served)
    return create_app(Service(settings, file, say))


def _configured(app: Any, settings: ServeSettings) -> Any:
    import uvicorn

    return uvicorn.Config(
        app,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.limits.seconds),
    )
