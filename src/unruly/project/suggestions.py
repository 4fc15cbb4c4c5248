"""New rules for a project and the critique of the old ones: found, placed, then accepted into `unruly.toml` or refused.

An accepted rule or remedy is an edit of the project file, from text to text, with comments and layout kept. Refusals are
kept in `refused.jsonl` in the project's folder, a JSON object a line: a rule's class and condition, or a remedy.
What was shown last is kept in the cache folder, so that it can be decided by its number at once, and only as long as
the project file is the one that it was made for.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.files import cache_folder, written_whole
from unruly.findings import Critique, Note, SharesAgainstVotes, finding_to_plain
from unruly.model.candidates import SHAPES, likely_gold
from unruly.model.critique import (
    DisableSource,
    DropWord,
    MergeSource,
    Remedy,
    VoteJudge,
    critique_rules,
    remedy_from_plain,
    remedy_of,
    remedy_to_plain,
)
from unruly.model.suggestions import Refused, RuleSuggestion, suggest_rules
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress
from unruly.project.editing import (
    ProjectText,
    add_source,
    add_words,
    drop_words,
    merge_source,
    source_names,
    switch_source,
    write_edit,
)
from unruly.project.project import Project
from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, rule_to_plain, source_from_plain
from unruly.rules.tools import Length
from unruly.statistics import Share
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import free_name, listed

if TYPE_CHECKING:
    from unruly.labelling.answers import Labelled
    from unruly.model.predictions import Predictions
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.project.proposals import Proposals

REST = "(documents without votes)"  # the source that stands in for a class without rules
LIST = 3  # words from which a source is a list of its kind, and not a rule for these words
TOGETHER = 0.1  # cosine of a word's documents and a list's, from which the word goes into the list


@dataclass(frozen=True)
class Suggestions:
    """What `unruly suggest` found."""

    suggestions: tuple[RuleSuggestion, ...]
    places: tuple[Place, ...]  # of the suggestions
    critique: tuple[Critique, ...]  # without that whose remedy was refused
    fitted_now: bool  # by a model that was fitted for this and not saved; else by the one named
    labels: int  # true labels that both rankings used
    stand_in: str | None  # the class without rules that documents without votes stand in for
    proposals: Proposals | None = None  # where a language model was asked for rules
    notes: tuple[Note, ...] = ()  # the model's class shares, and what speaks against them
    likely_gold: str | None = None  # the column that holds gold by its name, and that no rule reads

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "suggestions": [
                {"number": i, **one.to_plain(), "into": vars(place)}
                for i, (one, place) in enumerate(
                    zip(self.suggestions, self.places, strict=True), start=1
                )
            ],
            "critique": self._plain_critique(),
            "fitted_now": self.fitted_now,
            "labels": self.labels,
            "stand_in": self.stand_in,
            "likely_gold": self.likely_gold,
            "notes": [finding_to_plain(note) for note in self.notes],
            "proposals": None if self.proposals is None else self.proposals.to_plain(),
        }

    @property
    def new_rules(self) -> tuple[NewRule, ...]:
        """The suggested rules in their places."""
        pairs = zip(self.suggestions, self.places, strict=True)
        return tuple(NewRule(one.rule, place) for one, place in pairs)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What can be accepted or refused, in the order of the numbers from 1."""
        return (*self.new_rules, *(remedy for _, remedy in self.remedies))

    @property
    def remedies(self) -> tuple[tuple[int, Remedy], ...]:
        """What can be done about the critique, by the numbers that follow those of the suggestions."""
        found = (remedy for one in self.critique if (remedy := remedy_of(one)) is not None)
        return tuple(enumerate(found, start=len(self.suggestions) + 1))

    def _plain_critique(self) -> list[dict[str, Any]]:
        numbers = {remedy: number for number, remedy in self.remedies}
        plain = []
        for one in self.critique:
            remedy = remedy_of(one)
            action = (
                {"number": None, "remedy": None}
                if remedy is None
                else {"number": numbers[remedy], "remedy": remedy_to_plain(remedy)}
            )
            plain.append({**finding_to_plain(one), **action})
        return plain


@dataclass(frozen=True, eq=False)
class Judged:
    """Training documents, their votes, and what a model makes of them."""

    corpus: Corpus
    votes: Votes  # of the rules as they are now
    judge: VoteJudge  # with the model's answers (n, m), by its own rules
    labels: Labelled | None  # by hand, where there are any
    notes: tuple[Note, ...]  # the model's class shares, and what speaks against them
    fitted_now: bool = False
    stand_in: str | None = None


def suggest(
    project: Project,
    n: int = 20,
    model: WeakClassifier | None = None,
    progress: Progress = SILENT,
) -> Suggestions:
    """New rules for a project, by a model or by one that is fitted now, and what is wrong with the old ones."""
    return ranked(project, judge(project, model, progress), n, progress=progress)


def suggest_on(
    project: Project,
    corpus: Corpus,
    votes: Votes,
    model: WeakClassifier | None,
    n: int = 20,
    progress: Progress = SILENT,
) -> Suggestions:
    """The same on documents that are already read; without a model, one is fitted for this."""
    judged = judge_on(project, corpus, votes, model, progress)
    return ranked(project, judged, n, progress=progress)


def judge(
    project: Project, model: WeakClassifier | None = None, progress: Progress = SILENT
) -> Judged:
    """The training documents of a project, judged by a model, or by one that is fitted now."""
    read_refused(project.folder)  # a damaged file is reported before the work
    corpus = project.corpus("train")
    votes = project.vote(corpus, progress)
    if model is not None:
        project.check_model(model)
    return judge_on(project, corpus, votes, model, progress)


def judge_on(
    project: Project,
    corpus: Corpus,
    votes: Votes,
    model: WeakClassifier | None,
    progress: Progress = SILENT,
) -> Judged:
    """The same on documents that are already read."""
    labels = _labels(project, corpus)
    if model is not None:
        by = model.judge(model.predictions(corpus, progress=progress))
        return Judged(corpus, votes, by, labels, _share_notes(model.summary_))
    model, answers, stand_in = fitted_now(project, corpus, votes, labels, progress)
    if stand_in is None:
        by = model.judge(answers)
    else:  # its votes are not the project's
        by = VoteJudge.of(answers.proba, votes, None, model.summary_)
    notes = _share_notes(model.summary_)
    return Judged(corpus, votes, by, labels, notes, fitted_now=True, stand_in=stand_in)


def ranked(
    project: Project,
    judged: Judged,
    n: int = 20,
    proposals: Proposals | None = None,
    progress: Progress = SILENT,
) -> Suggestions:
    """The best of what was proposed, or of what is found in the texts; and the critique of the old rules."""
    corpus, votes, judge = judged.corpus, judged.votes, judged.judge
    labels = None if judged.labels is None else judged.labels.numbers
    refused = read_refused(project.folder)
    found = suggest_rules(
        corpus,
        votes,
        judge.posteriors,
        n=n,
        rules=project.sources,
        labels=labels,
        refused=[one for one in refused if isinstance(one, Refused)],
        candidates=None if proposals is None else proposals.rules,
        progress=progress,
    )
    texts = corpus.texts.to_list()
    critique = critique_rules(votes, judge, texts=texts, rules=project.sources, labels=labels)
    return Suggestions(
        suggestions=found,
        places=_places(found, project, corpus, votes, judge.accuracies(votes)),
        critique=tuple(one for one in critique if remedy_of(one) not in refused),
        fitted_now=judged.fitted_now,
        labels=0 if judged.labels is None else judged.labels.labels,
        stand_in=judged.stand_in,
        proposals=proposals,
        notes=judged.notes,
        likely_gold=likely_gold(corpus),
    )


def _labels(project: Project, corpus: Corpus) -> Labelled | None:
    """People's labels of the training documents, where there are any. Never the gold column."""
    found = project.labels(corpus)
    return found if found.labels else None


def fitted_now(
    project: Project,
    corpus: Corpus,
    votes: Votes,
    labels: Labelled | None,
    progress: Progress = SILENT,
) -> tuple[WeakClassifier, Predictions, str | None]:
    """A model that is fitted for this, its predictions, and the class without rules that has a stand-in.

    Where all classes but one have votes, documents without votes stand in for that one: as votes of a weak
    source, so that words which known classes lack can be found for it.
    """
    named = np.unique(votes.matrix[votes.voted])
    if labels is not None:
        named = np.union1d(named, labels.numbers[labels.numbers != UNKNOWN])
    absent = sorted(set(range(votes.m)) - set(named.tolist()))
    if not len(named):
        raise InputError(
            "no rule matches any document, so nothing can be suggested: write one rule for each class first, its "
            "name as a keyword will do"
        )
    if votes.m - len(absent) < 2 and len(absent) != 1:
        raise InputError(
            f"all votes are for {votes.classes[int(named[0])]}, and nothing is known of "
            f"{listed(votes.classes[r] for r in absent)}: write one rule for each class but one"
        )
    stand_in = absent[0] if len(absent) == 1 else None
    cast = votes if stand_in is None else with_stand_in(votes, stand_in)
    model = project.classifier().set_params(keep_documents=0)
    model.fit(corpus, cast, clean=labels, progress=progress)
    answers = model.predictions(corpus, cast)
    return model, answers, None if stand_in is None else votes.classes[stand_in]


def with_stand_in(votes: Votes, r: int) -> Votes:
    """The votes with one more source, which votes for class r wherever no other votes."""
    rest = np.where(votes.covered, ABSTAIN, r).astype(np.int8)
    return replace(
        votes,
        matrix=np.column_stack([votes.matrix, rest]),
        sources=(*votes.sources, REST),
        provenance=None,
    )


def _share_notes(summary: FitSummary) -> tuple[Note, ...]:
    """What all estimates rest on, and what speaks against it."""
    balance = () if summary.balance is None else (summary.balance,)
    return (*balance, *(note for note in summary.notes if isinstance(note, SharesAgainstVotes)))


def _places(
    found: Sequence[RuleSuggestion],
    project: Project,
    corpus: Corpus,
    votes: Votes,
    accuracies: Sequence[Share | None],
) -> tuple[Place, ...]:
    """Where each would be written: in the list whose documents it shares most, else in a new source.

    A list that is wrong more often than right, as far as is known, gets no more words.
    """
    good = {
        name
        for name, known in zip(votes.sources, accuracies, strict=True)
        if known is None or not known.n or known.value >= 0.5
    }
    names = [source.name for source in project.sources.with_disabled]
    lists = [
        (source.name, number, rule.label)
        for source in project.sources.sources
        if source.name in good
        for number, rule in enumerate(source.rules, start=1)
        if isinstance(rule.when, Keywords) and not rule.when.file and rule.when.match == "word"
        if len(rule.when.words) >= LIST
    ]
    places: list[Place] = []
    for one in found:
        best, near = None, TOGETHER
        if isinstance(one.rule.when, Keywords):
            there = _matches(one.rule.when, corpus)
            r = votes.classes.index(one.label)
            for source, number, label in lists:
                cast = votes.matrix[:, votes.sources.index(source)] == r
                both = np.sqrt(float(there.sum()) * float(cast.sum()))
                cosine = float((there & cast).sum()) / both if both else 0.0
                if label == one.label and cosine > near:
                    best, near = Place(source, number), cosine
        if best is None:
            best = Place(free_name(name_of(one.rule.when), names, "_"), None)
            names.append(best.source)
        places.append(best)
    return tuple(places)


def _matches(condition: Keywords, corpus: Corpus) -> NDArray[np.bool_]:
    texts = corpus.texts.to_frame("text")
    return np.asarray(texts.select(condition.on(pl.col("text"))).to_series().to_numpy())


REFUSED = "refused.jsonl"
_RULE = "rule"  # the kind of a refused rule, beside those of remedies
Refusal = Refused | Remedy


@dataclass(frozen=True)
class Place:
    """Where an accepted rule is written: a rule's list of words, or a source of its own."""

    source: str
    rule: int | None  # the number of the rule whose list it joins; None: a new source

    def __str__(self) -> str:
        return f"the list of {self.source}" if self.rule else f"a new source, {self.source}"


@dataclass(frozen=True)
class NewRule:
    """A suggested rule, and where it is written."""

    rule: Rule
    place: Place

    def __str__(self) -> str:
        return f"{self.rule.when.reason()} for {self.rule.label}"

    def for_class(self, label: str | None) -> NewRule:
        """The same for another class than it was suggested for: then it has a source of its own.

        >>> NewRule(Rule("ham", Keywords(["cash"])), Place("talk", 1)).for_class("spam")
        NewRule(rule=Rule('spam', Keywords(['cash'])), place=Place(source='cash', rule=None))
        """
        if label is None or label == self.rule.label:
            return self
        return NewRule(replace(self.rule, label=label), Place(name_of(self.rule.when), None))


Edit = NewRule | Remedy


def edited(text: str, edit: Edit) -> str:
    """The project file's text after an edit."""
    match edit:
        case NewRule(rule=rule, place=Place(source=source, rule=None)):
            return add_source(text, Source(free_name(source, source_names(text), "_"), [rule]))
        case NewRule(rule=rule, place=Place(source=source, rule=int(number))):
            assert isinstance(rule.when, Keywords)
            return add_words(text, source, number, rule.when.words)
        case DropWord(source=source, rule=number, word=word):
            return drop_words(text, source, number, [word])
        case DisableSource(source=source):
            return switch_source(text, source, on=False)
        case MergeSource(source=source, into=into):
            return merge_source(text, source, into)
        case NewRule():
            raise AssertionError("a place is a number or none")
    assert_never(edit)


def refusal_of(edit: Edit) -> Refusal:
    """What is kept where an edit is refused."""
    return Refused.of(edit.rule) if isinstance(edit, NewRule) else edit


def edit_to_plain(edit: Edit) -> dict[str, Any]:
    """An edit as JSON has it."""
    if isinstance(edit, NewRule):
        return {"rule": rule_to_plain(edit.rule), "into": vars(edit.place)}
    return {"remedy": remedy_to_plain(edit)}


def name_of(condition: Condition) -> str:
    """A name for a source with this one condition.

    >>> from unruly.rules.tools import Sentiment
    >>> (
    ...     name_of(Keywords(["check out"])),
    ...     name_of(Length(max_words=4)),
    ...     name_of(Pattern(r"\\bsubsc\\w*")),
    ...     name_of(Sentiment("polarity", above=0.5)),
    ... )
    ('check_out', 'max_words_4', 'subsc', 'polarity_above_0_5')
    """
    match condition:
        case Keywords(words=words):
            name = words[0]
        case WordSequence(first=first, then=then):
            name = f"{first[0]} {then[0]}"
        case Pattern(pattern=pattern):
            shapes = {shape: known for known, shape in SHAPES.items()}
            name = shapes.get(pattern) or re.sub(r"\\[a-zA-Z]", " ", pattern)
        case Length():
            name = " ".join(f"{key} {b}" for key, b in asdict(condition).items() if b is not None)
        case _:
            name = condition.reason()
    return "_".join(re.findall(r"\w+", name))[:40] or "rule"


@dataclass(frozen=True)
class Decided:
    """Edits that were accepted, as they are written now, and refused."""

    accepted: tuple[Edit, ...]
    refused: tuple[Edit, ...]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "accepted": [edit_to_plain(one) for one in self.accepted],
            "refused": [edit_to_plain(one) for one in self.refused],
        }


def decide(project: Project, accepted: Mapping[int, str | None], refused: Sequence[int]) -> Decided:
    """Accept and refuse suggestions by the numbers that were shown last; an accepted rule may be for another class.

    The project file is written once, with all that was accepted or, where some of it cannot be, not at all.
    """
    if both := sorted(set(accepted) & set(refused)):
        raise InputError(f"suggestion {both[0]} is both accepted and refused: choose one")
    shown = Shown.read(project)
    wanted: list[Edit] = []
    for edit, (number, label) in zip(
        shown.taken(project, list(accepted)), accepted.items(), strict=True
    ):
        if label is not None and not isinstance(edit, NewRule):
            raise InputError(f"suggestion {number} ({edit}) is for no class: leave ={label} out")
        wanted.append(edit.for_class(label) if isinstance(edit, NewRule) else edit)
    unwanted = shown.taken(project, refused)
    assert project.file is not None
    before = ProjectText.read(project.file)
    text = before.text
    for edit in wanted:
        text = edited(text, edit)
    if wanted:
        write_edit(before, text)
    if unwanted:
        refuse(project.folder, map(refusal_of, unwanted))
    shown.renewed(project, accepted).write(project)
    return Decided(tuple(wanted), tuple(unwanted))


def read_refused(folder: Path) -> tuple[Refusal, ...]:
    """What was refused, from the project's folder."""
    path, found = folder / REFUSED, list[Refusal]()
    if not path.is_file():
        return ()
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            if text := line.decode("utf-8-sig").strip():
                found.append(refusal_from_plain(json.loads(text)))
        except (KeyError, TypeError, ValueError):
            where = Where(str(path), number)
            raise InputError(
                "not a refused suggestion: correct the line, or delete it", where=where
            ) from None
    return tuple(found)


def refuse(folder: Path, refused: Iterable[Refusal]) -> Path:
    """Keep refusals in the project's folder, each once."""
    known = list(read_refused(folder))
    return write_refused(folder, [*known, *(one for one in refused if one not in known)])


def write_refused(folder: Path, refused: Sequence[Refusal]) -> Path:
    """These refusals and no others, whole or not at all."""
    path = folder / REFUSED
    lines = [json.dumps(refusal_to_plain(one), ensure_ascii=False) + "\n" for one in refused]
    with written_whole(path) as part:
        part.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


def refusal_to_plain(refused: Refusal) -> dict[str, Any]:
    """A refusal as JSON has it.

    >>> refusal_to_plain(Refused("spam", {"keywords": ["cash"]}))
    {'kind': 'rule', 'label': 'spam', 'condition': {'keywords': ['cash']}}
    """
    if isinstance(refused, Refused):
        return {"kind": _RULE, **asdict(refused)}
    return remedy_to_plain(refused)


def refusal_from_plain(plain: Mapping[str, Any]) -> Refusal:
    """A refusal back from JSON."""
    if plain["kind"] != _RULE:
        return remedy_from_plain(plain)
    label, condition = plain["label"], plain["condition"]
    if not isinstance(label, str) or not isinstance(condition, dict):
        raise TypeError("a class and a condition are needed")
    return Refused(label, condition)


@dataclass(frozen=True)
class Shown:
    """What was shown last, by number from 1, and the project file that it was made for."""

    edits: tuple[Edit, ...]
    digest: str
    accepted: tuple[int, ...] = ()  # numbers that were accepted since

    @classmethod
    def read(cls, project: Project) -> Shown:
        """What was shown last for a project."""
        path = _shown_path(project)
        if not path.is_file():
            raise InputError(
                f"no suggestions were shown yet: run `unruly suggest {quote(str(project.folder))}` first"
            )
        plain = json.loads(path.read_text(encoding="utf-8"))
        edits = tuple(_edit_from_plain(one, project) for one in plain["edits"])
        return cls(edits, plain["digest"], tuple(plain["accepted"]))

    @classmethod
    def of(cls, project: Project) -> Shown:
        """Nothing yet, for the project file as it is now: it may change before there is something to show."""
        return cls((), _digest(project))

    def write(self, project: Project) -> None:
        """Keep it in the cache folder."""
        path = _shown_path(project)
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = {**vars(self), "edits": [edit_to_plain(one) for one in self.edits]}
        with written_whole(path) as part:
            part.write_text(json.dumps(plain), encoding="utf-8")

    def renewed(self, project: Project, accepted: Iterable[int] = ()) -> Shown:
        """The same after an edit of one's own: the other numbers still count."""
        return replace(self, digest=_digest(project), accepted=(*self.accepted, *accepted))

    def taken(self, project: Project, numbers: Sequence[int]) -> list[Edit]:
        """Those with these numbers; refused where the project file has changed."""
        if self.digest != _digest(project):
            raise InputError(
                "unruly.toml has changed since the suggestions were shown: run `unruly suggest` again"
            )
        for number in numbers:
            if not 1 <= number <= len(self.edits):
                raise InputError(
                    f"there is no suggestion {number}: {len(self.edits)} were shown last"
                )
            if number in self.accepted:
                raise InputError(
                    f"suggestion {number} was accepted before: edit unruly.toml to take it back, or run "
                    "`unruly suggest` for new ones"
                )
        return [self.edits[number - 1] for number in numbers]


def _edit_from_plain(plain: Mapping[str, Any], project: Project) -> Edit:
    if "remedy" in plain:
        return remedy_from_plain(plain["remedy"])
    place = Place(**plain["into"])
    table = {"name": place.source, "rule": [plain["rule"]]}
    return NewRule(source_from_plain(table, project.classes, project.folder).rules[0], place)


def _shown_path(project: Project) -> Path:
    key = blake2b(os.fsencode(project.folder.resolve()), digest_size=12).hexdigest()
    return cache_folder() / "suggestions" / f"{key}.json"


def _digest(project: Project) -> str:
    assert project.file is not None
    return blake2b(project.file.read_bytes(), digest_size=12).hexdigest()
