"""Hyper-parameters: the paper's for its data sets, and those that a run names."""

from __future__ import annotations

from typing import Any

import pytest

from unruly.bench.quick import QUICK
from unruly.bench.run import Run
from unruly.bench.tuning import system_for
from unruly.errors import InputError


def built(run: Run) -> Any:
    return system_for(run)


def test_the_papers_method_has_the_papers_values_for_its_data_sets() -> None:
    found = built(Run("agnews", "paper")).settings
    assert (found.hidden, found.learning_rate, found.c1, found.c3, found.p) == (
        256,
        0.05,
        0.1,
        0.1,
        0,
    )
    assert built(Run("youtube", "rule-only")).settings.ablation == "rule-only"
    assert built(Run("youtube", "rule-only")).settings.p == 2
    assert built(Run("spouse_bert", "bert-mlp-denoised")).settings.hidden == 256
    assert built(Run("trec", "paper")).settings.hidden == 128


def test_a_study_starts_from_the_papers_defaults() -> None:
    found = built(Run("agnews", "paper", experiment="parameters", settings=(("c1", 0.5),))).settings
    assert (found.hidden, found.learning_rate, found.c1, found.c3) == (128, 0.02, 0.5, 0.1)
    assert built(Run("imdb", "paper", experiment="search")).settings.p == 1


def test_the_default_recipe_keeps_its_own_settings() -> None:
    assert built(Run("agnews", "default")).settings.method == "default"
    assert built(Run("agnews", "default")).settings.hidden == 128


def test_a_name_may_lead_inside() -> None:
    found = built(Run("youtube", "bert-mlp", settings=(("mlp.epochs", 3), ("settings.epochs", 4))))
    assert (found.mlp.epochs, found.settings.epochs) == (3, 4)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="no hyper-parameter 'temperature'"):
        built(Run("youtube", "mean-teacher", settings=(("temperature", 1),)))


@pytest.mark.parametrize("method", QUICK)
def test_what_quick_sets_exists(method: str) -> None:
    run = Run("youtube", method, settings=QUICK[method])
    assert built(run) != built(Run("youtube", method))
