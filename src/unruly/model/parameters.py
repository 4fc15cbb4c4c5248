"""scikit-learn's protocol of parameters and tags, kept without inheriting from scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unruly.errors import SettingsError
from unruly.settings import Settings

INNER = "settings__"  # before the name of a single setting


def deep_parameters(parameters: Mapping[str, Any], settings: Settings | None) -> dict[str, Any]:
    """The parameters, and each setting as `settings__hidden` and so on.

    >>> deep_parameters({"seed": 1}, None)["settings__hidden"]
    128
    """
    inside = settings or Settings()
    single = {
        f"{INNER}{option.name}": getattr(inside, option.name) for option in Settings.options()
    }
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
                f"no parameter is called {name!r}: there are {', '.join(known)}, and {INNER}…"
            )
    inner = {name.removeprefix(INNER): value for name, value in given.items() if name not in whole}
    return whole, inner


def changed(settings: Settings | None, inner: Mapping[str, Any]) -> Settings:
    """The settings with some of them replaced."""
    return Settings.from_plain({**(settings or Settings()).to_plain(), **inner}, "settings")


def settled(settings: Settings | None, method: str | None, seed: int | None) -> Settings:
    """The settings, with the method and the seed that were given beside them.

    >>> settled(Settings(hidden=7), None, 3).seed
    3
    """
    inside = Settings() if settings is None else settings
    if not isinstance(inside, Settings):
        raise SettingsError(
            f"settings = {inside!r}: must be Settings, as in WeakClassifier(settings=Settings(hidden=64))"
        )
    return replace(
        inside,
        method=inside.method if method is None else method,
        seed=inside.seed if seed is None else seed,
    )


def shown(parameters: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """What is not as usual, as it would be written in a call.

    >>> shown({"seed": 3, "settings": Settings(hidden=7)}, {"seed": None, "settings": None})
    'seed=3, settings=Settings(hidden=7)'
    """
    told = []
    for name, value in parameters.items():
        if isinstance(value, Settings):
            plain = Settings().to_plain()
            inside = [f"{k}={v!r}" for k, v in value.to_plain().items() if v != plain.get(k)]
            told.append(f"{name}=Settings({', '.join(inside)})")
        elif value is not usual[name] and value != usual[name]:
            told.append(f"{name}={value!r}")
    return ", ".join(told)


def classifier_tags() -> Any:
    """What scikit-learn asks of an estimator: a classifier of texts or features, with votes as target."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True, two_d_labels=True, single_output=False),
        classifier_tags=ClassifierTags(),
        input_tags=InputTags(two_d_array=True, string=True),
    )
