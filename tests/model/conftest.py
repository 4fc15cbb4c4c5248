"""Tests of the model keep their caches to themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.model.planted import WORDS, quick, texts

from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Length
from unruly.texts.corpus import Corpus


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def sources() -> Sources:
    """Three sources; 'short' is mostly wrong."""
    return Sources(
        ["ham", "spam"],
        [
            Source("praise", [Rule("ham", Keywords(WORDS[0][:3]))]),
            Source(
                "advert", [Rule("spam", Keywords(WORDS[1][:2])), Rule("ham", Keywords(["voice"]))]
            ),
            Source("short", [Rule("ham", Length(max_words=3))]),
        ],
    )


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return Corpus.from_texts(texts()[0])


@pytest.fixture(scope="session")
def model(sources: Sources, corpus: Corpus) -> WeakClassifier:
    """A model fitted on texts, which carries its rules."""
    made = quick().set_params(encoder={"name": "lsa", "dim": 16}, cache=False)
    return made.fit(corpus, sources.vote(corpus))
