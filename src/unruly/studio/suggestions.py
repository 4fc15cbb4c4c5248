"""Suggestions: new rules and the critique of old ones, searched for in the background, accepted or declined with one key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, assert_never

import numpy as np
import polars as pl
from numpy.typing import NDArray
from starlette.responses import Response

from unruly.errors import InputError
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
from unruly.rules.keywords import Keywords
from unruly.rules.matching import Matcher, matches_on
from unruly.rules.source import Source
from unruly.sentences import likely_gold_sentence, sentence
from unruly.studio.documents import Piece, excerpt
from unruly.studio.filters import Filter
from unruly.studio.history import Step
from unruly.studio.state import State
from unruly.studio.training import Job, Trainer
from unruly.studio.workspace import Workspace
from unruly.texts.alike import unlike_first
from unruly.texts.columns import UNKNOWN
from unruly.votes.provenance import Match
from unruly.wording import plural

if TYPE_CHECKING:  # they import scipy, which the first page does without
    from unruly.model.critique import Remedy
    from unruly.model.suggestions import RuleSuggestion
    from unruly.project.suggestions import Edit, NewRule, Suggestions
    from unruly.studio.app import PageRequest, Routes, Studio


MOST = 20
EXAMPLES = 3  # documents for, and against
EXAMPLE = 160  # characters of each


@dataclass(frozen=True)
class Example:
    """A document that a suggestion or a critique is about."""

    row: int
    id: str
    pieces: tuple[Piece, ...]
    cut_before: bool
    cut_after: bool
    label: str  # what the model says, or a label
    fits: bool  # speaks for the rule
    empty: bool = False


@dataclass(frozen=True)
class Offer:
    """A suggested rule, under the number that the page knows it by."""

    number: int
    suggestion: RuleSuggestion
    edit: NewRule
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Criticism:
    """What is wrong with a rule that exists, and what can be done about it; None: a person must look."""

    number: int
    sentence: str
    remedy: Remedy | None
    examples: tuple[Example, ...]
    link: str = ""  # to the documents that it is about


@dataclass
class Advisor:
    """The last suggestions, and what was decided about them."""

    found: Suggestions | None = None
    _offers: tuple[Offer, ...] = ()
    _critique: tuple[Criticism, ...] = ()
    _decided: dict[int, Step] = field(default_factory=dict)

    def look(self, trainer: Trainer) -> None:
        """Search for new rules in the background, with the shown model or one fitted for this."""
        from unruly.project.suggestions import suggest_on
        from unruly.sentences import critique_sentences

        state = trainer.workspace.state
        if not state.votes.k:
            raise InputError("there are no rules yet: write one for each class first")

        def work(job: Job) -> None:
            shown = None if state.answers is None else trainer.current
            model = None if shown is None else trainer.opened(shown)
            if model is not None and model.class_names != state.classes:
                model = None
            found = suggest_on(state.project, state.corpus, state.votes, model, MOST, job)
            pairs = zip(found.suggestions, found.new_rules, strict=True)
            self._offers = tuple(
                Offer(number, one, edit, _matches(one, state))
                for number, (one, edit) in enumerate(pairs, start=1)
            )
            after = enumerate(critique_sentences(found.critique), start=len(self._offers) + 1)
            self._critique = tuple(
                _criticism(number, one, told, state) for number, (one, told) in after
            )
            self.found, self._decided = found, {}

        trainer.begin("searching for rules", work)

    def offers(self, work: Workspace) -> tuple[Offer, ...]:
        """The suggestions that are neither accepted nor refused; undone decisions are open again."""
        return tuple(one for one in self._offers if self._open(one.number, work))

    def critique(self, work: Workspace) -> tuple[Criticism, ...]:
        """What is wrong with the rules that exist, without what was decided."""
        return tuple(one for one in self._critique if self._open(one.number, work))

    def _open(self, number: int, work: Workspace) -> bool:
        step = self._decided.get(number)
        return step is None or not work.in_effect(step)

    @property
    def judged_by(self) -> str:
        """What the figures are based on."""
        if self.found is None:
            return ""
        by = "a model fitted for this" if self.found.fitted_now else "the model that is shown"
        labels = self.found.labels
        gold = f"{plural(labels, 'label')} by hand used" if labels else "no true labels used"
        return f"judged by {by}; {gold}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What all figures rest on, a sentence each."""
        if self.found is None:
            return ()
        gold = self.found.likely_gold
        told = [sentence(note) for note in self.found.notes]
        return (*told, *(() if gold is None else (likely_gold_sentence(gold),)))

    def decide(self, work: Workspace, number: int, accepted: bool, label: str = "") -> str:
        """Accept or decline a suggestion or a remedy; gives what was done. Can be undone.

        A suggested rule is written into the project file, with a `label` for that class, whatever it was suggested
        for; a remedy edits the rules that exist. What is declined is not suggested again.
        """
        if label and label not in work.state.classes:
            raise InputError(f"{label!r} is not a class")
        for offer in self.offers(work):
            if offer.number == number:
                edit = offer.edit.for_class(label or None) if accepted else offer.edit
                return self._decide(work, number, edit, accepted)
        for one in self.critique(work):
            if one.number == number and one.remedy is not None:
                return self._decide(work, number, one.remedy, accepted)
        raise InputError("this suggestion is no longer open: search again")

    def _decide(self, work: Workspace, number: int, edit: Edit, accepted: bool) -> str:
        from unruly.project.suggestions import edited

        step: Step = (
            work.edit(f"accepted: {edit}", edited(work.state.text, edit))
            if accepted
            else work.refuse(edit)
        )
        self._decided[number] = step
        return f"{'Accepted' if accepted else 'Declined'}: {edit}"


def _matches(one: RuleSuggestion, state: State) -> tuple[Example, ...]:
    """The documents for and against a suggested rule, with what it matches."""
    shown = [(match, True) for match in one.fits] + [(match, False) for match in one.misfits]
    rows = [state.corpus.ids.index_of(pl.lit(match.id)) for match, _ in shown]
    source = Source("suggested", (one.rule,))
    known = [row for row in rows if row is not None]
    fired = dict(
        zip(
            known,
            matches_on(Matcher((source,), state.classes), state.corpus.take(known)),
            strict=True,
        )
    )
    return tuple(
        _example(state, row, fired[row], match.label, fits)
        for row, (match, fits) in zip(rows, shown, strict=True)
        if row is not None
    )


def _example(state: State, row: int, matches: Sequence[Match], label: str, fits: bool) -> Example:
    text = state.corpus.texts[row]
    pieces, before, after = excerpt(text, matches, EXAMPLE)
    own = str(state.corpus.ids[row])
    return Example(row, own, tuple(pieces), before, after, label, fits, not text.strip())


@dataclass(frozen=True, eq=False)
class _About:
    """The documents that a critique is about: where the vote fits, and where it does not."""

    sources: tuple[str, ...] = ()
    fits: NDArray[np.bool_] | None = None  # (n,)
    misfits: NDArray[np.bool_] | None = None  # (n,)
    link: str = ""


def _criticism(number: int, critique: Critique, told: str, state: State) -> Criticism:
    from unruly.model.critique import remedy_of

    about = _about(critique, state)
    first = [_examples(mask, state) for mask in (about.fits, about.misfits)]
    rows = [*first[0], *first[1]]
    named = [one for one in state.project.sources.sources if one.name in about.sources]
    fired = (
        matches_on(Matcher(tuple(named), state.classes), state.corpus.take(rows)) if rows else []
    )
    judged = _judged(state)
    names = (*state.classes, "")  # -1: none
    examples = tuple(
        _example(state, row, matches, names[judged[row]], i < len(first[0]))
        for i, (row, matches) in enumerate(zip(rows, fired, strict=True))
    )
    return Criticism(number, told, remedy_of(critique), examples, about.link)


def _examples(mask: NDArray[np.bool_] | None, state: State) -> list[int]:
    """The first few documents that do not look alike."""
    rows: list[int] = [] if mask is None else np.flatnonzero(mask).tolist()
    return list(islice(unlike_first(rows, state.corpus.texts.__getitem__), EXAMPLES))


def _judged(state: State) -> NDArray[np.int64]:
    """(n,): the model's class, else that of most votes."""
    return state.winner if state.answers is None else state.answers.predicted


def _about(critique: Critique, state: State) -> _About:
    judged = _judged(state)
    match critique:
        case WeakSource(source=source):
            votes = state.votes_of(source)
            right = votes.names(judged)
            known = votes.voted & (judged != UNKNOWN)
            return _About((source,), right, known & ~right, Filter(source=source).query())
        case WeakWord(source=source, label=label):
            there = _with_word(critique, state)
            right = judged == state.classes.index(label)
            link = Filter(source=source, vote=label, words=critique.word).query()
            return _About((source,), there & right, there & ~right, link)
        case RepeatedSource(source=source, other=other):
            mine, theirs = state.votes_of(source), state.votes_of(other)
            same = mine.voted & ~mine.differs(theirs)
            return _About((source, other), same, mine.voted & ~same)
        case Conflict(source=source, other=other, label=label, other_label=other_label):
            mine, theirs = state.votes_of(source), state.votes_of(other)
            one, two = (state.classes.index(name) for name in (label, other_label))
            torn = (
                mine.differs(theirs) & (mine.first == one) & (theirs.first == two)
            )  # as it is told
            link = Filter(source=source, covered="conflict").query()
            return _About((source, other), None, torn, link)
        case UncoveredClass(label=label):
            known = state.answers is not None
            return _About(link=Filter(predicted=label, covered="no").query() if known else "")
        case SilentSource() | SharesUnknown():
            return _About()
    assert_never(critique)


def _with_word(critique: WeakWord, state: State) -> NDArray[np.bool_]:
    """(n,): where a source votes for the class of a list, and the text has the word."""
    source = next(one for one in state.project.sources.sources if one.name == critique.source)
    listed = source.rules[critique.rule - 1].when
    word = Keywords((critique.word,), listed.match if isinstance(listed, Keywords) else "word")
    there = state.corpus.texts.to_frame("text").select(word.on(pl.col("text")).fill_null(False))
    voted = state.votes_of(critique.source).first == state.classes.index(critique.label)
    return np.asarray(there.to_series().to_numpy() & voted)


def overview(studio: Studio, request: PageRequest) -> Response:
    """The page of suggestions."""
    return studio.page("suggestions.html", _context(studio, ""))


def look(studio: Studio, request: PageRequest) -> Response:
    """Search again, in the background."""
    studio.advisor.look(studio.trainer)
    return studio.page("_job.html", {"job": studio.trainer.status})


def decide(studio: Studio, request: PageRequest) -> Response:
    """Accept or decline one; returns the new list."""
    number = request.form.get("number", "")
    said = studio.advisor.decide(
        studio.workspace,
        int(number) if number.isdecimal() else 0,
        request.form.get("what") == "accept",
        request.form.get("class", ""),
    )
    return studio.page("_suggestions.html", _context(studio, said))


def _context(studio: Studio, said: str) -> dict[str, object]:
    work, advisor = studio.workspace, studio.advisor
    return {
        "here": "suggestions",
        "state": work.state,
        "advisor": advisor,
        "offers": advisor.offers(work),
        "critique": advisor.critique(work),
        "job": studio.trainer.status,
        "said": said,
    }


ROUTES: Routes = [
    ("GET", "/suggestions", overview),
    ("POST", "/suggestions/look", look),
    ("POST", "/suggestions/decide", decide),
]
