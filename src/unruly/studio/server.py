"""The studio's server: one process on this machine, a free port, a token in the link, a browser; and who gets in.

Three checks stand before every page. `Host` must be the studio's own address, so that a web site whose name
is made to point here (DNS rebinding) is refused. A token, in the start link once and in a cookie afterwards,
keeps other users of the machine out. A write must come from a page of the studio, by `Sec-Fetch-Site` and
`Origin`. The content security policy lets the pages load and run nothing but the studio's own files.
"""

from __future__ import annotations

import secrets
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from unruly.errors import InputError, Where, need
from unruly.files import check_utf8
from unruly.labelling.label_file import user_name
from unruly.project.new import look_at, project_of
from unruly.serve.server import (
    LOGGING,
    LOOPBACK,
    address,
    connections_within,
    is_ours,
    listening,
)
from unruly.wording import near_file

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
MOST_BYTES = 4_000_000  # of a request's body
FIRST_PORT = 8765
_TRIES = 50


def serve(
    path: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    opened: bool = True,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve a project, or make one of a file of texts, until Ctrl-C; `ready` is given the link."""
    uvicorn = need("uvicorn", extra="studio", purpose="the pages of the studio")
    need("starlette", extra="studio", purpose="the pages of the studio")
    need("jinja2", extra="studio", purpose="the pages of the studio")
    from unruly.serve.messages import Limits
    from unruly.studio.app import Studio, application

    host = "127.0.0.1" if host == "localhost" else host
    project = project_named(path)
    check_utf8(path.resolve())  # the pages show it
    if project is None:
        look_at(path)  # what cannot be a file of texts is refused here, and not on the page
    ports = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + _TRIES), 0]
    with listening(host, ports) as made:
        access = Access(secrets.token_urlsafe(24), made.getsockname()[1], host)
        studio = Studio(access, by=user_name())
        if project is None:
            studio.data = path
        else:
            studio.open(project)
        link = link_of(access)
        config = uvicorn.Config(
            application(studio),
            http=connections_within(Limits()),
            log_config=LOGGING,
            lifespan="off",
            timeout_graceful_shutdown=2,
        )
        ready(link)
        if opened:
            webbrowser.open(link)
        with suppress(KeyboardInterrupt):  # uvicorn has ended by it, and passes it on
            uvicorn.Server(config).run(sockets=[made])


def project_named(path: Path) -> Path | None:
    """The project that a path names; None for a file of texts without one."""
    if path.is_dir() or path.suffix == ".toml":
        return path
    if not path.is_file():
        hint = near_file(path)
        raise InputError(
            f"there is no such project or file of texts{hint and ': ' + hint}",
            where=Where(str(path)),
        )
    from unruly.model.storage import is_model

    if is_model(path):
        raise InputError(
            "this is a model, but a project or a file of texts is needed: pass the project's folder",
            where=Where(str(path)),
        )
    return project_of(path)


def link_of(access: Access) -> str:
    """The link to start with."""
    name = "127.0.0.1" if access.host == "0.0.0.0" else access.host
    return f"{address(name, access.port)}/?token={access.token}"


@dataclass(frozen=True)
class Access:
    """What a request must present."""

    token: str
    port: int
    host: str = "127.0.0.1"  # that the server listens on

    @property
    def cookie(self) -> str:
        """The cookie's name; cookies of one host are shared by all ports."""
        return f"unruly_studio_{self.port}"

    @property
    def open_to_others(self) -> bool:
        """Whether other machines can reach the server."""
        return self.host not in LOOPBACK

    def knows(self, host: str) -> bool:
        """Whether a `Host` header names this server.

        >>> access = Access("secret", 8000)
        >>> access.knows("127.0.0.1:8000"), access.knows("evil.example:8000")
        (True, False)
        """
        return is_ours(host, (self.host,), port=self.port, addresses=self.open_to_others)


@dataclass(frozen=True)
class Guard:
    """Rejects requests from elsewhere, and adds the security headers to responses."""

    app: App
    access: Access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        problem = self._problem(scope, headers)
        if problem is not None:
            await _plain(send, *problem)
        elif (query := _without_token(scope, self.access)) is not None:
            await _welcome(send, scope["path"], query, self.access)
        elif not self._has_cookie(headers):
            await _plain(
                send,
                403,
                "The link has no valid token: open the link that `unruly studio` printed.",
            )
        else:
            await self.app(scope, receive, _with_headers(send))

    def _problem(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self.access.knows(host):
            return 421, "Wrong host: open the link that `unruly studio` printed."
        if scope["method"] in ("GET", "HEAD"):
            return None
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site != "same-origin":
            return 403, "Refused: the request came from another site."
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            return 403, "Refused: the request came from another site."
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > MOST_BYTES:
            return 413, "The request is too large."
        return None

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.access.cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(
            found.value.encode(), self.access.token.encode()
        )


def _without_token(scope: Scope, access: Access) -> str | None:
    """The rest of the query where it holds the right token; None where it does not."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    given = next((value for key, value in pairs if key == "token"), None)
    if given is None or not secrets.compare_digest(given.encode(), access.token.encode()):
        return None
    return urlencode([pair for pair in pairs if pair[0] != "token"])


async def _welcome(send: Send, path: str, query: str, access: Access) -> None:
    """To the same page without the token in its address, and with the cookie."""
    local = "/" + path.lstrip("/\\")  # never another host
    where = local + (f"?{query}" if query else "")
    cookie = f"{access.cookie}={access.token}; Path=/; HttpOnly; SameSite=Lax"
    headers = [
        (b"location", where.encode("ascii", "ignore")),
        (b"set-cookie", cookie.encode()),
        *HEADERS,
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _plain(send: Send, status: int, message: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": message.encode()})


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = list(message["headers"])
            if not any(name == b"cache-control" for name, _ in own):
                own.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*own, *HEADERS]}
        await send(message)

    return sending
