"""Seed words from rules and from votes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab.tests.peers.planted_task import TELLING, planted_task

from unruly.errors import InputError
from unruly.project.project import Project
from unruly.rules.condition import AllOf, Not
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Length
from unruly.votes.votes import Votes
from unruly_lab.peers.seed_keywords import (
    complete_seeds,
    seeds_from_rules,
    seeds_from_votes,
    with_words_of_votes,
)

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def seeds(*rules: Rule) -> tuple[tuple[str, ...], ...]:
    return seeds_from_rules(Sources(["bad", "good"], [Source("all", rules)]))


def test_every_kind_of_rule_gives_its_plain_words() -> None:
    found = seeds(
        Rule("good", WordSequence(["would", "definitely"], ["recommend", "see it"])),
        Rule("bad", AllOf((Keywords(["boring"]), Not(Keywords(["lovely"]))))),
        Rule("bad", Pattern(r"\bfall(s|ing)?\s+asleep\b|colou?r|(?i:dull)|[xyz]+\d{2}")),
        Rule("good", Length(max_words=4)),
    )
    assert found == (("boring", "fall", "ing", "asleep", "dull"), ("definitely", "recommend"))


def test_a_word_of_two_classes_is_a_seed_of_neither() -> None:
    found = seeds(Rule("good", Keywords(["fast", "kind"])), Rule("bad", Keywords(["fast", "slow"])))
    assert found == (("slow",), ("kind",))


@pytest.mark.parametrize(
    ("name", "label", "word"),
    [
        ("youtube", "SPAM", "subscribe"),
        ("youtube", "HAM", "song"),
        ("imdb", "negative", "awful"),
        ("yelp", "positive", "delicious"),
        ("agnews", "Sports", "basketball"),
        ("spouse", "SPOUSE", "wife"),
    ],
)
def test_the_papers_rules_have_seeds(name: str, label: str, word: str) -> None:
    project = Project.read(EXAMPLES / name)
    found = seeds_from_rules(project.sources)
    assert all(found)
    assert word in found[project.classes.index(label)]


@pytest.mark.parametrize("m", [2, 3])
def test_votes_alone_give_words_of_the_right_class(m: int) -> None:
    task = planted_task(m=m)
    found = seeds_from_votes(task.train.corpus.texts, task.train.votes, count=6)
    assert len(found) == m
    for own, telling in zip(found, TELLING[:m], strict=True):
        assert len(own) == 6
        assert np.mean([word in telling for word in own]) > 0.8


def test_the_floor_of_documents_keeps_rare_words_out() -> None:
    texts = ["lovely", "lovely", "lovely unique", "page", "page", "page"]
    votes = Votes.from_array([[0], [0], [0], [1], [1], [1]])
    assert seeds_from_votes(texts, votes, min_documents=2) == (("lovely",), ("page",))


def test_given_seeds_are_kept_and_only_missing_ones_are_taken_from_votes() -> None:
    task = planted_task()
    texts = task.train.corpus.texts.to_list()
    found, origin = complete_seeds((("song", "nowhere"), ()), texts, task.train.votes)
    assert found[0] == ("song",)
    assert found[1]
    assert origin == ("rules", "votes")


def test_a_class_without_any_seed_is_named() -> None:
    votes = Votes.from_array([[0], [0]], classes=["ham", "spam"])
    with pytest.raises(InputError, match="the class 'spam' has no seed keyword"):
        complete_seeds((("song",), ("nowhere",)), ["a song", "two songs"], votes)
    with pytest.raises(InputError, match="keywords for 1 classes"):
        complete_seeds((("song",),), ["a song"], votes)


def test_the_words_of_a_keyword_source_are_found_by_its_votes() -> None:
    rng = np.random.default_rng(0)
    filling = np.array(["about", "paper", "today", "people", "report"])
    looked_for = (("goal", "striker"), ("bank", "profit"))
    texts, cast = [], np.full((400, 2), -1)
    for row in range(400):
        words = rng.choice(filling, 4).tolist()
        if row % 2:
            label = int(rng.integers(2))
            words.append(looked_for[label][int(rng.integers(2))])
            cast[row, 0] = label
        texts.append(" ".join(words))
    cast[::3, 1] = 1  # by its place, whatever the words
    found = with_words_of_votes((("kick",), ()), texts, cast)
    assert [sorted(own) for own in found] == [["goal", "kick", "striker"], ["bank", "profit"]]


def test_a_word_that_stands_in_other_documents_too_is_not_looked_for() -> None:
    texts = ["goal team"] * 5 + ["team"] * 5
    cast = np.array([[0]] * 5 + [[-1]] * 5)
    assert with_words_of_votes(((), ()), texts, cast) == (("goal",), ())
    assert with_words_of_votes(((), ()), texts, cast, least=6) == ((), ())
