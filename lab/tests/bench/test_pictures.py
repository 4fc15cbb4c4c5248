"""The pictures: files that can be opened, the same bytes twice, nothing drawn of nothing."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lab.tests.bench.handmade import outcome, seeds
from lab.tests.peers.planted_task import selected

from unruly.ledger import GoldUse
from unruly_lab.bench import (
    by_matched,
    clean_labels,
    data_statistics,
    main_table,
    noise,
    parameter_study,
    run_time,
    search,
)
from unruly_lab.bench.data_statistics import DatasetFacts, SourceFacts
from unruly_lab.bench.page import write_pictures
from unruly_lab.bench.paper_figures import CLEAN_SHARES, DATASETS, Ranges
from unruly_lab.bench.pictures import axes, figure
from unruly_lab.bench.runs import Matched, Noise, Outcome
from unruly_lab.bench.tables import GoldMark
from unruly_lab.bench.trials import Scored, changes
from unruly_lab.bench.trials import search as searched

Chart = Callable[[Sequence[Outcome]], str | None]
CHARTS = (
    main_table.chart,
    run_time.chart,
    noise.chart,
    by_matched.chart,
    clean_labels.chart,
    parameter_study.chart,
    search.chart,
)
FEW = Ranges((32, 128), (0.001, 0.02), (0.2, 0.9), (0.1, 0.5))
GOLD = (selected(196),)


def everything() -> list[Outcome]:
    """All experiments on a data set of the paper and one of the user's."""
    found: list[Outcome] = []
    for at, dataset in enumerate(("youtube", "mine")):
        for place, method in enumerate(("majority-vote", "bert-mlp", "paper", "default")):
            base = 0.70 + 0.05 * place - 0.03 * at
            found += seeds(
                dataset,
                method,
                base,
                base + 0.02,
                cpu=0.1 * 10**place,
                by_matched=(Matched(0, 9, 5), Matched(1, 20, 14), Matched(6, 9, 8)),
                noise_after=Noise(0.2 - 0.03 * place, 0.2, 0.2),
            )
        found += seeds(dataset, "paper", 0.9, 0.91, run={"selection": "gold"}, gold_used=GOLD)
        for share in CLEAN_SHARES[::3]:
            run = {"experiment": "clean", "clean": share}
            found += seeds(dataset, "paper", 0.9 + share / 20, 0.9, run=run)
            found += seeds(dataset, "bert-mlp-gold", 0.8 + share / 9, 0.82 + share / 9, run=run)
        for change in changes(FEW):
            run = {"experiment": "parameters", "settings": change}
            found += seeds(dataset, "paper", 0.9 - 0.01 * len(change) - 0.01 * at, 0.88, run=run)
    return found + trials()


def trials() -> list[Outcome]:
    made = list(searched(lambda c: Scored(0.9 - abs(c.c1 - 0.3) / 2), [], 14))
    return [
        outcome(
            "youtube",
            "paper",
            t.scored.objective - 0.02,
            {
                "experiment": "search",
                "selection": selection,
                "settings": tuple(vars(t.chosen).items()),
            },
            valid_accuracy=t.scored.objective,
            held_out_votes=-t.scored.objective,
        )
        for selection in ("none", "gold")
        for t in made
    ]


@cache
def drawn(chart: Chart) -> str:
    """Each picture of everything, drawn once for all tests."""
    svg = chart(everything())
    assert svg is not None
    return svg


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.__module__.split(".")[-1])
def test_a_picture_is_well_formed_and_the_same_twice(chart: Chart) -> None:
    svg = drawn(chart)
    assert svg == chart(everything())
    assert ET.fromstring(svg).tag.endswith("svg")
    assert "youtube" in svg
    assert not re.search(r"\d{4}-\d\d-\d\dT", svg), "a date"
    assert chart([]) is None


def test_main_table_names_every_method_and_marks_the_papers_figures() -> None:
    svg = drawn(main_table.chart)
    for words in ("Majority vote", "BERT-MLP", "method, epoch by gold", "true labels used"):
        assert words in svg
    assert "the paper's own" in svg
    mine = main_table.chart(seeds("mine", "paper", 0.8)) or ""
    assert "the paper's own" not in mine
    assert mine != main_table.chart(seeds("mine", "paper", 0.7))


@pytest.mark.parametrize(
    ("method", "used", "mark"),
    [
        ("bert-mlp", (), "no gold"),
        ("paper", (), "settings chosen with gold in view"),  # the paper's hyper-parameters
        ("neuralqpp", (), "settings chosen with gold in view"),  # its starting weights
        ("default", (), "settings chosen with gold in view"),  # its constants
        ("bert-mlp", GOLD, "true labels used"),
    ],
)
def test_a_dot_is_marked_by_the_part_that_gold_took(
    method: str, used: tuple[GoldUse, ...], mark: str
) -> None:
    svg = main_table.chart(seeds("youtube", method, 0.8, gold_used=used)) or ""
    assert [words for words in map(str, GoldMark) if words in svg] == [mark]


def test_data_sets_that_took_no_part_have_a_picture_of_their_own_without_a_mark_of_gold() -> None:
    several = [*seeds("youtube", "default", 0.8), *seeds("tweets", "default", 0.8)]
    svg = main_table.chart_of_others(several) or ""
    assert [words for words in map(str, GoldMark) if words in svg] == ["no gold"]
    assert "tweets" in svg
    assert "youtube" not in svg
    assert "tweets" not in (main_table.chart(several) or "tweets")
    assert main_table.chart_of_others(several[1:]) is None  # the main picture has them


def test_the_papers_reduction_stands_over_the_bar_that_is_made_as_its_own() -> None:
    """Our bar by gold, where there is one: the mark moves with its place among the bars."""
    last = seeds("youtube", "paper", 0.8)
    by_gold = seeds("youtube", "paper", 0.9, run={"selection": "gold"}, gold_used=GOLD)
    found = noise.lines([*last, *by_gold])
    assert [line.as_theirs for line in found] == [False, True]
    voters = {"selection": "gold", "settings": (("attention", "voters"),)}
    (line,) = noise.lines(seeds("youtube", "paper", 0.9, run=voters, gold_used=GOLD))
    assert not line.as_theirs
    ax = axes(figure())
    noise._papers(ax, ["youtube"], found)
    (mark,) = ax.lines
    assert mark.get_xdata() == pytest.approx([2 * 0.8 / 3])  # majority vote is the first of three


def lines(svg: str | None) -> list[str]:
    """The lines of text in a picture; long ones are wrapped."""
    return [html.unescape(line) for line in re.findall(r">([^<>]+)</text>", svg or "")]


def test_a_study_of_two_methods_says_which_data_sets_each_has() -> None:
    run: dict[str, Any] = {"experiment": "parameters", "selection": "gold"}
    printed = seeds("spouse", "paper", 0.7, run={**run, "settings": (("c1", 0.5),)})
    over = {**run, "settings": (("attention", "voters"), ("c1", 0.5))}
    words = " ".join(lines(parameter_study.chart(printed + seeds("imdb", "paper", 0.8, run=over))))
    assert "spouse: The paper's method, epoch by gold" in words
    assert "imdb: The paper's method, epoch by gold, softmax over voters" in words
    both = parameter_study.chart(printed + seeds("spouse", "paper", 0.8, run=over))
    assert "spouse, The paper's method, epoch by gold" in " ".join(lines(both))


def test_legends_say_what_gold_took_part() -> None:
    by_gold = {"selection": "gold"}
    one = seeds("youtube", "paper", 0.9, run=by_gold, gold_used=GOLD)
    words = " ".join(lines(noise.chart(one)))
    assert "gold: choice of the epoch, the paper's hyper-parameters" in words
    assert "the paper's reduction (by gold)" in words
    run = {"experiment": "parameters", "settings": (("c1", 0.5),), **by_gold}
    study = parameter_study.chart(seeds("youtube", "paper", 0.9, run=run, gold_used=GOLD)) or ""
    assert "gold: choice of the epoch" in " ".join(lines(study))
    assert max(map(len, lines(study))) < 90  # all of it inside the picture
    matched = " ".join(lines(by_matched.chart(one + seeds("youtube", "bert-mlp", 0.8))))
    assert "gold: choice of the epoch, the paper's hyper-parameters" in matched
    assert "BERT-MLP (no gold)" in matched
    without = {"experiment": "parameters", "settings": (("c1", 0.5),)}
    assert "no gold" in (parameter_study.chart(seeds("youtube", "paper", 0.9, run=without)) or "")


def test_clean_labels_show_the_papers_curves_only_where_there_are_any() -> None:
    assert "in the paper" in drawn(clean_labels.chart)
    run = {"experiment": "clean", "clean": 0.05}
    assert "in the paper" not in (clean_labels.chart(seeds("mine", "paper", 0.8, run=run)) or "")


def test_the_parameter_study_has_four_panels() -> None:
    for panel in ("(a) c1", "(b) c3", "(c) learning rate", "(d) hidden size"):
        assert panel in drawn(parameter_study.chart)


def test_bubbles_name_every_source_and_bear_those_that_never_vote() -> None:
    facts = [
        DatasetFacts(
            name,
            (100, 10, 10),
            ("ham", "spam"),
            (0.5, 0.5),
            0.9,
            0.7,
            0.7,
            (
                *(SourceFacts(f"{name} {j}", 0.1 * j, 0.5 + 0.04 * j) for j in range(1, 5)),
                SourceFacts("silent", 0.0, float("nan")),
            ),
        )
        for name in DATASETS
    ]
    svg = data_statistics.chart(facts)
    assert svg is not None
    assert svg == data_statistics.chart(facts)
    assert "yelp 3" in svg
    assert "62 / 30" in svg
    assert "– / 0" in svg
    assert data_statistics.chart([]) is None
    assert svg.index("youtube 1") < svg.index("spouse 1")


def test_the_gallery_writes_what_there_is_to_see(tmp_path: Path) -> None:
    run = {"experiment": "clean", "clean": 0.05}
    files = write_pictures(seeds("mine", "paper", 0.8, run=run), [], tmp_path / "pictures")
    assert [path.name for path in files] == ["clean-labels.svg", "README.md"]
    assert "![Accuracy with clean labels](clean-labels.svg)" in files[-1].read_text("utf-8")
    assert ET.fromstring(files[0].read_text("utf-8")).tag.endswith("svg")
    assert write_pictures([], [], tmp_path / "none") == ()
    assert not (tmp_path / "none").exists()
