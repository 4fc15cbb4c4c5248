"""`static`: a Model2Vec model. Every token has one vector; a text is the mean of its tokens' vectors.

No transformer runs, so tens of thousands of texts a second are encoded. The model is a folder with
`config.json`, `model.safetensors` and `tokenizer.json`, or the name of one on the Hugging Face hub.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix

from unruly.errors import InputError, SettingsError
from unruly.features import weights
from unruly.features.tokens import CHUNK, clean, tokenizer_from
from unruly.progress import SILENT, Progress, stage

FILES = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True, eq=False)
class Static:
    """The mean of static token vectors."""

    vectors: NDArray[np.float32]  # (tokens, width), each times its weight
    tokenizer: str  # JSON, as the `tokenizers` library writes it
    unit: bool = True  # features at unit length
    max_tokens: int = 512
    source: str = "static"

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise SettingsError(f"static: max_tokens must be at least 1, not {self.max_tokens}")

    @classmethod
    def open(cls, where: str | Path, max_tokens: int = 512) -> Static:
        """Read a Model2Vec folder, or one in the Hugging Face cache or on the hub."""
        folder = _folder(str(where))
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        try:
            tensors = load_file(folder / "model.safetensors")
        except SafetensorError as error:
            raise InputError(f"{folder / 'model.safetensors'}: damaged: {error}") from None
        if "embeddings" not in tensors:
            raise InputError(f"{folder}: not a Model2Vec model: its weights have no 'embeddings'")
        return cls(
            vectors=_weighted(tensors),
            tokenizer=(folder / "tokenizer.json").read_text(encoding="utf-8"),
            unit=bool(config.get("normalize", False)),
            max_tokens=max_tokens,
            source=folder.name if Path(where).is_dir() else str(where),
        )

    @property
    def name(self) -> str:
        """Short and human."""
        return f"static {self.source}"

    @cached_property
    def identity(self) -> str:
        """The vectors, the tokenizer and the options."""
        digest = hashlib.sha256(self.vectors.tobytes() + self.tokenizer.encode())
        digest.update(repr((self.unit, self.max_tokens)).encode())
        return f"static-{digest.hexdigest()[:24]}"

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return int(self.vectors.shape[1])

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Nothing to learn."""
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width); zeros for a text without a known token."""
        out = np.empty((len(texts), self.width), dtype=np.float32)
        with stage(progress, f"encoding with {self.name}", len(texts), "texts"):
            for start in range(0, len(texts), CHUNK):
                part = texts[start : start + CHUNK]
                out[start : start + len(part)] = self._means(part)
                progress.advance(len(part))
        return out

    def _means(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, width): the sum of the vectors of a text's tokens, over their number."""
        cut = [clean(text[: self._longest]) for text in texts]
        sums, known = self._sums_by_words(cut) if self._splits_at_blanks else self._sums(cut)[:2]
        means = sums / np.maximum(known, 1)[:, None]
        if not self.unit:
            return np.asarray(means, dtype=np.float32)
        length = np.linalg.norm(means, axis=1, keepdims=True)
        return np.asarray(means / np.maximum(length, 1e-12), dtype=np.float32)

    def _sums_by_words(self, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As `_sums`, with every different word tokenised once. Texts that must be cut go the long way."""
        lists = [text.split(" ") for text in texts]
        place = {word: i for i, word in enumerate(dict.fromkeys(chain.from_iterable(lists)))}
        vectors, known, tokens = self._sums(list(place))  # of the words
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        every = map(place.__getitem__, chain.from_iterable(lists))
        words = np.fromiter(every, dtype=np.int32, count=int(lengths.sum()))
        counts = _rows(words, np.ones(len(words), dtype=np.float32), lengths, len(place))
        sums, found = np.asarray(counts @ vectors), np.asarray(counts @ known)
        long = np.flatnonzero(counts @ tokens >= self.max_tokens)
        if len(long):
            sums[long], found[long], _ = self._sums([texts[row] for row in long])
        return sums, found

    def _sums(
        self, texts: list[str]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """(n, width) sums of token vectors; (n,) how many tokens are known; (n,) how many there are."""
        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        lists = [encoding.ids for encoding in encoded]
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        ids = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(lengths.sum()))
        ones = (ids != self._unknown).astype(np.float32)
        counts = _rows(ids, ones, lengths, len(self.vectors))
        sums = np.asarray(counts @ self.vectors)  # each row summed on its own, in order
        return sums, np.asarray(counts.sum(axis=1)).ravel(), lengths.astype(np.float32)

    def save(self, folder: Path) -> None:
        """The model whole: vectors, tokenizer and options."""
        kept = {"normalize": self.unit, "max_tokens": self.max_tokens, "source": self.source}
        (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
        (folder / "tokenizer.json").write_text(self.tokenizer, encoding="utf-8")
        save_file({"embeddings": self.vectors}, folder / "model.safetensors")

    @classmethod
    def load(cls, folder: Path) -> Static:
        """The encoder that `save` wrote."""
        kept = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return cls(
            vectors=load_file(folder / "model.safetensors")["embeddings"],
            tokenizer=(folder / "tokenizer.json").read_text(encoding="utf-8"),
            unit=kept["normalize"],
            max_tokens=kept["max_tokens"],
            source=kept["source"],
        )

    @cached_property
    def _tokenizer(self) -> Any:
        return tokenizer_from(
            self.tokenizer, self.max_tokens, extra="static", purpose="static features"
        )

    @cached_property
    def _unknown(self) -> int:
        """The token to leave out, or -1."""
        model = json.loads(self.tokenizer)["model"]
        name, number = model.get("unk_token"), model.get("unk_id")
        found = self._tokenizer.token_to_id(name) if name else number
        return -1 if found is None else int(found)

    @cached_property
    def _longest(self) -> int:
        """How many characters of a text are read: those that `max_tokens` usually have."""
        lengths = [len(token) for token in self._tokenizer.get_vocab()]
        return self.max_tokens * max(1, int(np.median(lengths)))

    @cached_property
    def _splits_at_blanks(self) -> bool:
        """Whether the tokens of a text are the tokens of its words, one after another."""
        plan = json.loads(self.tokenizer)
        splitter, normalizer = plan.get("pre_tokenizer") or {}, plan.get("normalizer") or {}
        return splitter.get("type") == "BertPreTokenizer" and normalizer.get("type") in (
            None,
            "BertNormalizer",
        )


def _rows(
    columns: NDArray[np.int32], values: NDArray[np.float32], lengths: NDArray[np.int64], width: int
) -> csr_matrix:
    """(n, width): row i holds the next `lengths[i]` values."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return csr_matrix((values, columns, starts), shape=(len(lengths), width))


def _folder(where: str) -> Path:
    """The folder itself, or the hub's copy."""
    if Path(where).is_dir():
        if lacking := [name for name in FILES if not (Path(where) / name).is_file()]:
            raise InputError(f"{where}: not a Model2Vec folder: {lacking[0]} is missing")
        return Path(where)
    found = None
    if where.count("/") <= 1 and not where.startswith((".", "/", "~")):
        found = weights.cached(where, FILES) or weights.downloaded(where, FILES)
    if found is None:
        raise InputError(
            f"static: {where} is neither a folder nor to be had as a model: looked here, in "
            f"{weights.hub_folder()} and on the Hugging Face hub: give the path of a Model2Vec folder, "
            'or use encoder = "lsa", which needs nothing'
        )
    return found


def _weighted(tensors: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    """One vector for each token id: through the mapping, times the weights, where there are any."""
    vectors = np.asarray(tensors["embeddings"], dtype=np.float32)
    if "mapping" in tensors:
        vectors = vectors[tensors["mapping"]]
    if "weights" in tensors:
        vectors = vectors * np.asarray(tensors["weights"], dtype=np.float32)[:, None]
    return np.ascontiguousarray(vectors, dtype=np.float32)
