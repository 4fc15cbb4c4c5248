"""Temporal ensembling (Laine and Aila, 2016), as in section 3.4: the target of self-training.

    Z_i <- alpha Z_i + (1 - alpha) z~_i,     p_i = Z_i / (1 - alpha^t)

Z is carried from epoch to epoch and starts at zero; dividing by 1 - alpha^t makes p_i a weighted mean
of all predictions so far, the current one included, from the first epoch on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.statistics import Float32


class TemporalEnsemble:
    """The memory of the classifier's predictions for n documents of m classes."""

    def __init__(self, n: int, m: int, alpha: float) -> None:
        self.memory = np.zeros((n, m), dtype=np.float32)  # Z
        self.alpha = alpha

    def update(
        self, probability: Float32, epoch: int, rows: NDArray[np.intp] | None = None
    ) -> Float32:
        """Take in the predictions of epoch t (of all documents, or some rows) and give p for them.

        >>> ensemble = TemporalEnsemble(1, 2, alpha=0.6)
        >>> ensemble.update(np.array([[1, 0]], np.float32), epoch=1).tolist()
        [[1.0, 0.0]]
        >>> ensemble.update(np.array([[0, 1]], np.float32), epoch=2).round(3).tolist()
        [[0.375, 0.625]]
        """
        memory = self.memory if rows is None else self.memory[rows]
        memory = memory * np.float32(self.alpha)
        memory += np.float32(1 - self.alpha) * probability
        if rows is None:
            self.memory = memory
        else:
            self.memory[rows] = memory
        return np.asarray(memory / np.float32(1 - self.alpha**epoch), dtype=np.float32)
