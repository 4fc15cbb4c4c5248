"""The words that an answer hangs on: each is left out once, and the classifier asked again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_WORDS = 200  # of one text; longer texts are taken in equal runs of words
# A sign of a script without blanks (kana, Han), a word with its apostrophes and hyphens, or signs that may
# carry meaning (emoji, exclamation and question marks); plain punctuation is no word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+(?:['’-]\w+)*|[^\w\s.,;:()\"'’“”\[\]-]+")

Asked = Callable[[Sequence[str]], NDArray[np.float32]]  # texts -> (n, m) probabilities


@dataclass(frozen=True)
class Word:
    """One word (or run of words), and what the classifier loses without it."""

    text: str
    start: int
    end: int
    effect: float  # probability of the class with the word, minus without it

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"text": self.text, "start": self.start, "end": self.end, "effect": self.effect}


def telling_words(
    text: str, ask: Asked, label: int, count: int = 8, most: int = MOST_WORDS
) -> tuple[Word, ...]:
    """The words whose removal changes the probability of class `label` most, greatest change first.

    A text of more than `most` words is cut into `most` runs of about equal length, so that at most
    `most` + 1 texts are encoded.

    >>> def ask(texts):  # a classifier that only looks for 'subscribe'
    ...     spam = [0.9 if "subscribe" in t else 0.2 for t in texts]
    ...     return np.array([[1 - p, p] for p in spam], dtype=np.float32)
    >>> [
    ...     (w.text, round(w.effect, 2))
    ...     for w in telling_words("please subscribe now", ask, 1, count=1)
    ... ]
    [('subscribe', 0.7)]
    """
    spans = _runs([match.span() for match in _WORD.finditer(text)], most)
    if not spans:
        return ()
    without = [text[:start] + text[end:] for start, end in spans]
    given = ask([text, *without])[:, label].astype(np.float64)  # (1 + words,)
    effects = given[0] - given[1:]  # (words,)
    order = np.argsort(-np.abs(effects), kind="stable")[:count]
    return tuple(_word(text, spans[i], float(effects[i])) for i in order)


def _word(text: str, span: tuple[int, int], effect: float) -> Word:
    return Word(text[slice(*span)], span[0], span[1], round(effect, 6))


def _runs(spans: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """At most so many spans, neighbours joined."""
    if len(spans) <= most:
        return spans
    cuts = np.linspace(0, len(spans), most + 1).astype(int)
    return [(spans[a][0], spans[b - 1][1]) for a, b in pairwise(cuts.tolist())]
