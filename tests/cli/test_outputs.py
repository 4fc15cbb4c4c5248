"""A place for the output is looked for before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from unruly.cli.outputs import TABLES, check_output
from unruly.errors import InputError


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "A.CSV", "b.tsv", "c.jsonl"])
def test_places_that_will_do(tmp_path: Path, name: str) -> None:
    check_output(tmp_path / name, TABLES)
    (tmp_path / name).write_text("old")
    check_output(tmp_path / name, TABLES)
    assert (tmp_path / name).read_text() == "old"


def test_any_ending_where_none_is_asked_for(tmp_path: Path) -> None:
    check_output(tmp_path / "model.anything")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.xlsx", "cannot write '.xlsx' files: use .parquet, .csv, .tsv or .jsonl"),
        ("a", "cannot write a file without an ending"),
        ("no/a.csv", "does not exist"),
        ("folder.csv", "it is a folder, name a file"),
    ],
)
def test_places_that_will_not(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=message):
        check_output(tmp_path / name, TABLES)
