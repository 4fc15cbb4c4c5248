"""Labelling the documents of a project: questions, the balance, and what labels would change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unruly.errors import InputError
from unruly.labelling.estimates import estimate_balance
from unruly.labelling.sampling import from_votes
from unruly.project.documents import LabellingTask, OnDisk
from unruly.project.new import make_starter
from unruly.project.project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))
    return Project.read(make_starter(tmp_path / "spam"))


def test_without_a_model_votes_draw_and_no_gold_is_shown(project: Project) -> None:
    task = LabellingTask.of(project)
    session = task.session(5, whom="ada")
    assert len(session.questions) == 5
    assert all(task.shown(question.row).gold is None for question in session.questions)
    session = session.answer("spam")
    assert task.changed(session.file) is None
    assert task.labelled(task.project.label_file()).labels == 1
    assert task.numbered


def test_a_model_that_has_learnt_from_labels_does_not_help_to_tell_what_they_say(
    project: Project,
) -> None:
    corpus = project.corpus()
    votes = project.sources.vote(corpus)
    plain = project.classifier().set_params(encoder="lsa").fit(corpus, votes)
    task = LabellingTask.of(project, plain)
    session = task.session(12, "random")
    while session.question is not None:
        session = session.answer("spam")
    labels = task.labelled(session.file)
    assert task.proba is not None
    assert task.balance(session.file) == estimate_balance(labels, task.proba, project.classes)
    taught = project.classifier().set_params(encoder="lsa").fit(corpus, votes, clean=labels)
    again = LabellingTask.of(project, taught)
    by_votes = estimate_balance(labels, from_votes(again.votes), project.classes)
    assert again.balance(session.file) == by_votes
    changed = task.changed(session.file)
    assert changed == int((taught.denoise().argmax(1) != np.asarray(task.proba).argmax(1)).sum())


def test_what_has_changed_on_disk_is_noticed(project: Project) -> None:
    seen = OnDisk.of(project)
    assert seen.check(project.classes)
    assert project.file is not None
    text = project.file.read_text()
    project.file.write_text(text + "\n# a remark\n")
    assert not seen.check(project.classes)
    project.file.write_text("[task\n")
    with pytest.raises(InputError, match="cannot be read"):
        seen.check(project.classes)
    project.file.write_text(text)
    (project.folder / "comments.csv").write_text("comment,is_spam\nhello,0\n")
    with pytest.raises(InputError, match="the documents have changed on disk: start again"):
        seen.check(project.classes)
    (project.folder / "comments.csv").unlink()
    with pytest.raises(InputError, match="the documents are gone: start again"):
        seen.check(project.classes)
