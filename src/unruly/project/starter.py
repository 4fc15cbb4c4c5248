"""The folder that `unruly new` makes: a small project that works at once, to be edited."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from unruly.errors import InputError
from unruly.files import written_whole

STARTER_FILES = ("unruly.toml", "comments.csv", "README.md")


def make_starter(folder: str | Path) -> Path:
    """Write the starter project into a new folder; an existing one is never touched.

    >>> import tempfile
    >>> made = make_starter(Path(tempfile.mkdtemp()) / "spam")
    >>> sorted(path.name for path in made.iterdir())
    ['README.md', 'comments.csv', 'unruly.toml']
    >>> make_starter(made)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: ...spam exists already: choose another name
    """
    target = Path(folder)
    if target.exists() or target.is_symlink():
        raise InputError(f"{target} exists already: choose another name")
    with written_whole(target) as part:
        part.mkdir()
        for name in STARTER_FILES:
            text = (
                files("unruly.project").joinpath("starter_files", name).read_text(encoding="utf-8")
            )
            if name == "README.md":
                text = text.replace("{name}", target.name)
            (part / name).write_text(text, encoding="utf-8")
    return target
