"""Mean teacher: weight averaging, ramp-up and consistency."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lab.tests.peers.planted_task import planted_task, same_twice, selected, trained

from unruly.errors import InputError, SettingsError
from unruly_lab.peers.bert_mlp import Mlp
from unruly_lab.peers.labels import share
from unruly_lab.peers.mean_teacher import MeanTeacher, School, follow

QUICK = Mlp(hidden=16, epochs=5, fewest_steps=60)


@pytest.mark.parametrize("m", [2, 3])
def test_it_beats_chance(m: int) -> None:
    task = planted_task(m=m)
    assert task.accuracy(MeanTeacher()) > 1 / m + 0.25
    assert MeanTeacher(QUICK).fit(task.data).gold_used == ()


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_the_teacher_is_the_average_that_the_formula_says(past: list[float], decay: float) -> None:
    teacher, expected = torch.zeros(1, dtype=torch.float64), 0.0
    for t, student in enumerate(past, start=1):
        follow(teacher, torch.tensor([student], dtype=torch.float64), t, decay)
        a = min(1 - 1 / (t + 1), decay)
        expected = a * expected + (1 - a) * student
    assert teacher.item() == pytest.approx(expected)
    early = [0.0, *past]
    if len(past) < 1 / (1 - decay) - 1:  # until decay takes over, a plain mean
        assert teacher.item() == pytest.approx(sum(early) / len(early))


def test_consistency_ramps_up_as_the_paper_has_it() -> None:
    how = MeanTeacher(consistency=8.0, ramp_up=0.5)
    weights = [how.weight(t, 100) for t in range(101)]
    assert weights[0] == pytest.approx(8 * 0.006737947)  # exp(-5)
    assert all(a <= b for a, b in pairwise(weights))
    assert weights[50:] == [8.0] * 51


def school(consistency: float, noise: float = 0.0) -> School:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(30, 4, generator=generator)
    targets = torch.zeros(30, 2)
    targets[:10, 0] = 1
    how = MeanTeacher(QUICK, consistency=consistency, noise=noise, dropout=noise)
    return School(how, x, targets, seed=0)


def test_one_step_descends_the_loss_of_the_paper() -> None:
    """The written formula, by torch's own autograd and Adam, moves the student to the same place."""
    here = school(consistency=3.0)
    here.teacher.flat.mul_(1.5)  # apart from the student, so that consistency pulls
    taught = (here.x @ here.teacher.parts()[0] + here.teacher.parts()[1]).relu()
    taught = (taught @ here.teacher.parts()[2] + here.teacher.parts()[3]).softmax(1)
    w1, b1, w2, b2 = weights = [p.clone().requires_grad_() for p in here.student.parts()]
    adam = torch.optim.Adam(weights, lr=QUICK.learning_rate, weight_decay=QUICK.weight_decay)
    logits = (here.x @ w1 + b1).relu() @ w2 + b2
    loss = -(here.targets * logits.log_softmax(1)).sum() / 10
    loss = loss + 3.0 * (logits.softmax(1) - taught).square().mean()
    loss.backward()  # type: ignore[no-untyped-call]
    adam.step()
    with torch.no_grad():
        here.step(torch.arange(30), weight=3.0)
    for mine, its in zip(here.student.parts(), weights, strict=True):
        assert torch.allclose(mine, its.detach(), atol=1e-5)


def test_a_student_that_agrees_with_its_teacher_feels_no_consistency() -> None:
    alone, taught = school(0.0), school(50.0)
    before = alone.student.flat.clone()
    with torch.no_grad():
        for s, weight in ((alone, 0.0), (taught, 50.0)):
            s.step(torch.arange(30), weight)  # without noise both networks say the same
    assert (alone.student.flat - before).abs().max() > 1e-4
    assert torch.allclose(alone.student.flat, taught.student.flat, atol=1e-6)


def test_noise_is_unbiased_and_leaves_features_out() -> None:
    here = school(1.0, noise=0.25)
    shaken = torch.stack([here.noisy(torch.ones(200, 50)) for _ in range(20)])
    assert shaken.mean().item() == pytest.approx(1, abs=0.02)
    assert (shaken == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


def test_clean_labels_teach_in_place_of_votes() -> None:
    task = planted_task()
    assert task.accuracy(MeanTeacher(), replace(task.data, clean=1 - task.gold)) < 0.35


def test_it_is_repeatable_and_the_ledger_is_complete() -> None:
    task = planted_task()
    data = replace(
        task.data, clean=share(task.gold, 0.25, seed=0), valid=(task.valid, task.valid_gold)
    )
    assert same_twice(MeanTeacher(QUICK), task, data)
    assert MeanTeacher(QUICK).fit(data).gold_used == (
        trained(100),
        selected(200),
    )


def test_nonsense_is_refused() -> None:
    for wrong in ({"decay": 1.0}, {"dropout": 1.0}, {"ramp_up": -0.1}, {"noise": -1.0}):
        with pytest.raises(SettingsError, match=next(iter(wrong))):
            MeanTeacher(**wrong)  # type: ignore[arg-type]


def test_without_any_vote_it_refuses() -> None:
    task = planted_task()
    nothing = task.train.take((~task.train.votes.covered).nonzero()[0])
    with pytest.raises(InputError, match="no document has a label"):
        MeanTeacher().fit(replace(task.data, documents=nothing))
