"""Every hyper-parameter, in one frozen and validated place.

The defaults of the two networks are the paper's (Ren et al., 2020, section 4 and appendix). The same
fields are read from `[train]` in the project file and become the options of the command line.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from unruly.errors import SettingsError

METHODS = ("default", "paper")
ABLATIONS = ("whole", "rule-only", "neural-only", "neural-self", "rule-neural")
SELECTIONS = ("votes", "last", "gold")
ATTENTIONS = ("voters", "all")
RELIABILITIES = ("per-document", "per-vote")
ENSEMBLES = ("confident", "product", "mean")
DEVICES = ("auto", "cpu", "cuda", "mps")

# The paper's best per data set (appendix, "hyper parameters setting for the best accuracy"), and p.
_BEST: dict[str, dict[str, Any]] = {
    "youtube": {"hidden": 128, "learning_rate": 0.02, "c1": 0.2, "c3": 0.1, "p": 2},
    "imdb": {"hidden": 64, "learning_rate": 0.02, "c1": 0.2, "c3": 0.2, "p": 1},
    "yelp": {"hidden": 128, "learning_rate": 0.02, "c1": 0.2, "c3": 0.2, "p": 1},
    "agnews": {"hidden": 256, "learning_rate": 0.05, "c1": 0.1, "c3": 0.1, "p": 0},
    "spouse": {"hidden": 256, "learning_rate": 0.02, "c1": 0.2, "c3": 0.1, "p": 0},
}


@dataclass(frozen=True)
class Range:
    """What one setting may be: a span of numbers, or one of a few words."""

    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    whole: bool = False  # whole numbers only
    optional: bool = False  # may be absent (None)

    def __str__(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = "a whole number" if self.whole else "a number"
        if self.high == math.inf:
            return f"{kind}, {self.low:g} or more"
        return f"{kind} from {self.low:g} to {self.high:g}"

    def holds(self, value: object) -> bool:
        """Whether the value is of the right kind and inside."""
        if value is None:
            return self.optional
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.whole and not isinstance(value, int):
            return False
        return self.low <= value <= self.high  # false for NaN


@dataclass(frozen=True)
class Option:
    """One setting as the command line and the docs see it."""

    name: str
    default: Any
    help: str
    range: Range | None  # None for a switch

    @property
    def flag(self) -> str:
        """The name as it is typed: '--learning-rate'."""
        return "--" + self.name.replace("_", "-")


def _number(default: float, low: float, high: float, help: str) -> Any:
    return field(default=default, metadata={"range": Range(low, high), "help": help})


def _whole(default: int | None, low: int, high: float, help: str, optional: bool = False) -> Any:
    span = Range(low, high, whole=True, optional=optional)
    return field(default=default, metadata={"range": span, "help": help})


def _word(default: str, choices: tuple[str, ...], help: str) -> Any:
    return field(default=default, metadata={"range": Range(choices=choices), "help": help})


def _switch(default: bool, help: str) -> Any:
    return field(default=default, metadata={"range": None, "help": help})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a classifier is trained. `Settings()` is our default, `Settings.paper()` the paper as written.

    >>> Settings(hidden=64).hidden
    64
    >>> Settings.paper("imdb").c2
    0.6
    >>> Settings(alpha=1.5)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: alpha = 1.5: must be a number from 0 to 0.999
    """

    method: str = _word(
        "default",
        METHODS,
        "the gold-free recipe (default), or the paper's method as written (paper)",
    )
    ablation: str = _word(
        "whole",
        ABLATIONS,
        "leave parts of the paper's method out: the denoiser, the classifier, self-training",
    )
    hidden: int = _whole(128, 1, 65_536, "width of the hidden layer of both networks")
    learning_rate: float = _number(0.02, 1e-6, 1.0, "step size of Adam")
    c1: float = _number(
        0.2, 0.0, 1.0, "weight of the denoiser's loss; c2, the classifier's, is 1 - c1 - c3"
    )
    c3: float = _number(0.1, 0.0, 1.0, "weight of the self-training loss")
    alpha: float = _number(0.6, 0.0, 0.999, "how far the temporal ensemble looks back")
    p: int = _whole(
        0, 0, 10_000, "a document counts as matched when more than p sources voted on it"
    )
    epochs: int = _whole(500, 1, 1_000_000, "most passes over the documents")
    batch_size: int | None = _whole(
        None, 1, math.inf, "documents in one step; absent: all of them in one step", optional=True
    )
    weight_decay: float = _number(0.0, 0.0, 1.0, "L2 penalty on the weights of both networks")
    standardise: bool = _switch(False, "centre and scale each feature before the networks see it")
    attention: str = _word(
        "voters",
        ATTENTIONS,
        "softmax over the sources that voted, or over all of them and masked afterwards",
    )
    reliability: str = _word(
        "per-document",
        RELIABILITIES,
        "global reliability as the mean over documents (the paper), or for each vote cast",
    )
    ensemble: str = _word(
        "confident",
        ENSEMBLES,
        "when the two heads disagree: the more confident wins (the paper), or their probabilities are "
        "multiplied or averaged",
    )
    calibrate: bool = _switch(
        False,
        "put both heads on one scale of confidence, with clean labels that are kept out of training",
    )
    selection: str = _word(
        "votes",
        SELECTIONS,
        "which epoch is kept: by votes alone, the last, or by gold validation labels",
    )
    patience: int = _whole(
        0, 0, 1_000_000, "stop after so many epochs without a better one; 0: never"
    )
    tau: float = _number(
        4.0,
        1.0,
        100.0,
        "default recipe: how much text counts beside the votes, at most; halved where that foretells votes better",
    )
    rounds: int = _whole(
        8, 1, 1000, "default recipe: most rounds of labels from text and votes together"
    )
    folds: int = _whole(
        3, 2, 100, "default recipe: folds, so that text never judges its own lesson"
    )
    l2: float = _number(
        1.0, 0.0, 1e6, "default recipe: L2 penalty of the regressions, divided by the documents"
    )
    network_epochs: int = _whole(
        8, 1, 10_000, "default recipe: passes of the two networks over the documents"
    )
    device: str = _word("auto", DEVICES, "where to compute; auto takes a GPU if there is one")
    threads: int = _whole(1, 1, 1024, "processor threads; more of them make small networks slower")
    seed: int = _whole(0, 0, 2**63 - 1, "all randomness comes from it")

    def __post_init__(self) -> None:
        for option in self.options():
            value = getattr(self, option.name)
            if option.range is None:
                good, must = isinstance(value, bool), "true or false"
            else:
                good, must = option.range.holds(value), str(option.range)
            if not good:
                raise SettingsError(f"{option.name} = {value!r}: must be {must}")
        if self.c1 + self.c3 > 1 + 1e-9:
            raise SettingsError(
                f"c1 = {self.c1!r} and c3 = {self.c3!r}: together they must not pass 1, for c2 is the rest"
            )

    @property
    def c2(self) -> float:
        """The weight of the classifier's loss: what c1 and c3 leave (Eq. 8)."""
        return max(0.0, round(1.0 - self.c1 - self.c3, 9))

    @classmethod
    def paper(cls, dataset: str | None = None) -> Settings:
        """The paper as written: 500 full-batch epochs, the last one kept, no gold anywhere.

        With the name of one of its data sets, its best values for it and its p. The paper's own
        protocol keeps the epoch with the best gold validation accuracy instead of the last: that is
        `selection="gold"`, to be asked for.

        >>> Settings.paper("youtube").p
        2
        """
        plain = cls(method="paper", selection="last")
        if dataset is None:
            return plain
        name = dataset.removesuffix("_bert")
        if name not in _BEST:
            raise SettingsError(
                f"the paper has no data set {dataset!r}: it has {', '.join(_BEST)}{_did_you_mean(name, _BEST)}"
            )
        return replace(plain, **_BEST[name])

    @classmethod
    def quick(cls) -> Settings:
        """The paper's networks and losses in mini-batches, stopped early by votes alone.

        For when the paper's method is wanted without its 500 epochs. The values were chosen among
        eleven by gold validation labels of five public data sets, never by test labels; using them
        needs no gold. `benchmarks/training.py` measures cost and test accuracy beside the 500 epochs.

        >>> Settings.quick().batch_size
        256
        """
        return cls(
            method="paper",
            batch_size=256,
            epochs=40,
            learning_rate=0.003,
            weight_decay=0.01,
            standardise=True,
            reliability="per-vote",
            patience=3,
        )

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every setting with its default, range and help: what the command line is made from."""
        return tuple(
            Option(f.name, f.default, f.metadata["help"], f.metadata["range"]) for f in fields(cls)
        )

    @classmethod
    def from_plain(cls, table: Mapping[str, Any], where: str = "[train]") -> Settings:
        """Settings from a table of the project file; `where` names it in errors.

        >>> Settings.from_plain({"hiden": 64}, "unruly.toml [train]")
        Traceback (most recent call last):
        ...
        unruly.errors.SettingsError: unruly.toml [train]: no setting is called 'hiden': did you mean 'hidden'?
        """
        names = [option.name for option in cls.options()]
        for key in table:
            if key not in names:
                raise SettingsError(
                    f"{where}: no setting is called {key!r}{_did_you_mean(key, names) or '; there are ' + ', '.join(names)}"
                )
        try:
            return cls(**{str(key): value for key, value in table.items()})
        except SettingsError as error:
            raise SettingsError(f"{where}: {error}") from None

    def to_plain(self) -> dict[str, Any]:
        """The settings as a table for TOML or JSON; what is absent is left out.

        >>> Settings.from_plain(Settings(p=1).to_plain()) == Settings(p=1)
        True
        """
        values = {option.name: getattr(self, option.name) for option in self.options()}
        return {name: value for name, value in values.items() if value is not None}


def _did_you_mean(word: str, known: Any) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f": did you mean {near[0]!r}?" if near else ""
