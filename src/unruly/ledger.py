"""The ledger of true labels: how many were used, where they came from, and for what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from unruly.errors import InputError


class Use(StrEnum):
    """What true labels can be used for."""

    TRAINING = "training"  # clean labels, fixed in place of estimated ones
    SELECTION = "selection"  # which epoch or setting is kept
    PRIOR = "prior"  # the share of each class
    CALIBRATION = "calibration"  # what the probabilities mean
    SCORING = "scoring"  # how good the result is; changes nothing in the model
    COMPARISON = "comparison"  # a classifier beside the model; changes nothing in the model
    ADVICE = "advice"  # what to change in the rules, which then have seen these labels


_OUTSIDE = (Use.SCORING, Use.COMPARISON, Use.ADVICE)  # uses that leave the model as it is
_USES = {
    Use.ADVICE: "advice on rules",
    Use.COMPARISON: "training the classifier that the rules are compared with",
}


@dataclass(frozen=True)
class GoldUse:
    """A number of true labels, where they came from, and what they were used for."""

    use: Use
    labels: int
    origin: str = ""  # a file's name, or what the caller passed


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
    >>> print(ledger.add(Use.ADVICE, 196, "test.csv"))
    gold labels: none in the model; 196 for scoring (test.csv); 196 for advice on rules (test.csv)
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
        """The ledger with one more use; a use of 0 labels is not entered."""
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
        return [entry for entry in self.entries if entry.use not in _OUTSIDE]

    def in_words(self) -> str:
        """All uses, without a heading.

        >>> Ledger().in_words()
        'none used'
        """
        if not self.entries:
            return "none used"
        inside = ", ".join(map(_entry, self._in_model)) or "none in the model"
        outside = [entry for entry in self.entries if entry.use in _OUTSIDE]
        return "; ".join([inside, *map(_entry, outside)])

    def __str__(self) -> str:
        return f"gold labels: {self.in_words()}"

    def to_plain(self) -> list[dict[str, Any]]:
        """As JSON has it."""
        return [{**asdict(entry), "use": entry.use.value} for entry in self.entries]

    @classmethod
    def from_plain(cls, plain: Sequence[Mapping[str, Any]]) -> Ledger:
        """Back from JSON."""
        return cls(tuple(GoldUse(Use(e["use"]), int(e["labels"]), str(e["origin"])) for e in plain))


def _entry(used: GoldUse) -> str:
    origin = f" ({used.origin})" if used.origin else ""
    return f"{used.labels:,} for {_USES.get(used.use, used.use.value)}{origin}"
