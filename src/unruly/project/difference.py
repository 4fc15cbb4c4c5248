"""What changed between two states of the rules, or between two models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.labelling.label_file import NO_CLASS, LabelFile
from unruly.labelmodels.majority_vote import majority_vote
from unruly.model.summary import SourceLine
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.rules.source import source_to_plain
from unruly.rules.sources import Sources
from unruly.sentences import shares_of
from unruly.votes.votes import Votes
from unruly.wording import plural

_MOVED = 0.005  # of an accuracy or a reliability: what is shown as a change

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.texts.corpus import Corpus


@dataclass(frozen=True)
class SourceChange:
    """One source before and after; None where the source is not there."""

    source: str
    kind: str  # "added", "removed", "edited", "same"
    votes_before: int | None
    votes_after: int | None
    changed: int | None  # documents on which its vote differs; None without common documents
    reliability_before: float | None = None
    reliability_after: float | None = None
    accuracy_before: float | None = None  # as estimated, where the method estimates it
    accuracy_after: float | None = None

    @property
    def trust(self) -> tuple[str, float, float] | None:
        """What both models say of the source: its estimated accuracy, else its reliability."""
        if self.accuracy_before is not None and self.accuracy_after is not None:
            return "estimated accuracy", self.accuracy_before, self.accuracy_after
        if self.reliability_before is not None and self.reliability_after is not None:
            return "reliability", self.reliability_before, self.reliability_after
        return None

    @property
    def moved(self) -> bool:
        """Whether the votes are as before, but the source is trusted more or less."""
        return self.trust is not None and abs(self.trust[1] - self.trust[2]) >= _MOVED


@dataclass(frozen=True)
class LabelsByHand:
    """Documents with a label in the files of labels of two projects."""

    before: int
    after: int
    added: int
    removed: int
    changed: int  # in both, with another label

    @classmethod
    def of(cls, old: LabelFile, new: LabelFile) -> LabelsByHand:
        """By the ids of the documents."""
        before, after = (_labels(file) for file in (old, new))
        both = before.keys() & after.keys()
        changed = sum(before[own] != after[own] for own in both)
        return cls(
            len(before), len(after), len(after) - len(both), len(before) - len(both), changed
        )

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        return not (self.added or self.removed or self.changed)

    def __str__(self) -> str:
        counts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        return f"labels by hand: {self.before:,} -> {self.after:,} ({told})"


def _labels(file: LabelFile) -> dict[str, frozenset[str]]:
    """The documents that have a label, by id, and what people call them."""
    found = {
        own: frozenset(
            answer.label.casefold() for answer in answers if answer.label not in NO_CLASS
        )
        for own, answers in file.standing().items()
    }
    return {own: labels for own, labels in found.items() if labels}


@dataclass(frozen=True)
class Difference:
    """What changed, source by source and for the documents as a whole.

    Counted on the documents of one file, or on the training documents of each model.
    """

    sources: tuple[SourceChange, ...]
    file: str | None  # with the documents; None: each model has its own
    documents_before: int
    documents_after: int
    covered_before: int
    covered_after: int
    labels: int | None  # documents to which the two models give another label; None: not compared
    majority: int | None  # documents whose majority vote is another one; None: of two models
    settings: Mapping[str, tuple[Any, Any]]  # what else differs, by name: before, after
    by_hand: LabelsByHand | None = None  # None: of two models, whose ledgers tell

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        before = self.documents_before, self.covered_before
        after = self.documents_after, self.covered_after
        changed = any(map(_differs, self.sources)) or self.labels or self.majority or self.settings
        labels = self.by_hand is None or self.by_hand.same
        return not changed and labels and before == after

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        sources = [asdict(change) for change in self.sources]
        settings = {name: list(pair) for name, pair in self.settings.items()}
        by_hand = None if self.by_hand is None else asdict(self.by_hand)
        return {**vars(self), "sources": sources, "settings": settings, "by_hand": by_hand}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """One line for each change, or for none."""
        if self.same:
            return ["nothing changed"]
        lines = [f"{c.source}: {_change(c)}" for c in self.sources if _differs(c)]
        lines += [
            f"{name}: {_value(before)} -> {_value(after)}"
            for name, (before, after) in self.settings.items()
        ]
        if self.by_hand is not None and not self.by_hand.same:
            lines.append(str(self.by_hand))
        where = "" if self.file is None else f" of {self.file}"
        before, after = self.documents_before, self.documents_after
        if (self.covered_before, before) != (self.covered_after, after):
            kind = "training documents" if self.file is None else "documents"
            lines.append(
                f"{kind}{where} with votes: {self.covered_before:,} of {before:,} -> {self.covered_after:,} of "
                f"{after:,}"
            )
        if self.labels is not None:
            lines.append(f"{self.labels:,} of {after:,} documents{where} get another label")
        if self.majority is not None:
            lines.append(
                f"{self.majority:,} of {after:,} documents{where} get another majority vote; to see other labels, "
                "fit both and compare the models"
            )
        return lines


def compare_projects(
    old: Project, new: Project, split: str = "train", progress: Progress = SILENT
) -> Difference:
    """The rules of two projects on the new one's documents, and their labels by hand."""
    _same_classes(old.classes, new.classes)
    corpus = new.corpus(split)
    cast = [project.vote(corpus, progress) for project in (old, new)]
    before, after = cast
    settings = {
        name: (getattr(old, name), getattr(new, name))
        for name in ("prior", "encoder", "method", "seed", "settings")
        if getattr(old, name) != getattr(new, name)
    }
    winners = [majority_vote(votes) for votes in cast]
    return Difference(
        sources=_changes([_plain(project.sources) for project in (old, new)], cast),
        file=Path(corpus.name).name,
        documents_before=before.n,
        documents_after=after.n,
        covered_before=int(before.covered.sum()),
        covered_after=int(after.covered.sum()),
        labels=None,
        majority=int((winners[0] != winners[1]).sum()),
        settings=settings,
        by_hand=LabelsByHand.of(old.label_file(), new.label_file()),
    )


def compare_models(
    old: WeakClassifier,
    new: WeakClassifier,
    corpus: Corpus | None = None,
    progress: Progress = SILENT,
) -> Difference:
    """Two models: their rules, reliabilities and settings; with documents, the votes and labels that differ on these.

    Without documents, votes are those on each model's own training documents.
    """
    _same_classes(old.class_names, new.class_names)
    pair = (old, new)
    labels, cast = None, None
    if corpus is not None:
        answers = [model.predictions(corpus, progress=progress) for model in pair]
        labels = int((np.array(answers[0].labels) != np.array(answers[1].labels)).sum())
        if all(model.fitted.rules is not None for model in pair):
            cast = [answer.votes for answer in answers]
    counts = [(model.summary_.documents, model.summary_.covered) for model in pair]
    if cast is not None:
        counts = [(votes.n, int(votes.covered.sum())) for votes in cast]
    values = {
        "method": (old.summary_.method, new.summary_.method),
        "encoder": (old.summary_.encoder, new.summary_.encoder),
        "seed": (old.seed, new.seed),
        "class shares": (_shares(old), _shares(new)),
        "gold labels": (old.ledger_.in_words(), new.ledger_.in_words()),
    }
    settings = [model.settings_.to_plain() for model in pair]
    if cast is not None:  # else their number stands beside those with votes
        before, after = (f"{model.summary_.documents:,}" for model in pair)
        values["training documents"] = (before, after)
    values |= {
        key: (settings[0].get(key), settings[1].get(key)) for key in {**settings[0], **settings[1]}
    }
    return Difference(
        sources=_changes(
            [_rules_of(model) for model in pair],
            cast,
            [{line.name: line for line in model.summary_.sources} for model in pair],
        ),
        file=None if corpus is None or cast is None else Path(corpus.name).name,
        documents_before=counts[0][0],
        documents_after=counts[1][0],
        covered_before=counts[0][1],
        covered_after=counts[1][1],
        labels=labels,
        majority=None,
        settings={name: both for name, both in values.items() if both[0] != both[1]},
    )


def _changes(
    rules: Sequence[Mapping[str, Any]],
    cast: Sequence[Votes] | None,
    lines: Sequence[Mapping[str, SourceLine]] = ({}, {}),
) -> tuple[SourceChange, ...]:
    """Each source before and after: `rules` as plain values by source, `cast` the votes on the same documents.

    `lines` are the sources as fits summarise them; their votes count where there are no common documents.
    """
    changes = []
    for name in dict.fromkeys([*rules[0], *rules[1]]):
        there = [name in side for side in rules]
        known = [side.get(name) for side in lines]
        votes = [None if line is None else line.votes for line in known]
        changed = None
        if cast is not None:
            named = [_named(side, name) for side in cast]
            votes = [
                int(some.any(axis=1).sum()) if here else None
                for some, here in zip(named, there, strict=True)
            ]
            changed = int((named[0] != named[1]).any(axis=1).sum())
        same = rules[0].get(name) == rules[1].get(name)
        changes.append(
            SourceChange(
                source=name,
                kind=_kind(there[0], there[1], same),
                votes_before=votes[0],
                votes_after=votes[1],
                changed=changed,
                reliability_before=None if known[0] is None else known[0].reliability,
                reliability_after=None if known[1] is None else known[1].reliability,
                accuracy_before=_estimate(known[0]),
                accuracy_after=_estimate(known[1]),
            )
        )
    return tuple(changes)


def _estimate(line: SourceLine | None) -> float | None:
    return None if line is None or line.estimated is None else line.estimated.value


def _named(votes: Votes, name: str) -> NDArray[np.bool_]:
    """(n, m): the classes that a source names, several in a partial vote; none where it abstains or is not there."""
    if name not in votes.sources:
        return np.zeros((votes.n, votes.m), np.bool_)
    j = votes.sources.index(name)
    found = np.asarray(votes.hard[:, j, None] == np.arange(votes.m))
    if j in votes.sets:
        found |= votes.sets[j]
    return found


def _shares(model: WeakClassifier) -> str | None:
    """The class shares that a fit used, in words."""
    known = model.summary_.balance
    if known is None:
        return None
    return f"{shares_of(known.classes, known.shares)} ({known.origin.value})"


def _plain(sources: Sources) -> dict[str, Any]:
    return {source.name: source_to_plain(source) for source in sources.sources}


def _rules_of(model: WeakClassifier) -> dict[str, Any]:
    rules = model.fitted.rules
    if rules is None:
        return dict.fromkeys(model.sources_)
    return {source["name"]: source for source in rules.to_plain()["sources"]}


def _kind(before: bool, after: bool, same: bool) -> str:
    if not before:
        return "added"
    if not after:
        return "removed"
    return "same" if same else "edited"


def _differs(change: SourceChange) -> bool:
    counts = change.changed or change.votes_before != change.votes_after
    return change.kind != "same" or bool(counts) or change.moved


def _value(value: object) -> str:
    """A setting as a person reads it.

    >>> _value(None), _value((0.9, 0.1)), _value({"spam": 0.1}), _value("lsa")
    ('not stated', '0.9, 0.1', 'spam 0.1', 'lsa')
    """
    match value:
        case None:
            return "not stated"
        case tuple() | list():
            return ", ".join(map(_value, value))
        case Mapping():
            return ", ".join(f"{key} {_value(one)}" for key, one in value.items())
    return str(value)


def _change(change: SourceChange) -> str:
    if change.kind == "added":
        return f"added, {plural(change.votes_after or 0, 'vote')}"
    if change.kind == "removed":
        return f"removed, {plural(change.votes_before or 0, 'vote')}"
    pieces = ["edited"] if change.kind == "edited" else []
    if change.kind == "edited" or change.changed or change.votes_before != change.votes_after:
        pieces.append(f"votes {change.votes_before or 0:,} -> {change.votes_after or 0:,}")
    if change.changed:
        pieces.append(f"{plural(change.changed, 'vote')} changed")
    if change.trust is not None:
        name, before, after = change.trust
        pieces.append(
            f"{name} {before:.3f} -> {after:.3f}"
            if name == "reliability"
            else f"{name} {before:.1%} -> {after:.1%}"
        )
    return ", ".join(pieces)


def _same_classes(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    if set(old) != set(new):
        raise InputError(
            f"the classes differ ({', '.join(old)}; {', '.join(new)}): compare two states of one task"
        )
