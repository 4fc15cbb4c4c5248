"""Files written whole or not at all, and where caches live."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unruly.errors import InputError


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it into place only when the block ends well.

    The block may make a file or a folder at the temporary path. When it raises, or is interrupted,
    whatever was at `path` before is untouched and nothing half-written is left.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "a.txt") as part:
    ...     _ = part.write_text("all of it")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('all of it', 1)
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{target}: cannot write there: the folder {target.parent} does not exist")
    room = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    part = room / target.name
    try:
        yield part
        if target.is_dir() and not target.is_symlink():
            old = room / "old"
            target.rename(old)
            part.rename(target)
        else:
            os.replace(part, target)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def cache_folder() -> Path:
    """Where caches are kept: `$UNRULY_CACHE`, else the user's cache folder."""
    if given := os.environ.get("UNRULY_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "unruly"
