"""Is a project sound, do its rules hold to their own examples, and what does each source cover?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unruly.progress import SILENT, Progress
from unruly.project.blame import blamed_on_its_line
from unruly.project.project import Project
from unruly.project.reading import project_file
from unruly.project.table import Table
from unruly.project.voting import vote_split
from unruly.rules.cache import Cache
from unruly.rules.examples import ExampleFailure
from unruly.votes.summary import Summary


@dataclass(frozen=True)
class LocatedFailure:
    """An example that does not hold, and where it is written."""

    where: str  # file:line
    failure: ExampleFailure

    def __str__(self) -> str:
        return f"{self.where}: {self.failure}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        failure = self.failure
        return {
            "where": self.where,
            "source": failure.source,
            "rule": failure.rule,
            "text": failure.text,
            "counter_example": failure.counter,
        }


@dataclass(frozen=True)
class Checked:
    """What `unruly check` found."""

    summary: Summary
    examples: int  # how many there are, counter-examples included
    failures: tuple[LocatedFailure, ...]

    @property
    def holds(self) -> bool:
        """Whether all examples hold."""
        return not self.failures

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "holds": self.holds,
            "examples": self.examples,
            "failures": [failure.to_plain() for failure in self.failures],
            "summary": self.summary.to_dict(),
        }


def check_project(
    path: str | Path, split: str = "train", progress: Progress = SILENT, cache: Cache | None = None
) -> Checked:
    """Read a project, run its examples, and count its votes on one split."""
    project = Project.read(path)
    rules = [rule for source in project.sources.sources for rule in source.rules]
    with blamed_on_its_line(project):
        failures = _located(project, Table.read(project_file(Path(path))))
    voted = vote_split(project, split, progress, cache)
    return Checked(
        summary=voted.votes.summary(voted.gold),
        examples=sum(len(rule.examples) + len(rule.counter_examples) for rule in rules),
        failures=failures,
    )


def _located(project: Project, file: Table) -> tuple[LocatedFailure, ...]:
    names = project.sources.names
    found = []
    for failure in project.sources.check_examples():
        source = names.index(failure.source)
        rule = project.sources.sources[source].rules[failure.rule - 1]
        key = "counter_examples" if failure.counter else "examples"
        texts = list(rule.counter_examples if failure.counter else rule.examples)
        steps = ("source", source, "rule", failure.rule - 1, key, texts.index(failure.text))
        found.append(LocatedFailure(file.at(*steps), failure))
    return tuple(found)
