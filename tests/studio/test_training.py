"""Fits in the background: kept with their date, cancellable, the new beside the last."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studio.conftest import client_of

from unruly.errors import InputError
from unruly.studio import training
from unruly.studio.app import Studio
from unruly.studio.exports import LABELLED, SPREADSHEET, make_export
from unruly.studio.filters import Filter
from unruly.studio.models import VoteChange, answers_of, changed_answers, kept_models, vote_changes
from unruly.studio.state import ModelAnswers, State
from unruly.studio.training import Job, Trainer, live_report
from unruly.studio.workspace import Workspace


@pytest.fixture
def quick(folder: Path) -> None:
    """The small encoder, whatever else this machine has."""
    file = folder / "unruly.toml"
    file.write_text('encoder = "lsa"\n' + file.read_text())


def test_a_fit_is_kept_and_shown(quick: None, workspace: Workspace, folder: Path) -> None:
    workspace.reload()
    trainer = Trainer(workspace)
    trainer.fit()
    trainer.wait(120)
    assert trainer.status is not None
    assert trainer.status.state == "done", trainer.status.error
    (first,) = kept_models(folder)
    assert first.path.parent.name == "models"
    assert first.summary is not None
    assert first.text == workspace.state.text
    assert workspace.state.answers is not None
    fresh = not trainer.stale
    assert fresh
    workspace.change_source("off", "money")
    for rows, told in (([0], "1 label was given"), (list(range(21)), "21 labels were given")):
        workspace.label(rows, "spam")
        assert trainer.stale == f"rules or settings changed and {told}"
    workspace.label(list(range(2, 21)), None)
    assert trainer.stale == "rules or settings changed and 2 labels were given"
    trainer.fit()
    trainer.wait(120)
    second, still = kept_models(folder)
    assert still.path == first.path
    assert second.path != first.path
    assert second.when >= first.when
    assert second.labels == 2
    assert workspace.state.earlier is not None
    changed = (workspace.state.earlier.predicted != workspace.state.answers.predicted).sum()
    assert Filter(changed="yes").count(workspace.state) == changed
    found = trainer.difference()
    assert found is not None
    assert "money: removed" in str(found[0])
    assert found[1].total == changed
    assert sum(len(cause.rows) for cause in found[1].causes) == found[1].seen == changed
    again = Trainer(Workspace(folder))
    again.open_newest()
    assert again.current is not None
    assert again.current.path == second.path
    assert again.workspace.state.answers is not None, "kept answers are there at once"


def test_why_answers_changed(quick: None, workspace: Workspace, folder: Path) -> None:
    workspace.reload()
    trainer = Trainer(workspace)
    trainer.fit()
    trainer.wait(120)
    assert trainer.difference() is None, "one model: nothing to compare"
    text = workspace.state.text.replace('"money"', '"wages"').replace(
        'name = "wages"', 'name = "money"'
    )
    workspace.edit("money: another word", text)
    trainer.fit()
    trainer.wait(120)
    state, before, after = workspace.state, trainer.before, trainer.current
    assert before is not None
    assert after is not None
    old, new = trainer.opened(before), trainer.opened(after)
    rows = np.arange(state.n)
    words = state.corpus.texts.str.to_lowercase()
    for row, changes in enumerate(vote_changes(old, new, state, rows)):
        said = {change.source for change in changes}
        assert said <= {"money"}
        if changes:
            assert "money" in words[row] or "wages" in words[row]
    assert any(vote_changes(old, new, state, rows)), "the edit changed votes"
    swapped = ModelAnswers("x", 1 - np.asarray(state.answers.proba)) if state.answers else None
    workspace.use_answers(state.corpus, state.answers, swapped)  # as if every answer had changed
    found = changed_answers(old, new, workspace.state)
    assert found.total == state.n
    assert {row for cause in found.causes for row in cause.rows} == set(range(state.n))
    sizes = [len(cause.rows) for cause in found.causes]
    assert sizes == sorted(sizes, reverse=True)
    assert changed_answers(old, new, workspace.state, most=5).seen == 5
    assert trainer.changes_on(0) == vote_changes(old, new, state, rows[:1])[0]


def test_class_shares_are_stated_changed_and_taken_back(studio: Studio, folder: Path) -> None:
    file, before = folder / "unruly.toml", (folder / "unruly.toml").read_text()

    def state(shares: str) -> str:
        answer = client.post("/train/shares", data={"prior": shares}, headers={"x-part": "1"})
        return str(answer.text)

    with client_of(studio) as client:
        assert state("spam is about 1 in 8") == "Class shares saved"
        assert 'prior = "spam is about 1 in 8"' in file.read_text()
        assert 'value="spam is about 1 in 8"' in client.get("/train").text
        assert "there is no class 'spma'" in state("spma is about 1 in 8")
        assert 'prior = "spam is about 1 in 8"' in file.read_text()
        assert state("") == "Class shares removed"
        assert studio.workspace.state.project.prior is None
        client.post("/undo", headers={"x-part": "1"})
        client.post("/undo", headers={"x-part": "1"})
        assert file.read_text() == before
        studio.workspace.edit(
            "numbers", before.replace('prior = "spam is about 2 in 5"', "prior = [3, 1]")
        )
        assert 'value="0.75, 0.25"' in client.get("/train").text


def test_a_change_of_votes_in_words() -> None:
    assert str(VoteChange("songs", None, "ham")) == "songs now votes ham"
    assert str(VoteChange("songs", "ham", None)) == "songs no longer votes ham"
    assert str(VoteChange("songs", "ham", "spam")) == "songs votes spam, before ham"


def test_the_page_shows_what_changed_and_all_models(
    quick: None, studio: Studio, folder: Path
) -> None:
    studio.workspace.reload()
    studio.trainer.fit()
    studio.trainer.wait(120)
    studio.workspace.change_source("off", "about_the_song")
    studio.trainer.fit()
    studio.trainer.wait(120)
    with client_of(studio) as client:
        assert "/train/difference" in client.get("/train").text
        part = client.get("/train/difference").text
        changed = Filter(changed="yes").rows(studio.workspace.state)
        assert f"{len(changed)} of 73 predictions" in part
        assert "about_the_song: removed" in part
        assert "From model to model" in client.get("/train/charts").text
        for row in changed[:2].tolist():
            assert "The model before said" in client.get(f"/documents/{row}/reasons").text


def test_work_is_cancelled_at_the_next_word_of_progress() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(job: Job) -> None:
        job.start("counting", 10, "things")
        begun.set()
        go_on.wait(10)
        job.advance(1)
        raise AssertionError("it went on")

    job = Job("counting", work)
    begun.wait(10)
    assert job.status.running
    job.cancel()
    go_on.set()
    job.wait(10)
    assert job.status.state == "cancelled"


def test_documents_loaded_during_a_job_get_their_own_answers(
    modelled: Studio, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, trainer = modelled.workspace, modelled.trainer
    lines = (folder / "comments.csv").read_text().splitlines()
    (folder / "others.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]))
    file = folder / "unruly.toml"
    first = work.state.answers
    assert first is not None
    loaded = threading.Event()

    def answers(model: Any, path: Path, state: State, *more: Any) -> ModelAnswers:
        found = answers_of(model, path, state, *more)
        if not loaded.is_set():
            file.write_text(file.read_text().replace("comments.csv", "others.csv"))
            work.load_outside()
            loaded.set()
            trainer.refresh()
        return found

    monkeypatch.setattr(training, "answers_of", answers)
    trainer.show(trainer.models[0])
    trainer.wait(60)
    assert loaded.is_set()
    assert trainer.current is not None
    assert work.state.answers is not None
    assert np.array_equal(work.state.answers.predicted, first.predicted[::-1])


def test_a_failure_is_told_and_one_thing_at_a_time(workspace: Workspace) -> None:
    trainer, go_on = Trainer(workspace), threading.Event()

    def work(job: Job) -> None:
        go_on.wait(10)
        raise InputError("the disk is full")

    trainer.begin("failing", work)
    with pytest.raises(InputError, match="another job is running"):
        trainer.begin("more", work)
    go_on.set()
    trainer.wait(10)
    assert trainer.status is not None
    assert (trainer.status.state, trainer.status.error) == ("failed", "the disk is full")


def test_the_pages_of_training(modelled: Studio) -> None:
    with client_of(modelled) as client:
        page = client.get("/train").text
        assert "first.unruly" in page
        charts = client.get("/train/charts").text
        assert "<svg" in charts
        assert "majority vote" in charts.lower()
        assert " style=" not in charts
        assert client.post("/train/show", data={"name": "nothing"}).status_code == 422
        status = client.get("/status").json()
        assert status["job"]["state"] == "done"


def test_charts_gather_nothing_that_the_page_does_not_show(
    modelled: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unwanted(*_: Any, **__: Any) -> None:
        raise AssertionError("not shown, and slow with many rules")

    for name in ("suggest_rules", "critique_rules", "documents_to_show", "removals"):
        monkeypatch.setattr(f"unruly.report.facts.{name}", unwanted)
    with client_of(modelled) as client:
        assert "<svg" in client.get("/train/charts").text


def test_with_labels_the_page_does_not_say_that_there_are_none(client: Any, studio: Studio) -> None:
    assert "which needs no label" in client.get("/train").text
    studio.workspace.label([0], "spam")
    page = client.get("/train").text
    assert "and 1 label" in page
    assert "no label," not in page


def test_without_a_model(client: Any) -> None:
    assert "No model yet" in client.get("/train").text
    assert "train one" in client.get("/out").text
    assert client.post("/out", data={"name": "labelled.csv"}).status_code == 422


def test_out(modelled: Studio, folder: Path) -> None:
    trainer = modelled.trainer
    assert trainer is not None
    with client_of(modelled) as client:
        page = client.get("/out").text
        assert "unruly predict" in page
        for name in (*LABELLED, "report.html"):
            assert client.get(f"/out/{name}").status_code == 422, "not made yet"
            client.post("/out", data={"name": name})
            trainer.wait(60)
            assert trainer.status is not None
            assert trainer.status.state == "done", trainer.status.error
            assert client.get(f"/out/{name}").content == (folder / "out" / name).read_bytes()
        assert client.get("/out/unruly.toml").text == (folder / "unruly.toml").read_text()
        assert client.get("/out/first.unruly").status_code == 200
        for name in ("..%2Fspam%2Funruly.toml", "%2Fetc%2Fpasswd", "comments.csv"):
            assert client.get(f"/out/{name}").status_code in (404, 422)
        assert client.post("/out", data={"name": "../../x.csv"}).status_code == 422
        assert "another model" not in client.get("/out").text
        shutil.copy(folder / "first.unruly", folder / "second.unruly")
        client.post("/train/show", data={"name": "second"})
        trainer.wait(60)
        assert client.get("/out").text.count("another model than the one that is shown, first") == 5
    assert len((folder / "out" / "labelled.csv").read_text().splitlines()) == 74


def test_formulas_are_text_in_the_file_for_spreadsheets(modelled: Studio, folder: Path) -> None:
    trainer = modelled.trainer
    assert trainer is not None
    with (folder / "comments.csv").open("a") as file:
        file.write("=1+1 subscribe,1\n")
    for name, mark in (("labelled.csv", ""), (SPREADSHEET, "'")):
        made = make_export(trainer, name).read_text().splitlines()[-1]
        assert made.startswith(f"{mark}=1+1 subscribe")


def test_other_classes_put_the_model_away_and_undo_brings_it_back(
    modelled: Studio, folder: Path
) -> None:
    file, trainer = folder / "unruly.toml", modelled.trainer
    file.write_text(file.read_text().replace('"spam', '"junk'))  # in the stated shares as well
    with client_of(modelled) as client:
        client.post("/outside")
        trainer.wait(60)
        assert trainer.summary() is None, "no model is shown"
        assert trainer.status is not None
        assert "train again" in trainer.status.error
        for path in ("/documents", "/documents/0", "/rules", "/label", "/train", "/out"):
            assert client.get(path).status_code == 200
        client.post("/undo")
        trainer.wait(60)
        assert trainer.summary() is not None
        assert modelled.workspace.state.answers is not None


def test_labels_of_a_model_from_the_command_line_are_read_from_the_model(modelled: Studio) -> None:
    with client_of(modelled) as client:
        page = client.get("/train").text
        assert 'data-label="Labels">0<' in page


def test_figures_of_a_sample_say_so(modelled: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unruly.studio.training.SAMPLE", 40)
    found = live_report(modelled.trainer)
    assert found is not None
    assert str(found.documents) == "40 of the 73 documents of comments.csv, drawn at random"
    with client_of(modelled) as client:
        assert f"Figures and charts are of {found.documents}." in client.get("/train/charts").text
