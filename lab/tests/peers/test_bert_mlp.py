"""The shared classifier: it learns, it is repeatable, and it says when it used gold.

BERT-MLP on majority votes, on denoised labels and on true ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lab.tests.peers.planted_task import planted_task, right, same_twice, selected, trained

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Block, Features
from unruly.settings import PaperSettings
from unruly_lab.peers.bert_mlp import BertMlp, Mlp, denoised, majority, supervised
from unruly_lab.peers.labels import hard_targets, majority_labels, share
from unruly_lab.peers.systems import Documents

QUICK = Mlp(hidden=16, epochs=5, fewest_steps=60)


def test_it_learns_from_true_labels_and_counts_its_weights() -> None:
    task = planted_task(m=3)
    fitted = Mlp().fit(task.train.features, hard_targets(task.gold, 3), seed=0)
    assert right(fitted.predict_proba(task.test), task.test_gold) > 0.75  # chance is 1/3
    assert fitted.parameters == 24 * 128 + 128 + 128 * 3 + 3
    assert fitted.gold_used == ()
    assert np.allclose(fitted.proba(task.test.features).sum(axis=1), 1, atol=1e-6)


def test_the_same_seed_gives_the_same_bytes_and_another_gives_others() -> None:
    task = planted_task()
    targets = hard_targets(task.gold, 2)
    first, again, other = (
        QUICK.fit(task.train.features, targets, seed=seed).proba(task.test.features)
        for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_documents_without_label_or_weight_are_not_learnt_from() -> None:
    task = planted_task()
    targets = hard_targets(task.gold, 2)
    known = np.arange(task.train.n) % 2 == 0
    by_target = QUICK.fit(task.train.features, targets * known[:, None], seed=0)
    by_weight = QUICK.fit(task.train.features, targets, known.astype(np.float32), seed=0)
    wrong = np.where(known[:, None], targets, 1 - targets)
    lied_to = QUICK.fit(task.train.features, wrong, known.astype(np.float32), seed=0)
    said = [fit.proba(task.test.features).tobytes() for fit in (by_target, by_weight, lied_to)]
    assert said[0] == said[1] == said[2]


def test_weights_count_documents() -> None:
    """A document of weight two pulls as two copies do: the batch is whole, so the sums are the same."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 6)).astype(np.float32)
    x = np.concatenate([x, -x])  # centred and scaled alike, with or without the copies
    labels = np.concatenate([rng.integers(0, 2, 40), rng.integers(0, 2, 40)])
    targets = hard_targets(labels, 2)
    whole = Mlp(hidden=8, epochs=30, fewest_steps=1, batch_size=1000)
    twice = np.full(80, 2.0)
    once = whole.fit(Features.from_array(x), targets, seed=0).proba(Features.from_array(x))
    heavy = whole.fit(Features.from_array(x), targets, twice, seed=0).proba(Features.from_array(x))
    assert np.allclose(once, heavy, atol=1e-5)  # the loss is a mean: a common factor is nothing
    uneven = whole.fit(Features.from_array(x), targets, 1.0 + 9 * labels, seed=0)
    assert uneven.proba(Features.from_array(x))[:, 1].mean() > once[:, 1].mean()


def test_scale_and_offset_of_features_do_not_matter() -> None:
    task = planted_task()
    targets = hard_targets(task.gold, 2)

    def moved(features: Features) -> Features:
        return Features((Block("moved", features.matrix() * 64 + 8),))

    plain = QUICK.fit(task.train.features, targets, seed=0).proba(task.test.features)
    other = QUICK.fit(moved(task.train.features), targets, seed=0).proba(moved(task.test.features))
    assert np.allclose(plain, other, atol=1e-3)


def test_with_validation_labels_the_best_epoch_is_kept_and_said_so() -> None:
    """An epoch of a long run is the last of a shorter one: the kept one is the best of all of them."""
    task = planted_task()
    noisy = np.where(np.random.default_rng(0).random(task.train.n) < 0.3, 1 - task.gold, task.gold)
    targets, valid = hard_targets(noisy, 2), (task.valid, task.valid_gold)
    system = Mlp(epochs=12, learning_rate=0.01, batch_size=32, fewest_steps=0)
    scores = []
    for epochs in range(1, 13):
        shorter = replace(system, epochs=epochs).fit(task.train.features, targets, seed=0)
        scores.append(right(shorter.proba(task.valid.features), task.valid_gold))
    best = system.fit(task.train.features, targets, seed=0, valid=valid)
    assert best.gold_used == (selected(200),)
    assert best.kept_epoch == 1 + int(np.argmax(scores))
    assert right(best.proba(task.valid.features), task.valid_gold) == max(scores) > scores[-1]


def test_small_corpora_get_more_epochs() -> None:
    assert Mlp(epochs=20, batch_size=256, fewest_steps=400).passes(1000) == 100
    assert Mlp(epochs=20, batch_size=256, fewest_steps=400).passes(100_000) == 20


def test_nonsense_is_refused() -> None:
    for wrong in ({"hidden": 0}, {"epochs": 0}, {"learning_rate": 0.0}, {"weight_decay": -1.0}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            Mlp(**wrong)
    task = planted_task()
    features, targets = task.train.features, hard_targets(task.gold, 2)
    with pytest.raises(InputError, match="no document has a label"):
        QUICK.fit(features, np.zeros_like(targets))
    with pytest.raises(InputError, match="targets must be a matrix of 400 documents"):
        QUICK.fit(features, targets[:10])
    with pytest.raises(InputError, match="none negative or NaN"):
        QUICK.fit(features, targets * np.nan)
    with pytest.raises(InputError, match="weights must be 400 numbers"):
        QUICK.fit(features, targets, np.ones(3))
    with pytest.raises(InputError, match="none of the validation documents"):
        QUICK.fit(features, targets, valid=(task.train, np.full(features.n, -1)))
    with pytest.raises(InputError, match="trained on 24 features for each document, not 3"):
        QUICK.fit(features, targets).proba(Features.from_array(np.ones((2, 3), np.float32)))


PAPER = replace(PaperSettings(), epochs=60)


@pytest.mark.parametrize("m", [2, 3])
def test_majority_and_denoised_labels_beat_chance(m: int) -> None:
    task = planted_task(m=m)
    assert denoised() == BertMlp("denoised", Mlp(), PaperSettings())
    for system in (majority(), replace(denoised(), settings=replace(PAPER, epochs=150))):
        fitted = system.fit(task.data)
        assert right(fitted.predict_proba(task.test), task.test_gold) > 1 / m + 0.2
        assert fitted.gold_used == ()


def test_true_labels_are_the_best_lesson() -> None:
    task = planted_task()
    taught = task.accuracy(supervised(), replace(task.data, clean=task.gold))
    assert taught > 0.85
    assert taught > task.accuracy(majority())


def test_majority_is_the_shared_classifier_on_majority_votes() -> None:
    task = planted_task()
    targets = hard_targets(majority_labels(task.data), 2)
    plain = QUICK.fit(task.train.features, targets, seed=0).predict_proba(task.test)
    assert np.array_equal(BertMlp(mlp=QUICK).fit(task.data).predict_proba(task.test), plain)


@pytest.mark.parametrize("labels", ["majority", "denoised", "true"])
def test_it_is_repeatable_and_the_ledger_is_complete(labels: str) -> None:
    task = planted_task()
    system = BertMlp(labels, QUICK, PAPER)  # type: ignore[arg-type]
    clean = share(task.gold, 0.25, seed=0)
    data = replace(task.data, clean=clean, valid=(task.valid, task.valid_gold))
    assert same_twice(system, task, data)
    assert system.fit(data).gold_used == (
        trained(100),
        selected(200),
    )
    assert system.fit(replace(data, valid=None)).gold_used == (trained(100),)


def test_clean_labels_help() -> None:
    task = planted_task()
    wrong = Documents(
        task.train.corpus,
        replace(task.train.votes, matrix=np.where(task.train.votes.voted, 1, -1).astype(np.int8)),
        task.train.features,
    )
    data = replace(task.data, documents=wrong)
    lost = BertMlp(mlp=QUICK).fit(data).predict_proba(task.test)
    helped = BertMlp(mlp=QUICK).fit(replace(data, clean=task.gold)).predict_proba(task.test)
    assert right(helped, task.test_gold) > right(lost, task.test_gold) + 0.2


def test_no_true_labels_no_supervision() -> None:
    with pytest.raises(InputError, match="give clean labels"):
        supervised().fit(planted_task().data)
