"""The trained pair: written down and read back, and careful about what it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.learner import Learner
from unruly.ledger import GoldUse, Use
from unruly.paper import inference
from unruly.paper.cotraining import cotrain
from unruly.paper.inference import CoTrained, combine
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes


def trained(settings: PaperSettings) -> tuple[CoTrained, Features, Votes]:
    rng = np.random.default_rng(0)
    features = Features.from_array(rng.normal(size=(80, 5)).astype(np.float32))
    votes = Votes.from_array(rng.integers(-1, 3, (80, 4)), classes=["a", "b", "c"])
    return cotrain(features, votes, settings), features, votes


SHORT = PaperSettings(epochs=5, hidden=8, attention="voters")


@pytest.mark.parametrize(
    "settings",
    [
        SHORT,
        replace(SHORT, standardise=True, attention="all", ensemble="product"),
        replace(SHORT, ablation="rule-only"),
    ],
)
def test_written_and_read_back_it_says_the_same(settings: PaperSettings) -> None:
    learner, features, votes = trained(settings)
    back = CoTrained.restore(
        {name: values.copy() for name, values in learner.arrays().items()},
        json.loads(json.dumps(learner.facts())),
    )
    one, two = learner.heads(features, votes), back.heads(features, votes)
    for name in ("denoiser", "classifier", "combined", "decided_by", "conditional"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert back.history == learner.history
    assert back.facts() == learner.facts()
    learner_again: Learner = back  # it keeps the protocol
    np.testing.assert_array_equal(learner_again.heads(features, votes).combined, one.combined)


def test_many_documents_are_answered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, features, votes = trained(SHORT)
    whole = learner.heads(features, votes)
    monkeypatch.setattr(inference, "_CHUNK", 7)
    parts = learner.heads(features, votes)
    np.testing.assert_allclose(whole.combined, parts.combined, atol=1e-6)
    np.testing.assert_array_equal(whole.decided_by, parts.decided_by)
    assert parts.conditional.shape == (80, 4)


def test_no_documents_at_all() -> None:
    learner, features, votes = trained(SHORT)
    heads = learner.heads(features.take(np.arange(0)), votes.take(np.arange(0)))
    assert heads.combined.shape == (0, 3)
    assert heads.agreement(np.zeros(0, dtype=np.bool_)) is None


def test_a_class_that_a_source_never_said_in_training_is_heard() -> None:
    features = Features.from_array(np.eye(4, dtype=np.float32))
    votes = Votes.from_array([[0, 1], [0, 1], [1, 0], [-1, 0]], classes=["a", "b", "c"])
    learner = cotrain(features, votes, SHORT)
    heads = learner.heads(features, Votes.from_array([[2, -1]] * 4, classes=["a", "b", "c"]))
    assert (heads.denoiser.argmax(axis=1) == 2).all()


def test_other_sources_classes_and_widths_are_refused() -> None:
    learner, features, votes = trained(SHORT)
    others = Votes.from_array(votes.matrix, classes=votes.classes, sources=["w", "x", "y", "z"])
    with pytest.raises(InputError, match="the model knows the sources source_0"):
        learner.heads(features, others)
    with pytest.raises(InputError, match="the model knows the classes a, b, c"):
        learner.heads(features, Votes.from_array(votes.matrix, classes=["x", "y", "z"]))
    with pytest.raises(InputError, match="trained on 5 features for each document, not 6"):
        learner.heads(Features.from_array(np.zeros((80, 6), np.float32)), votes)


def test_training_and_answering_need_no_torch() -> None:
    code = "import sys, unruly.paper.cotraining; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_gold_used_survives_being_written_down() -> None:
    rng = np.random.default_rng(0)
    features = Features.from_array(rng.normal(size=(80, 5)).astype(np.float32))
    votes = Votes.from_array(rng.integers(-1, 2, (80, 4)))
    clean = np.where(np.arange(80) < 30, 1, -1)
    learner = cotrain(features, votes, SHORT, clean=clean)
    back = CoTrained.restore(learner.arrays(), json.loads(json.dumps(learner.facts())))
    assert back.gold_used == learner.gold_used == (GoldUse(Use.TRAINING, 30, "clean labels"),)


def test_the_more_confident_head_wins() -> None:
    rule = np.array([[0.7, 0.3], [0.7, 0.3], [0.6, 0.4], [0.5, 0.5]], np.float32)
    text = np.array([[0.8, 0.2], [0.1, 0.9], [0.45, 0.55], [0.3, 0.7]], np.float32)
    combined, decided = combine(rule, text, "confident")
    assert decided.tolist() == [0, 2, 1, 2]
    np.testing.assert_allclose(combined, [[0.75, 0.25], [0.1, 0.9], [0.6, 0.4], [0.3, 0.7]])


def test_probabilities_are_multiplied_or_averaged_by_hand() -> None:
    rule = np.array([[0.6, 0.4], [0.5, 0.5], [0.6, 0.4]], np.float32)
    text = np.array([[0.3, 0.7], [0.2, 0.8], [0.9, 0.1]], np.float32)
    combined, decided = combine(rule, text, "product")
    product = rule * text
    np.testing.assert_allclose(combined, product / product.sum(axis=1, keepdims=True), rtol=1e-5)
    assert decided.tolist() == [2, 2, 0]
    combined, decided = combine(rule, text, "mean")  # a tied denoiser has no opinion
    np.testing.assert_allclose(combined, [[0.45, 0.55], [0.2, 0.8], [0.75, 0.25]], rtol=1e-5)
    assert decided.tolist() == [2, 2, 0]
    impossible = np.array([[1.0, 0.0]], np.float32)
    assert np.isfinite(combine(impossible, impossible[:, ::-1], "product")[0]).all()


@pytest.mark.parametrize("how", ["confident", "product", "mean"])
@given(seed=st.integers(0, 2**32 - 1))
@limits(max_examples=25, deadline=None)
def test_combined_rows_are_probabilities_and_the_decider_agrees(how: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rule, text = (rng.dirichlet(np.ones(3), size=20).astype(np.float32) for _ in range(2))
    combined, decided = combine(rule, text, how)
    np.testing.assert_allclose(combined.sum(axis=1), 1, atol=1e-4)
    rule_says, text_says, answer = (part.argmax(axis=1) for part in (rule, text, combined))
    assert (answer == rule_says)[decided == 1].all()
    assert (decided == 0).tolist() == ((rule_says == text_says) & (answer == rule_says)).tolist()
    if how == "confident":
        assert (answer == text_says)[decided == 2].all()
        assert (text.max(axis=1) >= rule.max(axis=1))[decided == 2].all()
        assert (rule.max(axis=1) >= text.max(axis=1))[decided == 1].all()


def test_sources_that_abstain_have_no_reliability_and_take_mass_only_with_all() -> None:
    for attention, whole in (("all", False), ("voters", True)):
        learner, features, votes = trained(replace(SHORT, attention=attention))
        a = learner.heads(features, votes).conditional
        assert not a[~votes.voted].any()
        assert (a[votes.voted] > 0).all()
        partly = votes.covered & ~votes.voted.all(axis=1)
        sums = a.sum(axis=1)[partly]
        assert np.allclose(sums, 1, atol=1e-5) if whole else (sums < 1 - 1e-4).all()
        assert learner.reliability.sum() == pytest.approx(1)
