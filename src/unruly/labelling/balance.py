"""How well the labels so far tell the share of each class, and how many more would tell it better."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.balance import Balance, from_labels
from unruly.facts import BalanceOrigin
from unruly.labelling.answers import Labelled
from unruly.sampling import Z95
from unruly.wording import plural

_NEARER = 2 / 3  # of today's half width: what more labels are counted for
_TELLING = 0.4
_NONE = 1e-6  # labels that the shares are worth before any label


@dataclass(frozen=True)
class BalanceEstimate:
    """Class shares with their 95 % intervals, from labels alone."""

    classes: tuple[str, ...]
    shares: tuple[float, ...]
    half_widths: tuple[float, ...]  # of the intervals
    labels: int  # behind it
    worth: float  # labels drawn evenly, without a model, that would tell as much

    @property
    def widest(self) -> int:
        """The class that is known least."""
        return int(np.argmax(self.half_widths))

    @property
    def telling(self) -> bool:
        """Whether the intervals are narrow enough to be worth a sentence."""
        return self.half_widths[self.widest] < _TELLING

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    def sentence(self) -> str:
        """What is known, and what more labels would do.

        >>> print(BalanceEstimate(("ham", "spam"), (0.7, 0.3), (0.09, 0.09), 10, 20.0).sentence())
        the share of ham is now known to ± 9 points (70%); 13 more labels would make it ± 6
        """
        c, more = self.widest, math.ceil(self.labels * (1 / _NEARER**2 - 1))
        half = 100 * self.half_widths[c]
        return (
            f"the share of {self.classes[c]} is now known to ± {half:.0f} points ({self.shares[c]:.0%}); "
            f"{plural(more, 'more label')} would make it ± {_NEARER * half:.0f}"
        )


def estimate_balance(
    labelled: Labelled, proba: NDArray[np.floating[Any]], classes: tuple[str, ...]
) -> BalanceEstimate | None:
    """The shares of all documents; None where no label tells about all of them.

    `proba` (n, m) is a control variate, which must not have been learnt from these labels: predictions that are
    often right make the interval narrower, and wrong ones do no harm (see `denoising.balance`).
    """
    rows = labelled.rows
    if not len(rows):
        return None
    weights = labelled.weights[rows]
    even = Balance(np.full(len(classes), 1 / len(classes)), _NONE, BalanceOrigin.ASSUMED)
    q = np.asarray(proba, np.float64)
    truth = np.asarray(labelled.numbers[rows], np.intp)
    known = from_labels(even, lambda _: q, rows, truth, weights / weights.sum())
    n = max(known.labels, 1.0)
    centre = (known.shares * n + 1) / (n + 2)  # a class that was never seen is not known exactly
    half = Z95 * np.sqrt(centre * (1 - centre) / n)
    return BalanceEstimate(
        classes=classes,
        shares=tuple(known.shares.tolist()),
        half_widths=tuple(np.minimum(half, 1.0).tolist()),
        labels=len(rows),
        worth=float(n),
    )
