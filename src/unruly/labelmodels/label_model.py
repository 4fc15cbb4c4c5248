"""What a label model is: votes in, soft labels out."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unruly.votes.votes import Votes


@runtime_checkable
class LabelModel(Protocol):
    """Turns votes into soft labels, and says how far each source can be trusted.

    Uncovered documents get the class prior. No model sees a true label.

    >>> from unruly.labelmodels.dawid_skene import DawidSkene
    >>> votes = Votes.from_array([[0, 0, 0], [1, 1, 0], [1, 1, -1]])
    >>> isinstance(DawidSkene().fit(votes), LabelModel)
    True
    """

    prior_: NDArray[np.float64]  # (m,): the class prior that was given or estimated
    accuracies_: NDArray[np.float64]  # (k,): of each vote cast, NaN for a source that cast none

    def fit(self, votes: Votes) -> Self:
        """Learn how the sources behave."""

    def predict_proba(self, votes: Votes) -> NDArray[np.float64]:
        """(n, m): the probability of each class, for votes of the same sources."""

    def predict(self, votes: Votes) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""
