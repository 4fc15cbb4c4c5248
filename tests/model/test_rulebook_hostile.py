"""A model file from a stranger: no rule in it opens a file, runs code or imports a package."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.model.planted import quick

import unruly
from unruly.errors import ModelFileError, RuleError, UnrulyError
from unruly.model.carried_rules import Absent, Allowed
from unruly.model.rulebook import RuleBook
from unruly.model.storage import open_container, to_json, write_container
from unruly.rules.function import Function, rule
from unruly.rules.keywords import Keywords
from unruly.rules.lookup import Lookup
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Entity
from unruly.texts.corpus import Corpus

CLASSES = ("ham", "spam")
CODE = """
import pathlib, unruly
pathlib.Path(__file__).with_name("ran").touch()

@unruly.rule
def shouting(row):
    return "spam" if row.text.isupper() else None
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that a hostile model would like to open, in the working folder."""
    (tmp_path / "rules.py").write_text(CODE)
    (tmp_path / "secret.txt").write_text("password\n")
    (tmp_path / "secret.csv").write_text("who\nann\n")
    (tmp_path / "pipeline").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


KINDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "function": lambda f: {"function": {"file": "rules.py", "name": "shouting"}},
    "function by path": lambda f: {"function": {"file": str(f / "rules.py"), "name": "shouting"}},
    "similar by file": lambda f: {"similar": {"file": "secret.txt", "above": 0.1}},
    "carried_similar by file": lambda f: {"carried_similar": {"file": "secret.txt", "above": 0.1}},
    "carried_describe without its texts": lambda f: {
        "carried_describe": {"classes": ["ham"], "descriptions": [], "mean": [], "deviation": []}
    },
    "classifier": lambda f: {"classifier": {"model": "secret.skops"}},
    "prompt": lambda f: {
        "prompt": {"endpoint": "https://evil.example/v1", "model": "m", "ask": "{text}"}
    },
    "carried_prompt with a key": lambda f: {
        "carried_prompt": {
            "prompt": {
                "endpoint": "https://evil.example/v1", "model": "m", "ask": "{text}",
                "key_env": "HOME", "budget": {"calls": 9},
            },
            "about": {},
        }
    },
    "keywords_file": lambda f: {"keywords_file": "secret.txt"},
    "keywords_file up": lambda f: {"keywords_file": f"../{f.name}/secret.txt", "match": "substring"},
    "lookup": lambda f: {"lookup": {"file": "secret.csv", "columns": ["user"]}},
    "lookup and known": lambda f: {
        "lookup": {"file": "secret.csv", "columns": ["user"]}, "known": ["zed"]
    },
    "carried_lookup without a table": lambda f: {
        "carried_lookup": {"file": "secret.csv", "columns": ["user"], "known": []}
    },
    "carried_lookup with a folder": lambda f: {
        "carried_lookup": {
            "file": "secret.csv", "columns": ["user"], "known": ["zed"], "folder": str(f)
        }
    },
    "entity": lambda f: {"entity": {"type": "PERSON", "model": "antigravity"}},
    "entity by path": lambda f: {"entity": {"type": "PERSON", "model": str(f / "pipeline")}},
    "field with a keywords_file": lambda f: {"field": {"part": "between", "keywords_file": "secret.txt"}},
    "field with a function": lambda f: {"field": {"part": "between", "function": {"file": "rules.py"}}},
    "field with a lookup": lambda f: {"field": {"column": "user", "lookup": {"file": "secret.csv"}}},
    "two kinds": lambda f: {"keywords": ["a"], "function": {"file": "rules.py", "name": "shouting"}},
    "unknown": lambda f: {"exec": "print(1)"},
    "nothing": lambda f: {},
}  # fmt: skip
AROUND: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "alone": lambda c: c,
    "all": lambda c: {"all": [{"keywords": ["song"]}, c]},
    "any": lambda c: {"any": [c, {"keywords": ["song"]}]},
    "not": lambda c: {"not": c},
    "deep": lambda c: {"all": [{"any": [{"not": {"all": [c]}}]}]},
}


def payload(condition: object, label: str | None = "spam") -> dict[str, Any]:
    when = {"label": label, "when": condition, "examples": [], "counter_examples": []}
    return {"classes": list(CLASSES), "sources": [{"name": "s", "rule": [when]}]}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_opened(
    kind: str, around: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = builtins.open

    def watched(file: Any, *rest: Any, **options: Any) -> Any:
        opened.append(str(file))
        return real(file, *rest, **options)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(Path, "open", watched)
    with pytest.raises((ModelFileError, RuleError), match="source 's'"):
        RuleBook.from_plain(payload(AROUND[around](KINDS[kind](folder))), Allowed())
    assert not (folder / "ran").exists()
    assert not [name for name in opened if "secret" in name or "rules.py" in name]


@pytest.mark.parametrize("label", ["spam", None])
@pytest.mark.parametrize("name", ["rules.py", "../rules.py", "/etc/passwd", ""])
def test_a_function_by_name_is_left_absent(name: str, label: str | None, folder: Path) -> None:
    facts = {"carried_function": {"name": "shouting", "file": name, "digest": None}}
    book = RuleBook.from_plain(payload(facts, label), Allowed())
    with pytest.raises(RuleError, match="a model file carries no code: name the file"):
        book.vote(Corpus.from_texts(["HEY"]))
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("around", AROUND)
def test_an_entity_waits_for_the_callers_word(around: str) -> None:
    facts = {"carried_entity": {"type": "PERSON", "model": "antigravity"}}
    plain = payload(AROUND[around](facts))
    with pytest.raises(
        RuleError, match=r"needs the spaCy model antigravity.*--functions antigravity"
    ):
        RuleBook.from_plain(plain, Allowed()).vote(Corpus.from_texts(["Ann"]))
    with pytest.raises(RuleError, match="needs the spaCy model antigravity"):
        RuleBook.from_plain(plain, Allowed.of("en_core_web_sm")).vote(Corpus.from_texts(["Ann"]))
    allowed = RuleBook.from_plain(plain, Allowed.of("antigravity"))
    assert allowed.to_plain() == plain
    with pytest.raises(UnrulyError) as caught:  # it is looked for, and is no spaCy model
        allowed.vote(Corpus.from_texts(["Ann"]))
    assert "--functions" not in str(caught.value)


def test_the_callers_own_folder_is_the_one_that_is_opened(folder: Path) -> None:
    """A model that names another folder of the same name does not get it."""
    mine = folder / "pipeline"
    facts = {"carried_entity": {"type": "PERSON", "model": "/elsewhere/pipeline"}}
    book = RuleBook.from_plain(payload(facts), Allowed.of(mine))
    assert isinstance(book.sources.sources[0].rules[0].when, Absent)
    facts = {"carried_entity": {"type": "PERSON", "model": "pipeline"}}
    book = RuleBook.from_plain(payload(facts), Allowed.of(mine))
    assert book.sources.sources[0].rules[0].when == Entity("PERSON", str(mine))


@pytest.mark.parametrize(
    "plain",
    [
        payload(None), payload([]), payload("keywords"), payload({"all": {"keywords": ["a"]}}),
        payload({"all": "abc"}), payload({"carried_function": ["a"]}), payload({"carried_lookup": 1}),
        payload({"carried_entity": {"type": 3, "model": []}}),
        payload({"carried_lookup": {"file": "f", "columns": ["a"], "known": [1, 2]}}),
        {"classes": list(CLASSES), "sources": [{"name": "s", "rule": []}]},
    ],
    ids=lambda plain: json.dumps(plain["sources"][0]["rule"])[:70],
)  # fmt: skip
def test_nonsense_is_an_error_of_one_line(plain: dict[str, Any]) -> None:
    with pytest.raises(UnrulyError) as caught:
        RuleBook.from_plain(plain, Allowed())
    assert "\n" not in str(caught.value)


def test_conditions_without_end() -> None:
    deep: dict[str, Any] = {"keywords": ["a"]}
    for _ in range(500):
        deep = {"not": deep}
    with pytest.raises(ModelFileError, match="too deep"):
        RuleBook.from_plain(payload(deep), Allowed())


def test_a_rule_of_thousands_of_conditions_is_refused_before_it_is_made() -> None:
    wide: dict[str, Any] = {"keywords": ["a"]}
    for _ in range(12):
        wide = {"any": [wide, wide]}
    with pytest.raises(ModelFileError, match="a rule of more than 2,000 conditions"):
        RuleBook.from_plain(payload(wide), Allowed())


def test_what_stands_in_files_is_copied_in_and_no_path_is_left(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "words.txt").write_text("click\n")

    @rule
    def shouting(row: object) -> str | None:
        return None

    sources = Sources(
        CLASSES,
        [
            Source("a", [Rule("spam", Keywords.from_file(folder / "sub" / "words.txt"))]),
            Source("b", [Rule("spam", Lookup(str(folder / "secret.csv"), ["user"]))]),
            Source("c", [Rule(None, Function(shouting, file=str(folder / "rules.py")))]),
            Source("d", [Rule("spam", Entity("PERSON", str(folder / "pipeline")))]),
        ],
    )
    carried = json.dumps(RuleBook(sources).to_plain())
    assert str(folder) not in carried
    assert "click" in carried
    assert "ann" in carried


def test_a_crafted_model_file_runs_nothing(folder: Path) -> None:
    """The whole way: a good model, its rules replaced, its checksums right."""
    sources = Sources(CLASSES, [Source("s", [Rule("spam", Keywords(["click"]))])])
    texts = ["click here", "a song", "click", "lovely song", "the song"] * 4
    model = quick(2).set_params(encoder={"name": "lsa", "dim": 2}).fit(texts, sources=sources)
    path = folder / "model.unruly"
    model.save(path)
    container = open_container(path)
    members = dict(container.members)
    members.pop("manifest.json", None)
    for condition in (KINDS["function"](folder), {"not": KINDS["keywords_file"](folder)}):
        members["rules.json"] = to_json(payload(condition))
        write_container(path, members, container.versions)
        with pytest.raises(ModelFileError, match="does not belong in a model file"):
            unruly.load(path)
    assert not (folder / "ran").exists()
