"""What is decided about suggestions: accepted into `unruly.toml`, or refused and not shown again.

An accepted rule or remedy is an edit of the project file, from text to text, with comments and layout kept. Refusals are
kept in `refused.jsonl` in the project's folder, a JSON object a line: a rule's class and condition, or a remedy.
What was shown last is kept in the cache folder, so that it can be decided by its number at once, and only as long as
the project file is the one that it was made for.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from shlex import quote
from typing import Any, assert_never

from unruly.errors import InputError, Where
from unruly.files import cache_folder, written_whole
from unruly.model.candidates import SHAPES
from unruly.model.critique import (
    DisableSource,
    DropWord,
    MergeSource,
    Remedy,
    remedy_from_plain,
    remedy_to_plain,
)
from unruly.model.suggestions import Refused
from unruly.project.editing import (
    ProjectText,
    add_source,
    add_words,
    drop_words,
    merge_source,
    source_names,
    switch_source,
    write_edit,
)
from unruly.project.project import Project
from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, rule_to_plain, source_from_plain
from unruly.rules.tools import Length
from unruly.wording import free_name

REFUSED = "refused.jsonl"
_RULE = "rule"  # the kind of a refused rule, beside those of remedies
Refusal = Refused | Remedy


@dataclass(frozen=True)
class Place:
    """Where an accepted rule is written: a rule's list of words, or a source of its own."""

    source: str
    rule: int | None  # the number of the rule whose list it joins; None: a new source

    def __str__(self) -> str:
        return f"the list of {self.source}" if self.rule else f"a new source, {self.source}"


@dataclass(frozen=True)
class NewRule:
    """A suggested rule, and where it is written."""

    rule: Rule
    place: Place

    def __str__(self) -> str:
        return f"{self.rule.when.reason()} for {self.rule.label}"

    def for_class(self, label: str | None) -> NewRule:
        """The same for another class than it was suggested for: then it has a source of its own.

        >>> NewRule(Rule("ham", Keywords(["cash"])), Place("talk", 1)).for_class("spam")
        NewRule(rule=Rule('spam', Keywords(['cash'])), place=Place(source='cash', rule=None))
        """
        if label is None or label == self.rule.label:
            return self
        return NewRule(replace(self.rule, label=label), Place(name_of(self.rule.when), None))


Edit = NewRule | Remedy


def edited(text: str, edit: Edit) -> str:
    """The project file's text after an edit."""
    match edit:
        case NewRule(rule=rule, place=Place(source=source, rule=None)):
            return add_source(text, Source(free_name(source, source_names(text), "_"), [rule]))
        case NewRule(rule=rule, place=Place(source=source, rule=int(number))):
            assert isinstance(rule.when, Keywords)
            return add_words(text, source, number, rule.when.words)
        case DropWord(source=source, rule=number, word=word):
            return drop_words(text, source, number, [word])
        case DisableSource(source=source):
            return switch_source(text, source, on=False)
        case MergeSource(source=source, into=into):
            return merge_source(text, source, into)
        case NewRule():
            raise AssertionError("a place is a number or none")
    assert_never(edit)


def refusal_of(edit: Edit) -> Refusal:
    """What is kept where an edit is refused."""
    return Refused.of(edit.rule) if isinstance(edit, NewRule) else edit


def edit_to_plain(edit: Edit) -> dict[str, Any]:
    """An edit as JSON has it."""
    if isinstance(edit, NewRule):
        return {"rule": rule_to_plain(edit.rule), "into": vars(edit.place)}
    return {"remedy": remedy_to_plain(edit)}


def name_of(condition: Condition) -> str:
    """A name for a source with this one condition.

    >>> from unruly.rules.tools import Sentiment
    >>> (
    ...     name_of(Keywords(["check out"])),
    ...     name_of(Length(max_words=4)),
    ...     name_of(Pattern(r"\\bsubsc\\w*")),
    ...     name_of(Sentiment("polarity", above=0.5)),
    ... )
    ('check_out', 'max_words_4', 'subsc', 'polarity_above_0_5')
    """
    match condition:
        case Keywords(words=words):
            name = words[0]
        case WordSequence(first=first, then=then):
            name = f"{first[0]} {then[0]}"
        case Pattern(pattern=pattern):
            shapes = {shape: known for known, shape in SHAPES.items()}
            name = shapes.get(pattern) or re.sub(r"\\[a-zA-Z]", " ", pattern)
        case Length():
            name = " ".join(f"{key} {b}" for key, b in asdict(condition).items() if b is not None)
        case _:
            name = condition.reason()
    return "_".join(re.findall(r"\w+", name))[:40] or "rule"


@dataclass(frozen=True)
class Decided:
    """Edits that were accepted, as they are written now, and refused."""

    accepted: tuple[Edit, ...]
    refused: tuple[Edit, ...]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "accepted": [edit_to_plain(one) for one in self.accepted],
            "refused": [edit_to_plain(one) for one in self.refused],
        }


def decide(project: Project, accepted: Mapping[int, str | None], refused: Sequence[int]) -> Decided:
    """Accept and refuse suggestions by the numbers that were shown last; an accepted rule may be for another class.

    The project file is written once, with all that was accepted or, where some of it cannot be, not at all.
    """
    if both := sorted(set(accepted) & set(refused)):
        raise InputError(f"suggestion {both[0]} is both accepted and refused: choose one")
    shown = Shown.read(project)
    wanted: list[Edit] = []
    for edit, (number, label) in zip(
        shown.taken(project, list(accepted)), accepted.items(), strict=True
    ):
        if label is not None and not isinstance(edit, NewRule):
            raise InputError(f"suggestion {number} ({edit}) is for no class: leave ={label} out")
        wanted.append(edit.for_class(label) if isinstance(edit, NewRule) else edit)
    unwanted = shown.taken(project, refused)
    assert project.file is not None
    before = ProjectText.read(project.file)
    text = before.text
    for edit in wanted:
        text = edited(text, edit)
    if wanted:
        write_edit(before, text)
    if unwanted:
        refuse(project.folder, map(refusal_of, unwanted))
    shown.renewed(project, accepted).write(project)
    return Decided(tuple(wanted), tuple(unwanted))


def read_refused(folder: Path) -> tuple[Refusal, ...]:
    """What was refused, from the project's folder."""
    path, found = folder / REFUSED, list[Refusal]()
    if not path.is_file():
        return ()
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            if text := line.decode("utf-8-sig").strip():
                found.append(refusal_from_plain(json.loads(text)))
        except (KeyError, TypeError, ValueError):
            where = Where(str(path), number)
            raise InputError(
                "not a refused suggestion: correct the line, or delete it", where=where
            ) from None
    return tuple(found)


def refuse(folder: Path, refused: Iterable[Refusal]) -> Path:
    """Keep refusals in the project's folder, each once."""
    known = list(read_refused(folder))
    return write_refused(folder, [*known, *(one for one in refused if one not in known)])


def write_refused(folder: Path, refused: Sequence[Refusal]) -> Path:
    """These refusals and no others, whole or not at all."""
    path = folder / REFUSED
    lines = [json.dumps(refusal_to_plain(one), ensure_ascii=False) + "\n" for one in refused]
    with written_whole(path) as part:
        part.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


def refusal_to_plain(refused: Refusal) -> dict[str, Any]:
    """A refusal as JSON has it.

    >>> refusal_to_plain(Refused("spam", {"keywords": ["cash"]}))
    {'kind': 'rule', 'label': 'spam', 'condition': {'keywords': ['cash']}}
    """
    if isinstance(refused, Refused):
        return {"kind": _RULE, **asdict(refused)}
    return remedy_to_plain(refused)


def refusal_from_plain(plain: Mapping[str, Any]) -> Refusal:
    """A refusal back from JSON."""
    if plain["kind"] != _RULE:
        return remedy_from_plain(plain)
    label, condition = plain["label"], plain["condition"]
    if not isinstance(label, str) or not isinstance(condition, dict):
        raise TypeError("a class and a condition are needed")
    return Refused(label, condition)


@dataclass(frozen=True)
class Shown:
    """What was shown last, by number from 1, and the project file that it was made for."""

    edits: tuple[Edit, ...]
    digest: str
    accepted: tuple[int, ...] = ()  # numbers that were accepted since

    @classmethod
    def read(cls, project: Project) -> Shown:
        """What was shown last for a project."""
        path = _shown_path(project)
        if not path.is_file():
            raise InputError(
                f"no suggestions were shown yet: run `unruly suggest {quote(str(project.folder))}` first"
            )
        plain = json.loads(path.read_text(encoding="utf-8"))
        edits = tuple(_edit_from_plain(one, project) for one in plain["edits"])
        return cls(edits, plain["digest"], tuple(plain["accepted"]))

    @classmethod
    def of(cls, project: Project, edits: Iterable[Edit]) -> Shown:
        """What is shown now."""
        return cls(tuple(edits), _digest(project))

    def write(self, project: Project) -> None:
        """Keep it in the cache folder."""
        path = _shown_path(project)
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = {**vars(self), "edits": [edit_to_plain(one) for one in self.edits]}
        with written_whole(path) as part:
            part.write_text(json.dumps(plain), encoding="utf-8")

    def renewed(self, project: Project, accepted: Iterable[int] = ()) -> Shown:
        """The same after an edit of one's own: the other numbers still count."""
        return replace(self, digest=_digest(project), accepted=(*self.accepted, *accepted))

    def taken(self, project: Project, numbers: Sequence[int]) -> list[Edit]:
        """Those with these numbers; refused where the project file has changed."""
        if self.digest != _digest(project):
            raise InputError(
                "unruly.toml has changed since the suggestions were shown: run `unruly suggest` again"
            )
        for number in numbers:
            if not 1 <= number <= len(self.edits):
                raise InputError(
                    f"there is no suggestion {number}: {len(self.edits)} were shown last"
                )
            if number in self.accepted:
                raise InputError(
                    f"suggestion {number} was accepted before: edit unruly.toml to take it back, or run "
                    "`unruly suggest` for new ones"
                )
        return [self.edits[number - 1] for number in numbers]


def _edit_from_plain(plain: Mapping[str, Any], project: Project) -> Edit:
    if "remedy" in plain:
        return remedy_from_plain(plain["remedy"])
    place = Place(**plain["into"])
    table = {"name": place.source, "rule": [plain["rule"]]}
    return NewRule(source_from_plain(table, project.classes, project.folder).rules[0], place)


def _shown_path(project: Project) -> Path:
    key = blake2b(os.fsencode(project.folder.resolve()), digest_size=12).hexdigest()
    return cache_folder() / "suggestions" / f"{key}.json"


def _digest(project: Project) -> str:
    assert project.file is not None
    return blake2b(project.file.read_bytes(), digest_size=12).hexdigest()
