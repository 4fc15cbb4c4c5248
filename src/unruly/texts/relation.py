"""Relation data: documents with two entities, and the words between, before, after and around them.

A corpus is relation data when it has the string columns `entity1` and `entity2`. Where the entities
stand is read from `tokens`, `span1_tok` and `span2_tok` (first and last word, as in WRENCH), or from
`span1` and `span2` (characters, the end left out); else they are looked for in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.texts.corpus import Corpus

NOWHERE = (-1, -1)
Span = tuple[int, int]  # start and stop, as in a slice


@dataclass(frozen=True, eq=False)
class Relation:
    """Each document cut into five: before, first entity, between, second entity, after.

    A document in which an entity is not found has nulls everywhere but in its entities. Words are
    joined by single spaces when the corpus brings its own tokens; else the text stands as it is.

    >>> frame = pl.DataFrame(
    ...     {
    ...         "text": ["Last May Ann Lee married Bo Lee in York."],
    ...         "entity1": ["Ann Lee"],
    ...         "entity2": ["Bo Lee"],
    ...     }
    ... )
    >>> relation = Corpus.from_frame(frame).relation
    >>> relation.between[0], relation.left(1)[0], relation.right(1)[0]
    ('married', 'Last May', 'married Bo Lee in York.')
    >>> relation.lastname1[0] == relation.lastname2[0]
    True
    """

    entity1: pl.Series  # (n,) strings, as the corpus has them
    entity2: pl.Series
    parts: pl.DataFrame  # (n, 5) strings or null: before, first, between, second, after
    swapped: NDArray[np.bool_]  # (n,): entity 2 stands before entity 1

    @property
    def between(self) -> pl.Series:
        """The words between the two entities."""
        return self.parts["between"].str.strip_chars()

    @property
    def before(self) -> pl.Series:
        """All words before whichever entity comes first."""
        return self.parts["before"].str.strip_chars()

    @property
    def after(self) -> pl.Series:
        """All words after whichever entity comes last."""
        return self.parts["after"].str.strip_chars()

    @property
    def lastname1(self) -> pl.Series:
        """The last word of entity 1, null when it has one word only: that may be a first name."""
        return _last_name(self.entity1, "lastname1")

    @property
    def lastname2(self) -> pl.Series:
        """The last word of entity 2, null when it has one word only."""
        return _last_name(self.entity2, "lastname2")

    def left(self, entity: int) -> pl.Series:
        """All words before entity 1 or 2, whichever entity stands first."""
        parts = self._joined("before", "first", "between")
        return _words(self._of_entity(entity, self.before, parts)).list.join(" ")

    def right(self, entity: int) -> pl.Series:
        """All words after entity 1 or 2."""
        parts = self._joined("between", "second", "after")
        return _words(self._of_entity(entity, parts, self.after)).list.join(" ")

    def _joined(self, *names: str) -> pl.Series:
        """Some of the parts with a blank between them."""
        return self.parts.select(
            pl.concat_str(pl.col(names).str.strip_chars(), separator=" ")
        ).to_series()

    def _of_entity(self, entity: int, first: pl.Series, second: pl.Series) -> pl.Series:
        """The values of entity 1 or 2, from those of the entity that comes first in the text and of the second."""
        of_first = pl.Series(self.swapped if entity == 2 else ~self.swapped)
        return first.zip_with(of_first, second)


def relation_of(corpus: Corpus) -> Relation:
    """The entities of a corpus with the columns entity1 and entity2; use `corpus.relation`, which keeps the answer."""
    columns = corpus.columns
    names1, names2 = (columns[name].fill_null("") for name in ("entity1", "entity2"))
    cuts = _token_cuts(columns) if _has_tokens(columns) else _text_cuts(corpus, names1, names2)
    found = [_cut(*cut) for cut in cuts]
    parts = pl.DataFrame(
        [cut[0] for cut in found],
        schema=dict.fromkeys(["before", "first", "between", "second", "after"], pl.String),
        orient="row",
    )
    return Relation(names1, names2, parts, np.array([cut[1] for cut in found], dtype=np.bool_))


_Parts = tuple[str | None, str | None, str | None, str | None, str | None]


def _cut(text: str | Sequence[str], span1: Span, span2: Span) -> tuple[_Parts, bool]:
    """Five parts, and whether entity 2 comes first. Words are joined, characters are not."""
    swapped = span2 < span1
    if NOWHERE in (span1, span2):
        return (None, None, None, None, None), False
    (a, b), (c, d) = (span2, span1) if swapped else (span1, span2)
    c = max(b, c)  # entities that overlap have nothing between them
    if isinstance(text, str):
        return (text[:a], text[a:b], text[b:c], text[c:d], text[d:]), swapped
    before, first, between, second, after = (
        " ".join(part) for part in (text[:a], text[a:b], text[b:c], text[c:d], text[d:])
    )
    return (
        before and before + " ",
        first,
        f" {between} " if between else " ",
        second,
        after and " " + after,
    ), swapped


def _has_tokens(columns: pl.DataFrame) -> bool:
    return {"tokens", "span1_tok", "span2_tok"} <= set(columns.columns)


def _token_cuts(columns: pl.DataFrame) -> Iterable[tuple[Sequence[str], Span, Span]]:
    for tokens, span1, span2 in columns.select("tokens", "span1_tok", "span2_tok").iter_rows():
        words = _list(tokens)
        yield words, _token_span(span1, len(words)), _token_span(span2, len(words))


def _token_span(span: Any, n: int) -> Span:
    """WRENCH's spans of words name the first and the last."""
    ends = _list(span)
    if len(ends) != 2 or not 0 <= int(ends[0]) <= int(ends[1]) < n:
        return NOWHERE
    return int(ends[0]), int(ends[1]) + 1


def _text_cuts(
    corpus: Corpus, names1: pl.Series, names2: pl.Series
) -> Iterable[tuple[str, Span, Span]]:
    given = {"span1", "span2"} <= set(corpus.columns.columns)
    nothing: list[Any] = [None] * len(corpus)
    spans1 = corpus.columns["span1"].to_list() if given else nothing
    spans2 = corpus.columns["span2"].to_list() if given else nothing
    rows = zip(corpus.texts, names1, names2, spans1, spans2, strict=True)
    for text, name1, name2, given1, given2 in rows:
        span1 = _given_span(text, name1, given1) or _find(text, name1, 0)
        other = _find(text, name2, span1[1]) if name2 == name1 and span1 != NOWHERE else NOWHERE
        span2 = _given_span(text, name2, given2) or (
            other if other != NOWHERE else _find(text, name2, 0)
        )
        yield text, span1, span2


def _given_span(text: str, name: str, span: Any) -> Span | None:
    """Characters that the corpus points at, with the end left out or, in some data, included."""
    ends = _list(span)
    if len(ends) != 2:
        return None
    start, stop = int(ends[0]), int(ends[1])
    if text[start : stop + 1] == name != text[start:stop]:
        stop += 1
    return (start, stop) if 0 <= start <= stop <= len(text) else None


def _find(text: str, name: str, start: int) -> Span:
    at = text.find(name, start) if name.strip() else -1
    return (at, at + len(name)) if at >= 0 else NOWHERE


def _list(value: Any) -> list[Any]:
    """A list as it is, or as JSON when the file could only hold strings."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            return []
    return value if isinstance(value, list) else []


def _words(texts: pl.Series) -> pl.Series:
    """(n,) lists of words; a blank text has none."""
    return texts.str.extract_all(r"\S+")


def _last_name(names: pl.Series, called: str) -> pl.Series:
    words = _words(names)
    last = words.list.last()
    return last.set(words.list.len() < 2, None).alias(called)
