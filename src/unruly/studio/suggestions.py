"""Suggestions: new rules and the critique of old ones, searched for in the background, accepted or declined with one key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.responses import Response

from unruly.errors import InputError
from unruly.model.advice import advice_sentences
from unruly.model.suggestions import RuleSuggestion
from unruly.project.suggesting import Place, Suggestions, accepted_text, for_class, suggest_on
from unruly.studio.training import Job, Trainer
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.studio.app import PageRequest, Routes, Studio


MOST = 20


@dataclass(frozen=True)
class Offer:
    """A suggestion that is still open, under the number that the page knows it by."""

    number: int
    suggestion: RuleSuggestion
    place: Place


@dataclass
class Advisor:
    """The last suggestions, and which are decided."""

    found: Suggestions | None = None
    decided: set[int] = field(default_factory=set)

    def look(self, trainer: Trainer) -> None:
        """Search for new rules in the background, with the shown model or one fitted for this."""
        state = trainer.workspace.state
        if not state.votes.k:
            raise InputError("there are no rules yet: write one for each class first")

        def work(job: Job) -> None:
            shown = None if state.answers is None else trainer.current
            model = None if shown is None else trainer.opened(shown)
            if model is not None and model.class_names != state.classes:
                model = None
            self.found = suggest_on(state.project, state.corpus, state.votes, model, MOST, job)
            self.decided = set()

        trainer.begin("searching for rules", work)

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The suggestions that are neither accepted nor refused."""
        if self.found is None:
            return ()
        pairs = zip(self.found.suggestions, self.found.places, strict=True)
        return tuple(
            Offer(number, one, place)
            for number, (one, place) in enumerate(pairs, start=1)
            if number not in self.decided
        )

    @property
    def critique(self) -> tuple[str, ...]:
        """What is wrong with the rules that exist, a sentence each."""
        if self.found is None:
            return ()
        return tuple(told for _, told in advice_sentences(self.found.critique))

    @property
    def judged_by(self) -> str:
        """What the figures are based on."""
        if self.found is None:
            return ""
        by = "a model fitted for this" if self.found.fitted_now else "the model that is shown"
        labels = self.found.labels
        gold = f"{plural(labels, 'label')} by hand used" if labels else "no true labels used"
        return f"judged by {by}; {gold}"

    def decide(self, trainer: Trainer, number: int, accepted: bool, label: str = "") -> str:
        """Write a suggested rule into the project file, or do not suggest it again; both can be undone.

        With a `label` it is accepted for that class, whatever it was suggested for.
        """
        offer = next((one for one in self.offers if one.number == number), None)
        if offer is None:
            raise InputError("this suggestion is no longer open: search again")
        work = trainer.workspace
        if label and label not in work.state.classes:
            raise InputError(f"{label!r} is not a class")
        other = label if accepted and label else None
        rule, place = for_class(offer.suggestion.rule, offer.place, other)
        words = f"{rule.when.reason()} for {rule.label}"
        if accepted:
            text = accepted_text(work.state.text, rule, place)
            work.edit(f"{place.source}: {words} accepted", text)
        else:
            work.refuse(rule)
        self.decided.add(number)
        return f"{'accepted' if accepted else 'declined'}: {words}"


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
        studio.trainer,
        int(number) if number.isdecimal() else 0,
        request.form.get("what") == "accept",
        request.form.get("class", ""),
    )
    return studio.page("_suggestions.html", _context(studio, said))


def _context(studio: Studio, said: str) -> dict[str, object]:
    return {
        "here": "suggestions",
        "state": studio.workspace.state,
        "advisor": studio.advisor,
        "job": studio.trainer.status,
        "said": said,
    }


ROUTES: Routes = [
    ("GET", "/suggestions", overview),
    ("POST", "/suggestions/look", look),
    ("POST", "/suggestions/decide", decide),
]
