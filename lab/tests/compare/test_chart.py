"""The picture of a comparison: its panels, its bytes, and what it says when there is nothing to draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lab.tests.compare.test_table import BARE, GOLD

from unruly.errors import InputError
from unruly_lab.compare.chart import comparison_figure, draw_comparison

pytest.importorskip("matplotlib")


def test_panels_with_gold_and_without() -> None:
    titles = [ax.get_title(loc="left") for ax in comparison_figure(GOLD).axes]
    assert titles == ["on the test file", "held-out votes: log-likelihood", "same predictions, %"]
    bare = [ax.get_title(loc="left") for ax in comparison_figure(BARE).axes]
    assert bare == ["no gold labels", "same predictions, %"]


def test_the_dots_are_the_figures() -> None:
    first, unseen, same = comparison_figure(GOLD).axes
    accuracy = next(line for line in first.lines if line.get_label() == "accuracy")
    assert list(accuracy.get_xdata()) == [0.9, 0.9]
    assert list(unseen.lines[0].get_xdata()) == [-0.69, -0.4]
    assert [text.get_text() for text in same.texts] == ["100", "80", "80", "100"]
    names = [label.get_text() for label in first.get_yticklabels()]
    assert names == ["Majority vote  1", "BERT-MLP  2"]  # who did not run is not drawn


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_same_comparison_gives_the_same_bytes(
    ending: str, begins: bytes, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        draw_comparison(GOLD, tmp_path / f"{name}.{ending}")
    one, two = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("a", "b"))
    assert one == two
    assert one.startswith(begins)


def test_nothing_to_draw(tmp_path: Path) -> None:
    nobody = replace(GOLD, rows=GOLD.rows[2:], agreement=np.zeros((0, 0)))
    with pytest.raises(InputError, match="nothing to draw"):
        draw_comparison(nobody, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
