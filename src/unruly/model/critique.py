"""What is wrong with the rules, found without true labels: typed findings (`unruly.findings`), and perhaps a remedy for each.

The accuracy of a source is the fit's own estimate. Subsets of its votes, such as those on one keyword, are estimated
in the same way (`unruly.denoising.accuracy`); for methods without such estimates, the model's probabilities are used.
Under wrong class shares these estimates can be upside down, so they judge sources and words only where the shares are
stated or come from labels. What is counted (conflicts, repetitions, silence) needs no shares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.denoising.accuracy import FEW, vote_accuracy
from unruly.findings import (
    Conflict,
    Critique,
    RepeatedSource,
    SharesUnknown,
    SilentSource,
    UncoveredClass,
    WeakSource,
    WeakWord,
)
from unruly.learner import Learner, with_labels
from unruly.model.summary import FitSummary
from unruly.rules.keywords import Keywords
from unruly.rules.sources import Sources
from unruly.statistics import Share, sample_rows, wilson
from unruly.votes.sparse import SparseVotes
from unruly.votes.summary import Pairs, count_pairs
from unruly.votes.votes import ABSTAIN, Votes

# Thresholds of what is reported: round numbers, none of which has a part in the model. What followed the advice was
# measured (lab/LOG.md, 2026-11-18, "what followed advice is worth").
REPEATS = 0.85  # of its votes that another source casts as well
CONFLICT = 0.3  # of their common documents on which two sources disagree; of the votes of the smaller where they must
MOST_CONFLICTS = 5
THIN = 0.25  # of the documents of a class that have a vote for it
WEAK_WORD = 0.65  # accuracy below which a word is named where the rest of its list does better
MOST_DOCUMENTS = 5000  # that words are counted in


@dataclass(frozen=True)
class DropWord:
    """Take a word out of a rule's list."""

    kind: ClassVar[str] = "drop_word"
    source: str
    rule: int  # its number in the source, from 1
    word: str

    def __str__(self) -> str:
        return f"drop {self.word!r} from {self.source}"


@dataclass(frozen=True)
class DisableSource:
    """Leave a source out; its rules stay in the file."""

    kind: ClassVar[str] = "disable_source"
    source: str

    def __str__(self) -> str:
        return f"disable {self.source}"


@dataclass(frozen=True)
class MergeSource:
    """Put the rules of a source behind those of another."""

    kind: ClassVar[str] = "merge_source"
    source: str
    into: str

    def __str__(self) -> str:
        return f"merge {self.source} into {self.into}"


Remedy = DropWord | DisableSource | MergeSource


_REMEDIES: Mapping[str, type[Remedy]] = {
    remedy.kind: remedy for remedy in (DropWord, DisableSource, MergeSource)
}


def remedy_of(critique: Critique) -> Remedy | None:
    """The edit that a finding asks for; None where a person has to write or to read something.

    >>> str(remedy_of(SilentSource("links")))
    'disable links'
    """
    match critique:
        case WeakWord():
            if critique.contradicted or critique.above_chance or not critique.clear:
                return None
            return DropWord(critique.source, critique.rule, critique.word)
        case WeakSource():
            kept = critique.useful or critique.above_chance or critique.leaves is not None
            return DisableSource(critique.source) if critique.clear and not kept else None
        case SilentSource(source=source):
            return None if critique.missing else DisableSource(source)
        case RepeatedSource(source=source) if critique.adds_nothing:
            return DisableSource(source)
        case RepeatedSource(source=source, other=other):
            return MergeSource(source, other)
        case _:
            return None


def remedy_to_plain(remedy: Remedy) -> dict[str, Any]:
    """A remedy as JSON has it: its kind and its values."""
    return {"kind": remedy.kind, **asdict(remedy)}


def remedy_from_plain(plain: Mapping[str, Any]) -> Remedy:
    """A remedy back from JSON.

    >>> remedy_from_plain({"kind": "drop_word", "source": "a", "rule": 1, "word": "song"})
    DropWord(source='a', rule=1, word='song')
    """
    kind = _REMEDIES[plain["kind"]]
    values = {field.name: plain[field.name] for field in fields(kind)}
    for name, value in values.items():
        if type(value) is not (int if name == "rule" else str) or not value:
            raise ValueError(f"{name} is missing")
    return kind(**values)


@dataclass(frozen=True, eq=False)
class VoteJudge:
    """Judges votes on n documents by a model's answers, without the votes' own part in them where that is known."""

    posteriors: NDArray[np.floating]  # (n, m)
    votes: Votes  # with which the answers were made
    learner: Learner | None = None  # that made them
    shares: Sequence[float] | None = None  # of classes, where stated or known from labels
    estimated: Mapping[str, Share] = field(default_factory=dict)  # of sources, by the fit; n: votes

    @classmethod
    def of(
        cls,
        posteriors: NDArray[np.floating],
        votes: Votes,
        learner: Learner | None,
        summary: FitSummary,
    ) -> VoteJudge:
        """By a model, with what its fit has estimated."""
        return cls(posteriors, votes, learner, summary.known_shares, summary.estimated)

    def accuracies(self, votes: Votes) -> tuple[Share | None, ...]:
        """The accuracy of each source as the fit estimated it; judged here where its votes have changed since."""
        found = []
        for j, name in enumerate(votes.sources):
            known = self.estimated.get(name)
            if known is not None and self.learner is not None:
                known = known if known.n == int(votes.voted[:, j].sum()) else None
            found.append(self.of_source(votes, j) if known is None else known)
        return tuple(found)

    def accuracy(
        self, source: str, rows: NDArray[np.intp], credit: NDArray[np.float64]
    ) -> Share | None:
        """Of the votes of a source on these rows (v,), which are right for the classes in `credit` (v, m)."""
        if not len(rows):
            return None
        given = np.asarray(self.posteriors, np.float32)
        if self.learner is not None and (
            known := self.learner.vote_accuracy(given, self.votes, source, rows, credit)
        ):
            return known
        scores = np.log(np.maximum(np.asarray(self.posteriors[rows], np.float64), 1e-30))
        m, (vote, outcome) = scores.shape[1], np.nonzero(credit)
        right = (vote, outcome, credit[vote, outcome])
        return vote_accuracy(
            scores, np.zeros(scores.shape), right, float(len(rows)), np.zeros((m, m))
        )

    def of_source(self, votes: Votes, j: int) -> Share | None:
        """The accuracy of all votes of one source; None for one that never votes."""
        rows = np.flatnonzero(votes.voted[:, j])
        cast = votes.take(rows)
        named = [cast.agrees(np.full(cast.n, r))[:, j] for r in range(votes.m)]
        return self.accuracy(votes.sources[j], rows, np.stack(named, axis=1).astype(np.float64))


def critique_rules(
    votes: Votes,
    judge: VoteJudge,
    *,
    texts: Sequence[str] | None = None,
    rules: Sources | None = None,
    labels: NDArray[np.int64] | None = None,
    scored: NDArray[np.int64] | None = None,
    measured: Mapping[str, Share] | None = None,
    adds: Mapping[str, Share] | None = None,
    shares: Sequence[float] | None = None,
) -> tuple[Critique, ...]:
    """What is wrong with the rules, worst kind first.

    `texts` and `rules` are needed to judge keywords. `labels` are true classes (-1: unknown): sources and words with
    enough of them are measured. `scored` are true classes that decide nothing and are only reported beside the estimates.
    `measured` are accuracies of sources against true labels, which count more than the judge's, and `adds` what
    sources add to majority vote by them; `shares` are class shares that are known better than the judge knows them.

    >>> votes = Votes.from_array([[0, 1], [0, 0], [0, 1]] * 10, sources=["a", "b"])
    >>> judge = VoteJudge(np.tile([[1.0, 0.0]], (30, 1)), votes)
    >>> [c.kind for c in critique_rules(votes, judge)]
    ['shares_unknown', 'conflict', 'uncovered_class']
    >>> wrong = {"b": Share(0.3, 0.2, 0.4, 30)}
    >>> [c.kind for c in critique_rules(votes, judge, measured=wrong)]
    ['shares_unknown', 'weak_source', 'conflict', 'uncovered_class']
    """
    sure = judge.shares is not None
    gains = adds or {}
    numbers = np.arange(votes.n) if texts is None else text_numbers(texts)
    estimates = judge.accuracies(votes) if sure else (None,) * votes.k
    checked = {**_by_labels(votes, labels, estimates), **(measured or {})}
    weak = _weak_sources(
        votes,
        [checked.get(s, e) for s, e in zip(votes.sources, estimates, strict=True)],
        checked,
        gains,
        shares or judge.shares,
        numbers,
    )
    words = (
        ()
        if texts is None or rules is None
        else weak_words(texts, votes, judge, rules, labels=labels, scored=scored)
    )
    pairs = count_pairs(votes)
    final = np.asarray(with_labels(judge.posteriors, labels).argmax(axis=1))
    missing = tuple(c for r, c in enumerate(votes.classes) if not votes_for(votes, r).any())
    silent = (
        SilentSource(s, missing)
        for j, s in enumerate(votes.sources)
        if s not in votes.unasked and not votes.voted[:, j].any()
        if s not in gains or gains[s].value <= 0  # it votes elsewhere, and is right there
    )
    many = {votes.sources[j] for j in np.flatnonzero(votes.voted.sum(axis=0) >= FEW)}
    lists = (
        texts is not None
        and rules is not None
        and any(len(words.words) > 1 for *_, words in keyword_lists(rules))
    )
    unjudged = not sure and bool(many) and (lists or not many <= set(checked))
    return (
        *((SharesUnknown(),) if unjudged else ()),
        *weak,
        *words,
        *_conflicts(votes, pairs),
        *(one for one in _repeated(pairs) if one.source not in gains or gains[one.source].low <= 0),
        *silent,
        *_uncovered(votes, final),
    )


def weak_by_labels(
    votes: Votes, labels: NDArray[np.int64], estimated: Mapping[str, Share]
) -> tuple[WeakSource, ...]:
    """Sources that labels alone leave no doubt about, whatever the fit has estimated of them.

    >>> votes = Votes.from_array([[0]] * 40 + [[-1]] * 10, classes=["ham", "spam"], sources=["a"])
    >>> labels = np.array([1] * 12 + [-1] * 38)
    >>> [str(one.accuracy) for one in weak_by_labels(votes, labels, {})]
    ['0.0% (0.0% to 24.2%)']
    """
    checked = _by_labels(votes, labels, [estimated.get(name) for name in votes.sources])
    shares = [checked.get(name) for name in votes.sources]
    found = _weak_sources(votes, shares, checked, {}, None, np.arange(votes.n))
    return tuple(weak for weak in found if weak.clear)


def _by_labels(
    votes: Votes, labels: NDArray[np.int64] | None, estimates: Sequence[Share | None]
) -> dict[str, Share]:
    """The accuracy of each source on documents with a label, where that tells more than the estimate does."""
    if labels is None:
        return {}
    found = {}
    for j, (name, estimate) in enumerate(zip(votes.sources, estimates, strict=True)):
        share = measured_accuracy(votes, labels, j)
        if share is not None and tells_more(share, estimate):
            found[name] = share
    return found


def measured_accuracy(votes: Votes, truth: NDArray[np.int64], j: int) -> Share | None:
    """How many votes of source j are right, of those on documents whose class is known; None where none is."""
    checked = votes.voted[:, j] & (truth >= 0)
    right = int(votes.agrees(truth)[checked, j].sum())
    return wilson(right, int(checked.sum())) if checked.any() else None


def tells_more(measured: Share, estimated: Share | None) -> bool:
    """Whether enough votes of a source could be checked; half of that will do where the estimate is the wider one."""
    if measured.n >= FEW:
        return True
    width = 1.0 if estimated is None else estimated.high - estimated.low
    return measured.n >= FEW / 2 and measured.high - measured.low < width


def text_numbers(texts: Sequence[str] | pl.Series) -> NDArray[np.intp]:
    """(n,): a number for each text, the same for copies of it; only letters matter where there are any.

    >>> text_numbers(["buy now", "Buy NOW!", "by now"]).tolist()
    [0, 0, 1]
    """
    own = pl.Series("text", texts, dtype=pl.String).fill_null("")
    plain = own.str.to_lowercase().str.replace_all(r"[\W\d_]+", " ").str.strip_chars()
    plain = pl.select(pl.when(plain == "").then(own).otherwise(plain)).to_series()
    return np.asarray(plain.rank("dense").to_numpy() - 1, np.intp)


def _weak_sources(
    votes: Votes,
    accuracies: Sequence[Share | None],
    measured: Collection[str],
    adds: Mapping[str, Share],
    shares: Sequence[float] | None,
    numbers: NDArray[np.intp],
) -> list[WeakSource]:
    """Sources with enough votes on different texts: copies of one text are right or wrong together."""
    found = []
    chances = None if shares is None else SparseVotes.of(votes).chance(np.asarray(shares))
    for j, (name, accuracy) in enumerate(zip(votes.sources, accuracies, strict=True)):
        cast = int(votes.voted[:, j].sum())
        different = len(np.unique(numbers[votes.voted[:, j]]))
        if accuracy is None or not accuracy.n or different < FEW:
            continue
        chance = None if chances is None else float(chances[j])
        if accuracy.value < 0.5 or (chance is not None and accuracy.high < chance):
            left = None if name in measured else _left_alone(votes, j)
            found.append(
                WeakSource(name, cast, accuracy, name in measured, chance, adds.get(name), left)
            )
    return sorted(found, key=lambda weak: weak.accuracy.value)


def _left_alone(votes: Votes, j: int) -> str | None:
    """A class that two sources vote for, or one, of which source j is one."""
    for r, label in enumerate(votes.classes):
        voting = np.flatnonzero(np.asarray(votes_for(votes, r)).any(axis=0)).tolist()
        if j in voting and len(voting) <= 2:
            return label
    return None


def weak_words(
    texts: Sequence[str],
    votes: Votes,
    judge: VoteJudge,
    rules: Sources,
    *,
    labels: NDArray[np.int64] | None = None,
    scored: NDArray[np.int64] | None = None,
) -> list[WeakWord]:
    """Words of keyword lists that are clearly worse than the rest of their list, the worst first.

    A vote counts for a word where the source votes for the rule's class on a text with the word. Where enough votes of
    the word and of the rest have true labels, both are measured; else both are estimated, where class shares are known.
    """
    found = []
    for source, number, label, words in keyword_lists(rules):
        if source not in votes.sources or label not in votes.classes:
            continue
        j, r = votes.sources.index(source), votes.classes.index(label)
        rows = np.flatnonzero(votes.hard[:, j] == r)
        rows = rows[sample_rows(len(rows), MOST_DOCUMENTS)]
        column = pl.Series("text", [texts[int(row)] for row in rows], dtype=pl.String).to_frame()
        numbers = text_numbers(column["text"])
        for word in words.words:
            holds = Keywords((word,), words.match).on(pl.col("text")).fill_null(value=False)
            there = column.select(holds).to_series().to_numpy()
            if len(np.unique(numbers[there])) < FEW:
                continue
            weak = _weak_word(judge, source, r, rows[there], rows[~there], labels)
            if weak is not None:
                count, checked = int(there.sum()), measured_share(scored, rows[there], r)
                chance = _class_share(judge, labels, r)
                rival = None if weak[2] else _rival(votes, rows[there], r)
                found.append(
                    WeakWord(source, number, word, label, count, *weak, chance, checked, rival)
                )
    return sorted(found, key=lambda weak: weak.accuracy.value)


def _weak_word(
    judge: VoteJudge,
    source: str,
    r: int,
    rows: NDArray[np.intp],
    rest: NDArray[np.intp],
    labels: NDArray[np.int64] | None,
) -> tuple[Share, Share, bool] | None:
    """Accuracy with the word, accuracy without it, and whether both are measured; None where the word is no worse."""
    if not len(rest):
        return None
    one, other = measured_share(labels, rows, r), measured_share(labels, rest, r)
    measured = one is not None and other is not None and min(one.n, other.n) >= FEW
    if not measured and judge.shares is None:
        return None
    if not measured:
        onehot = np.eye(judge.posteriors.shape[1])[r]
        one, other = (
            judge.accuracy(source, some, np.tile(onehot, (len(some), 1))) for some in (rows, rest)
        )
    assert one is not None
    assert other is not None
    worse = one.high < other.low and one.value < WEAK_WORD
    return (one, other, measured) if worse else None


def _rival(votes: Votes, rows: NDArray[np.intp], r: int) -> str | None:
    """The source that votes for a class other than r on nearly all of these documents; None where there is none.

    Then the word never meets a document that only the text judges: believing that source decides the estimate.
    """
    cast = votes.hard[rows]  # (v, k)
    against = ((cast != ABSTAIN) & (cast != r)).mean(axis=0)  # (k,)
    j = int(against.argmax())
    return votes.sources[j] if against[j] >= REPEATS else None


def _class_share(judge: VoteJudge, labels: NDArray[np.int64] | None, r: int) -> float:
    """The share of class r, as known; else among the labels by which a word was measured."""
    if judge.shares is not None:
        return judge.shares[r]
    assert labels is not None
    return float(np.mean(labels[labels >= 0] == r))


def measured_share(truth: NDArray[np.int64] | None, rows: NDArray[np.intp], r: int) -> Share | None:
    """How many of these rows are of class r, of those whose class is known; None where none is."""
    known = np.empty(0, np.int64) if truth is None else truth[rows]
    known = known[known >= 0]
    return wilson(int((known == r).sum()), len(known)) if len(known) else None


def keyword_lists(rules: Sources) -> Iterator[tuple[str, int, str, Keywords]]:
    """Every list of keywords: its source, the rule's number from 1, its class, and itself."""
    for source in rules.sources:
        for number, rule in enumerate(source.rules, start=1):
            if isinstance(rule.when, Keywords) and isinstance(rule.label, str):
                yield source.name, number, rule.label, rule.when


def _conflicts(votes: Votes, pairs: Pairs) -> list[Conflict]:
    """The pairs that disagree on most documents, among those that do so often.

    Two that name no class in common disagree wherever they meet: they do so often where they meet often.
    """
    different, cast = pairs.both - pairs.same, np.diag(pairs.both)
    fewer = np.minimum(cast[:, None], cast[None, :])  # (k, k)
    of = np.where(pairs.may_agree, pairs.both, fewer)
    often = np.triu((pairs.both >= FEW) & (different >= CONFLICT * of), k=1)
    ranked = sorted(np.argwhere(often).tolist(), key=lambda p: -int(different[p[0], p[1]]))
    return [_conflict(votes, pairs, i, j) for i, j in ranked[:MOST_CONFLICTS]]


def _conflict(votes: Votes, pairs: Pairs, i: int, j: int) -> Conflict:
    opposed = not bool(pairs.may_agree[i, j])
    if opposed and pairs.both[i, i] > pairs.both[j, j]:
        i, j = j, i
    one, two = votes.hard[:, i], votes.hard[:, j]
    rows = np.flatnonzero((one != ABSTAIN) & (two != ABSTAIN) & (one != two))
    couples = one[rows].astype(np.int64) * votes.m + two[rows]
    counts = np.bincount(couples, minlength=votes.m**2)
    most = int(counts.argmax())
    shown = rows[couples == most][:3]
    return Conflict(
        source=votes.sources[i],
        other=votes.sources[j],
        votes=int(pairs.both[i, i]),
        documents=int(pairs.both[i, j]),
        conflicts=len(rows),
        label=votes.classes[most // votes.m],
        other_label=votes.classes[most % votes.m],
        times=int(counts[most]),
        opposed=opposed,
        examples=tuple(str(votes.ids[int(row)]) for row in shown),
    )


def _repeated(pairs: Pairs) -> list[RepeatedSource]:
    contained, cast = pairs.contained, np.diag(pairs.both)
    found = []
    for i, name in enumerate(pairs.sources):
        others = [
            j
            for j in range(len(pairs.sources))
            if j != i and (cast[j], -j) > (cast[i], -i) and contained[i, j] >= REPEATS
        ]
        if others and cast[i] >= FEW:
            j = max(others, key=lambda j: float(contained[i, j]))
            share = float(contained[i, j])
            found.append(RepeatedSource(name, pairs.sources[j], int(cast[i]), share))
    return found


def _uncovered(votes: Votes, final: NDArray[np.integer]) -> list[UncoveredClass]:
    found = []
    for r, name in enumerate(votes.classes):
        cast = votes_for(votes, r)
        sources, given = np.flatnonzero(cast.any(axis=0)), final == r
        reached = float(cast[given].any(axis=1).mean()) if given.any() else None
        if len(sources) < 2 or (reached is not None and reached < THIN):
            names = tuple(votes.sources[j] for j in sources)
            found.append(UncoveredClass(name, names, int(given.sum()), reached))
    return found


def votes_for(votes: Votes, r: int) -> NDArray[np.bool_]:
    """(n, k): where a vote names class r, alone or among at most half of the classes."""
    cast = votes.hard == r
    for j, sets in votes.sets.items():
        cast[:, j] |= sets[:, r] & (sets.sum(axis=1) <= votes.m / 2)
    return np.asarray(cast)
