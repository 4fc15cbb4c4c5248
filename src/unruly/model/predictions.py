"""What a model says of documents, as a table: label, confidence, probabilities, who decided, who voted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.html import html_table
from unruly.learner import BOTH, CLASSIFIER, DENOISER, Heads
from unruly.votes.votes import Votes
from unruly.wording import plural

ROWS = 10  # that a notebook shows

DECIDED = {BOTH: "both", DENOISER: "denoiser", CLASSIFIER: "classifier"}


@dataclass(frozen=True, eq=False)
class Predictions:
    """The answers for n documents, in their order.

    >>> half = np.full((1, 2), 0.5, dtype=np.float32)
    >>> sure = np.array([[0.1, 0.9]], dtype=np.float32)
    >>> heads = Heads(half, sure, sure, np.array([2], dtype=np.int8), np.zeros((1, 1)))
    >>> votes = Votes.from_array([[-1]], classes=["ham", "spam"], sources=["links"])
    >>> answers = Predictions(heads, votes)
    >>> answers.labels, answers.decided_by, answers.voters
    (['spam'], ['classifier'], [[]])
    """

    heads: Heads
    votes: Votes

    def __post_init__(self) -> None:
        if self.heads.combined.shape != (self.votes.n, self.votes.m):
            raise InputError(
                f"answers of shape {self.heads.combined.shape} do not fit votes on {self.votes.n} "
                f"documents and {self.votes.m} classes"
            )

    def __len__(self) -> int:
        return self.votes.n

    def __repr__(self) -> str:
        return f"Predictions({plural(len(self), 'document')}: {self._counts()})"

    def _repr_html_(self) -> str:
        rows = self.to_frame().head(ROWS)
        cells = (
            (row["id"], row["label"], f"{row['confidence']:.1%}", row["decided_by"], _names(row))
            for row in rows.iter_rows(named=True)
        )
        more = f", the first {ROWS}" if len(self) > ROWS else ""
        caption = f"{plural(len(self), 'document')}: {self._counts()}{more}"
        return html_table(["id", "label", "confidence", "decided by", "sources"], cells, caption)

    def _counts(self) -> str:
        counts = np.bincount(self.numbers, minlength=len(self.classes))
        return ", ".join(f"{c} {n:,}" for c, n in zip(self.classes, counts, strict=True))

    @property
    def classes(self) -> tuple[str, ...]:
        """The class names, in the order of the columns."""
        return self.votes.classes

    @property
    def ids(self) -> pl.Series:
        """The ids of the documents."""
        return self.votes.ids

    @property
    def proba(self) -> NDArray[np.float32]:
        """(n, m): the probability of each class."""
        return self.heads.combined

    @property
    def numbers(self) -> NDArray[np.intp]:
        """(n,): the likeliest class of each document, as a number."""
        return self.heads.predicted

    @property
    def labels(self) -> list[str]:
        """The likeliest class of each document, by name."""
        return [self.classes[number] for number in self.numbers]

    @property
    def confidence(self) -> NDArray[np.float32]:
        """(n,): the probability of that class."""
        return np.asarray(self.proba.max(axis=1))

    @property
    def decided_by(self) -> list[str]:
        """Which head had the last word: 'denoiser', 'classifier', or 'both' where they agree."""
        return [DECIDED[int(code)] for code in self.heads.decided_by]

    @property
    def voters(self) -> list[list[str]]:
        """The sources that voted on each document."""
        names = np.array(self.votes.sources, dtype=object)
        return [names[row].tolist() for row in self.votes.voted]

    def to_frame(self) -> pl.DataFrame:
        """One row for each document: its id, and the columns that `unruly predict` adds."""
        return self.columns().insert_column(0, self.ids.alias("id"))

    def columns(self) -> pl.DataFrame:
        """The columns that `unruly predict` adds, without the id."""
        return pl.DataFrame(
            {
                "label": pl.Series(self.labels, dtype=pl.String),
                "confidence": self.confidence,
                **{f"probability_{c}": self.proba[:, r] for r, c in enumerate(self.classes)},
                "decided_by": pl.Series(self.decided_by, dtype=pl.String),
                "sources": pl.Series(self.voters, dtype=pl.List(pl.String)),
            }
        )


def _names(row: dict[str, Any]) -> str:
    return ", ".join(row["sources"])


def added_schema(classes: Iterable[str]) -> dict[str, pl.DataType]:
    """The columns that predictions add, and their kinds.

    >>> list(added_schema(["ham"]))
    ['label', 'confidence', 'probability_ham', 'decided_by', 'sources']
    """
    return {
        "label": pl.String(),
        "confidence": pl.Float32(),
        **{f"probability_{c}": pl.Float32() for c in classes},
        "decided_by": pl.String(),
        "sources": pl.List(pl.String),
    }


def free_names(wanted: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """New names for columns, so that none of the user's own is overwritten.

    >>> free_names(["label", "confidence"], ["text", "label"])
    {'label': 'predicted_label', 'confidence': 'confidence'}
    >>> free_names(["label"], ["label", "predicted_label"])
    {'label': 'predicted_label_2'}
    """
    used, names = set(taken), {}
    for name in wanted:
        free = name if name not in used else f"predicted_{name}"
        count = 2
        while free in used:
            free = f"predicted_{name}_{count}"
            count += 1
        names[name] = free
        used.add(free)
    return names
