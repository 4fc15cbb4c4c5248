"""Answers on disk, in SQLite, each written the moment it arrives; also what requests have cost.

A request is entered before it is sent, with the most that it may cost, and completed when it is answered: one that a
killed process left behind counts as paid, and is asked again. Answers are never thrown away by the library; the key
of an endpoint is never among them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from unruly.errors import InputError, Where
from unruly.files import cache_folder
from unruly.prompts.answers import Spoken
from unruly.prompts.budget import Cost

_SCHEMA = """
create table if not exists answer (
    key text primary key, source text not null, model text, content text, tokens text,
    answered_by text, calls integer not null, tokens_paid integer not null, money real not null,
    seconds real);
create index if not exists by_source on answer (source);
"""
_MANY = 500  # keys looked up at a time


class AnswerStore:
    """One file of answers; several processes may share it."""

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
                f"the answers of language models cannot be kept there ({error}): free the disk, delete the file, "
                "or set UNRULY_CACHE",
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

    def close(self) -> None:
        """Let go of the file."""
        self._base.close()

    def get(self, keys: Iterable[str]) -> dict[str, Spoken]:
        """The answers that are there, by key."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, Spoken] = {}
        for start in range(0, len(wanted), _MANY):
            part = wanted[start : start + _MANY]
            marks = ",".join("?" * len(part))
            rows = self._rows(
                f"select key, content, tokens, answered_by from answer where content is not null and key in ({marks})",
                part,
            )
            for key, content, tokens, by in rows:
                found[key] = Spoken(content, _tokens(tokens), by or "")
        return found

    def sent(self, key: str, source: str, model: str, most: Cost) -> None:
        """A request is about to be sent: it may cost so much."""
        self._write(
            "insert into answer (key, source, model, calls, tokens_paid, money) values (?, ?, ?, ?, ?, ?) "
            "on conflict (key) do update set calls = calls + excluded.calls, "
            "tokens_paid = tokens_paid + excluded.tokens_paid, money = money + excluded.money",
            (key, source, model, most.calls, most.tokens, most.money),
        )

    def refused(self, key: str, most: Cost) -> None:
        """It was not accepted, so it costs nothing."""
        self._adjust(key, Cost() - most)

    def answered(self, key: str, spoken: Spoken, most: Cost, really: Cost, seconds: float) -> None:
        """The answer is there, and this is what it cost."""
        change = really - most
        tokens = json.dumps(spoken.tokens) if spoken.tokens else None
        self._write(
            "update answer set content = ?, tokens = ?, answered_by = ?, seconds = ?, calls = calls + ?, "
            "tokens_paid = tokens_paid + ?, money = max(0, money + ?) where key = ?",
            (
                spoken.content.encode("utf-8", "replace").decode(),
                tokens,
                spoken.model,
                seconds,
                change.calls,
                change.tokens,
                change.money,
                key,
            ),
        )

    def spent(self, source: str) -> Cost:
        """What a source has cost so far."""
        rows = self._rows(
            "select coalesce(sum(calls), 0), coalesce(sum(tokens_paid), 0), coalesce(sum(money), 0) "
            "from answer where source = ?",
            [source],
        )
        calls, tokens, money = next(iter(rows))
        return Cost(int(calls), int(tokens), float(money))

    def usual_seconds(self, model: str) -> float | None:
        """How long this model takes for an answer, on average; None: nobody knows."""
        rows = self._rows("select avg(seconds) from answer where model = ?", [model])
        mean = next(iter(rows))[0]
        return None if mean is None else float(mean)

    def _adjust(self, key: str, change: Cost) -> None:
        self._write(
            "update answer set calls = calls + ?, tokens_paid = tokens_paid + ?, money = max(0, money + ?) "
            "where key = ?",
            (change.calls, change.tokens, change.money, key),
        )

    def _write(self, command: str, values: tuple[object, ...]) -> None:
        with self._errors():
            self._base.execute(command, values)

    def _rows(self, command: str, values: list[str]) -> list[tuple[Any, ...]]:
        with self._errors():
            return self._base.execute(command, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise InputError(
                    f"the answers cannot be read or written ({error})", where=Where(str(self.path))
                ) from None


def _tokens(text: object) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    if not isinstance(text, str):
        return ()
    return tuple((token, tuple((a, p) for a, p in others)) for token, others in json.loads(text))
