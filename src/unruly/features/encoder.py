"""What an encoder is, what it reads of a document, and the features that it gives.

An encoder reads the text. In relation data (documents with two entities) it reads two views: the words between the
entities, and these with a few words on either side; the whole text would only add noise. In the second view, lsa gets a tag
on each word for its place (`b_married`, `l_his`, `r_in`), so that the same word before and between the entities makes two
terms; other encoders get a sentence with `someone` in place of the names.

`TextSpace` gives texts as unit vectors to rules that compare texts by meaning (`similar`, `describe`). Each layer has unit
length, so that the product of two vectors is the cosine of their texts, averaged over layers (better at telling classes by
their descriptions than the last layer alone, see lab/LOG.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.statistics import Float32, sample_rows
from unruly.texts.columns import without_surrogates
from unruly.texts.corpus import Corpus
from unruly.texts.relation import Relation
from unruly.wording import listed

if TYPE_CHECKING:
    from unruly.features.cache import FeatureCache
    from unruly.features.lsa import Projected

State = Mapping[str, Any]  # what an encoder is saved as: plain JSON values, and arrays
TEXT = "text"
BETWEEN = "between"
AROUND = "around"
TAGGED = "tagged"
COLUMN = "column "  # and its name
WINDOW = 6  # words on either side of the pair
NAME = "someone"  # in place of either entity
CHARACTERS_A_TOKEN = 24  # more than in any real text; longer texts are cut before tokenising
CHUNK = 4_096  # texts tokenised at a time
SAMPLE = 5_000  # training texts that thresholds and moments of rules are taken from


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
        """A digest of all that the features depend on beside the text, for the cache; None: never cached."""

    @property
    def plan(self) -> str | None:
        """All that a fit depends on beside the texts, for the cache; None: nothing is learnt, or it is unknown."""

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block of features, such as one for each hidden layer."""

    @property
    def aligned(self) -> bool:
        """Whether its rows are those of given documents in their order, and do not depend on texts."""

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """What it reads of these documents: names of views (`view_of`)."""

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Learn from the user's own texts; returns the fitted encoder."""

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> Float32:
        """(n texts, width). The same text gives the same bits, whatever texts come with it."""

    def state(self) -> State:
        """All that it needs to be made again."""


class SentenceEncoder:
    """What most encoders have in common: they read sentences, give one block, and learn nothing from the user's texts."""

    plan: ClassVar[str | None] = None

    @property
    def aligned(self) -> bool:
        """It reads texts."""
        return False

    @property
    def pieces(self: Encoder) -> tuple[tuple[str, int], ...]:
        """One block."""
        return ((self.name, self.width),)

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """Sentences."""
        return text_views(corpus)

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Nothing to learn."""
        return self


@runtime_checkable
class Projecting(Protocol):
    """An encoder that counts terms and projects them: its features can be had before they are multiplied out."""

    def projected(self, texts: Sequence[str], progress: Progress = SILENT) -> tuple[Projected, ...]:
        """One for each of its pieces."""


@dataclass(frozen=True, eq=False)
class Block:
    """The features of one encoder (or of one view of a relation's text)."""

    name: str
    values: Float32 | Projected  # (n, d)
    encoder: str = ""  # blocks of one encoder (its layers, or what it reads) share one weight

    @property
    def array(self) -> Float32:
        """(n, d): multiplied out, if it was not."""
        return self.values if isinstance(self.values, np.ndarray) else self.values.multiplied


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
    def from_array(cls, array: Float32, name: str = "features") -> Features:
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

    def matrix(self) -> Float32:
        """(n, width): the blocks side by side."""
        if len(self.blocks) == 1:
            return self.blocks[0].array
        return np.concatenate([block.array for block in self.blocks], axis=1)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Features:
        """Some of the documents only."""
        return Features(
            tuple(Block(block.name, block.values[rows], block.encoder) for block in self.blocks),
            None if self.keys is None else self.keys[rows],
        )

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each block in an average: the same for every encoder; sums to 1.

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


def view_of(corpus: Corpus, view: str) -> pl.Series:
    """(n,) strings: what the encoder reads. The text itself where the entities are not found.

    >>> frame = pl.DataFrame({"text": ["He, Al, wed Bo."], "entity1": ["Al"], "entity2": ["Bo"]})
    >>> corpus = Corpus.from_frame(frame)
    >>> [view_of(corpus, view)[0] for view in (BETWEEN, AROUND)]
    [', wed', 'He, someone , wed someone .']
    >>> view_of(corpus, TAGGED)[0]
    'l_he l_x2c entity_ b_x2c b_wed entity_ r_x2e'
    """
    if view.startswith(COLUMN):
        return _column(corpus, view.removeprefix(COLUMN))
    relation = corpus.relation if view != TEXT else None
    if relation is None:
        return corpus.texts
    if view == BETWEEN:
        return relation.between.fill_null(corpus.texts)
    return (_around if view == AROUND else _tagged)(relation).fill_null(corpus.texts)


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
    entity, between = pl.Series(["entity_"]), _tag(_words(relation.between), "b_")
    return _joined([_tag(left, "l_"), entity, between, entity, _tag(right, "r_")])


def _joined(parts: list[pl.Series]) -> pl.Series:
    """(n,) strings: the parts with one blank between; null where one is."""
    joined = pl.select(pl.concat_str(parts, separator=" ")).to_series()
    return joined.str.replace_all(r" +", " ").str.strip_chars()


def _words(texts: pl.Series) -> pl.Series:
    """(n,) lists: words, and every other character alone; null where there is no text."""
    return texts.str.to_lowercase().str.extract_all(r"\w+|[^\w\s]")


def _tag(words: pl.Series, tag: str) -> pl.Series:
    """(n,) strings: the words with their tag; other characters are named by their bytes, so that they count as words."""
    word = pl.element()
    named = pl.lit("x") + word.str.encode("hex")
    tagged = pl.when(word.str.contains(r"^\w")).then(word).otherwise(named)
    return words.list.eval(pl.lit(tag) + tagged).list.join(" ")


def readable(texts: Sequence[str], max_tokens: int) -> list[str]:
    """The texts for a tokenizer; a very long one is cut first, because its end would never be read."""
    longest = max_tokens * CHARACTERS_A_TOKEN
    return [without_surrogates(text[:longest]) for text in texts]


def batches(lengths: Sequence[int], budget: int) -> list[NDArray[np.intp]]:
    """Rows of one length together, at most `budget` tokens a batch, the longest first.

    >>> [rows.tolist() for rows in batches([3, 5, 3, 3], budget=6)]
    [[1], [0, 2], [3]]
    """
    size = np.asarray(lengths)
    order = np.argsort(-size, kind="stable")
    cuts = np.flatnonzero(np.diff(size[order])) + 1
    found = []
    for group in np.split(order, cuts):
        if len(group):
            most = max(1, budget // max(1, int(size[group[0]])))
            found += [group[start : start + most] for start in range(0, len(group), most)]
    return found


def directions(
    encoder: Encoder, texts: Sequence[str], cache: FeatureCache | None = None
) -> Float32:
    """(n, d): texts as unit vectors, zeros for a blank text.

    >>> from unruly.features.lsa import Lsa
    >>> texts = ["a good film", "a bad film", "so good", "so bad"]
    >>> rows = directions(Lsa(dim=2).fit(texts), texts)
    >>> rows.shape, bool(np.allclose(np.linalg.norm(rows, axis=1), 1))
    ((4, 4), True)
    """
    if not texts:
        return np.zeros((0, encoder.width), dtype=np.float32)
    kept = None if encoder.identity is None else cache
    values = np.array(encoder.encode(texts) if kept is None else kept.encode(encoder, texts))
    values[[not text.strip() for text in texts]] = 0
    ends = np.cumsum([width for _, width in encoder.pieces])
    layers = np.split(values, ends[:-1], axis=1)
    many = np.float32(len(layers) ** 0.5)
    unit = [x / (np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9) * many) for x in layers]
    return np.concatenate(unit, axis=1).astype(np.float32)


class TextSpace:
    """Texts as unit vectors, by the encoder of a project; nothing is read or fitted before it is needed.

    >>> corpus = Corpus.from_texts(["a good film", "a bad film", "so good", "so bad"])
    >>> space = TextSpace("lsa", corpus)
    >>> space.directions(["good"]).shape[0], space.sample.shape[0], space.texts_of([1])
    (1, 4, ('a bad film',))
    """

    def __init__(
        self,
        encoder: object,
        training: Corpus | Callable[[], Corpus],
        folder: Path | None = None,
        kept: bool = False,  # keep features in the user's cache
    ) -> None:
        self._spec, self._folder, self._kept = encoder, folder, kept
        self._training = training

    @cached_property
    def _cache(self) -> FeatureCache | None:
        from unruly.features.cache import FeatureCache

        return FeatureCache() if self._kept else None

    @cached_property
    def corpus(self) -> Corpus:
        """The training documents."""
        return self._training() if callable(self._training) else self._training

    @cached_property
    def encoder(self) -> Encoder:
        """The project's first encoder, fitted."""
        from unruly.features.registry import encoder_from

        first = encoder_from(self._spec, self._folder).encoders[0]
        if first.aligned:
            raise InputError(
                f"the encoder {first.name} knows its own documents only, and rules that compare texts need one "
                'that reads any text: put another first, as in encoder = ["minilm", ...]'
            )
        texts = self.corpus.texts.to_list()
        return self._cache.fitted(first, texts) if self._cache else first.fit(texts)

    @property
    def identity(self) -> str | None:
        """What decides a text's direction."""
        return self.encoder.identity

    @cached_property
    def training_identity(self) -> str:
        """A digest of the training texts, which decide thresholds and moments."""
        digest = sha256()
        for text in self.corpus.texts:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()

    def directions(self, texts: Sequence[str]) -> Float32:
        """(n, d): unit rows."""
        return directions(self.encoder, texts, self._cache)

    @cached_property
    def sample(self) -> Float32:
        """(s, d): the directions of training texts, all or a sample of them."""
        rows = sample_rows(len(self.corpus), SAMPLE)
        return self.directions(self.corpus.texts.gather(rows.tolist()).to_list())

    def texts_of(self, ids: Sequence[object]) -> tuple[str, ...]:
        """The training documents with these ids."""
        place = {str(key): row for row, key in enumerate(self.corpus.ids.to_list())}
        missing = next((key for key in ids if str(key) not in place), None)
        if missing is not None:
            raise InputError(
                f"there is no training document with the id {missing!r}: correct it, or name the id column in [data]"
            )
        return tuple(self.corpus.texts.gather(pl.Series([place[str(key)] for key in ids])))


class FittedSpace:
    """Texts as unit vectors, by a fitted encoder, as a model has it; there are no training texts."""

    def __init__(self, encoder: Callable[[], Encoder]) -> None:
        self._encoder = encoder

    @property
    def identity(self) -> str | None:
        """What decides a text's direction."""
        return self._encoder().identity

    @property
    def training_identity(self) -> str:
        """Nothing is learnt from texts that are not there."""
        return ""

    def directions(self, texts: Sequence[str]) -> Float32:
        """(n, d): unit rows."""
        return directions(self._encoder(), texts)

    @property
    def sample(self) -> Float32:
        """Refused: a model keeps what was learnt from its training texts, not the texts."""
        raise InputError("a model has no training texts: give the rule its threshold")

    def texts_of(self, ids: Sequence[object]) -> tuple[str, ...]:
        """Refused, likewise."""
        raise InputError("a model has no training texts: give the examples themselves")


def import_path(value: object) -> str:
    """Where a class, or an object's class, is defined: "module:Class".

    >>> from fractions import Fraction
    >>> import_path(Fraction), import_path(Fraction(1))
    ('fractions:Fraction', 'fractions:Fraction')
    """
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}:{kind.__qualname__}"


def thread_count() -> int:
    """As many as OMP_NUM_THREADS says, where it is set, as on a cluster's workers, which share their cores; else one per core."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() and int(told) else os.cpu_count() or 1
