"""Cross-validation against gold labels: they go to the scorer alone, never to `fit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from unruly.errors import InputError
from unruly.votes.votes import Votes


class GoldScorer:
    """Accuracy of each fold against gold labels that no fit has seen.

    scikit-learn splits `X` and the votes; the ids of the held-out votes tell which gold labels belong
    to them. `gold` is in the order of the documents when ids are row numbers, as they are by default;
    else a map from ids.

    >>> from sklearn.model_selection import cross_val_score
    >>> from unruly import Votes, WeakClassifier
    >>> X = np.tile(np.eye(2, dtype=np.float32), (10, 1))
    >>> votes = Votes.from_array(np.tile([[0, -1], [1, 1]], (10, 1)))
    >>> model = WeakClassifier(method="paper").set_params(settings__epochs=20)
    >>> cross_val_score(model, X, votes, scoring=GoldScorer([0, 1] * 10), cv=2)
    array([1., 1.])
    """

    def __init__(self, gold: ArrayLike | Mapping[Any, Any]) -> None:
        self.gold = gold

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """The accuracy of a fitted estimator on held-out documents."""
        if not isinstance(y, Votes):
            raise InputError(
                "GoldScorer needs votes that know their documents' ids: pass Votes.from_array(matrix) as y"
            )
        return float(estimator.score(X, self._of(y.ids)))

    def _of(self, ids: pl.Series) -> list[Any]:
        if isinstance(self.gold, Mapping):
            return [self.gold.get(key) for key in ids.to_list()]
        labels = np.asarray(self.gold)
        rows = ids.to_list()
        if not all(isinstance(row, int) and 0 <= row < len(labels) for row in rows):
            raise InputError(
                "the votes' ids are not row numbers: give the gold labels as a map from ids to labels"
            )
        return list(labels[rows].tolist())
