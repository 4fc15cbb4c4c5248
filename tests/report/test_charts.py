"""Every chart: well-formed, told in words, numbers behind it, colours of the page, the same bytes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import numpy as np
import pytest

from unruly.model.metrics import Share
from unruly.report.charts.agreement_map import MOST, agreement_map
from unruly.report.charts.bubble_chart import bubble_chart
from unruly.report.charts.calibration_chart import calibration_chart
from unruly.report.charts.chart import Chart
from unruly.report.charts.confidence_chart import confidence_chart
from unruly.report.charts.confusion_chart import confusion_chart
from unruly.report.charts.matched_chart import matched_chart
from unruly.report.charts.noise_chart import noise_chart
from unruly.report.charts.reliability_chart import reliability_chart
from unruly.report.charts.training_curves import training_curves
from unruly.report.facts import Facts
from unruly.report.markup import figure
from unruly.report.pairs import pairs
from unruly.report.source_facts import SourceFacts
from unruly.training.heads import Epoch
from unruly.votes.votes import Votes

MAKERS: dict[str, Callable[[Facts], Chart | None]] = {
    "bubbles": lambda f: bubble_chart(f.sources),
    "agreement": lambda f: agreement_map(f.pairs),
    "reliability": lambda f: reliability_chart(f.spreads),
    "noise": lambda f: noise_chart(f.noise),
    "matched": lambda f: matched_chart(f.matched),
    "training": lambda f: training_curves(f.history),
    "confidence": lambda f: confidence_chart(f.slices),
    "calibration": lambda f: calibration_chart(f.slices, 0.1),
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
    root = ET.fromstring(chart.svg.replace("xlink:href", "href"))
    ids = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    assert len(ids) == len(set(ids))
    assert all(name.startswith(chart.name) for name in ids)
    assert "width" not in root.attrib


def test_a_chart_wears_the_colours_and_the_font_of_the_page(drawn: tuple[Chart, Chart]) -> None:
    svg = drawn[0].svg
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) <= {"#000000", "#ffffff"}  # hidden marks only
    assert re.search(r"(fill|stroke): var\(--", svg)
    assert "<text" in svg  # letters are letters, not outlines
    assert "DejaVu" not in svg


def test_a_chart_is_told_in_words_and_numbers(drawn: tuple[Chart, Chart]) -> None:
    chart = drawn[0]
    assert re.search(r"\d", chart.says)
    assert chart.rows
    assert all(len(row) == len(chart.header) for row in chart.rows)
    shown = figure(chart)
    assert 'role="img"' in shown
    assert f'aria-labelledby="{chart.name}-title {chart.name}-desc"' in shown
    assert f'<desc id="{chart.name}-desc">' in shown
    assert "<details><summary>The numbers</summary>" in shown


def test_nothing_to_draw_is_no_chart(alone: Facts) -> None:
    assert reliability_chart(alone.spreads) is None
    assert noise_chart(alone.noise) is None
    assert matched_chart(alone.matched) is None
    assert calibration_chart(alone.slices, None) is None
    assert confidence_chart(alone.slices) is None
    assert training_curves(()) is None
    assert bubble_chart(()) is None
    assert agreement_map(pairs(Votes.from_array([[0]]))) is None
    assert confusion_chart(np.zeros((2, 2)), ("a", "b")) is None


def test_a_hundred_sources_are_drawn_in_bounded_space() -> None:
    rng = np.random.default_rng(0)
    votes = Votes.from_array(rng.integers(-1, 3, (200, 100)))
    chart = agreement_map(pairs(votes))
    assert chart is not None
    assert len(chart.svg) < 800_000
    assert f"The {MOST} of 100 sources" in chart.says
    estimate = Share(0.7, 0.6, 0.8, 50)
    many = [
        SourceFacts(f"source {j}", ("a",), 50, 0.01 * (j + 1), 0.1, 0.1, 0.01, estimate, None)
        for j in range(100)
    ]
    bubbles = bubble_chart(many)
    assert bubbles is not None
    assert len(bubbles.rows) == 100


def test_names_beside_bubbles_do_not_cover_each_other() -> None:
    from unruly.report.charts.labels import _box, _free, _shared

    taken = [(95.0, 95.0, 105.0, 105.0)]
    frame = (0.0, 0.0, 300.0, 300.0)
    for _ in range(5):
        free = _free(100, 100, 5, 60, 12, taken, frame)
        assert free is not None
        box = _box(100 + free[0], 100 + free[1], 60, 12)
        assert sum(_shared(box, other) for other in taken) == 0
        taken.append(box)
    everywhere = [(0.0, 0.0, 300.0, 300.0)]
    assert _free(100, 100, 5, 60, 12, everywhere, frame) is None


def test_long_histories_keep_the_kept_epoch_in_their_numbers() -> None:
    history = [Epoch(n, 1 / n, 1 / n, 0.0, 2 / n, 0, 0.5, kept=n == 123) for n in range(1, 501)]
    chart = training_curves(history)
    assert chart is not None
    assert len(chart.rows) < 70
    assert [row[0] for row in chart.rows if "kept" in row[0]] == ["123 (kept)"]
    assert "self-training</text>" not in chart.svg  # a loss that is always 0 is not drawn
