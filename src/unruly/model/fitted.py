"""A fitted model: everything that the file keeps, the rules and a sample of the training documents among it, and how it answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, RuleError, Where
from unruly.facts import Ledger
from unruly.features.encoder import Features, FittedSpace
from unruly.features.stack import Encoding
from unruly.learner import Heads, Learner
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
from unruly.model.saved_rules import (
    Absent,
    Allowed,
    Plainly,
    conditions_in,
    rule_from_plain,
    rule_to_plain,
)
from unruly.model.settings import MethodSettings
from unruly.model.summary import FitSummary
from unruly.prior import StatedBalance
from unruly.progress import SILENT, Progress
from unruly.rules.condition import AllOf, AnyOf, Condition, Not, Place
from unruly.rules.matching import Cache as VoteCache
from unruly.rules.prompt import Prompt
from unruly.rules.similar import Described, Similar
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus, digest_numbers, text_digests
from unruly.votes.votes import ABSTAIN, Votes

if TYPE_CHECKING:
    from unruly.features.cache import Cache


SNIPPET = 160  # characters of a text that are kept


@dataclass(frozen=True, eq=False)
class Fitted:
    """What fitting came to. Immutable; `storage` writes it down and reads it back."""

    learner: Learner
    method: str
    settings: MethodSettings
    seed: int
    stated: StatedBalance | None  # the class balance that the user stated
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
        self,
        documents: Documents,
        cache: Cache | None = None,
        progress: Progress = SILENT,
        *,
        keyed: bool = True,
    ) -> Features:
        """Features of new documents, made as those of the training documents were."""
        given = documents.features
        if given is None and self.encoder is None:
            raise InputError(
                "this model was fitted on features, not on texts: give it features of the same kind"
            )
        if given is None:
            assert documents.corpus is not None
            assert self.encoder is not None
            given = self.encoder.features(documents.corpus, cache, progress, keyed=keyed)
        widths = sum(width for _, width in self.blocks)
        if given.width != widths:
            by = f" ({self.encoder.name} gives them)" if self.encoder else ""
            raise InputError(
                f"X has {given.width} features, but WeakClassifier is expecting {widths} features as input{by}: "
                "give those that it was fitted on"
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

    def named_votes(self, documents: Documents, votes: object) -> Votes | None:
        """Votes on new documents, with the model's names when only a matrix is given."""
        if votes is None or isinstance(votes, Votes):
            return votes
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
        self, documents: Documents, votes: object, cache: Cache | None = None
    ) -> float:
        """The share of the votes cast that name the class which the classifier predicts from features."""
        cast = self.votes(documents, self.named_votes(documents, votes))
        heads = self.learner.heads(self.features(documents, cache), cast)
        predicted = heads.classifier.argmax(axis=1)  # (n,)
        if not cast.covered.any():
            raise InputError("none of these documents has a vote: there is nothing to agree with")
        return float(cast.agrees(predicted)[cast.voted].mean())

    def predictions(
        self,
        documents: Documents,
        given: Votes | None = None,
        cache: Cache | None = None,
        progress: Progress = SILENT,
    ) -> Predictions:
        """Everything that the model says of these documents."""
        votes = self.votes(documents, given, progress)
        features = self.features(documents, cache, progress, keyed=False)
        return Predictions(self.heads(documents, features, votes), votes)

    def heads(self, documents: Documents, features: Features, votes: Votes) -> Heads:
        """The answers of both heads; a document without a text or a vote gets the class shares of the training labels."""
        heads = self.learner.heads(features, votes)
        counts = np.array(self.summary.labels, dtype=np.float32)  # (m,)
        shares = np.divide(counts, max(self.summary.documents, 1), dtype=np.float32)
        return with_shares(heads, without_evidence(documents, votes), shares)

    def check(self) -> None:
        """Answer blank documents, one for each class: raises where the parts of a model do not fit together."""
        m, k, d = len(self.classes), len(self.sources), sum(width for _, width in self.blocks)
        blank = Features.from_array(np.zeros((m, d), dtype=np.float32))
        cast = np.repeat(np.arange(m, dtype=np.int64)[:, None], k, axis=1)  # all sources agree
        votes = Votes.from_array(cast, classes=self.classes, sources=self.sources)
        heads = self.learner.heads(blank, votes)
        shapes = (heads.combined.shape, heads.conditional.shape, self.learner.reliability.shape)
        if shapes != ((m, m), (m, k), (k,)) or not np.isfinite(heads.combined).all():
            raise ValueError("the learner does not answer for these classes and sources")
        if not 0 <= self.commonest < m or self.digests.dtype != np.uint64:
            raise ValueError("the commonest class or the digests are not as they should be")
        self.neighbourhood.check(d, m, k)
        str(self.summary), str(self.ledger)  # can they be shown?

    def repeats(self, documents: Documents) -> NDArray[np.bool_]:
        """(n,): which documents also stand among the training documents."""
        return repeated(digests_of(documents), self.digests)


def without_evidence(documents: Documents, votes: Votes) -> NDArray[np.bool_]:
    """(n,): the documents that have neither a text nor a vote."""
    if documents.corpus is None:
        return np.zeros(votes.n, dtype=np.bool_)
    empty = documents.corpus.texts.str.strip_chars().str.len_bytes().to_numpy() == 0
    return np.asarray(empty & ~votes.covered)


def with_shares(heads: Heads, rows: NDArray[np.bool_], shares: NDArray[np.float32]) -> Heads:
    """The same answers, with the class shares (m,) in place of those for some rows (n,)."""
    if not rows.any():
        return heads
    return replace(
        heads,
        classifier=np.where(rows[:, None], shares, heads.classifier),
        combined=np.where(rows[:, None], shares, heads.combined),
    )


def digests_of(documents: Documents) -> NDArray[np.uint64]:
    """(n,): what a document is recognised by."""
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
    """(n,): which of the digests stand among those of the training documents."""
    return np.asarray(np.isin(digests, training))


@dataclass(frozen=True)
class Neighbour:
    """One training document, and how near it is."""

    id: object
    similarity: float  # cosine of the features, at most 1
    text: str | None  # its beginning, where texts are kept
    label: str  # what the model says of it
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
        votes = self.votes.min(initial=-1), self.votes.max(initial=-1)
        labels = self.labels.min(initial=0), self.labels.max(initial=0)
        if votes[0] < -1 or labels[0] < 0 or max(votes[1], labels[1]) >= m:
            raise ValueError("the training documents kept name classes that are not there")
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


@dataclass(frozen=True)
class RuleBook:
    """Sources that vote on new documents as they did on the training documents.

    Votes that came through a cache leave it here: what was matched for fitting is not matched again.
    """

    sources: Sources
    cache: VoteCache | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, sources: Sources, keep: bool) -> RuleBook:
        """The sources, their votes kept in the user's cache or not."""
        return cls(sources, VoteCache.default() if keep else None)

    @classmethod
    def behind(cls, votes: object) -> RuleBook | None:
        """The rules behind votes that still know them, else None."""
        matcher = getattr(getattr(votes, "provenance", None), "matcher", None)
        if matcher is None:
            return None
        return cls(Sources(matcher.classes, matcher.sources), matcher.cache)

    def within(self, encoder: Encoding | None) -> RuleBook:
        """The same rules, whose comparisons of texts go by the model's encoder where it is the same as theirs."""
        if encoder is None:
            return self
        return replace(self, sources=self._with(lambda when: _with_encoder(when, encoder)))

    def with_key(self, key_env: str | None) -> Sources:
        """The sources, whose prompts find their key in this environment variable; as they are without one."""
        if key_env is None:
            return self.sources
        return self._with(lambda when: _with_key(when, key_env))

    def _with(self, changed: Callable[[Condition], Condition]) -> Sources:
        """The sources, with another condition in the place of each rule's."""
        sources = [
            Source(s.name, [replace(rule, when=changed(rule.when)) for rule in s.rules])
            for s in self.sources.sources
        ]
        return Sources(self.sources.classes, sources)

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """Each source's votes on these documents.

        A source that reads a column which these documents do not have abstains, with a warning:
        votes that a vendor gave on the training documents are not to be had for new ones.
        """
        for source in self.sources.sources:
            for one in (one for rule in source.rules for one in conditions_in(rule.when)):
                if isinstance(one, Absent):
                    raise RuleError(one.problem(source.name))
        lacking = {
            s.name: column for s in self.sources.sources if (column := _lacks(s, corpus, self))
        }
        if not lacking:
            return self.sources.vote(corpus, progress, self.cache)
        name, column = next(iter(lacking.items()))
        more = f" (and {len(lacking) - 1} other sources)" if len(lacking) > 1 else ""
        warnings.warn(
            f"the source {name!r}{more} abstains: no column {column!r} in {corpus.name}",
            stacklevel=2,
        )
        return self._vote_without(set(lacking), corpus, progress)

    def _vote_without(self, silent: set[str], corpus: Corpus, progress: Progress) -> Votes:
        names = self.sources.names
        matrix = np.full((len(corpus), len(names)), ABSTAIN, dtype=np.int8)
        voting = [source for source in self.sources.sources if source.name not in silent]
        if not voting:
            return Votes(matrix, names, tuple(self.sources.classes), corpus.ids.alias("id"))
        votes = Sources(self.sources.classes, voting).vote(corpus, progress, self.cache)
        matrix[:, [names.index(name) for name in votes.sources]] = votes.matrix
        return replace(votes, matrix=matrix, sources=names)

    def to_plain(self) -> Plainly:
        """As JSON has it; what stood in files is copied in."""
        sources = [
            {"name": source.name, "rule": [rule_to_plain(rule) for rule in source.rules]}
            for source in self.sources.sources
        ]
        return {"classes": list(self.sources.classes), "sources": sources}

    @classmethod
    def from_plain(
        cls, plain: Mapping[str, Any], allowed: Allowed, encoder: Encoding | None = None
    ) -> RuleBook:
        """Back from JSON, opening nothing but what is allowed; `encoder` is the model's."""
        space = None if encoder is None else FittedSpace(encoder.first)
        classes = tuple(plain["classes"])
        sources = []
        anywhere = Place(lambda path: Where(), classes, Path("."), files=False, space=space)
        for source in plain["sources"]:
            place = anywhere.named(Where(source=str(source["name"])))
            rules = [rule_from_plain(rule, place, allowed) for rule in source["rule"]]
            sources.append(Source(source["name"], rules))
        return cls(Sources(classes, sources))


def _lacks(source: Source, corpus: Corpus, book: RuleBook) -> str | None:
    """A column that the source reads and the documents do not have."""
    needs = source.needs(tuple(book.sources.classes))
    wanted = [*needs.columns, *(column for measure in needs.measures for column in measure.reads)]
    there = {*corpus.columns.columns, corpus.texts.name}
    return next((column for column in wanted if column not in there), None)


def _with_key(condition: Condition, key_env: str) -> Condition:
    if not isinstance(condition, Prompt):
        return condition
    return replace(condition, endpoint=replace(condition.endpoint, key_env=key_env))


def _with_encoder(condition: Condition, encoder: Encoding) -> Condition:
    """The condition with the model's encoder in place of an equal one, and all that it has learnt written out."""
    match condition:
        case AllOf(conditions=parts):
            return AllOf(tuple(_with_encoder(part, encoder) for part in parts))
        case AnyOf(conditions=parts):
            return AnyOf(tuple(_with_encoder(part, encoder) for part in parts))
        case Not(condition=part):
            return Not(_with_encoder(part, encoder))
        case Similar(space=space) | Described(space=space) if space is not None:
            if space.identity is not None and space.identity == encoder.first().identity:
                return replace(condition.resolved(), space=FittedSpace(encoder.first))
    return condition
