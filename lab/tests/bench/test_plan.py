"""What is run, in which order, with which hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab.tests.bench.handmade import SIZES, outcome, write_tiny

from unruly.errors import InputError
from unruly.model.weak_classifier import WeakClassifier
from unruly_lab.bench.datasets import Folder
from unruly_lab.bench.measuring import system_for
from unruly_lab.bench.plan import QUICK, Plan
from unruly_lab.bench.runs import AUTO, GIVEN, Failure, Outcome, Run


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Folder, ...]:
    return tuple(Folder(write_tiny(tmp_path / name)) for name in ("one", "two"))


def test_one_seed_of_everything_comes_before_the_next(folders: tuple[Folder, ...]) -> None:
    plan = Plan(folders, methods=("majority-vote", "paper"), seeds=2, encoder="lsa")
    assert [(r.seed, r.dataset, r.method) for r in plan.runs()] == [
        (seed, dataset, method)
        for seed in (0, 1)
        for dataset in ("one", "two")
        for method in ("majority-vote", "paper")
    ]
    assert len({r.data for r in plan.runs()}) == 1  # the same files under two names


def test_methods_without_epochs_are_not_run_twice(folders: tuple[Folder, ...]) -> None:
    plan = Plan(folders[:1], methods=("default", "paper"), seeds=1, selections=("none", "gold"))
    found = [(r.method, r.selection) for r in plan.runs()]
    assert found == [("default", "none"), ("paper", "none"), ("paper", "gold")]


def test_supervised_methods_are_given_all_true_labels(folders: tuple[Folder, ...]) -> None:
    plan = Plan(folders[:1], methods=("bert-mlp", "bert-mlp-gold"), seeds=1)
    assert [r.clean for r in plan.runs()] == [None, 1.0]


def test_clean_labels_at_the_papers_shares(folders: tuple[Folder, ...]) -> None:
    plan = Plan(
        folders[:1],
        methods=("paper", "bert-mlp", "bert-mlp-gold"),
        experiments=("clean",),
        seeds=1,
        selections=("none", "gold"),
    )
    found = {(r.method, r.clean, r.selection) for r in plan.runs()}
    shares = (0.005, 0.02, 0.05, 0.2, 0.5, 1.0)
    assert found == {(m, s, "gold") for m in ("paper", "bert-mlp-gold") for s in shares}


def test_folders_with_features_and_priors(folders: tuple[Folder, ...]) -> None:
    for split, n in SIZES.items():
        np.save(folders[0].path / f"{split}_features.npy", np.zeros((n, 2)))
    plan = Plan(folders, methods=("paper",), seeds=1, priors={"two": (0.9, 0.1)}, rows=30)
    one, two = plan.runs()
    assert (one.encoder, two.encoder) == (GIVEN, "minilm")
    assert (one.prior, two.prior) == (None, (0.9, 0.1))
    assert one.rows == two.rows == 30


def test_the_default_reads_texts_as_unruly_fit_does(folders: tuple[Folder, ...]) -> None:
    for split, n in SIZES.items():
        np.save(folders[0].path / f"{split}_features.npy", np.zeros((n, 2)))
    methods = ("bert-mlp", "default")
    found = {(r.dataset, r.method): r.encoder for r in Plan(folders, methods, seeds=1).runs()}
    assert found["two", "default"] == AUTO == WeakClassifier().encoder
    assert found["two", "bert-mlp"] == "minilm"
    assert found["one", "default"] == GIVEN


def test_each_seed_draws_its_own_documents_where_a_draw_is_made(
    folders: tuple[Folder, ...],
) -> None:
    part = Plan(folders[:1], methods=("paper",), seeds=3, rows=30)
    assert [(run.seed, run.draw) for run in part.runs()] == [(0, 0), (1, 1), (2, 2)]
    assert {run.draw for run in replace(part, rows=None).runs()} == {None}


def test_keywords_are_part_of_the_runs_that_use_them(folders: tuple[Folder, ...]) -> None:
    words = {"one": (("song",), ("click",)), "two": None}
    plan = Plan(folders, methods=("westclass", "paper"), seeds=1, keywords=words)
    found = {(r.dataset, r.method): r.keywords for r in plan.runs()}
    assert found["one", "westclass"].startswith("rules ")
    assert found["two", "westclass"] == "votes"
    assert found["one", "paper"] == ""


def trials(plan: Plan, answer: Callable[[Run], Outcome | Failure]) -> list[Run]:
    """Play the runner for one search."""
    (chain,) = plan.chains()
    made = [next(chain)]
    try:
        while True:
            made.append(chain.send(answer(made[-1])))
    except StopIteration:
        return made


def test_a_search_tries_again_what_it_tried_before(folders: tuple[Folder, ...]) -> None:
    plan = Plan(folders[:1], experiments=("search",), trials=9)

    def answer(run: Run) -> Outcome:
        hidden = run.setting("hidden")
        assert isinstance(hidden, int)
        return outcome("one", "paper", 0.5, held_out_votes=-1 / hidden)

    first, second = trials(plan, answer), trials(plan, answer)
    assert first == second
    assert len(first) == len(set(first)) == 9
    assert {name for name, _ in first[0].settings} == {"c1", "c3", "hidden", "learning_rate"}


def test_a_search_ends_where_a_trial_fails(folders: tuple[Folder, ...]) -> None:
    plan = Plan(folders[:1], experiments=("search",), trials=9)
    assert len(trials(plan, lambda run: Failure(run, "no luck"))) == 1
    assert len(trials(plan, lambda run: outcome("one", "paper", 0.5))) == 1  # no votes to go by


def test_quick_is_another_run(folders: tuple[Folder, ...]) -> None:
    full, short = (
        Plan(folders[:1], methods=("paper", "default"), seeds=1, quick=quick).runs()
        for quick in (False, True)
    )
    assert full[0] != short[0]
    assert full[1] == short[1]  # the default recipe is quick enough


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


def test_the_default_keeps_its_own_settings() -> None:
    assert built(Run("agnews", "default")).settings is None


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
