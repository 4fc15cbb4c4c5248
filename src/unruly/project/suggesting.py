"""New rules for a project: suggested, accepted into `unruly.toml`, or refused and not suggested again.

The critique of the old rules comes with them, and what can be done about it (`unruly.project.remedies`).
What was shown last is kept in the cache folder, so that a suggestion can be accepted by its number at once, and
only as long as the project file is the one that it was made for. Refusals are kept in `refused.csv` in the project's
folder, one line each: the class, and the condition as JSON.
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
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.facts import Note, SharesAgainstVotes, note_to_plain
from unruly.files import cache_folder, written_whole
from unruly.model.advice import (
    Critique,
    VoteJudge,
    advice_to_plain,
    critique_rules,
    known_accuracies,
)
from unruly.model.candidates import SHAPES, likely_gold
from unruly.model.suggestions import Refused, RuleSuggestion, suggest_rules
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress
from unruly.project.editing import ProjectText, add_source, add_words, source_names, write_edit
from unruly.project.project import Project
from unruly.project.remedies import (
    Remedy,
    keep,
    read_kept,
    read_rows,
    remedy_from_plain,
    remedy_of,
    remedy_to_plain,
    without_kept,
    write_rows,
)
from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, rule_to_plain, source_from_plain
from unruly.rules.tools import Length
from unruly.statistics import Share
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import listed

if TYPE_CHECKING:
    from unruly.model.predictions import Predictions
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.project.proposals import Proposals

REFUSED = "refused.csv"
REST = "(documents without votes)"  # the source that stands in for a class without rules
LIST = 3  # words from which a source is a list of its kind, and not a rule for these words
TOGETHER = 0.1  # cosine of a word's documents and a list's, from which the word goes into the list


@dataclass(frozen=True)
class Place:
    """Where an accepted rule is written: a rule's list of words, or a source of its own."""

    source: str
    rule: int | None  # the number of the rule whose list it joins; None: a new source

    def __str__(self) -> str:
        return f"the list of {self.source}" if self.rule else f"a new source, {self.source}"


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
    guesses: bool = False  # whether rules that few votes or labels speak for were asked for

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
            "guesses": self.guesses,
            "notes": [note_to_plain(note) for note in self.notes],
            "proposals": None if self.proposals is None else self.proposals.to_plain(),
        }

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
            plain.append({**advice_to_plain(one), **action})
        return plain


@dataclass(frozen=True, eq=False)
class Judged:
    """Training documents, their votes, and what a model makes of them."""

    corpus: Corpus
    votes: Votes
    judge: VoteJudge  # with the model's answers (n, m)
    summary: FitSummary  # of the model
    labels: NDArray[np.int64] | None  # (n,), -1 where nobody knows
    fitted_now: bool
    stand_in: str | None


def suggest(
    project: Project,
    n: int = 20,
    model: WeakClassifier | None = None,
    progress: Progress = SILENT,
    *,
    guesses: bool = False,
) -> Suggestions:
    """New rules for a project, by a model or by one that is fitted now, and what is wrong with the old ones.

    With `guesses`, also rules that few votes or labels on their matches speak for.
    """
    judged = judge(project, model, progress)
    return ranked(project, judged, n, guesses=guesses, progress=progress)


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
    read_kept(project.folder)
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
        answers, stand_in, now = model.predictions(corpus, progress=progress), None, False
    else:
        model, answers, stand_in = fitted_now(project, corpus, votes, labels, progress)
        now = True
    return Judged(corpus, votes, model.judge(answers), model.summary_, labels, now, stand_in)


def ranked(
    project: Project,
    judged: Judged,
    n: int = 20,
    proposals: Proposals | None = None,
    progress: Progress = SILENT,
    *,
    guesses: bool = False,
) -> Suggestions:
    """The best of what was proposed, or of what is found in the texts; and the critique of the old rules."""
    corpus, votes, judge, labels = judged.corpus, judged.votes, judged.judge, judged.labels
    found = suggest_rules(
        corpus,
        votes,
        judge.posteriors,
        n=n,
        rules=project.sources,
        labels=labels,
        refused=read_refused(project.folder),
        candidates=None if proposals is None else proposals.rules,
        guesses=guesses,
        progress=progress,
    )
    accuracies = known_accuracies(votes, judge, judged.summary)
    critique = critique_rules(
        votes,
        judge.posteriors,
        judge=judge,
        accuracies=accuracies,
        labels=labels,
        texts=corpus.texts.to_list(),
        rules=project.sources,
    )
    return Suggestions(
        suggestions=found,
        places=_places(found, project, corpus, votes, accuracies),
        critique=without_kept(critique, read_kept(project.folder)),
        fitted_now=judged.fitted_now,
        labels=0 if labels is None else int((labels >= 0).sum()),
        stand_in=judged.stand_in,
        proposals=proposals,
        notes=() if judged.stand_in is not None else _share_notes(judged.summary),
        likely_gold=likely_gold(corpus),
        guesses=guesses,
    )


def _labels(project: Project, corpus: Corpus) -> NDArray[np.int64] | None:
    """(n,): people's labels of the training documents, where there are any. Never the gold column."""
    found = project.labels(corpus).numbers
    return found if (found >= 0).any() else None


def fitted_now(
    project: Project,
    corpus: Corpus,
    votes: Votes,
    labels: NDArray[np.int64] | None,
    progress: Progress = SILENT,
) -> tuple[WeakClassifier, Predictions, str | None]:
    """A model that is fitted for this, its predictions, and the class without rules that has a stand-in.

    Where all classes but one have votes, documents without votes stand in for that one: as votes of a weak
    source, so that words which known classes lack can be found for it.
    """
    named = np.unique(votes.matrix[votes.voted])
    if labels is not None:
        named = np.union1d(named, np.unique(labels[labels >= 0]))
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
            best = Place(_unused(name_of(one.rule.when), names), None)
            names.append(best.source)
        places.append(best)
    return tuple(places)


def _matches(condition: Keywords, corpus: Corpus) -> NDArray[np.bool_]:
    texts = corpus.texts.to_frame("text")
    return np.asarray(texts.select(condition.on(pl.col("text"))).to_series().to_numpy())


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


def _unused(name: str, names: Sequence[str]) -> str:
    number, found = 2, name
    while found in names:
        found, number = f"{name}_{number}", number + 1
    return found


def for_class(rule: Rule, place: Place, label: str | None) -> tuple[Rule, Place]:
    """A suggested rule for another class than it was suggested for: then it has a source of its own.

    >>> rule = Rule("ham", Keywords(["cash"]))
    >>> for_class(rule, Place("talk", 1), "spam")
    (Rule('spam', Keywords(['cash'])), Place(source='cash', rule=None))
    """
    if label is None or label == rule.label:
        return rule, place
    return replace(rule, label=label), Place(name_of(rule.when), None)


def accepted_text(text: str, rule: Rule, place: Place) -> str:
    """The project file's text with a suggested rule in its place."""
    if place.rule is None:
        name = _unused(place.source, source_names(text))
        return add_source(text, Source(name, [rule]))
    assert isinstance(rule.when, Keywords)
    return add_words(text, place.source, place.rule, rule.when.words)


@dataclass(frozen=True)
class Decided:
    """Suggestions that were accepted and refused, as they are written now."""

    accepted: tuple[tuple[Rule, Place] | Remedy, ...]
    refused_rules: tuple[Rule, ...]
    refused_remedies: tuple[Remedy, ...]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "accepted": [
                {"rule": rule_to_plain(one[0]), "into": vars(one[1])}
                if isinstance(one, tuple)
                else {"remedy": remedy_to_plain(one)}
                for one in self.accepted
            ],
            "refused": [
                *({"rule": rule_to_plain(rule)} for rule in self.refused_rules),
                *({"remedy": remedy_to_plain(remedy)} for remedy in self.refused_remedies),
            ],
        }


def decide(project: Project, accepted: Mapping[int, str | None], refused: Sequence[int]) -> Decided:
    """Accept and refuse suggestions by the numbers that were shown last; an accepted rule may be for another class.

    The project file is written once, with all that was accepted or, where some of it cannot be, not at all.
    """
    if both := sorted(set(accepted) & set(refused)):
        raise InputError(f"suggestion {both[0]} is both accepted and refused: choose one")
    last = LastSuggestions.read(project)
    wanted: list[tuple[Rule, Place] | Remedy] = []
    for one, (number, label) in zip(
        last.taken(project, list(accepted)), accepted.items(), strict=True
    ):
        if label is not None and not isinstance(one, tuple):
            raise InputError(f"suggestion {number} ({one}) is for no class: leave ={label} out")
        wanted.append(for_class(*one, label) if isinstance(one, tuple) else one)
    unwanted = last.taken(project, refused)
    rules = [one[0] for one in unwanted if isinstance(one, tuple)]
    remedies = [one for one in unwanted if not isinstance(one, tuple)]
    assert project.file is not None
    before = ProjectText.read(project.file)
    text = before.text
    for one in wanted:
        text = accepted_text(text, *one) if isinstance(one, tuple) else one.applied(text)
    if wanted:
        write_edit(before, text)
    if rules:
        refuse(project.folder, [Refused.of(rule) for rule in rules])
    if remedies:
        keep(project.folder, remedies)
    last.renewed(project, accepted).write(project)
    return Decided(tuple(wanted), tuple(rules), tuple(remedies))


def read_refused(folder: Path) -> tuple[Refused, ...]:
    """The rules that were refused, from the project's folder."""
    problem = (
        "not a refused rule: the columns are label and condition, a class and a condition as JSON"
    )
    return read_rows(folder / REFUSED, _refused, problem)


def _refused(row: Mapping[str, str]) -> Refused:
    condition = json.loads(row["condition"] or "")
    if not isinstance(condition, dict):
        raise ValueError("a condition is an object")
    return Refused(str(row["label"]), condition)


def refuse(folder: Path, refused: Sequence[Refused]) -> Path:
    """Keep refusals in the project's folder, each once."""
    known = list(read_refused(folder))
    return write_refused(folder, [*known, *(one for one in refused if one not in known)])


def write_refused(folder: Path, refused: Sequence[Refused]) -> Path:
    """These refusals and no others."""
    rows = [
        {"label": one.label, "condition": json.dumps(one.condition, ensure_ascii=False)}
        for one in refused
    ]
    return write_rows(folder / REFUSED, ("label", "condition"), rows)


@dataclass(frozen=True)
class LastSuggestions:
    """What was shown last, by number, and the project file that it was made for: rules first, then remedies."""

    rules: tuple[tuple[Rule, Place], ...]
    remedies: tuple[Remedy, ...]
    digest: str
    accepted: tuple[int, ...] = ()  # numbers that were accepted since

    @classmethod
    def read(cls, project: Project) -> LastSuggestions:
        """What was shown last for a project."""
        path = _kept_path(project)
        if not path.is_file():
            raise InputError(
                f"no suggestions were shown yet: run `unruly suggest {quote(str(project.folder))}` first"
            )
        plain = json.loads(path.read_text(encoding="utf-8"))
        rules = []
        for one in plain["rules"]:
            table = {"name": one["source"], "rule": [one["plain"]]}
            rule = source_from_plain(table, project.classes, project.folder).rules[0]
            rules.append((rule, Place(one["source"], one["rule"])))
        remedies = tuple(remedy_from_plain(one) for one in plain.get("remedies", ()))
        return cls(tuple(rules), remedies, plain["digest"], tuple(plain.get("accepted", ())))

    @classmethod
    def of(cls, project: Project, found: Suggestions) -> LastSuggestions:
        """The suggestions that are shown now."""
        pairs = zip((one.rule for one in found.suggestions), found.places, strict=True)
        remedies = tuple(remedy for _, remedy in found.remedies)
        return cls(tuple(pairs), remedies, _digest(project))

    def write(self, project: Project) -> None:
        """Keep them in the cache folder."""
        path = _kept_path(project)
        path.parent.mkdir(parents=True, exist_ok=True)
        rules = [{"plain": rule_to_plain(rule), **vars(place)} for rule, place in self.rules]
        with written_whole(path) as part:
            remedies = [remedy_to_plain(remedy) for remedy in self.remedies]
            plain = {
                "rules": rules,
                "remedies": remedies,
                "digest": self.digest,
                "accepted": self.accepted,
            }
            part.write_text(json.dumps(plain), encoding="utf-8")

    def renewed(self, project: Project, accepted: Iterable[int] = ()) -> LastSuggestions:
        """The same after an edit of one's own: the other numbers still count."""
        return replace(self, digest=_digest(project), accepted=(*self.accepted, *accepted))

    def taken(self, project: Project, numbers: Sequence[int]) -> list[tuple[Rule, Place] | Remedy]:
        """Those with these numbers; refused where the project file has changed."""
        if self.digest != _digest(project):
            raise InputError(
                "unruly.toml has changed since the suggestions were shown: run `unruly suggest` again"
            )
        shown = (*self.rules, *self.remedies)
        for number in numbers:
            if not 1 <= number <= len(shown):
                raise InputError(f"there is no suggestion {number}: {len(shown)} were shown last")
            if number in self.accepted:
                raise InputError(
                    f"suggestion {number} was accepted before: edit unruly.toml to take it back, or run "
                    "`unruly suggest` for new ones"
                )
        return [shown[number - 1] for number in numbers]


def _kept_path(project: Project) -> Path:
    key = blake2b(os.fsencode(project.folder.resolve()), digest_size=12).hexdigest()
    return cache_folder() / "suggestions" / f"{key}.json"


def _digest(project: Project) -> str:
    assert project.file is not None
    return blake2b(project.file.read_bytes(), digest_size=12).hexdigest()
