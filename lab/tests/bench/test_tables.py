"""Tables: figures, sentences, and what they admit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from lab.tests.bench.handmade import outcome, seeds
from lab.tests.peers.planted_task import selected

from unruly.votes.votes import Votes
from unruly_lab.bench import (
    ablations,
    by_matched,
    clean_labels,
    data_statistics,
    main_table,
    noise,
    parameter_study,
    run_time,
    search,
    supervised,
)
from unruly_lab.bench.data_statistics import DatasetFacts
from unruly_lab.bench.main_table import beyond_chance
from unruly_lab.bench.runs import Matched, Noise, Outcome
from unruly_lab.bench.tables import (
    Spread,
    Variant,
    cell,
    cells,
    conditions,
    datasets,
    difference,
    gold_words,
)

TABLES = (
    noise.table,
    supervised.table,
    by_matched.table,
    clean_labels.table,
    parameter_study.table,
    search.table,
)
GOLD_EPOCH = (selected(196),)


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
    assert found == {Variant("paper", "none", "minilm"): {"youtube": [new]}}


def test_a_draw_of_each_seeds_own_counts_before_one_that_all_share() -> None:
    part = {"rows": 100, "seed": 3}
    shared = outcome("imdb", "paper", 0.5, part, documents=(100, 9, 9))
    own = outcome("imdb", "paper", 0.6, {**part, "draw": 3}, documents=(100, 9, 9))
    assert cells([own, shared], "main")[Variant("paper", "none", "minilm")] == {"imdb": [own]}


def test_it_is_said_on_which_sets_seeds_share_a_draw_and_on_which_they_draw_their_own() -> None:
    few = {"documents": (100, 9, 9)}
    one, other = ({"rows": 100, "seed": seed} for seed in (0, 1))
    shared = [outcome("imdb", "paper", 0.5, run, **few) for run in (one, other)]
    own = [
        outcome("yelp", "paper", 0.5, {**run, "draw": run["seed"]}, **few) for run in (one, other)
    ]
    whole = seeds("youtube", "paper", 0.7, 0.8, run={"rows": 2000})  # it has fewer: no draw
    said = conditions([*shared, *own, *whole])
    assert "One draw of training documents served all seeds on imdb: ± leaves the draw out." in said
    assert "Each seed drew its own training documents on yelp." in said
    for single in (
        shared[0],
        own[0],
    ):  # a search, say: nothing is shared, and nothing is drawn twice
        alone = conditions([single, *whole])
        assert "One draw" not in alone
        assert "Each seed drew" not in alone


def test_a_set_smaller_than_the_cut_is_whole_and_the_same_run() -> None:
    before = outcome("youtube", "paper", 0.5, {"rows": 2000})
    after = outcome("youtube", "paper", 0.6)
    assert cells([before, after], "main")[Variant("paper", "none", "minilm")]["youtube"] == [after]


def test_the_paper_over_voters_is_one_line_whether_by_name_or_by_setting() -> None:
    old = outcome("youtube", "paper", 0.7, {"settings": (("attention", "voters"),)})
    new = outcome("yelp", "paper-voters", 0.8)
    found = cells([old, new], "main")
    assert [variant.title() for variant in found] == ["The paper's method, softmax over voters"]
    assert set(next(iter(found.values()))) == {"youtube", "yelp"}


def test_a_folders_own_features_stand_in_the_line_of_the_encoder() -> None:
    mixed = [
        outcome("youtube", "paper", 0.9),
        outcome("spouse_bert", "paper", 0.8, {"encoder": "given"}),
    ]
    found = cells(mixed, "main")
    assert list(found) == [Variant("paper", "none", "minilm")]
    assert datasets(found) == ("youtube", "spouse_bert")


def test_the_default_stands_beside_the_others_whatever_reads_its_texts() -> None:
    mixed = [
        outcome("youtube", "bert-mlp", 0.9),
        outcome("youtube", "default", 0.95, {"encoder": "auto"}),
    ]
    found = cells(mixed, "main")
    assert {variant.encoder for variant in found} == {"minilm"}
    assert "unruly's default: minilm with lsa" in conditions(mixed)


def test_figures_from_fewer_documents_are_marked_and_counted() -> None:
    part = outcome("imdb", "ulmfit", 0.6, documents=(2000, 2000, 2500))
    whole = outcome("imdb", "paper", 0.7, documents=(20000, 2500, 2500))
    beside = [part, whole]
    assert (cell([part], beside), cell([whole], beside)) == ("60.0 †", "70.0")
    assert cell([part], [part]) == "60.0"
    said = conditions(beside)
    assert "†: fewer training documents than others have on that data set" in said
    assert "on that data set: imdb 2,000." in said
    assert "imdb 20,000 / 2,500 (20k / 2.5k)" in said
    assert "†" not in conditions([whole])


def test_fewer_seeds_are_told_by_data_set() -> None:
    several = [outcome("yelp", "paper", 0.8, {"seed": seed}) for seed in range(3)]
    one = outcome("imdb", "paper", 0.8, {"selection": "gold"})
    said = conditions([*several, one])
    assert "3 seeds here, fewer for some lines on imdb (a figure without ± is of one seed);" in said
    assert conditions(several).count("3 seeds here") == 1


def test_the_method_as_printed_stands_before_the_other_softmax() -> None:
    voters = outcome("yelp", "paper-voters", 0.8, {"selection": "gold"})
    printed = outcome("yelp", "paper", 0.7, {"selection": "gold"}, gold_used=GOLD_EPOCH)
    assert [variant.attention for variant in cells([voters, printed], "main")] == ["", "voters"]
    said = main_table.table([voters, printed]) or ""
    assert "The paper's method, epoch by gold: yelp 17.5 points below the paper's 87.5." in said


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
            "D": [outcome("trec", "paper", 0.9)],
            "E": [outcome("youtube", "paper", 0.9, {"experiment": "search"})],
        }
    )
    shown = "nothing (A, D, E); choice of the epoch (B); the paper's hyper-parameters (C)"
    assert "nothing (G)" in gold_words({"G": [outcome("tweets", "default", 0.9)]})
    assert "gold labels of these" in gold_words({"H": [outcome("trec", "default", 0.9)]})
    start = gold_words({"F": [outcome("trec", "neuralqpp", 0.9)]})
    assert "starting weights (agnews validation labels) (F)" in start
    assert shown in said
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
            noise_before=Noise(0.20, 0.20, 0.30),
            noise_after=Noise(after, after, 0.15),
        )
        for seed, after in enumerate((0.14, 0.16))
    ]
    (line,) = noise.lines(several)
    assert line.cut_matched == 5.0
    assert line.cut_all == 15.0
    said = noise.table(several)
    assert lines_with(said, "| The paper's method | youtube |") == [
        "| The paper's method | youtube | 2 | 20.0 ± 0.0 | 15.0 ± 1.4 | 5.00 | 4.49 "
        "| 20.0 ± 0.0 | 15.0 ± 1.4 | 5.00 | 30.0 ± 0.0 | 15.0 ± 0.0 | 15.00 |"
    ]
    assert lines_with(said, "the paper has 23.92 fewer on average over its five data sets")


def test_noise_that_grew_is_said_to_have_grown() -> None:
    worse = outcome("yelp", "default", 0.9, noise_after=Noise(0.25, 0.25, 0.31))
    (row,) = lines_with(noise.table([worse]), "| yelp |")
    assert "| -5.00 | 12.60 |" in row
    assert row.endswith("| -1.00 |")


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
    assert lines_with(said, "| BERT-MLP, denoised labels | +8.0 |")
    assert lines_with(said, "| *the paper* | *+12.8* |")
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
    assert lines_with(said, "| 100 %, BERT-MLP, supervised | 94.0 |")
    assert lines_with(said, "| *the paper* | *94.4* |")
    assert lines_with(said, "points over BERT-MLP on the same labels")
    assert lines_with(said, "| 5 %, The paper's method | +8.0 |")
    assert lines_with(said, "| *the paper* | *+6.1* |")
    assert lines_with(said, "| 5 %, unruly's default | +9.0 |")
    run = {"experiment": "clean", "clean": 0.05}
    other = seeds("youtube", "default", 0.9, documents=(100, 9, 9), run=run)
    assert not lines_with(clean_labels.table([*several[:3], *other]), "default | +")


def test_the_parameter_study_counts_the_default_once() -> None:
    study = {"experiment": "parameters"}
    several = [
        outcome("youtube", "paper", 0.90, {**study, "settings": (("c1", 0.2), ("epochs", 9))}),
        outcome("youtube", "paper", 0.90, {**study, "settings": (("hidden", 128), ("epochs", 9))}),
        outcome("youtube", "paper", 0.80, {**study, "settings": (("c1", 0.9), ("epochs", 9))}),
        outcome("youtube", "paper", 0.94, {**study, "settings": (("c1", 0.3), ("epochs", 9))}),
    ]
    curves = parameter_study.curves(several)["The paper's method (no gold)"]
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
    assert lines_with(said, "**One seed** on youtube")
    again = replace(several[0], run=replace(several[0].run, seed=1))
    assert "One seed" not in (parameter_study.table([*several, again]) or "One seed")
    voters = {**study, "settings": (("attention", "voters"),)}
    other = [outcome("youtube", "paper", 0.9, {**voters, "seed": seed}) for seed in (0, 1)]
    both = parameter_study.table([*several, *other])
    assert lines_with(both, "**One seed** on youtube (The paper's method):")


def trial(number: int, valid: float, test: float, selection: str = "gold") -> Outcome:
    settings = (("hidden", 64), ("learning_rate", 0.02), ("c1", 0.1 * (number + 1)), ("c3", 0.1))
    return outcome(
        "youtube",
        "paper",
        test,
        {"experiment": "search", "selection": selection, "settings": settings},
        valid_accuracy=valid,
        held_out_votes=-valid,
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


def test_a_search_names_the_softmax_that_is_not_as_printed() -> None:
    over = (("attention", "voters"), ("c1", 0.3))
    run = {"experiment": "search", "selection": "gold"}
    several = [
        outcome("youtube", "paper", 0.9, {**run, "settings": (("c1", 0.3),)}, valid_accuracy=0.9),
        outcome("youtube", "paper", 0.8, {**run, "settings": over}, valid_accuracy=0.8),
    ]
    printed, voters = search.searches(several)
    assert "voters" not in printed.objective
    assert voters.objective.endswith("softmax over voters")


def test_the_searchs_means_are_of_uniform_trials_alone() -> None:
    several = [trial(n % 8, 0.5, 0.5) for n in range(7)] + [trial(7, 0.9, 0.9)]
    (found,) = search.searches(several)
    assert [t.drawn for t in found.trials[-2:]] == ["uniform", "guided"]
    assert len(found.uniform) == 7


GOLD = {"run": {"selection": "gold"}, "gold_used": GOLD_EPOCH}


def test_no_outcomes_no_table() -> None:
    assert main_table.table([]) is None
    assert ablations.table(seeds("youtube", "paper", 0.9)) is None
    assert run_time.table([]) is None
    assert data_statistics.table([]) is None


def test_the_main_table_by_hand() -> None:
    said = main_table.table(
        [
            *seeds("youtube", "paper", 0.70, 0.72, 0.74),
            *seeds("youtube", "paper", 0.94, 0.95, 0.96, **GOLD),
            *seeds("imdb", "mean-teacher", 0.80),
        ]
    )
    assert said is not None
    rows = said.splitlines()
    assert "| method | true labels used for | youtube | imdb |" in rows
    assert "| The paper's method | the paper's hyper-parameters | 72.0 ± 2.0 | – |" in rows
    assert (
        "| The paper's method, epoch by gold | choice of the epoch, the paper's hyper-parameters | 95.0 ± 1.0 | – |"
        in rows
    )
    assert "| *the paper* | *choice of the epoch, hyper-parameters* | *94.9* | *82.9* |" in rows
    assert "| MT | nothing | – | 80.0 |" in rows
    assert "–: not run here, or not in the paper." in said
    assert (
        "- The paper's method, epoch by gold: no further from the paper than chance on youtube."
        in rows
    )
    assert "- MT, no gold: imdb 7.1 points above the paper's 72.9." in rows


def test_other_data_sets_stand_below_with_the_part_that_they_took() -> None:
    several = [
        *seeds("youtube", "default", 0.9),
        *seeds("trec", "default", 0.7),
        *seeds("tweets", "default", 0.80, 0.82),
        *seeds("verses", "default", 0.91),
        *seeds("verses", "majority-vote", 0.50),
    ]
    said = main_table.table(several)
    assert said is not None
    above, below = said.split("### Data sets that are not the paper's")
    assert "tweets" not in above
    assert "trec" not in above
    rows = [line for line in below.splitlines() if line.startswith("|")]
    assert rows == [
        "| data set | in view | Majority vote | unruly's default |",
        "|:--|--:|--:|--:|",
        "| trec | yes | – | 70.0 |",
        "| tweets | no | – | 81.0 ± 1.4 |",
        "| verses | no | 50.0 | 91.0 |",
        "| mean of those | no | – | 86.0 |",
    ]
    alone = main_table.table(seeds("tweets", "default", 0.8)) or ""  # nothing to stand below
    assert "| unruly's default | nothing | 80.0 |" in alone
    assert "###" not in alone


def test_tables_of_the_papers_experiments_are_of_its_data_sets() -> None:
    several = [*seeds("youtube", "default", 0.9), *seeds("tweets", "default", 0.8)]
    for table in (noise.table, by_matched.table, run_time.table):
        assert "tweets" not in (table(several) or "tweets")
        assert "tweets" in (table(several[1:]) or "")  # one's own data have them, too


def test_spouse_has_the_f1_of_its_rare_class_beside_accuracy() -> None:
    said = main_table.table(
        [outcome("spouse", "default", 0.93, f1=(0.96, 0.45), classes=("NOT", "SPOUSE"))]
    )
    assert said is not None
    assert "| spouse | spouse, F1 of SPOUSE |" in said
    assert "| 93.0 | 45.0 |" in said


def test_chance_is_seeds_and_the_draw_of_test_documents() -> None:
    # one seed, 196 test documents here and 100 in the paper, both at 0.8: a deviation of
    # sqrt(0.16 / 196 + 0.16 / 100) = 0.0492, times 1.96 is 0.096
    at = outcome("youtube", "paper", 0.8)
    assert not beyond_chance([at], 0.88, "youtube")
    assert beyond_chance([at], 0.91, "youtube")
    apart = seeds("youtube", "paper", 0.6, 1.0)  # a deviation of 0.28 / sqrt(2) = 0.2 more
    assert not beyond_chance(apart, 0.91, "youtube")


def test_ablations_say_which_part_does_better_alone() -> None:
    said = ablations.table(
        [
            *seeds("youtube", "paper", 0.80),
            *seeds("youtube", "rule-only", 0.85),
            *seeds("youtube", "neural-self", 0.88),
            *seeds("imdb", "paper", 0.80),
            *seeds("imdb", "rule-only", 0.70),
        ]
    )
    assert said is not None
    assert (
        "- The paper's method: better than the whole are on youtube Neural-self (88.0 against 80.0)."
        in said
    )
    assert "| Rule-only | the paper's hyper-parameters | 85.0 | 70.0 |" in said
    assert "*90.3* | *73.1* |" in said


def test_run_times_stand_beside_the_papers_minutes() -> None:
    said = run_time.table(
        [
            outcome("youtube", "paper", 0.9, cpu=10.0, parameters=100),
            outcome("youtube", "paper", 0.9, {"seed": 1}, cpu=20.0, parameters=300),
            outcome("imdb", "default", 0.9, cpu=1.0, parameters=1234),
        ]
    )
    assert said is not None
    assert "| The paper's method | 100 to 300 | 15.0 | – |" in said
    assert "| unruly's default | 1,234 | – | 1.0 |" in said
    assert "| *the paper's method, in the paper* | *199,000* | *114* | *219* |" in said
    assert "youtube 1,564 / 196 (1k / 0.1k)" in said


def test_data_statistics_by_hand() -> None:
    votes = Votes.from_array([[0, 1], [0, -1], [-1, -1], [1, 1]], sources=["a", "b"])
    gold = np.array([0, 1, 1, 1])
    known = DatasetFacts.of("youtube", (4, 0, 2), votes, gold)
    other = DatasetFacts.of("trec", (4, 1, 2), votes, gold)
    said = data_statistics.table([other, known])
    assert said is not None
    assert "| youtube | 2 | 4 | 0 | 2 | 2 | 75.0 | *74.4* | 60.0 | *85.3* | 50.0 | 75.0 |" in said
    assert "| trec | 2 | 4 | 1 | 2 | 2 | 75.0 | – | 60.0 | – | 50.0 | 75.0 |" in said
    assert (
        "- youtube: coverage 0.6 points above the paper's 74.4; accuracy of votes 25.3 points below"
        in said
    )
    assert "| a | youtube | 75.0 | 66.7 |" in said
    assert "| a | trec |" not in said  # the sources of other data sets are too many
    assert (
        "all 2 sources of the paper's data sets here: accuracy 58.3, coverage 62.5; in the paper 67.5 and 23.3."
        in said
    )


def test_a_source_that_never_votes_has_no_accuracy() -> None:
    votes = Votes.from_array([[0, -1], [1, -1]], sources=["a", "silent"])
    facts = DatasetFacts.of("tiny", (2, 0, 2), votes, np.array([0, 1]))
    assert math.isnan(facts.sources[1].accuracy)
    said = data_statistics.table([facts])
    assert said is not None
    assert "| silent | tiny | 0.0 | – |" in said


def test_noise_without_its_matched_figure_is_left_open() -> None:
    """Runs from before matched meant more than p votes have no figure for it."""
    old = outcome(
        "youtube",
        "paper",
        0.9,
        noise_before=Noise(math.nan, 0.2, 0.3),
        noise_after=Noise(math.nan, 0.1, 0.2),
    )
    (row,) = lines_with(noise.table([old]), "| The paper's method | youtube |")
    assert "| 2 | – | – | – | 4.49 | 20.0 | 10.0 | 10.00 |" in row


def test_validation_accuracy_stands_beside_the_appendix() -> None:
    one = outcome(
        "youtube", "paper", 0.9, {"selection": "gold"}, valid_accuracy=0.88, gold_used=GOLD_EPOCH
    )
    said = main_table.validation([one])
    assert lines_with(said, "| The paper's method, epoch by gold |")[0].endswith("| 88.0 |")
    assert lines_with(said, "| *the paper* |")[0].endswith("| *87.8* |")
    assert main_table.validation([outcome("mine", "paper", 0.9)]) is None


def test_the_papers_yelp_sources_stand_beside_ours() -> None:
    votes = Votes.from_array([[0], [-1]], classes=["bad", "good"], sources=["keyword_food"])
    facts = DatasetFacts.of("yelp", (2, 0, 1), votes, np.array([0, 1]))
    said = data_statistics.table([facts])
    assert lines_with(said, "| keyword_food | 50.0 | *11.4* | 100.0 | *79.0* |")
    assert lines_with(said, "| keyword_mood | – | *12.8* | – | *78.1* |")
    other = DatasetFacts.of("mine", (2, 0, 1), votes, np.array([0, 1]))
    assert not lines_with(data_statistics.table([other]), "appendix")
