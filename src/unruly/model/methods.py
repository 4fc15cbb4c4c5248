"""The methods, and which settings belong to which."""

from __future__ import annotations

from collections.abc import Mapping

from unruly.denoising.settings import Settings
from unruly.errors import SettingsError
from unruly.paper.settings import PaperSettings
from unruly.wording import did_you_mean

MethodSettings = Settings | PaperSettings
SETTINGS: Mapping[str, type[MethodSettings]] = {"default": Settings, "paper": PaperSettings}


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
