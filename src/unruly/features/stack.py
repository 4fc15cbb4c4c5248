"""The one path from texts to features: encoders side by side, each on each view, every block on one scale.

A block is divided by its root-mean-square distance from its mean, so that all blocks have the same spread and none
dominates the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, ModelFileError, not_fitted
from unruly.features.cache import FeatureCache
from unruly.features.encoder import TEXT, Block, Encoder, Features, Projecting, view_of
from unruly.features.registry import (
    AllowedEncoders,
    encoder_from,
    encoder_from_bytes,
    encoder_to_bytes,
    refused,
)
from unruly.findings import EncoderFallback
from unruly.progress import SILENT, Progress
from unruly.statistics import sample_rows
from unruly.texts.corpus import Corpus, text_digests

if TYPE_CHECKING:
    from unruly.features.lsa import Projected

SAMPLE = 512  # documents that a block's scale is measured on
FORMAT = 5  # 5: values and arrays in place of folders, no masks
PLAN = "encoder.json"
FOLDER = "encoder/"  # where a model file keeps it


@dataclass(frozen=True, eq=False)
class Part:
    """An encoder fitted on one view of the documents, and the scale of each of its blocks."""

    encoder: Encoder
    view: str = TEXT
    scales: tuple[float, ...] = ()

    def raw(
        self, corpus: Corpus, cache: FeatureCache | None, progress: Progress
    ) -> NDArray[np.float32]:
        """(n, width), before scaling."""
        texts = view_of(corpus, self.view).to_list()
        if cache is None or self.encoder.identity is None:
            return self.encoder.encode(texts, progress)
        return cache.encode(self.encoder, texts, progress)

    def blocks(
        self,
        corpus: Corpus,
        cache: FeatureCache | None,
        progress: Progress,
        *,
        multiplied: bool = True,
    ) -> tuple[Block, ...]:
        """One block, or one for each piece of the encoder, on the common scale; products `multiplied` out if need be."""
        found = self._pieces(corpus, cache, progress, multiplied)
        more = "" if self.view == TEXT else f", {self.view}"
        return tuple(
            Block(f"{name}{more}", values * (1 / scale), self.encoder.name)
            for (name, _), values, scale in zip(
                self.encoder.pieces, found, self.scales, strict=True
            )
        )

    def _pieces(
        self, corpus: Corpus, cache: FeatureCache | None, progress: Progress, multiplied: bool
    ) -> Sequence[NDArray[np.float32] | Projected]:
        """Before scaling. Products are not kept on disk: terms are counted about as fast as features are read."""
        if not len(corpus):
            return self.cut(np.zeros((0, self.encoder.width), dtype=np.float32))
        if multiplied or not isinstance(self.encoder, Projecting):
            return self.cut(self.raw(corpus, cache, progress))
        return self.encoder.projected(view_of(corpus, self.view).to_list(), progress)

    def cut(self, values: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """The columns of each block."""
        return np.split(values, np.cumsum([width for _, width in self.encoder.pieces])[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class EncoderStack:
    """What `encoder_from` gives: one encoder or many, fitted together on a corpus.

    >>> from unruly.features.lsa import Lsa
    >>> corpus = Corpus.from_texts(["a good film", "a bad film", "so good", "so bad"])
    >>> both = EncoderStack((Lsa(dim=2), Lsa(dim=3, chars=True))).fit(corpus)
    >>> features = both.encode(corpus)
    >>> [block.values.shape for block in features.blocks]
    [(4, 2), (4, 2), (4, 3), (4, 3)]
    """

    encoders: tuple[Encoder, ...]
    parts: tuple[Part, ...] = ()  # empty before `fit`
    fallback: EncoderFallback | None = None  # where `auto` could not have what is best

    def __post_init__(self) -> None:
        if not self.encoders:
            raise InputError('encoder: the list is empty: name one, as in encoder = ["lsa"]')

    @property
    def name(self) -> str:
        """All encoders, for the output."""
        return " + ".join(encoder.name for encoder in self.encoders)

    def fit(
        self,
        corpus: Corpus,
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
    ) -> EncoderStack:
        """Fit every encoder on every view, and measure each block's scale."""
        if not len(corpus):
            raise InputError(f"{corpus.name}: there are no texts to encode")
        parts: list[Part] = []
        for encoder in self.encoders:
            for view in encoder.views(corpus):
                texts = view_of(corpus, view).to_list()
                fitted = (
                    encoder.fit(texts, progress)
                    if cache is None
                    else cache.fitted(encoder, texts, progress)
                )
                parts.append(_scaled(Part(fitted, view), corpus, cache, progress))
        return replace(self, parts=tuple(parts))

    def encode(
        self,
        corpus: Corpus,
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
        *,
        fitting: bool = True,
    ) -> Features:
        """One block for each piece of each encoder and view; for `fitting` multiplied out, and with digests of the texts."""
        if not self.parts:
            raise not_fitted("the encoder is used before it was fitted: call fit(corpus) first")
        blocks = [part.blocks(corpus, cache, progress, multiplied=fitting) for part in self.parts]
        keys = text_digests(corpus.texts.to_list()) if fitting else None
        return Features(tuple(block for part in blocks for block in part), keys)

    def notes(self) -> tuple[EncoderFallback, ...]:
        """What the user should know of how texts are read."""
        return () if self.fallback is None else (self.fallback,)

    def to_members(self) -> dict[str, bytes]:
        """The fitted stack as named files, for a model's container."""
        if not self.parts:
            raise not_fitted("the encoder is saved before it was fitted: call fit(corpus) first")
        files: dict[str, bytes] = {}
        different = list[Encoder]()  # an encoder that reads two views is kept once
        plan = []
        for part in self.parts:
            if part.encoder not in different:
                text, tensors = encoder_to_bytes(part.encoder)
                number = len(different)
                files |= {f"part{number}.json": text, f"part{number}.safetensors": tensors}
                different.append(part.encoder)
            number = different.index(part.encoder)
            plan.append({"encoder": number, "view": part.view, "scales": part.scales})
        files[PLAN] = json.dumps({"format": FORMAT, "parts": plan}, sort_keys=True).encode()
        return files

    @classmethod
    def from_members(
        cls, files: Mapping[str, bytes], allowed: AllowedEncoders, where: str
    ) -> EncoderStack:
        """The stack that `to_members` wrote; nothing outside is opened but what is `allowed`."""
        if why := refused(files, allowed):
            raise ModelFileError(f"{where}: {why}")
        try:
            plan = json.loads(files[PLAN])
            if plan["format"] != FORMAT:
                raise ModelFileError(
                    f"{where}: the encoder has the format {plan['format']!r}, this version reads {FORMAT}: "
                    "fit the model again, or pip install --upgrade unruly"
                )
            numbers = sorted({int(part["encoder"]) for part in plan["parts"]})
            encoders = {
                number: encoder_from_bytes(
                    files[f"part{number}.json"],
                    files[f"part{number}.safetensors"],
                    allowed,
                    where,
                )
                for number in numbers
            }
            parts = tuple(_restored(part, encoders) for part in plan["parts"])
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ModelFileError(
                f"{where}: the encoder cannot be read ({type(error).__name__}: {error})"
            ) from None
        one_each = {part.encoder.name: part.encoder for part in parts}
        return cls(tuple(one_each.values()), parts)


def _restored(plain: Mapping[str, object], encoders: Mapping[int, Encoder]) -> Part:
    encoder, view, scales = (plain[key] for key in ("encoder", "view", "scales"))
    if not isinstance(encoder, int) or not isinstance(view, str) or not isinstance(scales, list):
        raise TypeError("a part needs an encoder's number, a view and scales")
    part = Part(encoders[encoder], view, tuple(map(float, scales)))
    if len(part.scales) != len(part.encoder.pieces) or not all(
        np.isfinite(scale) and scale > 0 for scale in part.scales
    ):
        raise ValueError("a part needs one scale above 0 for each of its blocks")
    return part


def _scaled(part: Part, corpus: Corpus, cache: FeatureCache | None, progress: Progress) -> Part:
    """Measure each block's scale on a sample of the documents."""
    rows = sample_rows(len(corpus), SAMPLE)
    if part.encoder.aligned or cache is not None:
        values = part.raw(corpus, cache, progress)[rows]
    else:
        values = part.raw(corpus.take(rows), None, SILENT)
    return replace(part, scales=tuple(_spread(block) for block in part.cut(values)))


def _spread(values: NDArray[np.float32]) -> float:
    """The root-mean-square distance from the mean, 1 when there is none."""
    centred = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
    spread = float(np.sqrt((centred**2).sum(axis=1).mean()))
    return spread if spread > 1e-9 else 1.0


class Encoding:
    """The encoders of a model as they were fitted; those of a loaded model are read on first use.

    >>> corpus = Corpus.from_texts(["a good film", "a bad film", "so good", "so bad"])
    >>> encoding = Encoding.fitted({"name": "lsa", "dim": 2}, corpus, cache=None)
    >>> encoding.name, encoding.features(corpus).width
    ('lsa', 4)
    """

    def __init__(
        self,
        name: str,
        stack: EncoderStack | None,
        files: Mapping[str, bytes] | None = None,  # of the model file `where`
        allowed: AllowedEncoders | None = None,
        where: str = "",
    ) -> None:
        self.name = name
        self._stack, self._files = stack, files
        self._allowed, self._where = allowed or AllowedEncoders(), where

    @classmethod
    def fitted(
        cls,
        spec: object,
        corpus: Corpus,
        cache: FeatureCache | None,
        progress: Progress = SILENT,
    ) -> Encoding:
        """Choose the encoder that `spec` asks for, and fit it on the training texts."""
        stack = encoder_from(spec).fit(corpus, cache, progress)
        return cls(stack.name, stack)

    def features(
        self,
        documents: object,
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
        *,
        fitting: bool = True,
    ) -> Features:
        """The features of documents: a corpus, or what `Corpus.of` takes, as a list or a series of texts.

        `fitting` if a model may be fitted on them.
        """
        return self.stack.encode(Corpus.of(documents), cache, progress, fitting=fitting)

    def notes(self) -> tuple[EncoderFallback, ...]:
        """What the user should know of how texts are read."""
        return self.stack.notes()

    @property
    def stack(self) -> EncoderStack:
        """The encoders themselves; those of a loaded model are read now."""
        if self._stack is None:
            assert self._files is not None
            self._stack = EncoderStack.from_members(self._files, self._allowed, self._where)
        return self._stack

    def first(self) -> Encoder:
        """The first encoder, fitted: rules that compare texts by meaning use it."""
        return self.stack.parts[0].encoder

    def members(self) -> dict[str, bytes]:
        """The files of the saved encoder, as members of a container."""
        files = self._files if self._files is not None else self.stack.to_members()
        return {f"{FOLDER}{name}": data for name, data in files.items()}

    def to_plain(self) -> dict[str, Any]:
        """What is known without reading the encoder."""
        return {"name": self.name}

    @classmethod
    def from_plain(
        cls,
        plain: Mapping[str, Any],
        members: Mapping[str, bytes],
        where: str,
        encoders: object = None,
    ) -> Encoding:
        """The encoder of a loaded model, not read yet: its files are among the members of the file `where`.

        `encoders` is what the user allows it to open (`AllowedEncoders.of`); a file that needs more is refused now.
        """
        files = {k.removeprefix(FOLDER): v for k, v in members.items() if k.startswith(FOLDER)}
        allowed = AllowedEncoders.of(encoders)
        if why := refused(files, allowed):
            raise ModelFileError(f"{where}: {why}")
        return cls(str(plain["name"]), None, files, allowed, where)
