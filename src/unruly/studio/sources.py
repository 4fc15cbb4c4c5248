"""The table of sources: what each covers, where it stands against the others, how right it is, what it adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from unruly.sampling import Share, wilson
from unruly.studio.state import NONE, State, other_counts, winners


@dataclass(frozen=True)
class SourceRow:
    """One source of the project, disabled ones included."""

    name: str
    enabled: bool
    labels: tuple[str, ...]  # the classes that it votes for
    reason: str  # its rules in a few words
    votes: int = 0
    coverage: float = 0.0
    overlaps: float = 0.0
    conflicts: float = 0.0
    alone: int = 0  # documents that no other source covers
    estimated: Share | None = None  # its accuracy, as the model estimates it without gold
    agreement: Share | None = None  # with the majority of the others, where there is no estimate
    measured: Share | None = None  # against labels


def source_rows(state: State, estimates: Mapping[str, Share]) -> tuple[SourceRow, ...]:
    """All sources in the order of the file."""
    return state.once(("source rows", tuple(estimates.items())), lambda: _rows(state, estimates))


def _rows(state: State, estimates: Mapping[str, Share]) -> tuple[SourceRow, ...]:
    alone = state.votes.voted.sum(axis=1) == 1
    lines = {row.source: row for row in state.summary.sources} if state.votes.k else {}
    found = []
    for source in state.project.sources.with_disabled:
        reason = "; ".join(rule.when.reason() for rule in source.rules[:3])
        line = lines.get(source.name)
        if line is None or line.j is None:
            classes = tuple(state.project.sources.classes)
            labels = tuple(
                dict.fromkeys(
                    classes[c] for rule in source.rules for c in rule.named(classes) or ()
                )
            )
            found.append(SourceRow(source.name, source.enabled, labels, reason))
            continue
        voted = state.votes.voted[:, line.j]
        score = line.score
        checked = 0 if score is None else score.correct + score.incorrect
        found.append(
            SourceRow(
                name=source.name,
                enabled=True,
                labels=tuple(state.classes[c] for c in line.polarity),
                reason=reason,
                votes=int(voted.sum()),
                coverage=line.coverage,
                overlaps=line.overlaps,
                conflicts=line.conflicts,
                alone=int((voted & alone).sum()),
                estimated=estimates.get(source.name),
                agreement=_agreement(state, line.j),
                measured=wilson(score.correct, checked) if score is not None and checked else None,
            )
        )
    return tuple(found)


def _agreement(state: State, j: int) -> Share | None:
    """How often it names the class that the other sources have most votes for."""
    column = state.votes.matrix[:, j]
    rows = np.flatnonzero(column >= 0)
    majority = winners(other_counts(state, rows, column))
    clear = majority != NONE
    hits = majority[clear] == column[rows][clear]
    return wilson(int(hits.sum()), int(clear.sum())) if clear.any() else None
