"""There and back: a project written and read again is the same project."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.project.file import to_toml
from unruly.project.new import make_starter
from unruly.project.project import DataFiles, EncoderSpec, Project
from unruly.rules.condition import AllOf, Not
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Length
from unruly.settings import PaperSettings

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda word: word.strip() != ""
)
lists = st.lists(words, min_size=1, max_size=8, unique=True)
keywords = st.builds(Keywords, lists.map(tuple), st.sampled_from(["word", "substring"]))
lengths = st.integers(0, 9).map(lambda most: Length(max_words=most))
patterns = st.sampled_from([r"check\s+.*out", "it's \\d+", "\"quoted\" 'twice' \\w", "a\tb"]).map(
    Pattern
)
simple = st.one_of(keywords, lengths, patterns)
conditions = st.one_of(
    simple, simple.map(Not), st.lists(simple, min_size=1, max_size=3).map(lambda c: AllOf(tuple(c)))
)
encoders: st.SearchStrategy[EncoderSpec] = st.sampled_from(
    [
        "auto",
        "lsa",
        ("minilm", "lsa"),
        {"name": "minilm", "layer": 5},
        ({"name": "lsa", "dim": 64, "chars": True}, "minilm"),
    ]
)
columns = st.none() | words


@st.composite
def projects(draw: st.DrawFn) -> Project:
    classes = draw(st.lists(words.map(str.strip), min_size=2, max_size=5, unique=True))
    rules = st.lists(
        st.builds(
            Rule,
            st.sampled_from(classes),
            conditions,
            st.lists(words, max_size=2),
            st.lists(words, max_size=2),
        ),
        min_size=1,
        max_size=3,
    )
    names = draw(st.lists(words, min_size=1, max_size=3, unique=True))
    shares = tuple(1 / len(classes) for _ in classes)
    return Project(
        sources=Sources(classes, [Source(name, draw(rules)) for name in names]),
        data=DataFiles(
            draw(columns),
            draw(columns),
            None,
            draw(columns),
            draw(columns),
            None,
            draw(columns),
            draw(columns),
        ),
        prior=draw(
            st.sampled_from(
                [None, "uniform", "votes", shares, {"shares": list(shares), "exact": True}]
            )
        ),
        encoder=draw(encoders),
        method="paper",
        seed=draw(st.integers(0, 3)),
        settings=draw(
            st.builds(
                PaperSettings,
                hidden=st.integers(1, 500),
                learning_rate=st.floats(1e-6, 1.0),
                batch_size=st.none() | st.integers(1, 99),
                standardise=st.booleans(),
                ablation=st.sampled_from(["whole", "rule-only"]),
            )
        ),
    )


@settings(max_examples=40, deadline=None)
@given(projects())
def test_there_and_back(project: Project) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = project.write(folder)
        assert path == Path(folder) / "unruly.toml"
        again = Project.read(folder)
    assert again == project
    assert to_toml(again) == to_toml(project)


def test_the_starter_survives(tmp_path: Path) -> None:
    project = Project.read(make_starter(tmp_path / "spam"))
    path = project.write(tmp_path / "copy.toml")
    assert Project.read(path) == project


def test_it_reads_like_written_by_hand() -> None:
    project = Project(
        Sources(
            ["ham", "spam"], [Source("a", [Rule("spam", Pattern(r"check\s+out"), ["check out"])])]
        ),
        DataFiles(train="comments.csv"),
        method="paper",
        settings=PaperSettings(hidden=64),
    )
    assert to_toml(project) == (
        '[task]\nclasses = ["ham", "spam"]\n\n'
        '[data]\ntrain = "comments.csv"\n\n'
        '[[source]]\nname = "a"\n\n'
        '[[source.rule]]\nlabel = "spam"\npattern = \'check\\s+out\'\nexamples = ["check out"]\n\n'
        '[train]\nmethod = "paper"\nhidden = 64\n'
    )


def test_long_lists_have_one_item_a_line() -> None:
    many = tuple(f"keyword number {i}" for i in range(20))
    text = to_toml(Project(Sources(["x", "y"], [Source("a", [Rule("x", Keywords(many))])])))
    assert '\n    "keyword number 7",\n' in text
    assert tomllib.loads(text)["source"][0]["rule"][0]["keywords"] == list(many)


def test_an_existing_file_survives_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(Sources(["x", "y"], [Source("a", [Rule("x", Keywords(("k",)))])]))
    path = project.write(tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr("unruly.project.file.to_toml", lambda project: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        project.write(tmp_path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["unruly.toml"]


def test_a_missing_folder(tmp_path: Path) -> None:
    project = Project(Sources(["x", "y"], [Source("a", [Rule("x", Keywords(("k",)))])]))
    with pytest.raises(InputError, match="does not exist"):
        project.write(tmp_path / "nowhere")
