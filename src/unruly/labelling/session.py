"""Labelling, question by question: each answer is on disk before the next question is asked.

    session = Session(LabelFile.open("labels.csv"), ask(votes, n=20), by="ada")
    while (question := session.question) is not None:
        session = session.answer("spam")          # or .undo(), .answer(CANNOT_TELL), .answer(SKIPPED)

Nothing is kept in memory that is not in the file: a session that is killed loses the question on the screen, no more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unruly.errors import InputError
from unruly.labelling.answers import written_id
from unruly.labelling.labels import NO_CLASS, SKIPPED, WITHDRAWN, Answer, LabelFile
from unruly.labelling.queue import Question, Questions


@dataclass(frozen=True, eq=False)
class Session:
    """A file of labels, the questions, and the answers given so far."""

    file: LabelFile
    questions: Questions
    by: str = ""  # who answers
    given: tuple[Answer, ...] = ()  # in this session, those taken back left out

    @property
    def question(self) -> Question | None:
        """The next document to label; one that somebody else has labelled meanwhile is passed over."""
        given = {answer.id for answer in self.given}
        labelled = self._labelled()
        for question in self.questions:
            own = written_id(question.id)
            if own not in given and own not in labelled:
                return question
        return None

    def _labelled(self) -> set[str]:
        standing = self.file.standing()
        return {own for own, found in standing.items() if any(a.label != SKIPPED for a in found)}

    @property
    def labels(self) -> int:
        """How many of the answers name a class."""
        return sum(answer.label not in NO_CLASS for answer in self.given)

    def answer(self, label: str, note: str = "") -> Session:
        """Answer the question: a class, `CANNOT_TELL` or `SKIPPED`."""
        question = self.question
        if question is None:
            raise InputError("there is nothing left to label")
        file, own = self._file_now(), written_id(question.id)
        when = file.now(own)
        answer = Answer(own, label, when, self.by, question.why, question.probability, note)
        return replace(self, file=file.append(answer), given=(*self.given, answer))

    def undo(self) -> Session:
        """Take the last answer back; its document is the next again."""
        if not self.given:
            raise InputError("there is no answer to take back")
        file, last = self._file_now(), self.given[-1]
        taken = replace(last, label=WITHDRAWN, when=file.now(last.id), note="")
        return replace(self, file=file.append(taken), given=self.given[:-1])

    def _file_now(self) -> LabelFile:
        """As others may have changed it meanwhile."""
        return LabelFile.open(self.file.path, self.file.names)
