"""What notebooks show: short reprs, HTML with marked spans, nothing unescaped, and a bar."""

from __future__ import annotations

import io
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.planted import planted, quick

from unruly.html import escape, marked_html
from unruly.model.weak_classifier import WeakClassifier
from unruly.progress import SILENT, NotebookBar, stage, usual_progress


def test_answers_are_short_and_have_html(model: WeakClassifier) -> None:
    answers = model.predictions(["lovely song", "subscribe to my channel"] * 10)
    assert repr(answers) == "Predictions(20 documents: ham 10, spam 10)"
    page = answers._repr_html_()
    assert page.count("<tr>") == 11
    assert "the first 10" in page


def test_an_explanation_marks_what_rules_matched(model: WeakClassifier) -> None:
    told = model.explain("<i>subscribe</i> to my channel")
    assert len(repr(told)) < 120
    page = told._repr_html_()
    assert "&lt;i&gt;<mark" in page
    assert ">subscribe</mark>" in page
    assert "<i>" not in page


def test_summary_and_evaluation() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    found = model.evaluate(data.features, data.gold, data.votes)
    assert repr(found).startswith("Evaluation(accuracy ")
    page = found._repr_html_()
    assert "majority vote" in page
    told = str(found).splitlines()
    classes = next(i for i, line in enumerate(told) if line.startswith("class "))
    for line in told[classes + 1 + len(found.classes) :]:  # below the tables: as in a notebook
        assert f"<p>{escape(line)}</p>" in page
    assert repr(model.summary_).startswith("FitSummary(200 documents, ")
    assert "source_4" in model.summary_._repr_html_()


@given(
    st.text(alphabet="ab<>&\"' ", max_size=20),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.text('<>"a', max_size=3))),
)
def test_marking_keeps_the_text(text: str, raw: list[tuple[int, int, str]]) -> None:
    import html
    import re

    spans = [(min(a, b), max(a, b), w) for a, b, w in raw if min(a, b) < max(a, b) <= len(text)]
    page = marked_html(text, spans)
    plain = re.sub(r'<mark title="[^"<>]*">|</mark>', "", page)
    assert html.unescape(plain) == text
    assert "<" not in plain


def test_the_bar_of_notebooks_writes_over_itself() -> None:
    out = io.StringIO()
    bar = NotebookBar(out)
    with stage(bar, "training", 4, "epochs"):
        for _ in range(4):
            bar.advance(1)
            bar._drawn = 0.0
    shown = out.getvalue()
    assert "training" in shown
    assert "4/4 epochs" in shown
    assert "\n" not in shown
    assert shown.split("\r")[-2].strip() == ""  # the line is cleared at the end


def test_a_bar_in_notebooks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert usual_progress() is SILENT

    class ZMQInteractiveShell:
        """What a notebook's kernel calls itself."""

    fake = ModuleType("IPython")
    fake.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", fake)
    assert isinstance(usual_progress(), NotebookBar)
    fake.get_ipython = lambda: None  # type: ignore[attr-defined]
    assert usual_progress() is SILENT
