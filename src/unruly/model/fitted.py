"""A fitted model: all that its file keeps, how it predicts (also rows without text), and the training documents nearest to a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.features.stack import Encoding
from unruly.learner import Decider, Heads, Learner
from unruly.ledger import Ledger, Use
from unruly.model.inputs import (
    Documents,
    Labels,
    aligned,
    check_rows,
    corpus_gold,
    labels_of,
    silence,
)
from unruly.model.predictions import Predictions
from unruly.model.saved_rules import SavedRules
from unruly.model.summary import FitSummary
from unruly.prior import StatedBalance
from unruly.progress import SILENT, Progress
from unruly.rules.sources import Sources
from unruly.settings import MethodSettings
from unruly.texts.columns import UNKNOWN, remembered
from unruly.texts.columns import without_text as blank
from unruly.texts.corpus import Corpus, digest_numbers, text_digests
from unruly.votes.votes import Votes, is_table
from unruly.wording import shortened

if TYPE_CHECKING:
    from unruly.features.cache import FeatureCache
    from unruly.labelling.answers import Labelled
    from unruly.model.evaluation import Evaluation


_IN_ONE_THREAD = frozenset(("lsa", "static"))  # encoders that work in the thread that asks them
SNIPPET = 160  # characters of a text that are kept


@dataclass(frozen=True, eq=False)
class Fitted:
    """All that a model is after fitting. Immutable; `storage` writes and reads it."""

    learner: Learner
    settings: MethodSettings
    seed: int
    stated: StatedBalance | None  # the class balance that the user stated
    numbered: bool  # classes go by number: only a matrix of votes was given
    blocks: tuple[tuple[str, int], ...]  # name and width of each block of features
    encoder: Encoding | None  # None when features were given
    rules: SavedRules | None  # None when only votes were given
    summary: FitSummary
    neighbourhood: Neighbourhood
    digests: NDArray[np.uint64]  # of the training documents, sorted
    labels: TrainedLabels  # people's, of some training documents
    majority: tuple[
        float, ...
    ]  # the share of the training documents that each class wins by majority vote
    text_column: str | None = None  # that the training texts stood in, where known
    id_column: str | None = None  # that their ids stood in; None: rows were numbered
    feature_names: tuple[str, ...] | None = None  # the columns of a frame of features

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names, in the order of the probabilities."""
        return self.learner.classes

    @property
    def sources(self) -> tuple[str, ...]:
        """Source names, in the order of the votes' columns."""
        return self.learner.sources

    @property
    def method(self) -> str:
        """The method that trained it."""
        return self.summary.method

    @property
    def ledger(self) -> Ledger:
        """What true labels were used for."""
        return self.summary.ledger

    @property
    def commonest(self) -> int:
        """The class that wins most documents: majority vote's answer where no source votes."""
        return int(np.argmax(self.majority))

    @property
    def shares(self) -> NDArray[np.float32]:
        """(m,): the class shares of the fit; of majority vote where the method uses none."""
        return class_shares(self.learner, self.majority)

    @property
    def width(self) -> int:
        """How many features a document has."""
        return sum(width for _, width in self.blocks)

    @property
    def concurrent(self) -> bool:
        """Whether threads that predict at once gain by it: not where rules run in Python, or encoders have threads."""
        rules = () if self.rules is None else self.rules.sources.sources
        if self.encoder is None or any(source.needs(self.classes).measures for source in rules):
            return False
        return all(encoder.kind in _IN_ONE_THREAD for encoder in self.encoder.stack.encoders)

    def documents(self, given: object) -> Documents:
        """Documents as a user gives them, the texts in the column of the training texts where there is one."""
        return Documents.of(given, remembered(self.text_column))

    @property
    def rule_sources(self) -> Sources | None:
        """The rules that it carries; None when only votes were given."""
        return None if self.rules is None else self.rules.sources

    def features(
        self,
        documents: Documents,
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
        *,
        fitting: bool = True,
    ) -> Features:
        """Features of new documents, made as those of the training documents were."""
        given = documents.features
        if given is None:
            if self.encoder is None:
                raise InputError(
                    "this model was fitted on features, not on texts: give it features of the same kind"
                )
            assert documents.corpus is not None
            given = self.encoder.features(documents.corpus, cache, progress, fitting=fitting)
        if given.width != self.width:
            by = f" ({self.encoder.name} gives them)" if self.encoder else ""
            raise InputError(
                f"X has {given.width} features, but WeakClassifier is expecting {self.width} features as input{by}: "
                "give those that it was fitted on"
            )
        self._check_names(documents.columns)
        return given

    def _check_names(self, found: tuple[str, ...] | None) -> None:
        """Refuse a frame of features with other columns, or in another order."""
        names = self.feature_names
        if names is None or found is None or names == found:
            return
        j = next(j for j, (a, b) in enumerate(zip(names, found, strict=True)) if a != b)
        raise InputError(
            f"The feature names should match those that were passed during fit: column {j} is {found[j]!r}, and was "
            f"{names[j]!r}: give the same columns in the same order"
        )

    def votes(
        self, documents: Documents, given: object = None, progress: Progress = SILENT
    ) -> Votes:
        """The votes on new documents: as given, else by the model's own rules, else none."""
        cast = self._named_votes(documents, given)
        return votes_on(documents, cast, self.rules, self.classes, self.sources, progress)

    def _named_votes(self, documents: Documents, votes: object) -> Votes | None:
        """Votes on new documents, with the model's names when only a matrix is given."""
        if votes is None or isinstance(votes, Votes):
            return votes
        if is_table(votes):
            return Votes.from_array(votes, classes=self.classes)  # type: ignore[arg-type]
        array = np.asarray(votes)
        if array.ndim == 1 and documents.n == 1:
            array = array[None, :]
        if array.ndim != 2 or array.shape[1] != len(self.sources):
            raise InputError(
                f"votes must be a matrix with one column for each of the {len(self.sources)} sources, "
                f"not of shape {array.shape}"
            )
        ids = documents.ids if len(array) == documents.n else None  # else refused, with both counts
        return Votes.from_array(array, classes=self.classes, sources=self.sources, ids=ids)

    def gold(self, documents: Documents, y: Labels | None) -> NDArray[np.int64]:
        """(n,): the gold labels given, or those of the corpus; -1 where unknown, refused where all are."""
        if y is None:
            gold = corpus_gold(documents.corpus, self.classes, self.numbered)
        else:
            gold = labels_of(y, self.classes, documents.ids, "gold labels")
        if not (gold >= 0).any():
            raise InputError("no document has a gold label: there is nothing to score against")
        return gold

    def vote_agreement(
        self, documents: Documents, votes: object, cache: FeatureCache | None = None
    ) -> float:
        """The share of the votes cast that name the class which the classifier predicts from features."""
        cast = self.votes(documents, votes)
        heads = self.learner.heads(self.features(documents, cache, fitting=False), cast)
        predicted = heads.classifier.argmax(axis=1)  # (n,)
        if not cast.covered.any():
            raise InputError("none of these documents has a vote: there is nothing to agree with")
        return float(cast.agrees(predicted)[cast.voted].mean())

    def predictions(
        self,
        documents: Documents,
        given: object = None,
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
    ) -> Predictions:
        """Labels, probabilities, deciding heads and votes for these documents."""
        seen = self.inputs(documents, given, cache, progress, fitting=False)
        return Predictions(seen.heads(self.learner, self.shares), seen.votes)

    def inputs(
        self,
        documents: Documents,
        given: object = None,
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
        *,
        fitting: bool = True,
    ) -> ModelInputs:
        """These documents as the learner sees them."""
        votes = self.votes(documents, given, progress)
        features = self.features(documents, cache, progress, fitting=fitting)
        return ModelInputs(features, votes, without_text(documents))

    def check(self) -> None:
        """Predict blank documents, one for each class: raises where the parts of a model do not fit together."""
        m, k, d = len(self.classes), len(self.sources), self.width
        blank = Features.from_array(np.zeros((m, d), dtype=np.float32))
        cast = np.repeat(np.arange(m, dtype=np.int64)[:, None], k, axis=1)  # all sources agree
        votes = Votes.from_array(cast, classes=self.classes, sources=self.sources)
        heads = self.learner.heads(blank, votes)
        shapes = (heads.combined.shape, heads.conditional.shape, self.learner.reliability.shape)
        if shapes != ((m, m), (m, k), (k,)) or not np.isfinite(heads.combined).all():
            raise ValueError("the learner does not answer for these classes and sources")
        sound = len(self.majority) == m and all(0 <= share <= 1 for share in self.majority)
        if not sound or self.digests.dtype != np.uint64:
            raise ValueError("the shares of majority vote or the digests are not as they should be")
        self.neighbourhood.check(d, m, k)
        self.labels.check(m)
        if not all(isinstance(name, str | None) for name in (self.text_column, self.id_column)):
            raise ValueError("text_column and id_column must be names, or null")
        named = self.feature_names or ("",) * d
        if len(named) != d or not all(isinstance(name, str) for name in named):
            raise ValueError("feature_names must be a name for each feature, or null")
        str(self.summary)  # can it be shown?

    def evaluate(
        self, documents: Documents, answers: Predictions, gold: NDArray[np.int64], origin: str
    ) -> Evaluation:
        """Score the answers to these documents against gold labels (-1: unknown), which come from `origin`."""
        from unruly.model.evaluation import evaluate

        return evaluate(
            answers.heads,
            answers.votes,
            gold,
            ledger=self.ledger.add(Use.SCORING, int((gold >= 0).sum()), origin),
            commonest=self.commonest,
            repeats=repeated(digests_of(documents), self.digests) & ~without_text(documents),
            shares=self.summary.shares,
        )


def votes_on(
    documents: Documents,
    given: Votes | None,
    rules: SavedRules | None,
    classes: tuple[str, ...],
    sources: tuple[str, ...],
    progress: Progress,
) -> Votes:
    """Votes with these classes and sources: as given, else by the rules, else none."""
    if given is not None:
        check_rows(documents, given)
    elif rules is not None and documents.corpus is not None:
        given = rules.vote(documents.corpus, progress)
    else:
        return silence(documents.ids, classes, sources)
    return aligned(given, classes, sources)


def without_text(documents: Documents) -> NDArray[np.bool_]:
    """(n,): the documents whose text is blank."""
    if documents.corpus is None:
        return np.zeros(len(documents.ids), dtype=np.bool_)
    return blank(documents.corpus.texts).to_numpy()


def class_shares(learner: Learner, majority: Sequence[float]) -> NDArray[np.float32]:
    """(m,): the class shares that the learner used or, where it uses none, those of majority vote."""
    used = majority if learner.balance is None else learner.balance.shares
    return np.array(used, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class ModelInputs:
    """Documents as a learner sees them: the features, the votes, and which texts are blank."""

    features: Features
    votes: Votes
    blank: NDArray[np.bool_]  # (n,)

    def take(self, rows: NDArray[np.intp]) -> ModelInputs:
        """Some of the documents only."""
        return ModelInputs(self.features.take(rows), self.votes.take(rows), self.blank[rows])

    def heads(self, learner: Learner, shares: NDArray[np.float32]) -> Heads:
        """What both heads predict; without a text and votes, the class shares (m,)."""
        heads = learner.heads(self.features, self.votes)
        unknown = self.blank & ~self.votes.covered  # (n,)
        if not unknown.any():
            return heads
        return replace(
            heads,
            classifier=np.where(unknown[:, None], shares, heads.classifier),
            combined=np.where(unknown[:, None], shares, heads.combined),
            decided_by=np.where(unknown, Decider.PRIOR, heads.decided_by).astype(np.int8),
        )


def digests_of(documents: Documents) -> NDArray[np.uint64]:
    """(n,): a hash of each document's text, or of its features."""
    if documents.corpus is not None:
        return text_digests(documents.corpus.texts.to_list())
    assert documents.features is not None
    return row_digests(documents.features.matrix())


def plain_ids(ids: pl.Series) -> tuple[object, ...]:
    """Ids as JSON can hold them: numbers and strings as they are, all else as strings."""
    return tuple(value if isinstance(value, int | str) else str(value) for value in ids.to_list())


def row_digests(features: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(n,): a digest of each row of features, where there are no texts."""
    return digest_numbers(row.tobytes() for row in np.ascontiguousarray(features, dtype=np.float32))


def repeated(digests: NDArray[np.uint64], training: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """(n,): which of the digests are among those of the training documents."""
    return np.asarray(np.isin(digests, training))


@dataclass(frozen=True, eq=False)
class TrainedLabels:
    """The labels that a model was trained on, each with the digest of its document: which they were, and no text."""

    digests: NDArray[np.uint64]  # (l,)
    numbers: NDArray[np.int16]  # (l,): their classes
    weights: NDArray[np.float64]  # (l,): as `Labelled` has them

    @classmethod
    def of(cls, labels: Labelled | None, digests: NDArray[np.uint64]) -> TrainedLabels:
        """Those of documents with these digests (n,)."""
        if labels is None:
            return cls(np.empty(0, np.uint64), np.empty(0, np.int16), np.empty(0))
        rows = np.flatnonzero(labels.numbers != UNKNOWN)
        return cls(digests[rows], labels.numbers[rows].astype(np.int16), labels.weights[rows])

    def __len__(self) -> int:
        return len(self.digests)

    def check(self, m: int) -> None:
        """Raise where they are not labels of so many classes."""
        kinds = (self.digests.dtype.name, self.numbers.dtype.name, self.weights.dtype.name)
        if kinds != ("uint64", "int16", "float64"):
            raise ValueError("the labels that it was trained on are not as they should be")
        if not self.digests.shape == self.numbers.shape == self.weights.shape == (len(self),):
            raise ValueError("the labels that it was trained on are not one for each document")
        known = (self.numbers >= 0) & (self.numbers < m)
        if not known.all() or not np.isfinite(self.weights).all() or (self.weights < 0).any():
            raise ValueError("the labels that it was trained on name classes that are not there")

    def among(self, digests: NDArray[np.uint64], numbers: NDArray[np.int64]) -> Labelled:
        """The same labels on documents with these digests (n,), which now have the labels `numbers` (n,).

        A text that occurs several times has as many labels as before: on the documents that have them now, if any.
        """
        from unruly.labelling.answers import Labelled  # what predicts does without it

        found, weights = np.full(len(digests), UNKNOWN), np.zeros(len(digests))
        places: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero(np.isin(digests, self.digests)).tolist():
            places[int(digests[row])].append(row)
        for own, number, weight in zip(self.digests, self.numbers, self.weights, strict=True):
            if rows := places[int(own)]:
                likely = sorted(rows, key=lambda row: int(numbers[row] == UNKNOWN))
                row = next((row for row in likely if numbers[row] == number), likely[0])
                rows.remove(row)
                found[row], weights[row] = number, weight
        return Labelled(found, weights, found != UNKNOWN, ())


@dataclass(frozen=True)
class Neighbour:
    """One training document, and how near it is."""

    id: object
    similarity: float  # cosine of the features, at most 1
    text: str | None  # its beginning, where texts are kept
    label: str  # as predicted
    votes: tuple[tuple[str, str], ...]  # (source, class or classes) for each vote on it

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "votes": dict(self.votes)}


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Up to so many training documents: unit-length features in half precision, ids and beginnings."""

    directions: NDArray[np.float16]  # (s, d)
    votes: NDArray[np.int8]  # (s, k)
    sets: Mapping[int, NDArray[np.bool_]]  # source -> (s, m): the classes of its partial votes
    labels: NDArray[np.int16]  # (s,): as predicted
    ids: tuple[object, ...]
    snippets: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.ids)

    def check(self, d: int, m: int, k: int) -> None:
        """Raise where it is not of so many features, classes and sources."""
        s = len(self.ids)
        shapes = (self.directions.shape, self.votes.shape, self.labels.shape)
        snippets = self.ids if self.snippets is None else self.snippets
        sound = shapes == ((s, d), (s, k), (s,)) and len(snippets) == s
        kinds = (self.directions.dtype.kind, self.votes.dtype.kind, self.labels.dtype.kind)
        if not sound or kinds != ("f", "i", "i") or not np.isfinite(self.directions).all():
            raise ValueError("the training documents kept do not fit the model")
        votes = self.votes.min(initial=-1), self.votes.max(initial=-1)
        labels = self.labels.min(initial=0), self.labels.max(initial=0)
        if votes[0] < -1 or labels[0] < 0 or max(votes[1], labels[1]) >= m:
            raise ValueError("the training documents kept name classes that are not there")
        if not all(isinstance(part, str) for part in self.snippets or ()):
            raise ValueError("the beginnings of the training documents are not texts")
        if len({str(own) for own in self.ids}) < s:
            raise ValueError("the training documents kept have an id twice")
        if any(not 0 <= j < k or part.shape != (s, m) for j, part in self.sets.items()):
            raise ValueError("the partial votes of the training documents do not fit the model")

    def as_votes(self, classes: tuple[str, ...], sources: tuple[str, ...]) -> Votes:
        """The votes on these documents, partial votes with all their classes."""
        matrix = self.votes.reshape(len(self), len(sources))
        ids = [str(own) for own in self.ids]
        votes = Votes.from_array(matrix, classes=classes, sources=sources, ids=ids)
        return replace(votes, soft={sources[j]: self._shares(j) for j in self.sets})

    def _shares(self, j: int) -> NDArray[np.float32]:
        """(s, m): each vote of a source in equal shares for its classes; 0 where it abstains."""
        sets, column = self.sets[j], self.votes[:, j]
        single = column[:, None] == np.arange(sets.shape[1])  # (s, m)
        named = np.where(sets.any(axis=1, keepdims=True), sets, single)
        size = np.maximum(named.sum(axis=1, keepdims=True), 1)  # (s, 1)
        return np.asarray(named / size, dtype=np.float32)

    def place(self, corpus: Corpus | None) -> int | None:
        """Where the first of these documents is among the training documents, by its id and the beginning of its text."""
        if corpus is None or self.snippets is None or not len(corpus):
            return None
        own, text = str(corpus.ids[0]), shortened(corpus.texts[0], SNIPPET)
        pairs = zip(map(str, self.ids), self.snippets, strict=True)
        return next((row for row, pair in enumerate(pairs) if pair == (own, text)), None)

    def nearest(
        self,
        features: NDArray[np.float32],  # (d,): one document
        classes: tuple[str, ...],
        sources: tuple[str, ...],
        count: int = 5,
        *,
        itself: int | None = None,
    ) -> tuple[Neighbour, ...]:
        """The training documents whose features point the same way, nearest first, without `itself`; none for zeros."""
        direction = unit_length(features[None, :])[0]  # (d,)
        if not direction.any():
            return ()
        cosine = self.directions.astype(np.float32) @ direction  # (s,)
        order = np.argsort(-cosine, kind="stable")
        best = order[order != (-1 if itself is None else itself)][:count]
        votes = self.as_votes(classes, sources)
        return tuple(
            Neighbour(
                id=self.ids[row],
                similarity=float(min(1.0, round(float(cosine[row]), 3))),
                text=self.snippets[row] if self.snippets is not None else None,
                label=classes[self.labels[row]],
                votes=tuple(
                    (sources[j], votes.label(row, j))
                    for j in np.flatnonzero(votes.voted[row]).tolist()
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
