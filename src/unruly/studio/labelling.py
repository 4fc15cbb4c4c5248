"""Label: a queue of the documents that teach most, one question at a time, and a meter of the class balance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from unruly.errors import InputError
from unruly.findings import ClassBalance
from unruly.labelling.answers import written_id
from unruly.labelling.label_file import CANNOT_TELL, SKIPPED
from unruly.studio.documents import Card, cards
from unruly.studio.state import State
from unruly.studio.training import Trainer
from unruly.studio.workspace import Workspace
from unruly.texts.columns import UNKNOWN

if TYPE_CHECKING:  # the first two import scipy, which the first page does without
    from unruly.labelling.estimates import BalanceEstimate
    from unruly.labelling.sampling import Question, Questions
    from unruly.studio.app import PageRequest, Routes, Studio


AT_ONCE = 20  # questions in a draw
WAYS = ("balance", "doubt", "random")


@dataclass
class Queue:
    """The current draw of questions; answers are in the workspace."""

    questions: Questions | None = None
    by: str = "balance"
    answered: int = 0  # questions of the draw before, all answered

    def choose(self, by: str) -> None:
        """Change how documents are drawn."""
        if by != self.by:
            self.by, self.questions, self.answered = by, None, 0

    def next(self, work: Workspace) -> Question | None:
        """The first question without an answer; a new draw where all have one."""
        state = work.state
        found = self._open(state)
        if found is None:
            self.answered = len(self.questions or ())
            self.questions = _draw(state, self.by)
            found = self._open(state)
        return found

    def _open(self, state: State) -> Question | None:
        if self.questions is None:
            return None
        standing = state.project.label_file().standing()
        given = {(own, a.why) for own, found in standing.items() for a in found}
        for question in self.questions:
            passed = (written_id(question.id), question.why) in given  # skipped ones, too
            if not passed and not state.labelled.answered[question.row]:
                return question
        return None

    def find(self, row: int) -> Question:
        """The question about a document, as it was drawn."""
        for question in self.questions or ():
            if question.row == row:
                return question
        raise InputError("this question is from before a restart: reload the page")

    def place(self, question: Question) -> int:
        """Which one it is of its draw, from 1."""
        return 1 + list(self.questions or ()).index(question)


def _bare(state: State) -> bool:
    """Whether there are neither votes nor a model yet: then all documents are alike."""
    return state.answers is None and not state.votes.k


def _draw(state: State, by: str) -> Questions:
    from unruly.labelling.sampling import ask

    proba = None if state.answers is None else state.answers.proba
    return ask(
        state.votes,
        proba,
        AT_ONCE,
        "random" if _bare(state) else by,
        answered=state.labelled.answered,
        missing=state.corpus.missing,
        seed=state.project.seed,
    )


def balance_of(trainer: Trainer) -> BalanceEstimate | None:
    """The class shares estimated from labels."""
    from unruly.labelling.estimates import balance_beside_model

    state = trainer.workspace.state
    if not state.labelled.labels or not state.votes.k:
        return None
    summary, answers = trainer.summary(), state.answers
    return balance_beside_model(
        state.labelled,
        state.votes,
        None if answers is None else answers.proba,
        None if summary is None else summary.ledger,
    )


def shares_used(trainer: Trainer) -> ClassBalance | None:
    """The class shares that the shown model was trained with, where they rest on the labels that there are now.

    They differ a little from the estimate of this page: the fit also reads the texts, and what was stated before.
    """
    model, summary = trainer.current, trainer.summary()
    if model is None or summary is None or summary.balance is None:
        return None
    fresh = model.labels == trainer.workspace.state.labelled.labels
    return summary.balance if summary.balance.labels and fresh else None


def queue(studio: Studio, request: PageRequest) -> Response:
    """The next question."""
    if by := request.query.get("by"):
        studio.queue.choose(by)
    return studio.page("label.html", _context(studio, None))


def answer(studio: Studio, request: PageRequest) -> Response:
    """Save an answer; returns the next question, and the votes on this one."""
    work = studio.workspace
    given = request.form.get("row", "")
    question = studio.queue.find(int(given) if given.isdecimal() else -1)
    label = request.form.get("label", "")
    if label not in (*work.state.classes, CANNOT_TELL, SKIPPED):
        raise InputError(f"{label!r} is not a class")
    work.answer(question, label)
    last = cards(work.state, [question.row])[0]
    return studio.page("_question.html", {**_context(studio, last), "said": label})


def _context(studio: Studio, last: Card | None) -> dict[str, Any]:
    work = studio.workspace
    question = studio.queue.next(work)
    card = None if question is None else cards(work.state, [question.row], [()], whole=True)[0]
    return {
        "here": "label",
        "state": work.state,
        "place": 0 if question is None else studio.queue.place(question),
        "drawn": len(studio.queue.questions or ()),
        "answered": studio.queue.answered,
        "card": card,
        "last": last,
        "said": "",
        "balance": balance_of(studio.trainer),
        "used": shares_used(studio.trainer),
        "labels": int((work.state.labels != UNKNOWN).sum()),
        "problems": work.label_problems(),
        "ways": WAYS,
        "by": "random" if _bare(work.state) else studio.queue.by,
        "bare": _bare(work.state),
        "CANNOT_TELL": CANNOT_TELL,
        "SKIPPED": SKIPPED,
    }


ROUTES: Routes = [("GET", "/label", queue), ("POST", "/label/answer", answer)]
