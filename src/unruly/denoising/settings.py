"""The settings of the default method."""

from __future__ import annotations

from dataclasses import dataclass

from unruly.options import Checked, number, whole


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
