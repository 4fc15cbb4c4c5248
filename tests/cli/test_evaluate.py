"""`unruly evaluate`: figures against gold, beside majority vote, with the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Unruly


def test_the_figures(unruly: Unruly, fitted: Path) -> None:
    data = fitted.parent / "spam" / "comments.csv"
    done = unruly("evaluate", fitted, data, "--label", "is_spam")
    assert (done.code, done.err) == (0, "")
    for words in (
        "accuracy",
        "macro-F1",
        "F1 ham",
        "calibration error",
        "majority",
        "covered",
        "uncovered",
    ):
        assert words in done.out
    assert "gold labels: none in the model; 73 for scoring" in done.out


def test_a_project_and_the_usual_name_of_the_label_column(unruly: Unruly, fitted: Path) -> None:
    by_project = unruly("evaluate", fitted, fitted.parent / "spam", "--split", "train", "--json")
    plain = json.loads(by_project.out)
    assert plain["all"]["model"]["documents"] == 73
    Path("gold.csv").write_text("text,label\nplease subscribe,spam\nlovely song,ham\n")
    plain = json.loads(unruly("evaluate", fitted, "gold.csv", "--json").out)
    assert plain["all"]["model"]["documents"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text\nhello\n", "name the one with the gold labels by --label"),
        ("text,label\nhello,eggs\n", "the label 'eggs' is not a class"),
        ("text,label\nhello,\n", "no document has a gold label"),
        ("text,label\n", "gold.csv"),
    ],
)
def test_nothing_to_score_against(unruly: Unruly, fitted: Path, text: str, message: str) -> None:
    Path("gold.csv").write_text(text)
    done = unruly("evaluate", fitted, "gold.csv")
    assert done.code == 2, done.out
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_project_without_a_test_file_is_told_of_its_other_file(
    unruly: Unruly, fitted: Path
) -> None:
    spam = fitted.parent / "spam"
    done = unruly("predict", fitted, spam, "-o", "out.csv")
    assert done.code == 2
    assert f"a file in place of the project, such as {spam / 'comments.csv'}" in done.err
