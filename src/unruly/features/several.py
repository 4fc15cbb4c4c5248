"""Several encoders at once, each on each view of the documents, every block on one scale.

A block is divided by its root-mean-square distance from its mean, so that texts lie one unit from
the centre on average in every block, and none drowns the others when they stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, NotFittedError
from unruly.features.cache import Cache
from unruly.features.encoder import Block, Encoder, Features
from unruly.features.given import Given
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM
from unruly.features.rule_words import held_words, rule_words, without
from unruly.features.static import Static
from unruly.features.views import TEXT, seen, views_of
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

SAMPLE = 512  # documents that a block's scale is measured on


@dataclass(frozen=True, eq=False)
class Part:
    """An encoder fitted on one view of the documents, and what each of its blocks is divided by."""

    encoder: Encoder
    view: str = TEXT
    scales: tuple[float, ...] = ()
    unread: tuple[str, ...] = ()  # words that are blotted out before it reads

    def raw(self, corpus: Corpus, cache: Cache | None, progress: Progress) -> NDArray[np.float32]:
        """(n, width), before scaling."""
        if isinstance(self.encoder, Given):
            return self.encoder.of(corpus)
        texts = without(seen(corpus, self.view), self.unread).to_list()
        return _encoded(self.encoder, texts, cache, progress)

    def blocks(self, corpus: Corpus, cache: Cache | None, progress: Progress) -> tuple[Block, ...]:
        """One block, or one for each hidden layer or weighting, on the common scale."""
        if len(corpus):
            values = self.raw(corpus, cache, progress)
        else:
            values = np.zeros((0, self.encoder.width), dtype=np.float32)
        return tuple(
            Block(name, part / np.float32(scale), self.encoder.name)
            for (name, part), scale in zip(self.cut(values), self.scales, strict=True)
        )

    def cut(self, values: NDArray[np.float32]) -> list[tuple[str, NDArray[np.float32]]]:
        """Name and columns of each block."""
        encoder = self.encoder
        whole = ((encoder.name, encoder.width),)
        pieces = encoder.pieces if isinstance(encoder, MiniLM | Lsa) else whole
        ends = np.cumsum([width for _, width in pieces])[:-1]
        told = "" if self.view == TEXT else f", {self.view}"
        told += ", without the rules' words" if self.unread else ""
        names = [f"{name}{told}" for name, _ in pieces]
        return list(zip(names, np.split(values, ends, axis=1), strict=True))


@dataclass(frozen=True, eq=False)
class Several:
    """What `encoder_from` gives: one encoder or many, fitted together on a corpus.

    >>> from unruly.features.lsa import Lsa
    >>> corpus = Corpus.from_texts(["a good film", "a bad film", "so good", "so bad"])
    >>> both = Several((Lsa(dim=2), Lsa(dim=3, chars=True))).fit(corpus)
    >>> features = both.encode(corpus)
    >>> [block.values.shape for block in features.blocks]
    [(4, 2), (4, 2), (4, 3), (4, 3)]
    """

    encoders: tuple[Encoder, ...]
    parts: tuple[Part, ...] = ()  # empty before `fit`
    words: tuple[str, ...] = ()  # that rules read, if they were looked for and found

    def __post_init__(self) -> None:
        if not self.encoders:
            raise InputError('encoder: the list is empty: name one, as in encoder = ["lsa"]')

    @property
    def name(self) -> str:
        """All encoders, for the output."""
        return " + ".join(encoder.name for encoder in self.encoders)

    def fit(
        self, corpus: Corpus, cache: Cache | None = None, progress: Progress = SILENT
    ) -> Several:
        """Fit every encoder on every view, and measure each block's scale."""
        if not len(corpus):
            raise InputError(f"{corpus.name}: there are no texts to encode")
        parts = []
        for encoder in self.encoders:
            for view in _views(encoder, corpus):
                fitted = _fitted(encoder, seen(corpus, view).to_list(), cache, progress)
                parts.append(_scaled(Part(fitted, view), corpus, cache, progress))
        return replace(self, parts=tuple(parts))

    def blotted(
        self,
        corpus: Corpus,
        votes: Votes,
        cache: Cache | None = None,
        progress: Progress = SILENT,
    ) -> Several:
        """The same, knowing the rules' words, with one more part for each encoder that counts words: it reads on without them.

        The encoder is the one already fitted. Relation data is left as it is: its views are parts already.
        """
        words = rule_words(corpus.texts, votes) if corpus.relation is None else ()
        if not words:
            return self
        able = [p for p in self.parts if isinstance(p.encoder, Lsa | Static) and p.view == TEXT]
        more = [_scaled(Part(part.encoder, unread=words), corpus, cache, progress) for part in able]
        return replace(self, parts=(*self.parts, *more), words=words)

    @property
    def read_twice(self) -> tuple[str, ...]:
        """The encoders that read each text once more without the rules' words."""
        return tuple(part.encoder.name for part in self.parts if part.unread)

    def encode(
        self, corpus: Corpus, cache: Cache | None = None, progress: Progress = SILENT
    ) -> Features:
        """One block for each encoder and view, and which of the rules' words each text holds."""
        if not self.parts:
            raise NotFittedError("the encoder is used before it was fitted: call fit(corpus) first")
        blocks = [part.blocks(corpus, cache, progress) for part in self.parts]
        held = held_words(corpus.texts, self.words) if self.words else None
        return Features(tuple(block for part in blocks for block in part), held)


def encode_corpus(
    encoder: Several, corpus: Corpus, cache: Cache | None = None, progress: Progress = SILENT
) -> Features:
    """The features of these documents, through the cache where there is one."""
    return encoder.encode(corpus, cache, progress)


def _fitted(
    encoder: Encoder, texts: Sequence[str], cache: Cache | None, progress: Progress
) -> Encoder:
    return encoder.fit(texts, progress) if cache is None else cache.fitted(encoder, texts, progress)


def _encoded(
    encoder: Encoder, texts: Sequence[str], cache: Cache | None, progress: Progress
) -> NDArray[np.float32]:
    return (
        encoder.encode(texts, progress) if cache is None else cache.encode(encoder, texts, progress)
    )


def _scaled(part: Part, corpus: Corpus, cache: Cache | None, progress: Progress) -> Part:
    """Measure each block's scale on a sample of the documents."""
    rows = np.arange(len(corpus))
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    if isinstance(part.encoder, Given) or cache is not None:
        values = part.raw(corpus, cache, progress)[rows]
    else:
        values = part.raw(corpus.take(rows), None, SILENT)
    if isinstance(part.encoder, Given):
        part = replace(part, encoder=replace(part.encoder, size=values.shape[1]))
    return replace(part, scales=tuple(_spread(block) for _, block in part.cut(values)))


def _spread(values: NDArray[np.float32]) -> float:
    """The root-mean-square distance from the mean, 1 when there is none."""
    centred = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
    spread = float(np.sqrt((centred**2).sum(axis=1).mean()))
    return spread if spread > 1e-9 else 1.0


def _views(encoder: Encoder, corpus: Corpus) -> tuple[str, ...]:
    """What this encoder reads of these documents."""
    if isinstance(encoder, Given):
        return (TEXT,)
    return views_of(corpus, terms=isinstance(encoder, Lsa))
