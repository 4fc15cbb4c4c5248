"""Which column holds the text, the id and the gold label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import polars as pl

from unruly.errors import InputError

# Names that say "this is the text". The first one wins whatever stands beside it.
OBVIOUS = "text"
TEXT_NAMES = frozenset(
    [
        "texts",
        "comment",
        "comments",
        "content",
        "review",
        "reviews",
        "sentence",
        "sentences",
        "body",
        "message",
        "messages",
        "tweet",
        "document",
        "doc",
        "post",
        "description",
        "headline",
        "title",
        "abstract",
        "utterance",
        "question",
        "query",
        "sms",
        "email",
        "review_text",
        "review_body",
        "comment_text",
        "commenttext",
        "tweet_text",
        "full_text",
        "text_content",
    ]
)


@dataclass(frozen=True)
class Layout:
    """The columns that a corpus is made of; `id` and `label` are optional."""

    text: str
    id: str | None = None
    label: str | None = None
    spelt: frozenset[str] = field(
        default=frozenset(), repr=False
    )  # further columns to be kept as the file spells them

    @property
    def own(self) -> frozenset[str]:
        """The columns that are not "other columns"."""
        return frozenset(name for name in (self.text, self.id, self.label) if name is not None)


def find_layout(
    schema: Mapping[str, pl.DataType],
    *,
    name: str,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
) -> Layout:
    """Check the columns that the user named, and find the text column when it is obvious.

    >>> find_layout({"comment": pl.String(), "is_spam": pl.Int64()}, name="c.csv", label="is_spam")
    Layout(text='comment', id=None, label='is_spam')
    >>> find_layout({"q": pl.String(), "a": pl.String()}, name="c.csv")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: c.csv: which column holds the text is not obvious: name it with text = "..." (one of q, a)
    """
    for role, column in (("text", text), ("id", id), ("label", label)):
        if column is not None and column not in schema:
            raise InputError(missing_column(column, schema, name=name, role=role))
    if text is None:
        text = _obvious_text(schema, taken={id, label}, name=name)
    if text in (id, label) or (id is not None and id == label):
        raise InputError(
            f"{name}: one column cannot be two of text, id and label: name different columns"
        )
    return Layout(text, id, label)


def missing_column(column: str, known: Iterable[str], *, name: str, role: str) -> str:
    """The message for a column that is not there, with the nearest name that is."""
    names = list(known)
    near = get_close_matches(column, names, n=1, cutoff=0.6)
    if not near:
        near = [other for other in names if other.casefold() == column.casefold()]
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f'{name}: there is no column {column!r} (asked for by {role} = "{column}"): {hint}columns are {_listed(names)}'


def _obvious_text(schema: Mapping[str, pl.DataType], taken: set[str | None], name: str) -> str:
    strings = [c for c, kind in schema.items() if kind == pl.String and c not in taken]
    free = [c for c in schema if c not in taken]
    for column in free:
        if column.strip().casefold() == OBVIOUS:
            return column
    telling = [c for c in strings if c.strip().casefold() in TEXT_NAMES]
    if len(telling) == 1:
        return telling[0]
    if len(strings) == 1:
        return strings[0]
    if not strings:
        raise InputError(
            f'{name}: no column holds text: name one with text = "..." (columns are {_listed(list(schema))})'
        )
    raise InputError(
        f"{name}: which column holds the text is not obvious: "
        f'name it with text = "..." (one of {_listed(telling or strings)})'
    )


def _listed(names: list[str], most: int = 12) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
