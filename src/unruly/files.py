"""Files written whole or not at all, their digests, and where caches live."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unruly.errors import InputError, Where

_MARK = "unruly-"  # in the names of temporary folders


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
        raise InputError(
            f"cannot write there: the folder {target.parent} does not exist",
            where=Where(str(target)),
        )
    check_no_device(target)
    _clear_leftovers(target)
    mark = f".{target.name}.{_MARK}{platform.node()}-{os.getpid()}-"
    try:
        room = Path(tempfile.mkdtemp(prefix=mark, dir=target.parent))
    except OSError as error:
        raise InputError(
            f"cannot write there: {error.strerror or error}", where=Where(str(target))
        ) from None
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


def check_name(name: str) -> str:
    """The name of a file as a user wrote it, or an error where no file system can hold it: asking would raise others.

    >>> check_name("words.txt"), check_name("a" * 300)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: 'aaaaaaaaaaaaaaaaaaaa…' is too long to be the name of a file
    """
    short = repr(name if len(name) <= 40 else f"{name[:20]}…")
    if "\0" in name:
        raise InputError(f"{short} cannot be the name of a file")
    if len(name) > 4000 or any(len(os.fsencode(part)) > 255 for part in Path(name).parts):
        raise InputError(f"{short} is too long to be the name of a file")
    return name


def check_no_device(target: Path) -> None:
    """Refuse a pipe or a device as an output: moving a file into its place would take it away."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise InputError(
            "cannot write there: it is a pipe or a device, name a file", where=Where(str(target))
        )


def _clear_leftovers(target: Path) -> None:
    """Remove what a killed run on this machine has left beside the target."""
    here = f".{target.name}.{_MARK}{platform.node()}-"
    for folder in target.parent.iterdir():
        process, _, _ = folder.name.removeprefix(here).partition("-")
        if folder.name.startswith(here) and process.isdecimal() and not _runs(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _runs(process: int) -> bool:
    if os.name != "posix":
        return True  # asking would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # someone else's, or not to be known
        return True
    return not _zombie(process)


def _zombie(process: int) -> bool:
    """Whether a process has ended and its parent has not asked for its exit code, which a container's may never do."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux, or gone meanwhile
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]  # after the name, which may hold anything


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def with_digest(body: bytes) -> bytes:
    """The SHA-256 of the bytes, then the bytes: so that damage is noticed."""
    return hashlib.sha256(body).digest() + body


def without_digest(data: bytes) -> bytes | None:
    """What `with_digest` was given; None where it is damaged.

    >>> without_digest(with_digest(b"kept")), without_digest(with_digest(b"kept")[:-1])
    (b'kept', None)
    """
    digest, body = data[:32], data[32:]
    return body if hashlib.sha256(body).digest() == digest else None


def cache_folder() -> Path:
    """Where caches are kept: `$UNRULY_CACHE`, else the user's cache folder."""
    if given := os.environ.get("UNRULY_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "unruly"


@contextmanager
def polars_errors(path: str | Path, kind: str) -> Iterator[None]:
    """Turn whatever polars raises over a damaged file, Rust panics included, into one `InputError`.

    A panic is a `BaseException`, which `except Exception` lets pass.

    >>> import polars as pl
    >>> with polars_errors("x.parquet", "Parquet"):
    ...     raise pl.exceptions.ComputeError("out of specification")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: x.parquet: cannot be read as Parquet (out of specification): is it whole, and is its ending right?
    """
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        first = (str(error).splitlines() or ["unknown reason"])[0]
        raise InputError(
            f"cannot be read as {kind} ({first}): is it whole, and is its ending right?",
            where=Where(str(path)),
        ) from None
