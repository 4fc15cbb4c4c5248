"""What `unruly fit` does between reading and writing: the bar it draws, and what it scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from unruly.cli.fitting import fit_project
from unruly.project.project import Project
from unruly.settings import Settings


@dataclass
class Recorder:
    """Remembers what it is told of progress."""

    stages: list[tuple[str, int | None, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    depth: int = 0

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.stages.append((what, total, unit))
        self.depth += 1

    def advance(self, units: int, note: str = "") -> None:
        self.notes.append(note)

    def finish(self) -> None:
        self.depth -= 1


@pytest.fixture
def project(spam: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    return replace(Project.read(spam), encoder="lsa", settings=Settings(method="paper", epochs=6))


def test_the_losses_stand_beside_the_bar(project: Project) -> None:
    recorder = Recorder()
    fit_project(project, recorder)
    names = [what for what, _, _ in recorder.stages]
    assert "matching rules" in names
    total, unit = next((total, unit) for what, total, unit in recorder.stages if "train" in what)
    assert (total, unit) == (6, "epoch")
    losses = [note for note in recorder.notes if note]
    assert len(losses) == 6
    assert all("l1" in note and "l2" in note and "l3" in note for note in losses)
    assert recorder.depth == 0


def test_scoring_is_optional_and_changes_nothing(project: Project) -> None:
    scored, plain = fit_project(project), fit_project(project, score=False)
    assert scored.evaluation is not None
    assert scored.scored_on == "the train file"
    assert "this flatters" in str(scored)
    assert "this flatters" not in str(plain)
    assert plain.evaluation is None
    assert plain.to_plain()["evaluation"] is None
    assert scored.model.ledger_.gold_free
    assert (scored.model.reliability_ == plain.model.reliability_).all()
