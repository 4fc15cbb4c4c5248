"""The paper's figures: a few read off its tables by hand, and nothing missing."""

from __future__ import annotations

import statistics

import pytest

from unruly_lab.bench import paper_figures as paper
from unruly_lab.peers.systems import entry


@pytest.mark.parametrize(
    ("system", "dataset", "figure"),
    [
        ("snorkel", "youtube", 78.6),
        ("westclass", "agnews", 82.8),
        ("implyloss", "imdb", 51.1),
        ("neuralqpp", "spouse", 74.0),
        ("mean-teacher", "yelp", 71.2),
        ("ulmfit", "youtube", 56.1),
        ("bert-mlp", "agnews", 75.8),
        ("paper", "spouse", 81.3),
    ],
)
def test_main_table(system: str, dataset: str, figure: float) -> None:
    assert paper.MAIN[system, dataset] == figure


def test_other_tables_by_hand() -> None:
    assert paper.SUPERVISED["ulmfit-denoised", "youtube"] == 90.8
    assert paper.ABLATIONS["rule-neural", "spouse"] == 69.9
    assert paper.CLEAN[0.2]["bert-mlp-gold", "agnews"] == 89.2
    assert paper.CLEAN[0.5]["paper", "spouse"] == 85.9
    assert paper.RUN_TIME["agnews"] == 11.92
    assert paper.STATISTICS["spouse"].accuracy == 46.5
    assert paper.SEARCH["spouse"].test_deviation == 11.8
    assert paper.YELP_SOURCES[2].coverage == 75.2


@pytest.mark.parametrize("table", [paper.MAIN, paper.SUPERVISED, paper.ABLATIONS])
def test_every_system_has_every_data_set_and_exists(table: dict[tuple[str, str], float]) -> None:
    for system in {name for name, _ in table}:
        assert entry(system).name == system
        assert {d for s, d in table if s == system} == set(paper.DATASETS)
    assert all(40 < value < 100 for value in table.values())


def test_every_data_set_is_in_every_other_table() -> None:
    every = set(paper.DATASETS)
    for table in (
        paper.NOISE_REDUCTION,
        paper.STATISTICS,
        paper.RUN_TIME,
        paper.VALIDATION,
        paper.SEARCH,
        paper.BEST,
        paper.MATCHED_ABOVE,
    ):
        assert set(table) == every
    assert tuple(paper.CLEAN) == paper.CLEAN_SHARES
    for share, cells in paper.CLEAN.items():
        systems = {"bert-mlp-gold"} if share == 1 else {"bert-mlp-gold", "paper"}
        assert set(cells) == {(s, d) for s in systems for d in every}


def test_tables_agree_where_the_paper_prints_a_figure_twice() -> None:
    for system in ("bert-mlp", "ulmfit"):
        for dataset in paper.DATASETS:
            assert paper.MAIN[system, dataset] == paper.SUPERVISED[system, dataset]
    for dataset in paper.DATASETS:
        assert paper.MAIN["paper", dataset] == paper.ABLATIONS["paper", dataset]
        assert paper.MAIN["bert-mlp", dataset] == paper.ABLATIONS["neural-only", dataset]
    assert statistics.fmean(paper.RUN_TIME.values()) == pytest.approx(4.578)
    # The paper's text rounds this to 4.5 minutes.
    assert paper.RUN_TIME_MEAN == 4.5


def test_best_choices_lie_in_the_ranges() -> None:
    assert paper.BEST["agnews"] == paper.Chosen(256, 0.05, 0.1, 0.1)
    assert paper.MATCHED_ABOVE == {"youtube": 2, "imdb": 1, "yelp": 1, "agnews": 0, "spouse": 0}
    for best in paper.BEST.values():
        assert best.hidden in paper.RANGES.hidden
        assert best.learning_rate in paper.RANGES.learning_rate
        assert best.c1 in paper.RANGES.c1
        assert best.c3 in paper.RANGES.c3


def test_a_folder_is_known_by_the_papers_name() -> None:
    assert paper.known("youtube") == "youtube"
    assert paper.known("my_project") is None
