"""Shades of a source: its votes, told apart by the words that made it vote.

A list of keywords is one source, but "good" and "masterpiece" are not worth the same. Where the words that a source reads are
known (`features.rule_words`), its vote on a document is shared evenly among those of its words that the text holds,

    O_i,(j,w),c = O_ijc / |W_ij|,    W_ij: the words of source j in text i,    and where it holds none, to a shade with no word

so that it is still one vote, and every word gets a behaviour of its own (`source_behaviour`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

NO_WORD = -1


@dataclass(frozen=True, eq=False)
class Shades:
    """s shades of k sources: whose each is, and of which word. A source has its shades side by side, the one with no word last."""

    owner: NDArray[np.int64]  # (s,): the source, ascending
    word: NDArray[np.int64]  # (s,): the word, or NO_WORD

    @classmethod
    def plain(cls, k: int) -> Self:
        """One shade a source."""
        return cls(np.arange(k), np.full(k, NO_WORD))

    @classmethod
    def of(cls, voted: NDArray[np.bool_], holds: Any) -> Self:
        """From where the sources vote, (n, k), and which words the texts hold, sparse (n, w).

        >>> from scipy import sparse
        >>> holds = sparse.csr_array(
        ...     np.repeat(np.eye(3), 50, axis=0)
        ... )  # three words, fifty texts each
        >>> voted = np.repeat([[True, False], [True, False], [False, True]], 50, axis=0)
        >>> shades = Shades.of(voted, holds)
        >>> shades.owner.tolist(), shades.word.tolist()
        ([0, 0, 0, 1, 1], [0, 1, -1, 2, -1])
        """
        from unruly.features.rule_words import read_by

        owner, word = list[int](), list[int]()
        read = read_by(holds, voted)  # (w, k)
        for j in range(voted.shape[1]):
            own = [*np.flatnonzero(read[:, j]).tolist(), NO_WORD]
            owner += [j] * len(own)
            word += own
        return cls(np.array(owner, np.int64), np.array(word, np.int64))

    def __len__(self) -> int:
        """s."""
        return len(self.owner)

    def of_source(self, j: int) -> slice:
        """Where the shades of source j stand."""
        start, stop = np.searchsorted(self.owner, [j, j + 1])
        return slice(int(start), int(stop))

    def shares(self, j: int, holds: Any) -> Any:
        """Sparse (n, shades of j): how a vote of source j on each document is shared, from the words that the texts hold.

        >>> from scipy import sparse
        >>> shades = Shades(np.array([0, 0, 0]), np.array([0, 2, -1]))
        >>> holds = sparse.csr_array([[1, 1, 1], [1, 1, 0], [0, 1, 0]])
        >>> shades.shares(0, holds).toarray().tolist()
        [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        """
        from scipy import sparse  # not needed to load and use a model without shades

        own = sparse.csr_array(holds[:, self.word[self.of_source(j)][:-1]], dtype=np.float32)
        held = np.diff(own.indptr)  # (n,): |W_ij|
        own.data = 1 / held.repeat(held).astype(np.float32)
        none = sparse.csr_array((held == 0).astype(np.float32)[:, None])
        return sparse.hstack([own, none], format="csr", dtype=np.float32)
