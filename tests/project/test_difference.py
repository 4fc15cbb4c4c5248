"""Two projects compared: votes that name other classes count as changed. (The command is in tests/cli.)"""

from __future__ import annotations

from pathlib import Path

from unruly.model.weak_classifier import WeakClassifier
from unruly.project.difference import compare_models, compare_projects
from unruly.project.file import read_project
from unruly.project.project import Project

PROJECT = """
[task]
classes = ["praise", "billing", "bug"]
[data]
train = "texts.csv"
text = "text"
[[source]]
name = "trouble"
[[source.rule]]
label = {label}
keywords = ["refund"]
[[source]]
name = "mood"
[[source.rule]]
label = "praise"
keywords = ["lovely"]
"""


def project(folder: Path, label: str) -> Project:
    folder.mkdir()
    (folder / "texts.csv").write_text("text\nrefund now\na refund\nlovely\n")
    (folder / "unruly.toml").write_text(PROJECT.format(label=label))
    return read_project(folder)


def test_progress_is_told_while_two_models_predict(tmp_path: Path) -> None:
    stages = list[str]()

    class Told:
        def start(self, what: str, total: int | None, unit: str) -> None:
            stages.append(what)

        def advance(self, units: int, note: str = "") -> None: ...

        def finish(self) -> None: ...

    opened = project(tmp_path / "a", '"billing"')
    corpus = opened.corpus("train")
    model = WeakClassifier("lsa", cache=False).fit(corpus, opened.vote(corpus))
    compare_models(model, model, corpus, Told())
    assert stages.count("encoding with lsa") == 2


def test_a_vote_for_fewer_classes_is_another_vote(tmp_path: Path) -> None:
    either = project(tmp_path / "a", '["billing", "bug"]')
    one = project(tmp_path / "b", '"billing"')
    (trouble, mood) = compare_projects(either, one).sources
    assert (trouble.votes_before, trouble.votes_after, trouble.changed) == (2, 2, 2)
    assert (mood.votes_before, mood.votes_after, mood.changed) == (1, 1, 0)
    assert not any(source.changed for source in compare_projects(either, either).sources)
