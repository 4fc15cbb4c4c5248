"""What the words that make sources vote are worth, as the summary tells it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.model.planted import texts

import unruly
from unruly.model.summary import FitSummary
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.keywords import Keywords
from unruly.rules.rule import Rule
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

WORTH = {"gem": 0.97, "nice": 0.6, "dire": 0.95}  # how often each word is right


@pytest.fixture(scope="module")
def fitted() -> WeakClassifier:
    rng = np.random.default_rng(1)
    made, gold = texts(1800)
    words = rng.choice([*WORTH, ""], len(made))
    named = np.array([1 if word == "dire" else 0 for word in words])
    right = rng.random(len(made)) < np.array([WORTH.get(word, 0.5) for word in words])
    holds = (words != "") & (right == (named == gold))
    given = [
        f"{text} {word}" if held else text
        for text, word, held in zip(made, words, holds, strict=True)
    ]
    mood = Source(
        "mood", [Rule("ham", Keywords(["gem", "nice"])), Rule("spam", Keywords(["dire"]))]
    )
    advert = Source("advert", [Rule("spam", Keywords(["subscribe"]))])
    corpus, sources = Corpus.from_texts(given), Sources(["ham", "spam"], [mood, advert])
    model = WeakClassifier(encoder={"name": "lsa", "dim": 16}, cache=False)
    return model.fit(corpus, sources.vote(corpus))


def test_words_are_told_by_source_and_class_the_best_first(fitted: WeakClassifier) -> None:
    lines = [line for line in fitted.summary_.words if line.source == "mood" and line.votes > 100]
    assert [(line.word, line.label) for line in lines] == [
        ("gem", "ham"),
        ("nice", "ham"),
        ("dire", "spam"),
    ]
    gem, nice, dire = (line.odds for line in lines)
    assert gem > 2 * nice
    assert dire > 2 * nice
    assert nice > 0.5


def test_the_summary_shows_them_and_keeps_them(fitted: WeakClassifier, tmp_path: Path) -> None:
    shown = str(fitted.summary_)
    assert "what a vote is worth by the word that made it, as a factor in odds" in shown
    assert "  mood, ham: gem ×" in shown
    again = FitSummary.from_plain(json.loads(json.dumps(fitted.summary_.to_plain())))
    assert again.words == fitted.summary_.words
    fitted.save(tmp_path / "a.unruly")
    assert unruly.load(tmp_path / "a.unruly").summary_.words == fitted.summary_.words


def test_a_summary_from_before_has_none(fitted: WeakClassifier) -> None:
    plain = fitted.summary_.to_plain()
    del plain["words"]
    assert FitSummary.from_plain(plain).words == ()


def test_the_paper_and_few_texts_tell_of_none(model: WeakClassifier) -> None:
    assert model.summary_.words == ()
    assert "by the word that made it" not in str(model.summary_)
