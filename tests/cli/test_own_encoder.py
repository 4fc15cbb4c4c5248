"""An encoder of the user's own, which commands name as FILE.py:CLASS: models carry no code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly

import unruly as library
from unruly.distributed.run import _places
from unruly.project.project import Project

CODE = '''
class Shape:
    """How long a text is, and how much of it is in capitals."""

    def fit(self, texts):
        return self

    def encode(self, texts):
        return [[len(text), sum(c.isupper() for c in text) / (len(text) + 1)] for text in texts]


class Nothing:
    pass
'''
SHAPE = "shapes.py:Shape"


@pytest.fixture
def shapes(spam: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(spam.parent)
    path = Path("shapes.py")
    path.write_text(CODE, encoding="utf-8")
    return path


@pytest.fixture
def model(unruly: Unruly, spam: Path, shapes: Path) -> Path:
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", SHAPE)
    assert done.code == 0, done.err
    assert f"need --encoder {shapes.resolve()}:Shape" in done.err
    return Path("m.unruly")


def test_commands_take_it_by_name(unruly: Unruly, spam: Path, model: Path) -> None:
    data = spam / "comments.csv"
    refused = unruly("predict", model, data, "-o", "x.csv")
    assert refused.code == 2
    assert "--encoder FILE.py:Shape at a command" in refused.err
    for command in (
        ("predict", model, data, "-o", "x.csv"),
        ("encode", model, data, "-o", "x.parquet"),
        ("evaluate", model, spam, "--split", "train"),
        ("explain", model, "check out my channel"),
        ("report", model, spam, "-o", "x.html"),
        ("diff", model, model, "--data", spam),
        ("export", model, "-o", "folder", "--card"),
    ):
        done = unruly(*command, "--encoder", SHAPE)
        assert done.code == 0, (command, done.err)
    assert Path("folder/shapes.py").read_text() == CODE
    last = Path("folder/Dockerfile").read_text().splitlines()[-1]
    assert json.loads(last.removeprefix("CMD "))[-1] == "/model/shapes.py:Shape"
    assert 'functions="shapes.py:Shape"' in Path("folder/README.md").read_text()


def test_in_python(spam: Path, model: Path) -> None:
    texts = Project.read(spam).corpus().texts.to_list()
    given = library.load(model, encoders=SHAPE).predict(texts)
    assert (given == library.load(model, functions=SHAPE).predict(texts)).all()
    own = library.WeakClassifier(SHAPE, cache=False)
    assert own.fit(texts, sources=Project.read(spam).sources).summary_.encoder == "Shape"


def test_a_project_names_it(unruly: Unruly, spam: Path, shapes: Path) -> None:
    (spam / "shapes.py").write_text(CODE, encoding="utf-8")
    toml = spam / "unruly.toml"
    toml.write_text(f'encoder = ["lsa", "{SHAPE}"]\n' + toml.read_text("utf-8"), encoding="utf-8")
    done = unruly("fit", spam, "-o", "m.unruly")
    assert "encoder     lsa + Shape" in done.out, done.err
    assert unruly("evaluate", "m.unruly", spam, "--split", "train").code == 0
    assert unruly("explain", "m.unruly", "--data", spam, "--id", "3").code == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shapes.py:Circle", "shapes.py: there is no class Circle with the methods fit(texts) and"),
        ("shapes.py:Nothing", "shapes.py: there is no class Nothing with the methods fit(texts)"),
        ("shape.py:Shape", "shape.py: there is no such file"),
    ],
)
def test_what_is_wrong_is_said(
    unruly: Unruly, spam: Path, shapes: Path, name: str, message: str
) -> None:
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", name)
    assert (done.code, message in done.err) == (2, True), done.err


def test_workers_of_a_cluster_find_it(spam: Path, shapes: Path) -> None:
    assert _places(SHAPE) == (f"{shapes.resolve()}:Shape",)
    assert _places("owner/bert") == ("owner/bert",)
    assert _places(str(spam)) == (str(spam.resolve()), str(spam))
