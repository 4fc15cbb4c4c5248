"""The methods, which settings belong to which, and scikit-learn's parameters: single settings as `settings__epochs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unruly.denoising.settings import Settings
from unruly.errors import SettingsError
from unruly.options import Checked
from unruly.paper.settings import PaperSettings
from unruly.wording import did_you_mean

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
    whole = {name: value for name, value in given.items() if not name.startswith(INNER)}
    for name in whole:
        if name not in known:
            raise SettingsError(
                f"no parameter is called {name!r}: {did_you_mean(name, known, 'there are')}; single settings "
                f"are {INNER}…",
                option=name,
            )
    inner = {name.removeprefix(INNER): value for name, value in given.items() if name not in whole}
    return whole, inner


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

    >>> from unruly.paper.settings import PaperSettings
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
