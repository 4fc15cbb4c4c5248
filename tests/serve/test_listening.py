"""The socket that the server and the studio listen on."""

from __future__ import annotations

import socket

import pytest

from unruly.errors import InputError
from unruly.serve.listening import listening


def test_answers_are_sent_at_once() -> None:
    with listening("127.0.0.1", [0]) as made:  # asyncio sets TCP_NODELAY on such sockets only
        assert made.proto == socket.IPPROTO_TCP


def test_a_port_that_is_taken_is_passed_over_where_others_are_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listening("127.0.0.1", [port, 0]) as made:
            assert made.getsockname()[1] != port
        with pytest.raises(InputError, match="is in use"), listening("127.0.0.1", [port]):
            pass
