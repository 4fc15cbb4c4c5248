"""The workspace without a browser: labels, undo, edits from outside, drafts, saved filters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unruly.errors import InputError, ProjectError
from unruly.labelling.label_file import CANNOT_TELL
from unruly.labelling.sampling import ask
from unruly.studio.filters import Filter
from unruly.studio.state import ModelAnswers
from unruly.studio.workspace import ChangedOutsideError, Workspace


def test_labels_are_on_disk_at_once_and_can_be_undone(workspace: Workspace, folder: Path) -> None:
    assert workspace.label([3], "spam") == 1
    assert "3,spam," in (folder / "labels.csv").read_text()
    assert workspace.label([3], "spam") == 0, "it has that label already"
    assert workspace.label([3], "ham") == 1
    workspace.undo()
    assert workspace.state.labels[3] == workspace.state.classes.index("spam")
    workspace.undo()
    assert workspace.state.labels[3] == -1
    assert workspace.undo() is None
    workspace.redo()
    workspace.redo()
    assert workspace.state.labels[3] == workspace.state.classes.index("ham")
    assert Workspace(folder).state.labels[3] == workspace.state.classes.index("ham"), "after a kill"


def test_a_whole_filter_is_labelled_and_undone_as_one_step(workspace: Workspace) -> None:
    rows = Filter(covered="no").rows(workspace.state).tolist()
    workspace.label([rows[0]], "ham")
    assert workspace.label(rows, "spam") == len(rows)
    workspace.undo()
    assert workspace.state.labelled.labels == 1
    assert workspace.state.classes[workspace.state.labels[rows[0]]] == "ham"


def test_a_label_that_was_drawn_stays_so_when_it_is_corrected_and_undone(
    workspace: Workspace, folder: Path
) -> None:
    questions = list(ask(workspace.state.votes, n=12))
    for number, question in enumerate(questions):
        workspace.answer(question, ["ham", "spam"][number % 2])
    row = questions[0].row
    weight = workspace.state.labelled.weights[row]
    assert weight > 0
    workspace.label([row], "spam")
    assert workspace.state.labelled.weights[row] == pytest.approx(weight)
    workspace.label([question.row for question in questions], "ham")
    assert workspace.state.labelled.weights[row] == pytest.approx(weight)
    for _ in range(2):
        workspace = Workspace(folder, by="bob")  # a restart, by somebody else
        workspace.undo()
        assert workspace.state.labelled.weights[row] == pytest.approx(weight)
    assert workspace.state.classes[workspace.state.labels[row]] == "ham"
    workspace = Workspace(folder, by="ada")
    workspace.label([row], None)
    assert workspace.state.labels[row] == -1
    workspace.label([row], "ham")
    assert workspace.state.labelled.weights[row] == pytest.approx(weight)


def test_an_undo_brings_back_an_answer_that_names_no_class(workspace: Workspace) -> None:
    question = next(iter(ask(workspace.state.votes)))
    workspace.answer(question, CANNOT_TELL)
    workspace.label([question.row], "ham")
    workspace.undo()
    assert workspace.state.labels[question.row] == -1
    assert workspace.state.labelled.answered[question.row], "it is not asked about again"


def test_an_undo_leaves_the_answers_of_others_theirs(workspace: Workspace, folder: Path) -> None:
    Workspace(folder, by="bob").label([1], "ham")
    workspace.notice_labels()
    workspace.label([1], "spam")
    assert workspace.state.labels[1] == -1, "people disagree"
    workspace.undo()
    assert workspace.state.classes[workspace.state.labels[1]] == "ham"
    (answer,) = workspace.state.project.label_file().standing()["1"]
    assert answer.by == "bob"


def test_labels_that_somebody_else_writes_are_noticed(workspace: Workspace, folder: Path) -> None:
    other = Workspace(folder, by="bob")
    other.label([1], "ham")
    workspace.notice_labels()
    assert workspace.state.labelled.labels == 1
    assert [(one.row, one.before, one.after) for one in workspace.label_changes] == [
        (1, None, "ham")
    ]
    other.label([1], "spam")
    workspace.label([2], "spam")  # its own label is no difference; theirs is noticed on the way
    assert [(one.row, one.before, one.after) for one in workspace.label_changes] == [
        (1, None, "spam")
    ]
    workspace.forget_label_changes()
    workspace.notice_labels()
    assert workspace.label_changes == ()
    other.notice_labels()
    assert other.state.labelled.labels == 2, "nobody's line was lost"


def test_an_edit_from_outside_can_be_undone_and_all_before_it(
    workspace: Workspace, folder: Path
) -> None:
    file = folder / "unruly.toml"
    first = file.read_text()
    workspace.label([3], "ham")
    workspace.change_source("delete", "money")
    theirs = file.read_text() + "# theirs\n"
    file.write_text(theirs)
    workspace.load_outside()
    workspace.undo()
    workspace.undo()
    assert file.read_text() == first
    workspace.undo()
    assert workspace.state.labelled.labels == 0
    for _ in range(3):
        workspace.redo()
    assert file.read_text() == theirs


def test_an_unknown_class_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="not a class"):
        workspace.label([0], "eggs")


def test_an_edit_is_checked_written_and_undone(workspace: Workspace, folder: Path) -> None:
    file = folder / "unruly.toml"
    before = file.read_text()
    edited = before.replace('"subscribers"', '"subscribers", "zzz"', 1)
    workspace.edit("subscribe: edited", edited)
    assert file.read_text() == edited == workspace.state.text
    workspace.undo()
    assert file.read_text() == before
    with pytest.raises(ProjectError, match=r"unruly.toml:\d+: unknown key"):
        workspace.edit("broken", before.replace("[task]", "[tsk]"))
    assert file.read_text() == before
    assert not list(folder.glob(".*trial*"))


def test_an_edit_from_outside_is_shown_and_never_overwritten(
    workspace: Workspace, folder: Path
) -> None:
    file = folder / "unruly.toml"
    assert workspace.outside() == ""
    theirs = file.read_text() + "\n# theirs\n"
    file.write_text(theirs)
    assert "+# theirs" in workspace.outside()
    with pytest.raises(ChangedOutsideError, match="edited outside"):
        workspace.edit("mine", workspace.state.text + "\n# mine\n")
    assert file.read_text() == theirs
    workspace.reload()
    assert workspace.outside() == ""
    workspace.edit("mine", workspace.state.text + "# mine\n")
    assert file.read_text() == theirs + "# mine\n"


def test_an_undo_does_not_undo_what_others_did(workspace: Workspace, folder: Path) -> None:
    workspace.edit("mine", workspace.state.text + "# mine\n")
    file = folder / "unruly.toml"
    file.write_text(file.read_text() + "# theirs\n")
    workspace.reload()
    with pytest.raises(ChangedOutsideError):
        workspace.undo()
    assert "# theirs" in file.read_text()


def test_a_vanished_file_is_said(workspace: Workspace, folder: Path) -> None:
    (folder / "unruly.toml").unlink()
    assert "cannot be read" in workspace.outside()


def test_drafts_and_saved_filters_survive_a_kill(workspace: Workspace, folder: Path) -> None:
    workspace.keep_draft("subscribe", "half a ru")
    workspace.save_preset("mine", Filter(words="song"))
    again = Workspace(folder)
    assert again.draft("subscribe") == "half a ru"
    mine = next(preset for preset in again.presets() if preset.own)
    assert (mine.name, mine.filter) == ("mine", Filter(words="song"))
    assert mine.count == Filter(words="song").count(again.state) > 0
    again.keep_draft("subscribe", None)
    again.save_preset("mine", None)
    assert Workspace(folder).draft("subscribe") is None


def test_a_project_without_rules_opens(tmp_path: Path, folder: Path) -> None:
    text = (folder / "unruly.toml").read_text()
    (folder / "unruly.toml").write_text(text[: text.index("[[source]]")])
    bare = Workspace(folder)
    assert bare.state.votes.k == 0
    assert Filter(covered="no").count(bare.state) == bare.state.n
    assert bare.state.matches([0]) == [()]


def test_the_last_source_can_go_and_come_back(workspace: Workspace) -> None:
    before = workspace.state.text
    names = [source.name for source in workspace.state.project.sources.with_disabled]
    for name in names:
        workspace.change_source("delete", name)
    assert not workspace.state.votes.k
    for _ in names:
        workspace.undo()
    assert workspace.state.text == before


def test_answers_on_other_documents_are_not_used(workspace: Workspace, folder: Path) -> None:
    corpus, n = workspace.state.corpus, workspace.state.n
    answers = ModelAnswers("m", np.full((n, 2), 0.5, np.float32))
    assert workspace.use_answers(corpus, answers)
    assert workspace.state.answers is answers
    other = (folder / "comments.csv").read_text().replace("I ", "we ")  # as many documents
    (folder / "others.csv").write_text(other)
    file = folder / "unruly.toml"
    file.write_text(file.read_text().replace("comments.csv", "others.csv"))
    workspace.load_outside()
    assert workspace.state.n == n
    assert not workspace.use_answers(corpus, answers)
    assert workspace.state.answers is None
