"""The product against the dense reference, epoch by epoch, on random toys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.paper.reference import Trace, algorithm_1

from unruly.features.encoder import Features
from unruly.learner import check_labels
from unruly.paper.cotraining import Epochs, _reliability, cotrain
from unruly.paper.training_set import prepare
from unruly.settings import ABLATIONS, PaperSettings
from unruly.votes.votes import Votes

M, D, EPOCHS = 3, 5, 6
BASE = PaperSettings(hidden=6, learning_rate=0.02, c1=0.3, c3=0.3, alpha=0.6)


class Toy:
    """Random documents, some of them repeated, some without votes, some with clean labels."""

    def __init__(self, seed: int, clean: bool = False, weighted: bool = False) -> None:
        rng = np.random.default_rng(seed)
        n, k = 30, 5
        self.features = rng.normal(size=(n, D)).astype(np.float32)
        self.features[20:26] = self.features[:6]  # repeated, with other votes
        self.matrix = np.where(rng.random((n, k)) < 0.55, -1, rng.integers(0, M, (n, k)))
        self.matrix[26:] = -1
        self.matrix[0, 1:] = -1  # a single vote, and then two that agree
        self.matrix[0, 0] = 1
        self.matrix[1] = [2, 2, -1, -1, -1]
        self.matrix[:, 4] = np.where(self.matrix[:, 4] >= 0, 2, -1)  # one class only
        self.clean = np.full(n, -1)
        if clean:
            self.clean[[2, 7, 11, 20, 27]] = rng.integers(0, M, 5)
            self.clean[2] = (self.matrix[2].max() + 1) % M
        self.weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else np.ones(n)
        self.votes = Votes.from_array(self.matrix, classes=[f"c{r}" for r in range(M)])

    def run(self, settings: PaperSettings, seed: int) -> tuple[list[Trace], list[Trace]]:
        """The traces of the product and of the reference."""
        data = prepare(
            Features.from_array(self.features),
            self.votes,
            settings,
            hidden=np.zeros(30, dtype=bool),
            clean=check_labels(self.clean, 30, M),
            weights=self.weight,
        )
        run = Epochs(data, self.votes, settings, seed)
        # At the usual start, vote vectors at zero, the gradient of W1 is zero up to rounding, and Adam
        # divides by its size: two correct programs would differ by the noise.
        votes = run.networks.attention.votes
        votes[...] = np.random.default_rng(seed).normal(size=votes.shape)
        start, ours, batches = dense_weights(run), [], []
        for t in range(1, EPOCHS + 1):
            documents = [run.used] if run.whole is not None else steps_of(run, t)
            batches.append(documents)
            sizes = np.array([data.matched.sum(), data.supervised.sum(), 0])
            sizes[2] = sum(map(len, documents)) - data.supervised[run.used].sum()
            # With mini-batches A is gathered while the weights move: the labels show it.
            a = _reliability(run.learner(), data, settings) if run.whole is not None else None
            epoch = run.epoch(t)
            losses = np.array([epoch.l1, epoch.l2, epoch.l3]) * np.maximum(sizes, 1)
            labels = data.labels.copy()
            l1, l2, l3 = losses.tolist()
            ours.append(Trace(l1, l2, l3, a, labels, dense_weights(run)))
        theirs = algorithm_1(
            self.features,
            self.matrix,
            M,
            settings,
            start,
            clean=self.clean,
            weight=self.weight,
            batches=batches,
        )
        return ours, theirs


def steps_of(run: Epochs, t: int) -> list[NDArray[Any]]:
    return [batch.memory for batch in run.batches(t) if batch.memory is not None]


def dense_weights(run: Epochs) -> dict[str, NDArray[Any]]:
    a, c, codes = run.networks.attention, run.networks.classifier, run.data.codes
    votes = np.zeros((5 * (M + 1), len(a.w2)), dtype=np.float32)
    votes[codes] = a.votes
    parts = {"a.w1": a.w1, "a.w2": a.w2, "a.votes": votes}
    parts |= {"c.w1": c.w1, "c.b1": c.b1, "c.w2": c.w2, "c.b2": c.b2}
    return {name: values.copy() for name, values in parts.items()}


def compare(ours: list[Trace], theirs: list[Trace], settings: PaperSettings) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        for name in ("l1", "l2", "l3"):
            assert getattr(mine, name) == pytest.approx(getattr(other, name), rel=1e-3, abs=1e-5), (
                name
            )
        np.testing.assert_allclose(mine.labels, other.labels, atol=1e-6)
        denoises = settings.ablation not in ("neural-only", "neural-self")
        if denoises and mine.reliability is not None:
            assert other.reliability is not None
            np.testing.assert_allclose(mine.reliability, other.reliability, atol=1e-4)
        for name, values in other.weights.items():
            if name.startswith("a") and not denoises:
                continue
            np.testing.assert_allclose(mine.weights[name], values, atol=5e-4, err_msg=name)


@pytest.mark.parametrize("attention", ["all", "voters"])
@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("p", [0, 1, 2])
def test_every_ablation_attention_and_p(ablation: str, attention: str, p: int) -> None:
    settings = replace(BASE, ablation=ablation, attention=attention, p=p)
    compare(*Toy(seed=p).run(settings, seed=3), settings)


@pytest.mark.parametrize("attention", ["all", "voters"])
@pytest.mark.parametrize("p", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 11])
def test_clean_labels_weights_and_mini_batches(
    attention: str, p: int, batch_size: int | None
) -> None:
    settings = replace(BASE, attention=attention, p=p, batch_size=batch_size)
    for seed in range(3):
        compare(*Toy(seed, clean=True, weighted=True).run(settings, seed), settings)


@pytest.mark.parametrize(
    "change",
    [
        {"c1": 0.7, "c3": 0.1},
        {"c1": 0.1, "c3": 0.8},
        {"alpha": 0.0},
        {"alpha": 0.95},
        {"reliability": "per-vote"},
        {"weight_decay": 0.05},
        {"ablation": "rule-neural", "batch_size": 7},
        {"ablation": "neural-self", "batch_size": 7},
        {"ablation": "rule-only", "batch_size": 7},
    ],
    ids=str,
)
def test_every_other_setting(change: dict[str, Any]) -> None:
    settings = replace(BASE, **change)
    for seed in (5, 6):
        compare(*Toy(seed, clean=seed == 6).run(settings, seed), settings)


def test_the_self_training_loss_of_a_single_document_is_its_mean() -> None:
    toy = Toy(seed=0)
    toy.matrix[:29, :3] = np.array([0, 1, 1])  # all but one are matched
    toy.votes = Votes.from_array(toy.matrix, classes=toy.votes.classes)
    ours, theirs = toy.run(BASE, seed=2)
    compare(ours, theirs, BASE)
    assert theirs[-1].l3 > 1e-4


def test_labels_are_renewed_and_losses_are_not_nothing() -> None:
    """The toys must exercise what they compare: labels move, and all three losses act."""
    moved, settings = 0, replace(BASE, learning_rate=0.1)
    for seed in range(4):
        ours, theirs = Toy(seed).run(settings, seed)
        moved += int((ours[0].labels != ours[-1].labels).any(axis=1).sum())
        assert min(theirs[-1].l1, theirs[-1].l2) > 0.1
        assert theirs[-1].l3 > 1e-4
    assert moved > 0


@pytest.mark.parametrize("batch_size", [None, 11])
def test_an_epoch_counts_the_labels_that_it_changed(batch_size: int | None) -> None:
    settings = replace(BASE, learning_rate=0.1, batch_size=batch_size)
    changed = 0
    for seed in range(4):
        toy = Toy(seed)
        data = prepare(
            Features.from_array(toy.features),
            toy.votes,
            settings,
            hidden=np.zeros(30, dtype=bool),
            clean=check_labels(None, 30, M),
            weights=None,
        )
        run = Epochs(data, toy.votes, settings, seed)
        for t in range(1, EPOCHS + 1):
            before = data.labels.copy()
            counted = run.epoch(t).changed
            assert counted == (data.labels != before).any(axis=1).sum()
            changed += counted
    assert changed > 0


@pytest.mark.parametrize("attention", ["all", "voters"])
@pytest.mark.parametrize("p", [0, 1, 2])
def test_the_reported_reliability_is_that_of_the_kept_weights_over_matched_documents(
    attention: str, p: int
) -> None:
    toy = Toy(seed=1, clean=True)
    settings = replace(BASE, attention=attention, p=p, epochs=4)
    features = Features.from_array(toy.features)
    learner = cotrain(features, toy.votes, settings, clean=toy.clean)
    a = learner.heads(features, toy.votes).conditional
    matched = ((toy.matrix >= 0).sum(axis=1) > p) | ((toy.clean >= 0) & toy.votes.covered)
    expected = a[matched].sum(axis=0)
    np.testing.assert_allclose(learner.reliability, expected / expected.sum(), atol=1e-5)
    everyone = a.sum(axis=0) / a.sum()
    if p:
        assert np.abs(learner.reliability - everyone).max() > 1e-3  # p matters here
