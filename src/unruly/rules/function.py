"""`function`: a Python function that sees the document and returns a class name or None; and which files it reads."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import get_ident
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.files import file_state, sha256, unchanged
from unruly.rules.column import refuse_label
from unruly.rules.condition import (
    ID,
    TEXT,
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    RowFailure,
    Table,
    suggestion,
)
from unruly.votes.votes import ABSTAIN
from unruly.wording import listed

ALWAYS = ("id", "text")  # that every document has for a function
_MODULE = "unruly_rules_"  # before a digest: the name of a function file as a module
# Audit events: a file or a folder is read, a process started, which may read any.
_OPENED = ("open", "sqlite3.connect", "os.listdir", "os.scandir")
_STARTED = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn")
_NO_FILES = ("/proc/", "/sys/", "/dev/")  # what the system shows as files
# Libraries that open files past Python, and functions of pandas that hand this to one of them.
_OPEN_UNSEEN = frozenset(
    ["polars", "pyarrow", "duckdb", "h5py", "read_parquet", "read_feather", "read_orc", "read_hdf"]
)


class NoColumn(AttributeError):
    """A function asked for a column that the documents do not have."""


class Document(SimpleNamespace):
    """What a rule function sees: `row.text`, `row.id` and the other columns, also as `row["name"]`.

    The text is `row.text` whatever its column is called, so that a function also works where there is a text alone.

    >>> Document(text="hello", stars=5)["stars"]
    5
    """

    def __getattr__(self, column: str) -> Any:
        if column.startswith("__"):
            raise AttributeError(column)
        others = [name for name in vars(self) if name != "text"]
        there = f"; the other columns are {listed(others)}" if others else ""
        raise NoColumn(
            f"there is no column {column!r}: the text is always .text{there}", name=column, obj=self
        )

    def __getitem__(self, column: str) -> Any:
        return getattr(self, column)


@dataclass(frozen=True, eq=False)
class RuleFunction:
    """A function marked with `@unruly.rule` or `@unruly.labeling_function`; calling it works as before.

    `pre` are functions that the document goes through first; `resources` are given by name.
    """

    function: Callable[..., object]
    label: str = ""  # its name, where it is not the function's own
    resources: Mapping[str, Any] = field(default_factory=dict)
    pre: Sequence[Callable[[Any], Any]] = ()
    numbered: bool = False  # whether class numbers count, -1 to abstain

    @property
    def name(self) -> str:
        return self.label or getattr(self.function, "__name__", "function")

    def __call__(self, row: Any) -> object:
        for step in self.pre:
            row = step(row)
        return self.function(row, **self.resources)

    def __repr__(self) -> str:
        return f"<{'labeling_function' if self.numbered else 'rule'} {self.name}>"


def rule(function: Callable[[Any], object]) -> RuleFunction:
    """Mark a function as a rule: it sees a document and returns a class name, or None to abstain.

    >>> @rule
    ... def shouting(row):
    ...     return "spam" if row.text.isupper() else None
    >>> shouting(Document(text="SUBSCRIBE"))
    'spam'
    """
    if not callable(function):
        raise RuleError("@unruly.rule stands above a function, without brackets")
    return RuleFunction(function)


@overload
def labeling_function(name: Callable[..., object]) -> RuleFunction: ...
@overload
def labeling_function(
    name: str | None = None,
    resources: Mapping[str, Any] | None = None,
    pre: Sequence[Callable[[Any], Any]] | None = None,
) -> Callable[[Callable[..., object]], RuleFunction]: ...
def labeling_function(
    name: str | Callable[..., object] | None = None,
    resources: Mapping[str, Any] | None = None,
    pre: Sequence[Callable[[Any], Any]] | None = None,
) -> RuleFunction | Callable[[Callable[..., object]], RuleFunction]:
    """`@unruly.rule` as Snorkel's users know it: class numbers count, and -1 abstains.

    `resources` are passed to the function by name; each of `pre` turns the document into what the
    next one sees. Class names, and None to abstain, count here too.

    >>> @labeling_function(resources={"words": {"subscribe"}})
    ... def advert(x, words):
    ...     return 1 if words & set(x.text.lower().split()) else -1
    >>> advert(Document(text="Subscribe now"))
    1
    """
    if callable(name):
        return RuleFunction(name, numbered=True)

    def mark(function: Callable[..., object]) -> RuleFunction:
        return RuleFunction(function, name or "", dict(resources or {}), tuple(pre or ()), True)

    return mark


@dataclass(frozen=True)
class Function(Condition):
    """The function's answer is the vote; an exception is an error, never an abstention.

    A column that is known to be absent is no exception: where the function asks for it, its source abstains. Takes what `@unruly.rule` or `@unruly.labeling_function` made, or a Snorkel `LabelingFunction` as
    it is (its class numbers are those of the task, -1 abstains).
    """

    function: Callable[[Any], object]
    name: str = ""
    file: str | None = None  # as the project file names it
    digest: str | None = None  # of the file's contents
    files: FunctionFiles | None = field(default=None, compare=False, repr=False)  # of its folder
    absent: tuple[str, ...] = ()  # columns of the training documents that those at hand do not have
    picks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_rule_function(self.function):
            raise RuleError(
                f"{self.function!r} is neither marked with @unruly.rule nor a Snorkel "
                "LabelingFunction: put @unruly.rule above the function"
            )
        if not self.name:
            object.__setattr__(self, "name", str(getattr(self.function, "name", "function")))

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Function:
        """From the key `function`, a table with `file` and `name`."""
        keys = ("file", "name")
        here, inner = place.section(table, "function", keys, needed=keys)
        path = here.at("file").file(inner["file"])
        name = here.at("name").text(inner["name"])
        with here.blamed():
            digest = sha256(path)
            module, files = load_file(path.resolve(), digest)
            function, file = _named(module, name, path), str(inner["file"])
            return cls(function, name, file, digest, files)

    @property
    def vote_column(self) -> str:
        """The column that holds its answers while rules are matched."""
        return f"__function:{self.name}:{id(self.function)}"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        # Not cached by itself: the source's own votes are kept instead.
        return Needs(measures=(Measure(self.vote_column, partial(self._votes, classes)),))

    def mask(self) -> pl.Expr:
        raise RuleError("a function picks the class itself: make it a rule of its own")

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "a function")
        cast = pl.col(self.vote_column)
        return cast.clip(lower_bound=ABSTAIN) if self.absent else cast

    def reason(self) -> str:
        return f"function: {self.name}"

    def to_plain(self) -> Table:
        if self.file is None:
            raise RuleError(
                f"the function {self.name} was given in Python and cannot be written to a project "
                "file: put it into a file of its own and name that"
            )
        return {"function": {"file": self.file, "name": self.name}}

    def meaning(self) -> Plain | None:
        """The file's contents; what it reads and imports comes to light at work (`files_read`)."""
        if self.digest is None or self.file is None or self.absent:
            return None
        return [self.digest, self.name]

    def files_read(self) -> Mapping[str, str] | None:
        """The modules and other files that the function's file and its functions have read in this process.

        Not known are the network, the environment and the clock, and whatever a library keeps to itself that is not in
        `_OPEN_UNSEEN`.
        """
        return None if self.files is None else self.files.files_read()

    def _votes(self, classes: tuple[str, ...], frame: pl.DataFrame) -> pl.Series:
        """The answers as class numbers, null to abstain; below 0 where it asks for an absent column: -1 for the first."""
        with nullcontext() if self.files is None else self.files.read.recorded():
            return self._answers(classes, frame)

    def _answers(self, classes: tuple[str, ...], frame: pl.DataFrame) -> pl.Series:
        own = {"id": pl.col(ID), "text": pl.col(TEXT)}
        seen = frame.with_columns(**own).drop(ID, TEXT)
        votes: list[int | None] = []
        for number, row in enumerate(seen.iter_rows(named=True)):
            try:
                answer = self.function(Document(**row))
            except Exception as error:
                if isinstance(error, NoColumn) and error.name in self.absent:
                    votes.append(-1 - self.absent.index(error.name))
                    continue
                problem = f"the function {self.name} raised {type(error).__name__}: {error}"
                raise RowFailure(number, " ".join(problem.split())) from error
            votes.append(self._number(answer, number, classes))
        return pl.Series(self.vote_column, votes, dtype=pl.Int32 if self.absent else pl.Int8)

    def lacking(self, answers: pl.Series) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Each absent column that it asked for, and on which documents."""
        for number, column in enumerate(self.absent):
            found = (answers == -1 - number).fill_null(False).to_numpy()
            if found.any():
                yield column, found

    def _number(self, answer: object, row: int, classes: tuple[str, ...]) -> int | None:
        if answer is None:
            return None
        if isinstance(answer, str) and answer in classes:
            return classes.index(answer)
        numbers = is_snorkel(self.function) or getattr(self.function, "numbered", False)
        numbered = numbers and isinstance(answer, int | np.integer)
        if numbered and -1 <= int(answer) < len(classes):  # type: ignore[call-overload]
            return None if answer == -1 else int(answer)  # type: ignore[call-overload]
        near = suggestion(answer, classes) if isinstance(answer, str) else ""
        raise RowFailure(
            row,
            f"the function {self.name} returned {answer!r}, which is not a class: "
            f"return one of {', '.join(classes)}, or None{near}",
        )


@dataclass(eq=False)
class FilesRead:
    """The files and folders that code reads while it is recorded, as Python's audit events tell of them.

    Not those of Python, of installed packages and of the system, nor what a library opens on its own, past Python.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = Path(folder, "words.txt").write_text("free")
    >>> read = FilesRead()
    >>> with read.recorded():
    ...     _ = Path(folder, "words" + ".txt").read_text()
    >>> [Path(path).name for path in read.states], unchanged(read.states)
    (['words.txt'], True)
    """

    states: dict[str, str] = field(default_factory=dict)  # when they were first read
    unseen: bool = False  # whether others may have been read, as by a process that was started

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record whatever this process reads in the block, in other threads too."""
        recording = _recording()
        recording.append(self)
        try:
            yield
        finally:
            recording.remove(self)

    def note(self, path: str) -> None:
        """Enter a file that is about to be read; of a compiled module its source."""
        if os.path.dirname(path).endswith("__pycache__"):
            with suppress(ValueError):
                path = importlib.util.source_from_cache(path)
        try:
            path = os.path.abspath(path)
        except OSError:  # the current folder is gone
            self.unseen = True
            return
        if path not in self.states and not path.startswith((*_NO_FILES, *_libraries())):
            self.states[path] = ""  # taking its state opens it again
            self.states[path] = file_state(path)


@functools.cache
def _recording() -> list[FilesRead]:
    """Those that record, made with the hook that tells them, which cannot be taken away again."""
    recording: list[FilesRead] = []

    def hear(event: str, details: tuple[object, ...]) -> None:
        if not recording:
            return
        if event in _STARTED or (event == "sqlite3.connect" and "file:" in str(details[0])):
            for read in recording:
                read.unseen = True
        elif event in _OPENED and (path := _path_read(event, details)) is not None:
            for read in recording:
                read.note(path)

    sys.addaudithook(hear)
    return recording


def _path_read(event: str, details: tuple[object, ...]) -> str | None:
    """The path in an event of `_OPENED`, if it is one and something is read there."""
    path = "." if details[0] is None else details[0]
    if not isinstance(path, str | bytes | os.PathLike):
        return None  # a file that is open already
    if event == "open":
        flags = details[2] if isinstance(details[2], int) else 0
        if flags & (os.O_WRONLY | os.O_TRUNC | os.O_EXCL):
            return None
    elif event != "sqlite3.connect" and "importlib" in sys._getframe(2).f_code.co_filename:
        return None  # looking for a module
    return os.fsdecode(path)


@functools.cache
def _libraries() -> tuple[str, ...]:
    """The folders of Python, of installed packages and of this one."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [*(sysconfig.get_path(kind) for kind in kinds), site.getusersitepackages()]
    paths += [*site.getsitepackages(), str(Path(__file__).parents[1])]
    both = {form for path in paths for form in (os.path.abspath(path), os.path.realpath(path))}
    return tuple(f"{path}{os.sep}" for path in sorted(both))


def source_file(function: object) -> str | None:
    """The name of the Python file that a function was written in, where there is one."""
    inner = getattr(function, "function", None) or getattr(function, "_f", None)
    code = getattr(inner, "__code__", None)
    path = Path(code.co_filename) if code is not None else None
    return path.name if path is not None and path.suffix == ".py" else None


def is_snorkel(function: object) -> bool:
    """Whether it is a Snorkel labelling function; Snorkel itself need not be here."""
    return any(kind.__name__ == "LabelingFunction" for kind in type(function).__mro__)


def is_rule_function(function: object) -> bool:
    """Whether it may be used as a rule."""
    return isinstance(function, RuleFunction) or is_snorkel(function)


@dataclass(eq=False)
class FunctionFiles:
    """The function files of one folder that were run in this process, and all that they and their functions have read.

    What one has read counts for all of the folder: they may share a module that keeps it.
    """

    read: FilesRead = field(default_factory=FilesRead)
    modules: dict[tuple[Path, str], ModuleType] = field(default_factory=dict)

    def run(self, path: Path, digest: str) -> ModuleType:
        """The file as a module, run once."""
        if (path, digest) not in self.modules:
            with self.read.recorded():
                module = _run(path, digest)
            if _names(str(path), digest) & _OPEN_UNSEEN:
                for named in _files_named(path):
                    self.read.note(str(named))
            self.modules[path, digest] = module
        return self.modules[path, digest]

    def files_read(self) -> Mapping[str, str] | None:
        """What was read so far, with its state then; None if that is not known."""
        states = dict(self.read.states)
        code = [item for item in states.items() if item[0].endswith(".py")]
        names = frozenset[str]().union(*(_names(*item) for item in code))
        elsewhere = {
            path
            for other in _folders().values()
            if other is not self
            for path in other.read.states
            if path not in states
        }
        shared = any(_file_of(name) in elsewhere for name in names)  # another folder imported it
        return None if self.read.unseen or shared or names & _OPEN_UNSEEN else states

    def forget_imports(self) -> None:
        """The modules that they imported are imported again where they are asked for next."""
        for name in list(sys.modules):
            if _file_of(name) in self.read.states and not name.startswith(_MODULE):
                del sys.modules[name]


@functools.cache
def _folders() -> dict[Path, FunctionFiles]:
    """The folders of function files that were run in this process."""
    return {}


def _file_of(module: str) -> str:
    """The file of a module that was imported; "" where there is none."""
    return str(getattr(sys.modules.get(module), "__dict__", {}).get("__file__") or "")


def load_file(path: Path, digest: str) -> tuple[ModuleType, FunctionFiles]:
    """Run a user's Python file as a module, once until something that was read changes; with the files of its folder."""
    folders = _folders()
    files = folders.setdefault(path.parent, FunctionFiles())
    if not unchanged(files.read.states):
        files.forget_imports()
        files = folders[path.parent] = FunctionFiles()
    return files.run(path, digest), files


@functools.cache
def _running() -> set[tuple[int, Path]]:
    """The function files that are being run now, each in its thread."""
    return set()


def _run(path: Path, digest: str) -> ModuleType:
    name = f"{_MODULE}{digest[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuleError(f"{path}: not a Python file: its name must end in .py")
    here = (get_ident(), path)
    if here in _running():
        raise RuleError(
            f"{path} loads its own functions while it runs, without end: put them into a file of their own"
        )
    _running().add(here)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # data classes in the file look themselves up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise RuleError(f"{path}{line}: cannot be run: {type(error).__name__}: {error}") from error
    finally:
        _running().discard(here)
    return module


def _files_named(path: Path) -> Iterator[Path]:
    """The files that a Python file names in a string, in its own folder or the current one.

    Where a library opens files unseen, these are the best guess: the Python file is run again when they change.
    """
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
            for candidate in (path.parent / name, Path(name)):
                with suppress(OSError, ValueError):
                    if 0 < len(name) < 300 and candidate.is_file():
                        yield candidate


@functools.lru_cache(maxsize=256)
def _names(path: str, state: str) -> frozenset[str]:
    """What a Python file imports, calls and looks up, by name; `state` changes with the file."""
    found: set[str] = set()
    for node in ast.walk(_tree(Path(path))):
        match node:
            case ast.Import():
                found.update(alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom():
                found.update([(node.module or "").partition(".")[0], *(a.name for a in node.names)])
            case ast.Attribute():
                found.add(node.attr)
            case ast.Name():
                found.add(node.id)
    return frozenset(found)


def _tree(path: Path) -> ast.Module:
    """A Python file, taken apart; empty where that cannot be done."""
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _named(module: ModuleType, name: str, path: Path) -> Callable[[Any], object]:
    found: Any = getattr(module, name, None)
    if not is_rule_function(found):  # its own name need not be the variable's
        rules = [value for value in vars(module).values() if is_rule_function(value)]
        found = next((value for value in rules if value.name == name), found)
    if is_rule_function(found):
        rule_function: Callable[[Any], object] = found
        return rule_function
    if callable(found):
        raise RuleError(f"{path}: the function {name} is not a rule: put @unruly.rule above it")
    marked = [value.name for value in vars(module).values() if is_rule_function(value)]
    offered = f": the rules in it are {', '.join(marked)}" if marked else ": it holds no rules"
    raise RuleError(f"{path}: there is no rule {name}{offered}{suggestion(name, marked)}")
