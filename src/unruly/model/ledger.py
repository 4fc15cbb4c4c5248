"""The ledger of gold: which true labels were used, and for what. Every figure carries it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from unruly.errors import InputError


class Use(StrEnum):
    """What true labels can be used for."""

    TRAINING = "training"  # clean labels, fixed in place of pseudo-labels
    SELECTION = "selection"  # which epoch or setting is kept
    PRIOR = "prior"  # the share of each class
    CALIBRATION = "calibration"  # what the probabilities mean
    SCORING = "scoring"  # how good the result is; changes nothing in the model


_WORDS = {
    "training": Use.TRAINING,
    "choice of the epoch": Use.SELECTION,
    "selection": Use.SELECTION,
    "class prior": Use.PRIOR,
    "prior": Use.PRIOR,
    "calibration": Use.CALIBRATION,
}


@dataclass(frozen=True)
class Entry:
    """So many true labels, from somewhere, for one use."""

    use: Use
    labels: int
    origin: str = ""  # a file's name, or what the caller passed

    def __str__(self) -> str:
        return f"{self.labels:,} for {self.use.value}" + (
            f" ({self.origin})" if self.origin else ""
        )


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

    entries: tuple[Entry, ...] = ()

    def add(self, use: Use, labels: int, origin: str = "") -> Ledger:
        """The ledger with one more use; a use of no labels is not one."""
        if labels < 0:
            raise InputError(f"a use of {labels} gold labels cannot be entered: count them from 0")
        entry = Entry(use, labels, origin)
        if not labels or entry in self.entries:
            return self
        return Ledger((*self.entries, entry))

    def add_words(self, words: Sequence[str]) -> Ledger:
        """The ledger with what a learner tells of its own gold use, such as 'training: 20 clean labels'.

        >>> str(Ledger().add_words(["class prior: 20 clean labels"]))
        'gold labels: 20 for prior'
        """
        ledger = self
        for told in words:
            use, _, rest = told.partition(":")
            count = re.search(r"\d+", rest)
            # Words that are not understood still count as gold in the model.
            known = _WORDS.get(use.strip(), Use.TRAINING)
            ledger = ledger.add(known, int(count.group()) if count else 1, "" if count else told)
        return ledger

    def used_for(self, use: Use) -> int:
        """How many true labels were used for this."""
        return sum(entry.labels for entry in self.entries if entry.use is use)

    @property
    def gold_free(self) -> bool:
        """Whether no true label touched the model: not in training, selection, prior or calibration."""
        return not self._in_model

    @property
    def _in_model(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.use is not Use.SCORING]

    def __str__(self) -> str:
        scoring = [entry for entry in self.entries if entry.use is Use.SCORING]
        if not self.entries:
            return "gold labels: none used"
        inside = ", ".join(map(str, self._in_model)) or "none in the model"
        return "; ".join([f"gold labels: {inside}", *map(str, scoring)])

    def to_plain(self) -> list[dict[str, Any]]:
        """As JSON has it."""
        return [{"use": e.use.value, "labels": e.labels, "origin": e.origin} for e in self.entries]

    @classmethod
    def from_plain(cls, plain: Sequence[Mapping[str, Any]]) -> Ledger:
        """Back from JSON."""
        return cls(tuple(Entry(Use(e["use"]), int(e["labels"]), str(e["origin"])) for e in plain))
