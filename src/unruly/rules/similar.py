"""`similar`: the text is like one of these examples, by the project's encoder.

best_i  = largest cosine of document i with an example of `to`
other_i = largest cosine of document i with a counter-example of `unlike`
the rule fires where  best_i > threshold  and  best_i > other_i
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import TEXT, Needs, Place, Plain, Row, Space, Table, known_space
from unruly.rules.keywords import read_words
from unruly.wording import plural, shortened

SHARE = (
    0.05  # of the training documents that `calibrated = true` fires on, unless another is stated
)
_SHOWN = 60  # characters of an example in an explanation


@dataclass(frozen=True)
class Similar:
    """The text is near to an example, and nearer to it than to any counter-example.

    The examples are `to` (or the lines of `file`), or the training documents with `ids`; the counter-examples are `unlike`,
    best the examples of the other classes. The threshold is `above`, or with `calibrated` the one that about `share` of the
    training documents pass; `calibrated=0.1` is short for `calibrated=True, share=0.1`, and the form that is kept.
    `space` is the encoder's (`unruly.features.space`); a project file gives its own.

    >>> Similar(["my parcel"], calibrated=True, share=0.1) == Similar(["my parcel"], calibrated=0.1)
    True
    """

    to: Sequence[str] = ()
    above: float | None = None
    calibrated: float | None = None
    share: float | None = None
    ids: Sequence[object] = ()
    file: str | None = None
    unlike: Sequence[str] = ()
    space: Space | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("to", "ids", "unlike"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise RuleError(f"{name} must be a list, not one text: write [{given!r}]")
            object.__setattr__(self, name, tuple(given))
        if bool(self.to) == bool(self.ids):
            raise RuleError("similar needs examples: to = [...], a file of them, or ids = [...]")
        if any(not isinstance(text, str) or not text.strip() for text in (*self.to, *self.unlike)):
            raise RuleError("an example of similar is blank or no text")
        object.__setattr__(self, "calibrated", _stated_share(self.calibrated, self.share))
        object.__setattr__(self, "share", None)
        if (self.above is None) == (self.calibrated is None):
            raise RuleError("similar needs either above = 0.6 or calibrated = true")
        if self.above is not None and not -1 <= self.above < 1:
            raise RuleError(f"above = {self.above}: a cosine lies between -1 and 1")

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Similar:
        """From the key `similar`."""
        here = place.at("similar")
        inner = here.table(table["similar"])
        here.only(inner, ("to", "file", "ids", "unlike", "above", "calibrated", "share"), "similar")
        if sum(key in inner for key in ("to", "file", "ids")) != 1:
            raise here.error("similar needs examples: to = [...], or file = ..., or ids = [...]")
        file = None
        if "file" in inner:
            examples = read_words(here.at("file").file(inner["file"]))
            file = here.at("file").text(inner["file"])
        else:
            examples = here.at("to").texts(inner.get("to", ()))
        numbers = {k: here.at(k).number(inner[k]) for k in ("above", "share") if k in inner}
        if "calibrated" in inner:
            numbers["calibrated"] = _flag_or_number(inner["calibrated"], here.at("calibrated"))
        unlike = here.at("unlike").texts(inner.get("unlike", ()))
        listed = inner.get("ids", ())
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise here.at("ids").error("ids must be a list of documents' ids")
        try:
            return cls(examples, ids=listed, file=file, unlike=unlike, space=place.space, **numbers)
        except RuleError as error:
            raise here.error(error.message) from None

    def resolved(self) -> Similar:
        """The same with its examples and threshold written out, so that nothing else is needed."""
        measure = self._measure()
        return replace(
            self,
            to=measure.examples(),
            ids=(),
            file=None,
            above=measure.threshold(),
            calibrated=None,
        )

    def _measure(self) -> Similarities:
        return Similarities(
            tuple(self.to),
            tuple(self.ids),
            tuple(self.unlike),
            self.above,
            self.calibrated,
            self.space,
        )

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs((), (self._measure(),))

    def mask(self) -> pl.Expr:
        return pl.col(self._measure().name).struct.field("holds")

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
        measure = self._measure()
        found = row[measure.name]
        assert isinstance(found, Mapping)
        shown = shortened(measure.examples()[found["nearest"]], _SHOWN)
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
        return self._measure().meaning()


def _stated_share(calibrated: float | None, share: float | None) -> float | None:
    """The share that `calibrated` and `share` mean together; None: not calibrated."""
    if calibrated is None or calibrated is False:
        if share is not None:
            raise RuleError("share goes with calibrated = true: add that, or drop share")
        return None
    if calibrated is not True and share is not None:
        raise RuleError("the share is stated twice: write calibrated = true beside share")
    found = calibrated if calibrated is not True else SHARE if share is None else share
    if not 0 < found < 1:
        name = "calibrated" if share is None else "share"
        raise RuleError(f"{name} = {found}: give a share between 0 and 1, or calibrated = true")
    return found


def _flag_or_number(value: object, place: Place) -> float:
    return value if isinstance(value, bool) else place.number(value)


@dataclass(frozen=True)
class Similarities:
    """Of each text: whether it is near enough, its cosine with the nearest example, and which that is."""

    to: tuple[str, ...]
    ids: tuple[object, ...]
    unlike: tuple[str, ...]
    above: float | None
    calibrated: float | None
    space: Space | None = field(compare=False)

    @property
    def name(self) -> str:
        parts = json.dumps(
            [self.to, self.ids, self.unlike, self.above, self.calibrated], default=str
        )
        return f"__similar:{hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()}"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def examples(self) -> tuple[str, ...]:
        """The texts to be like."""
        return self.to or known_space(self.space, "similar").texts_of(self.ids)

    def threshold(self) -> float:
        """The cosine to be passed."""
        if self.above is not None:
            return self.above
        assert self.calibrated is not None
        space = known_space(self.space, "similar")
        nearest = (space.sample @ space.directions(self.examples()).T).max(axis=1)
        return float(np.quantile(nearest, 1 - self.calibrated))

    def compute(self, frame: pl.DataFrame) -> pl.Series:
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
        return pl.DataFrame(columns).to_struct(self.name)

    def meaning(self) -> Plain | None:
        space = known_space(self.space, "similar")
        if space.identity is None:
            return None
        learnt = space.training_identity if self.calibrated is not None else ""
        share: list[Plain] = [self.calibrated or 0.0, learnt]
        threshold: Plain = share if self.above is None else self.above
        examples: list[Plain] = [list(self.examples()), list(self.unlike)]
        return ["similar", 2, space.identity, examples, threshold]
