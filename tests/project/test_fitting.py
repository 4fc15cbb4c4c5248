"""`Project.fit`: the bar it draws, what it scores, and what the model keeps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from unruly.model.weak_classifier import WeakClassifier
from unruly.project.new import make_starter
from unruly.project.project import DataFiles, Project
from unruly.settings import PaperSettings


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
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    return replace(
        Project.read(make_starter(tmp_path / "spam")),
        encoder="lsa",
        method="paper",
        settings=PaperSettings(epochs=6),
    )


def test_the_losses_stand_beside_the_bar(project: Project) -> None:
    recorder = Recorder()
    project.fit(recorder)
    names = [what for what, _, _ in recorder.stages]
    assert "matching rules" in names
    total, unit = next((total, unit) for what, total, unit in recorder.stages if "train" in what)
    assert (total, unit) == (6, "epochs")
    losses = [note for note in recorder.notes if note]
    assert len(losses) == 6
    assert all("l1" in note and "l2" in note and "l3" in note for note in losses)
    assert recorder.depth == 0


def test_scoring_is_optional_and_changes_nothing(project: Project) -> None:
    scored, plain = project.fit(), project.fit(score=False)
    assert scored.evaluation is not None
    assert scored.scored_on == "train"
    told = str(scored)
    assert "repeat training documents: on new ones the figures may differ" in told
    assert 'for new documents, set test = "..." under [data]' in told
    assert told.count("gold labels:") == 1  # what was used is told once, scoring included
    assert str(plain).endswith("\ngold labels: none used")
    assert "these are the training documents" not in str(plain)
    assert plain.evaluation is None
    assert plain.to_plain()["evaluation"] is None
    assert scored.model.ledger_.gold_free
    assert (scored.model.reliability_ == plain.model.reliability_).all()


def test_without_excerpts_no_text_is_in_the_model(project: Project, tmp_path: Path) -> None:
    text = project.corpus("train").texts[0][:40].encode()
    for excerpts in (True, False):
        path = tmp_path / f"{excerpts}.unruly"
        project.fit(excerpts=excerpts).model.save(path)
        assert (text in path.read_bytes()) == excerpts


def test_the_order_of_rows_changes_no_label(tmp_path: Path) -> None:
    project = Project.read(make_starter(tmp_path / "spam"))
    corpus = project.corpus("train")
    order = np.random.default_rng(1).permutation(len(corpus))
    one, other = (
        WeakClassifier("lsa", cache=False).fit(rows, sources=project.sources).predict_proba(rows)
        for rows in (corpus, corpus.take(order))
    )
    np.testing.assert_allclose(other, one[order], atol=1e-5)
    assert (other.argmax(axis=1) == one[order].argmax(axis=1)).all()


def test_rows_that_are_skipped_or_without_a_text_are_counted(tmp_path: Path) -> None:
    project = Project.read(make_starter(tmp_path / "spam"))
    with (project.folder / "comments.csv").open("a") as file:
        file.write(",1\none,too,many\n")
    skipping = replace(project, data=replace(project.data, on_bad_row="skip"), encoder="lsa")
    fitted = skipping.fit(score=False)
    assert fitted.to_plain()["skipped"] == 2
    (told,) = [line for line in fitted.remarks() if line.startswith("2 rows skipped: ")]
    assert told.count("1 as ") == 2
    assert "line 75: the text (column 'comment') is missing or empty" in told
    assert "line 76: 3 fields" in told
    (project.folder / "comments.csv").write_text("comment,is_spam\nfree money,1\na song,0\n,0\n")
    kept = replace(project, encoder="lsa").fit(score=False)
    assert (kept.to_plain()["missing"], kept.to_plain()["skipped"]) == (1, 0)
    assert "1 row without a text" in kept.remarks()


def test_a_fit_that_cannot_be_scored_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    made = replace(Project.read(make_starter(tmp_path / "spam")), encoder="lsa")

    def told(data: DataFiles, test: str = "", score: bool = True) -> list[str]:
        (made.folder / "test.csv").write_text(test)
        fitted = replace(made, data=data).fit(score=score)
        assert fitted.evaluation is None or fitted.unscored is None
        assert (fitted.to_plain()["unscored"] is None) == (fitted.unscored is None)
        return fitted.remarks()

    named = replace(made.data, test="test.csv")
    assert told(named, "comment,true_class\nlovely song,ham\n") == [
        "not scored against gold labels: test.csv has no column 'is_spam' ('true_class' may hold the "
        'labels): set test_label = "true_class" under [data]'
    ]
    assert told(named, "comment,true_class\nlovely song,ham\n", score=False) == []
    assert told(named, "comment,x\nlovely song,1\n") == [
        "not scored against gold labels: test.csv has no column 'is_spam': set "
        'test_label = "..." under [data]'
    ]
    assert told(named, "comment,is_spam\nlovely song,\n") == [
        "not scored: the column 'is_spam' of test.csv has no label"
    ]
    assert told(replace(named, label=None), "comment,label\nlovely song,0\n") == [
        "not scored against gold labels: no label column is set for test.csv ('label' may hold the labels): set "
        'label = "label" under [data]'
    ]
    assert (
        told(replace(named, test_label="true_class"), "comment,true_class\nlovely song,ham\n") == []
    )
    assert told(replace(made.data, label=None)) == []
