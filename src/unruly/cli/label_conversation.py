"""The conversation of `unruly label`: show a document, read a reply, write it down, tell the votes, go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from unruly.cli.label_keys import ClassKeys, Do, Keyboard, Lines, Reply
from unruly.cli.label_view import MANY_CLASSES, View
from unruly.labelling.labels import CANNOT_TELL, SKIPPED
from unruly.labelling.queue import Question, Session
from unruly.project.labelling import LabellingTask
from unruly.project.showing import ShownDocument

_SENTENCE_EVERY = 5  # labels


@dataclass
class Conversation:
    """Where a conversation has got to; what was answered is in the session, and on disk."""

    task: LabellingTask
    session: Session
    reader: Keyboard | Lines
    view: View
    remark: Callable[[str], None]
    note: str = ""  # for the next answer
    page: int | None = 0  # of the document, to be shown next; None: it is on the screen
    further: int | None = None  # the page after the one on the screen; None: that was all
    unchanged: bool = True  # the project on disk
    keys: ClassKeys = field(init=False)
    all_keys: bool = True  # whether all classes are to be listed

    def __post_init__(self) -> None:
        self.keys = ClassKeys.of(self.task.project.classes)

    def run(self) -> Session:
        """Until there is no question left, or the person has had enough."""
        while (question := self.session.question) is not None:
            self._show(question)
            reply = self.reader.read(self.keys)
            if reply is not None and reply.do is Do.QUIT:
                break
            self._follow(reply, question)
        return self.session

    def _show(self, question: Question) -> None:
        if self.page is None:
            return
        head = f"{len(self.session.given) + 1} of {len(self.session.questions)}, id {question.id}"
        more = self.view.document(self.task.shown(question.row), head, self.page)
        self.view.keys(self.keys, all_classes=self.all_keys)
        self.all_keys = len(self.keys.classes) <= MANY_CLASSES
        self.further, self.page = self.page + 1 if more else None, None

    def _follow(self, reply: Reply | None, question: Question) -> None:
        match None if reply is None else reply.do:
            case None:
                self.view.say("that key means nothing here")
                self.view.keys(self.keys, all_classes=self.all_keys)
            case Do.KEYS:
                self.view.keys(self.keys)
            case Do.MORE:
                self.page = self.further
            case Do.NOTE:
                assert reply is not None
                self.note = self.reader.note() if isinstance(self.reader, Keyboard) else reply.text
            case Do.UNDO:
                self._undo()
            case _:
                assert reply is not None
                self._answer(reply, question)

    def _undo(self) -> None:
        if not self.session.given:
            self.view.say("there is no answer to take back")
            return
        last = self.session.given[-1]
        self.session, self.page, self.note = self.session.undo(), 0, ""
        self.view.say(f"taken back: {last.label} for {last.id}")

    def _answer(self, reply: Reply, question: Question) -> None:
        same = self.task.on_disk.check(self.task.project.classes)  # each time: it may get worse
        if self.unchanged and not same:
            self.unchanged = False
            self.remark("the rules have changed on disk: votes are shown as they were at the start")
        label = {Do.SKIP: SKIPPED, Do.CANNOT_TELL: CANNOT_TELL}.get(reply.do, reply.text)
        self.session = self.session.answer(label, self.note)
        self.page, self.note = 0, ""
        self.view.say(vote_line(self.task.shown(question.row), label, self._model(question.row)))
        labels = self.session.labels
        if reply.do is Do.LABEL and labels % _SENTENCE_EVERY == 0:
            found = self.task.balance(self.session.file)
            if found is not None and found.telling:
                self.view.say(found.sentence())

    def _model(self, row: int) -> str:
        """What the model says of a document."""
        if self.task.proba is None:
            return ""
        proba = self.task.proba[row]
        return f"model: {self.task.project.classes[int(proba.argmax())]} {proba.max():.0%}"


def vote_line(shown: ShownDocument, label: str, model: str) -> str:
    """After an answer: what it was, and what the rules and the model say."""
    votes = ", ".join(f"{vote.source} {vote.label}" for vote in shown.votes) or "none"
    return "; ".join(part for part in (f"-> {label}", f"votes: {votes}", model) if part)
