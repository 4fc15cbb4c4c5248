"""The accuracy of a model from labels that were not drawn evenly.

How well labels tell the class shares.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.denoising.planted import drawn

from unruly.denoising.fit import denoise
from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.labelling.answers import Labelled, labelled
from unruly.labelling.estimates import (
    BalanceEstimate,
    Refitted,
    compare_accuracies,
    estimate_accuracy,
    estimate_balance,
    hold_out,
    weighted_accuracy,
)
from unruly.labelling.label_file import Answer, LabelFile
from unruly.labelling.sampling import ask
from unruly.statistics import Float64
from unruly.votes.votes import Votes


def again(features: Features, votes: Votes, seen: list[int]) -> Refitted:
    """Fits again on some documents, and notes how many labels it was given."""

    def refitted(
        rows: NDArray[np.intp], labels: NDArray[np.int64], weights: Float64
    ) -> NDArray[np.float32]:
        seen.append(int((labels >= 0).sum()))
        part, cast = features.take(rows), votes.take(rows)
        model = denoise(part, cast, clean=labels, label_weights=weights)
        return model.heads(part, cast).combined

    return refitted


def test_intervals_hold_the_truth_though_draws_are_uneven() -> None:
    rng = np.random.default_rng(1)
    n, rounds, held, plain, found = 1500, 150, 0, [], []
    votes = Votes.from_array(np.full((n, 1), -1))
    for seed in range(rounds):
        rare = rng.random(n) < 0.15
        spam = np.where(rare, rng.uniform(0.5, 0.9, n), rng.uniform(0.02, 0.2, n))
        truth = (rng.random(n) < spam).astype(np.int64)
        proba = np.stack([1 - spam, spam], axis=1)
        right = proba.argmax(axis=1) == truth
        rows = [question.row for question in ask(votes, proba, 60, seed=seed)]
        weights = [1 / (q.probability or 1) for q in ask(votes, proba, 60, seed=seed)]
        share = weighted_accuracy(
            right[rows], proba[rows].max(axis=1), float(proba.max(axis=1).mean()), np.array(weights)
        )
        held += share.low <= right.mean() <= share.high
        found.append(share.value - right.mean())
        plain.append(right[rows].mean() - right.mean())
    assert held >= 0.92 * rounds
    assert abs(np.mean(found)) < 0.01
    assert abs(np.mean(plain)) > 0.02  # the labelled documents are harder than the others


@pytest.mark.parametrize(
    "draws",
    [
        ("doubt", "balance"),
        ("balance", "doubt"),
        ("source:links", "balance"),
        ("class:1", "random"),
    ],
)
def test_intervals_hold_the_truth_after_draws_that_do_not_reach_all_documents(
    draws: tuple[str, str],
) -> None:
    rng = np.random.default_rng(2)
    n, rounds, held, plain, found = 600, 100, 0, [], []
    for seed in range(rounds):
        spam = rng.beta(0.6, 0.9, n)
        proba = np.stack([1 - spam, spam], axis=1)
        truth = (rng.random(n) < spam).astype(np.int64)
        links = np.where(rng.random(n) < spam / 2, 1, -1)
        votes = Votes.from_array(links[:, None], sources=["links"])
        file, classes = LabelFile(Path("labels.csv")), ("0", "1")
        for when, by in zip(("2026-01-01", "2026-01-02"), draws, strict=True):
            done = labelled(file, votes.ids, classes).answered
            new = (
                Answer(str(q.id), classes[truth[q.row]], when, "", q.why, q.probability)
                for q in ask(votes, proba, 30, by, answered=done, seed=seed)
            )
            file = replace(file, answers=(*file.answers, *new))
        told = labelled(file, votes.ids, classes)
        right = proba.argmax(axis=1) == truth
        share = estimate_accuracy(proba, told).accuracy
        held += share.low <= right.mean() <= share.high
        found.append(share.value - right.mean())
        plain.append(right[told.numbers >= 0].mean() - right.mean())
    assert held >= 0.92 * rounds
    assert abs(np.mean(found)) < 0.02
    if "doubt" in draws:
        assert np.mean(plain) < -0.1  # the labelled documents are harder than the others


def test_labels_that_were_trained_on_are_held_out() -> None:
    features, votes, truth = drawn(500, [0.6, 0.6, 0.55], coverage=0.2, signal=0.05)
    numbers = np.full(500, -1)
    numbers[:60] = truth[:60]
    told = replace(Labelled.alike(numbers), origin="labels.csv")
    model = denoise(features, votes, clean=numbers, label_weights=told.weights)
    proba = model.heads(features, votes).combined
    seen: list[int] = []

    held = hold_out(again(features, votes, seen), told, told.rows)
    honest = estimate_accuracy(proba, told, held)
    naive = estimate_accuracy(proba, told)
    truly = float((proba.argmax(axis=1) == truth)[60:].mean())
    assert seen == [48] * 5
    assert honest.held_out == 5
    assert honest.accuracy.low <= truly <= honest.accuracy.high
    assert honest.accuracy.value < naive.accuracy.value
    assert "from 60 labels, held out in turn (5 refits)" in str(honest)
    assert honest.to_plain()["gold"] == {"use": "scoring", "labels": 60, "origin": "labels.csv"}


def test_only_labels_that_were_trained_on_are_held_out() -> None:
    features, votes, truth = drawn(400, [0.7, 0.65, 0.6], coverage=0.3, signal=0.2)
    numbers = np.full(400, -1)
    numbers[:6] = truth[:6]
    trained = Labelled.alike(numbers)
    proba = denoise(features, votes, clean=numbers).heads(features, votes).combined
    told = replace(Labelled.alike(np.where(np.arange(400) < 50, truth, -1)), origin="labels.csv")
    seen: list[int] = []

    refitted = again(features, votes, seen)
    held = hold_out(refitted, trained, np.arange(6), unlabelled=told.numbers < 0)
    assert sorted(seen) == [4, 5, 5, 5, 5]  # of the six, never of the other 44
    assert held.everywhere.min() > 0.5
    found = estimate_accuracy(proba, told, held)
    assert (found.labels, found.trained, found.held_out) == (50, 6, 5)
    assert "from 50 labels, of which 6 were trained on and held out (5 refits)" in str(found)


def test_confidence_is_compared_with_that_of_the_model_that_answered() -> None:
    right, sure = np.array([True] * 30 + [False] * 10), np.r_[np.full(30, 0.95), np.full(10, 0.6)]
    own = float(sure.mean())
    alike = weighted_accuracy(right, sure, own, np.ones(40))
    # a surer model whose refits answer: their confidence is measured by their own mean, not by its
    refits = weighted_accuracy(right, sure, np.full(40, own), np.ones(40))
    assert alike == refits
    assert weighted_accuracy(right, sure, 0.99, np.ones(40)).value > alike.value + 0.05


def test_without_labels_that_tell_there_is_no_estimate() -> None:
    proba = np.full((9, 2), 0.5)
    with pytest.raises(InputError, match="no document has a label yet"):
        estimate_accuracy(proba, Labelled.alike(np.full(9, -1)))
    chosen = Labelled(np.array([1] + [-1] * 8), np.zeros(9), np.zeros(9, np.bool_), ())
    with pytest.raises(InputError, match="no label was drawn at random"):
        estimate_accuracy(proba, chosen)


def test_two_models_are_compared_on_the_same_labels() -> None:
    rng = np.random.default_rng(0)
    n, held, widths, apart = 2000, 0, [], []
    for _ in range(200):
        truth = rng.integers(0, 2, n)
        hard = rng.random(n)  # what is hard for one model is hard for the other
        old, new = (np.where(hard < share, truth, 1 - truth) for share in (0.75, 0.82))
        gap = float((new == truth).mean() - (old == truth).mean())
        rows = rng.permutation(n)[:25]
        told = Labelled.alike(np.where(np.isin(np.arange(n), rows), truth, -1))
        two = [estimate_accuracy(np.eye(2)[one] * 0.8 + 0.1, told) for one in (new, old)]
        found = compare_accuracies(two[0], two[1], told)
        held += found.gain.low <= gap <= found.gain.high
        widths.append(found.gain.high - found.gain.low)
        apart.append(two[0].accuracy.high - two[0].accuracy.low)
    assert held >= 0.93 * 200
    assert np.mean(widths) < np.mean(apart)


def test_a_difference_that_labels_do_not_tell_is_called_so() -> None:
    told = Labelled.alike(np.array([0] * 20 + [-1] * 80))
    same = estimate_accuracy(np.tile([0.9, 0.1], (100, 1)), told)
    found = compare_accuracies(same, same, told)
    assert found.changed == 0
    assert found.gain.low < 0 < found.gain.high
    assert str(found).startswith("+0 points (-")
    assert str(found).endswith("these labels do not tell which is better")
    worst = estimate_accuracy(np.tile([0.1, 0.9], (100, 1)), told)
    assert "tell" not in str(compare_accuracies(same, worst, told))
    assert compare_accuracies(same, worst, told).to_plain()["gain"] == 1.0


CLASSES = ("ham", "spam")


def test_no_label_tells_nothing() -> None:
    assert estimate_balance(Labelled.alike(np.full(9, -1)), np.full((9, 2), 0.5), CLASSES) is None


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    n, held, widths = 1000, 0, []
    for seed in range(150):
        truth = (rng.random(n) < 0.3).astype(np.int64)
        spam = np.clip(0.2 + 0.6 * truth + rng.normal(0, 0.2, n), 0.02, 0.98)
        proba = np.stack([1 - spam, spam], axis=1)
        asked = ask(Votes.from_array(np.full((n, 1), -1)), proba, 30, "balance", seed=seed)
        numbers, weights = np.full(n, -1), np.zeros(n)
        for question in asked:
            numbers[question.row] = truth[question.row]
            weights[question.row] = 1 / (question.probability or 1)
        found = estimate_balance(Labelled(numbers, weights, numbers >= 0, ()), proba, CLASSES)
        assert found is not None
        held += abs(found.shares[1] - truth.mean()) <= found.half_widths[1]
        widths.append(found.half_widths[1])
    assert held >= 0.9 * 150
    assert np.mean(widths) < 0.16  # thirty drawn evenly, without predictions: 0.16


def test_the_sentence_says_what_more_labels_would_do() -> None:
    numbers = np.full(100, -1)
    numbers[:20] = [0, 1] * 10
    found = estimate_balance(Labelled.alike(numbers), np.full((100, 2), 0.5), CLASSES)
    assert found is not None
    assert "known to ± 2" in found.sentence()
    assert "16 more labels would make it" in found.sentence()  # of the 80 documents that are left


def test_where_every_document_has_an_answer_the_shares_are_known() -> None:
    numbers = np.array([0] * 45 + [1] * 15)
    found = estimate_balance(Labelled.alike(numbers), np.full((60, 2), 0.5), CLASSES)
    assert found is not None
    assert found.half_widths == (0.0, 0.0)
    assert found.sentence() == "the share of ham is 75%: every document has an answer"


def test_where_every_document_has_an_answer_shares_are_counted() -> None:
    numbers = np.zeros(60, np.int64)
    weights = np.linspace(0.1, 3, 60)
    alone = Labelled(numbers, weights, np.ones(60, np.bool_), ())
    found = estimate_balance(alone, np.full((60, 2), 0.5), CLASSES)
    assert found is not None
    assert found.shares == (1.0, 0.0)


@given(st.integers(1, 500), st.integers(1, 500))
def test_no_more_labels_are_asked_for_than_documents_are_left(labels: int, left: int) -> None:
    found = BalanceEstimate(("a", "b"), (0.5, 0.5), (0.1, 0.1), labels, float(labels), left)
    assert 1 <= found.more <= left


def test_a_class_that_was_never_seen_is_not_known_exactly() -> None:
    numbers = np.full(100, -1)
    numbers[:10] = 0
    found = estimate_balance(Labelled.alike(numbers), np.full((100, 2), 0.5), CLASSES)
    assert found is not None
    assert found.half_widths[1] > 0.05
