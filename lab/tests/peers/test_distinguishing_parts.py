"""What distinguishes each peer matters: on a planted task, leaving the part out costs a margin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from lab.tests.peers.planted_task import planted_task, right
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.learner import Gold
from unruly.settings import PaperSettings
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.peers import mean_teacher, neuralqpp, westclass
from unruly_lab.peers.bert_mlp import FittedMlp, Mlp, denoised, majority, scaled
from unruly_lab.peers.implyloss import ImplyLoss, classifier_logits
from unruly_lab.peers.labels import denoised_labels, hard_targets, majority_labels
from unruly_lab.peers.language_model import LanguageTraining
from unruly_lab.peers.mean_teacher import MeanTeacher, School
from unruly_lab.peers.networks import computing
from unruly_lab.peers.neuralqpp import NeuralQPP
from unruly_lab.peers.systems import Documents, TrainingData
from unruly_lab.peers.ulmfit import ULMFiT
from unruly_lab.peers.westclass import WeSTClass


def noisy_sources(
    accuracy: tuple[float, ...],
    coverage: tuple[float, ...],
    *,
    n: int = 400,
    d: int = 8,
    apart: float = 1.5,
    seed: int = 0,
) -> tuple[Documents, Gold, Documents, Gold]:
    """Two classes that one feature of d tells apart, and independent sources; as many to test as to train."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, 2 * n)
    x = rng.normal(size=(2 * n, d))
    x[:, 0] += apart * (2 * gold - 1)
    votes = np.full((2 * n, len(accuracy)), -1)
    for j, (correct, voting) in enumerate(zip(accuracy, coverage, strict=True)):
        votes[:, j] = np.where(
            rng.random(2 * n) < voting, np.where(rng.random(2 * n) < correct, gold, 1 - gold), -1
        )
    documents = Documents(
        Corpus.from_texts([f"text {i}" for i in range(2 * n)]),
        Votes.from_array(votes, classes=["no", "yes"]),
        Features.from_array(x.astype(np.float32)),
    )
    train, test = np.arange(n), np.arange(n, 2 * n)
    return documents.take(train), gold[train], documents.take(test), gold[test]


def test_bert_mlp_on_denoised_labels_beats_majority_ones() -> None:
    """Two sources vote everywhere and often disagree: a third, on a few documents, tells which is right."""
    train, gold, test, truth = noisy_sources((0.95, 0.55, 0.9), (1.0, 1.0, 0.3), seed=1)
    data, paper = TrainingData(train), PaperSettings(epochs=150)
    before, (after, _) = majority_labels(data), denoised_labels(data, paper)
    assert (after == gold).mean() > (before == gold).mean() + 0.1
    clean = replace(denoised(), settings=paper).fit(data).predict_proba(test)
    assert right(clean, truth) > right(majority().fit(data).predict_proba(test), truth) + 0.05


def test_the_gold_epoch_of_the_shared_classifier() -> None:
    """Three labels in ten are wrong: the last epoch has learnt them by heart, an early one has not."""
    system = Mlp(epochs=60, hidden=64, learning_rate=0.01, batch_size=32, fewest_steps=0)
    system = replace(system, weight_decay=0.0)
    gained = []
    for seed in range(3):
        train, gold, rest, truth = noisy_sources((0.9,), (1.0,), n=1000, d=20, seed=seed)
        few = np.arange(150)
        wrong = np.random.default_rng(seed).random(150) < 0.3
        targets = hard_targets(np.where(wrong, 1 - gold[:150], gold[:150]), 2)
        valid, test = (rest.take(np.arange(300)), truth[:300]), rest.take(np.arange(300, 1000))
        features = train.features.take(few)
        last = system.fit(features, targets)
        best = system.fit(features, targets, valid=valid)
        assert best.kept_epoch < 30
        gained.append(
            right(best.predict_proba(test), truth[300:])
            - right(last.predict_proba(test), truth[300:])
        )
    assert np.mean(gained) > 0.03


def seeds_of(n: int, seed: int = 0) -> TrainingData:
    """Texts, and two seed words for each class; the votes are not used."""
    task = planted_task(n=n, seed=seed)
    return TrainingData(task.train, keywords=tuple(words[:2] for words in task.keywords))


WEST = WeSTClass(
    beta=100,
    gamma=3,
    expand=0,
    alpha=0.6,
    pretrain_epochs=3,
    rounds=8,
    learning_rate=0.01,
    window=3,
    delta=0.0,
)


def test_self_training_of_westclass() -> None:
    task, data = planted_task(), seeds_of(400)
    whole = right(WEST.fit(data).predict_proba(task.test), task.test_gold)
    without = replace(WEST, self_train=False).fit(data).predict_proba(task.test)
    assert whole > right(without, task.test_gold) + 0.1


def test_sharpening_of_westclass(monkeypatch: pytest.MonkeyPatch) -> None:
    task, data = planted_task(), seeds_of(400)
    whole = right(WEST.fit(data).predict_proba(task.test), task.test_gold)

    def blunt(predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(predictions, np.float64)

    monkeypatch.setattr(westclass, "sharpened", blunt)
    assert whole > right(WEST.fit(data).predict_proba(task.test), task.test_gold) + 0.2


def test_the_gold_round_of_westclass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Self-training that goes astray (each round unlearns) is left at the round that was best."""
    task, data = planted_task(), seeds_of(400)

    def astray(predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.tile([0.8, 0.2], (len(predictions), 1))

    monkeypatch.setattr(westclass, "sharpened", astray)
    last = WEST.fit(data).predict_proba(task.test)
    best = WEST.fit(replace(data, valid=(task.valid, task.valid_gold))).predict_proba(task.test)
    assert right(best, task.test_gold) > right(last, task.test_gold) + 0.1


def test_the_language_model_of_ulmfit() -> None:
    """Twelve labelled texts of 400: what words belong together must come from reading all of them."""
    rng = np.random.default_rng(1)
    words = [[f"{topic}{chr(97 + i)}" for i in range(20)] for topic in ("alpha", "beta")]

    def text(label: int) -> str:
        of = [label if rng.random() > 0.15 else 1 - label for _ in range(12)]
        return " ".join(words[c][rng.integers(20)] for c in of)

    gold, truth = rng.integers(0, 2, 400), rng.integers(0, 2, 200)
    train = texts_alone([text(c) for c in gold], np.where(np.arange(400) < 12, gold, -1))
    test = texts_alone([text(c) for c in truth], np.full(200, -1))
    reading = LanguageTraining(epochs=12, streams=8, steps=12, learning_rate=0.03, extra_words=0)
    system = replace(SMALL, language=reading, epochs=20, batch_size=6, learning_rate=0.01)
    whole = right(system.fit(TrainingData(train)).predict_proba(test), truth)
    unread = replace(system, language=replace(reading, epochs=1, tokens=1))
    assert whole > right(unread.fit(TrainingData(train)).predict_proba(test), truth) + 0.1


def test_the_gold_epoch_of_ulmfit() -> None:
    """All labels are wrong: the longer it learns the worse it is, and validation labels stop it early."""
    task = planted_task(n=200)
    data = TrainingData(task.train, clean=1 - task.gold)
    system = replace(SMALL, language=LanguageTraining(epochs=2, streams=8, steps=12), epochs=10)
    last = system.fit(data).predict_proba(task.test)
    best = system.fit(replace(data, valid=(task.valid, task.valid_gold))).predict_proba(task.test)
    assert right(best, task.test_gold) > right(last, task.test_gold) + 0.15


SMALL = ULMFiT(vector_size=16, hidden=(24,), batch_size=16, head=16, learning_rate=0.03)


def texts_alone(texts: list[str], votes: Gold) -> Documents:
    """Documents of which the texts tell everything, and the one source's votes some."""
    features = Features.from_array(np.zeros((len(texts), 1), np.float32))
    cast = Votes.from_array(votes[:, None], classes=["alpha", "beta"])
    return Documents(Corpus.from_texts(texts), cast, features)


def test_the_teacher_answers_and_not_the_student(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large steps on few documents at a time: the student jumps about, its average does not."""
    mlp = Mlp(hidden=8, epochs=4, learning_rate=0.05, batch_size=4, fewest_steps=0)
    system = MeanTeacher(replace(mlp, weight_decay=0.0), consistency=0.0, decay=0.99, noise=0.1)
    schools: list[School] = []

    class Watched(School):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            schools.append(self)

    monkeypatch.setattr(mean_teacher, "School", Watched)
    gained = []
    for seed in range(3):
        train, _, test, truth = noisy_sources((0.7,), (1.0,), n=600, d=20, seed=seed)
        fitted = system.fit(TrainingData(train))
        student = FittedMlp(schools[-1].student, fitted.centre, fitted.scale)
        answers = right(fitted.predict_proba(test), truth)
        gained.append(answers - right(student.predict_proba(test), truth))
    assert np.mean(gained) > 0.08


def test_the_joint_answer_of_implyloss() -> None:
    """Texts tell little and rules much: the classifier alone is poor, with the rules that hold it is good."""
    train, _, test, truth = noisy_sources((0.9, 0.9, 0.85), (0.5, 0.5, 0.5), apart=0.4)
    fitted = ImplyLoss().fit(TrainingData(train))
    with computing():
        x = scaled(test.features, fitted.centre, fitted.scale)
        alone = torch.softmax(classifier_logits(fitted.network.parts(), x), 1).numpy()
    joint = right(fitted.predict_proba(test), truth)
    assert joint > right(alone.astype(np.float64), truth) + 0.15


def test_reweighting_of_neuralqpp(monkeypatch: pytest.MonkeyPatch) -> None:
    """One source is mostly wrong and votes most: boosting drops it, equal weights never do."""
    train, _, test, truth = noisy_sources((0.9, 0.8, 0.8, 0.2), (0.4, 0.4, 0.4, 0.7), apart=1.2)
    data = TrainingData(train)
    fitted = NeuralQPP().fit(data)
    whole = right(fitted.predict_proba(test), truth)
    assert fitted.alphas[-1][3] == 0
    assert whole > right(NeuralQPP(rounds=1).fit(data).predict_proba(test), truth) + 0.15

    def equal(errors: NDArray[np.float64], votes: Votes) -> NDArray[np.float64]:
        return np.ones(votes.k)

    monkeypatch.setattr(neuralqpp, "_weights", equal)
    assert whole > right(NeuralQPP().fit(data).predict_proba(test), truth) + 0.15
