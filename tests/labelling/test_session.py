"""A session: each answer is in the file before the next question, and can be taken back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unruly.errors import InputError
from unruly.labelling.answers import labelled
from unruly.labelling.labels import CANNOT_TELL, SKIPPED, Answer, LabelFile
from unruly.labelling.queue import Session, ask
from unruly.votes.votes import Votes

VOTES = Votes.from_array(np.full((9, 1), -1), classes=["ham", "spam"])


def begun(tmp_path: Path, n: int = 3) -> Session:
    return Session(LabelFile.open(tmp_path / "labels.csv"), ask(VOTES, n=n, by="random"), "ada")


def test_answers_are_on_disk_at_once_with_all_that_they_need(tmp_path: Path) -> None:
    session = begun(tmp_path)
    question = session.question
    assert question is not None
    session = session.answer("spam", "so funny")
    (answer,) = LabelFile.open(session.file.path).answers
    assert (answer.id, answer.label, answer.by) == (str(question.id), "spam", "ada")
    assert (answer.why, answer.probability, answer.note) == (question.why, 0.333333, "so funny")
    assert session.question is not None
    assert session.question.id != question.id


def test_undo_brings_the_document_back(tmp_path: Path) -> None:
    session = begun(tmp_path).answer("spam")
    second = session.question
    session = session.answer("ham").undo()
    assert session.question == second
    session = session.answer("spam")
    found = labelled(LabelFile.open(session.file.path), range(9), VOTES.classes)
    assert found.numbers[found.numbers >= 0].tolist() == [1, 1]
    session = session.undo().undo()
    assert labelled(LabelFile.open(session.file.path), range(9), VOTES.classes).labels == 0
    with pytest.raises(InputError, match="no answer to take back"):
        session.undo()


def test_a_session_ends(tmp_path: Path) -> None:
    session = begun(tmp_path).answer("spam").answer(SKIPPED).answer(CANNOT_TELL)
    assert session.question is None
    assert session.labels == 1
    with pytest.raises(InputError, match="nothing left"):
        session.answer("spam")


def test_what_somebody_else_labels_meanwhile_is_passed_over(tmp_path: Path) -> None:
    session = begun(tmp_path)
    second = session.questions.items[1]
    LabelFile.open(session.file.path).append(Answer(str(second.id), "ham", by="bob"))
    session = session.answer("spam")
    assert session.question == session.questions.items[2]
    assert [a.by for a in LabelFile.open(session.file.path).answers] == ["bob", "ada"]


def test_what_was_skipped_before_is_asked_again(tmp_path: Path) -> None:
    session = begun(tmp_path, 9)
    first = session.question
    session = session.answer(SKIPPED)
    again = Session(LabelFile.open(session.file.path), session.questions, "ada")
    assert again.question == first
