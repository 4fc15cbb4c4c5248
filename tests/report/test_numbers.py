"""The numbers of the report, each against a slow and obvious count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.conftest import Made

from unruly.model.metrics import wilson
from unruly.report.advice import Advice, advice
from unruly.report.answers import Answers
from unruly.report.by_matched import MOST, by_matched
from unruly.report.confidence import confidence_slices
from unruly.report.facts import Facts
from unruly.report.next_words import next_words
from unruly.report.noise import noise
from unruly.report.pairs import pairs
from unruly.report.prior_doubt import prior_doubt
from unruly.report.reliability_spread import reliability_spread
from unruly.report.silenced import Silenced, silenced, without_source
from unruly.report.source_facts import SourceFacts
from unruly.training.heads import Heads
from unruly.votes.votes import Votes

matrices = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=n, max_size=n)
)


def votes_of(matrix: list[list[int]]) -> Votes:
    return Votes.from_array(matrix, classes=["a", "b", "c"], sources=["x", "y", "z"])


def heads_of(proba: np.ndarray, conditional: np.ndarray) -> Heads:
    given = proba.astype(np.float32)
    return Heads(given, given, given, np.zeros(len(given), dtype=np.int8), conditional)


@settings(deadline=None)
@given(matrices)
def test_pairs_are_what_counting_one_by_one_gives(matrix: list[list[int]]) -> None:
    counted = pairs(votes_of(matrix))
    for i in range(3):
        for j in range(3):
            common = [(r[i], r[j]) for r in matrix if r[i] >= 0 and r[j] >= 0]
            assert counted.both[i, j] == len(common)
            assert counted.same[i, j] == sum(a == b for a, b in common)
    shares = counted.agreement
    assert np.array_equal(np.isnan(shares), counted.both == 0)
    assert np.array_equal(shares, shares.T, equal_nan=True)


@settings(deadline=None)
@given(matrices, st.integers(0, 1000))
def test_slices_hold_every_document_once(matrix: list[list[int]], seed: int) -> None:
    votes, rng = votes_of(matrix), np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3), votes.n).astype(np.float32)
    gold = rng.integers(-1, 3, votes.n)
    slices = confidence_slices(proba, votes, gold)
    assert sum(s.covered for s in slices) == votes.covered.sum()
    assert sum(s.documents for s in slices) == votes.n
    assert sum(s.accuracy.n for s in slices if s.accuracy) == (gold >= 0).sum()
    for s in slices:
        assert s.accuracy is None or s.low - 1e-6 <= s.confidence <= s.high + 1e-6


def test_certainty_falls_into_the_last_slice() -> None:
    slices = confidence_slices(np.array([[1.0, 0.0, 0.0]]), votes_of([[0, -1, -1]]))
    assert slices[-1].covered == 1


def test_noise_counts_wrong_labels_of_covered_documents_only() -> None:
    votes = votes_of([[0, 0, -1], [0, 1, -1], [1, 1, 1], [-1, -1, -1]])
    proba = np.eye(3)[[0, 0, 0, 2]]
    lines = noise(votes, heads_of(proba, np.zeros((4, 3))), np.array([0, 0, 2, 1]))
    assert [line.name for line in lines] == ["all", "a", "c"]
    assert lines[0].before.value == pytest.approx((0 + 0.5 + 1) / 3)  # a tie is half wrong
    assert lines[0].after.value == pytest.approx(1 / 3)
    assert lines[1].after.value == 0
    assert lines[2].before.n == 1


def test_no_covered_document_with_gold_has_no_noise() -> None:
    votes = votes_of([[-1, -1, -1], [0, -1, -1]])
    assert noise(votes, heads_of(np.eye(3)[[0, 1]], np.zeros((2, 3))), np.array([1, -1])) == ()


def test_documents_are_grouped_by_their_number_of_votes() -> None:
    matrix = np.full((4, 8), -1)
    matrix[1, 0], matrix[2], matrix[3, :7] = 1, 0, 1
    votes = Votes.from_array(matrix, classes=["a", "b"])
    proba = np.eye(2)[[0, 1, 0, 0]]
    lines = by_matched(
        votes, heads_of(proba, np.zeros((4, 8))), np.array([0, 1, 0, 1]), commonest=0
    )
    assert [(line.name, line.documents) for line in lines] == [("0", 1), ("1", 1), (f"{MOST}+", 2)]
    assert [line.model.value for line in lines] == [1.0, 1.0, 0.5]
    assert [line.majority.value for line in lines] == [1.0, 1.0, 1.0]


def test_say_is_relative_to_an_equal_split() -> None:
    votes = votes_of([[0, 0, -1], [0, 1, 2], [1, -1, -1]])
    weights = np.array([[0.75, 0.25, 0], [0.5, 0.25, 0.25], [1, 0, 0]], dtype=np.float32)
    spreads = reliability_spread((0.5, 0.3, 0.2), votes, heads_of(np.eye(3), weights))
    assert spreads[0].documents == 2  # where it is alone says nothing
    assert spreads[0].overall == pytest.approx(1.5)
    assert spreads[0].quantiles[2] == pytest.approx(1.5)  # between 0.75 × 2 and 0.5 × 3
    assert spreads[2].quantiles[0] == pytest.approx(0.75)


def test_prior_doubt_is_none_where_the_model_is_certain() -> None:
    assert [d.twice + d.half for d in prior_doubt(np.eye(2, dtype=np.float32), ("a", "b"))] == [
        0,
        0,
    ]


def test_a_silenced_source_says_nothing() -> None:
    votes = votes_of([[0, 1, -1], [2, -1, 1]])
    quiet = without_source(votes, 0)
    assert quiet.matrix.tolist() == [[-1, 1, -1], [-1, -1, 1]]
    assert votes.matrix[0, 0] == 0


def test_silencing_asks_the_model_again(made: Made, seen: Answers) -> None:
    found = silenced(made.fitted.learner, seen.features, seen.votes, seen.gold)
    assert list(found) == list(seen.votes.sources)
    assert found["silent"].changed == 0
    j = seen.votes.sources.index("advert")
    quiet = made.fitted.learner.heads(seen.features, without_source(seen.votes, j)).predicted
    assert found["advert"].changed == pytest.approx((quiet != seen.final).mean())
    assert seen.gold is not None
    adds = found["advert"].adds
    assert adds is not None
    assert adds.value == pytest.approx(
        (seen.final == seen.gold).mean() - (quiet == seen.gold).mean()
    )


def source(name: str, votes: int = 100, right: float = 0.8, **changes: object) -> SourceFacts:
    kept = {"labels": ("a",), "coverage": 0.5, "overlaps": 0.2, "conflicts": 0.1}
    return SourceFacts(
        name=name,
        votes=votes,
        reliability=0.3,
        estimated=wilson(right * votes, votes),
        measured=None,
        **{**kept, **changes},  # type: ignore[arg-type]
    )


def advised(sources: list[SourceFacts], votes: Votes, adds: dict[str, Silenced]) -> Advice:
    final = np.where(votes.covered, votes.counts().argmax(axis=1), 0)
    return advice(sources, pairs(votes), votes, final, adds)


def test_a_source_no_better_than_chance_hurts() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    given = advised([source("x", right=0.2), source("y"), source("z")], votes, {})
    assert [tip.subject for tip in given.hurting] == ["x"]
    assert "estimated" in given.hurting[0].says


def test_a_source_whose_silence_helps_hurts() -> None:
    from unruly.model.metrics import Share

    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50)
    adds = {"y": Silenced(0.1, Share(-0.05, -0.08, -0.02, 100))}
    given = advised([source("x"), source("y"), source("z")], votes, adds)
    assert [tip.subject for tip in given.hurting] == ["y"]
    assert "5.0 points (2.0 to 8.0)" in given.hurting[0].says


def test_of_two_sources_alike_one_is_redundant() -> None:
    votes = votes_of([[0, 0, -1], [1, 1, -1]] * 50 + [[0, -1, 2]])
    given = advised([source("x"), source("y"), source("z", votes=0)], votes, {})
    assert [tip.subject for tip in given.redundant] == ["y", "z"]
    assert "'x'" in given.redundant[0].says
    assert "never votes" in given.redundant[1].says


def test_classes_that_few_sources_name_are_thin() -> None:
    votes = votes_of([[0, 0, -1], [0, -1, 1]] * 20)
    told = {tip.subject: tip.says for tip in advised([source("x")], votes, {}).thin}
    assert "only one source" in told["b"]
    assert "no source" in told["c"]
    assert "a" not in told


def test_next_words_go_with_a_class_and_are_new(seen: Answers) -> None:
    words = next_words(seen.texts, seen.votes, seen.heads.combined)
    assert words
    known = {"lovely", "song", "subscribe", "channel", "voice"}
    assert not known & {word.word for word in words}
    for word in words:
        there = [i for i, text in enumerate(seen.texts) if word.word in text.lower()]
        assert word.documents <= len(there)
        assert word.share > word.usual
    assert {"great"} & {w.word for w in words if w.label == "ham"}
    assert {"click", "link"} & {w.word for w in words if w.label != "ham"}


def test_next_words_of_a_handful_of_texts_are_none() -> None:
    assert next_words(["a", "b"], votes_of([[0, 0, 0], [1, 1, 1]]), np.eye(3)[:2]) == ()


def test_facts_measure_sources_on_the_scored_documents(whole: Facts, made: Made) -> None:
    votes = made.fitted.rules.vote(made.test) if made.fitted.rules else None
    assert votes is not None
    assert made.test.gold is not None
    cast = votes.voted[:, 0]
    measured = whole.sources[0].measured
    assert measured is not None
    assert measured.n == cast.sum()
    assert measured.value == pytest.approx((votes.matrix[cast, 0] == made.test.gold[cast]).mean())
    assert whole.sources[0].votes == (
        made.fitted.rules.vote(made.train).voted[:, 0].sum() if made.fitted.rules else -1
    )


def test_gold_is_entered_in_the_ledger_as_scoring(whole: Facts, without_gold: Facts) -> None:
    assert str(whole.ledger).endswith("61 for scoring (train.csv)")
    assert whole.ledger.gold_free
    assert without_gold.evaluation is None
    assert str(without_gold.ledger) == "gold labels: none used"
    assert not without_gold.noise
    assert not without_gold.matched


def test_without_held_out_documents_the_training_documents_score(made: Made) -> None:
    from unruly.report.facts import facts

    found = facts("m", made.fitted, made.train)
    assert found.evaluation is not None
    assert found.evaluation.everything.model.documents == 161
    assert found.scored_on == "the 161 gold labels of train.csv"
