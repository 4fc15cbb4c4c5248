"""Pictures: the same bytes for the same figure, and nothing but the picture in them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from unruly.drawing import Style
from unruly.errors import MissingExtraError

STYLE = Style("#111111", "#222222", "#333333", "white", 10.0, purpose="the pictures of this test")


def drawn(style: Style, name: str = "some") -> str:
    figure = style.figure(200, 100)
    style.quiet(figure.add_subplot(1, 1, 1)).plot([1, 2], [3, 4])
    return style.svg(figure, name)


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert drawn(STYLE) == drawn(STYLE)
    assert drawn(STYLE, "other") != drawn(STYLE)  # ids differ, so that two can stand on one page


def test_nothing_but_the_picture() -> None:
    svg = drawn(STYLE)
    assert "<metadata>" not in svg
    assert "<!--" not in svg
    assert "<text" in svg  # letters stay letters
    assert 'width="200pt" height="100pt"' in svg


def test_colours_are_those_of_the_style() -> None:
    assert {"#111111", "#222222", "#333333"} <= set(re.findall(r"#[0-9a-f]{6}", drawn(STYLE)))


def test_paper_may_be_left_out() -> None:
    white = "fill: #ffffff"
    assert white in drawn(STYLE)
    assert white not in drawn(replace(STYLE, paper="none"))


def test_a_missing_library_is_told_with_the_purpose() -> None:
    with pytest.raises(MissingExtraError, match="the pictures of this test"):
        STYLE.module("matplotlib_is_not_here")
