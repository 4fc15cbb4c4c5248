"""Figures of merit against scikit-learn's, and their laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score

from unruly.model.metrics import (
    accuracy,
    calibration_error,
    confusion,
    f1_scores,
    macro_f1,
    paired_gain,
)
from unruly.sampling import wilson

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
    assert np.isnan(accuracy(none, none).value)
    assert str(accuracy(none, none)) == "no documents"
    assert np.isnan(macro_f1(confusion(none, none, 3)))
    assert np.isnan(calibration_error(none, np.zeros((0, 2))))
    assert np.isnan(paired_gain(np.array([])).value)


def test_calibrated_answers_have_almost_no_error_and_boasts_have_much() -> None:
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.5, 1.0, size=20_000)
    gold = (rng.uniform(size=20_000) > sure).astype(np.int64)  # class 0 with probability `sure`
    proba = np.column_stack([sure, 1 - sure])
    assert calibration_error(gold, proba) < 0.02
    boast = np.column_stack([np.full(20_000, 0.99), np.full(20_000, 0.01)])
    assert calibration_error(gold, boast) == pytest.approx(0.99 - (gold == 0).mean())


def test_a_gain_has_the_interval_of_the_paired_difference() -> None:
    gain = paired_gain(np.array([1.0] * 50 + [0.0] * 50))
    assert gain.value == 0.5
    assert (gain.low, gain.high) == pytest.approx((0.402, 0.598), abs=1e-3)
