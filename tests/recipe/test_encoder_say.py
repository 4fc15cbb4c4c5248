"""How much each encoder is heard: one that gets in the way is heard less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.recipe.small_task import Task, small_task

from unruly.features.encoder import Block, Features
from unruly.recipe.class_prior import HeldPrior
from unruly.recipe.encoder_say import heard_encoders
from unruly.recipe.evidence import Evidence
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.posteriors import WHOLE, Ingredients, regressions
from unruly.recipe.recipe import Recipe
from unruly.settings import Settings
from unruly.training.compute import computing

EVEN = HeldPrior(np.array([0.5, 0.5]), "uniform", False)


def beside(task: Task, signal: float) -> Features:
    """The task's features as one encoder, and beside it another that knows so much of the class."""
    rng = np.random.default_rng(3)
    wide = rng.normal(0, 1, (task.votes.n, 64))
    wide[:, 0] += signal * (task.gold - 0.5)
    good = np.concatenate([block.values for block in task.features.blocks], axis=1)
    return Features(
        (
            Block("good 1", good[:, ::2].copy(), "good"),
            Block("good 2", good[:, 1::2].copy(), "good"),
            Block("other", wide.astype(np.float32), "other"),
        )
    )


def says(
    features: Features, task: Task, parts: Ingredients = WHOLE, held: HeldPrior = EVEN
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Each encoder's say after they were heard, and the notes."""
    evidence = Evidence.of(task.votes, np.full(task.votes.n, -1))
    with computing(Settings()):
        texts = regressions(features, 2, Settings())
        notes = heard_encoders(texts, features.owners, evidence, held, Settings(), parts)
    found = dict.fromkeys(features.owners, 0.0)
    for owner, text in zip(features.owners, texts, strict=True):
        found[owner] += text.say
    assert sum(found.values()) == pytest.approx(1)
    return found, notes


def test_an_encoder_that_knows_nothing_is_hardly_heard() -> None:
    task = small_task(2000)
    found, notes = says(beside(task, 0.0), task)
    assert found["other"] < found["good"] / 3
    assert len(notes) == 1
    assert notes[0].startswith("other is heard a ")
    assert " as much as the other encoders: so text and the other" in notes[0]


def test_two_that_are_as_good_are_heard_alike() -> None:
    task = small_task(2000)
    found, notes = says(task.features, task)
    assert len(set(np.round(list(found.values()), 6))) == 1
    assert notes == ()


@pytest.mark.parametrize("few", ["documents", "encoders", "switched off", "blind"])
def test_where_nothing_can_be_told_all_are_heard_alike(few: str) -> None:
    task = small_task(600 if few == "documents" else 2000)
    features = beside(task, 0.0)
    if few == "encoders":
        features = Features(features.blocks[:2])
    parts, held = replace(WHOLE, says=few != "switched off"), replace(EVEN, blind=few == "blind")
    found, notes = says(features, task, parts, held)
    assert len(set(np.round(list(found.values()), 6))) == 1
    assert notes == ()


def test_a_useless_encoder_costs_little_and_the_model_remembers() -> None:
    task = small_task(2000, signal=0.6)
    features = beside(task, 0.0)

    def right(recipe: Recipe, given: Features) -> float:
        return float((recipe.heads(given, task.votes).predicted == task.gold).mean())

    alone = Features(features.blocks[:2])
    best = right(fit_recipe(alone, task.votes, Settings()), alone)
    heard = fit_recipe(features, task.votes, Settings())
    alike = fit_recipe(features, task.votes, Settings(), ingredients=replace(WHOLE, says=False))
    assert right(heard, features) > right(alike, features)
    assert right(heard, features) > best - 0.02
    assert any(note.startswith("other is heard") for note in heard.notes)
    again = Recipe.restore(heard.arrays(), heard.facts())
    assert [text.say for text in again.texts] == [text.say for text in heard.texts]
    np.testing.assert_array_equal(
        again.heads(features, task.votes).combined, heard.heads(features, task.votes).combined
    )


def test_encoders_in_another_order_are_heard_the_same() -> None:
    task = small_task(2000)
    features = beside(task, 0.0)
    turned = Features(features.blocks[::-1])
    assert says(features, task)[0] == pytest.approx(says(turned, task)[0])


def test_many_documents_are_judged_by_some() -> None:
    task = small_task(9000)
    found, _ = says(beside(task, 0.0), task)
    assert found["other"] < found["good"] / 3
