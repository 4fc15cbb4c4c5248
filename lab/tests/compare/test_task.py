"""From a project to what systems are compared on: which gold is scored, which is learnt from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unruly
from unruly.cli.main import run
from unruly.errors import InputError
from unruly.project.new import make_starter
from unruly.project.project import Project
from unruly_lab.compare.task import ComparisonTask, task_of
from unruly_lab.peers.systems import TrainingData, entry


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    return replace(Project.read(make_starter(tmp_path / "spam")), encoder="lsa")


def with_test_file(project: Project, columns: list[str]) -> Project:
    comments = pl.read_csv(project.folder / "comments.csv")
    comments.select(columns).head(20).write_csv(project.folder / "test.csv")
    return replace(project, data=replace(project.data, test="test.csv"))


def test_labelled_training_documents_are_scored_on_and_never_learnt_from(project: Project) -> None:
    task = task_of(project)
    assert task.scored is not None
    assert task.scored.origin == "labelled training documents"
    assert len(task.scored.gold) == task.documents.n == 73
    assert task.clean is None
    assert task.taught is None


def test_the_test_file_is_scored_on_and_repeats_are_counted(project: Project) -> None:
    task = task_of(with_test_file(project, ["comment", "is_spam"]))
    assert task.scored is not None
    assert task.scored.origin == "the test file"
    assert (task.scored.documents.n, task.scored.repeats) == (20, 20)
    assert task.taught is not None  # for the supervised systems alone
    assert task.clean is None


def test_a_project_without_labels_has_nothing_to_score(project: Project) -> None:
    bare = replace(project, data=replace(project.data, label=None))
    assert task_of(bare).scored is None


def test_clean_labels_are_learnt_from_and_not_scored_on(project: Project) -> None:
    comments = pl.read_csv(project.folder / "comments.csv").with_row_index("id")
    comments.write_csv(project.folder / "comments.csv")
    comments.head(10).select("id", "is_spam").write_csv(project.folder / "labels.csv")
    task = task_of(replace(project, data=replace(project.data, id="id")))
    assert task.clean is not None
    assert (task.clean >= 0).sum() == 10
    assert task.scored is not None
    assert len(task.scored.gold) == 63
    assert task.taught is task.clean


def test_keywords_come_from_the_rules(project: Project) -> None:
    keywords = task_of(project).keywords
    assert keywords is not None
    assert "lyrics" in keywords[0]
    assert "subscribe" in keywords[1]


@pytest.mark.parametrize(
    ("stated", "expected"), [(None, None), ("uniform", (0.5, 0.5)), ((0.9, 0.1), (0.9, 0.1))]
)
def test_the_prior_in_numbers(
    project: Project,
    stated: str | tuple[float, ...] | None,
    expected: tuple[float, ...] | None,
) -> None:
    assert task_of(replace(project, prior=stated)).prior == expected


def test_the_prior_of_the_votes(project: Project) -> None:
    prior = prior_of(task_of(replace(project, prior="votes")))
    assert sum(prior) == pytest.approx(1)
    assert prior[0] != 0.5


def prior_of(task: ComparisonTask) -> tuple[float, ...]:
    assert task.prior is not None
    return task.prior


def test_rules_that_never_match_are_refused(project: Project) -> None:
    text = " ".join(["xyz"] * 60)
    (project.folder / "comments.csv").write_text(f"comment,is_spam\n{text},ham\n{text},spam\n")
    with pytest.raises(InputError, match="no rule matches any training document"):
        task_of(project)


@pytest.mark.parametrize(
    "stated",
    [{}, {"prior": "spam is about 1 in 3"}, {"seed": 3}, {"method": "paper", "settings": None}],
    ids=["plain", "prior in words", "seed", "another method"],
)
def test_the_default_is_what_fit_gives(project: Project, stated: dict[str, Any]) -> None:
    """Byte for byte: the same votes, encoders, masked readings, prior and seed."""
    project = replace(project, **stated)
    task = task_of(project)
    data = TrainingData(
        task.documents, project.seed, task.prior, clean=task.clean, classifier=task.classifier
    )
    ours = entry("default").build().fit(data).predict_proba(task.documents)
    model = replace(project, method="default", settings=None).fit(score=False).model
    theirs = model.predictions(project.corpus("train")).proba
    assert ours.tobytes() == np.asarray(theirs, np.float64).tobytes()


def test_the_default_is_what_the_command_writes(project: Project, tmp_path: Path) -> None:
    assert (
        run(
            ["fit", str(project.folder), "-o", str(tmp_path / "m.unruly"), "--encoder", "lsa", "-q"]
        )
        == 0
    )
    theirs = unruly.load(tmp_path / "m.unruly").predictions(project.corpus("train")).proba
    task = task_of(project)
    data = TrainingData(task.documents, project.seed, classifier=task.classifier)
    ours = entry("default").build().fit(data).predict_proba(task.documents)
    assert ours.tobytes() == np.asarray(theirs, np.float64).tobytes()
