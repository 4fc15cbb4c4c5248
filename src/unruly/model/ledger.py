"""The ledger of gold: which true labels were used, and for what. Every figure carries it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unruly.errors import InputError
from unruly.facts import GoldUse, Use


@dataclass(frozen=True)
class Ledger:
    """All uses of true labels, in the order in which they happened.

    >>> str(Ledger())
    'gold labels: none used'
    >>> ledger = Ledger().add(Use.SCORING, 196, "test.csv")
    >>> str(ledger)
    'gold labels: none in the model; 196 for scoring (test.csv)'
    >>> str(ledger.add(Use.TRAINING, 20)), ledger.gold_free
    ('gold labels: 20 for training; 196 for scoring (test.csv)', True)
    """

    entries: tuple[GoldUse, ...] = ()

    @classmethod
    def of(cls, uses: Iterable[GoldUse]) -> Ledger:
        """The ledger of these uses, each entered once."""
        ledger = cls()
        for used in uses:
            ledger = ledger.add(used.use, used.labels, used.origin)
        return ledger

    def add(self, use: Use, labels: int, origin: str = "") -> Ledger:
        """The ledger with one more use; a use of no labels is not one."""
        if labels < 0:
            raise InputError(f"{labels} gold labels cannot be entered: count them from 0")
        entry = GoldUse(Use(use), labels, origin)
        if not labels or entry in self.entries:
            return self
        return Ledger((*self.entries, entry))

    def used_for(self, use: Use) -> int:
        """How many true labels were used for this."""
        return sum(entry.labels for entry in self.entries if entry.use is use)

    @property
    def gold_free(self) -> bool:
        """Whether no true label touched the model: not in training, selection, prior or calibration."""
        return not self._in_model

    @property
    def _in_model(self) -> list[GoldUse]:
        return [entry for entry in self.entries if entry.use is not Use.SCORING]

    def __str__(self) -> str:
        scoring = [entry for entry in self.entries if entry.use is Use.SCORING]
        if not self.entries:
            return "gold labels: none used"
        inside = ", ".join(map(_entry, self._in_model)) or "none in the model"
        return "; ".join([f"gold labels: {inside}", *map(_entry, scoring)])

    def to_plain(self) -> list[dict[str, Any]]:
        """As JSON has it."""
        return [{**asdict(entry), "use": entry.use.value} for entry in self.entries]

    @classmethod
    def from_plain(cls, plain: Sequence[Mapping[str, Any]]) -> Ledger:
        """Back from JSON."""
        return cls(tuple(GoldUse(Use(e["use"]), int(e["labels"]), str(e["origin"])) for e in plain))


def _entry(used: GoldUse) -> str:
    origin = f" ({used.origin})" if used.origin else ""
    return f"{used.labels:,} for {used.use.value}{origin}"
