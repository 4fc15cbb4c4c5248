"""`unruly diff`: two states of the rules, two models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.cli.conftest import FIT, Unruly


def edited(spam: Path, tmp_path: Path) -> Path:
    other = tmp_path / "other"
    shutil.copytree(spam, other)
    toml = other / "unruly.toml"
    toml.write_text(toml.read_text().replace("max_words = 4", "max_words = 9"))
    return other


def test_nothing_changed(unruly: Unruly, spam: Path, fitted: Path) -> None:
    assert unruly("diff", spam, spam).out == "nothing changed\n"
    assert unruly("diff", fitted, fitted).out == "nothing changed\n"


def test_an_edited_rule(unruly: Unruly, spam: Path, tmp_path: Path) -> None:
    plain = json.loads(unruly("diff", spam, edited(spam, tmp_path), "--json").out)
    changed = [source for source in plain["sources"] if source["kind"] == "edited"]
    assert len(changed) == 1
    assert changed[0]["votes_after"] > changed[0]["votes_before"]
    assert changed[0]["changed"] == changed[0]["votes_after"] - changed[0]["votes_before"]
    assert plain["covered_after"] >= plain["covered_before"]
    out = unruly("diff", spam, tmp_path / "other").out
    assert f"{changed[0]['source']}: edited" in out
    assert "get another label" in out


def test_two_models(unruly: Unruly, spam: Path, fitted: Path, tmp_path: Path) -> None:
    other = edited(spam, tmp_path)
    assert unruly("fit", other, "-o", "new.unruly", *FIT, "--seed", "3", "-q").code == 0
    plain = json.loads(unruly("diff", fitted, "new.unruly", "--data", other, "--json").out)
    assert plain["settings"]["seed"] == [0, 3]
    assert sum(source["kind"] == "edited" for source in plain["sources"]) == 1
    assert 0 <= plain["labels"] <= 73


def test_models_that_differ_by_the_balance_alone(unruly: Unruly, spam: Path) -> None:
    lsa = ("--encoder", "lsa", "-q")
    assert unruly("fit", spam, "-o", "old.unruly", *lsa).code == 0
    assert unruly("fit", spam, "-o", "new.unruly", *lsa, "--prior", "spam is 1 in 4").code == 0
    out = unruly("diff", "old.unruly", "new.unruly").out
    assert "class shares: " in out
    assert "ham 75.0%, spam 25.0% (stated)" in out
    assert "reliability 0." in out


def test_a_model_and_a_project(unruly: Unruly, spam: Path, fitted: Path) -> None:
    done = unruly("diff", fitted, spam)
    assert done.code == 2
    assert "compare two models, or two projects" in done.err
