"""Errors for clients whose request cannot be answered: a status, a kind for programs, a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Problem(Exception):
    """Raised anywhere in the server; becomes a JSON error.

    >>> Problem(422, "no_text", "texts is empty: send at least one").to_plain()
    {'error': 'texts is empty: send at least one', 'error_type': 'no_text'}
    """

    def __init__(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers = dict(headers or {})

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it, in the fields that Hugging Face's servers and the Open Inference Protocol share."""
        return {"error": self.message, "error_type": self.kind}


def refused(message: str, kind: str = "invalid_request") -> Problem:
    """The request is JSON, but not of a form that is understood, or too much."""
    return Problem(422, kind, message)


def full(seconds: int) -> Problem:
    """Too much is waiting."""
    after = f"{seconds} second{'' if seconds == 1 else 's'}"
    return Problem(
        429,
        "full",
        f"too many texts are waiting: try again after {after}",
        {"Retry-After": str(seconds)},
    )
