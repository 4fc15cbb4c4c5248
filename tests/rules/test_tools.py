from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unruly.rules.tools as tools
from unruly.errors import MissingExtraError, RuleError
from unruly.rules.condition import TEXT
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.sources import Sources
from unruly.rules.tools import Entity, Length, Sentiment
from unruly.texts.corpus import Corpus

TEXTS = ["I love this great song", "a terrible, awful mess", "the table is wooden"]


def sources_of(*rules: Sentiment) -> Sources:
    return Sources(
        ["bad", "good"], [Source(f"s{i}", [Rule("good", r)]) for i, r in enumerate(rules)]
    )


def test_textblob_and_vader() -> None:
    pytest.importorskip("textblob")
    pytest.importorskip("vaderSentiment")
    votes = sources_of(
        Sentiment("polarity", above=0.5),
        Sentiment("polarity", below=-0.5),
        Sentiment("subjectivity", above=0.5),
        Sentiment("vader", above=0.5),
        Sentiment("vader", above=-0.1, below=0.1),
    ).vote(Corpus.from_texts(TEXTS))
    assert votes.voted.T.tolist() == [
        [True, False, False],
        [False, True, False],
        [True, True, False],
        [True, False, False],
        [False, False, True],
    ]


def test_scores_are_those_of_textblob() -> None:
    textblob = pytest.importorskip("textblob")
    import polars as pl

    from unruly.rules.condition import TEXT

    found = (
        tools.Sentiment("polarity", above=0.0)
        .needs(())
        .measures[0]
        .compute(pl.DataFrame({TEXT: TEXTS}))
        .to_list()
    )
    for text, scores in zip(TEXTS, found, strict=True):
        assert scores["polarity"] == pytest.approx(textblob.TextBlob(text).polarity)
        assert scores["subjectivity"] == pytest.approx(textblob.TextBlob(text).subjectivity)


def test_each_text_is_measured_once_however_many_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str] = Counter()

    def score(text: str) -> dict[str, float]:
        seen[text] += 1
        return {"polarity": 0.7, "subjectivity": 0.2}

    monkeypatch.setattr(tools, "_textblob", lambda: score)
    rules = [Sentiment("polarity", above=0.1 * i) for i in range(5)]
    rules.append(Sentiment("subjectivity", below=0.5))
    votes = sources_of(*rules).vote(Corpus.from_texts([*TEXTS, TEXTS[0]]))
    assert set(seen.values()) == {1}
    assert votes.voted.all()


def test_the_threshold_itself_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tools, "_textblob", lambda: lambda text: {"polarity": 0.5, "subjectivity": 0}
    )
    votes = sources_of(Sentiment("polarity", above=0.5)).vote(Corpus.from_texts(["x"]))
    assert not votes.voted.any()


def test_a_missing_library_names_the_rule_and_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def need(module: str, extra: str, purpose: str) -> None:
        raise MissingExtraError(f"{purpose} need {module}: pip install 'unruly[{extra}]'")

    monkeypatch.setattr(tools, "need", need)
    with pytest.raises(MissingExtraError, match=r"source 's0', rule 1: .*unruly\[sentiment\]"):
        sources_of(Sentiment("polarity", above=0)).vote(Corpus.from_texts(["x"]))


def test_thresholds_are_checked() -> None:
    with pytest.raises(RuleError, match="needs a threshold"):
        Sentiment("polarity")
    with pytest.raises(RuleError, match="no vader is above"):
        Sentiment("vader", above=0.5, below=0.1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spacy = pytest.importorskip("spacy")
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
    pytest.importorskip("spacy")
    sources = Sources(["a", "b"], [Source("p", [Rule("b", Entity("PERSON", "no_such_model"))])])
    with pytest.raises(RuleError, match=r"source 'p', rule 1: .*spacy download no_such_model"):
        sources.vote(Corpus.from_texts(["x"]))


@given(
    st.lists(st.text(alphabet="aé中 \n.", max_size=12), min_size=1),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_same_as_python(texts: list[str], a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    frame = pl.DataFrame({TEXT: texts})
    words = frame.select(Length(min_words=low, max_words=high).mask()).to_series().to_list()
    chars = frame.select(Length(min_chars=low, max_chars=high).mask()).to_series().to_list()
    assert words == [low <= len(text.split()) <= high for text in texts]
    assert chars == [low <= len(text) <= high for text in texts]


def test_no_bound_and_impossible_bounds() -> None:
    with pytest.raises(RuleError, match="needs a bound"):
        Length()
    with pytest.raises(RuleError, match="at least 5 and at most 2 words"):
        Length(min_words=5, max_words=2)
    with pytest.raises(RuleError, match="max_chars is too large: no text is so long"):
        Length(max_chars=2**63)
