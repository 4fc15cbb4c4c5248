"""Statistics that several rooms need: intervals of shares, samples of rows, and the softmax."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Float = TypeVar("Float", np.float32, np.float64)
Z95 = 1.959963984540054  # the normal distribution's 97.5 % point
# Of the errors of posteriors on documents that one rule matches. The fit (`denoising.accuracy`) adds variances for encoders, balance
# and the own vote to a smaller one; here this stands for them too: 86 % of suggestions have their true precision in the
# interval, with half of it 78 %, with double 89 % and wider ones (lab/LOG.md, 2026-11-18: one interval for a model's view).
POSTERIOR_CORRELATION = 1 / 12


@dataclass(frozen=True)
class Share:
    """A share, or the difference of two shares (from -1 to 1), with its 95 % interval."""

    value: float
    low: float
    high: float
    n: float  # documents, votes or labels that it was counted in; 0: nothing is known

    def __str__(self) -> str:
        if not self.n:
            return "no documents"
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


def ratio(part: Float64, whole: Float64, otherwise: Float64 | float) -> Float64:
    """A part divided by a whole of 0 or more, cell by cell; `otherwise` where the whole is 0.

    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]), np.nan).tolist()
    [0.5, nan]
    """
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), otherwise)


def wilson(hits: float, n: float) -> Share:
    r"""Wilson's score interval (1927), sound for small counts and for shares near 0 or 1.

        (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)

    >>> print(wilson(9, 10))
    90.0% (59.6% to 98.2%)
    """
    if n == 0:
        return Share(math.nan, 0.0, 1.0, 0)
    share, z = hits / n, Z95
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return Share(share, max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale), n)


def effective_size(n: float, correlation: float) -> float:
    """n': how many documents with independent errors tell as much as n whose errors correlate (Kish's design effect).

    No number of correlated documents makes an estimate exact: n' stays below 1 / correlation.

    >>> [round(effective_size(n, 0.03)) for n in (1, 20, 100, 10_000)]
    [1, 13, 25, 33]
    """
    return n / (1 + correlation * max(n - 1, 0.0))


def sampling_variance(share: float, n: float) -> float:
    """The variance of a share of n documents: that of a Beta(share n + 1, (1 - share) n + 1)."""
    mean = (share * n + 1) / (n + 2)
    return mean * (1 - mean) / (n + 3)


def posterior_share(mean: float, n: float, right: float = 0.0, labels: float = 0.0) -> Share:
    """A mean of a model's probabilities over n documents as a share, with what the model's own errors leave open.

    `labels` more documents have a known class, and `right` of them the one in question: they count in full, the model's
    view of the others for a few documents only.

    >>> str(posterior_share(0.8, 4)), str(posterior_share(0.8, 4000))
    ('80.0% (43.4% to 100.0%)', '80.0% (58.3% to 100.0%)')
    >>> str(posterior_share(0.8, 4000, right=0, labels=5))
    '56.4% (34.6% to 78.2%)'
    """
    if not n + labels:
        return Share(math.nan, 0.0, 1.0, 0)
    size = effective_size(n, POSTERIOR_CORRELATION)
    value = (size * mean + right) / (size + labels)
    half = Z95 * math.sqrt(sampling_variance(value, size + labels))
    return Share(value, max(value - half, 0.0), min(value + half, 1.0), n + labels)


def clopper_pearson_low(hits: float, n: float, tail: float) -> float:
    """The lower bound of Clopper and Pearson (1934) for a share, one-sided: `tail` is the probability of a smaller one.

    >>> round(clopper_pearson_low(9, 10, 0.025), 3), clopper_pearson_low(0, 0, 0.25)
    (0.555, 0.0)
    """
    from scipy.special import betaincinv

    return float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0


def clustered(share: float, spread: float, trials: int, clusters: int) -> Share:
    """A share whose trials come in clusters (the votes on one document), with Wilson's interval.

    `spread` is the sum over clusters of (successes - share × trials)²; the variance of the ratio is
    spread / trials² (the usual linearised ratio estimator). So many trials drawn alone would have that
    variance: share (1 - share) trials² / spread, at most all. Where nothing varies, each cluster counts as one.

    >>> print(
    ...     clustered(1.0, 0.0, 40, 10),
    ...     clustered(0.8, 40 * 0.16, 40, 10),
    ...     clustered(0.8, 25.6, 40, 10),
    ... )
    100.0% (72.2% to 100.0%) 80.0% (65.2% to 89.5%) 80.0% (49.0% to 94.3%)
    """
    even = share * (1 - share) * trials**2
    alone = min(even / spread, trials) if spread > 1e-9 else clusters
    return replace(wilson(share * alone, alone), n=trials)


def paired_difference(differences: Float64, weights: Float64 | None = None) -> Share:
    """The weighted mean of differences from -1 to 1 between two answers to the same documents, with its 95 % interval.

    The interval is that of Agresti and Min (2005) for matched pairs: two pairs are added, half a pair for each of the
    four outcomes, so that a few documents without a difference do not claim certainty. Weighted documents count as
    1 / Σ w² of them (Kish), with weights that sum to 1.

    >>> print(paired_difference(np.zeros(98)))  # no difference on 98 documents
    0.0% (-2.0% to 2.0%)
    """
    if not len(differences):
        return Share(math.nan, -1.0, 1.0, 0)
    w = np.ones(len(differences)) if weights is None else weights
    w = w / w.sum()
    n, mean = 1 / float(w @ w), float(np.clip(w @ differences, -1.0, 1.0))
    centre, second = n * mean / (n + 2), (n * float(w @ differences**2) + 1) / (n + 2)
    half = Z95 * math.sqrt((second - centre**2) / (n + 2))
    return Share(
        mean, max(-1.0, min(mean, centre - half)), min(1.0, max(mean, centre + half)), round(n)
    )


def sample_rows(n: int, most: int, seed: int = 0) -> NDArray[np.int64]:
    """At most `most` of n row numbers, drawn without replacement, in ascending order.

    >>> sample_rows(3, 5).tolist(), len(sample_rows(100, 5))
    ([0, 1, 2], 5)
    """
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def log_softmax(scores: NDArray[Float]) -> NDArray[Float]:
    """(..., m): the logarithms of the softmax over the last axis; no overflow, whatever the scores.

    >>> np.exp(log_softmax(np.array([1000.0, 1000.0]))).tolist()
    [0.5, 0.5]
    """
    moved: NDArray[Float] = scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)
    moved -= np.log(np.exp(moved).sum(axis=-1, keepdims=True))
    return moved


def softmax(scores: NDArray[Float]) -> NDArray[Float]:
    """(..., m): probabilities that sum to 1 along the last axis.

    >>> softmax(np.array([[1.0, 0.0], [0.0, 0.0]])).round(3).tolist()
    [[0.731, 0.269], [0.5, 0.5]]
    """
    raised: NDArray[Float] = scores - scores.max(axis=-1, keepdims=True, initial=-np.inf)
    np.exp(raised, out=raised)
    raised /= raised.sum(axis=-1, keepdims=True)
    return raised
