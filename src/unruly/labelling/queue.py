"""Which documents to ask about.

    balance       for the class shares, and all else: spread over predicted classes and confidences (see `draws`)
    random        at random, each alike
    doubt         those whose two likeliest classes are nearest to each other
    source:NAME   at random among those that a source votes on, to check it
    class:NAME    at random among those that are predicted to be of a class

`balance` and `random` reach all documents, so that what they tell holds for all (see `answers`).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.denoising.balance import vote_shares
from unruly.errors import InputError
from unruly.labelling.draws import draw
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes
from unruly.wording import did_you_mean, index_of

KINDS = ("balance", "doubt", "random", "source:NAME", "class:NAME")
Proba = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Question:
    """A document to label."""

    row: int
    id: object
    probability: float | None  # with which it was drawn; None: not at random
    why: str  # how it was drawn, as labels.csv has it


@dataclass(frozen=True)
class Questions:
    """Documents to label, in the order in which to show them."""

    by: str
    items: tuple[Question, ...]

    def __iter__(self) -> Iterator[Question]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ids(self) -> list[object]:
        """The documents' ids."""
        return [question.id for question in self.items]

    @property
    def probabilities(self) -> list[float | None]:
        """With what probability each was drawn."""
        return [question.probability for question in self.items]


def ask(
    votes: Votes,
    proba: Proba | None = None,
    n: int = 20,
    by: str = "balance",
    *,
    answered: NDArray[np.bool_] | None = None,
    seed: int = 0,
    draw_name: str | None = None,
) -> Questions:
    """At most n documents that have no answer yet.

    `proba`, (n, m), is what a model says of them; without one, the shares of the votes stand for it. Chance goes
    by `seed` and how many documents are `answered`, so that draws which follow each other are independent.

    >>> votes = Votes.from_array([[0], [1], [-1], [1]], classes=["ham", "spam"], sources=["links"])
    >>> sorted(ask(votes, n=9, by="class:spam").ids)
    [1, 2, 3]
    >>> ask(votes, n=2, by="random").probabilities
    [0.5, 0.5]
    """
    if n < 1:
        raise InputError(f"{n} documents: ask for at least one")
    likely = proba if proba is not None else from_votes(votes)
    among = np.ones(votes.n, np.bool_) if answered is None else ~answered
    seed += int((~among).sum())
    kind, name = parsed_kind(by)
    chance: NDArray[np.float64] | None
    if kind == "balance":
        drawn = draw(likely, n, seed=seed, among=among)
        rows, chance = drawn.rows, drawn.probability
    elif kind == "doubt":
        rows, chance = _doubtful(likely, n, among, seed), None
    else:
        if kind == "source":
            among &= votes.matrix[:, index_of(name, votes.sources, "source")] >= 0
        elif kind == "class":
            among &= likely.argmax(axis=1) == index_of(name, votes.classes, "class")
        rows = np.random.default_rng(seed).permutation(np.flatnonzero(among))[:n]
        chance = np.full(len(rows), len(rows) / max(int(among.sum()), 1))
    why = f"{by}#{draw_name or draw_token(votes.ids, rows)}"
    return Questions(
        by,
        tuple(
            Question(
                int(row), votes.ids[int(row)], None if chance is None else float(chance[i]), why
            )
            for i, row in enumerate(rows)
        ),
    )


def parsed_kind(by: str) -> tuple[str, str]:
    """How documents are drawn, and the source or class that it names.

    >>> parsed_kind("source:links")
    ('source', 'links')
    """
    kind, _, name = by.partition(":")
    known = {one.partition(":")[0] for one in KINDS}
    if kind not in known or (kind in ("source", "class")) != bool(name):
        raise InputError(f"by = {by!r}: {did_you_mean(by, KINDS, 'must be one of')}")
    return kind, name


def from_votes(votes: Votes) -> NDArray[np.float64]:
    """(n, m): the shares of the votes on each document; those of all votes where there are none."""
    sparse = SparseVotes.of(votes)
    return sparse.shares(vote_shares(sparse))


def draw_token(ids: pl.Series, rows: NDArray[np.intp]) -> str:
    """A short name for a draw: another for other documents."""
    drawn = "\n".join(str(ids[int(row)]) for row in rows)
    return f"{zlib.crc32(drawn.encode()):08x}"


def _doubtful(proba: Proba, n: int, among: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    """Documents with the smallest lead of the likeliest class, ties by chance."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(among))
    top = np.sort(proba[rows], axis=1)
    lead = top[:, -1] - top[:, -2]
    return np.asarray(rows[np.argsort(lead, kind="stable")[:n]])
