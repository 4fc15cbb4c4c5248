"""Every chart: well-formed, described in words, numbers behind it, colours of the page, the same bytes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from unruly.html import Chart, figure
from unruly.learner import Epoch
from unruly.report.accuracy import (
    by_votes_chart,
    calibration_chart,
    confidence_chart,
    confusion_chart,
    noise_chart,
)
from unruly.report.facts import Facts
from unruly.report.page import training_curves
from unruly.report.sources import (
    MOST_SOURCES,
    SourceFacts,
    Weights,
    agreement_map,
    bubble_chart,
    free_place,
    shared_area,
    weights_chart,
)
from unruly.statistics import Share
from unruly.votes.summary import count_pairs
from unruly.votes.votes import Votes

HISTORY = tuple(Epoch(n, 1 / n, 2 / n, 0.1, 3 / n, 0, 0.5 + n / 99, n == 7) for n in range(1, 10))
HOSTILE = (
    "a$_$b",
    "$\\frac{1}{0}$ \\$",
    "</text><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]>&amp;&#0;",
    "nul\x00 bell\x07 esc\x1b[31m",
    "lone \ud800",
    "多字节 названия שלום 🎵" * 3,
    "_hidden",
    "two\nlines\tand tabs",
    "",
)

MAKERS: dict[str, Callable[[Facts], Chart | None]] = {
    "bubbles": lambda f: bubble_chart(f.sources),
    "agreement": lambda f: agreement_map(f.pairs),
    "weights": lambda f: weights_chart(f.weights),
    "noise": lambda f: noise_chart(f.noise),
    "votes": lambda f: by_votes_chart(f.by_votes),
    "training": lambda f: training_curves(HISTORY),
    "confidence": lambda f: confidence_chart(f.confidence),
    "calibration": lambda f: calibration_chart(f.confidence, 0.1),
    "confusion": lambda f: confusion_chart(
        f.evaluation.everything.model.confusion if f.evaluation else np.zeros((2, 2)), f.classes
    ),
}


@pytest.fixture(params=MAKERS, ids=str)
def drawn(request: pytest.FixtureRequest, whole: Facts) -> tuple[Chart, Chart]:
    first, second = (MAKERS[request.param](whole) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.name == request.param
    return first, second


def test_a_chart_is_well_formed_and_always_the_same(drawn: tuple[Chart, Chart]) -> None:
    chart, again = drawn
    assert chart == again
    root = ET.fromstring(chart.svg)
    assert set(root.attrib) == {"viewBox"}  # as wide as the place where it is put
    assert not [node for node in root.iter() if "id" in node.attrib or "style" in node.attrib]


def test_a_chart_wears_the_colours_of_the_page(drawn: tuple[Chart, Chart]) -> None:
    root = ET.fromstring(drawn[0].svg)
    worn = {node.attrib[k] for node in root.iter() for k in ("fill", "stroke") if k in node.attrib}
    assert worn
    assert all(re.fullmatch(r"var\(--\w+, #[0-9a-f]{6}\)|none", colour) for colour in worn)
    assert "<text" in drawn[0].svg


def test_marks_stay_within_the_picture(drawn: tuple[Chart, Chart]) -> None:
    root = ET.fromstring(drawn[0].svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for node in root.iter():
        for name, most in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            if name in node.attrib:
                assert -1 <= float(node.attrib[name]) <= most + 1, node.attrib


def test_a_chart_is_described_in_words_and_numbers(drawn: tuple[Chart, Chart]) -> None:
    chart = drawn[0]
    assert re.search(r"\d", chart.description)
    assert chart.rows
    assert all(len(row) == len(chart.header) for row in chart.rows)
    shown = figure(chart)
    assert 'role="img"' in shown
    assert f'aria-labelledby="{chart.name}-title {chart.name}-desc"' in shown
    assert f'<desc id="{chart.name}-desc">' in shown
    assert "<details><summary>The numbers</summary>" in shown


def test_nothing_to_draw_is_no_chart(alone: Facts) -> None:
    assert weights_chart(alone.weights) is None
    assert noise_chart(alone.noise) is None
    assert by_votes_chart(alone.by_votes) is None
    assert calibration_chart(alone.confidence, None) is None
    assert confidence_chart(alone.confidence) is None
    assert training_curves(()) is None
    assert bubble_chart(()) is None
    assert agreement_map(count_pairs(Votes.from_array([[1]]))) is None
    few = Votes.from_array([[0, 0], [1, 0], [1, 1], [0, 1]])
    assert agreement_map(count_pairs(few)) is None, "a map of grey squares tells nothing"
    assert confusion_chart(np.zeros((2, 2)), ("a", "b")) is None


def renamed(facts: Facts) -> Facts:
    """The same facts with hostile names for sources and classes."""
    names = [HOSTILE[j % len(HOSTILE)] + str(j) for j in range(len(facts.sources))]
    classes = tuple(HOSTILE[r] for r in range(len(facts.classes)))
    return replace(
        facts,
        classes=classes,
        sources=tuple(replace(s, name=n) for s, n in zip(facts.sources, names, strict=True)),
        pairs=replace(facts.pairs, sources=tuple(names)),
        weights=tuple(replace(w, name=n) for w, n in zip(facts.weights, names, strict=True)),
        noise=tuple(replace(n, name=HOSTILE[i]) for i, n in enumerate(facts.noise)),
    )


@pytest.mark.parametrize("shift", range(0, len(HOSTILE), 3))
@pytest.mark.parametrize("name", MAKERS)
def test_hostile_names_are_names(name: str, shift: int, whole: Facts) -> None:
    bad = renamed(whole)
    names = HOSTILE[shift:] + HOSTILE[:shift]
    many = [
        SourceFacts(n + str(j), ("a",), 50, 0.01 * (j + 1), 0.1, 0.1, 0.01, SHARE, SHARE)
        for j, n in enumerate(names)
    ]
    chart = MAKERS[name](replace(bad, sources=tuple(many)) if name == "bubbles" else bad)
    assert chart is not None
    shown = figure(chart)
    plain = MAKERS[name](whole)
    assert plain is not None
    tags = {node.tag for node in ET.fromstring(_xml(shown)).iter()}
    assert tags <= {node.tag for node in ET.fromstring(_xml(figure(plain))).iter()} | {
        "{http://www.w3.org/2000/svg}polyline"
    }
    assert "<script" not in shown
    assert "<img" not in shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]", shown)
    shown.encode("utf-8")


def _xml(markup: str) -> str:
    return re.sub(r"&(?!(amp|lt|gt|quot|#x27);)", "&amp;", markup)


def test_a_name_with_dollars_is_drawn_as_it_is() -> None:
    source = SourceFacts("a$_$b", ("a",), 50, 0.5, 0.1, 0.1, 0.01, SHARE, None)
    chart = bubble_chart([source])
    assert chart is not None
    assert ">a$_$b</text>" in chart.svg


SHARE = Share(0.7, 0.6, 0.8, 50)


def test_a_hundred_sources_are_drawn_in_bounded_space() -> None:
    rng = np.random.default_rng(0)
    votes = Votes.from_array(rng.integers(-1, 3, (200, 100)))
    chart = agreement_map(count_pairs(votes))
    assert chart is not None
    assert len(chart.svg) < 800_000
    assert f"The {MOST_SOURCES} of 100 sources" in chart.description
    estimate = Share(0.7, 0.6, 0.8, 50)
    many = [
        SourceFacts(f"source {j}", ("a",), 50, 0.01 * (j + 1), 0.1, 0.1, 0.01, estimate, None)
        for j in range(100)
    ]
    bubbles = bubble_chart(many)
    assert bubbles is not None
    assert len(bubbles.rows) == 100


def test_names_beside_bubbles_do_not_cover_each_other() -> None:
    taken = [(95.0, 95.0, 105.0, 105.0)]
    frame = (0.0, 0.0, 300.0, 300.0)
    for _ in range(5):
        free = free_place((100, 100), 5, (60, 12), taken, frame)
        assert free is not None
        x, y = free
        box = (x - 30, y - 6, x + 30, y + 6)
        assert sum(shared_area(box, other) for other in taken) == 0
        taken.append(box)
    beside = [(125.0, 100.0), (125.0, 110.0), (125.0, 90.0)]
    free = free_place((100, 100), 5, (60, 12), taken[:1], frame, beside)
    assert free is not None
    assert free[0] < 100  # on the right the name would be read with another point
    everywhere = [(0.0, 0.0, 300.0, 300.0)]
    assert free_place((100, 100), 5, (60, 12), everywhere, frame) is None


def test_long_histories_keep_the_kept_epoch_in_their_numbers() -> None:
    history = [Epoch(n, 1 / n, 1 / n, 0.0, 2 / n, 0, 0.5, kept=n == 123) for n in range(1, 501)]
    chart = training_curves(history)
    assert chart is not None
    assert len(chart.rows) < 70
    assert [row[0] for row in chart.rows if "kept" in row[0]] == ["123 (kept)"]
    assert "self-training</text>" not in chart.svg  # a loss that is always 0 is not drawn


def test_equal_weights_are_called_equal() -> None:
    same = [Weights(name, 1.0, 9, (1.0,) * 5) for name in ("a", "b")]
    chart = weights_chart(same)
    assert chart is not None
    assert chart.description.startswith("All votes have the same weight")
    varied = weights_chart([same[0], Weights("b", 1.0, 9, (0.5, 1.0, 1.0, 1.0, 2.0))])
    assert varied is not None
    assert "b varies most: 0.50 to 2.00 times" in varied.description


def test_sources_that_no_other_can_agree_and_disagree_with_are_not_drawn() -> None:
    rows = [[0, 1, -1, 0, -1], [0, -1, 1, 1, -1], [0, 1, 1, 0, 0]] * 5
    chart = agreement_map(count_pairs(Votes.from_array(rows, sources=["a", "b", "c", "d", "e"])))
    assert chart is not None
    assert "Left out" not in chart.description, "d votes for two classes, and meets all"
    rows = [[0, 1, -1, 0, -1], [0, -1, 1, 1, -1], [-1, -1, -1, -1, 0]] * 5
    chart = agreement_map(count_pairs(Votes.from_array(rows, sources=["a", "b", "c", "d", "e"])))
    assert chart is not None
    assert "Left out: 1 source that has no such pair." in chart.description
    assert {name for row in chart.rows for name in row[:2]} == {"a", "b", "c", "d"}
    assert ">e<" not in chart.svg


def test_one_pair_or_many_that_agree_alike() -> None:
    rows = [[0, 0, 1], [1, 1, 0]] * 5
    chart = agreement_map(count_pairs(Votes.from_array(rows, sources=["x", "y", "z"])))
    assert chart is not None
    assert (
        "Of 3 pairs with 5 common documents or more, y and x agree most often (100%)"
        in chart.description
    )
    assert "2 agree least often (0%)" in chart.description
