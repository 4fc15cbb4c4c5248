"""What an encoder reads of a document: its text and, where it carries two entities, parts of it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from unruly.texts.corpus import Corpus
from unruly.texts.relation import Relation, relation_of

TEXT = "text"
WINDOW = 4  # words on either side of the pair

_RELATION: dict[str, Callable[[Relation], pl.Series]] = {
    "between": lambda relation: relation.between,
    "marked": lambda relation: _marked(relation),
}
NAMES = (TEXT, *_RELATION)


def views_of(corpus: Corpus) -> tuple[str, ...]:
    """The views that these documents have: all of them for relation data, else the text alone.

    >>> views_of(Corpus.from_texts(["plain"]))
    ('text',)
    """
    return NAMES if relation_of(corpus) is not None else (TEXT,)


def seen(corpus: Corpus, view: str) -> pl.Series:
    """(n,) strings: what the encoder reads. Blank where the entities are not found.

    >>> frame = pl.DataFrame({"text": ["Al wed Bo."], "entity1": ["Al"], "entity2": ["Bo"]})
    >>> corpus = Corpus.from_frame(frame)
    >>> [seen(corpus, view)[0] for view in views_of(corpus)]
    ['Al wed Bo.', 'wed', 'entitya wed entityb .']
    """
    if view == TEXT:
        return corpus.texts
    relation = relation_of(corpus)
    if relation is None:
        return pl.repeat("", len(corpus), dtype=pl.String, eager=True)
    return _RELATION[view](relation).fill_null("")


def _marked(relation: Relation) -> pl.Series:
    """The words between the entities and a few on either side, with marks in place of the names."""
    left = relation.before.str.extract_all(r"\S+").list.tail(WINDOW).list.join(" ")
    right = relation.after.str.extract_all(r"\S+").list.head(WINDOW).list.join(" ")
    parts = [left, pl.lit("entitya"), relation.between, pl.lit("entityb"), right]
    return pl.select(pl.concat_str(parts, separator=" ")).to_series().str.strip_chars()
