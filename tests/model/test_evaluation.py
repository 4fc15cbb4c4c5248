"""Evaluation: the right figures, for the right documents, with the ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score
from tests.model.planted import planted, quick

from unruly.errors import InputError
from unruly.labelmodels.majority_vote import commonest_class
from unruly.learner import Heads
from unruly.ledger import Ledger, Use
from unruly.model.evaluation import (
    Evaluation,
    calibration_error,
    confusion,
    evaluate,
    f1_scores,
    macro_f1,
    scores,
)
from unruly.statistics import paired_difference, wilson
from unruly.votes.majority import majority_shares
from unruly.votes.votes import Votes

VOTES = Votes.from_array(
    [[0, 0, 1], [0, 1, -1], [-1, -1, -1], [1, 1, 1], [-1, -1, -1]], classes=["ham", "spam"]
)


def heads(classifier: list[list[float]]) -> Heads:
    said = np.array(classifier, dtype=np.float32)
    half = np.full_like(said, 0.5)
    return Heads(
        half, said, said, np.full(len(said), 2, np.int8), np.zeros((len(said), 3), np.float32)
    )


@pytest.fixture
def figures() -> Evaluation:
    said = heads([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.1, 0.9], [0.4, 0.6]])
    gold = np.array([0, 1, 0, 1, 0])
    return evaluate(
        said,
        VOTES,
        gold,
        ledger=Ledger().add(Use.SCORING, 5, "test.csv"),
        commonest=1,
        repeats=np.array([True, False, False, True, False]),
    )


def test_covered_and_uncovered_are_scored_apart(figures: Evaluation) -> None:
    assert figures.everything.model.accuracy.value == 0.8
    assert figures.covered is not None
    assert figures.uncovered is not None
    assert figures.covered.model.documents == 3
    assert figures.covered.model.accuracy.value == 1.0
    assert figures.uncovered.model.accuracy.value == 0.5


def test_majority_vote_breaks_ties_by_chance_and_guesses_the_commonest(figures: Evaluation) -> None:
    assert figures.covered is not None
    assert figures.uncovered is not None
    assert figures.covered.majority.accuracy.value == pytest.approx((1 + 0.5 + 1) / 3)
    assert figures.uncovered.majority.accuracy.value == 0.0
    assert figures.everything.majority.calibration_error is None
    assert figures.everything.gain.value == pytest.approx(0.8 - 0.5)


def test_repeats_and_gold_are_told(figures: Evaluation) -> None:
    told = str(figures)
    assert "2 of 5 documents repeat training documents" in told
    assert "1 of 5 documents repeats a training document" in str(replace(figures, repeats=1))
    assert told.endswith("gold labels: none in the model; 5 for scoring (test.csv)")


def test_every_class_has_its_own_figures(figures: Evaluation) -> None:
    of = figures.everything.model  # confusion [[2, 1], [0, 2]]
    assert of.precision == pytest.approx((1.0, 2 / 3))
    assert of.recall == pytest.approx((2 / 3, 1.0))
    header, first, second = str(figures).splitlines()[7:10]
    assert header.split() == [
        *("class", "documents", "predicted", "precision", "recall", "F1", "mean", "confidence")
    ]
    assert first.split()[:6] == ["ham", "3", "2", "1.000", "0.667", "0.800"]
    assert second.split()[:6] == ["spam", "2", "3", "0.667", "1.000", "0.800"]


def test_the_confidence_of_a_class_is_that_of_its_own_predictions() -> None:
    found = scores(np.array([0, 1, 0]), np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]))
    assert found.confidence == pytest.approx((0.8, 0.8))
    never = scores(np.array([0, 0]), np.array([[0.9, 0.1], [0.7, 0.3]]))
    assert never.confidence is not None
    assert never.confidence[0] == pytest.approx(0.8)
    assert np.isnan(never.confidence[1])
    assert np.isnan(never.precision[1])


def test_everything_fits_into_json(figures: Evaluation) -> None:
    plain = json.loads(json.dumps(figures.to_plain(), allow_nan=False))
    assert plain["all"]["model"]["confusion"] == [[2, 1], [0, 2]]
    assert plain["ledger"] == figures.ledger.to_plain()
    assert plain["gold_free"] is True
    assert plain["covered"]["majority_vote"]["documents"] == 3


def test_unlabelled_documents_are_left_out_and_counted() -> None:
    said = heads([[0.9, 0.1]] * 5)
    found = evaluate(said, VOTES, np.array([0, -1, -1, 1, 0]), ledger=Ledger())
    assert found.unlabelled == 2
    assert found.everything.model.documents == 3
    assert "2 documents have no gold label" in str(found)


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ([0, 1], "5 documents, but 2 gold labels"),
        ([-1] * 5, "nothing to score against"),
        ([0, 1, 0, 2, 0], "2 is not one of the 2 classes"),
    ],
)
def test_gold_that_does_not_fit_is_refused(gold: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(heads([[0.9, 0.1]] * 5), VOTES, np.array(gold), ledger=Ledger())


def test_a_model_is_scored_as_scikit_learn_would(  # the same figures by another way
) -> None:
    data = planted(m=3)
    model = quick().fit(data.features, data.votes)
    found = model.evaluate(data.features, data.gold, data.votes)
    said = model.predictions(data.features, data.votes).numbers
    assert found.everything.model.accuracy.value == pytest.approx((said == data.gold).mean())
    assert found.everything.model.macro_f1 == pytest.approx(
        f1_score(data.gold, said, average="macro")
    )
    assert found.classifier.accuracy.value == pytest.approx(model.score(data.features, data.gold))
    assert found.repeats == 200
    assert found.ledger.used_for(Use.SCORING) == 200
    assert model.ledger_ == Ledger()  # scoring leaves no trace in the model


def test_majority_shares_sum_to_one() -> None:
    shares = majority_shares(planted(m=4, coverage=0.3).votes)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


labels = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        arrays(np.int64, n, elements=st.integers(0, 3)),
        arrays(np.int64, n, elements=st.integers(0, 3)),
    )
)


@settings(max_examples=30, deadline=None)
@given(labels)
def test_confusion_and_f1_are_scikit_learns(pair: tuple[NDArray[Any], NDArray[Any]]) -> None:
    gold, predicted = pair
    table = confusion(gold, predicted, 4)
    np.testing.assert_array_equal(table, confusion_matrix(gold, predicted, labels=range(4)))
    theirs = f1_score(gold, predicted, labels=range(4), average=None, zero_division=np.nan)
    np.testing.assert_allclose(f1_scores(table), theirs)
    present = sorted(set(gold.tolist()) | set(predicted.tolist()))
    theirs_macro = f1_score(gold, predicted, labels=present, average="macro", zero_division=0)
    assert macro_f1(table) == pytest.approx(theirs_macro)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval_holds_the_share_and_stays_inside(case: tuple[int, int]) -> None:
    hits, n = case
    share = wilson(hits, n)
    assert 0 <= share.low <= share.value + 1e-12
    assert share.value - 1e-12 <= share.high <= 1
    assert share.high - share.low > wilson(hits * 4, n * 4).high - wilson(hits * 4, n * 4).low


def test_wilson_agrees_with_scipy() -> None:
    from scipy.stats import binomtest

    theirs = binomtest(37, 50).proportion_ci(method="wilson")
    ours = wilson(37, 50)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_wilson_covers_the_truth_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(0)
    hits = rng.binomial(60, 0.85, size=2000)
    inside = [wilson(int(h), 60).low <= 0.85 <= wilson(int(h), 60).high for h in hits]
    assert 0.93 <= np.mean(inside) <= 0.98


def test_no_documents_have_no_figures() -> None:
    none = np.array([], dtype=np.int64)
    assert np.isnan(wilson(0, 0).value)
    assert str(wilson(0, 0)) == "no documents"
    assert np.isnan(macro_f1(confusion(none, none, 3)))
    assert np.isnan(calibration_error(none, np.zeros((0, 2))))
    assert np.isnan(paired_difference(np.array([])).value)


def test_calibrated_answers_have_almost_no_error_and_boasts_have_much() -> None:
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.5, 1.0, size=20_000)
    gold = (rng.uniform(size=20_000) > sure).astype(np.int64)  # class 0 with probability `sure`
    proba = np.column_stack([sure, 1 - sure])
    assert calibration_error(gold, proba) < 0.02
    boast = np.column_stack([np.full(20_000, 0.99), np.full(20_000, 0.01)])
    assert calibration_error(gold, boast) == pytest.approx(0.99 - (gold == 0).mean())


def test_a_gain_has_the_interval_of_the_paired_difference() -> None:
    gain = paired_difference(np.array([1.0] * 50 + [0.0] * 50))
    assert gain.value == 0.5
    assert (gain.low, gain.high) == pytest.approx((0.391, 0.589), abs=1e-3)


def test_a_tiny_difference_on_one_document_claims_no_more_certainty_than_none() -> None:
    none, tiny = paired_difference(np.zeros(98)), paired_difference(np.array([0.0] * 97 + [0.01]))
    assert none.high - none.low == pytest.approx(0.039, abs=1e-3)
    assert tiny.high - tiny.low == pytest.approx(none.high - none.low, abs=1e-4)


def test_the_source_table_and_the_evaluation_have_one_majority_vote() -> None:
    rng = np.random.default_rng(3)
    gold = rng.integers(0, 3, 200)
    votes = Votes.from_array(
        np.where(rng.random((200, 4)) < 0.25, rng.integers(0, 3, (200, 4)), -1), classes=list("abc")
    )
    even = np.full((200, 3), 1 / 3, np.float32)
    scored = evaluate(
        heads(even.tolist()), votes, gold, ledger=Ledger(), commonest=commonest_class(votes)
    ).everything.majority.accuracy
    told = votes.summary(gold).majority.accuracy
    assert told is not None
    assert told.value == pytest.approx(scored.value)
    assert told.n == scored.n == 200


def test_shares_that_the_true_labels_contradict_are_told() -> None:
    gold = np.repeat([0, 1], [80, 20])
    votes = Votes.from_array(gold[:, None], classes=["ham", "spam"])
    said = heads(np.eye(2)[gold].tolist())

    def told(shares: tuple[float, ...] | None) -> str:
        return str(evaluate(said, votes, gold, ledger=Ledger(), shares=shares))

    assert (
        "The model assumes that 10.0% of all documents are ham; of the true labels here, 80.0% (71.1% to 86.7%) are."
        in told((0.1, 0.9))
    )
    assert "goes by" not in told((0.76, 0.24))  # within what 100 labels can tell
    assert "goes by" not in told(None)
