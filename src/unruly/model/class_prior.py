"""The class prior that a user gives: a word, or a number for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unruly.errors import SettingsError
from unruly.model.learning import Prior

WORDS = ("auto", "uniform", "votes")
ClassPrior = str | Sequence[float] | Mapping[str, float] | None


def checked_prior(given: ClassPrior, classes: tuple[str, ...]) -> Prior:
    """A class prior, checked: a word, shares that sum to 1, or None."""
    if given is None:
        return None
    if isinstance(given, str):
        if given not in WORDS:
            raise SettingsError(f"class_prior = {given!r}: must be {', '.join(WORDS)}, or numbers")
        return given
    if isinstance(given, Mapping):
        if set(given) != set(classes):
            raise SettingsError(
                f"class_prior names {', '.join(map(str, given))}, but the classes are {', '.join(classes)}"
            )
        given = [given[name] for name in classes]
    shares = np.asarray(given, dtype=np.float64)
    if shares.shape != (len(classes),) or not (shares > 0).all() or not np.isfinite(shares).all():
        raise SettingsError(
            f"class_prior = {list(given)!r}: must be {len(classes)} numbers above 0, one for each class"
        )
    return tuple((shares / shares.sum()).tolist())
