from __future__ import annotations

from pathlib import Path

import pytest

from unruly.errors import RuleError
from unruly.rules.entity import Entity
from unruly.rules.plain import source_from_plain
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

spacy = pytest.importorskip("spacy")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "PERSON", "pattern": "Katy Perry"}, {"label": "GPE", "pattern": "Paris"}]
    )
    path = tmp_path_factory.mktemp("models") / "names"
    pipeline.to_disk(path)
    return path


def test_a_model_by_its_path(model: Path) -> None:
    sources = Sources(["a", "b"], [Source("person", [Rule("b", Entity("PERSON", str(model)))])])
    votes = sources.vote(Corpus.from_texts(["é: Katy Perry sings", "Paris", ""]))
    assert votes.matrix[:, 0].tolist() == [1, -1, -1]
    assert votes.matches(0)[0].spans == ((3, 13),)


def test_a_path_is_relative_to_the_project(model: Path) -> None:
    table = {"name": "p", "rule": [{"label": "b", "entity": {"type": "GPE", "model": model.name}}]}
    source = source_from_plain(table, ["a", "b"], model.parent)
    votes = Sources(["a", "b"], [source]).vote(Corpus.from_texts(["in Paris"]))
    assert votes.voted.all()


def test_a_model_that_is_not_there() -> None:
    sources = Sources(["a", "b"], [Source("p", [Rule("b", Entity("PERSON", "no_such_model"))])])
    with pytest.raises(RuleError, match=r"source 'p', rule 1: .*spacy download no_such_model"):
        sources.vote(Corpus.from_texts(["x"]))
