"""One run of one method on one data set: what it depends on, what came out, and the file of all runs.

The file is JSON Lines, one line for each finished run, so that a benchmark can be continued.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from unruly.errors import InputError
from unruly.ledger import GoldUse, Use

EXPERIMENTS = ("main", "clean", "parameters", "search")
SELECTIONS = ("none", "gold")
GIVEN = "given"  # the encoder's name where the folder brings its own features
AUTO = "auto"  # what `unruly fit` reads texts with by default: unruly's default is run with it
UNREAD = "unread"  # no features are made: the system does not look at any

Value = int | float | str | bool | None
Setting = tuple[str, Value]


@dataclass(frozen=True)
class Run:
    """Everything that an outcome depends on; two runs that are equal need to be made once.

    >>> Run("youtube", "paper", settings=(("p", 2), ("c1", 0.1))).settings
    (('c1', 0.1), ('p', 2))
    >>> Run("youtube", "paper", clean=2.0)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: a share of 2.0 true labels: it must be more than 0 and at most 1
    """

    dataset: str
    method: str  # a name in `unruly_lab.peers.systems`
    experiment: str = "main"
    encoder: str = "minilm"
    seed: int = 0
    selection: str = "none"  # "gold": the true labels of the validation documents choose the epoch
    clean: float | None = None  # the share of the training documents whose true labels are given
    rows: int | None = None  # so many training documents at most, drawn by chance
    draw: int | None = None  # which draw of them; None: one draw that all seeds share
    prior: tuple[float, ...] | None = None  # the share of each class, where it is given
    settings: tuple[Setting, ...] = ()  # hyper-parameters other than the method's own, by name
    keywords: str = ""  # of methods that need them: "votes", or "rules" and a digest of the words
    data: str = ""  # a digest of the data set's files

    def __post_init__(self) -> None:
        if self.experiment not in EXPERIMENTS:
            raise InputError(
                f"no experiment is called {self.experiment!r}: there are {', '.join(EXPERIMENTS)}"
            )
        if self.selection not in SELECTIONS:
            raise InputError(
                f"no selection is called {self.selection!r}: there are {', '.join(SELECTIONS)}"
            )
        if self.clean is not None and not 0 < self.clean <= 1:
            raise InputError(
                f"a share of {self.clean} true labels: it must be more than 0 and at most 1"
            )
        if self.rows is not None and self.rows < 1:
            raise InputError(f"{self.rows} training documents: there must be at least 1")
        object.__setattr__(self, "settings", tuple(sorted(self.settings)))

    def setting(self, name: str) -> Value:
        """The value of one hyper-parameter that was set; None where the method's own stands."""
        return dict(self.settings).get(name)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it; what is at its default is left out.

        >>> Run("youtube", "paper", seed=3).to_plain()
        {'dataset': 'youtube', 'method': 'paper', 'experiment': 'main', 'encoder': 'minilm', 'seed': 3}
        """
        always = {"dataset", "method", "experiment", "encoder", "seed"}
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: dict(self.settings) if name == "settings" else value
            for name, value in plain.items()
            if name in always or value not in (None, "", (), "none")
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Run:
        """What `to_plain` gave.

        >>> Run.from_plain(Run("imdb", "paper", settings=(("p", 1),)).to_plain()).settings
        (('p', 1),)
        """
        given = dict(plain)
        if "settings" in given:
            given["settings"] = tuple(given["settings"].items())
        if "prior" in given:
            given["prior"] = tuple(given["prior"])
        return cls(**given)


@dataclass(frozen=True)
class Matched:
    """The test documents on which so many sources voted."""

    sources: int
    documents: int
    right: int


@dataclass(frozen=True)
class Noise:
    """The share of training documents with a wrong label; NaN where it was not measured."""

    matched: float  # of those with more than p votes, the paper's meaning (p is its own for the data set)
    voted: float  # of those with a vote
    all: float


@dataclass(frozen=True)
class Outcome:
    """What one run gave. Test figures are of all test documents; shares, not percent.

    True labels of test and training documents are used here for scoring alone; `gold_used` says what
    the method itself was given.
    """

    run: Run
    accuracy: float
    f1: tuple[float, ...]  # of each class; NaN for one that neither occurs nor is predicted
    macro_f1: float
    ece: float  # expected calibration error
    valid_accuracy: float  # NaN where there are no validation documents
    cpu: float  # seconds of learning, features ready
    seconds: float  # the same by the clock
    parameters: int
    gold_used: tuple[GoldUse, ...]  # what true labels were used for; empty: for nothing
    documents: tuple[int, int, int]  # training, validation, test
    classes: tuple[str, ...]
    by_matched: tuple[Matched, ...]  # test documents by the number of sources that voted
    noise_before: Noise  # majority vote; ties and documents without votes by chance
    noise_after: Noise  # what the method says of its own training documents
    version: str = ""  # of unruly
    commit: str = ""  # of the checkout that made it, with + where its source was changed
    # In a search: hidden votes on validation documents that it agrees with, each class alike. No gold.
    held_out_votes: float = math.nan

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it: NaN becomes null."""
        plain = {**asdict(self), "run": self.run.to_plain()}
        plain["by_matched"] = [(m.sources, m.documents, m.right) for m in self.by_matched]
        for noise in ("noise_before", "noise_after"):
            plain[noise] = list(plain[noise].values())
        return {name: _without_nan(value) for name, value in plain.items()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Outcome:
        """What `to_plain` gave."""
        given = {f.name: plain[f.name] for f in fields(cls) if f.name in plain}
        given["run"] = Run.from_plain(plain["run"])
        given["by_matched"] = tuple(Matched(*counts) for counts in plain["by_matched"])
        for noise in ("noise_before", "noise_after"):
            given[noise] = Noise(*map(_number, plain[noise]))
        for figure in ("macro_f1", "ece", "valid_accuracy", "held_out_votes"):
            given[figure] = _number(plain.get(figure))
        given["f1"] = tuple(map(_number, plain["f1"]))
        given["gold_used"] = tuple(
            GoldUse(Use(used["use"]), used["labels"], used["origin"]) for used in plain["gold_used"]
        )
        for several in ("documents", "classes"):
            given[several] = tuple(plain[several])
        return cls(**given)


@dataclass(frozen=True)
class Failure:
    """A run that ended with an error; it is tried again the next time."""

    run: Run
    error: str

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"run": self.run.to_plain(), "error": self.error}


def _without_nan(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


@dataclass(frozen=True)
class Store:
    """A file of outcomes. A line is appended whole or not at all.

    Where a run stands twice the later line counts; an outcome counts more than a failure. A last line
    that was torn (the disk was full, the power failed) is passed over, and gone after the next `add`.
    """

    path: Path

    def outcomes(self) -> tuple[Outcome, ...]:
        """All finished runs, in the order in which they were first finished."""
        found: dict[Run, Outcome] = {}
        for number, plain in self._lines():
            if "error" not in plain:
                outcome = self._outcome(number, plain)
                found[outcome.run] = outcome
        return tuple(found.values())

    def failures(self) -> tuple[Failure, ...]:
        """Runs that ended with an error and have no outcome."""
        done = {outcome.run for outcome in self.outcomes()}
        found: dict[Run, Failure] = {}
        for _, plain in self._lines():
            if "error" in plain:
                run = Run.from_plain(plain["run"])
                found[run] = Failure(run, plain["error"])
        return tuple(failure for run, failure in found.items() if run not in done)

    def add(self, result: Outcome | Failure) -> None:
        """Append one line, at once and for good."""
        line = json.dumps(result.to_plain(), ensure_ascii=False, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn()
        where = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            data = line.encode("utf-8")
            if os.write(where, data) < len(data):
                raise InputError(f"{self.path}: the disk is full: make room and start again")
            os.fsync(where)
        finally:
            os.close(where)

    def _outcome(self, number: int, plain: dict[str, Any]) -> Outcome:
        try:
            return Outcome.from_plain(plain)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.path}, line {number}: not the outcome of a run ({error}): delete the line to "
                "run it again"
            ) from None

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line numbers from 1, and what the lines hold; a torn last line is left out."""
        if not self.path.is_file():
            return
        lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        for number, line in enumerate(lines[:-1], 1):
            try:
                plain = json.loads(line)
            except ValueError as error:
                raise InputError(
                    f"{self.path}, line {number}: not JSON ({error}): delete the line to run it again"
                ) from None
            if not isinstance(plain, dict) or "run" not in plain:
                raise InputError(f"{self.path}, line {number}: it has no 'run': delete the line")
            yield number, plain

    def _cut_torn(self) -> None:
        """A last line without its end is no line."""
        if not self.path.is_file():
            return
        with self.path.open("r+b") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(whole)
