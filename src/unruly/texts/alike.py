"""Which texts to show of many: of near copies, such as forms and letters from a template, one shows what all show.

Two texts are alike where they share more than a third of the words that they have together (Jaccard, 1901:
|a ∩ b| / |a ∪ b|).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

MOST_COMPARED = 100  # texts, the first of them; the others keep their order
LONGEST = 2_000  # characters of a text that are compared
_WORD = re.compile(r"[^\W\d_]+")


def unlike_first(rows: Iterable[int], text: Callable[[int], str | None]) -> Iterator[int]:
    """The rows whose texts are like none before them, then the others, each in their order.

    >>> texts = ["My pen is lost", "my pen is lost!", "Is it open?", "MY PEN is lost 3"]
    >>> list(unlike_first(range(4), texts.__getitem__))
    [0, 2, 1, 3]
    """
    left = iter(rows)
    known: list[frozenset[str]] = []
    others: list[int] = []
    for row in islice(left, MOST_COMPARED):
        words = frozenset(_WORD.findall((text(row) or "")[:LONGEST].casefold()))
        if any(_alike(words, other) for other in known):
            others.append(row)
        else:
            known.append(words)
            yield row
    yield from others
    yield from left


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Of two texts without a word, the second tells nothing new."""
    return one == other or 3 * len(one & other) > len(one | other)
