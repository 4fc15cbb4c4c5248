"""Why a source voted as it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Match:
    """Why one source voted as it did on one document."""

    source: str
    rule: int  # which of the source's rules decided, counted from 0
    label: str
    spans: tuple[tuple[int, int], ...]  # character ranges of the text that the rule matched
    reason: str  # the rule in words, e.g. 'keywords: subscribe'


class Provenance(Protocol):
    """Whoever made the votes, and can still tell why."""

    def matches(self, row: int) -> tuple[Match, ...]:
        """What fired on this document, one `Match` for each source that voted."""
