"""Edits of the project file: every result means what was intended, and comments survive."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.errors import ProjectError, RuleError
from unruly.project import editing
from unruly.project.editing import ProjectText, write_edit
from unruly.project.file import parse_project
from unruly.project.new import make_starter
from unruly.project.project import Project
from unruly.project.toml import toml_value
from unruly.rules.condition import AllOf, Not
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, rule_to_plain, source_to_plain
from unruly.rules.sources import Sources
from unruly.rules.tools import Length

FILE = Path("unruly.toml")
CLASSES = ("ham", "spam")
words = st.sampled_from(
    ["a", "b # no comment", "c]", "d,", 'e"', "f'", "g\\d", "h[[", "ü", "line\nend"]
)
some_words = st.lists(words, min_size=1, max_size=5, unique=True)
conditions = st.one_of(
    some_words.map(Keywords),
    some_words.map(Keywords),
    some_words.map(lambda w: Keywords(w, "substring")),
    st.integers(0, 9).map(lambda most: Length(max_words=most)),
    st.sampled_from([r"check\s+.*out", "\"quoted\" 'twice' \\w", "# [[source]]"]).map(Pattern),
    some_words.map(lambda w: AllOf((Keywords(w), Not(Length(max_words=3))))),
)
rules = st.builds(Rule, st.sampled_from(CLASSES), conditions, st.lists(words, max_size=2))
names = st.sampled_from(["one", "two # 2", "[three]", "'four'", "fünf", "six"])
sources = st.builds(Source, names, st.lists(rules, min_size=1, max_size=3), st.booleans())


@st.composite
def projects(draw: st.DrawFn) -> Project:
    many = draw(st.lists(sources, min_size=1, max_size=4, unique_by=lambda s: s.name))
    many[0] = replace(many[0], enabled=True)
    return Project(Sources(CLASSES, many), prior=draw(st.sampled_from([None, "votes"])))


@dataclass
class Writer:
    """Writes a project as somebody might who likes comments and all of TOML's ways to say a thing."""

    draw: st.DrawFn
    comments: int = 0

    def comment(self, before: str = "", end: str = "") -> str:
        if not self.draw(st.booleans()):
            return ""
        self.comments += 1
        return f"{before}# remark {self.comments};{end}"

    def text(self, project: Project) -> str:
        parts = [self.comment(end="\n"), "[task]", self.comment("  "), "\n"]
        parts.append('classes = ["ham", "spam"]\n')
        if project.prior:
            parts.append(f"prior = {toml_value(project.prior)}{self.comment('  ')}\n")
        parts += [self.comment("\n", "\n"), self.gap()]
        if self.draw(st.integers(0, 9)) == 0:
            listed = [source_to_plain(source) for source in project.sources.with_disabled]
            items = "".join(
                f"  {toml_value(s)},{self.comment(' ')}\n{self.comment('  ', chr(10))}"
                for s in listed
            )
            parts.insert(0, f"source = [\n{items}]\n\n")
        else:
            for source in project.sources.with_disabled:
                parts += [self.source(source), self.gap(), self.comment("\n", "\n\n")]
        parts.append("[train]\nseed = 3\n" if self.draw(st.booleans()) else "")
        text = "".join(parts)
        return text.rstrip("\n") if self.draw(st.booleans()) else text

    def gap(self) -> str:
        return "\n" * self.draw(st.integers(0, 2))

    def source(self, source: Source) -> str:
        text = self.comment(end="\n") + f"[[source]]{self.comment('  ')}\n"
        text += f"name = {toml_value(source.name)}{self.comment('  ')}\n"
        text += "" if source.enabled else f"enabled = false{self.comment('  ')}\n"
        plain = [rule_to_plain(rule) for rule in source.rules]
        if self.draw(st.booleans()):
            return text + f"rule = {self.items([toml_value(rule) for rule in plain])}\n"
        for rule in plain:
            text += self.comment(end="\n") + self.gap() + f"[[source.rule]]{self.comment('  ')}\n"
            for key, value in rule.items():
                shown = toml_value(value)
                if isinstance(value, list) and key != "all":
                    shown = self.items([toml_value(item) for item in value])
                text += self.comment(end="\n") + f"{key} = {shown}{self.comment('  ')}\n"
        return text

    def items(self, items: list[str]) -> str:
        if self.draw(st.booleans()):
            return f"[{', '.join(items)}{self.draw(st.sampled_from(['', ',', ' ']))}]"
        text = f"[{self.comment(' ')}\n"
        for i, item in enumerate(items):
            comma = "," if i < len(items) - 1 or self.draw(st.booleans()) else ""
            text += f"    {item}{comma}{self.comment('  ')}\n" + self.comment("    ", "\n")
        return text + "]"


@st.composite
def written(draw: st.DrawFn) -> tuple[Project, str]:
    project = draw(projects())
    writer = Writer(draw)
    text = writer.text(project)
    return replace(project, seed=3 if "seed = 3" in text else 0), text


def remarks(text: str) -> list[str]:
    return sorted(re.findall(r"# remark \d+;", text))


def with_sources(project: Project, sources: list[Source]) -> Project:
    return replace(project, sources=Sources(CLASSES, sources))


def edited(project: Project, name: str, change: Callable[[list[Rule]], list[Rule]]) -> Project:
    many = [
        Source(s.name, change(list(s.rules)), s.enabled) if s.name == name else s
        for s in project.sources.with_disabled
    ]
    return with_sources(project, many)


laws = settings(max_examples=75, deadline=None)


@laws
@given(written())
def test_the_writer_of_these_tests_writes_what_it_means(case: tuple[Project, str]) -> None:
    project, text = case
    assert parse_project(text, FILE) == project


@laws
@given(written(), sources)
def test_add_source(case: tuple[Project, str], source: Source) -> None:
    project, text = case
    many = list(project.sources.with_disabled)
    if source.name in [s.name for s in many]:
        with pytest.raises(ProjectError, match="already"):
            editing.add_source(text, source)
        return
    new = editing.add_source(text, source)
    assert parse_project(new, FILE) == with_sources(project, [*many, source])
    assert remarks(new) == remarks(text)


@laws
@given(written(), st.data())
def test_remove_source(case: tuple[Project, str], data: st.DataObject) -> None:
    project, text = case
    many = list(project.sources.with_disabled)
    gone = data.draw(st.sampled_from(many))
    if len(many) == 1:
        with pytest.raises(ProjectError, match="only source"):
            editing.remove_source(text, gone.name)
        return
    rest = [s for s in many if s is not gone]
    new = editing.remove_source(text, gone.name)
    assert editing.source_names(new) == tuple(s.name for s in rest)
    if any(s.enabled for s in rest):
        assert parse_project(new, FILE) == with_sources(project, rest)
    assert set(remarks(new)) <= set(remarks(text))


@laws
@given(written(), st.data())
def test_move_rename_duplicate_and_switch(case: tuple[Project, str], data: st.DataObject) -> None:
    project, text = case
    many = list(project.sources.with_disabled)
    i = data.draw(st.integers(0, len(many) - 1))
    to = data.draw(st.integers(0, len(many) - 1))
    source = many[i]

    moved = editing.move_source(text, source.name, to)
    others = [s for s in many if s is not source]
    others.insert(to, source)
    assert parse_project(moved, FILE) == with_sources(project, others)

    renamed = editing.rename_source(text, source.name, "new")
    expected = [replace(s, name="new") if s is source else s for s in many]
    assert parse_project(renamed, FILE) == with_sources(project, expected)

    doubled = editing.duplicate_source(text, source.name, "copy")
    expected = [*many[: i + 1], replace(source, name="copy"), *many[i + 1 :]]
    assert parse_project(doubled, FILE) == with_sources(project, expected)

    on = editing.switch_source(text, source.name, True)
    expected = [replace(s, enabled=True) if s is source else s for s in many]
    assert parse_project(on, FILE) == with_sources(project, expected)
    off = editing.switch_source(text, source.name, False)
    expected = [replace(s, enabled=False) if s is source else s for s in many]
    if any(s.enabled for s in expected):
        assert parse_project(off, FILE) == with_sources(project, expected)
    else:
        with pytest.raises(ProjectError, match="all sources are disabled"):
            parse_project(off, FILE)
    for new in (moved, renamed, off):
        assert remarks(new) == remarks(text)
    assert set(remarks(doubled)) == set(remarks(text))


@laws
@given(written(), rules, st.data())
def test_rules(case: tuple[Project, str], rule: Rule, data: st.DataObject) -> None:
    project, text = case
    source = data.draw(st.sampled_from(list(project.sources.with_disabled)))
    count = len(source.rules)
    number = data.draw(st.integers(1, count))

    swapped = editing.replace_rule(text, source.name, number, rule)
    assert parse_project(swapped, FILE) == edited(
        project, source.name, lambda r: [*r[: number - 1], rule, *r[number:]]
    )

    more = editing.add_rule(text, source.name, rule)
    assert parse_project(more, FILE) == edited(project, source.name, lambda r: [*r, rule])
    assert remarks(more) == remarks(text)

    to = data.draw(st.integers(1, count))
    moved = editing.move_rule(text, source.name, number, to)

    def at_another_place(r: list[Rule]) -> list[Rule]:
        r.insert(to - 1, r.pop(number - 1))
        return r

    assert parse_project(moved, FILE) == edited(project, source.name, at_another_place)
    assert remarks(moved) == remarks(text)

    if count == 1:
        with pytest.raises(ProjectError, match="only this rule"):
            editing.remove_rule(text, source.name, number)
        return
    fewer = editing.remove_rule(text, source.name, number)
    assert parse_project(fewer, FILE) == edited(
        project, source.name, lambda r: [*r[: number - 1], *r[number:]]
    )
    assert set(remarks(fewer)) <= set(remarks(text))


def test_an_edit_inside_of_a_condition_leaves_its_neighbours_alone() -> None:
    text = """[[source]]
name = "a"
[[source.rule]]
label = "spam"
all = [
  { keywords = ["cash"] },  # the first
  { not = { sequence = { first = ["my"], then = ["bank"] } } },  # the second
]
"""
    rule = {
        "label": "spam",
        "all": [
            {"keywords": ["cash", "money"]},
            {"not": {"sequence": {"first": ["my"], "then": ["bank"], "within_words": 2}}},
        ],
    }
    assert editing.replace_rule(text, "a", 1, rule) == text.replace(
        '"cash"]', '"cash", "money"]'
    ).replace('["bank"] }', '["bank"], within_words = 2 }')


@laws
@given(written(), some_words, st.data())
def test_words(case: tuple[Project, str], more: list[str], data: st.DataObject) -> None:
    project, text = case
    source = data.draw(st.sampled_from(list(project.sources.with_disabled)))
    number = data.draw(st.integers(1, len(source.rules)))
    rule = source.rules[number - 1]
    if not isinstance(rule.when, Keywords):
        with pytest.raises(ProjectError, match="has no list of keywords"):
            editing.add_words(text, source.name, number, more)
        return

    def with_words(words: list[str]) -> Project:
        assert isinstance(rule.when, Keywords)
        new = replace(rule, when=replace(rule.when, words=words))
        return edited(project, source.name, lambda r: [*r[: number - 1], new, *r[number:]])

    known = list(rule.when.words)
    added = editing.add_words(text, source.name, number, more)
    assert parse_project(added, FILE) == with_words([*known, *(w for w in more if w not in known)])
    assert remarks(added) == remarks(text)
    gone = data.draw(st.sampled_from(known))
    if len(known) == 1:
        with pytest.raises(ProjectError, match="is the only word"):
            editing.drop_words(text, source.name, number, [gone])
        return
    fewer = editing.drop_words(text, source.name, number, [gone])
    assert parse_project(fewer, FILE) == with_words([word for word in known if word != gone])
    assert set(remarks(fewer)) <= set(remarks(text))


def unlisted(rule: Rule, into: Source) -> Rule | None:
    """The rule without words that a list of `into` has for the same class."""
    if not isinstance(rule.when, Keywords):
        return rule
    lists = [one for one in into.rules if isinstance(one.when, Keywords)]
    kind = rule.label, rule.not_label, rule.when.match
    alike = [o.when for o in lists if (o.label, o.not_label, o.when.match) == kind]  # type: ignore[attr-defined]
    words = [w for w in rule.when.words if not any(w in one.words for one in alike)]  # type: ignore[attr-defined]
    if words and (rule.examples or rule.counter_examples):
        return rule
    return replace(rule, when=Keywords(words, rule.when.match)) if words else None


def test_merging_writes_no_word_twice(tmp_path: Path) -> None:
    text = ProjectText.read(make_starter(tmp_path / "spam")).text
    for name, words in (("b", ["Good", "fine"]), ("a", ["good"])):
        text = editing.add_source(text, Source(name, [Rule("ham", Keywords(words))]))
    merged = editing.merge_source(text, "a", "b")
    found = parse_project(merged, FILE).sources
    assert [rule.when for rule in found.sources[-1].rules] == [Keywords(["Good", "fine"])]
    assert found.names[-1] == "b"
    text = editing.add_source(text, Source("c", [Rule("ham", Keywords(["fine", "fun"]))]))
    text = editing.add_source(text, Source("d", [Rule("spam", Keywords(["fine"]))]))
    for name in ("c", "d"):
        text = editing.merge_source(text, name, "b")
    (b,) = [source for source in parse_project(text, FILE).sources.sources if source.name == "b"]
    assert [(rule.label, rule.when) for rule in b.rules] == [
        ("ham", Keywords(["Good", "fine"])),
        ("ham", Keywords(["fun"])),
        ("spam", Keywords(["fine"])),
    ]


@laws
@given(written(), st.data())
def test_merge_source(case: tuple[Project, str], data: st.DataObject) -> None:
    project, text = case
    many = list(project.sources.with_disabled)
    if len(many) == 1:
        with pytest.raises(ProjectError, match="cannot be merged with itself"):
            editing.merge_source(text, many[0].name, many[0].name)
        return
    gone, into = data.draw(st.permutations(many))[:2]
    more = [
        rule for rule in gone.rules if rule_to_plain(rule) not in map(rule_to_plain, into.rules)
    ]
    more = [one for rule in more if (one := unlisted(rule, into)) is not None]
    new = editing.merge_source(text, gone.name, into.name)
    rest = [replace(s, rules=(*s.rules, *more)) if s is into else s for s in many if s is not gone]
    assert editing.source_names(new) == tuple(s.name for s in rest)
    if any(s.enabled for s in rest):
        assert parse_project(new, FILE) == with_sources(project, rest)
    assert set(remarks(new)) <= set(remarks(text))


def test_an_edit_looks_as_if_written_by_hand(tmp_path: Path) -> None:
    text = ProjectText.read(make_starter(tmp_path / "spam")).text
    new = editing.add_words(text, "about_the_song", 1, ["melody"])
    assert '"hearing", "listening", "melody"]\n' in new
    gone = editing.remove_source(new, "subscribe")
    assert "# A source is a named" in gone
    assert "\n\n\n" not in gone


def test_written_only_over_what_was_read(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")
    before = ProjectText.read(folder)
    project = write_edit(before, editing.switch_source(before.text, "link", False))
    assert project.sources.disabled == ("link",)
    assert Project.read(folder) == project
    with pytest.raises(ProjectError, match=r"unruly\.toml: changed on disk"):
        write_edit(before, editing.rename_source(before.text, "link", "url"))
    assert Project.read(folder) == project
    before.file.unlink()
    with pytest.raises(ProjectError, match="changed on disk"):
        write_edit(before, before.text)


def test_what_is_no_project_is_not_written(tmp_path: Path) -> None:
    before = ProjectText.read(make_starter(tmp_path / "spam"))
    wrong = Rule("spma", Keywords(["x"]))
    with pytest.raises(RuleError, match=r"unruly\.toml:\d+: .*'spma'"):
        write_edit(before, editing.replace_rule(before.text, "feeling", 1, wrong))
    assert before.file.read_bytes() == before.raw


def test_windows_line_ends_and_a_byte_order_mark_are_kept(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")
    file = folder / "unruly.toml"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    before = ProjectText.read(folder)
    write_edit(before, editing.add_words(before.text, "money", 1, ["dollars"]))
    raw = file.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert raw.count(b"\n") == raw.count(b"\r\n")
    assert raw.replace(b', "dollars"', b"") == before.raw


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: editing.remove_source(t, "subscrib"), "there is no source 'subscrib': did you"),
        (
            lambda t: editing.replace_rule(t, "feeling", 3, Rule("ham", Keywords(["x"]))),
            "'feeling' has no rule 3: it has 2 rules",
        ),
        (lambda t: editing.rename_source(t, "link", " "), "a source needs a name"),
        (lambda t: editing.rename_source(t, "link", "money"), "there is a source 'money' already"),
        (lambda t: editing.move_source(t, "link", 99), "there is no place 99"),
        (lambda t: editing.add_words(t, "check_out", 1, ["x"]), "has no list of keywords"),
        (lambda t: editing.drop_words(t, "money", 1, ["x"]), "'x' is not in the list of rule 1"),
        (lambda t: editing.merge_source(t, "money", "monye"), "there is no source 'monye'"),
        (lambda t: editing.rename_source(t + "[", "link", "url"), "not valid TOML"),
        (
            lambda t: editing.remove_source(
                t + '[train]\n[[source.rule]]\nlabel = "ham"\nkeywords = ["x"]\n', "short"
            ),
            "not valid TOML|several parts",
        ),
    ],
)
def test_edits_that_make_no_sense(edit: Callable[[str], str], message: str, tmp_path: Path) -> None:
    text = ProjectText.read(make_starter(tmp_path / "spam")).text
    with pytest.raises(ProjectError, match=message):
        edit(text)


def test_a_source_in_several_parts() -> None:
    text = (
        '[task]\nclasses = ["ham", "spam"]\n[[source]]\nname = "z"\n[[source.rule]]\nlabel = "ham"\n'
        'keywords = ["z"]\n[[source]]\nname = "a"\n[[source.rule]]\nlabel = "ham"\nkeywords = ["x"]\n'
        '[train]\nseed = 1\n[[source.rule]]\nlabel = "spam"\nkeywords = ["y"]\n'
    )
    with pytest.raises(ProjectError, match="several parts"):
        editing.remove_source(text, "a")
