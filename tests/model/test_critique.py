"""Critique of rules: what is criticised, what is not, and what can be done about it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.model.planted import WORDS, texts

from unruly.findings import (
    Conflict,
    RepeatedSource,
    SharesUnknown,
    SilentSource,
    UncoveredClass,
    WeakSource,
    WeakWord,
    finding_to_plain,
)
from unruly.model.critique import (
    DisableSource,
    DropWord,
    MergeSource,
    VoteJudge,
    critique_rules,
    remedy_of,
)
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.sentences import critique_sentences, sentence, sentences
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
@given(matrices, st.integers(0, 100))
def test_accuracy_by_posteriors_is_the_mean_probability_of_the_votes(
    matrix: list[list[int]], seed: int
) -> None:
    posteriors = np.random.default_rng(seed).dirichlet(np.ones(3), len(matrix))
    votes = votes_of(matrix)
    for j, found in enumerate(VoteJudge(posteriors, votes).accuracies(votes)):
        right = [posteriors[i, row[j]] for i, row in enumerate(matrix) if row[j] >= 0]
        assert (found is None) == (not right)
        if found is not None:
            assert found.value == pytest.approx(np.mean(right))
            assert 0 <= found.low <= found.value <= found.high <= 1


def judged(
    votes: Votes,
    *values: float,
    n: int = 100,
    shares: tuple[float, ...] | None = (0.34, 0.33, 0.33),
) -> VoteJudge:
    """A judge by majority vote, whose fit has estimated the first sources."""
    known = {name: wilson(value * n, n) for name, value in zip(votes.sources, values, strict=False)}
    return VoteJudge(certain(votes), votes, None, shares, known)


def believed(votes: Votes, posteriors: NDArray[np.float64]) -> VoteJudge:
    """A judge by these probabilities, under shares that are known."""
    return VoteJudge(posteriors, votes, shares=(0.5, 0.5))


def test_a_source_that_is_wrong_more_often_than_right_is_weak() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    found = critique_rules(votes, judged(votes, 0.156, 0.8))
    weak = [c for c in found if isinstance(c, WeakSource)]
    assert [(w.source, w.votes, w.measured) for w in weak] == [("x", 100, False)]
    assert weak[0].chance == pytest.approx(0.335)
    assert sentence(weak[0]).startswith("x is right on 15.6% (")
    assert "(estimated)" in sentence(weak[0])


def test_a_source_no_better_than_chance_is_weak_where_shares_are_known() -> None:
    votes = votes_of([[0, 0, -1]] * 100)
    judge = judged(votes, 0.8, 0.98)
    assert not [c for c in critique_rules(votes, judge) if isinstance(c, WeakSource)]
    measured = {"x": wilson(80, 100)}
    found = critique_rules(votes, judge, shares=(0.9, 0.05, 0.05), measured=measured)
    weak = [c for c in found if isinstance(c, WeakSource)]
    assert [(w.source, w.measured) for w in weak] == [("x", True)]
    assert weak[0].chance == pytest.approx(0.9)
    assert "chance level 90%" in sentence(weak[0])


def test_a_weak_source_stands_beside_chance_where_shares_are_known() -> None:
    votes = votes_of([[0, 0, -1]] * 100)
    found = critique_rules(votes, judged(votes, 0.34, 0.45, shares=(0.35, 0.5, 0.15)))
    clear, unsure = (sentence(c) for c in found if isinstance(c, WeakSource))
    assert "; chance level 35%: read some" in clear
    assert unsure.endswith("chance level 35%: read some of its matches before you change it.")


def test_labels_by_hand_measure_a_source_where_they_tell_more_than_the_estimate() -> None:
    votes = votes_of([[0, 0, -1]] * 60)
    labels = np.array([1] * 10 + [-1] * 50)
    judge = judged(votes, 0.9, 0.9)
    wide = replace(judge, estimated={"x": Share(0.7, 0.3, 1.0, 60), "y": Share(0.9, 0.8, 1.0, 60)})
    found = [c for c in critique_rules(votes, wide, labels=labels) if isinstance(c, WeakSource)]
    assert [(c.source, c.measured, c.accuracy) for c in found] == [("x", True, wilson(0, 10))]
    assert remedy_of(found[0]) == DisableSource("x")
    few = np.where(np.arange(60) < 9, labels, -1)
    assert not [c for c in critique_rules(votes, wide, labels=few) if isinstance(c, WeakSource)]
    many = np.array([1] * 20 + [-1] * 40)  # enough, however narrow the estimate
    found = [c for c in critique_rules(votes, wide, labels=many) if isinstance(c, WeakSource)]
    assert {c.source for c in found} == {"x", "y"}


def test_few_votes_are_not_judged() -> None:
    votes = votes_of([[0, -1, -1]] * 19)
    found = critique_rules(votes, judged(votes, 0.1, n=19))
    assert not [c for c in found if isinstance(c, WeakSource)]


def test_copies_of_a_few_texts_are_not_judged() -> None:
    votes = votes_of([[0, -1, -1]] * 60)
    copies = [f"{('one', 'two', 'three')[i % 3]} text {i}" for i in range(60)]
    judge = judged(votes, 0.1, n=60)
    found = critique_rules(votes, judge, texts=copies)
    assert not [c for c in found if isinstance(c, WeakSource)]
    letters = [f"text {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(60)]
    found = critique_rules(votes, judge, texts=letters)
    assert [c.source for c in found if isinstance(c, WeakSource)] == ["x"]


def test_of_two_sources_alike_one_repeats_the_other() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50 + [[0, -1, -1]])
    found = critique_rules(votes, judged(votes))
    repeated = [c for c in found if isinstance(c, RepeatedSource)]
    assert [(c.source, c.other, c.votes, c.share) for c in repeated] == [("y", "x", 100, 1.0)]
    assert [c.source for c in found if isinstance(c, SilentSource)] == ["z"]


def test_conflicts_say_who_and_about_which_classes() -> None:
    votes = votes_of([[0, 1, -1]] * 30 + [[0, 2, -1]] * 5 + [[0, 0, 0]] * 25)
    conflicts = [c for c in critique_rules(votes, judged(votes)) if isinstance(c, Conflict)]
    assert len(conflicts) == 1
    one = conflicts[0]
    assert (one.source, one.other, one.documents, one.conflicts) == ("x", "y", 60, 35)
    assert (one.label, one.other_label, one.times, one.examples) == ("a", "b", 30, ("0", "1", "2"))
    assert sentence(one) == (
        "x and y disagree on 35 of 60 common documents: 30 times a against b (documents 0, 1, 2)."
    )


def test_sources_without_a_class_in_common_conflict_where_they_often_meet() -> None:
    seldom = votes_of([[0, 1, -1]] * 25 + [[0, -1, -1]] * 300 + [[-1, 1, -1]] * 100)
    assert not [c for c in critique_rules(seldom, judged(seldom)) if isinstance(c, Conflict)]
    often = votes_of([[0, 1, -1]] * 25 + [[0, -1, -1]] * 300 + [[-1, 1, -1]] * 15)
    conflicts = [c for c in critique_rules(often, judged(often)) if isinstance(c, Conflict)]
    assert [(c.source, c.other, c.votes, c.conflicts, c.opposed) for c in conflicts] == [
        ("y", "x", 40, 25, True)  # the one with fewer votes first
    ]
    assert sentence(conflicts[0]) == (
        "y votes for b and x for a on the same 25 documents, 62% of the votes of y (documents 0, 1, 2)."
    )


def test_classes_that_few_sources_name() -> None:
    votes = votes_of([[0, 0, -1], [0, -1, 1]] * 20)
    found = critique_rules(votes, judged(votes))
    thin = {c.label: c for c in found if isinstance(c, UncoveredClass)}
    assert set(thin) == {"b", "c"}
    assert thin["b"].sources == ("z",)
    assert "no source votes for it" in sentence(thin["c"])
    reached = votes_of([[0, 0, -1]] * 10 + [[1, 1, -1], [2, 2, -1]] + [[-1, -1, -1]] * 90)
    answers = np.eye(3)[[0] * 100 + [1, 2]]
    sparse = [
        c
        for c in critique_rules(reached, VoteJudge(answers, reached))
        if isinstance(c, UncoveredClass)
    ]
    assert (sparse[0].label, sparse[0].predicted, sparse[0].reached) == ("a", 100, 0.1)
    assert "10% have a vote for it" in sentence(sparse[0])


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
        believed(votes, np.where(np.eye(2)[gold] > 0, 0.9, 0.1)),
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
    assert "'song' in advert: right on" in sentence(weak[0])


def test_a_word_that_one_other_source_speaks_against_is_to_be_read_first(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    """By an estimate, which believes one of the two; true labels tell who is right."""
    corpus, rules, gold = listed
    other = Source("about_songs", [Rule("ham", Keywords(("song",)))])
    votes = Sources(rules.classes, [*rules.sources, other]).vote(corpus)
    judge = believed(votes, np.where(np.eye(2)[gold] > 0, 0.9, 0.1))
    texts_ = corpus.texts.to_list()
    found = critique_rules(votes, judge, texts=texts_, rules=rules)
    (word,) = [c for c in found if isinstance(c, WeakWord)]
    assert (word.word, word.rival) == ("song", "about_songs")
    assert "read some of its matches; if they are wrong, drop the word" in sentence(word)
    assert "about_songs votes for another class on nearly all of them" in sentence(word)
    measured = critique_rules(votes, judge, texts=texts_, rules=rules, labels=gold)
    (word,) = [c for c in measured if isinstance(c, WeakWord)]
    assert word.rival is None
    assert sentence(word).endswith("Drop the word, or make it more specific.")


def test_a_word_is_named_only_where_its_whole_interval_is_below_the_rest(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    """Wrong on 60%, beside a rest that is hardly better: no word of the two is named, whatever the number of votes."""
    corpus, _, _ = listed
    rules = Sources(["ham", "spam"], [Source("s", [Rule("spam", Keywords(("subscribe", "song")))])])
    texts_ = corpus.texts.to_list()
    song = np.array(["song" in text.split() for text in texts_])
    near, votes = np.where(song, 0.4, 0.45), rules.vote(corpus)
    judge = believed(votes, np.stack([1 - near, near], axis=1))
    found = critique_rules(votes, judge, texts=texts_, rules=rules)
    assert not [c for c in found if isinstance(c, WeakWord)]
    apart = np.where(song, 0.1, 0.9)
    judge = believed(votes, np.stack([1 - apart, apart], axis=1))
    found = critique_rules(votes, judge, texts=texts_, rules=rules)
    weak = [c for c in found if isinstance(c, WeakWord)]
    assert [w.word for w in weak] == ["song"]
    assert weak[0].accuracy.high < weak[0].others.low


def test_true_labels_for_scoring_choose_no_word(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    corpus, rules, gold = listed
    votes, texts_ = rules.vote(corpus), corpus.texts.to_list()
    upside_down = np.where(np.eye(2)[1 - gold] > 0, 0.9, 0.1)
    wrong = believed(votes, upside_down)
    plain = critique_rules(votes, wrong, texts=texts_, rules=rules)
    scored = critique_rules(votes, wrong, texts=texts_, rules=rules, scored=gold)
    words = [c for c in plain if isinstance(c, WeakWord)]
    beside = [c for c in scored if isinstance(c, WeakWord)]
    assert [(w.word, w.accuracy) for w in words] == [(w.word, w.accuracy) for w in beside]
    assert {w.word for w in words} == {"subscribe", "click"}
    for word in beside:
        assert word.checked is not None
        assert word.checked.value > word.accuracy.high
        assert "The true labels contradict the estimate: keep the word." in sentence(word)


def test_words_of_good_lists_are_left_alone(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    corpus, _, gold = listed
    rules = Sources(["ham", "spam"], [Source("s", [Rule("spam", Keywords(WORDS[1]))])])
    votes = rules.vote(corpus)
    judge = believed(votes, np.eye(2)[gold])
    found = critique_rules(votes, judge, texts=corpus.texts.to_list(), rules=rules)
    assert not [c for c in found if isinstance(c, WeakWord)]


def test_advice_is_plain_json() -> None:
    votes = votes_of([[0, 1, -1]] * 40 + [[0, 0, -1]] * 30)
    plain = [finding_to_plain(c) for c in critique_rules(votes, judged(votes))]
    assert json.loads(json.dumps(plain))[0]["kind"] == "weak_source"


def test_without_known_shares_no_estimate_judges_a_source_or_a_word(
    listed: tuple[Corpus, Sources, NDArray[np.int64]],
) -> None:
    """What is counted stays, what is measured stays; one line says why the rest is left out."""
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    judge = judged(votes, 0.156, 0.8, shares=None)
    found = critique_rules(votes, judge)
    assert found[0] == SharesUnknown()
    assert "state `prior` under [task], or label 20 documents" in sentence(found[0])
    assert not [c for c in found if isinstance(c, WeakSource)]
    assert [c.source for c in found if isinstance(c, SilentSource)] == ["z"]
    assert [c.source for c in found if isinstance(c, RepeatedSource)] == ["y"]
    measured = critique_rules(votes, judge, measured={"x": wilson(10, 100)})
    assert [c.source for c in measured if isinstance(c, WeakSource)] == ["x"]
    every = dict.fromkeys(votes.sources, wilson(90, 100))
    assert SharesUnknown() not in critique_rules(votes, judge, measured=every)
    corpus, rules, gold = listed
    cast, texts_ = rules.vote(corpus), corpus.texts.to_list()
    assumed = VoteJudge(np.where(np.eye(2)[gold] > 0, 0.9, 0.1), cast)
    plain = critique_rules(cast, assumed, texts=texts_, rules=rules)
    assert not [c for c in plain if isinstance(c, WeakWord)]
    every = dict.fromkeys(cast.sources, wilson(90, 100))
    judged_by_words = critique_rules(cast, assumed, texts=texts_, rules=rules, measured=every)
    assert judged_by_words[0] == SharesUnknown(), "sources are measured, words of lists are not"
    labelled = critique_rules(cast, assumed, texts=texts_, rules=rules, labels=gold)
    assert [c.word for c in labelled if isinstance(c, WeakWord)] == ["song"]


def test_a_source_that_repeats_another_but_adds_points_is_left_alone() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    found = critique_rules(votes, judged(votes))
    assert [c.source for c in found if isinstance(c, RepeatedSource)] == ["y"]
    adds = {"y": Share(0.02, 0.01, 0.03, 100)}
    found = critique_rules(votes, judged(votes), adds=adds)
    assert not [c for c in found if isinstance(c, RepeatedSource)]


def test_a_source_that_adds_points_is_not_to_be_disabled() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    wrong = {"x": wilson(30, 100)}
    adds = {"x": Share(0.031, -0.01, 0.07, 100), "z": Share(0.02, 0.0, 0.04, 100)}
    found = critique_rules(votes, judged(votes), measured=wrong, adds=adds)
    weak = next(c for c in found if isinstance(c, WeakSource))
    assert remedy_of(weak) is None
    assert sentence(weak).endswith(
        ", and still adds 3.1 points to majority vote: change its rules."
    )
    assert not [c for c in found if isinstance(c, SilentSource)]  # z votes where it is scored
    for gain in (-0.031, 0.0004):  # below a tenth of a point none is shown
        less = {"x": Share(gain, -0.07, 0.01, 100)}
        found = critique_rules(votes, judged(votes), measured=wrong, adds=less)
        weak = next(c for c in found if isinstance(c, WeakSource))
        assert remedy_of(weak) == DisableSource("x")
        assert sentence(weak).endswith("change its rules, or disable it.")


LOW = Share(0.2, 0.1, 0.3, 50)
WORD = WeakWord("money", 1, "cash", "spam", 30, LOW, Share(0.9, 0.8, 0.95, 40), False, 0.3)
SOURCE = WeakSource("link", 50, LOW, measured=False, chance=None)


def test_what_a_critique_asks_for() -> None:
    assert remedy_of(WORD) == DropWord("money", 1, "cash")
    assert remedy_of(SOURCE) == DisableSource("link")
    assert remedy_of(SilentSource("x")) == DisableSource("x")
    assert remedy_of(RepeatedSource("a", "b", 40, 0.9)) == MergeSource("a", "b")
    assert remedy_of(RepeatedSource("a", "b", 40, 1.0)) == DisableSource("a")


def test_a_silent_source_is_not_to_be_disabled_where_a_class_has_no_votes() -> None:
    """Its rules may be the ones that are meant for that class: with it disabled, the class would have none."""
    votes = votes_of([[0, 0, -1]] * 50)
    found = [c for c in critique_rules(votes, judged(votes)) if isinstance(c, SilentSource)]
    assert found == [SilentSource("z", votes.classes[1:])]
    assert remedy_of(found[0]) is None
    assert sentence(found[0]).endswith("c: change its rules.")
    assert "disable" not in sentences([found[0], replace(found[0], source="y")])[0]
    both = votes_of([[0, 0, -1], [1, 1, -1], [2, 2, -1]] * 50)
    found = [c for c in critique_rules(both, judged(both)) if isinstance(c, SilentSource)]
    assert [remedy_of(one) for one in found] == [DisableSource("z")]


def test_where_a_person_has_to_read_first_there_is_no_remedy() -> None:
    assert remedy_of(replace(SOURCE, accuracy=Share(0.4, 0.1, 0.7, 50))) is None
    below = replace(SOURCE, accuracy=Share(0.4, 0.3, 0.55, 50), chance=0.6)
    assert remedy_of(below) == DisableSource("link")
    assert remedy_of(replace(WORD, checked=Share(0.95, 0.8, 1.0, 30))) is None
    assert remedy_of(replace(WORD, checked=Share(0.25, 0.1, 0.5, 30))) is not None
    assert remedy_of(UncoveredClass("ham", (), 3, None)) is None
    assert remedy_of(Conflict("a", "b", 40, 30, 20, "x", "y", 20, False, ())) is None
    assert remedy_of(SharesUnknown()) is None


def test_what_is_clearly_better_than_chance_is_kept() -> None:
    """Right on a fifth of its votes where a twentieth would be chance: wrong mostly, and evidence all the same."""
    word = replace(WORD, chance=0.05)
    assert remedy_of(word) is None
    assert sentence(word).endswith("keep the word, or make it more specific.")
    assert "by chance: 5%" in sentence(word)
    unsure = replace(WORD, accuracy=Share(0.4, 0.2, 0.6, 50))
    assert remedy_of(unsure) is None
    assert sentence(unsure).endswith("Read some of its matches before you change it.")
    source = replace(SOURCE, chance=0.05)
    assert source.clear
    assert remedy_of(source) is None
    assert sentence(source).endswith("keep it, or make its rules more specific.")


def test_a_source_is_to_be_disabled_only_where_the_figure_itself_is_no_better_than_chance() -> None:
    """The interval reaches down to chance, but it is rather evidence than not: disabling such sources costs accuracy."""
    rather = replace(SOURCE, chance=0.15)
    assert rather.accuracy.low < 0.15 < rather.accuracy.value
    for one in (rather, replace(rather, measured=True)):
        assert remedy_of(one) is None
        assert "disable" not in sentence(one)
        assert "; chance level 15%. By this figure its votes are evidence" in sentence(one)
    assert remedy_of(replace(SOURCE, chance=0.2)) == DisableSource("link")


def test_by_an_estimate_no_source_is_disabled_that_leaves_a_class_to_one() -> None:
    pair = [[0, 0, -1], [1, -1, 1]] * 50
    votes = votes_of(pair)
    found = critique_rules(votes, judged(votes, 0.05, 0.9, 0.9))
    weak = next(c for c in found if isinstance(c, WeakSource))
    assert (weak.source, weak.leaves) == ("x", votes.classes[0])
    assert remedy_of(weak) is None
    assert "without it, no two sources vote for" in sentence(weak)
    measured = critique_rules(votes, judged(votes), measured={"x": wilson(5, 100)})
    assert DisableSource("x") in map(remedy_of, measured)
    three = votes_of([[0, 0, 0], [1, 1, 1]] * 50)
    found = critique_rules(three, judged(three, 0.05, 0.9, 0.9))
    assert DisableSource("x") in map(remedy_of, found)


def test_many_classes_with_one_source_each_are_one_sentence() -> None:
    found = [UncoveredClass(f"k{r}", (f"s{r}",), 9, 1.0) for r in range(5)]
    silent = SilentSource("rest")
    told = critique_sentences([silent, *found])
    assert [one for one, _ in told] == [silent, found[0]]
    assert told[1][1].startswith("k0, k1, k2, k3, k4: only one source votes for each")
    assert len(critique_sentences(found[:3])) == 3
