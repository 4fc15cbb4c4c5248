r"""New rules, ranked without gold: conditions that go with one class in the model's posteriors.

For a candidate condition that matches N documents without a label, and a class c with mean posterior u over all,

    a' = (Σ over matches of P(c | i) + 2 u) / (N + 2)           its accuracy, shrunk towards u
    N' = (N + 2) / (1 + (N + 1) / 12)                           the model's own errors do not average out
    a  = (N' a' + labels for c) / (N' + L)                      L more matches have a label, which counts in full
    strength = logit a - logit u - ½ / √((N' + L) a (1 - a))    log-odds less half a standard error
    news = matches that no rule votes on + Σ over the others of |P'(c | i) - P(c | i)|
    score = strength × log(1 + news)

where P' is the posterior after one more vote for c that is right with probability a. Texts that repeat count
once. Candidates are taken greedily: documents that a better suggestion reaches already are no news, and a class
counts the less, the more votes and the more sources there are for it. Left out are
candidates of which 85 % of the matches have a hard vote for c, or are those of better suggestions,
and what was refused. In news, documents with true labels count with these in the place of posteriors.

Posteriors come from the rules that exist, so the accuracies are the model's own view: see `docs/suggest.md` for
how often they are right. On documents without a vote that view is a guess from their words alone, so only matches with
a vote or a label are evidence of the class, E of them. The evidence is clear where

    the lower quartile (Clopper and Pearson's bound) of a share a' of E documents is above u, and above the share a' of
    every other class, with a' the mean posterior on the matches;
    at least three different texts have a vote, or a label, for c;
    no source casts 85 % of the votes for c on them, or labels speak for c: else nobody confirms that source; and
    c is commoner than u on the matches without a vote for it: there the rule makes the difference.

All others are guesses, and say so. The mark has no part in the ranking.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.learner import with_labels
from unruly.model.candidates import MOST_VALUES, find_candidates
from unruly.model.critique import (
    MOST_DOCUMENTS,
    REPEATS,
    keyword_lists,
    measured_share,
    text_numbers,
    votes_for,
)
from unruly.progress import SILENT, Progress, stage
from unruly.rules.condition import Condition, Table, spans_of
from unruly.rules.field import Field
from unruly.rules.keywords import Keywords
from unruly.rules.matching import MatchFrame
from unruly.rules.source import Rule, Source, rule_to_plain
from unruly.rules.sources import Sources
from unruly.rules.tools import Length
from unruly.statistics import (
    POSTERIOR_CORRELATION,
    Share,
    clopper_pearson_low,
    posterior_share,
    sample_rows,
)
from unruly.texts.alike import unlike_first
from unruly.texts.columns import UNKNOWN, names_classes
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import plural

SHRINK = 2.0  # documents of the usual kind that are added to each candidate's matches
CAUTION = 0.5  # standard errors that are taken off
LEAST = 0.5  # accuracy, below which nothing is suggested
QUARTILE = 0.25  # of what the accuracy may be by the evidence: this must be above chance
FEWEST = 3  # different texts with a vote for the class that is suggested
MOST_ODDS = 3.0  # the log-odds that one more vote can add
SETTLED = 0.1  # what a match with votes counts beside one without, before figures are exact
RARE = 1e-3  # the share of a class that the model knows nothing of
SHORTLIST = 8  # candidates matched exactly, for each suggestion that is asked for
SPARE = (
    5  # suggestions more than are asked for, should some not stand when they are matched exactly
)
ALMOST_ALL = 0.95  # of the documents: a column that tells their class may hold true labels
EXAMPLES = 3  # matches shown that fit, and that do not
SNIPPET = 60  # characters shown on either side of a match


@dataclass(frozen=True)
class MatchedText:
    """A document that a suggestion matches: a piece of its text, the match in brackets."""

    id: object
    text: str
    label: str  # what the model, or a true label, calls it
    probability: float  # of the suggested class

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "id": self.id if isinstance(self.id, int | str) else str(self.id)}


@dataclass(frozen=True)
class PerhapsGold:
    """A column that tells the class so well that it may hold true labels, which are no rule's business."""

    column: str
    named: bool  # whether its values are names of classes
    tells: float  # share of the documents that are of the commonest class of their value

    def __str__(self) -> str:
        why = (
            f"the values of {self.column} are names of classes"
            if self.named
            else f"{self.column} alone tells the class of {self.tells:.0%} of the documents"
        )
        return f'{why}: if it holds true labels, refuse this, and set label = "{self.column}" under [data]'


@dataclass(frozen=True)
class RuleSuggestion:
    """A rule that does not exist yet, and what speaks for it and against it."""

    kind: ClassVar[str] = "rule_suggestion"
    rule: Rule
    score: float
    documents: int  # that it matches
    uncovered: int  # of these, documents without any vote
    changed: int | None  # documents that would get another label; None where no probabilities tell
    accuracy: Share  # by the posteriors, and by labels by hand where there are any
    measured: Share | None  # by true labels alone; None where no match has one
    usual: (
        float  # the mean posterior of the class: the accuracy of a rule that matches any document
    )
    guess: bool  # whether few votes or labels speak for its class, or votes of one source alone
    fits: tuple[MatchedText, ...]  # matches that the model gives this class, the surest first
    misfits: tuple[MatchedText, ...]  # matches that it gives another class, the surest first
    perhaps_gold: PerhapsGold | None = None  # where it reads such a column

    @property
    def label(self) -> str:
        """The class that it votes for."""
        assert isinstance(self.rule.label, str)
        return self.rule.label

    @property
    def condition(self) -> str:
        """What it looks for, in words."""
        return self.rule.when.reason()

    def __repr__(self) -> str:
        return (
            f"RuleSuggestion({self.label}: {self.condition}; {plural(self.documents, 'document')}, "
            f"{self.uncovered:,} without votes, about {self.accuracy} right)"
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "kind": self.kind,
            "rule": rule_to_plain(self.rule),
            "condition": self.condition,
            "score": self.score,
            "documents": self.documents,
            "uncovered": self.uncovered,
            "changed": self.changed,
            "accuracy": vars(self.accuracy),
            "measured": None if self.measured is None else vars(self.measured),
            "usual": self.usual,
            "guess": self.guess,
            "fits": [one.to_plain() for one in self.fits],
            "misfits": [one.to_plain() for one in self.misfits],
            "perhaps_gold": None if self.perhaps_gold is None else vars(self.perhaps_gold),
        }


@dataclass(frozen=True)
class Refused:
    """A rule that somebody does not want: the class, and the condition as plain values."""

    label: str
    condition: Table

    @classmethod
    def of(cls, rule: Rule) -> Refused:
        """The refusal of a rule."""
        assert isinstance(rule.label, str)
        return cls(rule.label, rule.when.to_plain())


def suggest_rules(
    corpus: Corpus,
    votes: Votes,
    posteriors: NDArray[np.floating],  # (n, m)
    *,
    n: int = 20,
    rules: Sources | None = None,
    labels: NDArray[np.int64] | None = None,
    scored: NDArray[np.int64] | None = None,
    refused: Collection[Refused] = (),
    candidates: Sequence[Rule] | None = None,
    least: float = LEAST,
    progress: Progress = SILENT,
) -> tuple[RuleSuggestion, ...]:
    """At most n new rules, the best first; some are marked as guesses.

    `posteriors` are the model's, `labels` true classes where they are known (-1 elsewhere). `scored` are true classes
    that decide nothing: they only stand beside the estimates, as `measured`. `rules` are those that exist: their own
    words are not suggested again. `candidates` are rules of one class each that
    somebody proposes; without them, conditions are looked for in the texts.

    >>> letters = [a + b for a in "abcdef" for b in "uvwxyz"]
    >>> corpus = Corpus.from_texts([f"cheap {a}" for a in letters] + [f"song {a}" for a in letters])
    >>> votes = Votes.from_array([[-1]] * 30 + [[1]] * 12 + [[0]] * 30, classes=["ham", "spam"])
    >>> posteriors = np.array([[0.1, 0.9]] * 36 + [[0.8, 0.2]] * 36)
    >>> found = suggest_rules(corpus, votes, posteriors, n=1)
    >>> [(s.label, s.condition, s.documents, s.uncovered) for s in found]
    [('spam', 'keywords: cheap', 36, 30)]
    """
    truth = with_labels(posteriors, labels)  # (n, m)
    usual = truth.mean(axis=0) if len(truth) else np.zeros(votes.m)
    if not len(corpus):
        return ()
    with stage(progress, "looking for rules", None, "rules"):
        there = _Known.of(rules, refused)
        rows = sample_rows(len(corpus), MOST_DOCUMENTS)
        known = np.full(len(corpus), UNKNOWN) if labels is None else labels
        sample = _Documents.of(corpus.take(rows), votes.take(rows), truth[rows], usual, known[rows])
        found = (
            _shortlist(sample, n, there, least)
            if candidates is None
            else sample.matched(
                [rule for rule in candidates if not there.has(str(rule.label), rule.when)]
            )
        )
        listed = _greedy(found, sample, n + max(n // 2, SPARE), least)
        everything = _Documents.of(corpus, votes, truth, usual, known)
        figures = [everything.figures(rule, rows) for rule, rows in everything.matched(listed)]
        best = [one for one in figures if one.stands(least)][:n]  # figures are exact only now
        checked = labels if scored is None else scored
        return tuple(_suggestion(one, everything, checked) for one in best)


def _logit(p: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(p, 1e-4, 1 - 1e-4)
    return np.asarray(np.log(p) - np.log1p(-p))


def _strength(
    hits: NDArray[np.float64],
    counts: NDArray[np.float64] | float,
    usual: NDArray[np.float64],
    right: NDArray[np.float64],
    labels: NDArray[np.float64] | float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(…, m) twice: shrunk accuracies, and log-odds over the usual share less half a standard error.

    `hits` (…, m) and `counts` are of matches without a label, by the model; `right` (…, m) and `labels` of those with one.
    """
    n = counts + SHRINK
    size = n / (1 + POSTERIOR_CORRELATION * (n - 1))
    accuracy = (size * (hits + SHRINK * usual) / n + right) / (size + labels)
    accuracy = np.clip(accuracy, 1e-4, 1 - 1e-4)
    error = 1 / np.sqrt((size + labels) * accuracy * (1 - accuracy))
    return accuracy, _logit(accuracy) - _logit(usual) - CAUTION * error


@dataclass(frozen=True)
class _Known:
    """What is not suggested: the words and conditions of rules that exist, and what was refused."""

    words: frozenset[str]
    conditions: frozenset[str]
    lengths: frozenset[tuple[bool, ...]]
    refused: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, rules: Sources | None, refused: Collection[Refused]) -> _Known:
        there = () if rules is None else rules.with_disabled
        lists = () if rules is None else keyword_lists(rules)
        return cls(
            frozenset(word.lower() for *_, words in lists for word in words.words),
            frozenset(
                _key(rule.when.to_plain())
                for source in there
                for rule in source.rules
                if not rule.when.picks  # it picks the class itself, as no suggestion does
            ),
            frozenset(
                _bounds(rule.when)
                for source in there
                for rule in source.rules
                if isinstance(rule.when, Length)
            ),
            frozenset((one.label, _key(one.condition)) for one in refused),
        )

    def has(self, label: str, condition: Condition) -> bool:
        if isinstance(condition, Keywords) and self.words.issuperset(condition.words):
            return True
        if isinstance(condition, Length) and _bounds(condition) in self.lengths:
            return True
        key = _key(condition.to_plain())
        return key in self.conditions or (label, key) in self.refused


def _key(condition: Table) -> str:
    return json.dumps(condition, sort_keys=True)


@dataclass(frozen=True, eq=False)
class _Documents:
    """Documents, the votes on them, and what is believed of their classes."""

    corpus: Corpus
    votes: Votes
    truth: NDArray[np.float64]  # (n, m)
    usual: NDArray[np.float64]  # (m,)
    weight: NDArray[np.float64]  # (n,): 1, or less where the same text occurs several times
    labels: NDArray[np.int64]  # (n,): true classes, -1 where nobody knows

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        votes: Votes,
        truth: NDArray[np.float64],
        usual: NDArray[np.float64],
        labels: NDArray[np.int64],
    ) -> _Documents:
        numbers = text_numbers(corpus.texts)
        return cls(corpus, votes, truth, usual, 1 / np.bincount(numbers)[numbers], labels)

    @cached_property
    def labelled(self) -> NDArray[np.bool_]:
        """(n,): documents with a true label."""
        return np.asarray(self.labels != UNKNOWN)

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """(n, m): classes that a vote or a label names."""
        cast = [votes_for(self.votes, r).any(axis=1) for r in range(self.votes.m)]
        known = self.labels[:, None] == np.arange(self.votes.m)
        return np.asarray(np.stack(cast, axis=1) | known)

    def is_clear(self, rows: NDArray[np.intp], r: int) -> bool:
        """Whether votes and labels on these rows, and not only guesses from words, speak for class r."""
        return (
            self._speak_for(rows, r) and self._are_confirmed(rows, r) and self._reach_more(rows, r)
        )

    def _speak_for(self, rows: NDArray[np.intp], r: int) -> bool:
        """Whether class r is above chance, and above every other class, by what the votes and labels are worth."""
        named, weight = self.named[rows], self.weight[rows]  # (v, m), (v,)
        if weight[named[:, r]].sum() < FEWEST - 1e-6:
            return False
        shares = np.average(self.truth[rows], axis=0, weights=weight)  # (m,)
        rival = float(np.delete(shares, r).max())
        evidence = float(weight[named.any(axis=1)].sum())
        low = clopper_pearson_low(float(shares[r]) * evidence, evidence, QUARTILE)
        return low > max(rival, float(self.usual[r]))

    def _are_confirmed(self, rows: NDArray[np.intp], r: int) -> bool:
        """Whether more than one source casts the votes for class r, or labels speak for it."""
        cast = votes_for(self.votes.take(rows), r).sum(axis=0)  # (k,)
        known = self.weight[rows][self.labels[rows] == r].sum() > FEWEST - 1e-6
        return bool(known) or float(cast.max(initial=0)) < REPEATS * float(cast.sum())

    def _reach_more(self, rows: NDArray[np.intp], r: int) -> bool:
        """Whether class r is above chance where no rule votes for it yet: there a new rule makes the difference."""
        reached = self.truth[rows[~self.by_rules[rows, r]], r]
        return len(reached) > 0 and float(reached.mean()) > float(self.usual[r])

    @cached_property
    def firm(self) -> NDArray[np.bool_]:
        """(k,): sources that name classes; soft ones vote on every document, so they cover none and repeat no rule."""
        return np.array([not self.votes.graded(name) for name in self.votes.sources], np.bool_)

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """(n,): documents that a rule votes on."""
        return np.asarray(self.votes.voted[:, self.firm].any(axis=1))

    @cached_property
    def by_rules(self) -> NDArray[np.bool_]:
        """(n, m): the classes that the votes of rules name."""
        cast = [self.cast_for(r).any(axis=1) for r in range(self.votes.m)]
        return np.stack(cast, axis=1)

    def cast_for(self, r: int) -> NDArray[np.bool_]:
        """(n, f): where each rule votes for class r."""
        return votes_for(self.votes, r)[:, self.firm]

    def matched(self, rules: Sequence[Rule]) -> list[tuple[Rule, NDArray[np.intp]]]:
        """The rules, each with the rows that it matches."""
        if not rules:
            return []
        sources = [Source(str(i), [rule]) for i, rule in enumerate(rules)]
        cast = Sources(self.votes.classes, sources).vote(self.corpus).voted  # (n, w)
        return [(rule, np.flatnonzero(cast[:, i])) for i, rule in enumerate(rules)]

    def needs(self, cast: NDArray[np.float64], sources: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m,): how much each class needs votes; `cast` and `sources` (m,) are what it has so far.

        Sources count beside votes: one broad rule leaves a class as uncertain as it was.
        """
        m = self.votes.m
        share = (self.usual + 1 / m) / 2  # half of what is believed, half even
        few = 1 / (0.1 + cast / (share * self.votes.n))
        return np.asarray(few / (1 + sources / (share * m)))

    def figures(self, rule: Rule, rows: NDArray[np.intp]) -> _Figures:
        """What a rule would do that matches these rows."""
        r = self.votes.classes.index(str(rule.label))
        p, weight = self.truth[rows], self.weight[rows]  # (v, m), (v,)
        guessed, known = weight * ~self.labelled[rows], weight * self.labelled[rows]  # (v,)
        hits, right = guessed @ p, known @ p  # (m,)
        accuracy, strength = _strength(hits, guessed.sum(), self.usual, right, known.sum())
        after = _after(p, r, float(accuracy[r]), float(self.usual[r]))
        voted = self.by_rules[rows, r]
        moved = np.where(self.covered[rows], np.abs(after - p)[:, r], 1.0)
        return _Figures(
            rule=rule,
            number=r,
            rows=rows,
            share=posterior_share(
                float(hits[r] / max(guessed.sum(), 1e-9)),
                float(guessed.sum()),
                float(right[r]),
                float(known.sum()),
            ),
            accuracy=float(accuracy[r]),
            strength=float(strength[r]),
            news=moved * weight,
            changed=int((after.argmax(axis=1) != p.argmax(axis=1)).sum()),
            repeated=float(voted.mean()) if len(rows) else 0.0,
        )


@dataclass(frozen=True, eq=False)
class _Figures:
    """What a rule would do."""

    rule: Rule
    number: int  # of its class
    rows: NDArray[np.intp]  # (v,): that it matches
    share: Share  # of its votes that would be right, texts that repeat counted once
    accuracy: float  # the share, shrunk
    strength: float
    news: NDArray[np.float64]  # (v,): 1 where nobody votes, else how far the posterior would move
    changed: int
    repeated: float  # share of its matches that have a vote for its class already

    @property
    def score(self) -> float:
        """Its strength times the logarithm of its news."""
        return self.strength * float(np.log1p(self.news.sum()))

    def stands(self, least: float) -> bool:
        """Whether it is good enough, and says something new."""
        good = len(self.rows) > 0 and self.strength > 0 and self.accuracy >= least
        return good and self.repeated < REPEATS


def _after(p: NDArray[np.float64], r: int, accuracy: float, usual: float) -> NDArray[np.float64]:
    """(v, m): the posteriors after one more vote for class r."""
    theta = float(_logit(np.array(accuracy)) - _logit(np.array(usual)))
    after = p.copy()
    after[:, r] *= np.exp(np.clip(theta, 0, MOST_ODDS))
    return np.asarray(after / np.maximum(after.sum(axis=1, keepdims=True), 1e-12))


def _shortlist(
    documents: _Documents, n: int, known: _Known, least: float
) -> list[tuple[Rule, NDArray[np.intp]]]:
    """The best candidates of each class, as rules, with the rows that they are thought to match."""
    candidates = find_candidates(documents.corpus, documents.truth)
    found, weight, votes = candidates.found, documents.weight, documents.votes  # (n, w), (n,)
    parts = [weight * ~documents.labelled, weight * documents.labelled]  # (n,) twice
    (counts, hits), (labels, right) = (
        (found.T @ part[:, None], np.asarray(found.T @ (documents.truth * part[:, None])))
        for part in parts
    )  # (w, 1), (w, m)
    accuracy, strength = _strength(hits, counts, documents.usual, right, labels)
    news = np.asarray(found.T @ np.where(documents.covered, SETTLED * weight, weight)).ravel()
    score = strength * np.log1p(news)[:, None]  # (w, m)
    score[(strength <= 0) | (accuracy < least) | (documents.usual < RARE)[None, :]] = 0
    listed: list[tuple[Rule, NDArray[np.intp]]] = []
    for r, label in enumerate(votes.classes):
        best = np.argsort(-score[:, r], kind="stable")
        made = ((w, candidates.condition(w)) for w in best[score[best, r] > 0].tolist())
        new = (
            (Rule(label, condition), candidates.rows(w))
            for w, condition in made
            if not known.has(label, condition)
        )
        listed += itertools.islice(new, max(1, SHORTLIST * n // votes.m))
    return listed


def _greedy(
    listed: list[tuple[Rule, NDArray[np.intp]]], documents: _Documents, n: int, least: float
) -> list[Rule]:
    """The best, then the best of what is still news, and so on; classes with few votes come first."""
    votes = documents.votes
    left = [documents.figures(rule, rows) for rule, rows in listed]
    left = [one for one in left if one.stands(least)]
    fresh, chosen = np.ones(votes.n), list[Rule]()
    named = [documents.cast_for(r) for r in range(votes.m)]  # (n, f) for each class
    cast = np.array([one.sum() for one in named], np.float64)  # (m,)
    sources = np.array([one.any(axis=0).sum() for one in named], np.float64)  # (m,)
    while left and len(chosen) < n:
        needs = documents.needs(cast, sources)
        scores = [
            one.strength * np.log1p(one.news @ fresh[one.rows]) * needs[one.number] for one in left
        ]
        new = np.array([float(fresh[one.rows].mean()) > 1 - REPEATS for one in left])
        new &= np.array(scores) > 0
        if not new.any():
            break
        best = int(np.argmax(np.where(new, scores, 0)))
        one = left.pop(best)
        chosen.append(one.rule)
        fresh[one.rows] = 0
        cast[one.number] += len(one.rows)
        sources[one.number] += 1
        left = [other for other in left if not _same_kind(one.rule, other.rule)]
    return chosen


def _same_kind(one: Rule, other: Rule) -> bool:
    """Whether both bound the same length in the same direction: one of these is enough."""
    if not isinstance(one.when, Length) or not isinstance(other.when, Length):
        return False
    return _bounds(one.when) == _bounds(other.when)


def _bounds(length: Length) -> tuple[bool, ...]:
    given = (length.min_words, length.max_words, length.min_chars, length.max_chars)
    return tuple(bound is not None for bound in given)


def _suggestion(
    one: _Figures, documents: _Documents, labels: NDArray[np.int64] | None
) -> RuleSuggestion:
    votes, p = documents.votes, documents.truth[one.rows]  # (v, m)
    r = one.number
    given, order = p.argmax(axis=1), np.argsort(-p[:, r], kind="stable")
    frame = MatchFrame.of(documents.corpus).frame

    @cache
    def piece(place: int) -> str:
        row = int(one.rows[place])
        spans = spans_of(one.rule.when, frame.row(row, named=True))
        return snippet(documents.corpus.texts[row], spans)

    def shown(places: Iterable[int]) -> tuple[MatchedText, ...]:
        """The first few that do not look alike; near copies where there is nothing else, and no copies."""
        found: dict[str, MatchedText] = {}
        for i in unlike_first(places, piece):
            label, own = votes.classes[int(given[i])], documents.corpus.ids[int(one.rows[i])]
            found.setdefault(_letters(piece(i)), MatchedText(own, piece(i), label, float(p[i, r])))
            if len(found) == EXAMPLES:
                break
        return tuple(found.values())

    return RuleSuggestion(
        rule=one.rule,
        score=one.score,
        documents=len(one.rows),
        uncovered=int((~documents.covered[one.rows]).sum()),
        changed=one.changed,
        accuracy=replace(one.share, n=len(one.rows)),
        measured=measured_share(labels, one.rows, r),
        usual=float(documents.usual[r]),
        guess=not documents.is_clear(one.rows, r),
        fits=shown(i for i in order.tolist() if given[i] == r),
        misfits=shown(i for i in order[::-1].tolist() if given[i] != r),
        perhaps_gold=_perhaps_gold(one.rule.when, documents),
    )


def _perhaps_gold(condition: Condition, documents: _Documents) -> PerhapsGold | None:
    """What speaks for true labels in the column that a condition reads; None where nothing does."""
    columns = documents.corpus.columns
    if not isinstance(condition, Field) or condition.column not in columns.columns:
        return None
    values, given = columns[condition.column], documents.truth.argmax(axis=1)
    known = pl.DataFrame({"value": values, "given": given}).drop_nulls()
    named = names_classes(values, documents.votes.classes)
    pairs = known.group_by("value", "given").len().sort("len", "given")
    best = pairs.group_by("value").last()  # the commonest class of each value
    tells = float(best["len"].sum()) / max(known.height, 1)
    few = best.height <= MOST_VALUES and best["given"].n_unique() > 1
    if named or (few and tells >= ALMOST_ALL):
        return PerhapsGold(condition.column, named, tells)
    return None


def _letters(text: str) -> str:
    """What tells two texts apart: letters alone, so that copies with other numbers and signs are alike."""
    return "".join(filter(str.isalpha, text.lower()))


def snippet(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text around its first match, on one line, the match in brackets.

    >>> snippet("please subscribe", [(7, 16)])
    'please [subscribe]'
    """
    if not spans:
        short = " ".join(text[: 2 * SNIPPET].split())
        return short + ("…" if len(text) > 2 * SNIPPET else "")
    start, end = spans[0]
    before, after = text[max(0, start - SNIPPET) : start], text[end : end + SNIPPET]
    marked = f"{before}[{text[start:end]}]{after}"
    more = ("…" if start > SNIPPET else "", "…" if end + SNIPPET < len(text) else "")
    return more[0] + " ".join(marked.split()) + more[1]
