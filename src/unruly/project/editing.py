"""Edits of `unruly.toml`, from text to text: what an edit does not touch stays as it is, comments too.

Sources are known by name, rules by their number within the source, counted from 1 as in messages. Rules and
sources are given as objects or as the plain values that the file would hold. An edit that makes no sense (no
such source, the last word of a list) is a `ProjectError`. Whether the result is a sound project is asked by
`parse_project`, and by `write_edit` before anything is written.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unruly.errors import ProjectError, Where
from unruly.files import written_whole
from unruly.project.file import parse_project, project_file, source_block
from unruly.project.project import Project
from unruly.project.toml import (
    Place,
    Table,
    add_items,
    block,
    cut,
    drop_item,
    drop_key,
    insert_after,
    is_list,
    order_tables,
    set_key,
    toml_pairs,
)
from unruly.rules.similar import description_to_plain
from unruly.rules.source import Rule, Source, rule_to_plain, source_to_plain
from unruly.wording import did_you_mean, listed, plural

GivenRule = Rule | Mapping[str, Any]
GivenSource = Source | Mapping[str, Any]
SOURCES: Place = ("source",)
_LIST_KEYS = (
    "label",
    "not_label",
    "match",
)  # what lists of words have in common that can be one list


@dataclass(frozen=True)
class ProjectText:
    """A project file as it was read: to be edited, and written back if nobody else wrote meanwhile."""

    file: Path
    raw: bytes

    @classmethod
    def read(cls, path: str | Path) -> ProjectText:
        """The file of a project, named by its folder or by itself."""
        file = project_file(Path(path))
        Table.read(file)  # refused where it is no TOML, or not UTF-8
        return cls(file, file.read_bytes())

    @property
    def text(self) -> str:
        """What the edits take and give: without byte order mark, lines ended by "\\n"."""
        return _unix(self.raw.decode("utf-8-sig"))


def write_edit(before: ProjectText, text: str, *, may_be_empty: bool = False) -> Project:
    """Write an edited text over the file that it was made from, whole or not at all; gives the project.

    Refused where the file has changed since, and where the text is not a sound project. Byte order mark and
    Windows line ends are kept.
    """
    project = parse_project(text, before.file, may_be_empty=may_be_empty)
    windows, mark = b"\r\n" in before.raw, before.raw.startswith(b"\xef\xbb\xbf")
    body = _unix(text).replace("\n", "\r\n") if windows else text
    with written_whole(before.file) as part:
        part.write_bytes((b"\xef\xbb\xbf" if mark else b"") + body.encode())
        try:
            found: bytes | None = before.file.read_bytes()
        except OSError:
            found = None
        if found != before.raw:
            raise ProjectError(
                "changed on disk since it was read, so nothing was written: read it again, then repeat the edit",
                where=Where(str(before.file)),
            )
    return project


def add_source(text: str, source: GivenSource) -> str:
    """A new source, behind the others.

    >>> text = '[task]\\nclasses = ["ham", "spam"]\\n[[source]]\\nname = "a"\\n'
    >>> text += '[[source.rule]]\\nlabel = "spam"\\nkeywords = ["buy"]  # and more\\n'
    >>> rule = {"label": "ham", "keywords": ["song"]}
    >>> print(add_source(text, {"name": "b", "rule": [rule]})[len(text) :])
    <BLANKLINE>
    [[source]]
    name = "b"
    [[source.rule]]
    label = "ham"
    keywords = ["song"]
    <BLANKLINE>
    """
    plain = source_to_plain(source) if isinstance(source, Source) else source
    return add_source_text(text, _block_of(plain))


def remove_source(text: str, name: str, *, may_be_empty: bool = False) -> str:
    """A source less, with the comment directly above it; the last one only where that is allowed."""
    text = _whole_lines(text)
    if len(source_names(text)) == 1 and not may_be_empty:
        raise ProjectError(f"{name!r} is the only source: a project needs one")
    return _without(text, SOURCES, _source(text, name))


def rename_source(text: str, name: str, new: str) -> str:
    """The same source under another name."""
    text = _whole_lines(text)
    index, names = _source(text, name), source_names(text)
    if new == name:
        return text
    _check_new(new, names)
    return set_key(text, (*SOURCES, index), "name", new)


def move_source(text: str, name: str, to: int) -> str:
    """A source at another place, counted from 0: the order of the votes' columns."""
    text = _whole_lines(text)
    return _moved(text, SOURCES, _source(text, name), to, len(source_names(text)))


def duplicate_source(text: str, name: str, new: str) -> str:
    """A copy of a source, directly behind it, under a name of its own."""
    text = _whole_lines(text)
    index, names = _source(text, name), source_names(text)
    _check_new(new, names)
    if is_list(text, SOURCES):
        text = add_items(text, SOURCES, [_values(text)["source"][index]])
        text = _moved(text, SOURCES, len(names), index + 1, len(names) + 1)
    else:
        there = block(text, (*SOURCES, index))
        text = insert_after(text, (*SOURCES, index), text[there.start : there.end])
    return set_key(text, (*SOURCES, index + 1), "name", new)


def switch_source(text: str, name: str, on: bool) -> str:
    """A source disabled (`enabled = false`), or enabled again: then the key goes."""
    text = _whole_lines(text)
    place = (*SOURCES, _source(text, name))
    if on:
        return drop_key(text, (*place, "enabled"))
    return set_key(text, place, "enabled", False)


def describe_classes(text: str, descriptions: Mapping[str, str]) -> str:
    """What the classes mean, in `[task.describe]`; without a word about any of them, it goes.

    >>> print(
    ...     describe_classes(
    ...         '[task]\\nclasses = ["ham", "spam"]\\n', {"ham": "talk", "spam": "ads"}
    ...     )
    ... )
    [task]
    classes = ["ham", "spam"]
    describe = {ham = "talk", spam = "ads"}
    <BLANKLINE>
    """
    text = _whole_lines(text)
    place: Place = ("task", "describe")
    given = {name: description_to_plain(about) for name, about in descriptions.items() if about}
    known = _values(text).get("task", {}).get("describe", {})
    if not given or not known:
        text = drop_key(text, place)
        return set_key(text, ("task",), "describe", given) if given else text
    for name in [name for name in known if name not in given]:
        text = drop_key(text, (*place, name))
    for name in [name for name in given if known.get(name) != given[name]]:
        text = set_key(text, place, name, given[name])
    return text


def state_shares(text: str, prior: str) -> str:
    """The class shares as the user states them, in `[task]`; without any, the key goes.

    >>> print(state_shares('[task]\\nclasses = ["ham", "spam"]\\n', "spam is about 1 in 8"))
    [task]
    classes = ["ham", "spam"]
    prior = "spam is about 1 in 8"
    <BLANKLINE>
    """
    text = _whole_lines(text)
    if not prior:
        return drop_key(text, ("task", "prior"))
    return set_key(text, ("task",), "prior", prior)


def source_text(text: str, name: str) -> str:
    """The lines of one source, comments included, as a document of its own."""
    text = _whole_lines(text)
    index = _source(text, name)
    if is_list(text, SOURCES):
        return _block_of(_values(text)["source"][index])
    there = block(text, (*SOURCES, index))
    return text[there.start : there.end].strip("\n") + "\n"


def replace_source_text(text: str, name: str, new: str) -> str:
    """Other lines in the place of a source's: one source, as `source_text` gives it.

    >>> text = '[task]\\nclasses = ["ham", "spam"]\\n\\n[[source]]\\nname = "a"\\n'
    >>> print(replace_source_text(text, "a", '[[source]]\\nname = "b"  # better\\n'))
    [task]
    classes = ["ham", "spam"]
    <BLANKLINE>
    [[source]]
    name = "b"  # better
    <BLANKLINE>
    """
    text, new = _whole_lines(text), _whole_lines(new)
    index, names = _source(text, name), source_names(text)
    (fresh,) = source_names(new)
    if fresh != name:
        _check_new(fresh, names)
    if not is_list(text, SOURCES):
        there = block(text, (*SOURCES, index))
        return text[: there.start] + new.strip("\n") + "\n" + text[there.end :]
    text = add_items(text, SOURCES, [_values(new)["source"][0]])
    return _moved(drop_item(text, SOURCES, index), SOURCES, len(names) - 1, index, len(names))


def add_source_text(text: str, new: str) -> str:
    """A new source, behind the others, in the lines that it is given in."""
    text, new = _whole_lines(text), _whole_lines(new)
    names = source_names(text)
    (fresh,) = source_names(new)
    _check_new(fresh, names)
    if is_list(text, SOURCES):
        return add_items(text, SOURCES, [_values(new)["source"][0]])
    lines = new.strip("\n") + "\n"
    if not names:
        return f"{text}\n{lines}"
    return insert_after(text, (*SOURCES, len(names) - 1), lines)


def replace_rule(text: str, source: str, number: int, rule: GivenRule) -> str:
    """Another rule in the place of one; keys and words that both have keep their lines."""
    text = _whole_lines(text)
    place, old = _rule(text, source, number)
    return _changed_table(text, place, old, _plain(rule))


def _changed_table(text: str, place: Place, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Another table in the place of one; what both have keeps its lines."""
    for key in old:
        if key not in new:
            text = drop_key(text, (*place, key))
    for key, value in new.items():
        if key not in old:
            text = set_key(text, place, key, value)
        elif old[key] != value:
            text = _changed(text, (*place, key), old[key], value)
    return text


def add_rule(text: str, source: str, rule: GivenRule) -> str:
    """One more rule for a source, behind its others."""
    text = _whole_lines(text)
    place, count = _rule_places(text, source)
    if is_list(text, place):
        return add_items(text, place, [_plain(rule)])
    lines = "[[source.rule]]\n" + toml_pairs(_plain(rule))
    return insert_after(text, (*place, count - 1), lines)


def remove_rule(text: str, source: str, number: int) -> str:
    """A rule less; a source keeps one."""
    text = _whole_lines(text)
    _rule(text, source, number)
    place, count = _rule_places(text, source)
    if count == 1:
        raise ProjectError(f"{source!r} has only this rule: remove the source")
    return _without(text, place, number - 1)


def move_rule(text: str, source: str, number: int, to: int) -> str:
    """A rule at another place of its source, counted from 1: the first that matches decides."""
    text = _whole_lines(text)
    _rule(text, source, number)
    place, count = _rule_places(text, source)
    return _moved(text, place, number - 1, to - 1, count)


def add_words(text: str, source: str, number: int, words: Sequence[str]) -> str:
    """More words for a rule's list; those that it has already are passed over."""
    text = _whole_lines(text)
    place, known = _words(text, source, number)
    new = [word for word in dict.fromkeys(words) if word not in known]
    return add_items(text, place, new)


def drop_words(text: str, source: str, number: int, words: Sequence[str]) -> str:
    """Fewer words in a rule's list; one stays, and a word that is not there is refused.

    >>> text = (
    ...     '[[source]]\\nname = "a"\\nrule = [{ label = "spam", keywords = ["buy", "song"] }]\\n'
    ... )
    >>> print(drop_words(text, "a", 1, ["song"]).splitlines()[2])
    rule = [{ label = "spam", keywords = ["buy"] }]
    """
    text = _whole_lines(text)
    place, known = _words(text, source, number)
    for word in words:
        index = next((i for i, one in enumerate(known) if one.casefold() == word.casefold()), None)
        if index is None:
            raise ProjectError(
                f"{word!r} is not in the list of rule {number} of {source!r}: {listed(known)}"
            )
        if len(known) == 1:
            raise ProjectError(
                f"{word!r} is the only word of rule {number} of {source!r}: disable the source"
            )
        text = drop_item(text, place, index)
        known.pop(index)
    return text


def merge_source(text: str, name: str, into: str) -> str:
    """The rules of a source behind those of another, which it has not; the source itself goes.

    Words that the other has for the same class are not written twice.

    >>> text = '[[source]]\\nname = "a"\\nrule = [{ label = "x", keywords = ["u"] }]\\n'
    >>> text += '[[source]]\\nname = "b"\\nrule = [{ label = "x", keywords = ["v"] }]\\n'
    >>> print(merge_source(text, "b", "a"))
    [[source]]
    name = "a"
    rule = [{ label = "x", keywords = ["u"] }, {label = "x", keywords = ["v"]}]
    <BLANKLINE>
    """
    text = _whole_lines(text)
    if name == into:
        raise ProjectError(f"{name!r} cannot be merged with itself")
    values = _values(text)["source"]
    at, rules = _source(text, into), values[_source(text, name)].get("rule", [])
    known = values[at].get("rule", [])
    fresh = [_fresh(rule, known) for rule in rules if rule not in known]
    new = [rule for rule in fresh if rule is not None]
    place: Place = (*SOURCES, at, "rule")
    if is_list(text, SOURCES) or is_list(text, place):
        text = add_items(text, place, new)
    elif new:
        lines = "\n".join("[[source.rule]]\n" + toml_pairs(rule) for rule in new)
        text = insert_after(text, (*place, len(known) - 1), lines)
    return _without(text, SOURCES, _source(text, name))


def _fresh(rule: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """A rule without the words that such rules have already, None where these are all; examples keep their words."""
    if not isinstance(rule.get("keywords"), list):
        return rule
    alike = [one for one in known if isinstance(one.get("keywords"), list)]
    alike = [one for one in alike if all(one.get(k) == rule.get(k) for k in _LIST_KEYS)]
    there = {str(word).casefold() for one in alike for word in one["keywords"]}
    words = [word for word in rule["keywords"] if str(word).casefold() not in there]
    if not words:
        return None
    told = rule.get("examples") or rule.get("counter_examples")
    return rule if told else {**rule, "keywords": words}


def source_names(text: str) -> tuple[str, ...]:
    """The names of the sources, disabled ones too, in the order of the file."""
    return tuple(str(source.get("name")) for source in _values(text).get("source", ()))


def _values(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _whole_lines(text: str) -> str:
    text = _unix(text)
    Table.parse(text, "unruly.toml")  # refused where it is no TOML
    return text if text.endswith("\n") else text + "\n"


def _source(text: str, name: str) -> int:
    names = source_names(text)
    if name not in names:
        raise ProjectError(
            f"there is no source {name!r}: {did_you_mean(name, names, 'sources are')}"
        )
    return names.index(name)


def _rule(text: str, source: str, number: int) -> tuple[tuple[str, int, str, int], dict[str, Any]]:
    index = _source(text, source)
    rules = _values(text)["source"][index]["rule"]
    if not 1 <= number <= len(rules):
        raise ProjectError(
            f"{source!r} has no rule {number}: it has {plural(len(rules), 'rule')}, counted from 1"
        )
    return ("source", index, "rule", number - 1), rules[number - 1]


def _rule_places(text: str, source: str) -> tuple[tuple[str, int, str], int]:
    """The place of a source's rules, and how many there are."""
    index = _source(text, source)
    return ("source", index, "rule"), len(_values(text)["source"][index]["rule"])


def _words(text: str, source: str, number: int) -> tuple[Place, list[str]]:
    place, rule = _rule(text, source, number)
    if "keywords_file" in rule:
        raise ProjectError(
            f"rule {number} of {source!r} reads its words from {rule['keywords_file']}: edit that file"
        )
    if "keywords" not in rule:
        raise ProjectError(f"rule {number} of {source!r} has no list of keywords: {listed(rule)}")
    return (*place, "keywords"), list(rule["keywords"])


def _check_new(name: object, names: Sequence[str]) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ProjectError(f"a source needs a name, not {name!r}")
    if name in names:
        raise ProjectError(f"there is a source {name!r} already: choose another name")


def _plain(rule: GivenRule) -> Mapping[str, Any]:
    return rule_to_plain(rule) if isinstance(rule, Rule) else rule


def _block_of(source: Mapping[str, Any]) -> str:
    return source_block({**source, "rule": [_plain(rule) for rule in source["rule"]]})


def _without(text: str, place: Place, index: int) -> str:
    if is_list(text, place):
        return drop_item(text, place, index)
    return cut(text, block(text, (*place, index)))


def _moved(text: str, place: Place, index: int, to: int, count: int) -> str:
    if not 0 <= to < count:
        raise ProjectError(f"there is no place {to} among {count}")
    order = [i for i in range(count) if i != index]
    order.insert(to, index)
    return order_tables(text, place, order)


def _changed(text: str, place: Place, old: object, new: object) -> str:
    """Another value for a key. A list loses and gains items, and a table keys, where that is all that differs."""
    whole = is_list(text, place)
    if isinstance(old, Mapping) and isinstance(new, Mapping) and set(old) & set(new) and whole:
        return _changed_table(text, place, old, new)
    if _tables(old) and _tables(new) and whole:
        assert isinstance(old, list)
        assert isinstance(new, list | tuple)
        for i, (was, now) in enumerate(zip(old, new, strict=False)):
            text = _changed_table(text, (*place, i), was, now)
        for i in reversed(range(len(new), len(old))):
            text = drop_item(text, place, i)
        return add_items(text, place, new[len(old) :])
    if isinstance(old, list) and isinstance(new, list | tuple) and whole:
        kept = [item for item in old if item in new]
        fresh = list(new[len(kept) :])
        if kept and list(new[: len(kept)]) == kept:
            for i in reversed(range(len(old))):
                if old[i] not in new:
                    text = drop_item(text, place, i)
            return add_items(text, place, fresh)
    key = place[-1]
    assert isinstance(key, str)
    return set_key(text, place[:-1], key, new)


def _tables(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else ()
    return bool(items) and all(isinstance(item, Mapping) for item in items)
