"""`similar` and `[task.describe]`: texts compared by meaning, by the project's encoder.

A `similar` rule holds where a document is like one of its examples:

    best_i  = largest cosine of document i with an example of `to`
    other_i = largest cosine of document i with a counter-example of `unlike`
    the rule fires where  best_i > threshold  and  best_i > other_i

`[task.describe]` compares each document with the description of each class: a soft vote on every document with a text.
Each line of a description is compared by itself, so that it may hold examples:

    s_ic = largest cosine of document i with a line of the description of class c
    z_ic = (s_ic - mean_c) / deviation_c            over the training documents
    p_i  = softmax(SHARPNESS z_i)

Standardised, because a description that reads like ordinary prose is near to every text. The class balance is left to the
model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.rules.column import refuse_label
from unruly.rules.condition import (
    TEXT,
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    Row,
    Space,
    Table,
    as_tuple,
    digest_of,
    is_no_class,
    known_space,
)
from unruly.rules.keywords import read_words
from unruly.rules.source import Rule, Source
from unruly.statistics import softmax
from unruly.wording import plural, shortened

SHARE = 0.05  # of the training documents that `calibrated = true` fires on, unless stated otherwise
_SHOWN = 60  # characters of an example in an explanation
DESCRIBE = "describe"  # of the source that `[task.describe]` makes
# Of 1, 2 and 3, the best by the likelihood of gold in training data of agnews and yelp.
SHARPNESS = 2.0
Moments = tuple[tuple[float, ...], tuple[float, ...]]  # mean and deviation, one of each a class


@dataclass(frozen=True)
class Similar(Condition):
    """The text is near to an example, and nearer to it than to any counter-example.

    Examples are `to`, the lines of `file`, or the training documents with `ids`; counter-examples are `unlike`, best
    the examples of the other classes. The threshold is `above`, or the one that a share of the training documents pass:
    `calibrated=0.1`, or `True` for one in twenty. `space` embeds the texts (`unruly.TextSpace`); a project file brings its
    own.

    >>> Similar(["my parcel"], calibrated=True).calibrated
    0.05
    """

    to: Sequence[str] = ()
    above: float | None = None
    calibrated: float | bool | None = None  # the share of the training documents
    ids: Sequence[object] = ()
    file: str | None = None
    unlike: Sequence[str] = ()
    space: Space | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("to", "ids", "unlike"):
            object.__setattr__(self, name, as_tuple(name, getattr(self, name)))
        if bool(self.to) == bool(self.ids):
            raise RuleError("similar needs examples: to = [...], a file of them, or ids = [...]")
        if any(not isinstance(text, str) or not text.strip() for text in (*self.to, *self.unlike)):
            raise RuleError("an example of similar is blank or no text")
        if isinstance(self.calibrated, bool):
            object.__setattr__(self, "calibrated", SHARE if self.calibrated else None)
        if self.calibrated is not None and not 0 < self.calibrated < 1:
            raise RuleError(
                f"calibrated = {self.calibrated}: give a share between 0 and 1, or true for {SHARE}"
            )
        if (self.above is None) == (self.calibrated is None):
            raise RuleError("similar needs either above = 0.6 or calibrated = true")
        if self.above is not None and not -1 <= self.above < 1:
            raise RuleError(f"above = {self.above}: a cosine lies between -1 and 1")

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Similar:
        """From the key `similar`."""
        keys = ("to", "file", "ids", "unlike", "above", "calibrated")
        here, inner = place.section(table, "similar", keys)
        if sum(key in inner for key in ("to", "file", "ids")) != 1:
            raise here.error("similar needs examples: to = [...], or file = ..., or ids = [...]")
        file = None
        if "file" in inner:
            examples = read_words(here.at("file").file(inner["file"]))
            file = here.at("file").text(inner["file"])
        else:
            examples = here.at("to").texts(inner.get("to", ()))
        numbers: dict[str, float] = {}
        for key in ("above", "calibrated"):
            value = inner.get(key)
            if isinstance(value, bool) and key == "calibrated":
                numbers[key] = value
            elif key in inner:
                numbers[key] = here.at(key).number(value)
        unlike = here.at("unlike").texts(inner.get("unlike", ()))
        ids = inner.get("ids", ())
        if not isinstance(ids, Sequence) or isinstance(ids, str):
            raise here.at("ids").error("ids must be a list of documents' ids")
        with here.blamed():
            return cls(examples, ids=ids, file=file, unlike=unlike, space=place.space, **numbers)

    def resolved(self) -> Similar:
        """The same rule with examples and threshold as values, so that no training text is needed."""
        found, threshold = self.examples(), self.threshold()
        return replace(self, to=found, ids=(), file=None, above=threshold, calibrated=None)

    @property
    def _name(self) -> str:
        parts = [self.to, self.ids, self.unlike, self.above, self.calibrated]
        return f"__similar:{digest_of(parts)}"

    def examples(self) -> tuple[str, ...]:
        """The texts to be like."""
        return tuple(self.to) or known_space(self.space, "similar").texts_of(self.ids)

    def threshold(self) -> float:
        """The cosine to be passed."""
        if self.above is not None:
            return self.above
        assert self.calibrated is not None
        space = known_space(self.space, "similar")
        nearest = (space.sample @ space.directions(self.examples()).T).max(axis=1)
        return float(np.quantile(nearest, 1 - self.calibrated))

    def _likeness(self, frame: pl.DataFrame) -> pl.Series:
        """For each text: whether the rule holds, its cosine with the nearest example, and which one that is."""
        space = known_space(self.space, "similar")
        texts = space.directions(frame[TEXT].to_list())  # (n, d)
        cosines = texts @ space.directions(self.examples()).T  # (n, examples)
        best = cosines.max(axis=1, initial=-1)
        holds = best > self.threshold()
        if self.unlike:
            holds &= best > (texts @ space.directions(self.unlike).T).max(axis=1)
        columns = {
            "holds": holds,
            "cosine": best.astype(np.float32),
            "nearest": cosines.argmax(axis=1).astype(np.uint32),
        }
        return pl.DataFrame(columns).to_struct(self._name)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs((), (Measure(self._name, self._likeness, meaning=self.meaning),))

    def mask(self) -> pl.Expr:
        return pl.col(self._name).struct.field("holds")

    def reason(self) -> str:
        many = len(self.to) or len(self.ids)
        limit = (
            f"above {self.above:.2f}"
            if self.above is not None
            else f"the nearest {self.calibrated:.1%}"
        )
        but = f", unlike {len(self.unlike)}" if self.unlike else ""
        return f"similar to {plural(many, 'example')}{but} ({limit})"

    def because(self, row: Row) -> str:
        """The example that was nearest."""
        found = row[self._name]
        assert isinstance(found, Mapping)
        shown = shortened(self.examples()[found["nearest"]], _SHOWN)
        return f"like “{shown}” ({found['cosine']:.2f})"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {}
        if self.file is not None:
            plain["file"] = self.file
        elif self.ids:
            plain["ids"] = [key if isinstance(key, int | str) else str(key) for key in self.ids]
        else:
            plain["to"] = list(self.to)
        if self.unlike:
            plain["unlike"] = list(self.unlike)
        if self.above is not None:
            plain["above"] = self.above
        if self.calibrated is not None:
            plain["calibrated"] = self.calibrated
        return {"similar": plain}

    def meaning(self) -> Plain | None:
        space = known_space(self.space, "similar")
        if space.identity is None:
            return None
        learnt = space.training_identity if self.calibrated is not None else ""
        share: list[Plain] = [self.calibrated or 0.0, learnt]
        threshold: Plain = share if self.above is None else self.above
        examples: list[Plain] = [list(self.examples()), list(self.unlike)]
        return ["similar", 2, space.identity, examples, threshold]


@dataclass(frozen=True)
class Described(Condition):
    """A soft vote for the class whose description is nearest. Every class has one, of one line or more."""

    descriptions: Mapping[str, str]
    moments: Moments | None = (
        None  # in the order of the descriptions; None: of the training documents
    )
    space: Space | None = field(default=None, compare=False, repr=False)
    picks: ClassVar[bool] = True

    def __hash__(self) -> int:
        return hash((tuple(self.descriptions.items()), self.moments))

    def resolved(self) -> Described:
        """The same with moments as values, so that no training text is needed."""
        return replace(self, moments=self._known_moments())

    def _known_moments(self) -> Moments:
        """Mean and deviation of the cosines, by class."""
        if self.moments is not None:
            return self.moments
        cosines, _ = self._nearest(known_space(self.space, "describe").sample)
        return tuple(cosines.mean(axis=0).tolist()), tuple(cosines.std(axis=0).tolist())

    def _ordered(self, classes: tuple[str, ...]) -> Described:
        """The same with the classes in this order."""
        moments = self.moments
        if moments is not None:
            place = [list(self.descriptions).index(c) for c in classes]
            mean, deviation = (tuple(part[i] for i in place) for part in moments)
            moments = mean, deviation
        return replace(
            self, descriptions={c: self.descriptions.get(c, "") for c in classes}, moments=moments
        )

    @property
    def _name(self) -> str:
        return f"__describe:{digest_of([list(self.descriptions.values()), self.moments])}"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        own = self._ordered(classes)
        return Needs((), (Measure(own._name, own._votes, meaning=own.meaning),))

    def mask(self) -> pl.Expr:
        return pl.col(TEXT).str.strip_chars() != ""

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "describe")
        missing = [c for c in classes if not self.descriptions.get(c, "").strip()]
        if missing or len(self.descriptions) > len(classes):
            odd = [c for c in self.descriptions if c not in classes]
            raise RuleError(
                f"{missing[0]!r} has no description: describe every class"
                if missing
                else f"{odd[0]!r} is described, but {is_no_class(odd[0], classes)}"
            )
        return pl.col(self._ordered(classes)._name).struct.field("vote")

    def soft(self, classes: tuple[str, ...]) -> pl.Expr:
        """The probabilities as a list, one number a class."""
        return pl.col(self._ordered(classes)._name).struct.field("soft")

    def _nearest(
        self, directions: NDArray[np.floating[Any]]
    ) -> tuple[NDArray[np.floating[Any]], NDArray[np.intp]]:
        """(n, m) twice, for texts (n, d): the cosine with each class's nearest line, and which line that is."""
        described = [lines_of(text) for text in self.descriptions.values()]
        space = known_space(self.space, "describe")
        ends = np.cumsum([len(lines) for lines in described])[:-1]
        cosines = directions @ space.directions([line for lines in described for line in lines]).T
        found = np.split(cosines, ends, axis=1)  # (n, lines) each
        best = np.stack([cosines.max(axis=1) for cosines in found], axis=1)
        return best, np.stack([cosines.argmax(axis=1) for cosines in found], axis=1)

    def _votes(self, frame: pl.DataFrame) -> pl.Series:
        """For each text: the class probabilities by description, and the likeliest class."""
        texts = frame[TEXT].to_list()
        described = [lines_of(text) for text in self.descriptions.values()]
        mean, deviation = (np.array(part) for part in self._known_moments())
        cosines, lines = self._nearest(known_space(self.space, "describe").directions(texts))
        p = softmax(SHARPNESS * (cosines - mean) / np.maximum(deviation, 1e-6))  # (n, m)
        rows = [
            {"vote": None, "soft": None, "nearest": None}
            if not text.strip()
            else {"vote": best, "soft": row.tolist(), "nearest": described[best][line[best]]}
            for text, row, best, line in zip(
                texts, p, p.argmax(axis=1).tolist(), lines, strict=True
            )
        ]
        kind = pl.Struct({"vote": pl.Int8, "soft": pl.List(pl.Float32), "nearest": pl.String})
        return pl.Series(self._name, rows, dtype=kind)

    def reason(self) -> str:
        return "the descriptions of the classes"

    def because(self, row: Row) -> str:
        """The description that was nearest."""
        found = next(v for k, v in row.items() if k.startswith("__describe:"))
        assert isinstance(found, Mapping)
        return f"nearest to “{found['nearest']}” ({max(found['soft']):.0%})"

    def to_plain(self) -> Table:
        return dict(self.descriptions)

    def meaning(self) -> Plain | None:
        space = known_space(self.space, "describe")
        if space.identity is None:
            return None
        learnt: Plain = space.training_identity if self.moments is None else list(self.moments)
        texts = list(self.descriptions.values())
        return ["describe", 2, SHARPNESS, space.identity, texts, learnt]


def lines_of(description: str) -> list[str]:
    """The texts that a description consists of: its lines.

    >>> lines_of("about invoices\\n\\n where is my refund ")
    ['about invoices', 'where is my refund']
    """
    return [" ".join(line.split()) for line in description.splitlines() if line.strip()]


def description_to_plain(description: str) -> str | list[str]:
    """As a project file has it: a text, or a list of its lines."""
    lines = lines_of(description)
    return lines if len(lines) > 1 else description


def described_source(descriptions: Mapping[str, str], space: Space | None) -> Source:
    """The source that `[task.describe]` makes."""
    return Source(DESCRIBE, [Rule(None, Described(descriptions, space=space))])


def descriptions_of(source: Source) -> Mapping[str, str] | None:
    """The descriptions, where the source is made of them."""
    when = source.rules[0].when
    return when.descriptions if isinstance(when, Described) and len(source.rules) == 1 else None
