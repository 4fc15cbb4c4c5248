"""Texts as directions: what rules that compare texts by meaning (`similar`, `describe`) see of the encoder.

The first of the project's encoders, each of its layers at unit length: the product of two rows is the cosine of
their texts, layers averaged (which told classes by description better than the last layer alone, see lab/LOG.md). An encoder that learns (lsa) is fitted on the training texts, whatever documents are voted on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Encoder
from unruly.sampling import sample_rows
from unruly.texts.corpus import Corpus

if TYPE_CHECKING:
    from unruly.features.cache import Cache

Real = NDArray[np.float32]
SAMPLE = 5_000  # training texts that thresholds and moments are taken from


def directions(encoder: Encoder, texts: Sequence[str], cache: Cache | None = None) -> Real:
    """(n, d): unit rows, zeros for a text without a direction.

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
    """Directions by the encoder of a project; nothing is read or fitted before it is needed.

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
        kept: bool = False,  # features in the user's cache
    ) -> None:
        self._spec, self._folder, self._kept = encoder, folder, kept
        self._training = training

    @cached_property
    def _cache(self) -> Cache | None:
        from unruly.features.cache import Cache

        return Cache() if self._kept else None

    @cached_property
    def corpus(self) -> Corpus:
        """The training documents."""
        return self._training() if callable(self._training) else self._training

    @cached_property
    def encoder(self) -> Encoder:
        """The project's first encoder, fitted."""
        from unruly.features.spec import encoder_from

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

    def directions(self, texts: Sequence[str]) -> Real:
        """(n, d): unit rows."""
        return directions(self.encoder, texts, self._cache)

    @cached_property
    def sample(self) -> Real:
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
    """Directions by an encoder that is fitted already, as a model has it; there are no training texts."""

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

    def directions(self, texts: Sequence[str]) -> Real:
        """(n, d): unit rows."""
        return directions(self._encoder(), texts)

    @property
    def sample(self) -> Real:
        """Refused: a model keeps what was learnt from its training texts, not the texts."""
        raise InputError("a model has no training texts: give the rule its threshold")

    def texts_of(self, ids: Sequence[object]) -> tuple[str, ...]:
        """Refused, likewise."""
        raise InputError("a model has no training texts: give the examples themselves")
