"""One OpenAI-compatible endpoint, `/v1/chat/completions` over plain HTTP (`http.client`), and what is sent there.

Requests are chat completions at temperature 0 with a seed and a JSON schema; what a server refuses is left out (`Form`).
Redirects are not followed and proxies not used, so that texts go only where the project says. The key is sent in a header,
never written to a file or a message, and masked in replies that repeat it.
"""

from __future__ import annotations

import io
import ipaddress
import json
import math
import os
import selectors
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Protocol, cast
from urllib.parse import SplitResult, quote, urlsplit

from unruly.errors import RuleError
from unruly.prompts.answers import Completion

UNSURE = "unsure"
_REFUSABLE = {  # parts of a request, and the words by which a server refuses them
    "logprobs": ("logprobs",),
    "response_format": ("response_format", "json_schema", "schema", "grammar"),
    "max_tokens": ("max_tokens",),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "system": ("system role", "system message", "roles must alternate"),
}
OWN_PARTS = ("model", "messages", "stream", *_REFUSABLE, "max_completion_tokens", "top_logprobs")
_LESS = ("logprobs", "response_format")  # left out in this order where the server names nothing
VERSION = 1  # of what is sent, in the key of an answer
_TOP = 5  # alternatives of a token whose log-probabilities are asked for
_WORD_TOKENS = 8  # that an answer of one word usually has
_MOST_BYTES = 1 << 20  # of a reply


@dataclass(frozen=True)
class Form:
    """What a request goes without, because the server refuses it."""

    without: tuple[str, ...] = ()

    def less(self, refusal: str) -> Form | None:
        """Without the part that the refusal names; if it names none, without the one that fewest servers know.

        >>> Form().less(
        ...     "Unsupported parameter: use 'max_completion_tokens' instead of 'max_tokens'"
        ... )
        Form(without=('max_tokens',))
        >>> Form().less("bad request").less("bad request").less("bad request") is None
        True
        """
        refusal = refusal.casefold()
        left = {part: names for part, names in _REFUSABLE.items() if part not in self.without}
        refused = [part for part, names in left.items() if any(name in refusal for name in names)]
        refused = refused or [part for part in _LESS if part in left][:1]
        return Form((*self.without, refused[0])) if refused else None


class Request(Protocol):
    """What can be sent."""

    @property
    def model(self) -> str:
        """The model to ask."""

    @property
    def key(self) -> str:
        """A digest of model, prompt and parameters: the name of its answer, whatever the endpoint."""

    @property
    def max_tokens(self) -> int:
        """The longest answer."""

    @property
    def usual_output(self) -> int:
        """Tokens that the answer usually has."""

    def body(self, form: Form) -> dict[str, Any]:
        """The request in this form."""

    def understands(self, completion: Completion) -> bool:
        """Whether this is an answer to it."""


@dataclass(frozen=True)
class Question:
    """About one document."""

    model: str
    prompt: str  # rendered
    words: tuple[str, ...]  # the answers, "unsure" last
    seed: int
    max_tokens: int
    extra: Mapping[str, Any] = field(default_factory=dict)  # sent beside the rest

    @cached_property
    def key(self) -> str:
        """The name of its answer."""
        parts = [VERSION, self.model, self.prompt, self.words, self.seed, self.max_tokens]
        return request_key([*parts, dict(self.extra)] if self.extra else parts)

    @property
    def usual_output(self) -> int:
        """Tokens that the answer usually has."""
        return min(_WORD_TOKENS, self.max_tokens)

    def body(self, form: Form) -> dict[str, Any]:
        """The request in this form."""
        listed = ", ".join(self.words[:-1])
        orders = f'Answer with exactly one of: {listed}. Answer "{UNSURE}" where you cannot tell.'
        body = chat_body(self, orders, self.prompt, self.seed, form)
        if "response_format" not in form.without:
            body |= answer_schema({"answer": {"type": "string", "enum": list(self.words)}})
        if "logprobs" not in form.without:
            body |= {"logprobs": True, "top_logprobs": _TOP}
        return body | dict(self.extra)

    def understands(self, completion: Completion) -> bool:
        """Whether the answer is one of the words."""
        return completion.word(self.words) is not None


def most_input(request: Request) -> int:
    """Tokens that a request cannot exceed: one for each byte."""
    return len(json.dumps(request.body(Form()), ensure_ascii=False).encode("utf-8", "replace"))


def usual_input(request: Request) -> int:
    """Tokens that a request is likely to have: four bytes each, and some for the roles."""
    texts = (message["content"] for message in request.body(Form())["messages"])
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // 4 + 8


def chat_body(request: Request, orders: str, prompt: str, seed: int, form: Form) -> dict[str, Any]:
    """What all requests have in common."""
    messages = [{"role": "system", "content": orders}, {"role": "user", "content": prompt}]
    if "system" in form.without:
        messages = [{"role": "user", "content": f"{prompt}\n\n{orders}"}]
    longest = "max_completion_tokens" if "max_tokens" in form.without else "max_tokens"
    settings = {"temperature": 0, "seed": seed, longest: request.max_tokens}
    return {"model": request.model, "messages": messages} | {
        name: value for name, value in settings.items() if name not in form.without
    }


def answer_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """`response_format`: a JSON object with exactly these properties."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def request_key(parts: list[object]) -> str:
    text = json.dumps(parts, ensure_ascii=False)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


@dataclass(frozen=True)
class Reply:
    """What came back, or why nothing did."""

    status: int = 0  # of HTTP; 0 where there is no whole reply
    body: bytes = b""
    retry_after: float | None = None  # seconds, where the server says so
    problem: str = ""  # why there is no reply
    sent: bool = True  # False: the request never left, so it cannot have been paid for

    @property
    def lost(self) -> bool:
        """Whether it may have been paid for without an answer, as when a gateway gave up waiting."""
        return self.sent and (self.status in (0, 502, 504) or 520 <= self.status < 530)

    def without_answer(self) -> Reply:
        """A reply of status 200 without a completion, as the error that it holds."""
        try:
            status = int(json.loads(self.body)["error"]["code"])
        except (ValueError, KeyError, TypeError, RecursionError):
            status = 0
        if 400 <= status < 600:
            return replace(self, status=status)
        shown = self.words()[:80]
        return replace(self, status=0, problem=f"the reply is not a chat completion: {shown!r}")

    def words(self) -> str:
        """What a server says of a request that it refused."""
        text = self.body.decode("utf-8", "replace")
        try:
            found = json.loads(text)
            inner = next(found[k] for k in ("error", "message", "detail") if found.get(k))
            text = str(inner.get("message", inner) if isinstance(inner, Mapping) else inner)
        except (ValueError, AttributeError, StopIteration, RecursionError):
            pass
        return " ".join(text.split())[:200]


@dataclass(frozen=True)
class Endpoint:
    """Where to ask; `key_env` names the environment variable that holds the key."""

    url: str  # up to /v1, which may be left out
    key_env: str | None = None
    seconds: float = 60.0  # to wait for one reply
    in_flight: int = 8  # requests at a time

    def __post_init__(self) -> None:
        parts = self._parts
        if parts.scheme not in ("http", "https") or not parts.hostname or not _has_port(parts):
            raise RuleError(
                f'endpoint = {self.url!r}: expected an address such as "http://127.0.0.1:11434/v1"'
            )
        if parts.hostname in ("0.0.0.0", "::"):
            raise RuleError(
                f"endpoint = {self.url!r}: a server listens on {parts.hostname}, but is reached under another "
                "address: write 127.0.0.1 where it is this machine"
            )
        if parts.username or parts.password or parts.query:
            raise RuleError(
                "the endpoint holds a key or a password: put it into an environment variable, and name that with key_env"
            )
        if self.key_env is not None and parts.scheme == "http" and not self.local:
            raise RuleError(
                f"the key would cross the network unencrypted to {self.host}: use https"
            )
        if not 1 <= self.in_flight <= 256:
            raise RuleError(f"in_flight = {self.in_flight}: give 1 to 256 requests at a time")
        if not self.seconds > 0:
            raise RuleError(f"seconds = {self.seconds}: give the time to wait for one reply")

    @cached_property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def host(self) -> str:
        """Where texts are sent."""
        return self._parts.hostname or ""

    @property
    def path(self) -> str:
        """Of the requests.

        >>> Endpoint("http://127.0.0.1:11434").path, Endpoint("https://x.org/api/v2/").path
        ('/v1/chat/completions', '/api/v2/chat/completions')
        """
        return f"{self._base}/chat/completions"

    @property
    def models_path(self) -> str:
        """Of the list of models."""
        return f"{self._base}/models"

    @property
    def _base(self) -> str:
        given = self._parts.path.rstrip("/").removesuffix("/chat/completions")
        return quote(given or "/v1", safe="/%:@")

    @property
    def local(self) -> bool:
        """Whether it is this machine: then no text leaves it.

        >>> Endpoint("http://127.0.0.1:11434/v1").local, Endpoint("https://api.openai.com/v1").local
        (True, False)
        """
        return self.host == "localhost" or _loopback(self.host)

    def key(self) -> str | None:
        """The key, from the environment; refused where it is not there."""
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise RuleError(
                f"the environment variable {self.key_env} is not set: put the key there"
            )
        if not (key.isascii() and key.isprintable()):
            raise RuleError(
                f"the environment variable {self.key_env} holds characters that no key has: put the key alone there"
            )
        return key

    def connection(self, seconds: float) -> HTTPConnection:
        """A new connection, open; refused where "localhost" leads to another machine."""
        port = self._parts.port
        made: HTTPConnection = (
            HTTPSConnection(self.host, port or 443, timeout=seconds, context=self._trusted)
            if self._parts.scheme == "https"
            else HTTPConnection(self.host, port or 80, timeout=seconds)
        )
        made.connect()
        peer = made.sock.getpeername()[0]
        if self.local and not _loopback(peer):
            made.close()
            raise RuleError(
                f"{self.host} leads to {peer}, which is not this machine: use that address"
            )
        return made

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context()


class Client:
    """Sends one request after the other, over a connection that is kept open; each thread has its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._open: HTTPConnection | None = None
        self._key = endpoint.key()
        self._headers = {"Content-Type": "application/json"}
        self._headers |= {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        self._deadline = 0.0  # of the request under way

    def send(self, request: Request, form: Form, seconds: float) -> Reply:
        """Ask once, within `seconds`; whatever goes wrong is told in the `Reply`."""
        body = json.dumps(request.body(form)).encode()
        headers = {**self._headers, "Idempotency-Key": request.key}
        return self._exchange("POST", self._endpoint.path, body, headers, seconds)

    def models(self, seconds: float) -> tuple[str, ...]:
        """The models that the server has, by its own list; none where it gives no list."""
        reply = self._exchange("GET", self._endpoint.models_path, None, self._headers, seconds)
        try:
            return tuple(str(model["id"]) for model in json.loads(reply.body)["data"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return ()

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], seconds: float
    ) -> Reply:
        self._deadline = time.monotonic() + seconds
        try:
            connection = self._connected(seconds)
        except OSError as error:
            why = error.strerror or type(error).__name__
            where = f"{self._endpoint.host} cannot be reached ({why})"
            return Reply(problem=f"{where}: is the server running, and the port right?", sent=False)
        try:
            connection.request(method, path, body, headers)
            return self._read(connection)
        except TimeoutError:
            self.close()
            return Reply(
                problem=f"no answer within {seconds:.3g} s: raise seconds, or lower in_flight"
            )
        except (HTTPException, OSError) as error:
            self.close()
            return Reply(problem=f"the connection broke ({type(error).__name__})")

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connected(self, seconds: float) -> HTTPConnection:
        """The open connection, or a new one where the server has closed it meanwhile."""
        if self._open is not None and (self._open.sock is None or _readable(self._open)):
            self.close()
        if self._open is None:
            self._open = self._endpoint.connection(seconds)
            self._open.response_class = cast("type[HTTPResponse]", self._response)
        self._open.sock.settimeout(max(self._deadline - time.monotonic(), 1e-3))
        return self._open

    def _response(self, sock: socket.socket, *, method: str | None = None) -> HTTPResponse:
        timed = cast("socket.socket", _TimedSocket(sock, self._deadline))
        return HTTPResponse(timed, method=method)

    def _read(self, connection: HTTPConnection) -> Reply:
        with connection.getresponse() as response:
            body = response.read(_MOST_BYTES + 1)
            if len(body) > _MOST_BYTES:
                self.close()
                return Reply(problem="the reply is too long")
            if response.length:
                raise HTTPException("the reply breaks off")
            if self._key is not None:
                body = body.replace(self._key.encode(), b"***")
            return Reply(response.status, body, _retry_after(response))


class _TimedSocket(io.RawIOBase):
    """A socket that a response is read from, with one deadline for all of it, headers included."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self._raw = sock.makefile("rb", buffering=0)  # keeps the socket open until it is read

    def makefile(self, mode: str) -> io.BufferedReader:
        """As a socket has it."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _has_port(parts: SplitResult) -> bool:
    """Whether the port is a number, or left out."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _readable(connection: HTTPConnection) -> bool:
    """Whether there is something to read before a request was sent: the server has closed the connection."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _retry_after(response: HTTPResponse) -> float | None:
    """Seconds, from a header that holds seconds or a date."""
    given = response.headers.get("Retry-After")
    if given is None:
        return None
    try:
        return max(0.0, float(given)) if math.isfinite(float(given)) else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(given)
        return max(0.0, (moment - datetime.now(moment.tzinfo)).total_seconds())
    except (TypeError, ValueError):
        return None
