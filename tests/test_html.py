"""Charts as SVG text: scales, ticks, frames, and text that stays text."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.html import (
    INK,
    MODEL,
    Frame,
    Scale,
    escape,
    label,
    legend,
    line,
    number,
    percent_ticks,
    picture,
    rect,
)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_gives_well_formed_svg_and_no_other_element(text: str) -> None:
    svg = picture(100, 50, label(10, 10, text), legend([(text, MODEL, "area")], 0))
    svg.encode("utf-8")
    root = ET.fromstring(svg)
    tags = [node.tag.rpartition("}")[2] for node in root.iter()]
    assert tags == ["svg", "text", "rect", "text"]
    assert "".join(root[0].itertext()) == "".join(c for c in text if escape(c) and c != "\r")


def test_a_scale_maps_ends_to_ends() -> None:
    assert [Scale(0, 10, 100, 200)(v) for v in (0, 5, 10)] == [100, 150, 200]
    assert [Scale(0, 10, 200, 100)(v) for v in (0, 10)] == [200, 100]
    assert [Scale(10, 0, 0, 1)(v) for v in (10, 0)] == [0, 1]
    assert Scale(0.01, 1, 0, 100, log=True)(0.1) == pytest.approx(50)
    assert Scale(3, 3, 0, 100)(3) == 50


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(3, 10))
def test_ticks_are_few_and_within_the_scale(low: float, span: float, most: int) -> None:
    ticks = Scale(low, low + span, 0, 1).ticks(most)
    assert len(ticks) <= most + 1
    assert all(low - 1e-3 * span <= tick <= low + 1.001 * span for tick in ticks)
    assert ticks == sorted(set(ticks))


def test_a_frame_draws_its_axes() -> None:
    frame = Frame.of((0, 1), (0, 1), size=(200, 100))
    svg = frame.svg(
        frame.x_axis(percent_ticks(frame.x), "right"),
        frame.y_axis(percent_ticks(frame.y), "up"),
        rect(frame.x(0.5), frame.y(0.5), 10, 10, MODEL, 0.5),
        line([(0, 0), (1, 1)], INK, dash="2 2"),
    )
    root = ET.fromstring(svg)
    assert root.attrib["viewBox"] == "0 0 200 100"
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert {"right", "up", "0%", "100%"} <= set(texts)
    rows = Frame.rows(["first", "second"], (0, 1), 20)
    assert rows.y(0) < rows.y(1)


def test_numbers_are_short() -> None:
    assert [number(v) for v in (0.04, -0.04, 12.345, 7)] == ["0", "0", "12.3", "7"]


def test_nothing_but_the_standard_library_is_needed() -> None:
    code = "import sys, unruly.html; print(sorted({'matplotlib', 'numpy', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
