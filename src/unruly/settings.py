"""The settings of each method, checked when they are made; and as parameters of scikit-learn's, `settings__epochs`.

A settings class is a frozen dataclass derived from `Checked`, whose fields carry a range and a line of help: `number`,
`whole`, `choice` and `switch`. The same fields are checked on construction, read from the project file, and turned into
options of the command line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from unruly.errors import SettingsError, Where
from unruly.wording import did_you_mean

SEED_BITS = 128  # of a seed at most, as `secrets.randbits(128)` gives it


@dataclass(frozen=True)
class Range:
    """What one option may be: a span of numbers, or one of a few words."""

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

    def __contains__(self, value: object) -> bool:
        """Whether the value is of the right kind and inside.

        >>> (
        ...     3 in Range(1, 5),
        ...     True in Range(0, 1),
        ...     2.5 in Range(1, 5, whole=True),
        ...     10**30 in Range(1, whole=True),
        ...     math.nan in Range(),
        ... )
        (True, False, False, False, False)
        """
        if value is None:
            return self.optional
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.whole and not (isinstance(value, int) and value.bit_length() < 64):
            return False
        return self.low <= value <= self.high  # false for NaN


@dataclass(frozen=True)
class Option:
    """One option as the command line and the docs see it."""

    name: str
    default: Any
    help: str
    range: Range | None  # None for a switch

    @property
    def flag(self) -> str:
        """The name as it is typed.

        >>> Option("learning_rate", 0.02, "step size of Adam", Range(0, 1)).flag
        '--learning-rate'
        """
        return "--" + self.name.replace("_", "-")

    def check(self, value: object) -> None:
        """Refuse a value of the wrong kind or out of range."""
        if self.range is None:
            good, must = isinstance(value, bool), "true or false"
        else:
            good, must = value in self.range, str(self.range)
        if not good:
            raise SettingsError(f"{self.name} = {value!r}: must be {must}", option=self.name)


def number(default: float, low: float, high: float, help: str) -> Any:
    """A field that holds a number from `low` to `high`."""
    return field(default=default, metadata={"range": Range(low, high), "help": help})


def whole(default: int | None, low: int, high: float, help: str, optional: bool = False) -> Any:
    """A field that holds a whole number from `low` to `high`, or None if `optional`."""
    span = Range(low, high, whole=True, optional=optional)
    return field(default=default, metadata={"range": span, "help": help})


def choice(default: str, choices: tuple[str, ...], help: str) -> Any:
    """A field that holds one of a few words."""
    return field(default=default, metadata={"range": Range(choices=choices), "help": help})


def switch(default: bool, help: str) -> Any:
    """A field that is true or false."""
    return field(default=default, metadata={"range": None, "help": help})


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The settings of one method, checked when they are made.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Mine(Checked):
    ...     folds: int = whole(3, 2, 100, "parts of the documents that are held out in turn")
    >>> Mine(folds=1)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: folds = 1: must be a whole number from 2 to 100
    """

    def __post_init__(self) -> None:
        for option in self.options():
            option.check(getattr(self, option.name))

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every option with its default, range and help."""
        return tuple(
            Option(f.name, f.default, f.metadata["help"], f.metadata["range"]) for f in fields(cls)
        )

    @classmethod
    def from_plain(
        cls,
        table: Mapping[str, Any],
        where: Where | None = None,
        elsewhere: Mapping[str, str] | None = None,
    ) -> Self:
        """Settings from a table of the project file; `where` names it in errors.

        `elsewhere` maps options of other methods to the method that has them, so that the error can
        say whose they are.
        """
        names = [option.name for option in cls.options()]
        for key in table:
            if key not in names:
                raise SettingsError(_unknown(key, names, elsewhere or {}), where=where, option=key)
        try:
            return cls(**{str(key): value for key, value in table.items()})
        except SettingsError as error:
            raise (error if where is None else error.located(where)) from None

    def to_plain(self) -> dict[str, Any]:
        """The settings as a table for TOML or JSON; what is absent is left out."""
        values = {option.name: getattr(self, option.name) for option in self.options()}
        return {name: value for name, value in values.items() if value is not None}


def _unknown(key: str, names: list[str], elsewhere: Mapping[str, str]) -> str:
    if key in elsewhere:
        return (
            f'{key} is an option of method = "{elsewhere[key]}": add that line, or leave {key} out'
        )
    return f"no setting is called {key!r}: {did_you_mean(key, names, 'there are')}"


@dataclass(frozen=True, kw_only=True)
class Settings(Checked):
    """How the default is fitted; the values were chosen on public data and rarely need a change.

    >>> Settings(folds=5).folds
    5
    """

    rounds: int = whole(8, 1, 1000, "rounds of expectation-maximisation")
    folds: int = whole(3, 2, 100, "parts of the documents whose text is held out in turn")
    tau: float = number(3.0, 1.0, 100.0, "weight of the text beside the votes")
    l2: float = number(
        1.0, 0.0, 1e6, "L2 penalty of the regressions, divided by the number of documents"
    )
    threads: int = whole(1, 1, 1024, "processor threads")


ABLATIONS = ("whole", "rule-only", "neural-only", "neural-self", "rule-neural")
SELECTIONS = ("last", "votes", "gold")
ATTENTIONS = ("all", "voters")
RELIABILITIES = ("per-document", "per-vote")
ENSEMBLES = ("confident", "product", "mean")


@dataclass(frozen=True, kw_only=True)
class PaperSettings(Checked):
    """How the paper's two networks are trained. `PaperSettings()` is its algorithm as printed.

    500 full-batch epochs, the last one kept, no gold label used. The paper's own protocol keeps the
    epoch with the best gold validation accuracy instead: that is `selection="gold"`. Equation 1 prints
    its softmax over all sources; over those that voted it is usually better: `attention="voters"`.

    >>> PaperSettings(hidden=64).hidden
    64
    >>> PaperSettings(alpha=1.5)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: alpha = 1.5: must be a number from 0 to 0.999
    """

    ablation: str = choice(
        "whole",
        ABLATIONS,
        "leave parts of the method out: the denoiser, the classifier, self-training",
    )
    hidden: int = whole(128, 1, 65_536, "width of the hidden layer of both networks")
    learning_rate: float = number(0.02, 1e-6, 1.0, "step size of Adam")
    c1: float = number(
        0.2, 0.0, 1.0, "weight of the denoiser's loss; c2, the classifier's, is 1 - c1 - c3"
    )
    c3: float = number(0.1, 0.0, 1.0, "weight of the self-training loss")
    alpha: float = number(0.6, 0.0, 0.999, "how far the temporal ensemble looks back")
    p: int = whole(
        0, 0, 10_000, "a document counts as matched when more than p sources voted on it"
    )
    epochs: int = whole(500, 1, 1_000_000, "most passes over the documents")
    batch_size: int | None = whole(
        None, 1, math.inf, "documents in one step; absent: all of them in one step", optional=True
    )
    weight_decay: float = number(0.0, 0.0, 1.0, "L2 penalty on the weights of both networks")
    standardise: bool = switch(False, "centre and scale each feature before the networks see it")
    attention: str = choice(
        "all",
        ATTENTIONS,
        "softmax over all sources, masked afterwards (as printed), or over those that voted",
    )
    reliability: str = choice(
        "per-document",
        RELIABILITIES,
        "global reliability as the mean over documents (as printed), or for each vote cast",
    )
    ensemble: str = choice(
        "confident",
        ENSEMBLES,
        "when the heads disagree: the more confident wins (as printed), or their probabilities are "
        "multiplied or averaged",
    )
    calibrate: bool = switch(
        False,
        "put both heads on one scale of confidence, with clean labels that are held out of training",
    )
    selection: str = choice(
        "last",
        SELECTIONS,
        "which epoch is kept: the last, the best by held-out votes, or by gold validation labels",
    )
    patience: int = whole(
        0, 0, 1_000_000, "stop after so many epochs without a better one; 0: never"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c1 + self.c3 > 1 + 1e-9:
            raise SettingsError(
                f"c1 = {self.c1!r} and c3 = {self.c3!r}: together they must not exceed 1, for c2 is the rest"
            )

    @property
    def c2(self) -> float:
        """The weight of the classifier's loss: what c1 and c3 leave (Eq. 8)."""
        return max(0.0, round(1.0 - self.c1 - self.c3, 9))


MethodSettings = Settings | PaperSettings
SETTINGS: Mapping[str, type[MethodSettings]] = {"default": Settings, "paper": PaperSettings}
INNER = "settings__"  # before the name of a single setting


def settings_for(method: str, settings: MethodSettings | None) -> MethodSettings:
    """The settings of a method; those of another method are refused.

    >>> settings_for("paper", None).hidden
    128
    >>> settings_for("papr", None)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: method = 'papr': did you mean 'paper'?
    """
    if method not in SETTINGS:
        raise SettingsError(
            f"method = {method!r}: {did_you_mean(method, SETTINGS, 'must be one of')}",
            option="method",
        )
    kind = SETTINGS[method]
    if settings is None:
        return kind()
    if isinstance(settings, kind):
        return settings
    owner = next((name for name, other in SETTINGS.items() if isinstance(settings, other)), None)
    if owner is not None:
        raise SettingsError(
            f"settings are {type(settings).__name__}, which method={owner!r} uses: set method={owner!r}, or "
            f"give {kind.__name__}",
            option="settings",
        )
    raise SettingsError(
        f"settings = {settings!r}: must be {kind.__name__}(...), for method={method!r}",
        option="settings",
    )


def options_of_others(method: str) -> dict[str, str]:
    """The options that this method does not have, and the method that has them.

    >>> options_of_others("default")["epochs"]
    'paper'
    """
    own = {option.name for option in SETTINGS[method].options()}
    return {
        option.name: other
        for other, kind in SETTINGS.items()
        for option in kind.options()
        if option.name not in own
    }


def deep_parameters(
    parameters: Mapping[str, Any], settings: MethodSettings | None, method: str
) -> dict[str, Any]:
    """The parameters, and each setting of the method as `settings__epochs` and so on.

    >>> deep_parameters({"seed": 1}, None, "paper")["settings__hidden"]
    128
    """
    inside = settings or _defaults(method)
    single = {f"{INNER}{option.name}": getattr(inside, option.name) for option in inside.options()}
    return {**parameters, **single}


def split_parameters(
    given: Mapping[str, Any], known: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Whole parameters, and single settings without their prefix; unknown names are refused.

    >>> split_parameters({"seed": 1, "settings__hidden": 64}, known=("seed",))
    ({'seed': 1}, {'hidden': 64})
    """
    entire = {name: value for name, value in given.items() if not name.startswith(INNER)}
    for name in entire:
        if name not in known:
            raise SettingsError(
                f"no parameter is called {name!r}: {did_you_mean(name, known, 'there are')}; single settings "
                f"are {INNER}…",
                option=name,
            )
    inner = {name.removeprefix(INNER): value for name, value in given.items() if name not in entire}
    return entire, inner


def changed(
    settings: MethodSettings | None, method: str, inner: Mapping[str, Any]
) -> MethodSettings:
    """The settings with some of them replaced."""
    before = settings or _defaults(method)
    values = {option.name: getattr(before, option.name) for option in before.options()}
    return type(before).from_plain({**values, **inner})


def _defaults(method: str) -> MethodSettings:
    return SETTINGS.get(method, SETTINGS["default"])()


def shown(parameters: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """What is not as usual, as it would be written in a call.

    >>> shown({"seed": 3, "settings": PaperSettings(hidden=7)}, {"seed": 0, "settings": None})
    'seed=3, settings=PaperSettings(hidden=7)'
    """
    pieces = []
    for name, value in parameters.items():
        if isinstance(value, Checked):
            plain = type(value)().to_plain()
            inside = [f"{k}={v!r}" for k, v in value.to_plain().items() if v != plain.get(k)]
            pieces.append(f"{name}={type(value).__name__}({', '.join(inside)})")
        elif value is not usual[name] and not _same(value, usual[name]):
            pieces.append(f"{name}={value!r}")
    return ", ".join(pieces)


def _same(one: object, other: object) -> bool:
    import numpy as np  # what only shows settings does without it

    return type(one) is type(other) and bool(np.all(one == other))
