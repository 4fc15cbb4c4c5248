"""The labels that supervised models get."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.tests.peers.planted_task import planted_task, trained

from unruly.errors import InputError
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes
from unruly_lab.peers.labels import (
    clean_used,
    denoised_labels,
    hard_targets,
    majority_labels,
    share,
    true_labels,
    with_clean,
)
from unruly_lab.peers.systems import Documents, TrainingData

PAPER = replace(PaperSettings(), epochs=60)


@given(st.lists(st.integers(-1, 3), max_size=30))
def test_targets_are_one_hot_or_empty(labels: list[int]) -> None:
    targets = hard_targets(np.array(labels, dtype=np.int64), 4)
    assert targets.shape == (len(labels), 4)
    for label, row in zip(labels, targets, strict=True):
        assert row.sum() == (label >= 0)
        assert label < 0 or row[label] == 1


def test_majority_labels_are_the_winners_and_ties_follow_the_seed() -> None:
    task = planted_task()
    counts = task.train.votes.counts()
    labels = majority_labels(task.data)
    assert ((labels < 0) == ~task.train.votes.covered).all()
    covered = np.flatnonzero(labels >= 0)
    assert (counts[covered, labels[covered]] == counts[covered].max(axis=1)).all()
    tied = (counts[:, 0] == counts[:, 1]) & task.train.votes.covered
    other = majority_labels(replace(task.data, seed=1))
    assert tied.sum() > 10
    assert np.array_equal(labels[~tied], other[~tied])
    assert not np.array_equal(labels[tied], other[tied])


def test_a_source_that_never_votes_changes_nothing() -> None:
    task = planted_task()
    votes = task.train.votes
    silent = np.full((votes.n, 1), -1, dtype=np.int8)
    more = Votes.from_array(
        np.hstack([votes.matrix, silent]),
        classes=votes.classes,
        sources=[*votes.sources, "silent"],
    )
    wider = TrainingData(Documents(task.train.corpus, more, task.train.features))
    assert np.array_equal(majority_labels(task.data), majority_labels(wider))
    assert np.array_equal(denoised_labels(task.data, PAPER)[0], denoised_labels(wider, PAPER)[0])


def test_clean_labels_stand_in_place_of_weak_ones() -> None:
    task = planted_task()
    clean = share(task.gold, 0.2, seed=0)
    data = replace(task.data, clean=clean)
    known = clean >= 0
    assert np.array_equal(majority_labels(data)[known], task.gold[known])
    assert np.array_equal(majority_labels(data)[~known], majority_labels(task.data)[~known])
    labels, used = denoised_labels(data, PAPER)
    assert np.array_equal(labels[known], task.gold[known])
    assert used == clean_used(data) == (trained(80),)
    assert np.array_equal(true_labels(data), clean)
    soft = with_clean(np.full((400, 2), 0.5, np.float32), data)
    assert (soft[known].max(axis=1) == 1).all()
    assert (soft[~known] == 0.5).all()


def test_denoising_labels_every_document_and_is_righter_than_majority() -> None:
    task = planted_task()
    labels, used = denoised_labels(task.data, replace(PAPER, epochs=200))
    assert used == ()
    assert (labels >= 0).all()
    majority = majority_labels(task.data)
    assert (labels == task.gold).mean() > (majority == task.gold).mean()


def test_a_supervised_model_without_true_labels_is_refused() -> None:
    with pytest.raises(InputError, match="there are none: give clean labels"):
        true_labels(planted_task().data)
    assert clean_used(planted_task().data) == ()
