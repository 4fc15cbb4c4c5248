"""Answers read: which of the words a model said, and how probable each was.

A reply holds JSON, `{"answer": "yes"}`, or plain text. Where the server gives log-probabilities, those of the token
with which the answer begins tell the words apart:

    p(word) = sum over alternatives of that token that begin this word and no other, exp(logprob), made to sum to 1
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_BEGINS = re.compile(r'"answer"\s*:\s*"')
_AROUND = " \t\r\n\"'`.,:;!*()[]{}"
_LEAST = 0.5  # of the probability must be on known words, or the alternatives tell nothing


@dataclass(frozen=True)
class Spoken:
    """What a server's reply says, before anybody makes sense of it."""

    content: str
    tokens: tuple[
        tuple[str, tuple[tuple[str, float], ...]], ...
    ] = ()  # text, (alternative, logprob)
    model: str = ""  # who answered
    input_tokens: int | None = None
    output_tokens: int | None = None

    @classmethod
    def of(cls, body: bytes) -> Spoken:
        """From the body of a reply; what is damaged is kept as it is, to be read by a person."""
        try:
            found = json.loads(body)
            choice = found["choices"][0]
            content = choice["message"]["content"]
            if not isinstance(content, str):
                raise TypeError("no text")
            usage = found.get("usage") or {}
            return cls(
                content,
                _tokens(choice.get("logprobs")),
                str(found.get("model") or ""),
                _count(usage.get("prompt_tokens")),
                _count(usage.get("completion_tokens")),
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return cls(body.decode("utf-8", "replace")[:2000])

    def word(self, words: Sequence[str]) -> str | None:
        """The answer, if it is one of the words; None: it cannot be read.

        >>> Spoken('{"answer": "yes"}').word(["yes", "no"]), Spoken(" No.").word(["yes", "no"])
        ('yes', 'no')
        >>> (
        ...     Spoken('{"answer": "maybe"}').word(["yes", "no"]),
        ...     Spoken('{"answer": "ye').word(["yes"]),
        ... )
        (None, None)
        """
        text = self.content
        try:
            found = json.loads(text)
            if isinstance(found, Mapping):
                text = str(found.get("answer", ""))
            elif isinstance(found, str):
                text = found
        except (ValueError, RecursionError):
            pass
        content = text.strip(_AROUND).casefold()
        return next((word for word in words if word.casefold() == content), None)

    def shares(self, words: Sequence[str]) -> dict[str, float] | None:
        """The probability of each word; None where the server did not say.

        >>> alternatives = (("yes", math.log(0.75)), ("no", math.log(0.25)))
        >>> spoken = Spoken("yes", (("yes", alternatives),))
        >>> {word: round(p, 2) for word, p in spoken.shares(["yes", "no", "unsure"]).items()}
        {'yes': 0.75, 'no': 0.25, 'unsure': 0.0}
        """
        text = "".join(token for token, _ in self.tokens)
        begins = _BEGINS.search(text)
        start = begins.end() if begins else len(text) - len(text.lstrip(_AROUND))
        end = 0
        for token, alternatives in self.tokens:
            end += len(token)
            if end > start:
                before = token[: len(token) - (end - start)]
                return _by_word(before, alternatives, words)
        return None


def _by_word(
    before: str, alternatives: Sequence[tuple[str, float]], words: Sequence[str]
) -> dict[str, float] | None:
    mass = dict.fromkeys(words, 0.0)
    for text, logprob in alternatives:
        if not text.startswith(before):
            continue
        piece = text[len(before) :].strip(_AROUND).casefold()
        meant = [word for word in words if piece and word.casefold().startswith(piece)]
        if len(meant) > 1:
            return None  # the words begin alike: this token does not tell them apart
        if meant:
            mass[meant[0]] += math.exp(min(logprob, 0.0))
    total = sum(mass.values())
    return {word: p / total for word, p in mass.items()} if total >= _LEAST else None


def _tokens(found: Any) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    """The tokens of the answer with their alternatives; none where they are not as expected."""
    try:
        return tuple(
            (
                str(item["token"]),
                tuple((str(a["token"]), float(a["logprob"])) for a in item["top_logprobs"]),
            )
            for item in found["content"]
        )
    except (KeyError, TypeError, ValueError):
        return ()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
