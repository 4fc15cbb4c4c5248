"""`lsa`: TF-IDF and a truncated singular value decomposition, fitted on the user's own texts.

    x_it(a) = (1 + log count_it) · idf_t^a,   idf_t = 1 + log((1+n)/(1+df_t)),   each row of unit length
    X(a) ≈ U S Vᵀ,   features of a text = x(a) V                          (Deerwester et al., 1990)

Two blocks, with a = 1 and a = 3. With a = 1, common words ("you", "just", "they") weigh much: how people write. With a = 3
it is rather what they write about, which helps with long texts and hurts with very short ones.

Terms are words and pairs of words; and character n-grams ("runs") where words are few: in short texts, and in scripts
without blanks between words. V is stored in integers of 8 or 4 bits with one scale for each term: at most 10 MB, where
60,000 terms in float32 take 123 to 161. Accuracy moves by +0.5, -0.3 and -0.7 points on imdb, yelp and agnews
(`lab/benchmarks/lsa_size.py`).

Features are not multiplied out where a classifier only needs their product with its weights W (`Projected`):

    ((R V) s - c) W  =  s R (V W) - c W,    R: (n, t) with few entries,  V: (t, d),  W: (d, m)

With 512 axes and two classes the right-hand side is a fraction of the work of R V, and V W is taken of the terms that
occur in R alone: of one text as of a million.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, vstack
from threadpoolctl import threadpool_limits

from unruly.errors import InputError, SettingsError, not_fitted
from unruly.features.encoder import State, term_views
from unruly.features.ngrams import CharGrams, Terms, WordGrams
from unruly.progress import SILENT, Progress, stage
from unruly.statistics import Float32, sample_rows
from unruly.texts.columns import without_surrogates
from unruly.texts.corpus import Corpus, digest_numbers

SHORT = 400  # characters: texts that are shorter on average need runs of characters as well
BATCH = 10_000  # texts encoded at a time,
BATCH_CHARACTERS = 1_000_000  # and no more characters than these, unless one text has more
FIT = 50_000  # texts to fit on; of more, a random sample
EIGHT_BITS = 8_000_000  # numbers of all axes together, above which each has 4 bits
OVERSAMPLING, POWER_STEPS = 10, 3  # of the randomised decomposition
CLIPS = (2.2, 2.6, 3.0)  # in 4 bits, the largest value: so many times the row's root mean square
_CHUNK = 4_096  # terms whose steps are made numbers at a time
SAMPLE = 20_000  # texts that the runs of characters are chosen from
# Han, kana, Thai, Lao, Khmer, Burmese, Tibetan: written without blanks between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"


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
    max_terms: int = 10_000  # words and pairs
    max_runs: int = 28_000  # of characters, where they are read
    seed: int = 0
    powers: tuple[float, ...] = (1, 3)  # a: of idf, one block of features for each
    terms: tuple[Terms, ...] = ()
    axes: tuple[Axes, ...] = ()  # one for each power; empty before `fit`
    kind: ClassVar[str] = "lsa"
    aligned: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for option in ("dim", "max_terms", "max_runs"):
            if (value := getattr(self, option)) < 1:
                raise SettingsError(f"lsa: {option} must be at least 1, not {value}", option=option)

    @property
    def name(self) -> str:
        """Short and human."""
        return "lsa"

    @property
    def width(self) -> int:
        """How many numbers a text becomes: `dim` for each block, or fewer if there are few distinct texts."""
        return sum(axes.width for axes in self._fitted())

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block that the features fall into."""
        return tuple(
            ("lsa" if power == 1 else f"lsa, idf^{power:g}", axes.width)
            for power, axes in zip(self.powers, self._fitted(), strict=True)
        )

    @cached_property
    def identity(self) -> str | None:
        """A digest of the terms and weights."""
        digest = hashlib.sha256(repr(self.powers).encode())
        for axes in self._fitted():
            digest.update(axes.steps.tobytes() + axes.scale.tobytes())
        for terms in self.terms:
            digest.update(terms.grams.vocabulary.encode("utf-8", "surrogatepass"))
            digest.update(terms.keys.tobytes() + terms.idf.tobytes())
        return f"lsa-{digest.hexdigest()[:24]}"

    @property
    def plan(self) -> str | None:
        """The options."""
        options = (self.dim, self.chars, self.max_terms, self.max_runs, self.seed, self.powers)
        return f"lsa 7 {options!r}"

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """Terms that are tagged with their place in relation data."""
        return term_views(corpus)

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Choose the terms, weigh them and find the axes."""
        if not len(texts):
            raise InputError("lsa: there are no texts to fit on")
        texts = _drawn(_in_one_order(texts), FIT, self.seed)
        with stage(progress, "fitting lsa", 1 + len(self.powers), "steps"):
            terms = self.chosen_terms(texts)
            progress.advance(1)
            axes = list[Axes]()
            for weighed in _weighed(terms, texts, self.powers):
                axes.append(_small(_axes(weighed, self.dim, self.seed), len(self.powers)))
                progress.advance(1)
        return replace(self, terms=terms, axes=tuple(axes))

    def chosen_terms(self, texts: Sequence[str]) -> tuple[Terms, ...]:
        """The most frequent words, pairs and, where they help, runs of characters."""
        chars = _chars_help(texts) if self.chars is None else self.chars
        words = _word_terms(texts, self.max_terms)
        runs = [_char_terms(texts, self.max_runs, self.seed)] if chars else []
        return tuple(part for part in (words, *runs) if len(part.keys))

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width): each text's TF-IDF rows on the axes, block beside block."""
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        with stage(progress, "encoding with lsa", len(texts), "texts"):
            for start, part in _batches(texts):
                blocks = self._projected(_weighed_batch(self.terms, part, self.powers))
                np.concatenate(
                    [block.multiplied for block in blocks],
                    axis=1,
                    out=out[start : start + len(part)],
                )
                progress.advance(len(part))
        return out

    def projected(self, texts: Sequence[str], progress: Progress = SILENT) -> tuple[Projected, ...]:
        """The blocks of `encode`, not multiplied out."""
        with stage(progress, "encoding with lsa", len(texts), "texts"):
            return self._projected(_weighed(self.terms, texts, self.powers, progress))

    def _projected(self, weighed: tuple[csr_matrix, ...]) -> tuple[Projected, ...]:
        pairs = zip(weighed, self._fitted(), strict=True)
        return tuple(Projected(rows, axes) for rows, axes in pairs)

    def state(self) -> State:
        """Options, terms and axes."""
        return {
            "dim": self.dim,
            "chars": self.chars,
            "max_terms": self.max_terms,
            "max_runs": self.max_runs,
            "seed": self.seed,
            "powers": list(self.powers),
            "terms": [part.state() for part in self.terms],
            "axes": [axes.state() for axes in self._fitted()],
        }

    @classmethod
    def from_state(cls, state: State) -> Lsa:
        """The encoder that `state` was taken of, checked."""
        terms = tuple(Terms.from_state(part) for part in state["terms"])
        count = sum(len(part.keys) for part in terms)
        axes = tuple(Axes.from_state(part, count) for part in state["axes"])
        powers = _powers(state["powers"])
        if len(axes) != len(powers):
            raise ValueError("lsa needs axes for each of its powers")
        return cls(
            dim=int(state["dim"]),
            chars=state["chars"],
            max_terms=int(state["max_terms"]),
            max_runs=int(state["max_runs"]),
            seed=int(state["seed"]),
            powers=powers,
            terms=terms,
            axes=axes,
        )

    def _fitted(self) -> tuple[Axes, ...]:
        if not self.axes:
            raise not_fitted("lsa is used before it was fitted: call fit(texts) first")
        return self.axes


def _small(axes: NDArray[np.float32], blocks: int) -> Axes:
    """In 8 bits, or in 4 if the blocks together would be too large."""
    return Axes.rounded(axes, 8 if axes.size * blocks <= EIGHT_BITS else 4)


def _powers(values: Sequence[float]) -> tuple[float, ...]:
    if not values or not all(isinstance(value, int | float) and 0 <= value < 9 for value in values):
        raise ValueError("the powers of lsa are not numbers from 0 to 9")
    return tuple(values)


def _chars_help(texts: Sequence[str]) -> bool:
    """Whether texts are short, or a tenth of all letters is of a script without blanks between words."""
    series = pl.Series([without_surrogates(text) for text in texts[:SAMPLE]], dtype=pl.String)
    letters = max(1, int(series.str.count_matches(r"\p{L}").sum()))
    unspaced = int(series.str.count_matches(UNSPACED).sum())
    mean = float(series.str.len_chars().sum()) / len(series)
    return mean < SHORT or unspaced > letters / 10


def _word_terms(texts: Sequence[str], most: int) -> Terms:
    least = 2 if len(texts) >= 50 else 1
    terms = _choose(WordGrams.learn(texts, least), texts, least, most)
    assert isinstance(terms.grams, WordGrams)
    grams, keys = terms.grams.narrowed(terms.keys)
    return Terms(grams, keys, terms.idf)


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
    terms: tuple[Terms, ...],
    texts: Sequence[str],
    powers: tuple[float, ...],
    progress: Progress = SILENT,
) -> tuple[csr_matrix, ...]:
    """(n, all terms) for each power of idf: the parts side by side."""
    rows = []
    for _, some in _batches(texts):
        rows.append(_weighed_batch(terms, some, powers))
        progress.advance(len(some))
    if len(rows) == 1:
        return rows[0]
    return tuple(vstack(batches, format="csr") for batches in zip(*rows, strict=True))


def _weighed_batch(
    terms: tuple[Terms, ...], texts: Sequence[str], powers: tuple[float, ...]
) -> tuple[csr_matrix, ...]:
    """The same of texts that are counted together."""
    if not terms:
        return (csr_matrix((len(texts), 0), dtype=np.float32),) * len(powers)
    pairs = [(part, part.weigh(texts)) for part in terms]
    raised = [[part.raised(weighed, power) for part, weighed in pairs] for power in powers]
    return tuple(parts[0] if len(parts) == 1 else hstack(parts, "csr") for parts in raised)


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Where each batch starts, and its texts: at most BATCH of them, and BATCH_CHARACTERS together."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))  # in characters
    start = before = 0
    while start < len(texts):
        fit = int(np.searchsorted(ends, before + BATCH_CHARACTERS, side="right"))
        stop = min(max(fit, start + 1), start + BATCH)
        yield start, texts[start:stop]
        start, before = stop, int(ends[stop - 1])


def _in_one_order(texts: Sequence[str]) -> list[str]:
    """The texts in order of their digests, so that the axes do not depend on the order of documents."""
    digests = digest_numbers(text.encode("utf-8", "surrogatepass") for text in texts)
    order = np.argsort(digests, kind="stable")
    return [texts[row] for row in order.tolist()]


def _drawn(texts: Sequence[str], most: int, seed: int) -> Sequence[str]:
    """All texts, or a random sample of `most` in their order."""
    if len(texts) <= most:
        return texts
    return [texts[row] for row in sample_rows(len(texts), most, seed)]


def _axes(weighed: csr_matrix, dim: int, seed: int) -> NDArray[np.float32]:
    """V: (terms, width), the right singular vectors of the largest singular values.

    No more of them than the rank: beyond it, features of new texts would be rounding noise.
    """
    width = min(dim, *weighed.shape)
    if width == 0 or weighed.nnz == 0:  # nothing but blank texts
        return np.zeros((weighed.shape[1], 1), dtype=np.float32)
    with threadpool_limits(1):  # sums in one order, so that the same texts give the same bits
        s, axes = _right_singular(weighed, width, seed)  # (width,), (terms, width)
    least = s[0] * max(weighed.shape) * np.finfo(np.float32).eps  # as in numpy's matrix_rank
    rank = int((s > least).sum())
    return np.ascontiguousarray(axes[:, :rank], dtype=np.float32)


def _right_singular(
    x: csr_matrix, width: int, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The largest singular values of x, and V: (terms, width), by random projection (Halko, Martinsson & Tropp, 2011).

    scikit-learn's `randomized_svd`, whose import alone takes as long as all the rest of a fit on 3,000 short texts.
    """
    from scipy.linalg import lu, qr, svd  # which only fitting needs

    tall = x.T if x.shape[0] < x.shape[1] else x
    start = np.random.RandomState(seed).normal(size=(tall.shape[1], width + OVERSAMPLING))
    basis = start.astype(np.float32)
    for _ in range(POWER_STEPS):  # (tall @ tall.T)^3 sets the large singular values apart
        basis, _ = lu(tall @ basis, permute_l=True)
        basis, _ = lu(tall.T @ basis, permute_l=True)
    range_, _ = qr(tall @ basis, mode="economic")  # (rows of tall, width + 10)
    left, s, right = svd(range_.T @ tall, full_matrices=False, lapack_driver="gesdd")
    left = range_ @ left
    axes, texts = (right.T, left) if tall is x else (left, right.T)
    # An axis points to the text that is furthest out on it.
    strongest = np.abs(texts).argmax(axis=0)
    signs = np.sign(texts[strongest, np.arange(len(s))])
    return s[:width], (axes * signs)[:, :width]


@dataclass(frozen=True, eq=False)
class Axes:
    """V in small integers: row t is `steps[t] · scale[t]`.

    A text has many terms, over which the errors of rounding average out.
    """

    steps: NDArray[np.int8]  # (terms, d): -127 to 127, or -7 to 7 in 4 bits
    scale: NDArray[np.float32]  # (terms,)
    bits: int = 8

    @classmethod
    def rounded(cls, axes: NDArray[np.float32], bits: int = 8) -> Axes:
        """Each term's row rounded to steps; in 4 bits, at the best of three scales.

        >>> axes = Axes.rounded(np.array([[0.5, -1.0], [0.0, 0.0]], np.float32))
        >>> axes.steps.tolist(), np.round(axes.matrix, 2).tolist()
        ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
        """
        most = 2 ** (bits - 1) - 1
        largest = np.abs(axes).max(axis=1)  # (terms,)
        size = np.sqrt((axes**2).mean(axis=1))
        widest = [largest] if bits == 8 else [np.minimum(size * clip, largest) for clip in CLIPS]
        tried = [cls._at(axes, wide / most, bits) for wide in widest]
        error = np.stack([((one.matrix - axes) ** 2).sum(axis=1) for one in tried])
        best, term = error.argmin(axis=0), np.arange(len(axes))
        steps = np.stack([one.steps for one in tried])[best, term]
        return cls(steps, np.stack([one.scale for one in tried])[best, term], bits)

    @classmethod
    def _at(cls, axes: NDArray[np.float32], scale: NDArray[np.float32], bits: int) -> Axes:
        most = 2 ** (bits - 1) - 1
        scale = np.where(scale > 0, scale, 1).astype(np.float32)
        steps = np.clip(np.round(axes / scale[:, None]), -most, most)
        return cls(steps.astype(np.int8), scale, bits)

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """(terms, d)."""
        return self.steps * self.scale[:, None]

    def times(self, weights: Float32, terms: NDArray[np.intp]) -> Float32:
        """(t, m): the rows of these terms (t,) times the weights (d, m)."""
        product = np.empty((len(terms), weights.shape[1]), dtype=np.float32)
        for start in range(0, len(terms), _CHUNK):
            some = terms[start : start + _CHUNK]
            steps = self.steps[some].astype(np.float32)
            product[start : start + _CHUNK] = (steps @ weights) * self.scale[some, None]
        return product

    @property
    def width(self) -> int:
        """d."""
        return int(self.steps.shape[1])

    def state(self) -> State:
        """Steps of 4 bits two in a byte."""
        packed: NDArray[np.generic] = self.steps
        if self.bits == 4:
            even = np.zeros((len(self.steps), self.width + self.width % 2), dtype=np.uint8)
            even[:, : self.width] = self.steps + 8
            packed = even[:, ::2] | even[:, 1::2] << 4
        return {"width": self.width, "bits": self.bits, "packed": packed, "scale": self.scale}

    @classmethod
    def from_state(cls, state: State, terms: int) -> Axes:
        """What `state` gave, checked against the number of terms."""
        width, bits, packed, scale = (state[key] for key in ("width", "bits", "packed", "scale"))
        kind, wide = {8: (np.int8, width), 4: (np.uint8, (width + 1) // 2)}[bits]
        sound = packed.dtype == kind and packed.shape == (terms, wide) and width > 0
        if not sound or scale.dtype != np.float32 or scale.shape != (terms,):
            raise ValueError("the axes of lsa do not fit its terms")
        if not np.isfinite(scale).all():
            raise ValueError("the axes of lsa are not finite")
        if bits == 8:
            return cls(packed, scale, bits)
        steps = np.empty((terms, 2 * wide), dtype=np.int8)
        steps[:, ::2] = (packed & 15).astype(np.int8) - 8
        steps[:, 1::2] = (packed >> 4).astype(np.int8) - 8
        return cls(np.ascontiguousarray(steps[:, :width]), scale, bits)


@dataclass(frozen=True, eq=False)
class Projected:
    """(n, d): `rows @ axes * scale - shift`. Numbers are taken from it, and it is multiplied, as if it were an array.

    >>> axes = Axes.rounded(np.array([[0.5, -1.0], [1.0, 0.0], [0.0, 2.0]], np.float32))
    >>> x = Projected(csr_matrix(np.array([[1, 0, 0], [0, 2, 1]], np.float32)), axes)
    >>> np.round(x.multiplied, 1).tolist(), x.shape, x[np.array([1])].shape
    ([[0.5, -1.0], [2.0, 2.0]], (2, 2), (1, 2))
    >>> moved, weights = (x - np.ones(2, np.float32)) * 2, np.array([[1.0], [3.0]], np.float32)
    >>> np.round(moved @ weights, 1).tolist(), np.round(moved.multiplied @ weights, 1).tolist()
    ([[-13.0], [8.0]], [[-13.0], [8.0]])
    """

    rows: csr_matrix  # (n, t)
    axes: Axes  # (t, d)
    scale: float = 1.0
    shift: Float32 | None = None  # (d,); None: zeros

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return int(self.rows.shape[0]), self.axes.width

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def multiplied(self) -> Float32:
        """(n, d): as an array."""
        values: Float32 = self.rows @ self.axes.matrix
        if self.scale != 1:
            values *= np.float32(self.scale)
        return values if self.shift is None else values - self.shift

    @property
    def finite(self) -> NDArray[np.bool_]:
        """(n,): rows without NaN and infinity; axes have none."""
        odd = np.flatnonzero(~np.isfinite(self.rows.data))
        good = np.ones(len(self), dtype=np.bool_)
        good[np.searchsorted(self.rows.indptr, odd, side="right") - 1] = False
        return good

    def __getitem__(self, rows: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Projected:
        return replace(self, rows=self.rows[rows])

    def __sub__(self, shift: Float32) -> Projected:
        return replace(self, shift=shift if self.shift is None else self.shift + shift)

    def __mul__(self, scale: float) -> Projected:
        shift = None if self.shift is None else self.shift * np.float32(scale)
        return replace(self, scale=self.scale * scale, shift=shift)

    def __matmul__(self, weights: Float32) -> Float32:
        """(n, m), of weights (d, m)."""
        used = np.flatnonzero(np.bincount(self.rows.indices, minlength=self.rows.shape[1]))
        terms = np.zeros((self.rows.shape[1], weights.shape[1]), dtype=np.float32)
        terms[used] = self.axes.times(weights * np.float32(self.scale), used)
        values: Float32 = self.rows @ terms
        return values if self.shift is None else values - self.shift @ weights
