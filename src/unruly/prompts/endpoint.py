"""One OpenAI-compatible endpoint, `/v1/chat/completions` over plain HTTP (`http.client`), and what is sent there.

Requests are chat completions at temperature 0 with a seed and a JSON schema. A server that refuses log-probabilities or
schemas is asked without them (`FORMS`). Redirects are not followed, so that texts go where the project says and nowhere else. The key stands in a header, and in
no message and no file.
"""

from __future__ import annotations

import ipaddress
import json
import os
import selectors
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Protocol
from urllib.parse import SplitResult, quote, urlsplit

from unruly.errors import RuleError
from unruly.prompts.answers import Completion

UNSURE = "unsure"
FORMS = ("schema and log-probabilities", "schema", "plain text")  # from most to least demanding
VERSION = 1  # of what is sent, in the key of an answer
_TOP = 5  # alternatives of a token whose log-probabilities are asked for
_WORD_TOKENS = 8  # that an answer of one word usually has
_MOST_BYTES = 1 << 20  # of a reply
_PIECE = 1 << 16  # bytes of it that are read at a time


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

    def body(self, form: str) -> dict[str, Any]:
        """The request in one of the forms."""

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

    @cached_property
    def key(self) -> str:
        """The name of its answer."""
        return request_key(
            [VERSION, self.model, self.prompt, self.words, self.seed, self.max_tokens]
        )

    @property
    def usual_output(self) -> int:
        """Tokens that the answer usually has."""
        return min(_WORD_TOKENS, self.max_tokens)

    def body(self, form: str) -> dict[str, Any]:
        """The request in one of the forms."""
        listed = ", ".join(self.words[:-1])
        orders = f'Answer with exactly one of: {listed}. Answer "{UNSURE}" where you cannot tell.'
        body = chat_body(self, orders, self.prompt, self.seed)
        if form != FORMS[2]:
            body |= answer_schema({"answer": {"type": "string", "enum": list(self.words)}})
        if form == FORMS[0]:
            body |= {"logprobs": True, "top_logprobs": _TOP}
        return body

    def understands(self, completion: Completion) -> bool:
        """Whether the answer is one of the words."""
        return completion.word(self.words) is not None


def most_input(request: Request) -> int:
    """Tokens that a request cannot exceed: one for each byte."""
    return len(json.dumps(request.body(FORMS[0]), ensure_ascii=False).encode("utf-8", "replace"))


def usual_input(request: Request) -> int:
    """Tokens that a request is likely to have: four bytes each, and some for the roles."""
    texts = (message["content"] for message in request.body(FORMS[2])["messages"])
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // 4 + 8


def chat_body(request: Request, orders: str, prompt: str, seed: int) -> dict[str, Any]:
    """What all requests have in common."""
    return {
        "model": request.model,
        "messages": [{"role": "system", "content": orders}, {"role": "user", "content": prompt}],
        "temperature": 0,
        "seed": seed,
        "max_tokens": request.max_tokens,
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


@dataclass(frozen=True)
class Endpoint:
    """Where to ask; `key_env` names the environment variable that holds the key."""

    url: str  # up to /v1
    key_env: str | None = None
    seconds: float = 60.0  # to wait for one reply
    in_flight: int = 8  # requests at a time

    def __post_init__(self) -> None:
        parts = self._parts
        if parts.scheme not in ("http", "https") or not parts.hostname or not _has_port(parts):
            raise RuleError(
                f'endpoint = {self.url!r}: expected an address such as "http://127.0.0.1:11434/v1"'
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
        """Of the requests."""
        return quote(f"{self._parts.path.rstrip('/')}/chat/completions", safe="/%:@")

    @property
    def local(self) -> bool:
        """Whether it is this machine: then no text leaves it.

        >>> Endpoint("http://127.0.0.1:11434/v1").local, Endpoint("https://api.openai.com/v1").local
        (True, False)
        """
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

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
        """A new connection, open."""
        port = self._parts.port
        made: HTTPConnection = (
            HTTPSConnection(self.host, port, timeout=seconds, context=self._trusted)
            if self._parts.scheme == "https"
            else HTTPConnection(self.host, port, timeout=seconds)
        )
        made.connect()
        return made

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def refusal(self, reply: Reply) -> str:
        """What a server says of a request that it refused, the key masked."""
        text = reply.body.decode("utf-8", "replace")
        try:
            inner = json.loads(text)["error"]
            text = str(inner["message"] if isinstance(inner, Mapping) else inner)
        except (ValueError, KeyError, TypeError):
            pass
        key = self.key()
        text = text if key is None else text.replace(key, "***")
        return " ".join(text.split())[:200]


class Client:
    """Sends one request after the other, over a connection that is kept open; each thread has its own."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._open: HTTPConnection | None = None
        key = endpoint.key()
        self._headers = {"Content-Type": "application/json"}
        self._headers |= {} if key is None else {"Authorization": f"Bearer {key}"}

    def send(self, request: Request, form: str, seconds: float) -> Reply:
        """Ask once, within so many seconds; whatever goes wrong is a `Reply` that says so."""
        deadline = time.monotonic() + seconds
        try:
            connection = self._connected(seconds)
        except OSError as error:
            why = error.strerror or type(error).__name__
            return Reply(problem=f"{self._endpoint.host} cannot be reached ({why})", sent=False)
        try:
            connection.request(
                "POST",
                self._endpoint.path,
                json.dumps(request.body(form)).encode(),
                {**self._headers, "Idempotency-Key": request.key},
            )
            return self._read(connection, deadline)
        except TimeoutError:
            self.close()
            return Reply(problem=f"no answer within {seconds:g} s")
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
        self._open.sock.settimeout(seconds)
        return self._open

    def _read(self, connection: HTTPConnection, deadline: float) -> Reply:
        sock = connection.sock
        with connection.getresponse() as response:
            length = response.length  # None: in chunks, or to the end of the connection
            parts, size = [], 0
            while size != length and size <= _MOST_BYTES:
                sock.settimeout(max(deadline - time.monotonic(), 1e-3))
                part = response.read1(_PIECE if length is None else min(_PIECE, length - size))
                if not part:
                    break
                parts.append(part)
                size += len(part)
            if size > _MOST_BYTES:
                self.close()
                return Reply(problem="the reply is too long")
            if length is not None and size < length:
                raise HTTPException("the reply breaks off")
            return Reply(response.status, b"".join(parts), _retry_after(response))


def _has_port(parts: SplitResult) -> bool:
    """Whether the port is a number, or left out."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _readable(connection: HTTPConnection) -> bool:
    """Whether the server has sent something unasked: the end of the connection."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _retry_after(response: HTTPResponse) -> float | None:
    """Seconds, from a header that holds seconds or a date."""
    given = response.headers.get("Retry-After")
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(given)
        return max(0.0, (moment - datetime.now(moment.tzinfo)).total_seconds())
    except (TypeError, ValueError):
        return None
