"""Facts as small typed values; words are made where a person reads them.

`GoldUse` says what true labels were used for, and the `Ledger` holds all uses. A `Note` is something worth telling the
user about a fit. Neither holds a sentence: `unruly.model.summary` writes those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, get_args

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


@dataclass(frozen=True)
class GoldUse:
    """A number of true labels, where they came from, and what they were used for."""

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
    before: BalanceOrigin | None = None  # of the shares that the labels are combined with
    weight: float = 0.0  # of those shares beside the labels, from 0 to 1
    depends: float | None = None  # share of answers that other plausible shares would change
    left_open: tuple[str, ...] = ()  # nothing was stated of these: the votes divide their share


@dataclass(frozen=True)
class ClassesWithoutVotes:
    """Classes that no source votes for, so that they are never predicted."""

    kind: ClassVar[str] = "classes_without_votes"
    classes: tuple[str, ...]


@dataclass(frozen=True)
class ClassesAlike:
    """Groups of classes that no vote tells apart."""

    kind: ClassVar[str] = "classes_alike"
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SharesAgainstVotes:
    """A class with votes on more than twice as many documents as its stated share allows."""

    kind: ClassVar[str] = "shares_against_votes"
    label: str
    share: float  # as stated
    voted: float  # share of the documents with a vote for it


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
    pattern: bool = (
        True  # whether it has a pattern, whose budget can be set; else a sequence of words
    )


@dataclass(frozen=True)
class DocumentsUnasked:
    """A source that was not asked about some documents: its votes are missing there."""

    kind: ClassVar[str] = "documents_unasked"
    source: str
    documents: int
    of: int  # all documents


@dataclass(frozen=True)
class LearntFromSample:
    """The model was trained on a random sample of the documents."""

    kind: ClassVar[str] = "learnt_from_sample"
    documents: int
    of: int  # all documents


Note = (
    ClassBalance
    | ClassesWithoutVotes
    | ClassesAlike
    | SharesAgainstVotes
    | SourceBelowChance
    | BlankTexts
    | EncoderFallback
    | DocumentsGivenUp
    | DocumentsUnasked
    | LearntFromSample
)
_NOTES: dict[str, type[Note]] = {note.kind: note for note in get_args(Note)}


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
    named = [field.name for field in fields(kind) if field.name in plain]
    values = {name: _tuples(plain[name]) for name in named}
    for name in ("origin", "before"):
        if values.get(name) is not None:
            values[name] = BalanceOrigin(values[name])
    return kind(**values)


def _tuples(value: Any) -> Any:
    """Lists, and lists in them, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


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


_USES = {
    Use.ADVICE: "advice on rules",
    Use.COMPARISON: "training the classifier that the rules are compared with",
}
