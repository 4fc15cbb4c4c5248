"""Checking a project: failures are found where they are written."""

from __future__ import annotations

from pathlib import Path

from unruly.project.checking import check_project
from unruly.project.starter import make_starter

TOML = """\
[task]
classes = ["ham", "spam"]
[data]
train = "comments.csv"
[[source]]
name = "a"
[[source.rule]]
label = "ham"
keywords = ["song"]
[[source.rule]]
label = "spam"
keywords = ["free"]
examples = [
    "free",
    "gratis",
]
[[source]]
name = "b"
rule = [{ label = "spam", keywords = ["win"], counter_examples = ["we win", "winner"] }]
"""


def test_the_starter_holds(tmp_path: Path) -> None:
    checked = check_project(make_starter(tmp_path / "spam"))
    assert checked.holds
    assert checked.examples == 14
    assert checked.summary.documents == 73


def test_each_failure_has_its_line(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")
    (folder / "unruly.toml").write_text(TOML)
    checked = check_project(folder)
    assert not checked.holds
    assert checked.examples == 4
    assert [str(failure) for failure in checked.failures] == [
        f"{folder / 'unruly.toml'}:15: source 'a', rule 2 does not match its example 'gratis'",
        f"{folder / 'unruly.toml'}:19: source 'b', rule 1 matches its counter-example 'we win'",
    ]
    assert checked.to_plain()["failures"][1]["counter_example"] is True


def test_a_source_that_votes_for_a_class_far_more_often_than_it_occurs(tmp_path: Path) -> None:
    """By the stated prior alone: without one, nobody knows."""
    folder = make_starter(tmp_path / "spam")
    rules = 'keywords = ["song", "video", "love", "the", "a", "i"]'
    plain = TOML.replace('keywords = ["song"]', rules)
    (folder / "unruly.toml").write_text(plain)
    assert check_project(folder).too_frequent == ()
    stated = plain.replace("[data]", "prior = { ham = 0.05 }\n[data]", 1)
    (folder / "unruly.toml").write_text(stated)
    checked = check_project(folder)
    (fact,) = checked.too_frequent
    assert (fact.source, fact.label, fact.share) == ("a", "ham", 0.05)
    assert fact.votes > 0.1
    assert f"at most {0.05 / fact.votes:.0%} of these votes can be right" in str(fact)
    assert str(fact) in checked.problems
    assert checked.to_plain()["too_frequent"][0]["source"] == "a"
