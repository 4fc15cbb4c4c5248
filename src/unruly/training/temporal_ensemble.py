"""Temporal ensembling (Laine and Aila, 2016), as in section 3.4: the target of self-training.

    Z_i <- alpha Z_i + (1 - alpha) z~_i,     p_i = Z_i / (1 - alpha^t)

Z is carried from epoch to epoch and starts at zero; dividing by 1 - alpha^t makes p_i a weighted mean
of all predictions so far, the current one included, from the first epoch on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


class TemporalEnsemble:
    """The memory of the classifier's predictions."""

    def __init__(self, memory: Tensor, alpha: float) -> None:
        self.memory = memory  # (n, m): Z, zeros at first
        self.alpha = alpha

    def update(self, probability: Tensor, epoch: int, rows: Tensor | None = None) -> Tensor:
        """Take in the predictions of epoch t (of all documents, or some rows) and give p for them."""
        memory = self.memory if rows is None else self.memory.index_select(0, rows)
        memory = memory.mul(self.alpha).add_(probability, alpha=1 - self.alpha)
        if rows is None:
            self.memory.copy_(memory)
        else:
            self.memory.index_copy_(0, rows, memory)
        return memory.div_(1 - self.alpha**epoch)
