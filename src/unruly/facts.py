"""Facts that travel through the house as small typed values; words are made where a person reads them.

`GoldUse` says what true labels were used for. A `Note` is something worth telling the user about a fit.
Neither holds a sentence: `unruly.model.wording` writes those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar


class Use(StrEnum):
    """What true labels can be used for."""

    TRAINING = "training"  # clean labels, fixed in place of estimated ones
    SELECTION = "selection"  # which epoch or setting is kept
    PRIOR = "prior"  # the share of each class
    CALIBRATION = "calibration"  # what the probabilities mean
    SCORING = "scoring"  # how good the result is; changes nothing in the model


@dataclass(frozen=True)
class GoldUse:
    """So many true labels, from somewhere, for one use."""

    use: Use
    labels: int
    origin: str = ""  # a file's name, or what the caller passed


class BalanceOrigin(StrEnum):
    """Where the class balance comes from."""

    STATED = "stated"  # by the user
    LABELS = "labels"  # estimated from clean labels
    ASSUMED = "assumed"  # nothing is known


@dataclass(frozen=True)
class ClassBalance:
    """The class shares that a fit used, and how many answers depend on them."""

    kind: ClassVar[str] = "class_balance"
    classes: tuple[str, ...]
    shares: tuple[float, ...]  # of the training documents, as the fit used them
    origin: BalanceOrigin
    labels: int = 0  # clean labels behind it
    depends: float | None = None  # share of answers that other plausible shares would change
    left_open: tuple[
        str, ...
    ] = ()  # classes that nothing was stated of: the votes divide their share


@dataclass(frozen=True)
class ClassesWithoutVotes:
    """Classes that no source votes for, so that they are never predicted."""

    kind: ClassVar[str] = "classes_without_votes"
    classes: tuple[str, ...]


@dataclass(frozen=True)
class SourceBelowChance:
    """A source that is most likely wrong more often than a guess by the class shares."""

    kind: ClassVar[str] = "source_below_chance"
    source: str
    accuracy: float
    low: float  # of its 95 % interval
    high: float
    chance: float  # how often a guess by the class shares would be right


@dataclass(frozen=True)
class BlankTexts:
    """Many texts hold nothing but blanks: perhaps the wrong column."""

    kind: ClassVar[str] = "blank_texts"
    blank: int
    documents: int


@dataclass(frozen=True)
class EncoderFallback:
    """`auto` chose a plainer encoder, because a library that the better one needs is missing."""

    kind: ClassVar[str] = "encoder_fallback"
    encoder: str  # what is used
    better: str  # what is not
    extra: str  # that installs it


@dataclass(frozen=True)
class DocumentsGivenUp:
    """A rule that took too long on some documents, and so abstains there."""

    kind: ClassVar[str] = "documents_given_up"
    source: str
    rule: int  # of its source, from 1
    documents: int
    seconds: float  # the budget for one document


@dataclass(frozen=True)
class DocumentsUnasked:
    """A source that was not asked about some documents: its votes are missing there."""

    kind: ClassVar[str] = "documents_unasked"
    source: str
    documents: int
    of: int  # all documents


Note = (
    ClassBalance
    | ClassesWithoutVotes
    | SourceBelowChance
    | BlankTexts
    | EncoderFallback
    | DocumentsGivenUp
    | DocumentsUnasked
)
_NOTES: dict[str, type[Note]] = {
    note.kind: note
    for note in (
        ClassBalance,
        ClassesWithoutVotes,
        SourceBelowChance,
        BlankTexts,
        EncoderFallback,
        DocumentsGivenUp,
        DocumentsUnasked,
    )
}


def note_to_plain(note: Note) -> dict[str, Any]:
    """A note as JSON has it: its kind and its values.

    >>> note_to_plain(BlankTexts(9, 10))
    {'kind': 'blank_texts', 'blank': 9, 'documents': 10}
    """
    return {"kind": note.kind, **asdict(note)}


def note_from_plain(plain: Mapping[str, Any]) -> Note:
    """A note back from JSON.

    >>> note_from_plain({"kind": "blank_texts", "blank": 9, "documents": 10})
    BlankTexts(blank=9, documents=10)
    """
    kind = _NOTES[plain["kind"]]
    values = {field.name: plain[field.name] for field in fields(kind)}
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    if "origin" in values:
        values["origin"] = BalanceOrigin(values["origin"])
    return kind(**values)
