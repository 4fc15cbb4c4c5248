"""A socket that listens: on the port that is asked for, or on the first of several that is free."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from unruly.errors import InputError

BACKLOG = 2048  # connections that wait to be taken


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
        return f"port {port} is in use: stop what listens there, or choose another by --port"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by you: choose one above 1023 by --port"
    return f"--host {host} --port {port}: cannot listen there ({error.strerror})"
