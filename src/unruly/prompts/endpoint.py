"""One OpenAI-compatible endpoint, `/v1/chat/completions` over plain HTTP: what is sent, and what came back.

Temperature 0, a seed, and a JSON schema whose enum is the answers and "unsure". A server that refuses
log-probabilities, or schemas, is asked without them (`FORMS`). Redirects are not followed, so that texts go where
the project says and nowhere else; the key stands in a header and in no message.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol
from urllib.parse import urlsplit

from unruly.errors import RuleError
from unruly.extras import need
from unruly.prompts.answers import Spoken

UNSURE = "unsure"
FORMS = ("schema and log-probabilities", "schema", "plain text")  # from the best to what all know
VERSION = 1  # of what is sent, in the key of an answer
_TOP = 5  # alternatives of a token whose log-probabilities are asked for
_MOST_BYTES = 1 << 20  # of a reply
_ANSWER = 8  # tokens that an answer of one word is likely to have


class Request(Protocol):
    """What can be sent: a question about a document, or the wish for rules (`rule_request.py`)."""

    @property
    def model(self) -> str:
        """Who is asked."""

    @property
    def key(self) -> str:
        """The name of its answer."""

    @property
    def max_tokens(self) -> int:
        """The longest answer."""

    @property
    def most_input(self) -> int:
        """Tokens that the request cannot exceed."""

    @property
    def likely_input(self) -> int:
        """Tokens that the request is likely to have."""

    @property
    def likely_output(self) -> int:
        """Tokens that the answer is likely to have."""

    def body(self, form: str) -> dict[str, Any]:
        """The request in one of the forms."""

    def understands(self, spoken: Spoken) -> bool:
        """Whether this is an answer to it."""


@dataclass(frozen=True)
class Question:
    """What one document's request says, beside who is asked."""

    model: str
    prompt: str  # rendered
    words: tuple[str, ...]  # the answers, "unsure" last
    seed: int
    max_tokens: int

    @cached_property
    def key(self) -> str:
        """The name of its answer: model, prompt and parameters, whatever the endpoint."""
        parts = [VERSION, self.model, self.prompt, self.words, self.seed, self.max_tokens]
        text = json.dumps(parts, ensure_ascii=False)
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()

    def body(self, form: str) -> dict[str, Any]:
        """The request in one of the forms."""
        listed = ", ".join(self.words[:-1])
        orders = f'Answer with exactly one of: {listed}. Answer "{UNSURE}" where you cannot tell.'
        words = {"type": "string", "enum": list(self.words)}
        body = chat_body(self, orders, self.prompt, self.seed)
        body |= {} if form == FORMS[2] else schema_of({"answer": words})
        body |= {"logprobs": True, "top_logprobs": _TOP} if form == FORMS[0] else {}
        return body

    @property
    def most_input(self) -> int:
        """Tokens that the request cannot exceed."""
        return most_tokens(self)

    @property
    def likely_input(self) -> int:
        """Tokens that the request is likely to have."""
        return likely_tokens(self)

    @property
    def likely_output(self) -> int:
        """Tokens that the answer is likely to have."""
        return min(_ANSWER, self.max_tokens)

    def understands(self, spoken: Spoken) -> bool:
        """Whether the answer is one of the words."""
        return spoken.word(self.words) is not None


def chat_body(request: Request, orders: str, prompt: str, seed: int) -> dict[str, Any]:
    """What all requests have in common."""
    return {
        "model": request.model,
        "messages": [{"role": "system", "content": orders}, {"role": "user", "content": prompt}],
        "temperature": 0,
        "seed": seed,
        "max_tokens": request.max_tokens,
    }


def schema_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """`response_format`: a JSON object with exactly these properties."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def most_tokens(request: Request) -> int:
    """One a byte, for a token is a byte at least."""
    return len(json.dumps(request.body(FORMS[0]), ensure_ascii=False).encode("utf-8", "replace"))


def likely_tokens(request: Request) -> int:
    """Four bytes each."""
    said = (m["content"] for m in request.body(FORMS[2])["messages"])
    return sum(len(text.encode("utf-8", "replace")) for text in said) // 4 + 8


@dataclass(frozen=True)
class Reply:
    """What came back, or why nothing did."""

    status: int = 0  # of HTTP; 0 where there is no whole reply
    body: bytes = b""
    retry_after: float | None = None  # seconds, where the server says
    problem: str = ""  # why there is no reply
    sent: bool = True  # False: the request never left, so it cannot have been paid for


@dataclass(frozen=True)
class Endpoint:
    """Where to ask, and how patiently; `key_env` names the environment variable with the key."""

    url: str  # up to /v1
    key_env: str | None = None
    seconds: float = 60.0
    in_flight: int = 8

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RuleError(
                f'endpoint = {self.url!r}: expected an address such as "http://127.0.0.1:11434/v1"'
            )
        if parts.username or parts.password or parts.query:
            raise RuleError(
                "endpoint holds a key or a password: name an environment variable with key_env, and keep the "
                "key there"
            )
        if self.key_env is not None and parts.scheme == "http" and not self.local:
            raise RuleError(
                f"the key would cross the network unencrypted to {self.host}: use https"
            )
        if not 1 <= self.in_flight <= 256:
            raise RuleError(f"in_flight = {self.in_flight}: give 1 to 256 requests at a time")
        if not self.seconds > 0:
            raise RuleError(f"seconds = {self.seconds}: give the patience with one request")

    @property
    def host(self) -> str:
        """Whom texts are sent to."""
        return urlsplit(self.url).hostname or ""

    @property
    def local(self) -> bool:
        """Whether it is this machine: then no text leaves it.

        >>> Endpoint("http://127.0.0.1:11434/v1").local, Endpoint("https://api.openai.com/v1").local
        (True, False)
        """
        host = self.host
        if host == "localhost":
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def key(self) -> str | None:
        """The key, from the environment; refused where it is not there."""
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "")
        if not key.strip():
            raise RuleError(
                f"the environment variable {self.key_env} is not set: put the key there"
            )
        return key.strip()

    def send(self, question: Request, form: str, seconds: float) -> Reply:
        """Ask once; whatever goes wrong is a `Reply` that says so."""
        urllib3, pool = self._http
        key = self.key()
        headers = {"Content-Type": "application/json", "Idempotency-Key": question.key}
        headers |= {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            found = pool.urlopen(
                "POST",
                f"{urlsplit(self.url).path.rstrip('/')}/chat/completions",
                body=json.dumps(question.body(form)).encode(),
                headers=headers,
                timeout=urllib3.Timeout(total=seconds),
                redirect=False,
                retries=False,
                preload_content=False,
            )
            body = found.read(_MOST_BYTES, decode_content=True)
            whole = not found.read(1)
            found.release_conn()
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError):
            return Reply(problem=f"{self.host} cannot be reached", sent=False)
        except urllib3.exceptions.TimeoutError:
            return Reply(problem=f"no answer within {seconds:g} s")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return Reply(problem=f"the connection broke ({type(error).__name__})")
        if not whole:
            return Reply(problem="the reply is too long")
        return Reply(found.status, body, _retry_after(found.headers))

    def explained(self, reply: Reply) -> str:
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

    @cached_property
    def _http(self) -> tuple[Any, Any]:
        """The library, and connections to this one server that are kept open."""
        urllib3 = need("urllib3", extra="prompt", purpose="prompts")
        return urllib3, urllib3.connection_from_url(self.url, maxsize=self.in_flight, block=True)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a header that holds seconds or a date."""
    from email.utils import parsedate_to_datetime

    given = headers.get("Retry-After")
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        import datetime

        moment = parsedate_to_datetime(given)
        return max(0.0, (moment - datetime.datetime.now(moment.tzinfo)).total_seconds())
    except (TypeError, ValueError):
        return None
