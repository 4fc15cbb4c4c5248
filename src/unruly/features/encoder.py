"""What an encoder is, what it reads of a document, and the features that it gives.

It reads the text. Of relation data, documents with two entities, it reads the words between them, and once more with a few
words on either side. lsa gets the latter with a tag on each word that tells where it stood (`b_married`,
`l_his`, `r_in`), so that a word before the pair and the same word between them are two terms; other
encoders get a sentence with `someone` in place of the names. The whole text only adds noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.texts.relation import Relation
from unruly.wording import listed

State = Mapping[str, Any]  # what an encoder is saved as: plain JSON values, and arrays
TEXT = "text"
BETWEEN = "between"
AROUND = "around"
TAGGED = "tagged"
COLUMN = "column "  # and its name
WINDOW = 6  # words on either side of the pair
NAME = "someone"  # in place of either entity


class Encoder(Protocol):
    """Turns texts into frozen features. Fitted once (a no-op for pre-trained ones), then fixed.

    A user's own encoder needs `fit` and `encode` alone: `features.custom` adds the rest.
    """

    @property
    def name(self) -> str:
        """Short and human: 'lsa', 'minilm layer 4+6'."""

    @property
    def kind(self) -> str:
        """The name under which it is saved: 'lsa', or 'module:Class' for a user's own."""

    @property
    def identity(self) -> str | None:
        """A digest of everything that the features depend on but the text, for the cache; None: never cached."""

    @property
    def plan(self) -> str | None:
        """What decides a fit beside the texts, for the cache; None: nothing is learnt, or it is unknown."""

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block that the features fall into, such as one a hidden layer."""

    @property
    def aligned(self) -> bool:
        """Whether its rows belong to certain documents in their order, whatever their texts are."""

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """What it reads of these documents (`features.views`)."""

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Learn from the user's own texts; returns the fitted encoder."""

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n texts, width). The same text gives the same bits, whatever stands beside it."""

    def state(self) -> State:
        """All that it needs to be made again."""


@dataclass(frozen=True, eq=False)
class Block:
    """The features of one encoder (or of one view of a relation's text)."""

    name: str
    values: NDArray[np.float32]  # (n, d)
    encoder: str = ""  # blocks of one encoder (its layers, or what it reads) share one weight


@dataclass(frozen=True, eq=False)
class Features:
    """The features of n documents, one block for each encoder."""

    blocks: tuple[Block, ...]
    keys: NDArray[np.uint64] | None = None  # (n,): digests of the texts; None: there are none

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InputError("features need at least one block")
        rows = {len(block.values) for block in self.blocks}
        if len(rows) > 1:
            sizes = ", ".join(f"{block.name}: {len(block.values)}" for block in self.blocks)
            raise InputError(f"feature blocks differ in their number of rows ({sizes})")

    @classmethod
    def from_array(cls, array: NDArray[np.float32], name: str = "features") -> Features:
        """One block from an (n, d) array; NaN and infinity are refused."""
        values = np.asarray(array, dtype=np.float32)
        if values.ndim != 2:
            raise InputError(
                f"{name} must be a matrix of documents × numbers, not {values.ndim}-dimensional"
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise InputError(f"{name}, row {row}: a feature is NaN or infinite")
        return cls((Block(name, values),))

    @property
    def n(self) -> int:
        """How many documents."""
        return len(self.blocks[0].values)

    @property
    def width(self) -> int:
        """How many numbers for each document, all blocks together."""
        return sum(block.values.shape[1] for block in self.blocks)

    def matrix(self) -> NDArray[np.float32]:
        """(n, width): the blocks side by side."""
        if len(self.blocks) == 1:
            return self.blocks[0].values
        return np.concatenate([block.values for block in self.blocks], axis=1)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Features:
        """Some of the documents only."""
        return Features(
            tuple(Block(block.name, block.values[rows], block.encoder) for block in self.blocks),
            None if self.keys is None else self.keys[rows],
        )

    @property
    def weights(self) -> tuple[float, ...]:
        """How much each block counts where opinions are averaged: every encoder the same; sums to 1.

        >>> x = np.zeros((1, 2), np.float32)
        >>> Features((Block("a4", x, "a"), Block("a6", x, "a"), Block("b", x))).weights
        (0.25, 0.25, 0.5)
        """
        owners = self.owners
        return tuple(1 / (len(set(owners)) * owners.count(owner)) for owner in owners)

    @property
    def owners(self) -> tuple[str, ...]:
        """The encoder that each block is of."""
        return tuple(block.encoder or block.name for block in self.blocks)


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
