"""What changed between two states of the rules, or between two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unruly.errors import InputError
from unruly.model.wording import shares_of
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.voting import blamed_on_its_line
from unruly.rules.cache import Cache
from unruly.rules.plain import source_to_plain
from unruly.rules.sources import Sources
from unruly.votes.votes import Votes
from unruly.wording import plural

_MOVED = 0.005  # of a reliability: what is shown as a change

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.texts.corpus import Corpus


@dataclass(frozen=True)
class SourceChange:
    """One source before and after. Votes are on the same documents; None where the source is not there."""

    source: str
    kind: str  # "added", "removed", "edited", "same"
    votes_before: int | None
    votes_after: int | None
    changed: int  # documents on which it votes otherwise
    reliability_before: float | None = None
    reliability_after: float | None = None

    @property
    def moved(self) -> bool:
        """Whether the votes are as before, but the reliability is another."""
        before, after = self.reliability_before, self.reliability_after
        return before is not None and after is not None and abs(before - after) >= _MOVED

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(vars(self))


@dataclass(frozen=True)
class Difference:
    """What changed, source by source and for the documents as a whole."""

    sources: tuple[SourceChange, ...]
    documents: int
    covered_before: int
    covered_after: int
    labels: int | None  # documents with another label: of two models, or of majority vote
    settings: Mapping[str, tuple[Any, Any]]  # what else differs, by name: before, after

    @property
    def same(self) -> bool:
        """Whether nothing changed."""
        return not any(map(_differs, self.sources)) and not self.labels and not self.settings

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "sources": [change.to_plain() for change in self.sources],
            "documents": self.documents,
            "covered_before": self.covered_before,
            "covered_after": self.covered_after,
            "labels": self.labels,
            "settings": {name: list(pair) for name, pair in self.settings.items()},
        }

    def __str__(self) -> str:
        if self.same:
            return "nothing changed"
        lines = [f"{c.source}: {_change(c)}" for c in self.sources if _differs(c)]
        lines += [f"{name}: {before} -> {after}" for name, (before, after) in self.settings.items()]
        if self.covered_before != self.covered_after:
            lines.append(
                f"documents with votes: {self.covered_before:,} -> {self.covered_after:,} of {self.documents:,}"
            )
        if self.labels is not None:
            lines.append(
                f"{plural(self.labels, 'document')} of {self.documents:,} get{'s' if self.labels == 1 else ''} another label"
            )
        return "\n".join(lines)


def compare_projects(
    old: Project, new: Project, split: str = "train", progress: Progress = SILENT
) -> Difference:
    """The rules of two projects on the new one's documents; labels are those of majority vote."""
    _same_classes(old.classes, new.classes)
    corpus = new.corpus(split)
    cast = []
    for project in (old, new):
        with blamed_on_its_line(project):
            cast.append(project.sources.vote(corpus, progress, Cache.default()))
    before, after = cast
    settings = {
        name: (getattr(old, name), getattr(new, name))
        for name in ("prior", "encoder", "method", "seed", "settings")
        if getattr(old, name) != getattr(new, name)
    }
    winners = [_winner(votes) for votes in cast]
    return Difference(
        sources=_changes(old.sources, new.sources, before, after),
        documents=after.n,
        covered_before=int(before.covered.sum()),
        covered_after=int(after.covered.sum()),
        labels=int((winners[0] != winners[1]).sum()),
        settings=settings,
    )


def compare_models(
    old: WeakClassifier, new: WeakClassifier, corpus: Corpus | None = None
) -> Difference:
    """Two models: their rules, reliabilities and settings; with documents, the labels that differ."""
    _same_classes(old.class_names, new.class_names)
    lines = [{line.name: line for line in model.summary_.sources} for model in (old, new)]
    before, after = lines
    plain = [_rules_of(model) for model in (old, new)]
    changes = []
    for name in dict.fromkeys([*before, *after]):
        first, second = before.get(name), after.get(name)
        same = plain[0].get(name) == plain[1].get(name)
        changes.append(
            SourceChange(
                source=name,
                kind=_kind(name in before, name in after, same),
                votes_before=first.votes if first else None,
                votes_after=second.votes if second else None,
                changed=abs((second.votes if second else 0) - (first.votes if first else 0)),
                reliability_before=first.reliability if first else None,
                reliability_after=second.reliability if second else None,
            )
        )
    labels = None
    if corpus is not None:
        answers = [np.array(model.predictions(corpus).labels) for model in (old, new)]
        labels = int((answers[0] != answers[1]).sum())
    pairs = {
        "method": (old.summary_.method, new.summary_.method),
        "encoder": (old.summary_.encoder, new.summary_.encoder),
        "seed": (old.seed, new.seed),
        "training documents": (old.summary_.documents, new.summary_.documents),
        "class shares": (_shares(old), _shares(new)),
        "gold labels": (
            str(old.ledger_).removeprefix("gold labels: "),
            str(new.ledger_).removeprefix("gold labels: "),
        ),
    }
    settings = [model.settings_.to_plain() for model in (old, new)]
    pairs |= {
        key: (settings[0].get(key), settings[1].get(key)) for key in {**settings[0], **settings[1]}
    }
    return Difference(
        sources=tuple(changes),
        documents=new.summary_.documents if corpus is None else len(corpus),
        covered_before=old.summary_.covered,
        covered_after=new.summary_.covered,
        labels=labels,
        settings={name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
    )


def _changes(old: Sources, new: Sources, before: Votes, after: Votes) -> tuple[SourceChange, ...]:
    plain = [{s.name: source_to_plain(s) for s in sources.sources} for sources in (old, new)]
    found = []
    for name in dict.fromkeys([*plain[0], *plain[1]]):
        columns = [
            votes.matrix[:, votes.sources.index(name)] if name in votes.sources else None
            for votes in (before, after)
        ]
        silent = np.full(after.n, -1)
        first, second = (silent if column is None else column for column in columns)
        found.append(
            SourceChange(
                source=name,
                kind=_kind(
                    name in plain[0], name in plain[1], plain[0].get(name) == plain[1].get(name)
                ),
                votes_before=None if columns[0] is None else int((first >= 0).sum()),
                votes_after=None if columns[1] is None else int((second >= 0).sum()),
                changed=int((first != second).sum()),
            )
        )
    return tuple(found)


def _shares(model: WeakClassifier) -> str | None:
    """The class shares that a fit used, in words."""
    known = model.summary_.balance
    return (
        None
        if known is None
        else f"{shares_of(known.classes, known.shares)} ({known.origin.value})"
    )


def _rules_of(model: WeakClassifier) -> dict[str, Any]:
    rules = model._fitted().rules
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
    return change.kind != "same" or bool(change.changed) or change.moved


def _change(change: SourceChange) -> str:
    if change.kind == "added":
        return f"added, {plural(change.votes_after or 0, 'vote')}"
    if change.kind == "removed":
        return f"removed, {plural(change.votes_before or 0, 'vote')}"
    pieces = ["edited"] if change.kind == "edited" else []
    if change.kind == "edited" or change.changed:
        pieces.append(f"votes {change.votes_before or 0:,} -> {change.votes_after or 0:,}")
    if change.changed:
        pieces.append(f"{plural(change.changed, 'vote')} changed")
    if change.reliability_before is not None and change.reliability_after is not None:
        pieces.append(
            f"reliability {change.reliability_before:.3f} -> {change.reliability_after:.3f}"
        )
    return ", ".join(pieces)


def _winner(votes: Votes) -> np.ndarray[Any, np.dtype[np.int64]]:
    """(n,): the class with most votes, -1 where there is none or several tie."""
    counts = votes.counts()
    best = counts.max(axis=1, keepdims=True)
    tied = (counts == best).sum(axis=1) > 1
    return np.where(votes.covered & ~tied, counts.argmax(axis=1), -1)


def _same_classes(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    if set(old) != set(new):
        raise InputError(
            f"the classes differ ({', '.join(old)}; {', '.join(new)}): compare two states of one task"
        )
