"""What an encoder reads of a document: its text or, where it carries two entities, parts of it.

Of relation data an encoder reads the words between the entities, and once more with a few words on
either side. lsa gets the latter with a tag on each word that tells where it stood (`b_married`,
`l_his`, `r_in`), so that a word before the pair and the same word between them are two terms; other
encoders get a sentence with `someone` in place of the names. The whole text only adds noise.
"""

from __future__ import annotations

import polars as pl

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.relation import Relation
from unruly.wording import listed

TEXT = "text"
BETWEEN = "between"
AROUND = "around"
TAGGED = "tagged"
COLUMN = "column "  # and its name
WINDOW = 6  # words on either side of the pair
NAME = "someone"  # in place of either entity


def text_views(corpus: Corpus) -> tuple[str, ...]:
    """What an encoder of sentences reads of these documents.

    >>> text_views(Corpus.from_texts(["plain"]))
    ('text',)
    """
    return (TEXT,) if corpus.relation is None else (BETWEEN, AROUND)


def term_views(corpus: Corpus) -> tuple[str, ...]:
    """What an encoder reads that counts words, as lsa does."""
    return (TEXT,) if corpus.relation is None else (BETWEEN, TAGGED)


def column_view(column: str) -> str:
    """Another column of the documents, in place of their texts."""
    return f"{COLUMN}{column}"


def seen(corpus: Corpus, view: str) -> pl.Series:
    """(n,) strings: what the encoder reads. The text itself where the entities are not found.

    >>> frame = pl.DataFrame({"text": ["He, Al, wed Bo."], "entity1": ["Al"], "entity2": ["Bo"]})
    >>> corpus = Corpus.from_frame(frame)
    >>> [seen(corpus, view)[0] for view in (BETWEEN, AROUND)]
    [', wed', 'He, someone , wed someone .']
    >>> seen(corpus, TAGGED)[0]
    'l_he l_x2c entity_ b_x2c b_wed entity_ r_x2e'
    """
    if view.startswith(COLUMN):
        return _column(corpus, view.removeprefix(COLUMN))
    relation = corpus.relation if view != TEXT else None
    if relation is None:
        return corpus.texts
    found = {BETWEEN: _between, AROUND: _around, TAGGED: _tagged}[view](relation)
    return found.fill_null(corpus.texts)


def _column(corpus: Corpus, column: str) -> pl.Series:
    if column not in corpus.columns.columns:
        raise InputError(
            f"{corpus.name}: there is no column {column!r} with features (columns: "
            f"{listed(corpus.columns.columns)})"
        )
    found = corpus.columns[column]
    if not isinstance(found.dtype, pl.List | pl.Array):
        raise InputError(f"{corpus.name}: the column {column!r} does not hold lists of numbers")
    return found


def _between(relation: Relation) -> pl.Series:
    return relation.between


def _around(relation: Relation) -> pl.Series:
    """The words between the entities and a few on either side, the entities named alike."""
    left = relation.before.str.extract_all(r"\S+").list.tail(WINDOW).list.join(" ")
    right = relation.after.str.extract_all(r"\S+").list.head(WINDOW).list.join(" ")
    name = pl.Series([NAME])
    return _joined([left, name, relation.between, name, right])


def _tagged(relation: Relation) -> pl.Series:
    """The words between the entities and a few on either side, tagged with where they stand."""
    left = _words(relation.before).list.tail(WINDOW)
    right = _words(relation.after).list.head(WINDOW)
    parts = [
        _tag(left, "l_"),
        pl.Series(["entity_"]),
        _tag(_words(relation.between), "b_"),
        pl.Series(["entity_"]),
        _tag(right, "r_"),
    ]
    return _joined(parts)


def _joined(parts: list[pl.Series]) -> pl.Series:
    """(n,) strings: the parts with one blank between; null where one is."""
    joined = pl.select(pl.concat_str(parts, separator=" ")).to_series()
    return joined.str.replace_all(r" +", " ").str.strip_chars()


def _words(texts: pl.Series) -> pl.Series:
    """(n,) lists: words, and every other sign alone; null where there is no text."""
    return texts.str.to_lowercase().str.extract_all(r"\w+|[^\w\s]")


def _tag(words: pl.Series, tag: str) -> pl.Series:
    """(n,) strings: the words with their tag; a sign is named by its bytes, so that it counts."""
    word = pl.element()
    named = pl.lit("x") + word.str.encode("hex")
    tagged = pl.when(word.str.contains(r"^\w")).then(word).otherwise(named)
    return words.list.eval(pl.lit(tag) + tagged).list.join(" ")
