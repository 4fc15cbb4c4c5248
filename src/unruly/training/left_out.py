"""What a full-batch epoch need not compute: hidden units and documents that have no gradient left.

Every tenth epoch everything is computed and looked at. What had no gradient then and the time before is
left out until the next look. Both save time alone: the weights come out the same up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

_LOOK = 10  # epochs between two looks
_NEGLIGIBLE = 1e-7  # of the whole gradient: what float32 loses in summing a few rows


class LiveUnits:
    """The hidden units that any document wakes. A unit below zero on all of them has no gradient.

    At a large learning rate most rectifiers die within a few steps (on the paper's spouse data, 243
    of 256) and cost as much as living ones.
    """

    def __init__(self) -> None:
        self.silent: Tensor | None = None  # (h,): at the last look
        self.units: Tensor | None = None  # numbers of the live ones; None for all

    def at(self, epoch: int) -> Tensor | None:
        """The units to compute in this epoch; None for all."""
        return None if epoch % _LOOK == 0 else self.units

    def look(self, epoch: int, hidden: Tensor) -> None:
        """Take note of the hidden layer, (n, h), if this is the epoch to look."""
        if epoch % _LOOK:
            return
        silent = hidden.amax(0) <= 0
        dead = silent if self.silent is None else silent & self.silent
        first, self.silent = self.silent is None, silent
        enough = not first and int(dead.sum()) >= len(dead) // 4
        self.units = (~dead).nonzero().ravel() if enough else None


@dataclass(frozen=True, eq=False)
class Part:
    """The documents to compute, and what was last said of all of them."""

    rows: Tensor  # (r,): their numbers
    features: Tensor  # (r, d)
    logits: Tensor  # (n, m): of the others as they were at the last look

    def renewed(self, logits: Tensor) -> Tensor:
        """(n, m): the logits of all documents, with those of the part, (r, m), brought up to date."""
        return self.logits.index_copy_(0, self.rows, logits)


class LiveRows:
    """The documents that still pull at the classifier.

    Once it has learnt a document its pull is next to nothing: late in training that is
    most documents. Those whose pulls together are below rounding keep their last answer.
    """

    def __init__(self) -> None:
        self.quiet: Tensor | None = None  # (n,): at the last look
        self.part: Part | None = None
        self.due = False

    def at(self, epoch: int, changed: int) -> Part | None:
        """The documents to compute in this epoch; None for all, as when labels have just changed."""
        self.due = epoch % _LOOK == 0 or (changed > 0 and self.part is not None)
        if self.due:
            self.part = None
        return self.part

    def look(self, features: Tensor, logits: Tensor, slope: Tensor) -> None:
        """Take note of the pulls dl/dlogits, (n, m), if this is the epoch to look."""
        if not self.due:
            return
        pull, order = slope.abs().sum(1).sort()
        quiet = pull.new_zeros(len(pull)).bool()
        quiet[order] = pull.cumsum(0) <= _NEGLIGIBLE * pull.sum()
        still = None if self.quiet is None else quiet & self.quiet
        self.quiet = quiet
        if still is not None and int(still.sum()) >= len(still) // 3:
            rows = (~still).nonzero().ravel()
            self.part = Part(rows, features.index_select(0, rows), logits)
