"""A project built in Python is checked like one that is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unruly.errors import ProjectError, RuleError
from unruly.project.project import DataFiles, Prior, Project, check_classes
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources

SOURCE = Source("free", [Rule("spam", Keywords(["free"]))])
SOURCES = Sources(["ham", "spam"], [SOURCE])


def test_lists_will_do_and_compare_equal() -> None:
    listed = Project(SOURCES, prior=[0.5, 0.5], encoder=["lsa", "minilm"])  # type: ignore[arg-type]
    assert listed == Project(SOURCES, prior=(0.5, 0.5), encoder=("lsa", "minilm"))
    assert listed.classes == ("ham", "spam")


@pytest.mark.parametrize(
    "prior", ["uniform", "votes", (0.1, 0.9), (9, 1), "spam is about 1 in 8", {"spam": 0.1}, None]
)
def test_priors(prior: Prior) -> None:
    assert Project(SOURCES, prior=prior).prior == prior


@pytest.mark.parametrize("prior", ["gold", (0.1, 0.8), (1.0,), (0.0, 1.0), (float("nan"), 0.5)])
def test_wrong_priors(prior: Prior) -> None:
    with pytest.raises(ProjectError, match="prior"):
        Project(SOURCES, prior=prior)


@pytest.mark.parametrize(
    "classes", [(), ("one",), ("a", "a"), ("a", " "), tuple(map(str, range(128)))]
)
def test_wrong_classes(classes: tuple[str, ...]) -> None:
    with pytest.raises(ProjectError, match="class"):
        check_classes(classes)
    with pytest.raises((ProjectError, RuleError)):
        Project(Sources(classes, [SOURCE]))


def test_labels_are_found_beside_the_project(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("key,text\na,free\nb,nice\nc,fine\n")
    project = Project(SOURCES, DataFiles("train.csv", id="key", label="is_spam"), folder=tmp_path)
    corpus = project.corpus()
    assert project.labels(corpus).labels == 0
    (tmp_path / "labels.csv").write_text("key,is_spam\nc,ham\na,1\n")
    assert project.labels(corpus).numbers.tolist() == [1, -1, 0]
    (tmp_path / "labels.csv").write_text("id,label\nb,spam\n")
    assert project.labels(corpus).numbers.tolist() == [-1, 1, -1]
    named = replace(project, data=replace(project.data, labels="theirs.csv"))
    with pytest.raises(ProjectError, match=r"no file 'theirs\.csv'"):
        named.labels(corpus)
    assert named.label_file().answers == ()
