"""`unruly worth`: the table, the sentence, and what it says when there is nothing to compare with."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Unruly


def test_the_starter_project(unruly: Unruly) -> None:
    assert unruly("new", "spam").code == 0
    done = unruly("worth", "spam", "--encoder", "lsa", "--draws", "2", "--json")
    assert (done.code, done.err) == (0, "")
    plain = json.loads(done.out)
    assert "sentence" not in plain
    assert plain["hand_labels"][0]["labels"] == 10
    assert plain["gold_free"] is True
    assert plain["ledger"][0]["labels"] == 36
    table = unruly("worth", "spam", "--encoder", "lsa", "--draws", "2")
    assert "spread over draws" in table.out
    assert "for scoring (training labels of the classifier that" in " ".join(table.out.split())


def test_without_gold_it_says_what_to_do(unruly: Unruly) -> None:
    assert unruly("new", "spam").code == 0
    project = Path("spam/unruly.toml")
    lines = project.read_text("utf-8").splitlines()
    project.write_text(
        "\n".join(x for x in lines if not x.startswith('label = "is_spam"')), "utf-8"
    )
    done = unruly("worth", "spam", "--encoder", "lsa")
    assert done.code == 2
    assert "no training document has a gold label" in done.err
    assert "unruly label" in done.err
