"""The studio as a web application: routes and templates, the start of a project, and what every page needs: status, undo, redo, edits made outside.

Handlers are thin over the workspace and the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from unruly import __version__
from unruly.errors import InputError, UnrulyError
from unruly.files import os_reason
from unruly.html import with_code
from unruly.project.new import begin_project, look_at
from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords
from unruly.rules.matching import VoteCache
from unruly.statistics import Share
from unruly.studio import documents, exports, labelling, rules, suggestions, training
from unruly.studio.history import Step
from unruly.studio.labelling import Queue
from unruly.studio.server import Access, Guard
from unruly.studio.suggestions import Advisor
from unruly.studio.training import Trainer
from unruly.studio.workspace import ChangedOutsideError, Workspace
from unruly.wording import duration, shortened

HERE = Path(str(files("unruly.studio")))
_LABEL_COMMAND = re.compile(r"<code>unruly label [^<]*</code>")
HUES = 36  # class colours; more classes repeat them
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
    cache: VoteCache | None = None
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
        self.templates.filters |= {
            "count": _count,
            "percent": _percent,
            "share": _share,
            "shortened": shortened,
            "name": _name,
            "isolated": _isolated,
            "capital": _capital,
            "code": _code,
            "linked": _linked,
        }

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


def start(studio: Studio, request: PageRequest) -> Response:
    """Redirect to the documents or, without a project, ask what it takes to create one."""
    if studio.is_open:
        return RedirectResponse("/documents", 303)
    if studio.data is None:
        raise InputError("no project and no file of texts was given")
    return _start_page(studio.data, studio, {}, "", 200)


def make(studio: Studio, request: PageRequest) -> Response:
    """Create the project."""
    if studio.is_open or studio.data is None:
        return RedirectResponse("/documents", 303)
    form = request.form
    classes = tuple(
        name.strip() for line in form.get("classes", "").splitlines() for name in line.split(",")
    )
    try:
        project = begin_project(
            studio.data,
            tuple(name for name in classes if name),
            text=form.get("text", ""),
            id=form.get("id") or None,
            label=form.get("label") or None,
        )
        studio.open(project)
    except UnrulyError as error:
        return _start_page(studio.data, studio, form, str(error), 422)
    return RedirectResponse("/documents", 303)


def _start_page(
    data: Path, studio: Studio, given: Mapping[str, str], problem: str, status: int
) -> Response:
    context = {"look": look_at(data), "problem": problem, "given": given}
    return studio.page("start.html", context, status)


def status(studio: Studio, request: PageRequest) -> Response:
    """What every page polls: outside edits, the background job, what can be undone."""
    if not studio.is_open:
        return JSONResponse({})
    work, trainer = studio.workspace, studio.trainer
    work.notice_labels()
    job = trainer.status
    return JSONResponse(
        {
            "outside": bool(work.outside()),
            "job": None
            if job is None
            else {
                "what": job.what,
                "stage": job.stage,
                "share": job.share,
                "state": job.state,
                "error": job.error,
            },
            "undo": _what(work.last_step),
            "redo": _what(work.next_step),
            "labels_outside": len(work.label_changes),
        }
    )


def _what(step: Step | None) -> str | None:
    return None if step is None else step.what


def undo(studio: Studio, request: PageRequest) -> Response:
    """Undo the last edit or label."""
    step = studio.workspace.undo()
    studio.trainer.refresh()
    return PlainTextResponse("Nothing to undo" if step is None else f"Undone: {step.what}")


def redo(studio: Studio, request: PageRequest) -> Response:
    """Redo it."""
    step = studio.workspace.redo()
    studio.trainer.refresh()
    return PlainTextResponse("Nothing to redo" if step is None else f"Redone: {step.what}")


def outside(studio: Studio, request: PageRequest) -> Response:
    """Show how the project file on disk differs, and which labels others changed."""
    work = studio.workspace
    work.notice_labels()
    context = {"difference": work.outside().splitlines(), "changes": work.label_changes}
    return studio.page("outside.html", {"here": "outside", **context})


def load(studio: Studio, request: PageRequest) -> Response:
    """Load the project file from disk."""
    studio.workspace.load_outside()
    studio.trainer.refresh()
    return RedirectResponse("/rules", 303)


def seen(studio: Studio, request: PageRequest) -> Response:
    """The labels that others changed were looked at."""
    studio.workspace.forget_label_changes()
    return RedirectResponse("/documents?label=yes", 303)


BEFORE_A_PROJECT = (start, make, status)
ROUTES: Routes = [
    ("GET", "/", start),
    ("GET", "/start", start),
    ("POST", "/start", make),
    ("GET", "/status", status),
    ("POST", "/undo", undo),
    ("POST", "/redo", redo),
    ("GET", "/outside", outside),
    ("POST", "/outside", load),
    ("POST", "/outside/labels", seen),
]


def application(studio: Studio) -> Guard:
    """The application behind its guard."""
    pages = (documents, rules, suggestions, labelling, training, exports)
    routes: list[BaseRoute] = [
        Route(path, _endpoint(studio, handler), methods=[method])
        for listed in (ROUTES, *(page.ROUTES for page in pages))
        for method, path, handler in listed
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
        if not studio.is_open and handler not in BEFORE_A_PROJECT:
            return RedirectResponse("/start", 303)
        return handler(studio, request)
    except ChangedOutsideError as error:
        return _problem(studio, request, str(error), 409)
    except UnrulyError as error:
        return _problem(studio, request, str(error), 422)
    except OSError as error:  # a full disk, a missing file
        what = f"nothing was changed: {error.filename or 'a file'}: {os_reason(error)}"
        return _problem(studio, request, what, 507)


def _problem(studio: Studio, request: PageRequest, message: str, status: int) -> Response:
    said = _capital(message)
    if request.part:
        return PlainTextResponse(said, status)
    return studio.page("problem.html", {"message": said}, status)


def key_of(number: int) -> str:
    """The key that gives a document the class of this number: 1 to 9, 0, then Shift with a letter but U.

    >>> key_of(0), key_of(9), key_of(10), key_of(30), key_of(40)
    ('1', '0', 'A', 'V', '')
    """
    keys = "1234567890ABCDEFGHIJKLMNOPQRSTVWXYZ"
    return keys[number] if number < len(keys) else ""


def _hue(classes: tuple[str, ...]) -> Callable[[str | None], str]:
    """From the name of a class to the name of its colour; several classes (`a or b`) share a grey one."""
    places = {name: f"c{number % HUES}" for number, name in enumerate(classes)}
    return lambda name: places.get(name, "some") if name else ""


def _name(text: str) -> Markup:
    """A name that may be broken after a mark, and not inside of a word.

    >>> _name("a_<b>")
    Markup('a_<wbr>&lt;b&gt;')
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_./:|)-])(?=[^\s_./:|)-])", text))


def _isolated(reason: str, condition: Condition | None) -> Markup:
    """A rule in words; its keywords may run in other directions, so each stands on its own.

    >>> when = Keywords(["a, b", "c"])
    >>> _isolated(when.reason(), when)
    Markup('keywords: <bdi>a, b</bdi>, <bdi>c</bdi>')
    >>> _isolated("pattern: a|b", None)
    Markup('<bdi>pattern: a|<wbr>b</bdi>')
    """
    if not isinstance(condition, Keywords):
        return Markup("<bdi>{}</bdi>").format(_name(reason))
    few, more = condition.few
    items = Markup(", ").join(Markup("<bdi>{}</bdi>").format(shortened(word, 40)) for word in few)
    return Markup("keywords: {}{}").format(items, more)


def _capital(text: str) -> str:
    """A message as a sentence; one that begins with the name of a file is left as it is.

    >>> _capital("the filter fits no document"), _capital("unruly.toml: line 3: no classes")
    ('The filter fits no document', 'unruly.toml: line 3: no classes')
    """
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text


def _code(text: str) -> Markup:
    """A sentence in which commands stand between backticks; one that has no partner is a backtick.

    >>> _code("more labels (`unruly label`), and one ` of yours")
    Markup('more labels (<code>unruly label</code>), and one ` of yours')
    """
    return Markup(with_code(text))


def _linked(text: str) -> Markup:
    """A sentence as HTML; where it names the command that asks for labels, the page does that.

    >>> _linked("or label 20 documents (`unruly label PROJECT`)")
    Markup('or label 20 documents (<a href="/label">Label</a>)')
    """
    return Markup(_LABEL_COMMAND.sub('<a href="/label">Label</a>', with_code(text)))


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}%"


def _share(value: Share | None) -> Markup:
    """`86% (84–88)`, whose interval stands on one line."""
    if value is None or not value.n:
        return Markup("–")
    interval = f"({100 * value.low:.0f}–{100 * value.high:.0f})"
    return Markup('{} <span class="whole">{}</span>').format(f"{100 * value.value:.0f}%", interval)
