"""Answers of language models: how they are read, what they cost, and where they are stored.

A completion holds JSON, `{"answer": "yes"}`, or plain text, perhaps after the model's reasoning. If the server gives
log-probabilities, the first token of the answer gives the probability of each word:

    p(word) = sum of exp(logprob) over the alternatives of that token that begin this word and no other, normalised

The store is one SQLite file. A request is entered before it is sent, with the most that it may cost, and completed when
it is answered: if the process is killed in between, it counts as paid, and is sent again. The library never deletes an
answer, and never writes the key of an endpoint.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from unruly.errors import InputError, RuleError, Where
from unruly.files import cache_folder

Alternatives: TypeAlias = "tuple[tuple[str, float], ...]"  # of one token: (text, log-probability)
Tokens: TypeAlias = "tuple[tuple[str, Alternatives], ...]"

_ANSWER_BEGINS = re.compile(r'"answer"\s*:\s*"')
_THINKING = "<think>"  # before reasoning; without a closing mark if the answer was cut off
_REASONED = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:[a-z]+\n)?")
_HEAD_ENDS = re.compile(r"[.,;!\n–—]|\s-\s")
_AROUND = " \t\r\n\"'`.,:;!*()[]{}“”„‘’«»。！"
_LEAST = 0.5  # probability that must fall on known words, else log-probabilities are not used
_KEYS_AT_ONCE = 500
MILLION = 1_000_000
_SCHEMA = """
create table if not exists answer (
    key text primary key, source text not null, model text, content text, tokens text,
    answered_by text, calls integer not null, tokens_paid integer not null, money real not null,
    seconds real);
create index if not exists by_source on answer (source);
"""


@dataclass(frozen=True)
class Completion:
    """What a server replied, before it is read as an answer."""

    content: str
    tokens: Tokens = ()
    model: str = ""  # that answered, by its own name
    input_tokens: int | None = None
    output_tokens: int | None = None

    @classmethod
    def of(cls, body: bytes) -> Completion | None:
        """From the body of a reply; None where that is not a chat completion."""
        try:
            found = json.loads(body)
            choice = found["choices"][0]
            usage = found.get("usage") or {}
            return cls(
                _content(choice["message"]),
                _tokens_of(choice.get("logprobs")),
                str(found.get("model") or ""),
                _count(usage.get("prompt_tokens")),
                _count(usage.get("completion_tokens")),
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return None

    @property
    def text(self) -> str:
        """The content after the model's reasoning; blank where that is all there is.

        >>> Completion("<think>Hm, a link.</think> yes").text
        ' yes'
        """
        text = _REASONED.sub("", self.content)
        return "" if text.lstrip().startswith(_THINKING) else text

    @property
    def cut_short(self) -> bool:
        """Whether the answer was cut off while the model was still reasoning."""
        return bool(self.content.strip()) and not self.text.strip()

    def word(self, words: Sequence[str]) -> str | None:
        """The answer, if it is one of the words; None where it cannot be read.

        A remark behind the word does not matter, unless it names another word.

        >>> Completion('{"answer": "yes"}').word(["yes", "no"])
        'yes'
        >>> Completion(" No.").word(["yes", "no"])
        'no'
        >>> Completion("**Yes**, it advertises a channel.").word(["yes", "no"])
        'yes'
        >>> Completion('{"answer": "maybe"}').word(["yes", "no"]) is None
        True
        >>> Completion("yes, or perhaps no").word(["yes", "no"]) is None
        True
        """
        text = _answer_in(self.text)
        whole = text.strip(_AROUND).casefold()
        folded = {word.casefold(): word for word in words}
        if whole in folded:
            return folded[whole]
        named = [word for word in folded if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", whole)]
        head = _HEAD_ENDS.split(text.strip(), maxsplit=1)[0].strip(_AROUND).casefold()
        return folded[head] if named == [head] else None

    def probabilities(self, words: Sequence[str]) -> dict[str, float] | None:
        """The probability of each word; None without log-probabilities that tell the words apart.

        >>> alternatives = (("yes", math.log(0.75)), ("no", math.log(0.25)))
        >>> found = Completion("yes", (("yes", alternatives),)).probabilities(
        ...     ["yes", "no", "unsure"]
        ... )
        >>> {word: round(p, 2) for word, p in found.items()}
        {'yes': 0.75, 'no': 0.25, 'unsure': 0.0}
        """
        text = "".join(token for token, _ in self.tokens)
        begins = [found.end() for found in _ANSWER_BEGINS.finditer(text)]
        start = begins[-1] if begins else len(text) - len(text.lstrip(_AROUND))
        end = 0
        for token, alternatives in self.tokens:
            end += len(token)
            if end > start:
                before = token[: len(token) - (end - start)]
                return _by_word(before, alternatives, words)
        return None


def _by_word(
    before: str, alternatives: Alternatives, words: Sequence[str]
) -> dict[str, float] | None:
    mass = dict.fromkeys(words, 0.0)
    for text, logprob in alternatives:
        if not text.startswith(before):
            continue
        piece = text[len(before) :].strip(_AROUND).casefold()
        begun = [word for word in words if piece and word.casefold().startswith(piece)]
        if len(begun) > 1:
            return None  # two words begin alike: this token does not tell them apart
        if begun:
            mass[begun[0]] += math.exp(min(logprob, 0.0))
    total = sum(mass.values())
    return {word: p / total for word, p in mass.items()} if total >= _LEAST else None


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message, whole or in parts; without one, the refusal or the reasoning, for a person to read."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text") or "") for part in content)
    if isinstance(content, str) and content.strip():
        return content
    if content is not None and not isinstance(content, str):
        raise TypeError("the content is not a text")
    reasoned = message.get("reasoning_content") or message.get("reasoning")
    return f"{_THINKING}{reasoned}" if reasoned else str(message.get("refusal") or "")


def _answer_in(text: str) -> str:
    """The value of `answer` in JSON, which some models put between ``` or behind a sentence; else the text."""
    found = json_object(text)
    if found is not None:
        only = next(iter(found.values())) if len(found) == 1 else ""
        return str(found.get("answer", only))
    named, colon, rest = _FENCE.sub("", text).partition(":")
    return rest if colon and named.strip(" *").casefold() == "answer" else named + colon + rest


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object from the first brace to the last; None where there is none."""
    try:
        found = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _tokens_of(logprobs: Any) -> Tokens:
    """The tokens of a completion with their alternatives; none where they are not as expected."""
    try:
        return tuple(
            (
                str(item["token"]),
                tuple((str(a["token"]), float(a["logprob"])) for a in item["top_logprobs"]),
            )
            for item in logprobs["content"]
        )
    except (KeyError, TypeError, ValueError):
        return ()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


@dataclass(frozen=True)
class Cost:
    """What requests cost."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.calls - other.calls, self.tokens - other.tokens, self.money - other.money)


@dataclass(frozen=True)
class Price:
    """Of a million tokens, in the currency of the budget."""

    input: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        if self.input < 0 or self.output < 0:
            raise RuleError("price: a million tokens cannot cost less than 0")

    def cost(self, input_tokens: int, output_tokens: int) -> Cost:
        """Of one request.

        >>> Price(0.15, 0.6).cost(1000, 10)
        Cost(calls=1, tokens=1010, money=0.000156)
        """
        money = (input_tokens * self.input + output_tokens * self.output) / MILLION
        return Cost(1, input_tokens + output_tokens, round(money, 12))


@dataclass(frozen=True)
class Budget:
    """What one source may cost, all runs together; `minutes` is for one run. None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and value < 0:
                raise RuleError(f"budget: {limit.name} = {value}: give 0 or more")

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(getattr(self, limit.name) is not None for limit in fields(self))

    def allows(self, cost: Cost) -> bool:
        """Whether so much may be spent."""
        limits = ((self.calls, cost.calls), (self.tokens, cost.tokens), (self.money, cost.money))
        return all(limit is None or spent <= limit + 1e-12 for limit, spent in limits)

    def to_plain(self) -> Mapping[str, float]:
        """As the project file has it."""
        given = ((limit.name, getattr(self, limit.name)) for limit in fields(self))
        return {name: value for name, value in given if value is not None}


class AnswerStore:
    """One file of answers, and of what they cost; several processes may share it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(
                path, timeout=30, check_same_thread=False, isolation_level=None
            )
            self._base.execute("pragma journal_mode = wal")
            self._base.execute("pragma synchronous = normal")
            self._base.executescript(_SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                f"answers of language models cannot be kept here ({error}): free disk space, delete the file, "
                "or set UNRULY_CACHE to another folder",
                where=Where(str(path)),
            ) from None

    @classmethod
    def default(cls) -> AnswerStore:
        """The user's own."""
        return cls(cls.usual_path())

    @staticmethod
    def usual_path() -> Path:
        """Where the user's own answers are."""
        return cache_folder() / "answers" / "answers.sqlite"

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *error: object) -> None:
        self._base.close()

    @contextmanager
    def alone(self, source: str, name: str) -> Iterator[None]:
        """A lock, so that only one run at a time asks a source: two would pay twice, and exceed its budget.

        It is the operating system's, so it ends with the process.
        """
        with self._errors():
            lock = sqlite3.connect(
                self.path.with_name(f"{source}.lock"), timeout=0, isolation_level=None
            )
        try:
            lock.execute("begin exclusive")
        except sqlite3.Error:
            lock.close()
            raise InputError(
                f"source {name!r}: another run is asking this model the same: wait until it has ended"
            ) from None
        try:
            yield
        finally:
            lock.close()

    def get(self, keys: Iterable[str]) -> dict[str, Completion]:
        """The answers that are there, by key."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Completion] = {}
        for start in range(0, len(wanted), _KEYS_AT_ONCE):
            part = wanted[start : start + _KEYS_AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._run(
                f"select key, content, tokens, answered_by from answer where content is not null and key in ({marks})",
                part,
            )
            for key, content, tokens, by in rows:
                found[key] = Completion(content, _tokens_from(tokens), by or "")
        return found

    def sending(self, key: str, source: str, model: str, most: Cost) -> None:
        """A request is about to be sent, and may cost this much."""
        self._run(
            "insert into answer (key, source, model, calls, tokens_paid, money) values (?, ?, ?, ?, ?, ?) "
            "on conflict (key) do update set calls = calls + excluded.calls, "
            "tokens_paid = tokens_paid + excluded.tokens_paid, money = money + excluded.money",
            (key, source, model, most.calls, most.tokens, most.money),
        )

    def refused(self, key: str, most: Cost) -> None:
        """The server did not accept it, so it costs nothing."""
        self._run(
            "update answer set calls = calls - ?, tokens_paid = tokens_paid - ?, money = max(0, money - ?) "
            "where key = ?",
            (most.calls, most.tokens, most.money, key),
        )

    def answered(
        self, key: str, completion: Completion, most: Cost, cost: Cost, seconds: float
    ) -> None:
        """The answer is here, and `cost` takes the place of `most`."""
        change = cost - most
        self._run(
            "update answer set content = ?, tokens = ?, answered_by = ?, seconds = ?, calls = calls + ?, "
            "tokens_paid = tokens_paid + ?, money = max(0, money + ?) where key = ?",
            (
                completion.content.encode("utf-8", "replace").decode(),
                json.dumps(completion.tokens) if completion.tokens else None,
                completion.model,
                seconds,
                change.calls,
                change.tokens,
                change.money,
                key,
            ),
        )

    def spent(self, source: str) -> Cost:
        """What a source has cost so far."""
        rows = self._run(
            "select coalesce(sum(calls), 0), coalesce(sum(tokens_paid), 0), coalesce(sum(money), 0) "
            "from answer where source = ?",
            [source],
        )
        calls, tokens, money = rows[0]
        return Cost(int(calls), int(tokens), float(money))

    def mean_seconds(self, model: str) -> float | None:
        """How long this model takes for an answer; None where it has given none yet."""
        mean = self._run("select avg(seconds) from answer where model = ?", [model])[0][0]
        return None if mean is None else float(mean)

    def _run(self, command: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock, self._errors():
            return self._base.execute(command, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(
                f"answers of language models cannot be read or written ({error})",
                where=Where(str(self.path)),
            ) from None


def _tokens_from(text: object) -> Tokens:
    if not isinstance(text, str):
        return ()
    return tuple((token, tuple((a, p) for a, p in others)) for token, others in json.loads(text))
