"""The two entities of relation data and the words about them, as columns that rules can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from unruly.errors import RuleError
from unruly.rules.condition import ID, TEXT
from unruly.rules.place import Plain
from unruly.texts.corpus import Corpus
from unruly.texts.relation import relation_of

Part = Literal["between", "before", "after", "around", "left1", "left2", "right1", "right2"]
PARTS: tuple[Part, ...] = get_args(Part)
_ALL = 1_000_000  # words: more than any document has


@dataclass(frozen=True)
class RelationParts:
    """One struct a document: its entities, their last names, and the words about them."""

    @property
    def name(self) -> str:
        return "__relation"

    @property
    def reads(self) -> tuple[str, ...]:
        return ("entity1", "entity2")

    def meaning(self) -> Plain:
        return "relation 1"

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        columns = frame.select(pl.exclude(TEXT, ID))
        relation = relation_of(Corpus(ids=frame[ID], texts=frame[TEXT], columns=columns))
        if relation is None:
            raise RuleError("the columns entity1 and entity2 must hold the names of the entities")
        return pl.DataFrame(
            [
                relation.entity1.alias("entity1"),
                relation.entity2.alias("entity2"),
                relation.lastname1.alias("lastname1"),
                relation.lastname2.alias("lastname2"),
                relation.between.alias("between"),
                relation.before.alias("before"),
                relation.after.alias("after"),
                relation.left_window(_ALL, 1).alias("left1"),
                relation.left_window(_ALL, 2).alias("left2"),
                relation.right_window(_ALL, 1).alias("right1"),
                relation.right_window(_ALL, 2).alias("right2"),
            ]
        ).to_struct(self.name)


RELATION = RelationParts()


def relation_field(name: str) -> pl.Expr:
    """One field of the struct."""
    return pl.col(RELATION.name).struct.field(name)


def part_words(part: Part, words: int | None) -> pl.Expr:
    """The words of one part, at most so many: those nearest to the entity or the pair."""
    if part == "around":
        sides = [part_words("before", words), relation_field("between"), part_words("after", words)]
        return pl.concat_str(sides, separator=" ")
    text = relation_field(part)
    if words is None or part == "between":
        return text
    listed = text.str.extract_all(r"\S+").list
    nearest = listed.tail(words) if part in ("before", "left1", "left2") else listed.head(words)
    return nearest.list.join(" ")
