"""A model asks for labels, is judged by them, and tells what they would change."""

from __future__ import annotations

import numpy as np
import pytest
from tests.denoising.planted import drawn, skewed

from unruly.errors import InputError
from unruly.labelling.answers import Labelled
from unruly.model.weak_classifier import WeakClassifier
from unruly.paper.settings import PaperSettings


def test_ask_gives_ids_with_probabilities() -> None:
    features, votes, truth = drawn(300, [0.8, 0.7, 0.7])
    model = WeakClassifier(seed=0).fit(features, votes)
    asked = model.ask(10)
    assert len(asked.ids) == len(set(asked.ids)) == 10
    assert all(chance is not None and 0 < chance < 1 for chance in asked.probabilities)
    assert model.ask(10).ids == asked.ids
    known = {votes.ids[q.row]: int(truth[q.row]) for q in asked}
    assert not set(model.ask(10, labels=known).ids) & set(asked.ids)
    assert len(model.ask(5, "doubt", features, votes)) == 5


def test_labels_drawn_by_the_model_make_it_better() -> None:
    features, votes, truth = skewed(600, 0.15, [0.75, 0.7, 0.7, 0.65], signal=0.3)
    plain = WeakClassifier(seed=0).fit(features, votes)
    numbers, weights = np.full(votes.n, -1), np.zeros(votes.n)
    for question in plain.ask(40):
        numbers[question.row] = truth[question.row]
        weights[question.row] = 1 / (question.probability or 1)
    labels = Labelled(numbers, weights, numbers >= 0, (), "labels.csv")
    told = WeakClassifier(seed=0).fit(features, votes, clean=labels)
    rest = numbers < 0

    def right(model: WeakClassifier) -> float:
        return float((model.predictions(features, votes).numbers == truth)[rest].mean())

    assert right(told) > right(plain)
    assert str(told.ledger_) == (
        "gold labels: 40 for training (labels.csv), 40 for prior (labels.csv)"
    )
    preview = plain.preview_labels(labels)
    assert np.array_equal(preview, told.denoise())
    assert right(plain) == right(WeakClassifier(seed=0).fit(features, votes))  # left as it was
    judged = plain.estimate_accuracy(labels)
    assert judged.held_out == 0
    assert judged.accuracy.low <= right(plain) <= judged.accuracy.high
    assert told.estimate_accuracy(labels).held_out == 5


def test_labels_that_were_chosen_teach_but_do_not_tell_the_balance() -> None:
    features, votes, truth = drawn(300, [0.8, 0.7, 0.7])
    numbers = np.full(300, -1)
    numbers[:20] = truth[:20]
    chosen = Labelled(numbers, np.zeros(300), numbers >= 0, (), "labels.csv")
    model = WeakClassifier(seed=0).fit(features, votes, clean=chosen)
    assert str(model.ledger_) == "gold labels: 20 for training (labels.csv)"
    assert np.isfinite(model.denoise()).all()


def test_the_papers_method_is_judged_too() -> None:
    features, votes, truth = drawn(150, [0.8, 0.7, 0.7])
    numbers = np.full(150, -1)
    numbers[:30] = truth[:30]
    model = WeakClassifier(method="paper", settings=PaperSettings(epochs=3), seed=0)
    model.fit(features, votes, clean=numbers)
    found = model.estimate_accuracy(numbers)
    assert found.held_out == 5
    assert found.labels == 30


def test_labels_of_other_documents_are_refused() -> None:
    features, votes, _ = drawn(60, [0.8, 0.7])
    model = WeakClassifier(seed=0).fit(features, votes)
    with pytest.raises(InputError, match="they must be the same"):
        model.estimate_accuracy(Labelled.alike(np.zeros(9, np.int64)))
    with pytest.raises(InputError, match="they must be the same"):
        model.fit(features, votes, clean=Labelled.alike(np.zeros(9, np.int64)))
