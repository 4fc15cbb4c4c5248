"""A sample of the training documents, kept small, to show which of them a new one resembles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SNIPPET = 160  # characters of a text that are kept


@dataclass(frozen=True)
class Neighbour:
    """One training document, and how near it is."""

    id: object
    similarity: float  # cosine of the features, at most 1
    text: str | None  # its beginning, where texts are kept
    label: str  # what the model says of it
    votes: tuple[tuple[str, str], ...]  # (source, class) for each vote on it

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "id": self.id,
            "similarity": self.similarity,
            "text": self.text,
            "label": self.label,
            "votes": dict(self.votes),
        }


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Up to so many training documents: unit-length features in half precision, ids and beginnings."""

    directions: NDArray[np.float16]  # (s, d)
    votes: NDArray[np.int8]  # (s, k)
    labels: NDArray[np.int16]  # (s,): the model's own answers
    ids: tuple[object, ...]
    snippets: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.ids)

    def check(self, d: int, m: int, k: int) -> None:
        """Raise where it is not of so many features, classes and sources."""
        s = len(self.ids)
        shapes = (self.directions.shape, self.votes.shape, self.labels.shape)
        sound = shapes == ((s, d), (s, k), (s,)) and len(self.snippets or self.ids) == s
        kinds = (self.directions.dtype.kind, self.votes.dtype.kind, self.labels.dtype.kind)
        if not sound or kinds != ("f", "i", "i") or not np.isfinite(self.directions).all():
            raise ValueError("the training documents kept do not fit the model")
        if s and not (-1 <= self.votes.min(initial=-1) <= self.votes.max(initial=-1) < m):
            raise ValueError(
                "the training documents kept have votes for classes that are not there"
            )
        if s and not (0 <= self.labels.min() <= self.labels.max() < m):
            raise ValueError("the training documents kept have labels that are not there")

    def nearest(
        self,
        features: NDArray[np.float32],  # (d,): one document
        classes: tuple[str, ...],
        sources: tuple[str, ...],
        count: int = 5,
    ) -> tuple[Neighbour, ...]:
        """The training documents whose features point the same way, nearest first; none for zeros."""
        direction = unit_length(features[None, :])[0]  # (d,)
        if not direction.any():
            return ()
        cosine = self.directions.astype(np.float32) @ direction  # (s,)
        best = np.argsort(-cosine, kind="stable")[:count]
        return tuple(
            Neighbour(
                id=self.ids[row],
                similarity=float(min(1.0, round(float(cosine[row]), 3))),
                text=self.snippets[row] if self.snippets is not None else None,
                label=classes[self.labels[row]],
                votes=tuple(
                    (sources[j], classes[self.votes[row, j]])
                    for j in np.flatnonzero(self.votes[row] >= 0)
                ),
            )
            for row in best
        )


def unit_length(features: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """(n, d): every row scaled to length 1; a row of zeros stays.

    >>> unit_length(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    values = np.asarray(features, dtype=np.float32)
    length = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(length > 0, length, 1), dtype=np.float32)
