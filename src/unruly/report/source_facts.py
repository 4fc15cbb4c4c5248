"""What is known of each source: what it covers, how far it is trusted, how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.model.metrics import Share, wilson
from unruly.model.summary import FitSummary, SourceLine
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class SourceFacts:
    """One source. Shares are of all documents, but for the accuracies, which are of its votes."""

    name: str
    labels: tuple[str, ...]  # the classes that it votes for
    votes: int
    coverage: float
    overlaps: float  # with a vote of another source, too
    conflicts: float  # with a different vote of another source
    reliability: float  # global; all sources sum to 1
    estimated: Share | None  # accuracy without gold; None for a source that never voted
    measured: Share | None  # accuracy against gold; None without gold

    @property
    def best_known(self) -> Share | None:
        """Measured where there is gold, else estimated."""
        return self.measured or self.estimated


def source_facts(
    summary: FitSummary,
    votes: Votes,
    scored: Votes | None = None,
    gold: NDArray[np.int64] | None = None,
) -> tuple[SourceFacts, ...]:
    """All sources in the model's order: counted on `votes`, measured on `scored` against its gold."""
    table = votes.summary()
    measured = _measured(scored, gold)
    return tuple(
        SourceFacts(
            name=line.name,
            labels=tuple(votes.classes[r] for r in row.polarity),
            votes=round(row.coverage * votes.n),
            coverage=row.coverage,
            overlaps=row.overlaps,
            conflicts=row.conflicts,
            reliability=line.reliability,
            estimated=_estimated(line),
            measured=measured[j] if measured else None,
        )
        for j, (line, row) in enumerate(zip(summary.sources, table.sources, strict=True))
    )


def estimated_how(summary: FitSummary) -> str:
    """What the estimates are, in words."""
    if any(line.accuracy is not None for line in summary.sources):
        return "estimated without gold from texts and the other sources, with a 95 % interval"
    return "the share of its votes that the final labels bear out; no gold is in it"


def _estimated(line: SourceLine) -> Share | None:
    if line.accuracy is not None and line.accuracy_low is not None:
        assert line.accuracy_high is not None
        return Share(line.accuracy, line.accuracy_low, line.accuracy_high, line.votes)
    if line.agreement is None:
        return None
    return wilson(line.agreement * line.votes, line.votes)


def _measured(votes: Votes | None, gold: NDArray[np.int64] | None) -> Sequence[Share | None] | None:
    if votes is None or gold is None:
        return None
    shares: list[Share | None] = []
    for j in range(votes.k):
        checked = votes.voted[:, j] & (gold >= 0)
        right = int((votes.matrix[checked, j] == gold[checked]).sum())
        shares.append(wilson(right, int(checked.sum())) if checked.any() else None)
    return shares
