"""The HTTP side: routes, bodies within limits, the bearer token, JSON errors, the access log.

Routing and requests are Starlette's; what every request passes through is `Gate`, a plain ASGI callable.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, compile_path

from unruly.errors import UnrulyError
from unruly.serve import openapi
from unruly.serve.messages import (
    Asked,
    HuggingFace,
    Limits,
    Problem,
    crowded,
    explain_request,
    infer_answer,
    infer_request,
    model_metadata,
    parsed,
    predict_request,
    server_metadata,
    too_slow,
    version_of,
    wanted_outputs,
)
from unruly.serve.metrics import CONTENT_TYPE
from unruly.serve.openapi import docs_page
from unruly.serve.server import LOOPBACK, is_ours, log
from unruly.serve.service import ServeSettings, Service

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]
DRAIN = 10  # times the limit: what of a body too large is read and dropped, so that its sender hears why
V2_MODELS = ("/v2/models/{name}", "/v2/models/{name}/versions/{version}")
OPEN = ("/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready")  # without a token
GONE = 499  # the status of a request whose client hung up, in the log and the metrics


def plain(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON, in as few bytes as it takes."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
    body = text.encode("utf-8", "replace")
    return Response(body, status, headers, media_type="application/json")


def create_app(service: Service) -> Gate:
    """The application that uvicorn runs."""
    pages = Pages(service)
    app = Starlette(
        routes=[
            Route(path, call, methods=methods.split()) for methods, path, call in pages.routes()
        ],
        exception_handlers={
            HTTPException: _http_error,
            Problem: _problem,
            ClientDisconnect: _hung_up,
            Exception: _bug,
        },
        lifespan=_lifespan(service),
    )
    return Gate(app, service)


def _lifespan(service: Service) -> Any:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with service.running():
            yield {"metrics": service.metrics}  # for connections

    return lifespan


class Pages:
    """One method for each path."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def routes(self) -> list[tuple[str, str, Endpoint]]:
        """Methods, path and what answers."""
        return [
            ("POST", "/predict", self.predict),
            ("GET POST", "/", self.root),
            ("POST", "/explain", self.explain),
            ("GET", "/health/live", self.live),
            ("GET", "/health/ready", self.live),
            ("GET", "/info", self.info),
            ("GET", "/metrics", self.metrics),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/docs", self.docs),
            ("GET", "/v2", self.v2),
            ("GET", "/v2/health/live", self.live),
            ("GET", "/v2/health/ready", self.live),
            *(
                (method, model + ending, call)
                for model in V2_MODELS
                for method, ending, call in (
                    ("GET", "", self.v2_model),
                    ("GET", "/ready", self.v2_ready),
                    ("POST", "/infer", self.v2_infer),
                )
            ),
        ]

    async def predict(self, request: Request) -> Response:
        """One text or many, in Hugging Face's form or ours."""
        return await self._predictions(request)

    async def _predictions(self, request: Request, lists: bool = False) -> Response:
        """The answers; with `lists` one for each text, even for a text alone."""
        asked, form = predict_request(await self._json(request), self.service.settings.limits)
        if lists and isinstance(form, HuggingFace):
            form = HuggingFace(False, form.top_k)
        answers = await self._predict(request, asked)
        return plain(answers.to_plain(form), headers={"X-Model": version_of(answers.checksum)})

    async def root(self, request: Request) -> Response:
        """Where Hugging Face's own client posts to, which expects a list for each text, also for one alone."""
        if request.method != "POST":
            return await self.docs(request)
        return await self._predictions(request, lists=True)

    async def explain(self, request: Request) -> Response:
        """Why one document gets its label."""
        wanted = explain_request(await self._json(request), self.service.settings.limits)
        _note(request, wanted.asked)
        explanation = await self._reported(request, self.service.explain(wanted))
        return plain(explanation.to_plain())

    async def live(self, request: Request) -> Response:
        """The process is up; the model was made ready before it began to listen."""
        return plain({"status": "ok", "model": self.service.settings.name})

    async def info(self, request: Request) -> Response:
        """Classes, rules, gold ledger, versions, checksum."""
        return plain(self.service.info())

    async def metrics(self, request: Request) -> Response:
        """For Prometheus."""
        return PlainTextResponse(self.service.metrics_text(), media_type=CONTENT_TYPE)

    async def openapi(self, request: Request) -> Response:
        """What this server takes and gives, for programs."""
        return plain(self._document())

    async def docs(self, request: Request) -> Response:
        """The same for people."""
        policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
        page = docs_page(self._document(), str(request.base_url).rstrip("/"))
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    async def v2(self, request: Request) -> Response:
        """The Open Inference Protocol's description of the server."""
        return plain(server_metadata())

    async def v2_model(self, request: Request) -> Response:
        """... of the model."""
        name, served = self._named(request), self.service.file.served
        classes = len(served.fitted.classes)
        return plain(model_metadata(name, served.checksum, classes))

    async def v2_ready(self, request: Request) -> Response:
        """... whether it is ready."""
        return plain({"name": self._named(request), "ready": True})

    async def v2_infer(self, request: Request) -> Response:
        """... and its predictions, as tensors."""
        name, wanted = self._named(request), await self._json(request)
        wanted_outputs(wanted)
        asked = infer_request(wanted, self.service.settings.limits)
        answers = await self._predict(request, asked)
        self._check_version(request, answers.checksum)  # the model may have been replaced meanwhile
        return plain(infer_answer(wanted, answers, name))

    def _document(self) -> dict[str, Any]:
        settings, served = self.service.settings, self.service.file.served
        return openapi.document(settings, openapi.Shown.of(served.fitted), served.checksum)

    def _named(self, request: Request) -> str:
        ours, asked = self.service.settings.name, str(request.path_params["name"])
        if asked != ours:
            raise Problem(
                404, "unknown_model", f"there is no such model: this one is called {ours}"
            )
        self._check_version(request, self.service.file.served.checksum)
        return ours

    def _check_version(self, request: Request, checksum: str) -> None:
        """Refuse a request for another version than the model with this checksum."""
        ours = version_of(checksum)
        if request.path_params.get("version", ours) != ours:
            raise Problem(
                404, "unknown_version", f"there is no such version: the one in service is {ours}"
            )

    async def _json(self, request: Request) -> Any:
        return parsed(await read_body(request, self.service.settings.limits))

    async def _predict(self, request: Request, asked: Asked) -> Any:
        _note(request, asked)
        return await self._reported(request, self.service.predict(asked))

    async def _reported(self, request: Request, work: Coroutine[Any, Any, Any]) -> Any:
        """What the model cannot do with a document is reported to its sender."""
        try:
            return await _while_there(request, work)
        except UnrulyError as error:
            raise Problem(422, "cannot_predict", str(error)) from None


async def _while_there(request: Request, work: Coroutine[Any, Any, Any]) -> Any:
    """What the work gives; it is given up when the client hangs up, so that nobody waits for its texts."""
    doing, gone = asyncio.ensure_future(work), asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ClientDisconnect
        return doing.result()
    finally:
        doing.cancel()
        gone.cancel()


async def _hang_up(request: Request) -> None:
    """Ends when the client, whose body has been read, is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body: within the limit, or 413; within the time, or 408."""
    length = request.headers.get("content-length", "")
    announced = int(length) if length.isdecimal() and len(length) < 19 else 0
    if announced > limits.body and ("expect" in request.headers or announced > DRAIN * limits.body):
        raise _too_large(limits)
    pieces, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for piece in request.stream():
                size += len(piece)
                if size <= limits.body:
                    pieces.append(piece)
                elif size > DRAIN * limits.body:
                    break
    except TimeoutError:
        raise too_slow("body", limits) from None
    if size > limits.body:
        raise _too_large(limits)
    return b"".join(pieces)


def _too_large(limits: Limits) -> Problem:
    return Problem(
        413,
        "body_too_large",
        f"the body is larger than {limits.body:,} bytes: send fewer texts at once",
        {"Connection": "close"},
    )


def _note(request: Request, asked: Asked) -> None:
    """How many texts it was, for the log."""
    request.scope["unruly.texts"] = asked.texts


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow", "").replace(", HEAD", "").replace("HEAD, ", "")
    what = {
        404: "there is no such path: GET /docs lists them",
        405: f"{request.url.path} does not take {request.method}: use {allowed.replace(', ', ' or ')}",
    }
    message = what.get(error.status_code, str(error.detail))
    kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    problem = Problem(error.status_code, kind, message, error.headers)
    return await _problem(request, problem)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    request.scope["unruly.error"] = error.kind
    return plain(error.to_plain(), error.status, error.headers)


async def _hung_up(request: Request, error: Exception) -> Response:
    request.scope["unruly.error"] = "hung_up"
    return Response(status_code=GONE)


async def _bug(request: Request, error: Exception) -> Response:
    request.scope["unruly.error"] = "bug"
    return plain(
        Problem(
            500, "bug", "an unexpected error: it is a bug in unruly, please report it"
        ).to_plain(),
        500,
    )


class Gate:
    """What every request passes: the token, the counters and the log."""

    def __init__(self, app: Starlette, service: Service) -> None:
        self.app, self.service = app, service
        routes = Pages(service).routes()
        self._known = {path: compile_path(path)[0] for _, path, _ in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), [GONE]

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        self.service.in_flight += 1
        try:
            await self._answer(scope, receive, sent)
        except Exception as error:  # answered with 500 already
            _log_bug(error)
        finally:
            self.service.in_flight -= 1
            self._account(scope, status[0], time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = None if scope["path"] in OPEN else self._refusal(scope)
        if problem is None:
            await self.app(scope, receive, send)
            return
        scope["unruly.error"] = problem.kind
        answer = plain(problem.to_plain(), problem.status, problem.headers)
        await answer(scope, receive, send)

    def _refusal(self, scope: Scope) -> Problem | None:
        """Why a request gets no answer."""
        settings = self.service.settings
        if self.service.in_flight > settings.limits.connections:
            return crowded()
        return _not_for_them(scope, settings)

    def _account(self, scope: Scope, status: int, seconds: float) -> None:
        path = self._path(scope)
        metrics, kind = self.service.metrics, scope.get("unruly.error")
        metrics.add("unruly_requests_total", labels={"path": path, "status": str(status)})
        metrics.observe("unruly_request_seconds", [seconds], {"path": path})
        if kind is not None:
            metrics.add("unruly_errors_total", labels={"kind": kind})
        if self.service.settings.log != "none":
            log(self._line(scope, status, seconds))

    def _path(self, scope: Scope) -> str:
        """The path as the metrics have it: a client cannot make up new ones."""
        path = scope["path"]
        if path in self._known:
            return str(path)
        found = (known for known, pattern in self._known.items() if pattern.fullmatch(path))
        return next(found, "other")

    def _line(self, scope: Scope, status: int, seconds: float) -> str:
        """One line for each request: when, what, how it went; no text of a document unless asked for."""
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        texts = scope.get("unruly.texts")
        parts = [when, scope["method"], quote(scope["path"])[:200], str(status)]
        parts += [f"{1000 * seconds:.1f}ms"] + ([] if texts is None else [f"texts={len(texts)}"])
        parts += [f"error={kind}"] if (kind := scope.get("unruly.error")) else []
        if self.service.settings.log == "texts" and texts is not None:
            parts.append(json.dumps(list(texts), ensure_ascii=True))
        return " ".join(parts)


def _not_for_them(scope: Scope, settings: ServeSettings) -> Problem | None:
    """Why who sends a request gets no answer.

    A server of this machine alone answers to no other name: a web page whose name is made to point here (DNS rebinding)
    could otherwise read the rules, and the training texts of explanations.
    """
    host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    if settings.host in LOOPBACK and host and not is_ours(host, settings.names):
        return Problem(
            421,
            "wrong_host",
            "this server answers to the name localhost: allow another with --allow-host",
            {"Connection": "close"},
        )
    if settings.token is not None and not _bears(scope, settings.token):
        headers = {"WWW-Authenticate": "Bearer"}
        return Problem(401, "unauthorized", "send the header Authorization: Bearer TOKEN", headers)
    return None


def _bears(scope: Scope, token: str) -> bool:
    scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), token.encode())


def _log_bug(error: Exception) -> None:
    """Where it happened; not the message, which may quote a text."""
    place = "".join(traceback.format_tb(error.__traceback__)[-4:])
    log(f"bug: {type(error).__name__}\n{place.rstrip()}")
