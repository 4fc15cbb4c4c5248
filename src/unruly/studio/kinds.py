"""The kinds of rule that have a form: their fields, and how a field becomes a value of the project file and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Entry = Literal[
    "words", "lines", "values", "text", "long", "column", "value", "whole", "number", "flag", "pairs"
]  # fmt: skip


@dataclass(frozen=True)
class FormField:
    """One field of a form. `key` is the key of the project file; with a dot, one of an inner table."""

    key: str
    title: str
    entry: Entry = "text"
    on: bool | str = True  # what a ticked box means
    needed: bool = False

    @property
    def short(self) -> str:
        """Its title without explanations, for messages."""
        head = self.title.split(",")[0].split(";")[0]
        return head[0].upper() + head[1:]

    def problem(self, text: str) -> str:
        """What is wrong with the text of the field; empty where nothing is."""
        given = text.strip()
        if not given:
            return ""
        if self.entry == "whole" and not given.isdecimal():
            return f"{given!r} is not a whole number"
        if self.entry == "number" and not isinstance(number_in(given), int | float):
            return f"{given!r} is not a number"
        if self.entry == "pairs":
            odd = [line.strip() for line in text.splitlines() if line.strip() and "=" not in line]
            return f"{odd[0]!r} has no equals sign" if odd else ""
        return ""

    @property
    def several(self) -> bool:
        """Whether it takes more than a line."""
        return self.entry in ("words", "lines", "values", "long", "pairs")

    def shown(self, value: Any) -> str:
        """A value of the project file as the text of the field."""
        if value is None:
            return ""
        if self.entry == "flag":
            return "on" if value == self.on else ""
        if self.entry in ("words", "lines", "values"):
            items = [value] if isinstance(value, str) else [_text(item) for item in value]
            return ", ".join(map(_quoted, items)) if self.entry == "words" else "\n".join(items)
        if self.entry == "pairs":
            return "\n".join(f"{key} = {_joined(item)}" for key, item in value.items())
        return _text(value)

    def fits(self, value: Any) -> bool:
        """Whether the field can show a value without changing it."""
        again = self.read(self.shown(value))
        return value is None or again == value or (again is None and not value) or again == [value]

    def read(self, text: str) -> Any:
        """The text of the field as a value; None where it is empty.

        What is not a number stays a text, so that the complaint about it is the rule's own.
        """
        given = text.strip()
        if not given:
            return None
        if self.entry == "flag":
            return self.on
        if self.entry == "words":
            return words_in(text)
        if self.entry in ("lines", "values"):
            items = [line.strip() for line in text.splitlines() if line.strip()]
            return [number_in(item) for item in items] if self.entry == "values" else items
        if self.entry == "pairs":
            return _pairs(text)
        if self.entry in ("whole", "number", "value"):
            return number_in(given)
        return text if self.entry == "long" else given


@dataclass(frozen=True)
class Kind:
    """A kind of rule: its key in the project file, and its fields."""

    key: str
    title: str  # ends the sentence "votes for … where"
    fields: tuple[FormField, ...]
    about: str = ""
    inner: bool = True  # the fields stand in a table under the key, not beside it
    picks: bool = False  # it names the class itself
    some: tuple[tuple[str, ...], ...] = ()  # fields of each of which one must be filled in
    kept: tuple[str, ...] = ()  # keys that the form does not show, and leaves alone


_BOUNDS = (FormField("above", "Above", "number"), FormField("below", "Below", "number"))
_TESTS = ("equal", "in", "min", "max", "keywords", "pattern")  # of a field
_ALL = (
    Kind(
        "keywords",
        "the text has any of these words",
        (
            FormField(
                "keywords",
                'Words or phrases, with commas or one a line ("a, b" is one)',
                "words",
                needed=True,
            ),
            FormField("match", "also inside of words", "flag", "substring"),
        ),
        inner=False,
    ),
    Kind(
        "pattern",
        "the text matches a pattern",
        (
            FormField("pattern", "Regular expression", "long", needed=True),
            FormField("ignore_case", "whatever the case", "flag"),
            FormField("engine", "with look-around and back-references (slower)", "flag", "python"),
        ),
        inner=False,
        kept=("seconds",),
    ),
    Kind(
        "sequence",
        "the text has words, then other words",
        (
            FormField("first", "First one of these words", "words", needed=True),
            FormField("then", "then one of these", "words", needed=True),
            FormField("within_words", "At most so many words between", "whole"),
            FormField("negators", "Not after these words", "words"),
            FormField("negated", "after them, vote for the other class", "flag", "flip"),
        ),
        kept=("within_chars", "negators_within"),
    ),
    Kind(
        "length",
        "the text has a length",
        (
            FormField("min_words", "At least so many words", "whole"),
            FormField("max_words", "At most so many words", "whole"),
            FormField("min_chars", "At least so many characters", "whole"),
            FormField("max_chars", "At most so many characters", "whole"),
        ),
        some=(("min_words", "max_words", "min_chars", "max_chars"),),
    ),
    Kind(
        "field",
        "another column has a value",
        (
            FormField("column", "Column", "column"),
            FormField("equal", "is", "value"),
            FormField("in", "is one of, one a line", "values"),
            FormField("min", "is at least", "number"),
            FormField("max", "is at most", "number"),
            FormField("others", "cells that are not numbers count as empty", "flag", "abstain"),
            FormField("keywords", "has any of these words", "words"),
            FormField("pattern", "matches the regular expression"),
            FormField("part", "Part, of relation data: between, before, after, around, left1, …"),
            FormField("words", "Words of the part", "whole"),
            FormField("same_last_name", "both entities have the same last name", "flag"),
        ),
        "Fill in a column and one of the tests; at least and at most go together.",
        some=(("column", "part", "same_last_name"), (*_TESTS, "same_last_name")),
        kept=("match", "ignore_case"),
    ),
    Kind(
        "lookup",
        "values stand in a table on disk",
        (
            FormField("file", "File of the table, in the project's folder", needed=True),
            FormField(
                "columns", "Columns of the documents that are looked up", "words", needed=True
            ),
            FormField("keys", "Columns of the table, where not the first ones", "words"),
            FormField("ignore_case", "whatever the case", "flag"),
            FormField("either_order", "a pair counts both ways round", "flag"),
            FormField("last_names", "compare the last names of two entities", "flag"),
        ),
    ),
    Kind(
        "keywords_file",
        "the text has a word of a file",
        (
            FormField(
                "keywords_file", "File of words, one a line, in the project's folder", needed=True
            ),
            FormField("match", "also inside of words", "flag", "substring"),
        ),
        inner=False,
    ),
    Kind(
        "column",
        "a column holds votes",
        (
            FormField("name", "Column", "column"),
            FormField("map", "What its values mean, as in: 1 = spam", "pairs"),
            FormField("others", "other values abstain", "flag", "abstain"),
            FormField("probabilities", "Columns of probabilities, as in: spam = p_spam", "pairs"),
            FormField("above", "Only where the largest is above", "number"),
        ),
        "The column names the class: leave the meanings out where its values are class names.",
        picks=True,
        some=(("name", "probabilities"),),
    ),
    Kind(
        "similar",
        "the text is like these examples",
        (
            FormField("to", "Examples, one a line", "lines"),
            FormField("file", "or a file of them"),
            FormField("unlike", "but nearer to none of these, one a line", "lines"),
            FormField("above", "Cosine above", "number"),
            FormField("calibrated", "or: passed by this share of the documents", "number"),
        ),
        "Compared by the project's encoder. Give one of the two thresholds, and as counter-examples those of other classes.",
        some=(("above", "calibrated"),),
        kept=("ids",),
    ),
    Kind("polarity", "TextBlob's polarity lies (−1 to 1)", _BOUNDS, some=(("above", "below"),)),
    Kind(
        "subjectivity", "TextBlob's subjectivity lies (0 to 1)", _BOUNDS, some=(("above", "below"),)
    ),
    Kind("vader", "VADER's sentiment lies (−1 to 1)", _BOUNDS, some=(("above", "below"),)),
    Kind(
        "entity",
        "something of a type is named (spaCy)",
        (FormField("type", "Type, such as PERSON", needed=True), FormField("model", "spaCy model")),
    ),
    Kind(
        "classifier",
        "another classifier says so",
        (
            FormField("model", "A .skops file or a folder, in the project's folder", needed=True),
            FormField("above", "Only where it is surer than", "number"),
            FormField("map", "What its classes mean, as in: LABEL_1 = spam", "pairs"),
        ),
        "Its likeliest class is the vote.",
        picks=True,
        kept=("trusted",),
    ),
    Kind(
        "prompt",
        "a language model says so",
        (
            FormField("endpoint", "Endpoint, as in http://127.0.0.1:11434/v1", needed=True),
            FormField("model", "Model", needed=True),
            FormField("ask", "Question; {text} stands for the document", "long", needed=True),
            FormField(
                "answers", "Which answers mean which class, as in: spam = yes, junk", "pairs"
            ),
            FormField("budget.calls", "At most so many requests", "whole"),
            FormField("key_env", "Environment variable that holds the key"),
        ),
        "Nothing is sent while you type. Save it, then ask.",
        picks=True,
        kept=("price", "in_flight", "seconds", "max_tokens", "seed", "budget", "extra"),
    ),
)
KINDS: Mapping[str, Kind] = {kind.key: kind for kind in _ALL}


_WORD = re.compile(r'[ \t]*"((?:[^"]|"")*)"[ \t]*(?=,|$)|[^,]+')


def words_in(text: str) -> list[str]:
    """Words or phrases, with commas between them or one a line; one with a comma in quotation marks; each once.

    >>> words_in('check out, subscribe,\\n"well, well"')
    ['check out', 'subscribe', 'well, well']
    """
    found = (_WORD.finditer(line) for line in text.splitlines())
    words = (m[1].replace('""', '"') if m[1] is not None else m[0] for line in found for m in line)
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))


def _quoted(word: str) -> str:
    """A word as `words_in` reads it again.

    >>> _quoted("well, well"), _quoted("well")
    ('"well, well"', 'well')
    """
    return '"' + word.replace('"', '""') + '"' if "," in word or word.startswith('"') else word


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _joined(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _pairs(text: str) -> dict[str, Any]:
    """`a = b` a line; several values with commas between them.

    >>> _pairs("spam = yes, junk\\nham = no")
    {'spam': ['yes', 'junk'], 'ham': 'no'}
    """
    found: dict[str, Any] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        items = [item.strip() for item in value.split(",") if item.strip()]
        if key.strip():
            found[key.strip()] = items[0] if len(items) == 1 else items or ""
    return found


def number_in(text: str) -> int | float | bool | str:
    """A number, where the text is one.

    >>> number_in("3"), number_in("0.5"), number_in("true"), number_in("three")
    (3, 0.5, True, 'three')
    """
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
