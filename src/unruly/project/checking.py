"""Is a project sound, do its rules match their own examples, and what does each source cover?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unruly.errors import Where
from unruly.prior import parse_prior
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.toml_table import Table
from unruly.project.voting import TextCounts, blamed_on_its_line, vote_split
from unruly.rules.cache import Cache
from unruly.rules.keywords import Keywords
from unruly.rules.sources import ExampleFailure
from unruly.votes.summary import Summary, summarise
from unruly.votes.votes import Votes
from unruly.wording import listed, plural


@dataclass(frozen=True)
class LocatedFailure:
    """An example that does not hold, and where it is written."""

    where: Where
    failure: ExampleFailure

    def __str__(self) -> str:
        return f"{self.where}: {self.failure}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        failure = self.failure
        return {
            "where": str(self.where),
            "source": failure.source,
            "rule": failure.rule,
            "text": failure.text,
            "counter_example": failure.counter,
        }


@dataclass(frozen=True)
class TooFrequent:
    """A source that votes for a class more than twice as often as the class occurs, by the prior that was stated.

    Were every document of the class among them, still at most `share / votes` of these votes could be right.
    """

    source: str
    label: str
    votes: float  # of the documents
    share: float  # of the class, as stated

    def __str__(self) -> str:
        return (
            f"{self.source} votes for {self.label} on {self.votes:.1%} of the documents, but the prior gives that class "
            f"{self.share:.1%}: at most {self.share / self.votes:.0%} of these votes can be right; make the rule "
            "stricter, or correct the prior"
        )


@dataclass(frozen=True)
class Checked:
    """What `unruly check` found."""

    summary: Summary
    examples: int  # how many there are, counter-examples included
    failures: tuple[LocatedFailure, ...]
    texts: TextCounts = field(default_factory=TextCounts)
    disabled: tuple[str, ...] = ()  # sources that are left out because the file says so
    no_labels: str | None = None  # the label column that is named, where no file has labels in it
    starred: tuple[tuple[str, str], ...] = ()  # (source, keyword): words that end with a star
    too_frequent: tuple[TooFrequent, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all examples hold."""
        return not self.failures

    @property
    def never_vote(self) -> tuple[str, ...]:
        """The sources whose rules match no document."""
        return tuple(row.source for row in self.summary.sources if row.coverage == 0)

    @property
    def only_class(self) -> str | None:
        """The class that all votes name, where there is but one."""
        named = self.summary.total.polarity
        return self.summary.classes[named[0]] if len(named) == 1 else None

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The classes that no vote is for."""
        named = self.summary.total.polarity
        return tuple(name for r, name in enumerate(self.summary.classes) if r not in named)

    @property
    def learnable(self) -> bool:
        """Whether there is anything to learn from: votes, for two classes or more."""
        return len(self.summary.total.polarity) > 1

    @property
    def problems(self) -> tuple[str, ...]:
        """What stands in the way, a sentence each, the worst first."""
        found = []
        if not self.summary.total.polarity:
            found.append(
                "no rule matches any document, so there is nothing to learn from: check the rules, and that "
                "this is the right text column"
            )
        elif self.only_class is not None:
            found.append(
                f"all votes are for {self.only_class}, so no other class can be learnt: add rules for "
                f"{listed(self.unnamed)}"
            )
        elif self.unnamed:
            found.append(
                f"no vote is for {listed(self.unnamed)}: add rules, for a class without votes is never predicted"
            )
        if self.summary.total.polarity and self.never_vote:
            none = "matches" if len(self.never_vote) == 1 else "match"
            found.append(
                f"{listed(self.never_vote)} {none} no document: check the rules, or remove them"
            )
        if self.starred:
            source, word = self.starred[0]
            more = f", and {len(self.starred) - 1} more like it" if len(self.starred) > 1 else ""
            found.append(
                f"keyword {word!r} of {source}{more}: a star is taken as it stands; for all words that begin so, write "
                f"pattern = '\\b{word[:-1]}'"
            )
        found += [str(fact) for fact in self.too_frequent]
        if self.no_labels is not None:
            found.append(
                f"there are no labels in a column {self.no_labels!r}, so nothing is scored: correct label = ... under "
                "[data], or leave it out"
            )
        n = self.summary.documents
        if self.texts.blank:
            found.append(
                f"{self.texts.blank:,} of {plural(n, 'text')} {_are(self.texts.blank)} empty"
            )
        if self.texts.duplicates:
            count = self.texts.duplicates
            found.append(
                f"{count:,} of {plural(n, 'text')} {'repeats' if count == 1 else 'repeat'} an earlier one"
            )
        if self.texts.skipped:
            found.append(
                f"{plural(self.texts.skipped, 'row')} of the file {_are(self.texts.skipped)} skipped as unusable"
            )
        return tuple(found)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "holds": self.holds,
            "learnable": self.learnable,
            "never_vote": list(self.never_vote),
            "disabled": list(self.disabled),
            "only_class": self.only_class,
            "unnamed": list(self.unnamed),
            "no_labels": self.no_labels,
            "starred": [list(pair) for pair in self.starred],
            "too_frequent": [asdict(fact) for fact in self.too_frequent],
            "texts": asdict(self.texts),
            "examples": self.examples,
            "failures": [failure.to_plain() for failure in self.failures],
            "summary": self.summary.to_dict(),
        }


def check_project(
    given: str | Path | Project,
    split: str = "train",
    progress: Progress = SILENT,
    cache: Cache | None = None,
) -> Checked:
    """Read a project, run its examples, and count its votes on one split."""
    project = given if isinstance(given, Project) else Project.read(given)
    rules = [rule for source in project.sources.sources for rule in source.rules]
    with blamed_on_its_line(project):
        failures = _located(project)
    voted = vote_split(project, split, progress, cache)
    return Checked(
        summary=summarise(voted.votes, voted.gold),
        examples=sum(len(rule.examples) + len(rule.counter_examples) for rule in rules),
        failures=failures,
        texts=voted.texts,
        disabled=project.sources.disabled,
        no_labels=project.data.label if voted.gold is None and not _other_files(project) else None,
        starred=tuple(_starred(project)),
        too_frequent=tuple(_too_frequent(project, voted.votes)),
    )


def _too_frequent(project: Project, votes: Votes) -> Iterator[TooFrequent]:
    stated = parse_prior(project.prior, project.classes)
    if stated is None or stated.of_votes:
        return
    for c, share in enumerate(stated.shares):
        if c in stated.left_open:
            continue
        often = (votes.hard == c).mean(axis=0)  # (k,)
        for j in np.flatnonzero(often > 2 * share):
            if (name := votes.sources[j]) not in votes.soft:
                yield TooFrequent(name, project.classes[c], float(often[j]), share)


def _starred(project: Project) -> Iterator[tuple[str, str]]:
    """Keywords such as crash*: in other tools the star stands for any letters."""
    for source in project.sources.sources:
        for rule in source.rules:
            words = rule.when.words if isinstance(rule.when, Keywords) else ()
            yield from ((source.name, word) for word in words if re.fullmatch(r"\w+\*", word))


def _other_files(project: Project) -> bool:
    """Whether labels may stand in a file of their own: training texts often have none."""
    return project.data.test is not None or project.data.valid is not None


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _located(project: Project) -> tuple[LocatedFailure, ...]:
    by_name = {source.name: source for source in project.sources.sources}
    file = None if project.file is None else Table.read(project.file)
    found = []
    for failure in project.sources.check_examples():
        rule = by_name[failure.source].rules[failure.rule - 1]
        key = "counter_examples" if failure.counter else "examples"
        texts = list(rule.counter_examples if failure.counter else rule.examples)
        source = project.sources.index(failure.source)
        steps = ("source", source, "rule", failure.rule - 1, key, texts.index(failure.text))
        where = Where(source=failure.source, rule=failure.rule)
        if file is not None:
            where = file.where(*steps)
        found.append(LocatedFailure(where, failure))
    return tuple(found)
