"""Findings: what the user should know of texts, rules, sources, classes or labels, as small typed values.

A `Note` comes of a fit and is kept with the model, a `Critique` judges the rules; other findings come of `unruly check`
or of a file of labels. None holds a sentence: `unruly.sentences` writes those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, get_args

from unruly.errors import Where
from unruly.statistics import Share


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
    added_up_to: float | None = None  # what rough shares that were stated summed to, if not to 1
    predicted: tuple[float, ...] = ()  # of the training documents; () where it is not known


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
    """A class with votes on more than twice as many documents as its stated share allows.

    Were every document of the class among them, still at most `share / voted` of these votes could be right.
    """

    kind: ClassVar[str] = "shares_against_votes"
    label: str
    share: float  # as stated
    voted: float  # share of the documents with a vote for it
    source: str | None = None  # whose votes; None: of any source


@dataclass(frozen=True)
class WeakSource:
    """A source that is wrong more often than right, or no better than such votes on any documents."""

    kind: ClassVar[str] = "weak_source"
    source: str
    votes: int
    accuracy: Share
    measured: bool = False  # against true labels; else estimated
    chance: float | None = None  # accuracy of such votes on any documents; None: shares are unknown
    adds: Share | None = None  # accuracy of majority vote with it minus without; None: not measured
    leaves: str | None = (
        None  # by an estimate only: a class that would have one source or none without it
    )

    @property
    def above_chance(self) -> bool:
        """Whether it is right more often than such votes on any documents: then they are evidence, however often wrong.

        By the figure itself, whatever the interval: dropping such sources costs accuracy (lab/LOG.md, 2026-11-19).
        """
        return self.chance is not None and self.accuracy.value > self.chance

    @property
    def clear(self) -> bool:
        """Whether the interval leaves no doubt: no higher than chance, or than one half."""
        return self.accuracy.high <= max(self.chance or 0.0, 0.5)

    @property
    def useful(self) -> bool:
        """Whether it is measured to add to majority vote all the same: a tenth of a point, as it is shown, or more."""
        return self.adds is not None and round(self.adds.value, 3) > 0


@dataclass(frozen=True)
class ReadAsWindows1252:
    """A table that is not UTF-8, and was read as what western spreadsheets write."""

    kind: ClassVar[str] = "read_as_windows_1252"
    file: str
    line: int  # the first that is not UTF-8
    reads: str  # what stands there then


@dataclass(frozen=True)
class BlankTexts:
    """Texts that hold nothing but blanks; where they are many, this is perhaps the wrong column."""

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


@dataclass(frozen=True)
class NoVotes:
    """No source votes on any document."""

    kind: ClassVar[str] = "no_votes"
    text_column: str | None = None  # that was read, where known


@dataclass(frozen=True)
class OneClassVoted:
    """All votes name the same class, so that no other can be learnt."""

    kind: ClassVar[str] = "one_class_voted"
    label: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class SilentSource:
    """A source that never votes on these documents; its rules may be those meant for a class without votes."""

    kind: ClassVar[str] = "silent_source"
    source: str
    missing: tuple[str, ...] = ()  # classes that no source votes for


@dataclass(frozen=True)
class IdleRule:
    """A rule without which its source, which does vote, would vote the same on every document."""

    kind: ClassVar[str] = "idle_rule"
    where: Where
    matches: int  # documents; an earlier rule of the source decides on each


@dataclass(frozen=True)
class ExampleFailure:
    """A rule's own example that does not match, or a counter-example that does."""

    kind: ClassVar[str] = "example_failure"
    where: Where
    text: str
    counter_example: bool


@dataclass(frozen=True)
class StarredKeyword:
    """A keyword such as crash*: in other tools the star stands for any letters, here for itself."""

    kind: ClassVar[str] = "starred_keyword"
    source: str
    word: str


@dataclass(frozen=True)
class UnspacedKeywords:
    """Keywords in a script without spaces, looked for as whole words: most of their occurrences are inside one."""

    kind: ClassVar[str] = "unspaced_keywords"
    source: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class NoLabels:
    """The project names a column of labels, and no file has labels in it."""

    kind: ClassVar[str] = "no_labels"
    column: str


@dataclass(frozen=True)
class RepeatedTexts:
    """Texts that repeat an earlier one."""

    kind: ClassVar[str] = "repeated_texts"
    repeats: int
    documents: int


@dataclass(frozen=True)
class UnreadableLine:
    """A line of a label file that is not an answer: cut short, or without an id or a label."""

    kind: ClassVar[str] = "unreadable_line"
    line: int
    text: str


@dataclass(frozen=True)
class UnknownId:
    """A label of a document that is not, or no longer, in the data."""

    kind: ClassVar[str] = "unknown_id"
    id: str


@dataclass(frozen=True)
class UnknownClass:
    """A label that is not a class of the task."""

    kind: ClassVar[str] = "unknown_class"
    id: str
    label: str


@dataclass(frozen=True)
class Contradiction:
    """A document to which people gave different labels."""

    kind: ClassVar[str] = "contradiction"
    id: str
    labels: tuple[tuple[str, str], ...]  # (annotator, label)


@dataclass(frozen=True)
class SharesUnknown:
    """Class shares are neither stated nor known from labels, so that no estimate judges a source or a word."""

    kind: ClassVar[str] = "shares_unknown"


@dataclass(frozen=True)
class WeakWord:
    """A word of a list that is clearly worse than the rest: its whole interval lies below theirs."""

    kind: ClassVar[str] = "weak_word"
    source: str
    rule: int  # its number in the source, from 1: what an edit of the list needs
    word: str
    label: str
    votes: int
    accuracy: Share
    others: Share  # of the source's votes for this class without the word
    measured: bool  # against true labels; else estimated
    chance: float  # the share of this class: how often the word would be right on any documents
    checked: Share | None = None  # the same by true labels that are there for scoring; None without
    # A source with votes for other classes on nearly all of these documents, which the estimate believes.
    rival: str | None = None

    @property
    def above_chance(self) -> bool:
        """Whether its whole interval is above the class's share: then the word is evidence, if a weaker one."""
        return self.accuracy.low > self.chance

    @property
    def clear(self) -> bool:
        """Whether the interval leaves no doubt, as of sources: no higher than chance, or than one half."""
        return self.accuracy.high <= max(self.chance, 0.5)

    @property
    def contradicted(self) -> bool:
        """Whether the true labels for scoring lie above the estimate's interval."""
        return self.checked is not None and self.checked.value > self.accuracy.high


@dataclass(frozen=True)
class RepeatedSource:
    """A source most of whose votes another source casts as well; of two alike, the smaller."""

    kind: ClassVar[str] = "repeated_source"
    source: str
    other: str
    votes: int
    share: float  # of its votes

    @property
    def adds_nothing(self) -> bool:
        """Whether the other source casts every one of its votes."""
        return self.share >= 1


@dataclass(frozen=True)
class Conflict:
    """Two sources that often disagree, and the two classes about which they do so most.

    Where they name no class in common they disagree wherever they meet; then `source` is the one with fewer votes.
    """

    kind: ClassVar[str] = "conflict"
    source: str
    other: str
    votes: int  # of the first source
    documents: int  # on which both vote
    conflicts: int  # on which they disagree
    label: str  # the first source's class in the commonest conflict
    other_label: str
    times: int  # that this conflict occurs
    opposed: bool  # whether they name no class in common
    examples: tuple[str, ...]  # ids of documents


@dataclass(frozen=True)
class UncoveredClass:
    """A class with too few votes: of no source, of one source, or on few of its documents."""

    kind: ClassVar[str] = "uncovered_class"
    label: str
    sources: tuple[str, ...]  # that vote for it
    predicted: int  # documents that the model gives this class
    reached: float | None  # share of these with a vote for it; None when there are none


@dataclass(frozen=True)
class LabelNeverVoted:
    """No document has a vote for a class: of one source, or of any."""

    kind: ClassVar[str] = "label_never_voted"
    label: str
    source: str | None  # None: of any
    others: tuple[str, ...]  # classes that it votes for


@dataclass(frozen=True)
class NeverInConflict:
    """Two sources that never vote for different classes, at least where the first votes for `label`."""

    kind: ClassVar[str] = "never_in_conflict"
    source: str
    other: str
    label: str | None = None


@dataclass(frozen=True)
class AllCovered:
    """Every document with a text has votes."""

    kind: ClassVar[str] = "all_covered"


@dataclass(frozen=True)
class PartialVotesUnused:
    """Votes for one of several classes, which the paper's method has no place for."""

    kind: ClassVar[str] = "partial_votes_unused"
    source: str
    votes: int


WhyNone = SilentSource | LabelNeverVoted | NeverInConflict | AllCovered
LabelProblem = UnknownId | UnknownClass | Contradiction | UnreadableLine
Note = (
    ClassBalance
    | ClassesWithoutVotes
    | ClassesAlike
    | SharesAgainstVotes
    | WeakSource
    | BlankTexts
    | EncoderFallback
    | DocumentsGivenUp
    | DocumentsUnasked
    | LearntFromSample
    | PartialVotesUnused
)
Critique = (
    SharesUnknown
    | WeakSource
    | SilentSource
    | WeakWord
    | RepeatedSource
    | Conflict
    | UncoveredClass
)
Finding = (
    Note
    | NoVotes
    | OneClassVoted
    | SilentSource
    | IdleRule
    | ExampleFailure
    | StarredKeyword
    | UnspacedKeywords
    | ReadAsWindows1252
    | NoLabels
    | RepeatedTexts
    | LabelProblem
    | Critique
    | WhyNone
)
_NOTES: dict[str, type[Note]] = {note.kind: note for note in get_args(Note)}


def finding_to_plain(found: Finding) -> dict[str, Any]:
    """A finding as JSON has it: its kind and its values; of a place what is known.

    >>> finding_to_plain(BlankTexts(9, 10))
    {'kind': 'blank_texts', 'blank': 9, 'documents': 10}
    >>> finding_to_plain(IdleRule(Where(source="links", rule=2), 0))
    {'kind': 'idle_rule', 'where': {'rule': 2, 'source': 'links'}, 'matches': 0}
    """
    plain = {"kind": found.kind, **asdict(found)}
    if "where" in plain:
        place = plain["where"].items()
        plain["where"] = {key: v for key, v in place if v is not None and key != "keys"}
    return plain


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
    if kind is WeakSource:
        for name in ("accuracy", "adds"):
            values[name] = None if values.get(name) is None else Share(**values[name])
    return kind(**values)


def balance_from_plain(plain: Mapping[str, Any]) -> ClassBalance:
    """The class balance back from JSON, and no other note."""
    note = note_from_plain(plain)
    if not isinstance(note, ClassBalance):
        raise ValueError(f"a note of the kind {note.kind} stands where the class balance should be")
    return note


def _tuples(value: Any) -> Any:
    """Lists, and lists in them, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
