"""ULMFiT on planted documents: labels, unfreezing, pre-trained weights, gold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lab.tests.peers.planted_task import (
    planted_task,
    right,
    same_bits_whatever_torch_drew_before,
    selected,
    trained,
)

from unruly.errors import InputError, SettingsError
from unruly.learner import Gold
from unruly.progress import SILENT
from unruly.settings import PaperSettings
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.peers.language_model import LanguageTraining
from unruly_lab.peers.networks import BestEpoch, computing
from unruly_lab.peers.systems import Documents, TrainingData, entry
from unruly_lab.peers.ulmfit import (
    FittedULMFiT,
    PooledClassifier,
    ULMFiT,
    _FineTuning,
    denoised,
    pretrain,
)
from unruly_lab.peers.vocabulary import Vocabulary

LANGUAGE = LanguageTraining(epochs=3, streams=8, steps=12)
SMALL = ULMFiT(
    vector_size=24,
    hidden=(32,),
    language=LANGUAGE,
    epochs=10,
    batch_size=16,
    head=16,
    learning_rate=0.03,
)
TINY = replace(SMALL, vector_size=8, hidden=(8,), epochs=4, language=replace(LANGUAGE, epochs=1))


@pytest.mark.parametrize(("n", "m", "bar"), [(200, 2, 0.75), (300, 3, 0.55)])
def test_it_learns_without_any_gold(n: int, m: int, bar: float) -> None:
    task = planted_task(n=n, m=m)
    fitted = SMALL.fit(TrainingData(task.train))
    assert fitted.gold_used == ()
    assert right(fitted.predict_proba(task.test), task.test_gold) > bar


def test_denoised_labels_teach_too_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    task = planted_task(n=200)
    system = replace(SMALL, labels="denoised", settings=replace(PaperSettings(), epochs=60))
    assert task.accuracy(system, TrainingData(task.train)) > 0.75

    def inverted(*given: Any) -> tuple[Gold, tuple[()]]:
        return 1 - task.gold, ()

    monkeypatch.setattr("unruly_lab.peers.ulmfit.denoised_labels", inverted)
    assert task.accuracy(system, TrainingData(task.train)) < 0.35


def test_the_same_lesson_gives_the_same_bits_whatever_torch_drew_before() -> None:
    same_bits_whatever_torch_drew_before(TINY)


def test_an_answer_does_not_depend_on_the_documents_beside_it() -> None:
    task = planted_task(n=100)
    fitted = TINY.fit(task.data)
    whole = fitted.predict_proba(task.test)
    alone = fitted.predict_proba(task.test.take(np.array([3])))
    assert np.allclose(whole[3], alone[0], atol=1e-6)


def test_clean_labels_teach_in_place_of_votes() -> None:
    task = planted_task(n=200)
    assert task.accuracy(SMALL, TrainingData(task.train, clean=1 - task.gold)) < 0.35


def test_every_use_of_true_labels_is_declared() -> None:
    task = planted_task(n=100)
    clean = np.where(np.arange(100) < 30, task.gold, -1)
    data = TrainingData(task.train, clean=clean, valid=(task.valid, task.valid_gold))
    assert TINY.fit(data).gold_used == (
        trained(30),
        selected(50),
    )
    few = replace(TINY, labels="denoised", settings=replace(PaperSettings(), epochs=5))
    assert few.fit(data).gold_used == TINY.fit(data).gold_used


def test_clean_labels_alone_suffice() -> None:
    task = planted_task(n=200)
    silent = Votes(
        np.full_like(task.train.votes.matrix, -1),
        task.train.votes.sources,
        task.train.votes.classes,
        task.train.votes.ids,
    )
    documents = Documents(task.train.corpus, silent, task.train.features)
    assert task.accuracy(SMALL, TrainingData(documents, clean=task.gold)) > 0.75
    with pytest.raises(InputError, match="no document has a label"):
        TINY.fit(TrainingData(documents))


def test_layers_are_unfrozen_one_by_one_from_the_head_down() -> None:
    task = planted_task(n=100)
    lists = [text.split() for text in task.train.corpus.texts]
    vocabulary = Vocabulary.learn(lists)
    corpus, g = vocabulary.encode(lists), torch.Generator().manual_seed(0)
    labels = task.gold
    for epochs in range(1, 5):
        with computing():
            body = TINY._language_model(
                corpus, vocabulary, torch.Generator().manual_seed(0), SILENT
            )
            network = PooledClassifier(body, 2, 8, g)
            before = [[w.clone() for w in own] for own in network.groups()]
            fitted = FittedULMFiT(network, vocabulary, 20)
            best = BestEpoch(None)
            _FineTuning(replace(TINY, epochs=epochs), fitted, best, g).run(corpus, labels, SILENT)
        moved = [
            any(not torch.equal(a, b) for a, b in zip(old, own, strict=True))
            for old, own in zip(before, network.groups(), strict=True)
        ]
        assert moved == [i >= 4 - epochs for i in range(4)]


def test_layers_further_down_move_by_smaller_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rates that the optimiser is given in the last stage: each 2.6 times the one below."""
    task, seen = planted_task(n=60), []
    step = _FineTuning._step

    def watched(self: _FineTuning, optimizer: torch.optim.Optimizer, *given: Any) -> float:
        seen.append([own["lr"] for own in optimizer.param_groups])
        return step(self, optimizer, *given)

    monkeypatch.setattr(_FineTuning, "_step", watched)
    TINY.fit(TrainingData(task.train))
    last = np.array(seen[-1])
    assert len(last) == 4
    np.testing.assert_allclose(last[1:] / last[:-1], TINY.decay)


def test_pre_trained_weights_are_taken_from_a_folder(tmp_path: Path) -> None:
    task = planted_task(n=100)
    folder = tmp_path / "english"
    pretrain(task.valid.corpus.texts.to_list(), folder, TINY)
    from_scratch = TINY.fit(task.data)
    system = replace(TINY, pretrained=folder, vector_size=99)  # sizes are the file's
    fitted = system.fit(task.data)
    assert fitted.network.body.embedding.shape[1] == 8
    assert not np.array_equal(
        fitted.predict_proba(task.test), from_scratch.predict_proba(task.test)
    )
    with pytest.raises(InputError, match="not a saved language model"):
        replace(system, pretrained=tmp_path / "nowhere").fit(task.data)


def test_empty_texts_get_an_answer_and_only_empty_texts_are_refused() -> None:
    task = planted_task(n=100)
    none = Documents(
        Corpus.from_texts(["", "..."]),
        Votes.from_array([[0], [1]], classes=("music", "spam")),
        task.test.features.take(np.array([0, 1])),
    )
    assert np.allclose(TINY.fit(task.data).predict_proba(none).sum(axis=1), 1)
    with pytest.raises(InputError, match="none of the texts has a word"):
        TINY.fit(TrainingData(none))


def test_the_budget_of_words_bounds_epochs_and_documents() -> None:
    system = replace(TINY, epochs=50, least_epochs=5, classifier_tokens=5000)
    tuning = _FineTuning(system, None, None, None)  # type: ignore[arg-type]
    assert tuning.plan(np.full(1000, 10)) == (5, 100)
    assert tuning.plan(np.full(50, 10)) == (10, 50)
    assert tuning.plan(np.full(5, 10)) == (50, 5)
    assert LanguageTraining(tokens=10_000, streams=10, steps=10).plan(10**6) == (10, 100)


def test_stages_open_one_layer_an_epoch() -> None:
    tuning = _FineTuning(TINY, None, None, None)  # type: ignore[arg-type]
    assert tuning.stages(4, 10) == [(1, 1), (2, 1), (3, 1), (4, 7)]
    assert tuning.stages(4, 2) == [(1, 1), (2, 1)]
    at_once = _FineTuning(replace(TINY, unfreeze=False), None, None, None)  # type: ignore[arg-type]
    assert at_once.stages(4, 10) == [(4, 10)]


def test_the_registry_builds_both_and_nonsense_is_refused() -> None:
    assert entry("ulmfit").build() == ULMFiT()
    assert entry("ulmfit-denoised").build() == denoised() == ULMFiT(labels="denoised")
    with pytest.raises(SettingsError, match="epochs = 0"):
        ULMFiT(epochs=0)
