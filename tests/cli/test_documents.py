"""What DATA may be: a file, a project, or a folder in WRENCH's layout."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Unruly

from unruly.cli.documents import must_have_gold, named, with_gold
from unruly.errors import InputError

CLASSES = ("ham", "spam")


@pytest.fixture
def wrench(tmp_path: Path) -> Path:
    folder = tmp_path / "wrench"
    folder.mkdir()
    (folder / "label.json").write_text('{"0": "ham", "1": "spam"}')
    rows = {"7": ("please do subscribe to us", 1), "8": ("what a lovely song this is", 0)}
    for split in ("train", "valid", "test"):
        plain = {
            key: {"label": label, "weak_labels": [-1], "data": {"text": f"{text}, {split}"}}
            for key, (text, label) in rows.items()
        }
        (folder / f"{split}.json").write_text(json.dumps(plain))
    return folder


def test_a_project_gives_its_file_and_columns_and_options_override(spam: Path) -> None:
    found = named(spam, "train")
    assert (found.path, found.text, found.label) == (spam / "comments.csv", "comment", "is_spam")
    assert named(spam / "unruly.toml", "train") == found
    assert named(spam, "train", text="other").text == "other"
    assert len(found.read(CLASSES, "train")) == 73


def test_the_label_column_is_found_where_it_has_the_usual_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,gold\nx,ham\n")
    assert with_gold(named(tmp_path / "a.csv", "test")).label == "gold"
    (tmp_path / "a.csv").write_text("text,other\nx,ham\n")
    assert with_gold(named(tmp_path / "a.csv", "test")).label is None


def test_a_wrench_folder_can_be_evaluated_and_predicted(
    unruly: Unruly, fitted: Path, wrench: Path
) -> None:
    done = unruly("evaluate", fitted, wrench, "--split", "valid", "--json")
    assert json.loads(done.out)["all"]["model"]["documents"] == 2
    assert unruly("predict", fitted, wrench, "-o", "out.csv").code == 0
    out = pl.read_csv("out.csv")
    assert out["text"].to_list()[0].endswith(", test")
    assert out.columns[:3] == ["id", "text", "label"]


def test_scoring_needs_a_label_column_and_says_how_to_name_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("comment,is_spam\nhello,0\n")
    with pytest.raises(InputError, match=r"by --label \(there are comment, is_spam\)"):
        must_have_gold(named(tmp_path / "a.csv", "test"))
    assert must_have_gold(named(tmp_path / "a.csv", "test", label="is_spam")).label == "is_spam"
