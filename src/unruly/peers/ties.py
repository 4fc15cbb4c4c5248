"""Ties between classes, drawn by the seed: whoever takes the first of equals would favour one class.

It matters most where there are no votes. Under an even prior such documents are a tie of all classes,
and with class 0 for all of them a label model is as good as class 0 is common.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from unruly.peers.system import Proba

TIE = 1e-6  # what the drawn class gets on top
_NEAR = 1e-9  # probabilities no further apart than this are equal


def settled(proba: Proba, texts: Iterable[str], seed: int) -> Proba:
    """(n, m): the same, with one of the likeliest classes a little ahead in each row.

    Drawn by text and seed, so that the order of documents does not matter and equal texts fare alike.

    >>> settled(np.array([[0.5, 0.5], [0.9, 0.1]]), ["first text", "second"], seed=0).round(
    ...     3
    ... ).tolist()
    [[0.5, 0.5], [0.9, 0.1]]
    >>> ties = settled(np.full((1000, 2), 0.5), map(str, range(1000)), seed=0)
    >>> 450 < ties.argmax(axis=1).sum() < 550
    np.True_
    """
    leading = proba >= proba.max(axis=1, keepdims=True, initial=0) - _NEAR  # (n, m)
    tied = leading.sum(axis=1) > 1
    if not tied.any():
        return proba
    fair = proba.copy()
    for row, text in enumerate(texts):
        if tied[row]:
            among = np.flatnonzero(leading[row])
            fair[row, among[_draw(text, seed) % len(among)]] += TIE
    fair[tied] /= fair[tied].sum(axis=1, keepdims=True)
    return fair


def _draw(text: str, seed: int) -> int:
    key = seed.to_bytes(8, "little", signed=True)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little")
