"""Labels made elsewhere."""

from __future__ import annotations

from pathlib import Path

from unruly.labelling.answers import UnknownClass, UnknownId, import_labels, labelled
from unruly.labelling.labels import Answer, LabelFile

CLASSES = ("ham", "spam")


def test_labels_are_added_once_and_odd_ones_are_left_behind(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("id,label\n1,spam\n2,eggs\n77,ham\n3,Ham\n")
    theirs = LabelFile.open(tmp_path / "theirs.csv")
    ours = LabelFile.open(tmp_path / "labels.csv").append(Answer("1", "spam", by="ada"))
    done = import_labels(ours, theirs, range(9), CLASSES)
    assert done.added == 2
    assert done.problems == (UnknownClass("2", "eggs"), UnknownId("77"))
    again = LabelFile.open(ours.path)
    assert [(a.id, a.label, a.by) for a in again.answers[1:]] == [
        ("1", "spam", "theirs"),
        ("3", "Ham", "theirs"),
    ]
    assert {a.reason for a in again.answers[1:]} == {"import"}
    assert import_labels(again, theirs, range(9), CLASSES).added == 0
    found = labelled(again, range(9), CLASSES)
    assert found.labels == 2
    assert found.weights[[1, 3]].all()


def test_a_colleagues_file_keeps_how_it_was_drawn(tmp_path: Path) -> None:
    answer = Answer("1", "spam", "2026-01-01", "bob", "balance#12", 0.25)
    theirs = LabelFile.open(tmp_path / "bob.csv").append(answer)
    done = import_labels(LabelFile.open(tmp_path / "labels.csv"), theirs, range(9), CLASSES)
    assert LabelFile.open(done.file.path).answers == (answer,)


def test_contradictions_are_kept_apart(tmp_path: Path) -> None:
    theirs = LabelFile.open(tmp_path / "bob.csv").append(Answer("1", "spam"))
    ours = LabelFile.open(tmp_path / "labels.csv").append(Answer("1", "ham", by="ada"))
    found = labelled(import_labels(ours, theirs, range(9), CLASSES).file, range(9), CLASSES)
    assert found.labels == 0
    assert len(found.problems) == 1
