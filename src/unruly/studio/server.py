"""The studio's server: one process on this machine, a free port, a token in the link, and a browser."""

from __future__ import annotations

import getpass
import secrets
import webbrowser
from collections.abc import Callable
from pathlib import Path

from unruly.errors import InputError
from unruly.extras import need
from unruly.model.storage import is_model
from unruly.project.starter import project_of
from unruly.serve.server import address, listening
from unruly.studio.security import Access
from unruly.wording import near_file

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
    from unruly.studio.app import Studio, application

    host = "127.0.0.1" if host == "localhost" else host
    ports = [port] if port is not None else [*range(FIRST_PORT, FIRST_PORT + _TRIES), 0]
    with listening(host, ports) as made:
        access = Access(secrets.token_urlsafe(24), made.getsockname()[1], host)
        studio = Studio(access, by=_user())
        if (project := project_named(path)) is None:
            studio.data = path
        else:
            studio.open(project)
        link = link_of(access)
        config = uvicorn.Config(
            application(studio), log_level="warning", lifespan="off", timeout_graceful_shutdown=2
        )
        ready(link)
        if opened:
            webbrowser.open(link)
        uvicorn.Server(config).run(sockets=[made])


def project_named(path: Path) -> Path | None:
    """The project that a path names; None for a file of texts without one."""
    if path.is_dir() or path.suffix == ".toml":
        return path
    if not path.is_file():
        hint = near_file(path)
        raise InputError(f"{path}: there is no such project or file of texts{hint and ': ' + hint}")
    if is_model(path):
        raise InputError(
            f"{path}: this is a model, and a project or a file of texts is needed: name its folder"
        )
    return project_of(path)


def link_of(access: Access) -> str:
    """The link to start with."""
    name = "127.0.0.1" if access.host == "0.0.0.0" else access.host
    return f"{address(name, access.port)}/?token={access.token}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
