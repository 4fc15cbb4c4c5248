"""The votes of one split of a project: asked for, counted, and whether the project is sound.

Large files are read as a stream, never all in memory.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import Where
from unruly.findings import (
    BlankTexts,
    ClassesAlike,
    ClassesWithoutVotes,
    DocumentsUnasked,
    ExampleFailure,
    Finding,
    IdleRule,
    NoLabels,
    NoVotes,
    OneClassVoted,
    RepeatedTexts,
    SharesAgainstVotes,
    SilentSource,
    StarredKeyword,
    UnspacedKeywords,
    finding_to_plain,
)
from unruly.labelling.answers import Labelled, problem_lines, problems_to_plain
from unruly.labelmodels.majority_vote import commonest_class
from unruly.prior import parse_prior
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.toml import Table
from unruly.prompts.asking import Asked, Plan, Stop
from unruly.rules.keywords import Keywords
from unruly.rules.matching import VoteCache
from unruly.rules.prompt import ask, plans, prompt_of
from unruly.rules.sources import RuleCount, Sources
from unruly.sentences import sentences
from unruly.texts.corpus import Corpus
from unruly.texts.table import BadRow, BrokenFile, row_remarks
from unruly.texts.wrench import is_wrench
from unruly.votes.summary import Summary, summarise
from unruly.votes.votes import Votes
from unruly.wording import listed, plural

SMALL = 100_000  # documents that are read whole


@dataclass(frozen=True)
class TextCounts:
    """What is odd about the texts themselves."""

    blank: int = 0  # rows without a text
    duplicates: int = 0  # repeat an earlier text
    skipped: tuple[BadRow, ...] = ()  # rows of the file that could not be used
    broken: tuple[BrokenFile, ...] = ()  # files of a folder that could not be read
    column: str | None = None  # that they stood in, where known


@dataclass(frozen=True, eq=False)
class Voted:
    """Votes, and the gold labels of the same documents where the file has them."""

    votes: Votes
    gold: NDArray[np.int16] | None  # (n,), -1 where unknown
    texts: TextCounts
    rules: tuple[RuleCount, ...] = ()  # of sources with several, where they were to be counted


def vote_split(
    project: Project,
    split: str = "train",
    progress: Progress = SILENT,
    cache: VoteCache | None = None,
    *,
    count_rules: bool = False,
) -> Voted:
    """Match all rules against all documents of a split, in the order of the file."""
    with project.blamed():
        counter = _RuleCounter(project.sources if count_rules else None, cache)
        if is_wrench(project.data.path(split, project.folder)):
            return _whole(project, project.corpus(split), progress, cache, counter)
        stream = project.scan(split)
        if stream.rows is not None and stream.rows <= SMALL:
            return _whole(project, stream.read(progress), progress, cache, counter)
        noted = _Noted(stream, counter)
        parts = list(project.sources.vote_stream(noted, progress, cache, stream.rows))
        if not parts:
            return _whole(project, stream.read(), progress, cache, counter)
        return Voted(Votes.concat(parts), noted.gold(), noted.counts(), counter.total())


def _whole(
    project: Project,
    corpus: Corpus,
    progress: Progress,
    cache: VoteCache | None,
    counter: _RuleCounter,
) -> Voted:
    noted = _Noted([corpus], counter)
    (votes,) = [project.sources.vote(batch, progress, cache) for batch in noted]
    return Voted(votes, corpus.gold, noted.counts(), counter.total())


@dataclass(frozen=True, eq=False)
class _RuleCounter:
    """Counts what each rule matches and decides, batch by batch; without sources nothing."""

    sources: Sources | None
    cache: VoteCache | None
    batches: list[tuple[RuleCount, ...]] = field(default_factory=list)

    def add(self, batch: Corpus) -> None:
        if self.sources is not None:
            self.batches.append(self.sources.rule_counts(batch, self.cache))

    def total(self) -> tuple[RuleCount, ...]:
        return tuple(
            replace(
                of_one[0],
                matches=sum(count.matches for count in of_one),
                decides=sum(count.decides for count in of_one),
            )
            for of_one in zip(*self.batches, strict=True)
        )


@dataclass(frozen=True, eq=False)
class _Noted:
    """Passes batches on, and keeps their gold labels and what is odd about their texts.

    Rules are counted in a batch after it was voted on, so that an error in a rule is the voting's.
    """

    batches: Iterable[Corpus]
    counter: _RuleCounter
    golds: list[NDArray[np.int16]] = field(default_factory=list)
    digests: list[NDArray[np.uint64]] = field(default_factory=list)
    odd: list[TextCounts] = field(default_factory=list)

    def __iter__(self) -> Iterator[Corpus]:
        for batch in self.batches:
            if batch.gold is not None:
                self.golds.append(batch.gold)
            texts = batch.texts.filter(batch.texts != "")
            self.digests.append(texts.hash().to_numpy())
            counted = TextCounts(
                batch.missing_count,
                skipped=batch.skipped,
                broken=batch.broken,
                column=batch.text_column,
            )
            self.odd.append(counted)
            yield batch
            self.counter.add(batch)

    def counts(self) -> TextCounts:
        digests = np.concatenate(self.digests) if self.digests else np.empty(0, np.uint64)
        return TextCounts(
            blank=sum(part.blank for part in self.odd),
            duplicates=len(digests) - len(np.unique(digests)),
            skipped=tuple(bad for part in self.odd for bad in part.skipped),
            broken=tuple(bad for part in self.odd for bad in part.broken),
            column=self.odd[0].column if self.odd else None,
        )

    def gold(self) -> NDArray[np.int16] | None:
        return np.concatenate(self.golds) if self.golds else None


@dataclass(frozen=True)
class Checked:
    """What `unruly check` found."""

    summary: Summary
    examples: int  # how many there are, counter-examples included
    failures: tuple[ExampleFailure, ...]
    findings: tuple[Finding, ...] = ()  # the worst first
    texts: TextCounts = field(default_factory=TextCounts)
    disabled: tuple[str, ...] = ()  # sources that are left out because the file says so
    project: Path | None = None  # where it is, for commands that name it
    labels: Labelled | None = None  # by hand, that the sources were scored against

    @property
    def holds(self) -> bool:
        """Whether all examples hold."""
        return not self.failures

    @property
    def learnable(self) -> bool:
        """Whether there is anything to learn from: votes, for two classes or more."""
        return len(self.summary.total.polarity) > 1

    def lines(self) -> list[str]:
        """What a person reads of it, without the failures of examples."""
        return [
            *sentences(self.findings, self.project),
            *row_remarks(self.texts.skipped, broken=self.texts.broken),
            *(
                problem_lines(self.labels.problems, self.labels.origin, self.project)
                if self.labels
                else ()
            ),
        ]

    def scored_line(self) -> str | None:
        """What the sources were scored against, where those are labels by hand."""
        if self.labels is None or not self.labels.labels:
            return None
        return f"Correct and Incorrect: votes on documents with a label, of which {self.labels.origin} has {self.labels.labels:,}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "holds": self.holds,
            "learnable": self.learnable,
            "disabled": list(self.disabled),
            "findings": [finding_to_plain(found) for found in self.findings],
            "texts": {**asdict(self.texts), "skipped": len(self.texts.skipped)},
            "examples": self.examples,
            "failures": [finding_to_plain(failure) for failure in self.failures],
            "labels": None
            if self.labels is None
            else {
                "file": self.labels.origin,
                "labels": self.labels.labels,
                "problems": problems_to_plain(self.labels.problems, self.labels.origin),
            },
            "summary": self.summary.to_dict(),
        }


def check_project(
    given: str | Path | Project,
    split: str = "train",
    progress: Progress = SILENT,
    cache: VoteCache | None = None,
) -> Checked:
    """Read a project, run its examples, and count its votes on one split."""
    project = given if isinstance(given, Project) else Project.read(given)
    rules = [rule for source in project.sources.sources for rule in source.rules]
    with project.blamed():
        failures = _located(project)
    voted = vote_split(project, split, progress, cache, count_rules=True)
    commonest = None
    if split != "train" and voted.gold is not None and project.data.train is not None:
        commonest = commonest_class(vote_split(project, "train", progress, cache).votes)
    by_hand = project.labels(voted.votes) if split == "train" and voted.gold is None else None
    if by_hand is not None and not (by_hand.labels or by_hand.problems):
        by_hand = None  # there are none yet
    summary = summarise(voted.votes, voted.gold, commonest)
    if by_hand is not None and by_hand.labels:
        scored = summarise(voted.votes, by_hand.numbers)
        # Of majority vote, the share that is right would be that of the documents people were asked about.
        summary = replace(scored, majority=summary.majority)
    return Checked(
        summary=summary,
        examples=sum(len(rule.examples) + len(rule.counter_examples) for rule in rules),
        failures=failures,
        findings=(
            *_about_votes(voted.votes, summary.total.polarity, voted.texts.column),
            *_about_sources(voted.votes, summary.total.polarity),
            *_idle(project, voted.rules),
            *_starred(project),
            *_unspaced(project),
            *_too_frequent(project, voted.votes),
            *_about_texts(project, voted),
        ),
        texts=voted.texts,
        disabled=project.sources.disabled,
        project=project.address,
        labels=by_hand,
    )


def _about_votes(votes: Votes, named: Collection[int], column: str | None) -> Iterator[Finding]:
    """Sources that were not asked yet, and classes that cannot be learnt; `named` are those with votes."""
    unasked = [name for name in votes.sources if _waits(votes, name)]
    for name in unasked:
        yield DocumentsUnasked(name, int(votes.unasked[name].sum()), votes.n)
    without = _without(votes, named)
    if not named:
        if len(unasked) < votes.k:
            yield NoVotes(column)
    elif len(named) == 1 and not unasked:
        yield OneClassVoted(votes.classes[next(iter(named))], without)
    elif without and not unasked:
        yield ClassesWithoutVotes(without)
    if groups := votes.inseparable():
        yield ClassesAlike(groups)


def _without(votes: Votes, named: Collection[int]) -> tuple[str, ...]:
    """The classes that no vote names."""
    return tuple(name for c, name in enumerate(votes.classes) if c not in named)


def _about_sources(votes: Votes, named: Collection[int]) -> Iterator[Finding]:
    """Sources that never vote, where others do."""
    if votes.covered.any():
        for j, name in enumerate(votes.sources):
            if not votes.voted[:, j].any() and not _waits(votes, name):
                yield SilentSource(name, _without(votes, named))


def _waits(votes: Votes, name: str) -> bool:
    """Whether a source has no vote yet, and was not asked about everything."""
    missing = votes.unasked.get(name)
    silent = not votes.voted[:, votes.sources.index(name)].any()
    return silent and missing is not None and bool(missing.any())


def _about_texts(project: Project, voted: Voted) -> Iterator[Finding]:
    if voted.gold is None and project.data.label is not None and not _other_files(project):
        yield NoLabels(project.data.label)
    n, texts = voted.votes.n, voted.texts
    if texts.blank:
        yield BlankTexts(texts.blank, n)
    if texts.duplicates:
        yield RepeatedTexts(texts.duplicates, n)


def _idle(project: Project, counts: Iterable[RuleCount]) -> Iterator[IdleRule]:
    """Rules that decide nothing, where another rule of their source does."""
    counts = tuple(counts)
    voting = {count.source for count in counts if count.decides}
    file = _table(project)
    for count in counts:
        if not count.decides and count.source in voting:
            place = _place(project, file, Where(source=count.source, rule=count.rule))
            yield IdleRule(place, count.matches)


def _too_frequent(project: Project, votes: Votes) -> Iterator[SharesAgainstVotes]:
    """Sources that vote for a class more than twice as often as it occurs, by the prior that was stated."""
    stated = parse_prior(project.prior, project.classes)
    if stated is None or stated.of_votes:
        return
    for c, share in enumerate(stated.shares):
        if c in stated.left_open:
            continue
        often = (votes.hard == c).mean(axis=0)  # (k,)
        for j in np.flatnonzero(often > 2 * share):
            if (name := votes.sources[j]) not in votes.soft:
                yield SharesAgainstVotes(project.classes[c], share, float(often[j]), name)


def _starred(project: Project) -> Iterator[StarredKeyword]:
    for source in project.sources.sources:
        for rule in source.rules:
            words = rule.when.words if isinstance(rule.when, Keywords) else ()
            starred = [word for word in words if re.fullmatch(r"\w+\*", word)]
            yield from (StarredKeyword(source.name, word) for word in starred)


def _unspaced(project: Project) -> Iterator[UnspacedKeywords]:
    """Words of Chinese, Thai and the like that are looked for as whole words, by source."""
    from unruly.features.lsa import UNSPACED

    edges = rf"^{UNSPACED}|{UNSPACED}$"
    for source in project.sources.sources:
        lists = [rule.when for rule in source.rules if isinstance(rule.when, Keywords)]
        whole = [word for one in lists if one.match == "word" for word in one.words]
        words = pl.Series(whole, dtype=pl.String)
        if found := words.filter(words.str.contains(edges)).to_list():
            yield UnspacedKeywords(source.name, tuple(found))


def _other_files(project: Project) -> bool:
    """Whether another file may have the labels: training texts often have none."""
    return project.data.test is not None or project.data.valid is not None


def _located(project: Project) -> tuple[ExampleFailure, ...]:
    """The examples that do not hold, with file and line."""
    by_name = {source.name: source for source in project.sources.sources}
    file = _table(project)
    found = []
    for failure in project.sources.check_examples():
        where, counter = failure.where, failure.counter_example
        assert where.source is not None
        assert where.rule is not None
        rule = by_name[where.source].rules[where.rule - 1]
        key = "counter_examples" if counter else "examples"
        texts = list(rule.counter_examples if counter else rule.examples)
        place = _place(project, file, where, key, texts.index(failure.text))
        found.append(replace(failure, where=place))
    return tuple(found)


def _table(project: Project) -> Table | None:
    """The project file, where there is one."""
    return None if project.file is None else Table.read(project.file)


def _place(project: Project, file: Table | None, rule: Where, *keys: str | int) -> Where:
    """A rule, or a value under keys of it, with file and line."""
    if file is None or rule.source is None or rule.rule is None:
        return rule
    index = project.sources.index(rule.source)
    return rule.within(file.where("source", index, "rule", rule.rule - 1, *keys))


def plan_split(
    project: Project, split: str = "train", cache: VoteCache | None = None
) -> tuple[Plan, ...]:
    """What asking would send and cost; nothing is read where no source is a language model."""
    if not _asks(project):
        return ()
    with project.blamed():
        return plans(project.sources, project.corpus(split), cache)


def ask_split(
    project: Project,
    split: str = "train",
    progress: Progress = SILENT,
    cache: VoteCache | None = None,
) -> tuple[Asked, ...]:
    """Ask the language models of a project about one split, within their budgets."""
    if not _asks(project):
        return ()
    with project.blamed():
        return ask(project.sources, project.corpus(split), progress, cache)


def asked_line(asked: Asked) -> str:
    """The outcome of asking one source, in a line."""
    parts = [f"{plural(asked.answered, 'answer')} received", f"{asked.cached:,} known before"]
    if asked.unasked:
        parts.append(f"{asked.unasked:,} not asked {_why_unasked(asked)} to go on")
    if asked.unreadable:
        parts.append(
            f"{plural(len(asked.unreadable), 'answer')} that cannot be read, such as {asked.unreadable[0][:60]!r}"
        )
    if asked.cut_short:
        parts.append(f"{asked.cut_short:,} of them still reasoning at max_tokens: raise it")
    if asked.models:
        parts.append(f"answered by {listed(asked.models)}")
    if "response_format" in asked.without:
        parts.append(
            "the server does not support response schemas, so answers were read as plain text"
        )
    if "temperature" in asked.without:
        parts.append("the server refuses temperature 0, so another run could answer differently")
    return f"{asked.source}: {', '.join(parts)}"


def _why_unasked(asked: Asked) -> str:
    match asked.stopped:
        case Stop.BUDGET:
            return "(the budget is spent); raise it"
        case Stop.TIME:
            return "(the time limit is reached); run again"
        case _:
            return f"({asked.problem}); run again"


def _asks(project: Project) -> bool:
    return any(prompt_of(source) is not None for source in project.sources.sources)
