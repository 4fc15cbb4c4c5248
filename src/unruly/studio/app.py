"""The studio as a web application: routes to handlers, each thin over the workspace and the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from unruly import __version__
from unruly.errors import UnrulyError
from unruly.rules.cache import Cache
from unruly.sampling import Share
from unruly.studio.queue import Queue
from unruly.studio.security import Access, Guard
from unruly.studio.suggesting import Advisor
from unruly.studio.training import Trainer
from unruly.studio.workspace import ChangedOutsideError, Workspace
from unruly.wording import duration

HERE = Path(str(files("unruly.studio")))
HUES = 12  # colours of classes, before they begin again
NAVIGATION = (
    ("documents", "Documents"),
    ("rules", "Rules"),
    ("suggestions", "Suggestions"),
    ("label", "Label"),
    ("train", "Train"),
    ("out", "Out"),
)


@dataclass(frozen=True)
class Asked:
    """A request, read: what stands in its address, its query and its form."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    lists: Mapping[str, list[str]]  # of the query: all values of a name
    part: str  # the part of a page that a script asks for; empty: the whole page


@dataclass
class Studio:
    """What the handlers share. Before a project is made of a file of texts, there is no workspace."""

    access: Access
    data: Path | None = None  # a file of texts, to make a project of
    cache: Cache | None = None
    by: str = ""
    workspace: Workspace | None = None
    trainer: Trainer | None = None
    queue: Queue = field(default_factory=Queue)
    advisor: Advisor = field(default_factory=Advisor)
    templates: Environment = field(init=False)

    def __post_init__(self) -> None:
        self.templates = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters |= {"count": _count, "percent": _percent, "share": _share}

    def open(self, project: Path) -> None:
        """Open a project, and show its newest model."""
        self.workspace = Workspace(project, by=self.by, cache=self.cache)
        self.trainer = Trainer(self.workspace, self.cache)
        self.trainer.open_newest()

    def page(self, name: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """A template, filled in."""
        return HTMLResponse(self.render(name, context), status)

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """A template as text."""
        work = self.workspace
        usual: dict[str, Any] = {
            "version": __version__,
            "navigation": NAVIGATION,
            "here": "",
            "workspace": work,
            "trainer": self.trainer,
            "project": "" if work is None else work.folder.resolve().name,
            "hue": _hue(() if work is None else work.state.classes),
            "key_of": key_of,
            "duration": duration,
        }
        return str(self.templates.get_template(name).render({**usual, **context}))


Handler = Callable[[Studio, Asked], Response]


def get(path: str, handler: Handler) -> tuple[str, str, Handler]:
    """A page."""
    return "GET", path, handler


def post(path: str, handler: Handler) -> tuple[str, str, Handler]:
    """A write."""
    return "POST", path, handler


def application(studio: Studio) -> Guard:
    """The application, with the guard before it."""
    from unruly.studio.pages import documents, labelling, out, rules, setup, suggestions, training

    routes: list[BaseRoute] = [
        Route(path, _endpoint(studio, handler), methods=[method])
        for module in (setup, documents, rules, suggestions, labelling, training, out)
        for method, path, handler in module.ROUTES
    ]
    static = Mount("/static", StaticFiles(directory=HERE / "static"))
    app = Starlette(routes=[*routes, static])
    return Guard(app, studio.access)


def _endpoint(studio: Studio, handler: Handler) -> Callable[[Request], Any]:
    """A handler in a thread of the pool, its errors as pages."""

    async def endpoint(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        asked = Asked(
            path=dict(request.path_params),
            query=dict(request.query_params),
            form=dict(parse_qsl(body, keep_blank_values=True)),
            lists={name: request.query_params.getlist(name) for name in request.query_params},
            part=request.headers.get("x-part", ""),
        )
        return await run_in_threadpool(_handled, studio, handler, asked)

    return endpoint


def _handled(studio: Studio, handler: Handler, asked: Asked) -> Response:
    from unruly.studio.pages import setup

    try:
        if studio.workspace is None and handler not in setup.BEFORE_A_PROJECT:
            return RedirectResponse("/start", 303)
        return handler(studio, asked)
    except ChangedOutsideError as error:
        return _problem(studio, asked, str(error), 409)
    except UnrulyError as error:
        return _problem(studio, asked, str(error), 422)
    except OSError as error:  # a full disk, a file that has gone
        what = f"{error.filename or 'a file'}: {error.strerror or error}: nothing was changed"
        return _problem(studio, asked, what, 507)


def _problem(studio: Studio, asked: Asked, message: str, status: int) -> Response:
    if asked.part:
        return PlainTextResponse(message, status)
    return studio.page("problem.html", {"message": message}, status)


def key_of(number: int) -> str:
    """The key that gives a document the class of this number: 1 to 9, 0, then Shift with a letter but U.

    >>> key_of(0), key_of(9), key_of(10), key_of(30), key_of(40)
    ('1', '0', 'A', 'V', '')
    """
    keys = "1234567890ABCDEFGHIJKLMNOPQRSTVWXYZ"
    return keys[number] if number < len(keys) else ""


def _hue(classes: tuple[str, ...]) -> Callable[[str | None], str]:
    """From the name of a class to the name of its colour."""
    places = {name: f"c{number % HUES}" for number, name in enumerate(classes)}
    return lambda name: places.get(name or "", "")


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def _share(value: Share | None) -> str:
    """`86 % (84–88)`."""
    if value is None or not value.n:
        return "–"
    return f"{100 * value.value:.0f} % ({100 * value.low:.0f}–{100 * value.high:.0f})"
