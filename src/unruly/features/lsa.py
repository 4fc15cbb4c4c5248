"""`lsa`: TF-IDF and a truncated singular value decomposition, fitted on the user's own texts.

    x_it = (1 + log count_it) · idf_t^a,   idf_t = 1 + log((1+n)/(1+df_t)),   each row of unit length
    X ≈ U S Vᵀ,   features of a text = x V                          (Deerwester et al., 1990)

Twice, with a = 1 and with a = 3, as two blocks. With a = 1 much of what is kept is how people write: "you", "just", "they". With
a = 3 it is what they write about, which tells more of long texts and less of very short ones.

Words and pairs of words; runs of characters beside them where words are few or not to be had: short
texts, and scripts that put no blanks between words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from unruly.errors import InputError, NotFittedError, SettingsError
from unruly.features.ngrams import CharGrams, Keys, WordGrams
from unruly.features.tokens import clean
from unruly.progress import SILENT, Progress, stage

SHORT = 400  # characters: texts shorter than this on average have too few words to do without runs
BATCH = 2_000  # texts encoded at a time,
BATCH_CHARACTERS = 1_000_000  # and no more characters than these, unless one text has more
FIT = 50_000  # texts fitted on: of more, as many drawn at random
SAMPLE = 20_000  # texts that the runs of characters are chosen from
# Han, kana, Thai, Lao, Khmer, Burmese, Tibetan: written without blanks between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"


@dataclass(frozen=True, eq=False)
class Terms:
    """The n-grams that count, in order of key, and their weights."""

    grams: WordGrams | CharGrams
    keys: Keys  # (t,), sorted
    idf: NDArray[np.float32]  # (t,)

    def weigh(self, texts: Sequence[str]) -> csr_matrix:
        """(n, t): TF-IDF, rows of unit length, or of zeros where a text has no known term."""
        found = self.grams.of(texts)
        column = np.searchsorted(self.keys, found.key)
        column[column == len(self.keys)] = 0
        known = self.keys[column] == found.key if len(self.keys) else np.zeros(0, dtype=np.bool_)
        frame = replace(found, row=found.row[known], key=column[known]).counted()
        row, column = (frame[name].to_numpy() for name in ("row", "key"))
        value = (1 + np.log(frame["count"].to_numpy())) * self.idf[column]
        length = np.sqrt(np.bincount(row, weights=value**2, minlength=len(texts)))
        starts = np.searchsorted(row, np.arange(len(texts) + 1))
        scaled = (value / length[row]).astype(np.float32)
        return csr_matrix((scaled, column, starts), shape=(len(texts), len(self.keys)))

    def raised(self, weighed: csr_matrix, power: float) -> csr_matrix:
        """(n, t): the same with idf to this power instead of 1, rows of unit length again."""
        if power == 1:
            return weighed
        value = weighed.data * self.idf[weighed.indices] ** np.float32(power - 1)
        row = np.repeat(np.arange(weighed.shape[0]), np.diff(weighed.indptr))
        length = np.sqrt(np.bincount(row, weights=value**2, minlength=weighed.shape[0]))
        scaled = (value / length[row]).astype(np.float32)
        return csr_matrix((scaled, weighed.indices, weighed.indptr), shape=weighed.shape)


@dataclass(frozen=True, eq=False)
class Lsa:
    """TF-IDF and truncated SVD.

    >>> texts = ["a good film", "a bad film", "good, so good", "bad, so bad"]
    >>> lsa = Lsa(dim=2).fit(texts)
    >>> lsa.encode(texts).shape, lsa.pieces
    ((4, 4), (('lsa', 2), ('lsa, idf^3', 2)))
    """

    dim: int = 256  # axes of each block
    chars: bool | None = None  # runs of characters too; None: where they help
    max_terms: int = 60_000  # of words and pairs, and as many of runs
    seed: int = 0
    powers: tuple[float, ...] = (1, 3)  # a: of idf, one block of features for each
    terms: tuple[Terms, ...] = ()
    axes: tuple[NDArray[np.float32], ...] = ()  # V: (terms, dim) for each power; empty before `fit`

    def __post_init__(self) -> None:
        if self.dim < 1 or self.max_terms < 1:
            raise SettingsError(
                f"lsa: dim ({self.dim}) and max_terms ({self.max_terms}) must be at least 1"
            )

    @property
    def name(self) -> str:
        """Short and human."""
        return "lsa"

    @property
    def width(self) -> int:
        """How many numbers a text becomes: `dim` for each block, or fewer when there are few texts."""
        return sum(axes.shape[1] for axes in self._fitted())

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block that the features fall into."""
        return tuple(
            ("lsa" if power == 1 else f"lsa, idf^{power:g}", axes.shape[1])
            for power, axes in zip(self.powers, self._fitted(), strict=True)
        )

    @cached_property
    def identity(self) -> str:
        """A digest of the terms and weights."""
        digest = hashlib.sha256(b"".join(axes.tobytes() for axes in self._fitted()))
        for terms in self.terms:
            digest.update(_vocabulary(terms.grams).encode("utf-8", "surrogatepass"))
            digest.update(terms.keys.tobytes() + terms.idf.tobytes())
        return f"lsa-{digest.hexdigest()[:24]}"

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Choose the terms, weigh them and find the axes."""
        if not len(texts):
            raise InputError("lsa: there are no texts to fit on")
        texts = _drawn(texts, FIT, self.seed)
        chars = _chars_help(texts) if self.chars is None else self.chars
        with stage(progress, "fitting lsa", len(texts), "texts"):
            terms: tuple[Terms, ...] = (_word_terms(texts, self.max_terms),)
            if chars:
                terms = (*terms, _char_terms(texts, self.max_terms, self.seed))
            terms = tuple(part for part in terms if len(part.keys))
            axes = tuple(
                _axes(weighed, self.dim, self.seed)
                for weighed in _weighed(terms, texts, self.powers)
            )
            progress.advance(len(texts))
        return replace(self, terms=terms, axes=axes)

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width): each text's TF-IDF rows on the axes, block beside block."""
        fitted = self._fitted()
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        blocks = np.split(out, np.cumsum([axes.shape[1] for axes in fitted])[:-1], axis=1)
        with stage(progress, "encoding with lsa", len(texts), "texts"):
            for start, part in _batches(texts):
                weighed = _weighed(self.terms, part, self.powers)
                for block, rows, axes in zip(blocks, weighed, fitted, strict=True):
                    block[start : start + len(part)] = rows @ axes
                progress.advance(len(part))
        return out

    def save(self, folder: Path) -> None:
        """Options and vocabulary as JSON, weights as safetensors."""
        options = {"dim": self.dim, "chars": self.chars, "max_terms": self.max_terms}
        kept = {
            **options,
            "seed": self.seed,
            "powers": self.powers,
            "terms": [
                {
                    "kind": "words" if isinstance(part.grams, WordGrams) else "characters",
                    "vocabulary": _vocabulary(part.grams),
                }
                for part in self.terms
            ],
        }
        text = json.dumps(kept, ensure_ascii=True)
        (folder / "lsa.json").write_text(text, encoding="utf-8")
        tensors: dict[str, NDArray[np.generic]] = {
            f"axes{i}": axes for i, axes in enumerate(self._fitted())
        }
        for i, part in enumerate(self.terms):
            tensors |= {f"keys{i}": part.keys, f"idf{i}": part.idf}
        save_file(tensors, folder / "lsa.safetensors")

    @classmethod
    def load(cls, folder: Path) -> Lsa:
        """The encoder that `save` wrote."""
        kept = json.loads((folder / "lsa.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "lsa.safetensors")
        terms = tuple(
            Terms(_grams(part["kind"], part["vocabulary"]), tensors[f"keys{i}"], tensors[f"idf{i}"])
            for i, part in enumerate(kept["terms"])
        )
        return cls(
            dim=kept["dim"],
            chars=kept["chars"],
            max_terms=kept["max_terms"],
            seed=kept["seed"],
            powers=tuple(kept["powers"]),
            terms=terms,
            axes=tuple(tensors[f"axes{i}"] for i in range(len(kept["powers"]))),
        )

    def _fitted(self) -> tuple[NDArray[np.float32], ...]:
        if not self.axes:
            raise NotFittedError("lsa is used before it was fitted: call fit(texts) first")
        return self.axes


def _vocabulary(grams: WordGrams | CharGrams) -> str:
    return "\n".join(grams.words) if isinstance(grams, WordGrams) else grams.alphabet


def _grams(kind: str, vocabulary: str) -> WordGrams | CharGrams:
    if kind == "characters":
        return CharGrams(vocabulary)
    return WordGrams(tuple(vocabulary.split("\n")) if vocabulary else ())


def _chars_help(texts: Sequence[str]) -> bool:
    """Short texts, or a tenth of all letters in a script without blanks between words."""
    series = pl.Series([clean(text) for text in texts[:SAMPLE]], dtype=pl.String)
    letters = max(1, int(series.str.count_matches(r"\p{L}").sum()))
    unspaced = int(series.str.count_matches(UNSPACED).sum())
    mean = float(series.str.len_chars().sum()) / len(series)
    return mean < SHORT or unspaced > letters / 10


def _word_terms(texts: Sequence[str], most: int) -> Terms:
    least = 2 if len(texts) >= 50 else 1
    return _choose(WordGrams.learn(texts, least), texts, least, most)


def _char_terms(texts: Sequence[str], most: int, seed: int) -> Terms:
    texts = _drawn(texts, SAMPLE, seed)
    least = 3 if len(texts) >= 50 else 1
    return _choose(CharGrams.learn(texts), texts, least, most)


def _choose(grams: WordGrams | CharGrams, texts: Sequence[str], least: int, most: int) -> Terms:
    """The n-grams in at least `least` texts, the most frequent `most` of them."""
    counted = pl.concat(
        [
            replace(found := grams.of(part), row=found.row + start).counted()
            for start, part in _batches(texts)
        ]
    )
    spread = counted.group_by("key").agg(texts=pl.len()).filter(pl.col("texts") >= least)
    kept = spread.sort(["texts", "key"], descending=[True, False]).head(most).sort("key")
    idf = 1 + np.log((1 + len(texts)) / (1 + kept["texts"].to_numpy()))
    return Terms(grams, kept["key"].to_numpy().astype(np.int64), idf.astype(np.float32))


def _weighed(
    terms: tuple[Terms, ...], texts: Sequence[str], powers: tuple[float, ...]
) -> tuple[csr_matrix, ...]:
    """(n, all terms) for each power of idf: the parts side by side."""
    if not terms:
        return (csr_matrix((len(texts), 0), dtype=np.float32),) * len(powers)
    rows = list[list[csr_matrix]]()  # batches, powers
    for _, some in _batches(texts):
        plain = [part.weigh(some) for part in terms]
        pairs = list(zip(terms, plain, strict=True))
        raised = [[part.raised(weighed, power) for part, weighed in pairs] for power in powers]
        rows.append([hstack(parts, format="csr", dtype=np.float32) for parts in raised])
    return tuple(vstack(batches, format="csr") for batches in zip(*rows, strict=True))


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Where each batch starts, and its texts: few enough of them, and not too long together."""
    start = size = 0
    for row, text in enumerate(texts):
        full = row - start >= BATCH or size + len(text) > BATCH_CHARACTERS
        if full and row > start:
            yield start, texts[start:row]
            start, size = row, 0
        size += len(text)
    if start < len(texts):
        yield start, texts[start:]


def _drawn(texts: Sequence[str], most: int, seed: int) -> Sequence[str]:
    """All texts or, of too many, some drawn at random and kept in order."""
    if len(texts) <= most:
        return texts
    rows = np.sort(np.random.default_rng(seed).choice(len(texts), most, replace=False))
    return [texts[row] for row in rows]


def _axes(weighed: csr_matrix, dim: int, seed: int) -> NDArray[np.float32]:
    """V: (terms, width), the right singular vectors of the largest singular values."""
    width = min(dim, *weighed.shape)
    if width == 0 or weighed.nnz == 0:  # nothing but blank texts
        return np.zeros((weighed.shape[1], 1), dtype=np.float32)
    with threadpool_limits(1):  # sums in one order, so that the same texts give the same bits
        _, _, axes = randomized_svd(weighed, width, n_iter=3, random_state=seed)
    return np.ascontiguousarray(axes.T, dtype=np.float32)
