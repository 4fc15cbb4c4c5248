"""`[task.describe]`: each class's description against each document, by the project's encoder.

    s_ic = cosine of document i with the description of class c
    z_ic = (s_ic - mean_c) / deviation_c            over the training documents
    p_i  = softmax(SHARPNESS z_i)                   one soft vote on every document that has a text

Standardised, because a description that reads like ordinary prose is near to everything. The balance of the
classes is left to the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.rules.column import refuse_label
from unruly.rules.condition import TEXT, Needs, Plain, Row, Space, Table, known_space
from unruly.rules.source import Rule, Source
from unruly.softmax import softmax
from unruly.wording import listed

NAME = "describe"  # of the source that `[task.describe]` makes
SHARPNESS = 2.0  # of 1, 2 and 3, by the likelihood of gold on 1,200 training documents of agnews and yelp each
Moments = tuple[tuple[float, ...], tuple[float, ...]]  # mean and deviation, one of each a class


@dataclass(frozen=True)
class Described:
    """A soft vote for the class whose description is nearest. Every class has a description."""

    descriptions: Mapping[str, str]
    moments: Moments | None = None  # None: those of the training documents
    space: Space | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        return hash((tuple(self.descriptions.items()), self.moments))

    @property
    def picks(self) -> bool:
        return True

    def resolved(self) -> Described:
        """The same with its moments written out, so that no training text is needed."""
        return replace(self, moments=self._measure(tuple(self.descriptions)).known_moments())

    def _measure(self, classes: tuple[str, ...]) -> Closeness:
        return Closeness(
            tuple(self.descriptions.get(c, "") for c in classes),
            None if self.moments is None else self._in_order(classes),
            self.space,
        )

    def _in_order(self, classes: tuple[str, ...]) -> Moments:
        assert self.moments is not None
        place = [list(self.descriptions).index(c) for c in classes]
        mean, deviation = self.moments
        return tuple(mean[i] for i in place), tuple(deviation[i] for i in place)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs((), (self._measure(classes),))

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
                else f"{odd[0]!r} is described, but is not a class: the classes are {listed(classes, most=40)}"
            )
        return pl.col(self._measure(classes).name).struct.field("vote")

    def soft(self, classes: tuple[str, ...]) -> pl.Expr:
        """The probabilities as a list, one number a class."""
        return pl.col(self._measure(classes).name).struct.field("soft")

    def reason(self) -> str:
        return "the descriptions of the classes"

    def because(self, row: Row) -> str:
        """The description that was nearest."""
        found = next(v for k, v in row.items() if k.startswith(_MEASURE))
        assert isinstance(found, Mapping)
        return f"nearest to “{found['nearest']}” ({max(found['soft']):.0%})"

    def to_plain(self) -> Table:
        return dict(self.descriptions)

    def meaning(self) -> Plain | None:
        return self._measure(tuple(self.descriptions)).meaning()


_MEASURE = "__describe:"


@dataclass(frozen=True)
class Closeness:
    """Of each text: the class probabilities by description, and the likeliest class."""

    texts: tuple[str, ...]  # (m,): one description a class
    moments: Moments | None
    space: Space | None = field(compare=False)

    @property
    def name(self) -> str:
        parts = json.dumps([self.texts, self.moments])
        return f"{_MEASURE}{hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()}"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def known_moments(self) -> Moments:
        """Mean and deviation of the cosines, by class."""
        if self.moments is not None:
            return self.moments
        space = known_space(self.space, "describe")
        cosines = space.sample @ space.directions(self.texts).T  # (s, m)
        return tuple(cosines.mean(axis=0).tolist()), tuple(cosines.std(axis=0).tolist())

    def probabilities(self, texts: list[str]) -> NDArray[np.float64]:
        """(n, m): p."""
        space = known_space(self.space, "describe")
        mean, deviation = (np.array(part) for part in self.known_moments())
        cosines = space.directions(texts) @ space.directions(self.texts).T
        return softmax(SHARPNESS * (cosines - mean) / np.maximum(deviation, 1e-6))

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        texts = frame[TEXT].to_list()
        p = self.probabilities(texts)
        rows = [
            {"vote": None, "soft": None, "nearest": None}
            if not text.strip()
            else {"vote": best, "soft": row.tolist(), "nearest": self.texts[best]}
            for text, row, best in zip(texts, p, p.argmax(axis=1).tolist(), strict=True)
        ]
        kind = pl.Struct({"vote": pl.Int8, "soft": pl.List(pl.Float32), "nearest": pl.String})
        return pl.Series(self.name, rows, dtype=kind)

    def meaning(self) -> Plain | None:
        space = known_space(self.space, "describe")
        if space.identity is None:
            return None
        learnt: Plain = space.training_identity if self.moments is None else list(self.moments)
        return ["describe", 1, SHARPNESS, space.identity, list(self.texts), learnt]


def described_source(
    descriptions: Mapping[str, str], space: Space | None, name: str = NAME
) -> Source:
    """The source that `[task.describe]` makes."""
    return Source(name, [Rule(None, Described(descriptions, space=space))])


def descriptions_of(source: Source) -> Mapping[str, str] | None:
    """The descriptions, where the source is made of them."""
    when = source.rules[0].when
    return when.descriptions if isinstance(when, Described) and len(source.rules) == 1 else None
