"""How far the answers hang on the class prior: were one class twice as likely, how many would change?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PriorDoubt:
    """One class, and the share of answers that change were it twice, or half, as likely."""

    name: str
    twice: float
    half: float


def prior_doubt(proba: NDArray[np.float32], classes: tuple[str, ...]) -> tuple[PriorDoubt, ...]:
    """Bayes' rule on the final probabilities: p'(y) ∝ p(y) · new prior / old prior.

    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4]], dtype=np.float32)
    >>> prior_doubt(proba, ("ham", "spam"))[1]
    PriorDoubt(name='spam', twice=0.5, half=0.0)
    """
    if not len(proba):
        return ()
    lines = []
    for r, name in enumerate(classes):
        twice, half = (_changed(proba, r, factor) for factor in (2.0, 0.5))
        lines.append(PriorDoubt(name, twice, half))
    return tuple(lines)


def _changed(proba: NDArray[np.float32], r: int, factor: float) -> float:
    moved = proba.astype(np.float64)
    moved[:, r] *= factor
    return float((moved.argmax(axis=1) != proba.argmax(axis=1)).mean())
