"""Errors of rules at work get the line where the rule is written; others stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unruly.errors import InputError, MissingExtraError, RuleError
from unruly.project.blame import blamed_on_its_line
from unruly.project.project import Project
from unruly.project.starter import make_starter


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.read(make_starter(tmp_path / "spam"))


@pytest.mark.parametrize("kind", [RuleError, MissingExtraError])
def test_the_line_of_the_rule(project: Project, kind: type[Exception]) -> None:
    def fail() -> None:
        with blamed_on_its_line(project):
            raise kind("source 'feeling', rule 2, row id 7: no")

    with pytest.raises(kind) as caught:
        fail()
    where, _, message = str(caught.value).partition(": ")
    file, _, line = where.rpartition(":")
    assert file == str(project.file)
    text = Path(file).read_text().splitlines()
    assert text[int(line) - 1] == "[[source.rule]]"
    assert text[int(line)] == 'label = "ham"'
    assert message == "source 'feeling', rule 2, row id 7: no"


@pytest.mark.parametrize("message", ["comments.csv: broken", "source 'nobody', rule 1: no"])
def test_other_errors_stay_as_they_are(project: Project, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}$"), blamed_on_its_line(project):
        raise InputError(message)


def test_a_project_made_in_python_has_no_lines(project: Project) -> None:
    with (
        pytest.raises(RuleError, match=r"^source 'short', rule 1: no$"),
        blamed_on_its_line(replace(project, file=None)),
    ):
        raise RuleError("source 'short', rule 1: no")
