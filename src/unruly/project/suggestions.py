"""New rules for a project, each with the place where it would be written, and the critique of the old rules.

`unruly suggest` and the studio show both; what becomes of them is in `unruly.project.decisions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.findings import Critique, Note, SharesAgainstVotes, finding_to_plain
from unruly.model.candidates import likely_gold
from unruly.model.critique import Remedy, VoteJudge, critique_rules, remedy_of, remedy_to_plain
from unruly.model.suggestions import Refused, RuleSuggestion, suggest_rules
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress
from unruly.project.decisions import Edit, NewRule, Place, name_of, read_refused
from unruly.project.project import Project
from unruly.rules.keywords import Keywords
from unruly.statistics import Share
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import free_name, listed

if TYPE_CHECKING:
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
    labels: NDArray[np.int64] | None  # (n,), -1 where nobody knows
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
    if stand_in is not None:
        by = VoteJudge(answers.proba, votes)
        return Judged(corpus, votes, by, labels, (), fitted_now=True, stand_in=stand_in)
    notes = _share_notes(model.summary_)
    return Judged(corpus, votes, model.judge(answers), labels, notes, fitted_now=True)


def ranked(
    project: Project,
    judged: Judged,
    n: int = 20,
    proposals: Proposals | None = None,
    progress: Progress = SILENT,
) -> Suggestions:
    """The best of what was proposed, or of what is found in the texts; and the critique of the old rules."""
    corpus, votes, judge, labels = judged.corpus, judged.votes, judged.judge, judged.labels
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
        labels=0 if labels is None else int((labels >= 0).sum()),
        stand_in=judged.stand_in,
        proposals=proposals,
        notes=judged.notes,
        likely_gold=likely_gold(corpus),
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
            best = Place(free_name(name_of(one.rule.when), names, "_"), None)
            names.append(best.source)
        places.append(best)
    return tuple(places)


def _matches(condition: Keywords, corpus: Corpus) -> NDArray[np.bool_]:
    texts = corpus.texts.to_frame("text")
    return np.asarray(texts.select(condition.on(pl.col("text"))).to_series().to_numpy())
