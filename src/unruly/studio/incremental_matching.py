"""Incremental matching while a source is typed: only what the last keystroke changed is searched for.

    rules of a source           the votes of all but the one that is typed are known from an earlier keystroke
    keywords {a, b, c}          = keywords {a, b}, which an earlier keystroke asked for, or keywords {c}
    sequence {a, b} … {c, d}    = sequence {a} … {c, d}, likewise, or sequence {b} … {c, d}; and a text is read
                                only where a word of either list stands

Whole words are looked for as plain bytes, in texts made ready for that once: in lower case, a mark before
and behind every word (`unruly.rules.keywords`). All of it gives the votes that the matcher gives.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.files import file_state
from unruly.rules.condition import TEXT, Condition, Measure
from unruly.rules.keywords import Keywords, WordSequence, prepared
from unruly.rules.matching import Matcher, MatchFrame
from unruly.rules.source import Rule, Source
from unruly.votes.votes import ABSTAIN, one_of

Mask = NDArray[np.bool_]
VoteColumn = NDArray[np.int8]
Words = frozenset[str]
Key = TypeVar("Key")
Value = TypeVar("Value")
_MOST_KEPT = 64  # rules, and sets of words: a byte a document each
_MOST_MEASURED = 4  # columns that Python worked out


@dataclass(frozen=True, eq=False)
class SourceMatches:
    """The votes of one source: a class each or, of a partial vote, several.

    >>> votes = SourceMatches(
    ...     np.array([0, 1, -1], np.int8), np.array([[0, 0], [1, 1], [0, 0]], bool)
    ... )
    >>> votes.names(np.array([1, 0, 0])).tolist(), votes.parts(2).tolist()
    ([False, True, False], [[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]])
    """

    first: VoteColumn  # (n,): the class, the first of several, -1 without a vote
    sets: NDArray[np.bool_] | None = None  # (n, m): the classes of partial votes; else no class

    @property
    def voted(self) -> Mask:
        """(n,): where it votes."""
        return np.asarray(self.first != ABSTAIN)

    def take(self, rows: NDArray[np.intp]) -> SourceMatches:
        """The votes on some documents."""
        return SourceMatches(self.first[rows], None if self.sets is None else self.sets[rows])

    def without(self, silent: Mask) -> SourceMatches:
        """The same without a vote on some documents."""
        sets = None if self.sets is None else self.sets & ~silent[:, None]
        return SourceMatches(np.where(silent, np.int8(ABSTAIN), self.first), sets)

    def differs(self, other: SourceMatches) -> Mask:
        """(n,): where the votes of both are not the same."""
        found = np.asarray(self.first != other.first)
        for one, two in ((self.sets, other.sets), (other.sets, self.sets)):
            if one is not None:
                found |= (one if two is None else one != two).any(axis=1)
        return found

    def names(self, numbers: NDArray[np.integer[Any]]) -> Mask:
        """(n,): where a vote names the class given for its document, alone or among others."""
        found = np.asarray((self.first == numbers) & (self.first != ABSTAIN))
        if self.sets is not None:
            rows = np.flatnonzero(self.sets.any(axis=1) & (numbers >= 0))
            found[rows] = self.sets[rows, numbers[rows]]
        return found

    def parts(self, m: int) -> NDArray[np.float64]:
        """(n, m): 1 for the class of a vote; equal parts for those of a partial one."""
        found = np.zeros((len(self.first), m))
        rows = np.flatnonzero(self.voted)
        found[rows, self.first[rows]] = 1.0
        if self.sets is not None:
            partial = self.sets.any(axis=1)
            some = self.sets[partial]
            found[partial] = some / some.sum(axis=1, keepdims=True)
        return found

    def believed(self, proba: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """(n,): the probability of the class of each vote, or of its classes together; 0 without one."""
        found = np.zeros(len(self.first))
        rows = np.flatnonzero(self.voted)
        found[rows] = proba[rows, self.first[rows]]
        if self.sets is not None:
            partial = self.sets.any(axis=1)
            found[partial] = (proba * self.sets).sum(axis=1)[partial]
        return found

    def tally(self, classes: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
        """How many votes there are for each class, or for several."""
        partial = (
            np.zeros(len(self.first), np.bool_) if self.sets is None else self.sets.any(axis=1)
        )
        single = np.bincount(self.first[self.voted & ~partial], minlength=len(classes))
        found = [(name, int(n)) for name, n in zip(classes, single, strict=True) if n]
        if self.sets is not None:
            some = self.sets[partial]
            key = some @ np.random.default_rng(0).integers(
                2**63, size=len(classes), dtype=np.uint64
            )
            _, where, counts = np.unique(key, return_index=True, return_counts=True)
            named = [one_of(classes[r] for r in np.flatnonzero(kind)) for kind in some[where]]
            found += zip(named, counts.tolist(), strict=True)
        return tuple(found)


@dataclass(eq=False)
class TypedVotes:
    """The documents, with the matches of earlier keystrokes cached."""

    frame: MatchFrame
    _rules: dict[str, VoteColumn] = field(default_factory=dict, repr=False)
    _words: dict[tuple[object, Words], Mask] = field(default_factory=dict, repr=False)
    _measured: dict[str, pl.Series] = field(default_factory=dict, repr=False)
    _ready: pl.Series | None = field(default=None, repr=False)  # texts in which words are bytes
    _begun: bool = field(default=False, repr=False)
    _sample: TypedVotes | None = field(default=None, repr=False)

    def of(self, source: Source, classes: tuple[str, ...]) -> SourceMatches:
        """The source's votes; the first of its rules that matches decides."""
        column = np.full(self.frame.height, ABSTAIN, np.int8)
        partial = [_partial(rule, classes) for rule in source.rules]
        some = any(numbers for numbers in partial)
        sets = np.zeros((len(column), len(classes)), np.bool_) if some else None
        for rule, numbers in zip(reversed(source.rules), reversed(partial), strict=True):
            own = self._rule(replace(source, rules=(rule,)), classes)
            np.copyto(column, own, where=own != ABSTAIN)
            if sets is not None:
                sets[own != ABSTAIN] = np.isin(np.arange(len(classes)), numbers)
        return SourceMatches(column, sets)

    def sample(self, rows: NDArray[np.int64]) -> TypedVotes:
        """The same for some documents, always the same ones: kept, with all that was matched in them."""
        if self._sample is None or self._sample.frame.height != len(rows):
            self._sample = TypedVotes(MatchFrame(self.frame.frame[rows]))
        return self._sample

    def knows(self, source: Source, classes: tuple[str, ...]) -> bool:
        """Whether the source's votes, or everything that Python works out for them, are known."""
        rules = [replace(source, rules=(rule,)) for rule in source.rules]
        return all(_key(rule, classes) in self._rules for rule in rules) or all(
            _name(each) in self._measured for each in source.needs(classes).measures
        )

    def begin(self) -> None:
        """Prepare the texts in the background: the first keystrokes do not wait."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self.make_ready, daemon=True).start()

    def make_ready(self) -> None:
        """Prepare texts in which words are plain bytes, which are found several times as fast."""
        ready = self.frame.frame.select(prepared(pl.col(TEXT), whole=True))
        self._ready = ready.to_series()

    def _rule(self, source: Source, classes: tuple[str, ...]) -> VoteColumn:
        """(n,): the votes of a source with one rule."""
        key = _key(source, classes)
        if key is None:
            return self._measured_and_matched(source, classes)
        found = self._rules.get(key)
        if found is None:
            found = self._found(source, classes)
            if (now := _key(source, classes)) is not None:  # a function may have read more files
                _keep(self._rules, now, found)
        return found

    def _found(self, source: Source, classes: tuple[str, ...]) -> VoteColumn:
        rule = source.rules[0]
        mask = self._mask(rule.when)
        if mask is not None:
            return np.where(mask, np.int8(rule.named(classes)[0]), np.int8(ABSTAIN))
        if isinstance(rule.when, WordSequence):  # with negators: its leftmost match decides
            return self._narrowed(source, classes, self._both(rule.when))
        return self._measured_and_matched(source, classes)

    def _measured_and_matched(self, source: Source, classes: tuple[str, ...]) -> VoteColumn:
        """(n,): what Python works out is kept, so that another threshold is quick."""
        measures = source.needs(classes).measures
        known = [kept for each in measures if (kept := self._measured.get(_name(each))) is not None]
        frame = self.frame.frame.with_columns(known)
        if len(known) < len(measures):
            frame = Matcher((source,), classes).with_measures((source,), MatchFrame(frame))
            for each in measures:
                if each.meaning() is not None:
                    _keep(self._measured, _name(each), frame[each.name], _MOST_MEASURED)
        return _matched(source, classes, MatchFrame(frame))

    def _narrowed(self, source: Source, classes: tuple[str, ...], may: Mask) -> VoteColumn:
        """(n,): the votes of a source that abstains where it may not match."""
        rows = np.flatnonzero(may)
        column = np.full(self.frame.height, ABSTAIN, np.int8)
        column[rows] = _matched(source, classes, MatchFrame(self.frame.frame[rows]))
        return column

    def _mask(self, when: Condition) -> Mask | None:
        """(n,): where a condition on words holds; None for all others."""
        if isinstance(when, Keywords) and when.match == "word":
            return self._any_of(when.words)
        if isinstance(when, WordSequence) and not when.negators:
            return self._sequence(when)
        return None

    # Words

    def _any_of(self, words: Sequence[str]) -> Mask:
        """(n,): where one of the words stands."""
        return self._together("words", frozenset(words), self._scanned)

    def _sequence(self, when: WordSequence) -> Mask:
        """(n,): where the sequence stands, put together from parts of the list that is typed."""
        first, then = frozenset(when.first), frozenset(when.then)
        gap = (when.within_words, when.within_chars)
        by_first, by_then = ("first", then, gap), ("then", first, gap)
        known = [about for about, _ in list(self._words)]
        if by_then in known and by_first not in known:
            found = self._together(
                by_then, then, lambda words: self._stands(replace(when, then=words))
            )
        else:
            found = self._together(
                by_first, first, lambda words: self._stands(replace(when, first=words))
            )
        _keep(self._words, (by_first, first), found)
        _keep(self._words, (by_then, then), found)
        return found

    def _stands(self, when: WordSequence) -> Mask:
        may = self._both(when)
        rows = np.flatnonzero(may)
        few = MatchFrame(self.frame.frame[rows])
        source = Source("typed", (Rule("there", when),))
        may[rows] = _matched(source, ("elsewhere", "there"), few) != ABSTAIN
        return may

    def _both(self, when: WordSequence) -> Mask:
        """(n,): where words of both lists stand, in any order."""
        return self._any_of(when.first) & self._any_of(when.then)

    def _together(self, about: object, words: Words, scanned: Callable[[list[str]], Mask]) -> Mask:
        """(n,): where one of the words does; of those that were asked for together before, that is known."""
        found = self._words.get((about, words))
        if found is None:
            others = [known for kind, known in list(self._words) if kind == about]
            shared = max((words & known for known in others), key=len, default=words)
            parts = [part for part in (shared, words - shared) if part]
            masks = [self._part(about, part, scanned) for part in parts]
            found = masks[0] if len(masks) == 1 else masks[0] | masks[1]
            _keep(self._words, (about, words), found)
        return found

    def _part(self, about: object, words: Words, scanned: Callable[[list[str]], Mask]) -> Mask:
        found = self._words.get((about, words))
        if found is None:
            found = scanned(sorted(words))
            _keep(self._words, (about, words), found)
        return found

    def _scanned(self, words: list[str]) -> Mask:
        ready = self._ready
        if ready is None:
            found = self.frame.frame.lazy().select(Keywords(words).mask())
            return found.collect(engine="streaming").to_series().to_numpy()
        listed = pl.Series([" ".join(word.split()) for word in words])
        marked = pl.select(prepared(pl.lit(listed), whole=True)).to_series().to_list()
        if len(marked) == 1:
            return ready.str.contains(marked[0], literal=True).to_numpy()
        return ready.str.contains_any(marked).to_numpy()


def _partial(rule: Rule, classes: tuple[str, ...]) -> tuple[int, ...]:
    """The classes of its votes where they are partial; none where each names one."""
    numbers = rule.named(classes)
    return numbers if len(numbers) > 1 and rule.when.soft(classes) is None else ()


def _matched(source: Source, classes: tuple[str, ...], documents: MatchFrame) -> VoteColumn:
    votes = Matcher((source,), classes).run(documents).votes[source.name]
    return np.asarray(votes.to_numpy(), np.int8)


def _key(source: Source, classes: tuple[str, ...]) -> str | None:
    """What the votes of a source with one rule go by; None where that cannot be known."""
    meaning, read = source.meaning(), source.files_read()
    if meaning is None or read is None:
        return None
    files = {path: file_state(path) for path in read}
    return json.dumps([meaning, classes, files], sort_keys=True)


def _name(measure: Measure) -> str:
    """What a measure goes by: its name, and all that decides its values."""
    return f"{measure.name} {json.dumps(measure.meaning(), default=str)}"


def _keep(kept: dict[Key, Value], key: Key, value: Value, most: int = _MOST_KEPT) -> None:
    """Keep the newest few."""
    kept.pop(key, None)
    while len(kept) >= most:
        kept.pop(next(iter(kept)), None)
    kept[key] = value
