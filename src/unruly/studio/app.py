"""The studio as a web application: routes and templates; handlers are thin over the workspace and the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from unruly.studio import documents, exports, labelling, rules, start, suggestions, training
from unruly.studio.labelling import Queue
from unruly.studio.security import Access, Guard
from unruly.studio.suggestions import Advisor
from unruly.studio.training import Trainer
from unruly.studio.workspace import ChangedOutsideError, Workspace
from unruly.wording import duration

HERE = Path(str(files("unruly.studio")))
HUES = 12  # class colours; more classes repeat them
NAVIGATION = (
    ("documents", "Documents"),
    ("rules", "Rules"),
    ("suggestions", "Suggestions"),
    ("label", "Label"),
    ("train", "Train"),
    ("out", "Out"),
)


@dataclass(frozen=True)
class PageRequest:
    """What a handler reads of a request: the parts of its address, its query and its form."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    lists: Mapping[str, list[str]]  # of the query: all values of a name
    part: str  # not empty: the script wants a part of the page, not the whole


@dataclass
class Studio:
    """What the handlers share. Until a project is open, there is no workspace and no trainer."""

    access: Access
    data: Path | None = None  # a file of texts, to make a project of
    cache: Cache | None = None
    by: str = ""  # who labels
    queue: Queue = field(default_factory=Queue)
    advisor: Advisor = field(default_factory=Advisor)
    templates: Environment = field(init=False)
    _trainer: Trainer | None = field(default=None, init=False)

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
        workspace = Workspace(project, by=self.by, cache=self.cache)
        self._trainer = Trainer(workspace, self.cache)
        self._trainer.open_newest()

    @property
    def is_open(self) -> bool:
        """Whether a project is open."""
        return self._trainer is not None

    @property
    def trainer(self) -> Trainer:
        """Of the open project."""
        assert self._trainer is not None
        return self._trainer

    @property
    def workspace(self) -> Workspace:
        """Of the open project."""
        return self.trainer.workspace

    def page(self, name: str, context: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """A template, filled in."""
        return HTMLResponse(self.render(name, context), status)

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """A template as text."""
        work = self.workspace if self.is_open else None
        usual: dict[str, Any] = {
            "version": __version__,
            "navigation": NAVIGATION,
            "here": "",
            "workspace": work,
            "project": "" if work is None else work.folder.resolve().name,
            "hue": _hue(() if work is None else work.state.classes),
            "key_of": key_of,
            "duration": duration,
        }
        return str(self.templates.get_template(name).render({**usual, **context}))


Handler = Callable[[Studio, PageRequest], Response]
Routes = Sequence[tuple[str, str, Handler]]  # method, path, handler


def application(studio: Studio) -> Guard:
    """The application behind its guard."""
    pages = (start, documents, rules, suggestions, labelling, training, exports)
    routes: list[BaseRoute] = [
        Route(path, _endpoint(studio, handler), methods=[method])
        for page in pages
        for method, path, handler in page.ROUTES
    ]
    static = Mount("/static", StaticFiles(directory=HERE / "static"))
    app = Starlette(routes=[*routes, static])
    return Guard(app, studio.access)


def _endpoint(studio: Studio, handler: Handler) -> Callable[[Request], Any]:
    """Run a handler in the thread pool; its errors become pages."""

    async def endpoint(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")
        read = PageRequest(
            path=dict(request.path_params),
            query=dict(request.query_params),
            form=dict(parse_qsl(body, keep_blank_values=True)),
            lists={name: request.query_params.getlist(name) for name in request.query_params},
            part=request.headers.get("x-part", ""),
        )
        return await run_in_threadpool(_handled, studio, handler, read)

    return endpoint


def _handled(studio: Studio, handler: Handler, request: PageRequest) -> Response:
    try:
        if not studio.is_open and handler not in start.BEFORE_A_PROJECT:
            return RedirectResponse("/start", 303)
        return handler(studio, request)
    except ChangedOutsideError as error:
        return _problem(studio, request, str(error), 409)
    except UnrulyError as error:
        return _problem(studio, request, str(error), 422)
    except OSError as error:  # a full disk, a missing file
        what = f"{error.filename or 'a file'}: {error.strerror or error}: nothing was changed"
        return _problem(studio, request, what, 507)


def _problem(studio: Studio, request: PageRequest, message: str, status: int) -> Response:
    if request.part:
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
