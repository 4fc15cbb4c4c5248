"""The main table, ablations, run times and data statistics, by hand."""

from __future__ import annotations

import math

import numpy as np
from tests.bench.handmade import outcome, seeds

from unruly.bench.dataset_facts import DatasetFacts
from unruly.bench.tables import ablations, data_statistics, main_table, run_time
from unruly.bench.tables.method_rows import beyond_chance
from unruly.votes.votes import Votes

GOLD = {"run": {"selection": "gold"}, "gold_used": ("choice of the epoch: 196 documents",)}


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
    assert (
        "- The paper's method, epoch by gold: no further from the paper than chance on youtube."
        in rows
    )
    assert "- MT, no gold: imdb 7.1 points above the paper's 72.9." in rows


def test_spouse_has_the_f1_of_its_rare_class_beside_accuracy() -> None:
    said = main_table.table(
        [outcome("spouse", "default", 0.93, f1=(0.96, 0.45), classes=("NOT", "SPOUSE"))]
    )
    assert said is not None
    assert "| spouse | spouse, F1 of SPOUSE |" in said
    assert "| unruly's default | nothing | 93.0 | 45.0 |" in said


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
            outcome("trec", "default", 0.9, cpu=1.0, parameters=1234),
        ]
    )
    assert said is not None
    assert "| The paper's method | 100 to 300 | 15.0 | – |" in said
    assert "| unruly's default | 1,234 | – | 1.0 |" in said
    assert "| *the paper's method, in the paper* | *199,000* | *114* | – |" in said
    assert "youtube 15.0 s on 1,564 training documents (the paper: 114 s on 1,000)." in said


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
    assert "all 4 sources here: accuracy 58.3, coverage 62.5; in the paper 67.5 and 23.3." in said


def test_a_source_that_never_votes_has_no_accuracy() -> None:
    votes = Votes.from_array([[0, -1], [0, -1]], sources=["a", "silent"])
    facts = DatasetFacts.of("tiny", (2, 0, 2), votes, np.array([0, 1]))
    assert math.isnan(facts.sources[1].accuracy)
    said = data_statistics.table([facts])
    assert said is not None
    assert "| silent | tiny | 0.0 | – |" in said
