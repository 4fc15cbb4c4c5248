"""How well labels tell the class shares."""

from __future__ import annotations

import numpy as np

from unruly.labelling.answers import Labelled
from unruly.labelling.balance import estimate_balance
from unruly.labelling.queue import ask
from unruly.votes.votes import Votes

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
    assert "25 more labels would make it" in found.sentence()


def test_a_class_that_was_never_seen_is_not_known_exactly() -> None:
    numbers = np.full(100, -1)
    numbers[:10] = 0
    found = estimate_balance(Labelled.alike(numbers), np.full((100, 2), 0.5), CLASSES)
    assert found is not None
    assert found.half_widths[1] > 0.05
