"""Snorkel: our label model and the package's, before the same classifier."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from lab.tests.peers.planted_task import planted_task, same_twice, selected, trained

from unruly.errors import InputError, SettingsError
from unruly.votes.votes import Votes
from unruly_lab.peers.bert_mlp import Mlp
from unruly_lab.peers.labels import share
from unruly_lab.peers.snorkel import SnorkelPipeline, own, package, snorkel_labels
from unruly_lab.peers.systems import Documents

QUICK = Mlp(hidden=16, epochs=5, fewest_steps=60)


@pytest.mark.parametrize("m", [2, 3])
def test_our_label_model_beats_chance(m: int) -> None:
    task = planted_task(m=m)
    assert task.accuracy(own()) > 1 / m + 0.25
    assert own().fit(task.data).gold_used == ()


def test_targets_are_soft_labels_of_covered_documents() -> None:
    task = planted_task()
    targets = own().targets(task.data)
    covered = task.train.votes.covered
    assert np.allclose(targets[covered].sum(axis=1), 1, atol=1e-6)
    assert not targets[~covered].any()
    assert ((targets[covered].max(axis=1) > 0.5) & (targets[covered].max(axis=1) < 1)).mean() > 0.9


def test_a_prior_moves_the_labels_and_clean_ones_are_taken() -> None:
    task = planted_task()
    clean = share(task.gold, 0.25, seed=0)
    even, skew = (own().targets(replace(task.data, prior=p)) for p in (None, (0.9, 0.1)))
    assert skew[:, 0].sum() > even[:, 0].sum() + 10
    data = replace(task.data, clean=clean, valid=(task.valid, task.valid_gold))
    system = SnorkelPipeline("own", QUICK)
    assert same_twice(system, task, data)
    assert system.fit(data).gold_used == (
        trained(100),
        selected(200),
    )


def test_the_package_beats_chance_and_agrees_with_ours() -> None:
    task = planted_task()
    before = random.getstate(), torch.get_rng_state()
    assert task.accuracy(SnorkelPipeline("package", QUICK)) > 0.75
    assert package() == SnorkelPipeline("package")
    covered = task.train.votes.covered
    theirs = package().targets(task.data)[covered].argmax(axis=1)
    ours = own().targets(task.data)[covered].argmax(axis=1)
    assert (theirs == ours).mean() > 0.85
    assert random.getstate() == before[0]  # the package seeds everything; it is put back
    assert torch.equal(torch.get_rng_state(), before[1])


def test_the_package_is_repeatable_takes_a_prior_and_ignores_silent_sources() -> None:
    votes = planted_task().train.votes
    first, again = (snorkel_labels(votes, None, seed=3) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert snorkel_labels(votes, (0.9, 0.1), 3)[:, 0].mean() > first[:, 0].mean()
    silent = np.full((votes.n, 1), -1, dtype=np.int8)
    more = Votes.from_array(
        np.hstack([votes.matrix, silent]), classes=votes.classes, sources=[*votes.sources, "silent"]
    )
    assert np.array_equal(snorkel_labels(more, None, seed=3), first)


def test_too_few_sources_are_refused() -> None:
    task = planted_task()
    votes = task.train.votes
    two = Votes.from_array(votes.matrix[:, [0, -1]], classes=votes.classes)
    data = replace(task.data, documents=Documents(task.train.corpus, two, task.train.features))
    with pytest.raises(InputError, match="needs three sources that vote, and there are 2"):
        own().fit(data)
    with pytest.raises(InputError, match="needs three sources that vote, and there are 2"):
        package().fit(data)


def test_a_wrong_prior_is_refused() -> None:
    votes = planted_task().train.votes
    with pytest.raises(SettingsError, match="3 numbers for 2 classes"):
        snorkel_labels(votes, (0.5, 0.3, 0.2), seed=0)
