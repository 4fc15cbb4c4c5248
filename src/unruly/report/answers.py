"""Documents, and everything that a model says of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import Cache
from unruly.features.encoder import Features
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents, corpus_gold
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.training.heads import Heads
from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Answers:
    """n documents with their votes, what both heads say, and gold where there is any."""

    name: str  # the file's name
    texts: tuple[str, ...]
    features: Features
    votes: Votes
    heads: Heads
    gold: NDArray[np.int64] | None  # (n,): -1 where unknown; None when no document has any
    repeats: NDArray[np.bool_]  # (n,): which also stand among the training documents

    @property
    def final(self) -> NDArray[np.intp]:
        """(n,): the class that each document is given."""
        return self.heads.predicted


def answers(
    fitted: Fitted,
    corpus: Corpus,
    given: Votes | None = None,
    cache: Cache | None = None,
    progress: Progress = SILENT,
) -> Answers:
    """Take the votes as given, else by the model's own rules, and ask both heads."""
    documents = Documents.of(corpus)
    votes = fitted.votes(documents, given, progress)
    features = fitted.features(documents, cache, progress)
    return Answers(
        name=Path(corpus.name).name,
        texts=tuple(corpus.texts.to_list()),
        features=features,
        votes=votes,
        heads=fitted.learner.heads(features, votes),
        gold=gold_of(fitted, corpus),
        repeats=fitted.repeats(documents),
    )


def gold_of(fitted: Fitted, corpus: Corpus) -> NDArray[np.int64] | None:
    """(n,): the gold labels that the documents carry, None where no document has one."""
    if corpus.gold is None or not (corpus.gold >= 0).any():
        return None
    return corpus_gold(corpus, fitted.classes, fitted.numbered)
