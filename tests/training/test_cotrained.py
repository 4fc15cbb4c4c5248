"""The trained pair: written down and read back, and careful about what it is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.settings import Settings
from unruly.training import cotrained
from unruly.training.cotrained import CoTrained
from unruly.training.cotraining import cotrain
from unruly.training.heads import Learner
from unruly.votes.votes import Votes


def trained(settings: Settings) -> tuple[CoTrained, Features, Votes]:
    rng = np.random.default_rng(0)
    features = Features.from_array(rng.normal(size=(80, 5)).astype(np.float32))
    votes = Votes.from_array(rng.integers(-1, 3, (80, 4)), classes=["a", "b", "c"])
    return cotrain(features, votes, settings), features, votes


SHORT = replace(Settings.paper(), epochs=5, hidden=8)


@pytest.mark.parametrize(
    "settings",
    [
        SHORT,
        replace(SHORT, standardise=True, attention="all", ensemble="product"),
        replace(SHORT, ablation="rule-only"),
    ],
)
def test_written_and_read_back_it_says_the_same(settings: Settings) -> None:
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
    np.testing.assert_array_equal(learner_again.soft_labels(votes, features), one.combined)


def test_many_documents_are_answered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, features, votes = trained(SHORT)
    whole = learner.heads(features, votes)
    monkeypatch.setattr(cotrained, "_CHUNK", 7)
    parts = learner.heads(features, votes)
    np.testing.assert_allclose(whole.combined, parts.combined, atol=1e-6)
    np.testing.assert_array_equal(whole.decided_by, parts.decided_by)
    assert parts.conditional.shape == (80, 4)


def test_no_documents_at_all() -> None:
    learner, features, votes = trained(SHORT)
    heads = learner.heads(features.take(np.arange(0)), votes.take(np.arange(0)))
    assert heads.combined.shape == (0, 3)
    assert heads.agreement == 1.0


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


def test_answering_needs_no_torch() -> None:
    code = "import sys, unruly.training.cotrained; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
