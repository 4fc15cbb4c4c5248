"""A fitted model: everything that the file keeps, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.model.encoding import Encoding
from unruly.model.inputs import Documents, aligned, check_rows, silence
from unruly.model.learning import Prior
from unruly.model.ledger import Ledger
from unruly.model.neighbours import Neighbourhood
from unruly.model.prediction import Predictions
from unruly.model.repeats import repeated, row_digests, text_digests
from unruly.model.rulebook import RuleBook
from unruly.model.summary import FitSummary
from unruly.plural import plural
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.training.heads import Learner
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.features.cache import Cache


@dataclass(frozen=True, eq=False)
class Fitted:
    """What fitting came to. Immutable; `storage` writes it down and reads it back."""

    learner: Learner
    settings: Settings
    prior: Prior
    numbered: bool  # classes go by number: only a matrix of votes was given
    blocks: tuple[tuple[str, int], ...]  # name and width of each block of features
    encoder: Encoding | None  # None when features were given
    rules: RuleBook | None  # None when only votes were given
    ledger: Ledger
    summary: FitSummary
    neighbourhood: Neighbourhood
    digests: NDArray[np.uint64]  # of the training documents, sorted
    commonest: int  # the class with most votes: majority vote's answer where no source votes

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names, in the order of the probabilities."""
        return self.learner.classes

    @property
    def sources(self) -> tuple[str, ...]:
        """Source names, in the order of the votes' columns."""
        return self.learner.sources

    def features(
        self, documents: Documents, cache: Cache | None = None, progress: Progress = SILENT
    ) -> Features:
        """Features of new documents, made as those of the training documents were."""
        if documents.features is not None:
            return self._checked(documents.features)
        assert documents.corpus is not None
        if self.encoder is None:
            raise InputError(
                "this model was fitted on features, not on texts: give it features of the same kind"
            )
        return self.encoder.features(documents.corpus, cache, progress)

    def _checked(self, given: Features) -> Features:
        widths = sum(width for _, width in self.blocks)
        if given.width != widths:
            told = f", which {self.encoder.name} gives" if self.encoder else ""
            raise InputError(
                f"the model was fitted on {plural(widths, 'feature')} for each document{told}, not {given.width}"
            )
        return given

    def votes(
        self, documents: Documents, given: Votes | None, progress: Progress = SILENT
    ) -> Votes:
        """The votes on new documents: as given, else by the model's own rules, else none."""
        if given is not None:
            check_rows(documents, given)
            return aligned(given, self.classes, self.sources)
        if self.rules is not None and documents.corpus is not None:
            return aligned(self.rules.vote(documents.corpus, progress), self.classes, self.sources)
        return silence(documents.ids, self.classes, self.sources)

    def predictions(
        self,
        documents: Documents,
        given: Votes | None = None,
        cache: Cache | None = None,
        progress: Progress = SILENT,
    ) -> Predictions:
        """Everything that the model says of these documents."""
        votes = self.votes(documents, given, progress)
        features = self.features(documents, cache, progress)
        return Predictions(self.learner.heads(features, votes), votes)

    def repeats(self, documents: Documents) -> NDArray[np.bool_]:
        """(n,): which documents also stand among the training documents."""
        return repeated(digests_of(documents), self.digests)


def digests_of(documents: Documents) -> NDArray[np.uint64]:
    """(n,): what a document is recognised by."""
    if documents.corpus is not None:
        return text_digests(documents.corpus.texts.to_list())
    assert documents.features is not None
    return row_digests(documents.features.matrix())


def commonest_vote(votes: Votes) -> int:
    """The class with most votes, counting each document's majority once.

    >>> commonest_vote(Votes.from_array([[1, 1], [1, -1], [0, 0]]))
    1
    """
    counts = votes.counts()  # (n, m)
    top = (counts == counts.max(axis=1, keepdims=True)) & votes.covered[:, None]
    return int((top / np.maximum(top.sum(axis=1, keepdims=True), 1)).sum(axis=0).argmax())


def plain_ids(ids: pl.Series) -> tuple[object, ...]:
    """Ids as JSON can hold them: numbers and strings as they are, all else as strings."""
    return tuple(value if isinstance(value, int | str) else str(value) for value in ids.to_list())
