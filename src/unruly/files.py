"""Files written whole or not at all, their digests, and where caches live."""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from unruly.errors import InputError, UnrulyWarning, Where, warn
from unruly.wording import listed

TABLES = (".parquet", ".csv", ".tsv", ".jsonl", ".ndjson")  # endings of tables that are written
STALE = 3600.0  # seconds without a change, after which what a killed run left is removed by runs for other outputs
_MARK = "unruly-"  # in the names of temporary folders
_REPLACED = "old"  # the folder that stood at an output, until the new one is there
_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # in what polars says
DIGEST = 32  # bytes before the contents of a cached file
_LARGE = 10_000_000  # bytes: of larger files, size and time stand for the contents


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; the file there is moved to `path` when the block ends without an error.

    Otherwise what was at `path` stays untouched, and nothing half-written is left. A folder is never replaced.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "a.txt") as part:
    ...     _ = part.write_text("all of it")
    >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
    ('all of it', 1)
    """
    target = Path(path)
    check_no_folder(target)
    with _scratch_beside(target) as scratch:
        part = scratch / target.name
        with _as_system_errors():
            yield part
        check_no_folder(target)  # made meanwhile
        os.replace(part, target)


@contextmanager
def folder_written_whole(path: str | Path, own: Collection[str] = ()) -> Iterator[Path]:
    """The same for a folder: yield an empty one beside `path`, which gets its name when the block ends without an error.

    An existing folder is replaced only if it is empty, or holds nothing but files named `own`, which the caller writes.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp())
    >>> with folder_written_whole(target) as part:
    ...     _ = (part / "a.txt").write_text("all of it")
    >>> [path.name for path in target.iterdir()]
    ['a.txt']
    """
    target = Path(path)
    _check_replaceable(target, own)
    with _scratch_beside(target) as scratch:
        part = scratch / target.name
        part.mkdir()
        yield part
        _check_replaceable(target, own)
        if target.is_dir():
            target.rename(scratch / _REPLACED)
        part.rename(target)


@contextmanager
def _as_system_errors() -> Iterator[None]:
    """What the system refuses is an OSError, also where polars, which writes Parquet, has an error of its own for it."""
    try:
        yield
    except Exception as error:
        found = _OS_ERROR.search(str(error))
        if found is None or not type(error).__module__.startswith("polars"):
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from error


def _check_replaceable(target: Path, own: Collection[str]) -> None:
    if not (target.exists() or target.is_symlink()):
        return
    here = Where(str(target))
    if target.is_symlink() or not target.is_dir():
        raise InputError(
            "cannot make a folder there: the name is taken, choose another", where=here
        )
    if other := sorted(
        file.name for file in target.iterdir() if file.name not in own or file.is_dir()
    ):
        raise InputError(
            f"cannot write there: the folder holds other things ({listed(other, 3)}): choose another one",
            where=here,
        )


@contextmanager
def _scratch_beside(target: Path) -> Iterator[Path]:
    """A temporary folder beside the target; those that killed runs left there are removed."""
    check_folder_of(target)
    check_no_device(target)
    try:
        _clear_leftovers(target.parent, f".{target.name}.{_MARK}")
        scratch = _marked_folder(target.parent, f".{target.name}.{_MARK}")
    except OSError as error:
        raise InputError(
            f"cannot write there: {os_reason(error)}", where=Where(str(target))
        ) from None
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A temporary folder for this process; if it is killed, the next run removes the folder.

    >>> with temporary_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    place = Path(tempfile.gettempdir())
    _clear_leftovers(place, _MARK)
    scratch = _marked_folder(place, _MARK)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _marked_folder(place: Path, beginning: str) -> Path:
    """A new folder whose name holds the machine and the process that it belongs to."""
    return Path(tempfile.mkdtemp(prefix=f"{beginning}{platform.node()}-{os.getpid()}-", dir=place))


def check_can_write(target: Path) -> None:
    """Refuse an output that cannot be written, by trying: permissions say nothing of a name that is too long."""
    with _scratch_beside(target):
        pass


def check_no_folder(target: Path) -> None:
    """Refuse a folder where a file is to be written."""
    if target.is_dir():
        raise InputError(
            "cannot write there: it is a folder: pass a file", where=Where(str(target))
        )


def check_folder_of(target: Path) -> None:
    """Refuse an output whose folder is not there."""
    if not target.absolute().parent.is_dir():
        raise InputError(
            f"cannot write there: the folder {target.parent} does not exist",
            where=Where(str(target)),
        )


def check_not_input(target: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that would overwrite an input, also under another path to the same file."""
    for path in inputs:
        if _same_file(target, path):
            shown = "" if str(path) == str(target) else f", as {path}"
            raise InputError(
                f"cannot write there: this file is one of the inputs{shown}: choose another",
                where=Where(str(target)),
            )


def _same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)  # also by links, and where case does not matter
    except (OSError, ValueError):  # one of them is not there
        return os.path.realpath(one) == os.path.realpath(other)


def os_reason(error: OSError) -> str:
    """Why the system refuses, and what to do about it.

    >>> os_reason(OSError(errno.ENOSPC, "No space left on device"))
    'No space left on device: free some, or write elsewhere'
    """
    remedy = {
        errno.EACCES: "change its permissions, or choose another place",
        errno.EPERM: "change its permissions, or choose another place",
        errno.EROFS: "choose another place",
        errno.ENOSPC: "free some, or write elsewhere",
        errno.EDQUOT: "free some, or write elsewhere",
        errno.ENAMETOOLONG: "choose a shorter name",
        errno.EMFILE: "allow more open files (ulimit -n)",
        errno.ENOENT: "check the path",
        errno.ENOTDIR: "check the path",
        errno.EISDIR: "pass a file",
        errno.ELOOP: "point the link at a real file",
    }.get(error.errno or 0, "")
    return f"{error.strerror or error}{remedy and ': ' + remedy}"


def check_name(name: str) -> str:
    """The name of a file, if a file system can hold it; opening such a file would raise other errors.

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


def check_utf8(path: Path) -> None:
    r"""Refuse a name that is not in UTF-8, where a text or a page has to hold it.

    >>> check_utf8(Path(os.fsdecode(b"caf\xe9")))
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: caf\udce9: the name is not in UTF-8, and so cannot be written down: choose another
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise InputError(
            f"{shown}: the name is not in UTF-8, and so cannot be written down: choose another"
        ) from None


def check_no_device(target: Path) -> None:
    """Refuse a pipe or a device as an output: a file moved to its path would replace it."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise InputError(
            "cannot write there: it is a pipe or a device: pass a file", where=Where(str(target))
        )


def _clear_leftovers(place: Path, beginning: str) -> None:
    """Remove the temporary folders of this user's killed runs on this machine, known by their names.

    Those of the same output go at once, those of others when nothing was written to them for an hour: a process that
    cannot be seen from here, as in another container, would look dead.
    """
    ours = re.compile(rf"((?:\..+\.)?{_MARK}){re.escape(platform.node())}-(\d+)-.+", re.DOTALL)
    for folder in place.iterdir():
        found = ours.fullmatch(folder.name)
        if found is None or is_running(int(found[2])):
            continue
        with suppress(OSError):
            own = not hasattr(os, "getuid") or folder.lstat().st_uid == os.getuid()
            if own and (found[1] == beginning or _is_stale(folder)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_stale(scratch: Path) -> bool:
    """Whether nothing in a temporary folder was written of late, nor is it all that is left of a folder to be replaced."""
    newest = max(path.lstat().st_mtime for path in (scratch, *scratch.rglob("*")))
    return time.time() - newest > STALE and not (scratch / _REPLACED).exists()


def is_running(process: int) -> bool:
    """Whether a process of this machine still runs, as far as that can be known."""
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
    """Whether a process has ended but is still listed, because its parent never asked for its exit code."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux, or gone meanwhile
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]  # after the name, which may hold anything


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_state(path: str | Path) -> str:
    """What changes with the contents: a digest, for a folder that of its names; "" where nothing is.

    >>> file_state("no such file"), len(file_state("."))
    ('', 64)
    """
    try:
        about = os.stat(path)
        if about.st_size > _LARGE:
            return f"{about.st_size} {about.st_mtime_ns}"
        if os.path.isdir(path):
            names = "\0".join(sorted(os.listdir(path)))
            return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()
        return sha256(Path(path))
    except (OSError, ValueError):
        return ""


def unchanged(states: Mapping[str, str]) -> bool:
    """Whether all files are as they were when these states were taken."""
    return all(file_state(path) == state for path, state in dict(states).items())


def cache_folder() -> Path:
    """Where caches are kept: `$UNRULY_CACHE`, else the user's cache folder."""
    if given := os.environ.get("UNRULY_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "unruly"


class CacheWarning(UnrulyWarning):
    """A cache was damaged or cannot be written; the work goes on without it."""


@dataclass(frozen=True)
class CacheFiles:
    """The files of a cache, one folder deep, known by their names; no other file is ever counted or deleted.

    Each begins with a digest of its name and contents: one that is damaged counts as missing. It is written whole, so
    several processes may share the folder.

    >>> import tempfile
    >>> kept = CacheFiles(Path(tempfile.mkdtemp()) / "cache", re.compile(r"ab/.+"))
    >>> (
    ...     kept.write("ab/one", b"contents", "nothing is kept"),
    ...     kept.read("ab/one", "it is made again"),
    ... )
    (True, b'contents')
    >>> kept.clear() > 0, kept.read("ab/one", "it is made again")
    (True, None)
    """

    folder: Path
    names: re.Pattern[str]  # folder and name of a file, as in "ab/ab12.votes"

    def read(self, name: str, again: str) -> bytes | None:
        """What was kept under the name, marked as just used; a damaged file is deleted, and `again` is said to happen."""
        path = self.folder / name
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if data[:DIGEST] != _digest(name, data[DIGEST:]):
            with suppress(OSError):
                path.unlink()
            warn(f"the cache {self.folder} held a damaged entry: {again}", CacheWarning)
            return None
        with suppress(OSError):  # a read-only cache will do
            os.utime(path)  # the least recently used go first
        return data[DIGEST:]

    def write(self, name: str, body: bytes, unkept: str) -> bool:
        """Keep contents under a name; where that cannot be done, a warning says that they are `unkept`."""
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as part:
                part.write_bytes(_digest(name, body) + body)
        except (OSError, InputError) as error:
            why = error.strerror if isinstance(error, OSError) else error.message
            warn(f"the cache {self.folder} cannot be written ({why}): {unkept}", CacheWarning)
            return False
        return True

    def _folders(self) -> list[Path]:
        with suppress(OSError):
            return [p for p in self.folder.iterdir() if p.is_dir() and not p.is_symlink()]
        return []

    def __iter__(self) -> Iterator[tuple[int, int, Path]]:
        """When last used, bytes and path of every file."""
        for folder in self._folders():
            with suppress(OSError):
                for path in list(folder.iterdir()):
                    if self.names.fullmatch(f"{folder.name}/{path.name}"):
                        with suppress(OSError):  # another process was faster
                            about = path.lstat()
                            yield about.st_mtime_ns, about.st_size, path

    def size(self) -> int:
        """How many bytes they take."""
        return sum(size for _, size, _ in self)

    def clear(self) -> int:
        """Delete them and the folders that are then empty; returns the bytes freed."""
        freed = 0
        for _, size, path in list(self):
            with suppress(OSError):
                path.unlink()
                freed += size
        for folder in [*self._folders(), self.folder]:
            with suppress(OSError):
                folder.rmdir()  # where it is empty
        return freed

    def trim(self, limit: int) -> None:
        """Delete the least recently used files beyond `limit` bytes."""
        total = 0
        for _, size, path in sorted(self, reverse=True):
            total += size
            if total > limit:
                with suppress(OSError):
                    path.unlink()
                total -= size


def _digest(name: str, body: bytes) -> bytes:
    """Of the contents, and of the name under which they are kept."""
    return hashlib.blake2b(name.encode() + body, digest_size=DIGEST).digest()
