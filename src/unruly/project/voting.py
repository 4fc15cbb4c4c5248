"""The votes of one split of a project: asked for, counted, and whether the project is sound.

Large files are read as a stream, never all in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import Where
from unruly.facts import ClassesAlike
from unruly.prior import parse_prior
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.toml_table import Table
from unruly.prompts.asking import Asked, Plan, Stop
from unruly.rules.keywords import Keywords
from unruly.rules.matching import Cache
from unruly.rules.prompt import ask, plans, prompt_of
from unruly.rules.sources import ExampleFailure, RuleCount, Sources
from unruly.texts.corpus import Corpus
from unruly.texts.table import BadRow, BrokenFile
from unruly.texts.wrench import is_wrench
from unruly.votes.summary import Summary, summarise
from unruly.votes.votes import Votes
from unruly.wording import listed, plural

SMALL = 100_000  # documents that are read whole
_MOST_IDLE = 8  # rules that decide nothing which are shown one by one


@dataclass(frozen=True)
class TextCounts:
    """What is odd about the texts themselves."""

    blank: int = 0  # rows without a text
    duplicates: int = 0  # repeat an earlier text
    skipped: tuple[BadRow, ...] = ()  # rows of the file that could not be used
    broken: tuple[BrokenFile, ...] = ()  # files of a folder that could not be read


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
    cache: Cache | None = None,
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
    cache: Cache | None,
    counter: _RuleCounter,
) -> Voted:
    noted = _Noted([corpus], counter)
    (votes,) = [project.sources.vote(batch, progress, cache) for batch in noted]
    return Voted(votes, corpus.gold, noted.counts(), counter.total())


@dataclass(frozen=True, eq=False)
class _RuleCounter:
    """Counts what each rule matches and decides, batch by batch; without sources nothing."""

    sources: Sources | None
    cache: Cache | None
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
            counted = TextCounts(batch.missing_count, skipped=batch.skipped, broken=batch.broken)
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
        )

    def gold(self) -> NDArray[np.int16] | None:
        return np.concatenate(self.golds) if self.golds else None


@dataclass(frozen=True)
class LocatedFailure:
    """An example that does not hold, and where it is written."""

    where: Where
    failure: ExampleFailure

    def __str__(self) -> str:
        return f"{self.where} {self.failure.found}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        failure = self.failure
        return {
            **_plain_place(self.where),
            "text": failure.text,
            "counter_example": failure.counter,
        }


@dataclass(frozen=True)
class IdleRule:
    """A rule without which its source, which does vote, would vote the same on every document."""

    where: Where
    matches: int  # documents; an earlier rule of the source decides on each

    def __str__(self) -> str:
        if not self.matches:
            return f"{self.where} matches no document: correct it, or remove it"
        return (
            f"{self.where} never decides: an earlier rule of the source decides on "
            f"{'the one document' if self.matches == 1 else f'all {self.matches:,} documents'} that it matches; "
            "move it up, or remove it"
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**_plain_place(self.where), "matches": self.matches}


def _plain_place(rule: Where) -> dict[str, Any]:
    """The place of a rule as JSON has it."""
    return {"source": rule.source, "rule": rule.rule, "file": rule.file, "line": rule.line}


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
    alike: tuple[tuple[str, ...], ...] = ()  # groups of classes that no vote tells apart
    idle: tuple[IdleRule, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether all examples hold."""
        return not self.failures

    @property
    def never_vote(self) -> tuple[str, ...]:
        """The sources whose rules match no document."""
        rows = self.summary.sources
        return tuple(row.source for row in rows if row.coverage == 0 and not row.unasked)

    @property
    def not_asked(self) -> tuple[str, ...]:
        """The language models that no document was shown to yet."""
        rows = self.summary.sources
        return tuple(row.source for row in rows if row.coverage == 0 and row.unasked)

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
        """What is wrong, a sentence each, the worst first."""
        return (*self._about_votes(), *self._about_rules(), *self._about_texts())

    def _about_votes(self) -> list[str]:
        """Classes that cannot be learnt."""
        found = []
        if self.not_asked:
            have = "has" if len(self.not_asked) == 1 else "have"
            found.append(
                f"{listed(self.not_asked)} {have} not been asked yet: unruly vote asks, and unruly vote --plan says what "
                "that costs"
            )
        if not self.summary.total.polarity and len(self.not_asked) < len(self.summary.sources):
            found.append(
                "no rule matches any document, so there is nothing to learn from: check the rules, and that "
                "this is the right text column"
            )
        elif self.only_class is not None and not self.not_asked:
            found.append(
                f"all votes are for {self.only_class}, so no other class can be learnt: add rules for "
                f"{listed(self.unnamed)}"
            )
        elif self.unnamed and not self.not_asked:
            found.append(
                f"no vote is for {listed(self.unnamed)}: add rules, for a class without votes is never predicted"
            )
        if self.alike:
            from unruly.model.summary import sentence

            line = sentence(ClassesAlike(self.alike))
            found.append(line[0].lower() + line[1:])
        return found

    def _about_rules(self) -> list[str]:
        """Rules that probably do not do what was meant."""
        found = []
        if self.summary.total.polarity and self.never_vote:
            none = "matches" if len(self.never_vote) == 1 else "match"
            found.append(
                f"{listed(self.never_vote)} {none} no document: check the rules, or remove them"
            )
        found += map(str, self.idle[:_MOST_IDLE])
        if others := len(self.idle[_MOST_IDLE:]):
            decide = "decides" if others == 1 else "decide"
            found.append(f"{plural(others, 'more rule')} {decide} nothing: --json lists all")
        if self.starred:
            source, word = self.starred[0]
            more = f", and {len(self.starred) - 1} more like it" if len(self.starred) > 1 else ""
            found.append(
                f"keyword {word!r} of {source}{more}: a star is taken as it stands; for all words that begin so, write "
                f"pattern = '\\b{word[:-1]}'"
            )
        return [*found, *map(str, self.too_frequent)]

    def _about_texts(self) -> list[str]:
        """The file of documents."""
        found = []
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
        if skipped := len(self.texts.skipped):
            found.append(
                f"{plural(skipped, 'row')} of the file {_are(skipped)} skipped as unusable"
            )
        return [*found, *(f"left out: {file}" for file in self.texts.broken)]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "holds": self.holds,
            "learnable": self.learnable,
            "never_vote": list(self.never_vote),
            "idle_rules": [fact.to_plain() for fact in self.idle],
            "not_asked": list(self.not_asked),
            "disabled": list(self.disabled),
            "only_class": self.only_class,
            "unnamed": list(self.unnamed),
            "no_labels": self.no_labels,
            "starred": [list(pair) for pair in self.starred],
            "alike": [list(group) for group in self.alike],
            "too_frequent": [asdict(fact) for fact in self.too_frequent],
            "texts": {**asdict(self.texts), "skipped": len(self.texts.skipped)},
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
    with project.blamed():
        failures = _located(project)
    voted = vote_split(project, split, progress, cache, count_rules=True)
    return Checked(
        summary=summarise(voted.votes, voted.gold),
        examples=sum(len(rule.examples) + len(rule.counter_examples) for rule in rules),
        failures=failures,
        texts=voted.texts,
        disabled=project.sources.disabled,
        no_labels=project.data.label if voted.gold is None and not _other_files(project) else None,
        starred=tuple(_starred(project)),
        too_frequent=tuple(_too_frequent(project, voted.votes)),
        alike=voted.votes.inseparable(),
        idle=tuple(_idle(project, voted.rules)),
    )


def _idle(project: Project, counts: Iterable[RuleCount]) -> Iterator[IdleRule]:
    """Rules that decide nothing, where another rule of their source does."""
    counts = tuple(counts)
    voting = {count.source for count in counts if count.decides}
    file = _table(project)
    for count in counts:
        if not count.decides and count.source in voting:
            yield IdleRule(_place(project, file, count.source, count.rule), count.matches)


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
    """Whether another file may have the labels: training texts often have none."""
    return project.data.test is not None or project.data.valid is not None


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _located(project: Project) -> tuple[LocatedFailure, ...]:
    by_name = {source.name: source for source in project.sources.sources}
    file = _table(project)
    found = []
    for failure in project.sources.check_examples():
        rule = by_name[failure.source].rules[failure.rule - 1]
        key = "counter_examples" if failure.counter else "examples"
        texts = list(rule.counter_examples if failure.counter else rule.examples)
        keys = (key, texts.index(failure.text))
        found.append(
            LocatedFailure(_place(project, file, failure.source, failure.rule, *keys), failure)
        )
    return tuple(found)


def _table(project: Project) -> Table | None:
    """The project file, where there is one."""
    return None if project.file is None else Table.read(project.file)


def _place(project: Project, file: Table | None, source: str, rule: int, *keys: str | int) -> Where:
    """A rule, or a value under keys of it, with file and line."""
    where = Where(source=source, rule=rule)
    if file is None:
        return where
    return where.within(
        file.where("source", project.sources.index(source), "rule", rule - 1, *keys)
    )


def plan_split(
    project: Project, split: str = "train", cache: Cache | None = None
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
    cache: Cache | None = None,
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
        parts.append("the server knows no schema, so answers were read as plain text")
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
