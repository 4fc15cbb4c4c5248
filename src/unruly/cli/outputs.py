"""Is there a place for the output? Asked before the work, not after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unruly.errors import InputError

TABLES = (".parquet", ".csv", ".tsv", ".jsonl")


def check_output(path: Path, endings: Sequence[str] = ()) -> None:
    """Refuse a missing folder, a folder in place of a file, and an ending that is not known.

    >>> check_output(Path("votes.xlsx"), TABLES)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: votes.xlsx: cannot write '.xlsx' files: use .parquet, .csv, .tsv or .jsonl
    """
    if endings and path.suffix.lower() not in endings:
        known = " or ".join([", ".join(endings[:-1]), endings[-1]])
        what = f"{path.suffix!r} files" if path.suffix else "a file without an ending"
        raise InputError(f"{path}: cannot write {what}: use {known}")
    if path.is_dir():
        raise InputError(f"{path}: cannot write there: it is a folder, name a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: cannot write there: the folder {path.parent} does not exist")
