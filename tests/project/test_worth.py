"""How many hand labels a rule set is worth, and the classifier on hand labels alone that it is compared with."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.denoising.planted import drawn
from tests.planted_votes import planted_votes

from unruly.denoising.regression import CrossFitting, content_folds
from unruly.errors import InputError
from unruly.features.encoder import Block, Features
from unruly.ledger import Ledger, Use
from unruly.progress import SILENT, Progress
from unruly.project.worth import Worth, crossing, fit_hand_labels, measure_worth, sizes


class Told:
    """How much of one stage is done."""

    total: int | None = None
    done = 0

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.total = total

    def advance(self, units: int, note: str = "") -> None:
        self.done += units

    def finish(self) -> None: ...


@functools.cache
def measured(
    accuracy: float, pool: int = 150, draws: int = 2, progress: Progress = SILENT
) -> Worth:
    """A model of known accuracy beside labels of documents that text tells apart."""
    _, gold = planted_votes(pool + 400, [0.8], seed=1)
    truth = gold.astype(np.int64)
    noise = np.random.default_rng(1).normal(size=(len(truth), 16))
    features = Features.from_array(
        noise + 0.7 * np.sign(truth - 0.5)[:, None] * (np.arange(16) < 4)
    )
    scored, rest = np.arange(400), np.arange(400, pool + 400)
    hit = np.random.default_rng(0).random(400) < accuracy
    return measure_worth(
        hit,
        features.take(scored),
        truth[scored],
        features.take(rest),
        truth[rest],
        2,
        ledger=Ledger(),
        origin="test.csv",
        draws=draws,
        progress=progress,
    )


def test_progress_ends_at_its_total_even_where_the_curve_is_cut_short() -> None:
    told = Told()
    assert len(measured(0.3, progress=told).curve) == 3
    assert told.done == told.total == 10


def test_better_rules_are_worth_more_labels() -> None:
    some, more = measured(0.8), measured(0.87)
    assert some.labels is not None
    assert more.labels is not None
    assert some.labels < more.labels
    assert some.low is None or some.low <= some.labels
    assert some.high is None or some.high >= some.labels
    assert "these rules are worth about" in some.sentence


def test_all_labels_can_be_drawn_in_one_way_only() -> None:
    *some, whole = measured(1.0).curve
    assert whole.labels == 150
    assert whole.deviation is None
    assert all(point.deviation is not None and point.deviation > 0 for point in some)


def test_rules_outside_what_can_be_compared() -> None:
    bad, best = measured(0.3), measured(1.0)
    assert bad.labels is None
    assert bad.sentence == "these rules are worth fewer than 10 hand labels"
    assert len(bad.curve) == 3  # no need to go on
    assert best.labels is None
    assert best.sentence == (
        "these rules are worth more than the 150 hand labels there are to compare with"
    )


def test_the_ledger_and_the_plain_form() -> None:
    worth = measured(0.85)
    assert worth.ledger.gold_free
    assert worth.ledger.used_for(Use.SCORING) == 400
    assert worth.ledger.used_for(Use.COMPARISON) == worth.curve[-1].labels
    plain = json.loads(json.dumps(worth.to_plain(), allow_nan=False))
    assert plain["labels"] == worth.labels
    assert [point["labels"] for point in plain["hand_labels"]] == [r.labels for r in worth.curve]


def test_the_same_seed_gives_the_same_answer() -> None:
    assert measured(0.85) == measured.__wrapped__(0.85)


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(InputError, match=r"10 to train on, of 2 classes; at least 20"):
        measured(0.8, pool=10)
    features = Features.from_array(np.zeros((30, 2), np.float32))
    with pytest.raises(InputError, match="too few gold labels to score on: 5 documents"):
        measure_worth(
            np.ones(5, np.bool_),
            features.take(np.arange(5)),
            np.zeros(5, np.int64),
            features,
            np.arange(30) % 2,
            2,
            ledger=Ledger(),
        )


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
    st.floats(0, 1),
    st.floats(0, 0.2),
)
def test_the_crossing_rises_with_the_rules(curve: list[float], rules: float, better: float) -> None:
    steps = list(sizes(10**6))[: len(curve)]
    low, high = crossing(steps, curve, rules), crossing(steps, curve, rules + better)
    assert low <= high * (1 + 1e-9)
    assert low == 0 or low == np.inf or steps[0] <= low <= steps[-1] * (1 + 1e-9)


@given(st.integers(20, 10**6))
def test_sizes_rise_to_all_there_are(most: int) -> None:
    steps = list(sizes(most))
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (10, most)


def test_without_a_label_there_is_nothing_to_learn() -> None:
    with pytest.raises(InputError, match="no label to learn from"):
        fit_hand_labels(Features.from_array(np.zeros((0, 2), np.float32)), np.zeros(0, int), 2)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_few_labels_are_enough(n: int) -> None:
    x = np.eye(4, dtype=np.float32)[:n]
    model = fit_hand_labels(Features.from_array(x), np.arange(n) % 2, 2)
    found = np.exp(model.log_proba(Features.from_array(x)))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.isfinite(found).all()
    if n == 4:
        assert found.argmax(axis=1).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("signal", [0.05, 3.0])
def test_the_penalty_is_the_one_under_which_unseen_labels_are_likeliest(
    signal: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_features, _, truth = drawn(60, [0.8], signal=signal)
    features = Features.from_array(drawn_features.matrix())
    fold, _ = content_folds(features, 5, seed=0)
    target, mass, likelihood = np.eye(2)[truth], np.ones(60), {}
    for penalty in (0.1, 1.0, 10.0):
        text = CrossFitting.of(features.matrix(), fold, 5, penalty)
        held_out = text.held_out(text.descend(None, target, mass, 60), target, mass)
        likelihood[penalty] = held_out[np.arange(60), truth].mean()
    best = max(likelihood, key=lambda penalty: likelihood[penalty])
    found = fit_hand_labels(features, truth, 2).log_proba(features)
    monkeypatch.setattr("unruly.project.worth._PENALTIES", (best,))
    np.testing.assert_array_equal(found, fit_hand_labels(features, truth, 2).log_proba(features))
    other = 10.0 if best != 10.0 else 0.1
    monkeypatch.setattr("unruly.project.worth._PENALTIES", (other,))
    assert np.abs(found - fit_hand_labels(features, truth, 2).log_proba(features)).max() > 1e-3


def test_blocks_are_pooled_by_their_weights() -> None:
    """Two blocks of one encoder and one of another: a quarter, a quarter and a half."""
    features, _, truth = drawn(200, [0.8], signal=1.0)
    x, noise = features.matrix(), np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    three = Features((Block("a1", x, "a"), Block("a2", x, "a"), Block("b", noise)))
    model = fit_hand_labels(three, truth, 2)
    each = [
        text.log_proba(block.values) for text, block in zip(model.texts, three.blocks, strict=True)
    ]
    found = 0.25 * each[0] + 0.25 * each[1] + 0.5 * each[2]
    found -= np.logaddexp.reduce(found, axis=1, keepdims=True)
    np.testing.assert_allclose(model.log_proba(three), found, atol=1e-9)
