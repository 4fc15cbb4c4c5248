"""The numbers of the report, each against a slow and obvious count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.conftest import Made

from unruly.learner import Heads
from unruly.ledger import Use
from unruly.report.accuracy import MOST_VOTES, by_votes, confidence_of, noise
from unruly.report.facts import Facts, ScoredOn, gather
from unruly.report.sources import source_weights
from unruly.report.verdict import removals
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
@given(matrices, st.integers(0, 1000))
def test_slices_hold_every_document_once(matrix: list[list[int]], seed: int) -> None:
    votes, rng = votes_of(matrix), np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(3), votes.n).astype(np.float32)
    gold = rng.integers(-1, 3, votes.n)
    slices = confidence_of(proba, votes, gold).slices
    assert sum(s.covered for s in slices) == votes.covered.sum()
    assert sum(s.documents for s in slices) == votes.n
    assert sum(s.accuracy.n for s in slices if s.accuracy) == (gold >= 0).sum()
    for s in slices:
        assert s.accuracy is None or s.low - 1e-6 <= s.confidence <= s.high + 1e-6


def test_certainty_falls_into_the_last_slice() -> None:
    slices = confidence_of(np.array([[1.0, 0.0, 0.0]]), votes_of([[0, -1, -1]])).slices
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
    lines = by_votes(votes, heads_of(proba, np.zeros((4, 8))), np.array([0, 1, 0, 1]), commonest=0)
    assert [(line.name, line.documents) for line in lines] == [
        ("0", 1),
        ("1", 1),
        (f"{MOST_VOTES}+", 2),
    ]
    assert [line.model.value for line in lines] == [1.0, 1.0, 0.5]
    assert [line.majority.value for line in lines] == [1.0, 1.0, 1.0]


def test_weights_are_relative_to_an_equal_share() -> None:
    votes = votes_of([[0, 0, -1], [0, 1, 2], [1, -1, -1]])
    weights = np.array([[0.75, 0.25, 0], [0.5, 0.25, 0.25], [1, 0, 0]], dtype=np.float32)
    weighed = source_weights(votes, heads_of(np.eye(3), weights))
    assert weighed[0].documents == 2  # those where it is alone do not count
    assert weighed[0].mean == pytest.approx(1.5)  # of 0.75 × 2 and 0.5 × 3
    assert weighed[0].quantiles[2] == pytest.approx(1.5)
    assert weighed[2].quantiles[0] == pytest.approx(0.75)


@settings(deadline=None)
@given(matrices)
def test_removals_are_what_counting_one_by_one_gives(matrix: list[list[int]]) -> None:
    def leading(votes: list[int]) -> set[int]:
        cast = [v for v in votes if v >= 0]
        return {v for v in cast if cast.count(v) == max(map(cast.count, cast))}

    for j, found in enumerate(removals(votes_of(matrix))):
        uncovered = changed = 0
        for row in matrix:
            rest = [v for i, v in enumerate(row) if i != j]
            if row[j] >= 0:
                uncovered += not leading(rest)
                changed += bool(leading(rest)) and leading(rest) != leading(row)
        assert (found.uncovered, found.changed) == (uncovered, changed)
        assert found.votes == sum(row[j] >= 0 for row in matrix)
        assert found.adds is None


def test_what_a_source_adds_is_measured_for_majority_vote() -> None:
    votes = votes_of([[0, -1, -1], [0, 1, -1], [1, 1, 1], [-1, 2, -1]])
    gold = np.array([0, 0, 1, -1])
    adds = [found.adds for found in removals(votes, gold, commonest=2)]
    # Without x: the first has no vote and becomes class 1, the commonest then; the second is wrong instead of a tie.
    assert [a.value for a in adds if a] == pytest.approx([1.5 / 3, -0.5 / 3, 0.0])
    assert [a.n for a in adds if a] == [3, 3, 3]


def test_the_only_source_of_the_commonest_class_adds_what_it_decides() -> None:
    votes = votes_of([[0, -1, -1]] * 6 + [[-1, 1, -1]] * 4)
    adds = [found.adds for found in removals(votes, np.repeat([0, 1], [6, 4]), commonest=0)]
    assert [None if a is None else a.value for a in adds] == pytest.approx([0.6, 0.4, None])


def test_confidence_of_ninety_is_counted_whatever_the_number_of_classes() -> None:
    proba = np.array([[0.91, 0.05, 0.04], [0.89, 0.06, 0.05], [0.9, 0.05, 0.05]])
    assert confidence_of(proba, votes_of([[0, -1, -1]] * 3)).sure == 2


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


def test_gold_is_entered_in_the_ledger_for_all_its_uses(whole: Facts, without_gold: Facts) -> None:
    assert [(e.use, e.labels, e.origin) for e in whole.ledger.entries] == [
        (Use.SCORING, 61, "train.csv"),
        (Use.ADVICE, 61, "train.csv"),  # sources that it finds wrong are named
        (Use.SCORING, 161, "train.csv"),  # wrong labels are counted in the documents that are shown
        (Use.ADVICE, 161, "train.csv"),  # and stand beside words and new rules
    ]
    assert whole.ledger.gold_free
    assert without_gold.evaluation is None
    assert str(without_gold.ledger) == "gold labels: none used"
    assert not without_gold.noise
    assert not without_gold.by_votes


def test_without_held_out_documents_the_training_documents_score(made: Made) -> None:
    found = gather("m", made.fitted, made.train)
    assert found.evaluation is not None
    assert found.evaluation.everything.model.documents == 161
    assert found.scored_on == ScoredOn(161, "train.csv")


def test_labels_that_count_from_one_are_known_to_the_page(made: Made) -> None:
    test = replace(made.test, counted_from_one=True)
    facts = gather("spam.unruly", made.fitted, made.train, test)
    assert facts.scored_on is not None
    assert facts.scored_on.counted_from_one
    assert facts.to_plain()["scored_on"]["counted_from_one"] is True
