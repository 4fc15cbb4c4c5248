"""A model whose answers are written down, right or wrong: the page has to be true of any."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.findings import ClassBalance, Note
from unruly.labelmodels.majority_vote import commonest_class
from unruly.learner import Heads
from unruly.ledger import Ledger
from unruly.model.fitted import Fitted
from unruly.model.predictions import Predictions
from unruly.model.summary import FitSummary, SourceLine
from unruly.report.facts import Facts, gather
from unruly.report.page import page
from unruly.rules.sources import Sources
from unruly.statistics import Share
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

FILLER = ("the", "a", "to", "my", "this", "of", "video", "please", "and", "it")


def heads_of(posteriors: NDArray[np.floating], votes: Votes) -> Heads:
    """Both heads alike, and every vote on a document with the same weight."""
    given = posteriors.astype(np.float32)
    cast_ = np.maximum(votes.voted.sum(axis=1, keepdims=True), 1)
    weights = (votes.voted / cast_).astype(np.float32)
    return Heads(given, given, given, np.zeros(votes.n, dtype=np.int8), weights)


def answers_for(classes: Sequence[int], m: int, sure: float = 0.9) -> NDArray[np.float64]:
    """(n, m): these classes, each with the same confidence."""
    rest = (1 - sure) / (m - 1)
    return np.where(np.eye(m, dtype=np.bool_)[np.asarray(classes)], sure, rest)


def words(n: int) -> list[str]:
    """Texts that say nothing about their class."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(FILLER, size=6).tolist()) for _ in range(n)]


@dataclass(frozen=True, eq=False)
class Written:
    """The votes, the answers and the truth; `accuracy` is what the model believes of its sources."""

    votes: Votes
    posteriors: NDArray[np.floating]  # (n, m)
    gold: NDArray[np.int64]  # (n,)
    accuracy: Sequence[tuple[float, float, float]] | None = None
    balance: ClassBalance | None = None
    notes: tuple[Note, ...] = ()
    texts: Sequence[str] | None = None
    rules: Sources | None = None

    def facts(self, gold: bool = True) -> Facts:
        """What the report gathers, with the truth or without."""
        votes, texts = self.votes, self.texts or words(self.votes.n)
        frame = pl.DataFrame({"id": votes.ids, "text": texts})
        corpus = Corpus.from_frame(frame, text="text", id="id", name="train.csv")
        if gold:
            corpus = Corpus(
                corpus.ids,
                corpus.texts,
                corpus.columns,
                self.gold.astype(np.int16),
                "train.csv",
                votes.classes,
            )
        heads = heads_of(self.posteriors, votes)
        model = SimpleNamespace(
            classes=votes.classes,
            sources=votes.sources,
            summary=self._summary(heads),
            ledger=Ledger(),
            learner=SimpleNamespace(history=()),
            commonest=commonest_class(votes),
            rule_sources=self.rules,
            numbered=False,
            digests=np.empty(0, dtype=np.uint64),
            predictions=lambda *_: Predictions(heads, votes),
        )
        model.evaluate = partial(Fitted.evaluate, cast(Fitted, model))
        return gather("model.unruly", cast(Fitted, model), corpus)

    def page(self, gold: bool = True) -> str:
        """The page as a reader sees it: text without tags."""
        return readable(page(self.facts(gold)))

    def _summary(self, heads: Heads) -> FitSummary:
        votes = self.votes
        lines = []
        for j, name in enumerate(votes.sources):
            cast_ = votes.voted[:, j]
            borne_out = votes.matrix[cast_, j] == heads.predicted[cast_]
            agreement = float(borne_out.mean()) if cast_.any() else None
            count = int(cast_.sum())
            known = None if self.accuracy is None else Share(*self.accuracy[j], count)
            lines.append(SourceLine(name, count, count / votes.n, 1 / votes.k, agreement, known))
        return FitSummary(
            documents=votes.n,
            covered=int(votes.covered.sum()),
            classes=votes.classes,
            labels=tuple(np.bincount(heads.predicted, minlength=votes.m).tolist()),
            sources=tuple(lines),
            agreement=1.0 if votes.covered.any() else None,
            encoder="lsa",
            epochs=0,
            kept_epoch=None,
            method="default",
            balance=self.balance,
            notes=self.notes,
            ledger=Ledger(),
        )


def readable(text: str) -> str:
    """A page without its tags and its style, entities undone."""
    bare = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", bare))


def section_of(text: str, name: str) -> str:
    """One section of a page, readable."""
    found = re.search(rf'<section id="{name}">.*?</section>', text, re.DOTALL)
    assert found is not None
    return readable(found.group())
