"""`function`: a Python function that sees the document and returns a class name or None."""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.files import sha256
from unruly.rules.column import refuse_label
from unruly.rules.condition import (
    ID,
    TEXT,
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
_LARGE = 10_000_000  # bytes


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
class Function:
    """The function's answer is the vote; an exception is an error, never an abstention.

    A column that is known to be absent is no exception: where the function asks for it, its source abstains. Takes what `@unruly.rule` or `@unruly.labeling_function` made, or a Snorkel `LabelingFunction` as
    it is (its class numbers are those of the task, -1 abstains).
    """

    function: Callable[[Any], object]
    name: str = ""
    file: str | None = None  # as the project file names it
    digest: str | None = None  # of the file's contents
    folder: str = "."  # that `file` starts from
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
            module = load_file(path.resolve(), digest, str(files_named(path)))
            return cls(
                _named(module, name, path), name, str(inner["file"]), digest, str(place.folder)
            )

    def _measure(self, classes: tuple[str, ...]) -> FunctionVotes:
        return FunctionVotes(self.function, self.name, classes, self.digest, self.absent)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(measures=(self._measure(classes),))

    def mask(self) -> pl.Expr:
        raise RuleError("a function picks the class itself: make it a rule of its own")

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "a function")
        cast = pl.col(self._measure(classes).name)
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
        """The file's contents, and those of the files that it names or imports (`files_named`)."""
        if self.digest is None or self.file is None or self.absent:
            return None
        return [self.digest, self.name, files_named(Path(self.folder) / self.file)]


@dataclass(frozen=True)
class FunctionVotes:
    """A function's answers as class numbers, null to abstain; below 0 where it asks for an absent column: -1 for the first."""

    function: Callable[[Any], object]
    function_name: str
    classes: tuple[str, ...]
    digest: str | None
    absent: tuple[str, ...] = ()
    reads: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        return f"__function:{self.function_name}:{id(self.function)}"

    def meaning(self) -> None:
        return None  # the source's own votes are kept instead

    def compute(self, frame: pl.DataFrame) -> pl.Series:
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
                problem = (
                    f"the function {self.function_name} raised {type(error).__name__}: {error}"
                )
                raise RowFailure(number, " ".join(problem.split())) from error
            votes.append(self._number(answer, number))
        return pl.Series(self.name, votes, dtype=pl.Int32 if self.absent else pl.Int8)

    def lacking(self, answers: pl.Series) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Each absent column that it asked for, and on which documents."""
        for number, column in enumerate(self.absent):
            found = (answers == -1 - number).fill_null(False).to_numpy()
            if found.any():
                yield column, found

    def _number(self, answer: object, row: int) -> int | None:
        if answer is None:
            return None
        if isinstance(answer, str) and answer in self.classes:
            return self.classes.index(answer)
        numbers = is_snorkel(self.function) or getattr(self.function, "numbered", False)
        numbered = numbers and isinstance(answer, int | np.integer)
        if numbered and -1 <= int(answer) < len(self.classes):  # type: ignore[call-overload]
            return None if answer == -1 else int(answer)  # type: ignore[call-overload]
        near = suggestion(answer, self.classes) if isinstance(answer, str) else ""
        raise RowFailure(
            row,
            f"the function {self.function_name} returned {answer!r}, which is not a class: "
            f"return one of {', '.join(self.classes)}, or None{near}",
        )


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


@functools.lru_cache(maxsize=64)
def load_file(path: Path, digest: str, named: str = "") -> ModuleType:
    """Run a user's Python file as a module; cached by its contents and those of the files it names."""
    name = f"unruly_rules_{digest[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuleError(f"{path}: not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # data classes in the file look themselves up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise RuleError(f"{path}{line}: cannot be run: {type(error).__name__}: {error}") from error
    return module


def files_named(path: Path) -> list[list[str]]:
    """Names and digests of the files that a Python file names in a string, or imports from its folder.

    So that a change in one of them is noticed. Not noticed are names that are built while the function runs, what
    these files read in turn, the network, the environment and the clock.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {node.value} if 0 < len(node.value) < 300 and "\0" not in node.value else set()
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names]
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names |= {f"{module.replace('.', '/')}.py" for module in modules}
    found = {}
    for name in names:
        for candidate in {path.parent / name, Path(name)}:
            with suppress(OSError):
                if candidate.is_file():
                    found[name] = _state(candidate)
    return [[name, state] for name, state in sorted(found.items())]


def _state(path: Path) -> str:
    """A digest of a file's contents, or of its size and time where it is large."""
    about = path.stat()
    if about.st_size > _LARGE:
        return f"{about.st_size} {about.st_mtime_ns}"
    return sha256(path)


def _named(module: ModuleType, name: str, path: Path) -> Callable[[Any], object]:
    found: Any = getattr(module, name, None)
    if not is_rule_function(found):  # its own name need not be the variable's
        rules = [value for value in vars(module).values() if is_rule_function(value)]
        found = next((value for value in rules if value.name == name), found)
    if is_rule_function(found):
        rule_function: Callable[[Any], object] = found
        return rule_function
    if callable(found):
        raise RuleError(f"{path}: the function {name} is no rule: put @unruly.rule above it")
    marked = [value.name for value in vars(module).values() if is_rule_function(value)]
    offered = f": the rules in it are {', '.join(marked)}" if marked else ": it holds no rules"
    raise RuleError(f"{path}: there is no rule {name}{offered}{suggestion(name, marked)}")
