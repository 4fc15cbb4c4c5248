"""Advice on rules: what is criticised, what is suggested, and what is not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.model.planted import WORDS, texts

from unruly.model.advice import (
    Conflict,
    RepeatedSource,
    SilentSource,
    UncoveredClass,
    VoteJudge,
    WeakSource,
    WeakWord,
    advice_sentence,
    advice_sentences,
    advice_to_plain,
    count_pairs,
    critique_rules,
    known_accuracies,
)
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.statistics import Share, wilson
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

matrices = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=n, max_size=n)
)


def votes_of(matrix: list[list[int]]) -> Votes:
    return Votes.from_array(matrix, classes=["a", "b", "c"], sources=["x", "y", "z"])


def certain(votes: Votes) -> NDArray[np.float64]:
    """Majority vote, without a doubt."""
    return np.asarray(np.eye(votes.m)[votes.counts().argmax(axis=1)])


@settings(deadline=None)
@given(matrices)
def test_pairs_are_what_counting_one_by_one_gives(matrix: list[list[int]]) -> None:
    counted = count_pairs(votes_of(matrix))
    for i in range(3):
        for j in range(3):
            common = [(r[i], r[j]) for r in matrix if r[i] >= 0 and r[j] >= 0]
            assert counted.both[i, j] == len(common)
            assert counted.same[i, j] == sum(a == b for a, b in common)
    shares = counted.agreement
    assert np.array_equal(np.isnan(shares), counted.both == 0)
    assert np.array_equal(shares, shares.T, equal_nan=True)


@settings(deadline=None)
@given(matrices, st.integers(0, 100))
def test_accuracy_by_posteriors_is_the_mean_probability_of_the_votes(
    matrix: list[list[int]], seed: int
) -> None:
    posteriors = np.random.default_rng(seed).dirichlet(np.ones(3), len(matrix))
    votes = votes_of(matrix)
    for j, found in enumerate(known_accuracies(votes, VoteJudge(posteriors, votes), None)):
        right = [posteriors[i, row[j]] for i, row in enumerate(matrix) if row[j] >= 0]
        assert (found is None) == (not right)
        if found is not None:
            assert found.value == pytest.approx(np.mean(right))
            assert 0 <= found.low <= found.value <= found.high <= 1


def test_pairs_that_have_no_choice_are_not_telling() -> None:
    counted = count_pairs(votes_of([[0, 1, 0], [0, 1, 1], [0, 1, 0]]))
    assert counted.telling.tolist() == [
        [False, False, True],  # x names one class, y another: they can only disagree
        [False, False, True],
        [True, True, True],
    ]


def shares(*values: float, n: int = 100) -> list[Share | None]:
    return [wilson(value * n, n) for value in values]


def test_a_source_that_is_wrong_more_often_than_right_is_weak() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    found = critique_rules(votes, certain(votes), accuracies=[*shares(0.156, 0.8), None])
    weak = [c for c in found if isinstance(c, WeakSource)]
    assert [(w.source, w.votes, w.measured, w.chance) for w in weak] == [("x", 100, False, None)]
    assert advice_sentence(weak[0]).startswith("x is right on 15.6% (")
    assert "(estimated)" in advice_sentence(weak[0])


def test_a_source_no_better_than_chance_is_weak_where_shares_are_known() -> None:
    votes = votes_of([[0, 0, -1]] * 100)
    given = [*shares(0.8, 0.98), None]
    assert not [
        c
        for c in critique_rules(votes, certain(votes), accuracies=given)
        if isinstance(c, WeakSource)
    ]
    found = critique_rules(
        votes, certain(votes), accuracies=given, shares=(0.9, 0.05, 0.05), measured=["x"]
    )
    weak = [c for c in found if isinstance(c, WeakSource)]
    assert [(w.source, w.measured) for w in weak] == [("x", True)]
    assert weak[0].chance == pytest.approx(0.9)
    assert "the same votes on random documents would be right on 90%" in advice_sentence(weak[0])


def test_a_weak_source_stands_beside_chance_where_shares_are_known() -> None:
    votes = votes_of([[0, 0, -1]] * 100)
    found = critique_rules(
        votes, certain(votes), accuracies=[*shares(0.36, 0.45), None], shares=(0.35, 0.5, 0.15)
    )
    clear, unsure = (advice_sentence(c) for c in found if isinstance(c, WeakSource))
    assert "; the same votes on random documents would be right on 35%: read some" in clear
    assert unsure.endswith("right on 35%: read some of its matches before you change it.")


def test_few_votes_are_not_judged() -> None:
    votes = votes_of([[0, -1, -1]] * 19)
    found = critique_rules(votes, certain(votes), accuracies=[*shares(0.1, n=19), None, None])
    assert not [c for c in found if isinstance(c, WeakSource)]


def test_copies_of_a_few_texts_are_not_judged() -> None:
    votes = votes_of([[0, -1, -1]] * 60)
    copies = [f"{('one', 'two', 'three')[i % 3]} text {i}" for i in range(60)]
    given = [*shares(0.1, n=60), None, None]
    found = critique_rules(votes, certain(votes), accuracies=given, texts=copies)
    assert not [c for c in found if isinstance(c, WeakSource)]
    letters = [f"text {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)]
    found = critique_rules(votes, certain(votes), accuracies=given, texts=letters)
    assert [c.source for c in found if isinstance(c, WeakSource)] == ["x"]


def test_of_two_sources_alike_one_repeats_the_other() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50 + [[0, -1, -1]])
    found = critique_rules(votes, certain(votes))
    repeated = [c for c in found if isinstance(c, RepeatedSource)]
    assert [(c.source, c.other, c.votes, c.share) for c in repeated] == [("y", "x", 100, 1.0)]
    assert [c.source for c in found if isinstance(c, SilentSource)] == ["z"]


def test_conflicts_say_who_and_about_which_classes() -> None:
    votes = votes_of([[0, 1, -1]] * 30 + [[0, 2, -1]] * 5 + [[0, 0, 0]] * 25)
    conflicts = [c for c in critique_rules(votes, certain(votes)) if isinstance(c, Conflict)]
    assert len(conflicts) == 1
    one = conflicts[0]
    assert (one.source, one.other, one.documents, one.conflicts) == ("x", "y", 60, 35)
    assert (one.label, one.other_label, one.times, one.examples) == ("a", "b", 30, ("0", "1", "2"))
    assert advice_sentence(one) == (
        "x and y disagree on 35 of 60 common documents: 30 times a against b (documents 0, 1, 2)."
    )


def test_sources_without_a_class_in_common_conflict_where_they_often_meet() -> None:
    seldom = votes_of([[0, 1, -1]] * 25 + [[0, -1, -1]] * 300 + [[-1, 1, -1]] * 100)
    assert not [c for c in critique_rules(seldom, certain(seldom)) if isinstance(c, Conflict)]
    often = votes_of([[0, 1, -1]] * 25 + [[0, -1, -1]] * 300 + [[-1, 1, -1]] * 15)
    conflicts = [c for c in critique_rules(often, certain(often)) if isinstance(c, Conflict)]
    assert [(c.source, c.other, c.votes, c.conflicts, c.opposed) for c in conflicts] == [
        ("y", "x", 40, 25, True)  # the one with fewer votes first
    ]
    assert advice_sentence(conflicts[0]) == (
        "y votes for b and x for a on the same 25 documents, 62% of the votes of y (documents 0, 1, 2)."
    )


def test_classes_that_few_sources_name() -> None:
    votes = votes_of([[0, 0, -1], [0, -1, 1]] * 20)
    found = critique_rules(votes, certain(votes))
    thin = {c.label: c for c in found if isinstance(c, UncoveredClass)}
    assert set(thin) == {"b", "c"}
    assert thin["b"].sources == ("z",)
    assert "no source votes for it" in advice_sentence(thin["c"])
    reached = votes_of([[0, 0, -1]] * 10 + [[1, 1, -1], [2, 2, -1]] + [[-1, -1, -1]] * 90)
    answers = np.eye(3)[[0] * 100 + [1, 2]]
    sparse = [c for c in critique_rules(reached, answers) if isinstance(c, UncoveredClass)]
    assert (sparse[0].label, sparse[0].predicted, sparse[0].reached) == ("a", 100, 0.1)
    assert "10% have a vote for it" in advice_sentence(sparse[0])


@pytest.fixture(scope="module")
def listed() -> tuple[Corpus, Sources, NDArray[np.int64]]:
    """Texts of two classes; `song` belongs to ham, and stands in a list for spam."""
    made, gold = texts(600)
    sources = Sources(
        ["ham", "spam"],
        [Source("advert", [Rule("spam", Keywords(("subscribe", "click", "song")))])],
    )
    return Corpus.from_texts(made), sources, gold


@pytest.mark.parametrize("known", [True, False])
def test_a_word_that_spoils_a_list_is_named(
    listed: tuple[Corpus, Sources, NDArray[np.int64]], known: bool
) -> None:
    corpus, rules, gold = listed
    votes = rules.vote(corpus)
    found = critique_rules(
        votes,
        np.where(np.eye(2)[gold] > 0, 0.9, 0.1),
        texts=corpus.texts.to_list(),
        rules=rules,
        labels=gold if known else None,
    )
    weak = [c for c in found if isinstance(c, WeakWord)]
    assert [(w.word, w.label, w.measured) for w in weak] == [("song", "spam", known)]
    holding = [i for i, t in enumerate(corpus.texts.to_list()) if "song" in t.split()]
    assert weak[0].votes == len(holding)
    assert weak[0].accuracy.value == pytest.approx(0.0 if known else 0.1)
    assert weak[0].others.value > 0.8
    assert "'song' in advert: right on" in advice_sentence(weak[0])


def test_a_word_is_named_only_where_its_whole_interval_is_below_the_rest(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    """Wrong on 60%, beside a rest that is hardly better: no word of the two is named, whatever the number of votes."""
    corpus, _, _ = listed
    rules = Sources(["ham", "spam"], [Source("s", [Rule("spam", Keywords(("subscribe", "song")))])])
    texts_ = corpus.texts.to_list()
    song = np.array(["song" in text.split() for text in texts_])
    believed = np.where(song, 0.4, 0.45)
    answers = np.stack([1 - believed, believed], axis=1)
    found = critique_rules(rules.vote(corpus), answers, texts=texts_, rules=rules)
    assert not [c for c in found if isinstance(c, WeakWord)]
    apart = np.where(song, 0.1, 0.9)
    found = critique_rules(
        rules.vote(corpus), np.stack([1 - apart, apart], axis=1), texts=texts_, rules=rules
    )
    weak = [c for c in found if isinstance(c, WeakWord)]
    assert [w.word for w in weak] == ["song"]
    assert weak[0].accuracy.high < weak[0].others.low


def test_true_labels_for_scoring_choose_no_word(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    corpus, rules, gold = listed
    votes, texts_ = rules.vote(corpus), corpus.texts.to_list()
    wrong = np.where(np.eye(2)[1 - gold] > 0, 0.9, 0.1)  # the model has it the wrong way round
    plain = critique_rules(votes, wrong, texts=texts_, rules=rules)
    scored = critique_rules(votes, wrong, texts=texts_, rules=rules, scored=gold)
    words = [c for c in plain if isinstance(c, WeakWord)]
    beside = [c for c in scored if isinstance(c, WeakWord)]
    assert [(w.word, w.accuracy) for w in words] == [(w.word, w.accuracy) for w in beside]
    assert {w.word for w in words} == {"subscribe", "click"}
    for word in beside:
        assert word.checked is not None
        assert word.checked.value > word.accuracy.high
        assert "The true labels contradict the estimate: keep the word." in advice_sentence(word)


def test_words_of_good_lists_are_left_alone(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    corpus, _, gold = listed
    rules = Sources(["ham", "spam"], [Source("s", [Rule("spam", Keywords(WORDS[1]))])])
    found = critique_rules(
        rules.vote(corpus), np.eye(2)[gold], texts=corpus.texts.to_list(), rules=rules
    )
    assert not [c for c in found if isinstance(c, WeakWord)]


def test_advice_is_plain_json() -> None:
    votes = votes_of([[0, 1, -1]] * 40 + [[0, 0, -1]] * 30)
    plain = [advice_to_plain(c) for c in critique_rules(votes, certain(votes))]
    assert json.loads(json.dumps(plain))[0]["kind"] == "weak_source"


def test_many_classes_with_one_source_each_are_one_sentence() -> None:
    found = [UncoveredClass(f"k{r}", (f"s{r}",), 9, 1.0) for r in range(5)]
    silent = SilentSource("rest")
    told = advice_sentences([silent, *found])
    assert [one for one, _ in told] == [silent, found[0]]
    assert told[1][1].startswith("k0, k1, k2, k3, k4: only one source votes for each")
    assert len(advice_sentences(found[:3])) == 3
