"""Undo and redo across everything, and across a restart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule
from unruly.studio.filters import Filter
from unruly.studio.history import MOST_STEPS, History, PresetStep, TextStep
from unruly.studio.workspace import ChangedOutsideError, Workspace


@given(before=st.text("ab\n", max_size=20), after=st.text("ab\n", max_size=20))
def test_an_edit_goes_both_ways(before: str, after: str) -> None:
    step = TextStep.of("edit", before, after)
    assert step.applied(after, back=True) == before
    assert step.applied(before, back=False) == after
    assert step.applied(after + "x", back=True) is None


def everything(work: Workspace) -> tuple[object, ...]:
    refused = (work.folder / "refused.jsonl").exists()
    presets = tuple(one.name for one in work.presets() if one.own)
    return work.state.text, work.state.labels.tolist(), presets, refused


def test_everything_is_undone_and_redone_after_a_restart(
    workspace: Workspace, folder: Path
) -> None:
    moments = [everything(workspace)]

    def then() -> None:
        moments.append(everything(workspace))

    workspace.change_source("duplicate", "money")
    then()
    workspace.label([0, 1], "spam")
    then()
    workspace.save_preset("mine", Filter(covered="no"))
    then()
    workspace.describe({"ham": "people talk", "spam": "people sell"})
    then()
    workspace.label([0], None)
    then()
    workspace.save_preset("mine", None)
    then()
    for number in range(len(moments) - 1, 0, -1):
        assert everything(workspace) == moments[number]
        workspace = Workspace(folder, by="ada")  # killed, and started again
        assert workspace.undo() is not None
    assert everything(workspace) == moments[0]
    assert workspace.undo() is None
    for moment in moments[1:]:
        workspace = Workspace(folder, by="ada")
        assert workspace.redo() is not None
        assert everything(workspace) == moment
    assert workspace.redo() is None


def test_a_refusal_is_undone_after_a_restart(workspace: Workspace, folder: Path) -> None:
    from unruly.project.suggestions import NewRule, Place, read_refused

    workspace.refuse(NewRule(Rule("spam", Keywords(["cash"])), Place("cash", None)))
    again = Workspace(folder)
    again.undo()
    assert not list(read_refused(folder))
    again.redo()
    assert len(list(read_refused(folder))) == 1


def test_an_edit_is_not_taken_back_over_somebody_elses(workspace: Workspace, folder: Path) -> None:
    workspace.change_source("off", "money")
    file = folder / "unruly.toml"
    file.write_text("# mine\n" + file.read_text())
    again = Workspace(folder)
    with pytest.raises(ChangedOutsideError):
        again.undo()
    assert file.read_text().startswith("# mine")


def test_a_new_step_ends_what_was_taken_back(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    for number in range(MOST_STEPS + 9):
        history.note(PresetStep(str(number), "a", None, {"covered": "no"}))
    history.back()
    history.back()
    history.note(PresetStep("new", "a", None, None))
    again = History(tmp_path / "history")
    assert again.last == PresetStep("new", "a", None, None)
    assert again.next is None
    assert len(list((tmp_path / "history").glob("*.json"))) <= MOST_STEPS


@pytest.mark.parametrize("content", ["", "{", "[]", '{"step": "TextStep"}', '{"step": "Other"}'])
def test_a_damaged_step_cannot_be_undone(tmp_path: Path, content: str) -> None:
    history = History(tmp_path)
    history.note(PresetStep("a", "a", None, None))
    (tmp_path / "00000001.json").write_text(content)
    assert History(tmp_path).last is None


def test_label_steps_of_another_shape_cannot_be_undone(workspace: Workspace, folder: Path) -> None:
    workspace.label([3], "spam")
    file = folder / ".studio" / "history" / "00000001.json"
    step = json.loads(file.read_text())
    older = {"before": [["3", None]], "after": [["3", "spam"]], "question": None}
    for other in (
        older,
        {"before": [{"id": "3"}]},
        {"before": [{"id": 3, "label": "ham"}]},
        {"more": 1},
    ):
        file.write_text(json.dumps({**step, **other}))
        again = Workspace(folder, by="ada")
        assert again.undo() is None
        assert again.state.labelled.labels == 1


def test_a_disk_that_cannot_be_written_keeps_steps_until_the_end(tmp_path: Path) -> None:
    taken = tmp_path / "history"
    taken.write_text("a file where the folder should be")
    history = History(taken)
    step = PresetStep("a", "a", None, {"covered": "no"})
    history.note(step)
    assert (history.last, history.next) == (step, None)
    history.back()
    assert (history.last, history.next) == (None, step)
