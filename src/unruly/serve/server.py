"""Serving: one process or several on one port, and an end that finishes what it has."""

from __future__ import annotations

import asyncio
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

from unruly.extras import need
from unruly.serve.listening import BACKLOG, address, listening
from unruly.serve.model_file import ModelFile, Served, load_served
from unruly.serve.settings import ServeSettings

if TYPE_CHECKING:
    from unruly.serve.app import Gate


def serve(settings: ServeSettings, notify: Callable[[str], None] = print) -> None:
    """Serve a model until the process is asked to stop; `notify` gets where it listens, and each reload."""
    need("starlette", extra="serve", purpose="servers")
    need("uvicorn", extra="serve", purpose="servers")
    served = load_served(settings.model, settings.functions)
    warnings.simplefilter("ignore")  # shown once, when the model was made ready
    with listening(settings.host, [settings.port]) as port:
        where = address(*port.getsockname()[:2])
        notify(f"{settings.model}: serving on {where} (documentation at /docs), stop it by Ctrl-C")
        if settings.workers == 1:
            _one(settings, served, port, notify)
        else:
            _several(settings, port)


def _one(
    settings: ServeSettings, served: Served, port: socket.socket, notify: Callable[[str], None]
) -> None:
    """In this process."""
    import uvicorn

    class Server(uvicorn.Server):  # type: ignore[misc]  # untyped
        """uvicorn's, which ends by itself when asked to, not by the signal that asked."""

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

    app = _app(settings, served, notify)
    server = Server(_configured(app, settings))
    asyncio.run(server.serve(sockets=[port]))
    notify("stopped")


def _several(settings: ServeSettings, port: socket.socket) -> None:
    """In processes of their own, which share the port, and their counters by a folder."""
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="unruly-serve-") as folder:
        settings = replace(settings, counters=Path(folder))
        config = _configured(functools.partial(worker_app, settings), settings)
        config.factory, config.workers = True, settings.workers
        Multiprocess(config, sockets=[port]).run()


def worker_app(settings: ServeSettings) -> Gate:
    """The application of one of several workers, which loads the model itself."""
    warnings.simplefilter("ignore")
    served = load_served(settings.model, settings.functions)
    return _app(settings, served, functools.partial(print, file=sys.stderr))


def _app(settings: ServeSettings, served: Served, notify: Callable[[str], None]) -> Gate:
    from unruly.serve.app import create_app
    from unruly.serve.service import Service

    file = ModelFile(settings.model, settings.functions, served)
    return create_app(Service(settings, file, notify))


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
