"""The tables: hand-worked figures from handmade outcomes, the paper's beside them, and what gold was for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from tests.bench.handmade import outcome, seeds

from unruly.bench.run import Matched, Noise, Outcome
from unruly.bench.tables import (
    by_matched,
    clean_labels,
    noise,
    parameter_study,
    search,
    supervised,
)
from unruly.bench.tables.accuracy_rows import cell
from unruly.bench.tables.beside_paper import conditions, difference, gold_words
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Way, cells, datasets

TABLES = (
    noise.table,
    supervised.table,
    by_matched.table,
    clean_labels.table,
    parameter_study.table,
    search.table,
)
GOLD_EPOCH = ("choice of the epoch: 196 validation documents",)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.__module__).split(".")[-1])
def test_no_table_of_nothing(table: Callable[[Sequence[Outcome]], str | None]) -> None:
    assert table([]) is None
    assert table([outcome("youtube", "dawid-skene", 0.8)]) is None


def lines_with(text: str | None, words: str) -> list[str]:
    assert text is not None
    return [line for line in text.splitlines() if words in line]


# The pieces


def test_spread_is_mean_and_sample_deviation() -> None:
    spread = Spread.of([0.80, 0.84, math.nan])
    assert spread.mean == pytest.approx(0.82)
    assert spread.deviation == pytest.approx(0.028284, abs=1e-6)
    assert spread.n == 2
    assert str(Spread.of([])) == "–"


def test_a_difference_is_told_with_its_direction() -> None:
    assert difference(92.0, 94.9) == "2.9 points below the paper's 94.9"
    assert difference(94.92, 94.9) == "the same as the paper's 94.9"


def test_cells_keep_the_runs_on_most_documents_and_the_latest_of_equals() -> None:
    few = outcome("youtube", "paper", 0.5, {"rows": 100}, documents=(100, 196, 196))
    old = outcome("youtube", "paper", 0.6, {"data": "old"})
    new = outcome("youtube", "paper", 0.7, {"data": "new"})
    found = cells([few, old, new], "main")
    assert found == {Way("paper", "none", "minilm"): {"youtube": [new]}}


def test_a_folders_own_features_stand_in_the_line_of_the_encoder() -> None:
    mixed = [
        outcome("youtube", "paper", 0.9),
        outcome("spouse_bert", "paper", 0.8, {"encoder": "given"}),
    ]
    found = cells(mixed, "main")
    assert list(found) == [Way("paper", "none", "minilm")]
    assert datasets(found) == ("youtube", "spouse_bert")


def test_conditions_are_the_papers_beside_ours() -> None:
    said = conditions([outcome("yelp", "paper", 0.8, documents=(6000, 800, 800))])
    assert "yelp 6,000 / 800 (30.4k / 3.8k)" in said
    assert "minilm here, bert-base-uncased in the paper" in said


def test_gold_use_is_told_for_every_line() -> None:
    said = gold_words(
        {
            "A": [outcome("youtube", "bert-mlp", 0.9)],
            "B": [outcome("youtube", "bert-mlp", 0.9, gold_used=GOLD_EPOCH)],
            "C": [outcome("youtube", "bert-mlp-denoised", 0.9)],
            "D": [outcome("trec", "paper", 0.9), outcome("youtube", "default", 0.9)],
            "E": [outcome("youtube", "paper", 0.9, {"experiment": "search"})],
        }
    )
    told = "nothing (A, D, E); choice of the epoch (B); the paper's hyper-parameters (C)"
    assert told in said
    assert "the paper chose epoch and hyper-parameters by gold" in said


def test_f1_of_the_poorest_class_is_shown_where_accuracy_flatters() -> None:
    assert cell([outcome("spouse", "paper", 0.92, f1=(0.96, 0.2))]) == "92.0 (F1 20.0)"
    assert cell([outcome("youtube", "paper", 0.92, f1=(0.93, 0.9))]) == "92.0"
    assert cell([outcome("trec", "paper", 0.5, f1=(0.5, math.nan))]) == "50.0"


# The tables


def test_noise_reductions_are_in_points() -> None:
    several = [
        outcome(
            "youtube",
            "paper",
            0.9,
            {"seed": seed},
            noise_before=Noise(0.20, 0.30),
            noise_after=Noise(after, 0.15),
        )
        for seed, after in enumerate((0.14, 0.16))
    ]
    (line,) = noise.lines(several)
    assert line.cut_matched == 5.0
    assert line.cut_all == 15.0
    said = noise.table(several)
    assert lines_with(said, "| The paper's method | youtube |") == [
        "| The paper's method | youtube | 20.0 ± 0.0 | 15.0 ± 1.4 | 5.00 | 4.49 | 30.0 ± 0.0 | 15.0 ± 0.0 | 15.00 |"
    ]
    assert lines_with(said, "in points: youtube 5.00 fewer, in the paper 4.49 fewer.")
    assert lines_with(
        said, "on all documents: 15.00 points fewer on average over youtube; in the paper 23.92"
    )


def test_noise_that_grew_is_said_to_have_grown() -> None:
    worse = outcome("yelp", "default", 0.9, noise_after=Noise(0.25, 0.31))
    said = noise.table([worse])
    assert lines_with(said, "yelp 5.00 more, in the paper 12.60 fewer")
    assert lines_with(said, "1.00 points more on average over yelp")


def test_supervised_models_stand_beside_the_papers_and_tell_the_gain() -> None:
    several = [
        *seeds("youtube", "bert-mlp", 0.80, 0.82),
        *seeds("youtube", "bert-mlp-denoised", 0.88, 0.90),
    ]
    said = supervised.table(several)
    assert lines_with(said, "| BERT-MLP, majority labels |") == [
        "| BERT-MLP, majority labels | 81.0 ± 1.4 |"
    ]
    assert lines_with(said, "| *the paper* | *89.8* |")
    assert lines_with(said, "BERT-MLP, denoised labels: youtube 0.8 points below the paper's 89.8")
    assert lines_with(said, "in points: youtube +8.0 (the paper +12.8)")
    assert supervised.table(seeds("youtube", "bert-mlp", 0.8)) is None


def test_accuracy_by_matched_sources_pools_the_many() -> None:
    counts = (Matched(0, 10, 5), Matched(1, 20, 15), Matched(5, 6, 6), Matched(7, 4, 3))
    rival = (Matched(0, 10, 3), Matched(1, 20, 14), Matched(5, 10, 10))
    several = [
        outcome("youtube", "paper", 0.9, by_matched=counts),
        outcome("youtube", "bert-mlp", 0.8, by_matched=rival),
    ]
    groups = by_matched.groups(several[:1])
    assert [(g.name, g.documents, g.accuracy.percent) for g in groups] == [
        ("0", 10, 50.0),
        ("1", 20, 75.0),
        ("5+", 10, 90.0),
    ]
    said = by_matched.table(several)
    assert lines_with(said, "| youtube | 0 (10) | 1 (20) | 5+ (10) |")
    assert lines_with(said, "| The paper's method | 50.0 | 75.0 | 90.0 |")
    assert lines_with(said, "youtube no vote +20.0, one vote +5.0 points")


def test_clean_labels_by_share() -> None:
    several = [
        *seeds("youtube", "paper", 0.93, 0.95, run={"experiment": "clean", "clean": 0.05}),
        *seeds("youtube", "bert-mlp-gold", 0.86, run={"experiment": "clean", "clean": 0.05}),
        *seeds("youtube", "bert-mlp-gold", 0.94, run={"experiment": "clean", "clean": 1.0}),
        *seeds("youtube", "default", 0.95, run={"experiment": "clean", "clean": 0.05}),
    ]
    said = clean_labels.table(several)
    assert lines_with(said, "| 5 %, The paper's method | 94.0 ± 1.4 |")
    assert lines_with(said, "| *the paper* | *93.8* |")
    assert lines_with(said, "5 %, The paper's method: youtube 0.2 points above the paper's 93.8")
    assert lines_with(said, "100 %, BERT-MLP, supervised: youtube 0.4 points below")
    assert lines_with(
        said,
        "youtube, The paper's method over BERT-MLP on the same labels, in points: +8.0 at 5 %",
    )


def test_the_parameter_study_counts_the_default_once() -> None:
    study = {"experiment": "parameters"}
    several = [
        outcome("youtube", "paper", 0.90, {**study, "settings": (("c1", 0.2), ("epochs", 9))}),
        outcome("youtube", "paper", 0.90, {**study, "settings": (("hidden", 128), ("epochs", 9))}),
        outcome("youtube", "paper", 0.80, {**study, "settings": (("c1", 0.9), ("epochs", 9))}),
        outcome("youtube", "paper", 0.94, {**study, "settings": (("c1", 0.3), ("epochs", 9))}),
    ]
    curves = parameter_study.curves(several)["The paper's method"]
    assert {value: s.percent for value, s in curves["c1"]["youtube"].items()} == {
        0.2: 90.0,
        0.3: 94.0,
        0.9: 80.0,
    }
    assert curves["c1"]["youtube"][0.2].n == 1
    assert list(curves["hidden"]["youtube"]) == [128]
    said = parameter_study.table(several)
    assert lines_with(said, "| 0.2 * | 90.0 |")
    assert lines_with(said, "c1: youtube moves by 14.0 points, from 80.0 at 0.9 to 94.0 at 0.3")


def trial(number: int, valid: float, test: float, selection: str = "gold") -> Outcome:
    settings = (("hidden", 64), ("learning_rate", 0.02), ("c1", 0.1 * (number + 1)), ("c3", 0.1))
    return outcome(
        "youtube",
        "paper",
        test,
        {"experiment": "search", "selection": selection, "settings": settings},
        valid_accuracy=valid,
        foretold_votes=-valid,
    )


def test_the_search_takes_the_best_by_its_objective_never_by_test() -> None:
    several = [trial(0, 0.80, 0.95), trial(1, 0.90, 0.85), trial(2, 0.85, 0.90)]
    several += [trial(n, v, t, "none") for n, v, t in ((0, 0.80, 0.95), (1, 0.90, 0.85))]
    without, gold = search.searches(several)
    assert (without.selection, gold.selection) == ("none", "gold")
    assert gold.best.number == 1
    assert without.best.number == 0
    said = search.table(several)
    assert lines_with(
        said,
        "| youtube | accuracy on gold validation labels | 3 | 85.0 ± 5.0 | *81.5 ± 1.9* | 90.0 ± 5.0 | *87.1 ± 2.1* |",
    )
    assert lines_with(said, "| 3 | 64 | 0.02 | 0.2 | 0.1 | 85.0 | *128, 0.02, 0.2, 0.1: 94.9* |")
    assert lines_with(
        said,
        "the mean over uniform trials is 2.9 points above the paper's 87.1; the best trial's 85.0 is 9.9 points below",
    )


def test_the_searchs_means_are_of_uniform_trials_alone() -> None:
    several = [trial(n % 8, 0.5, 0.5) for n in range(7)] + [trial(7, 0.9, 0.9)]
    (found,) = search.searches(several)
    assert [t.drawn for t in found.trials[-2:]] == ["uniform", "guided"]
    assert len(found.uniform) == 7
