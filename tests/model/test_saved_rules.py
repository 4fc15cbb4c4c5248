"""The rules that a model carries vote as the originals do, without their files; and hostile ones are refused."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.model.planted import quick

import unruly
from unruly.errors import InputError, ModelFileError, RuleError, UnrulyError
from unruly.findings import DocumentsGivenUp
from unruly.model.saved_rules import Absent, AllowedRules, SavedRules, function_files
from unruly.model.storage import open_container, to_json, write_container
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.condition import Condition
from unruly.rules.field import Lookup
from unruly.rules.function import Function, rule
from unruly.rules.keywords import Keywords
from unruly.rules.matching import Matched, Matcher, VoteCache, lacking
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.sources import Sources
from unruly.rules.tools import Entity
from unruly.sentences import sentence
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

CLASSES = ("ham", "spam")
TABLES = [
    {"name": "words", "rule": [{"label": "spam", "keywords_file": "words.txt", "match": "substring"}]},
    {"name": "pattern", "rule": [{"label": "spam", "pattern": "check .*out", "examples": ["check it out"]}]},
    {"name": "short", "rule": [{"label": "ham", "length": {"max_words": 2}}]},
    {
        "name": "mixed",
        "rule": [
            {"label": "spam", "all": [{"keywords": ["http"]}, {"not": {"keywords": ["docs"]}}]},
            {"label": "ham", "any": [{"keywords": ["song"]}, {"length": {"min_words": 9}}]},
        ],
    },
    {"name": "stars", "rule": [{"label": "ham", "field": {"column": "stars", "min": 4}}]},
    {"name": "vendor", "rule": [{"column": {"name": "vendor", "map": {"bad": "spam", "good": "ham"}}}]},
    {"name": "known", "rule": [{"label": "spam", "lookup": {"file": "names.csv", "columns": ["user"]}}]},
]  # fmt: skip


@pytest.fixture
def book(tmp_path: Path) -> SavedRules:
    (tmp_path / "words.txt").write_text("subscri\nchannel\n")
    (tmp_path / "names.csv").write_text("who,why\nzed,spams\nyan,spams\n")
    return SavedRules(Sources(CLASSES, [source_from_plain(t, CLASSES, tmp_path) for t in TABLES]))


@pytest.fixture
def documents() -> Corpus:
    frame = pl.DataFrame(
        {
            "text": [
                "Subscribe!",
                "check it out",
                "nice song",
                "see http docs page",
                "http link x",
            ],
            "stars": [1, 2, 5, 4, 3],
            "vendor": ["bad", None, "good", None, "bad"],
            "user": ["zed", "al", "bo", "yan", "cy"],
        }
    )
    return Corpus.from_frame(frame, text="text")


def carried(book: SavedRules) -> SavedRules:
    return SavedRules.from_plain(json.loads(json.dumps(book.to_plain())), AllowedRules())


def test_carried_rules_vote_as_the_originals(
    book: SavedRules, documents: Corpus, tmp_path: Path
) -> None:
    expected = book.vote(documents)
    again = carried(book)
    (tmp_path / "words.txt").unlink()
    (tmp_path / "names.csv").unlink()
    found = carried(again).vote(documents)
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert (expected.matrix >= 0).any(axis=0).all()  # every kind of rule has fired
    assert found.matches(0) == expected.matches(0)
    assert carried(again).to_plain() == again.to_plain() == book.to_plain()


def test_carried_conditions_keep_all_their_options(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b\nAnn Lee,Bo Lee\n")
    entities = ["entity1", "entity2"]
    whens: list[Condition] = [
        Keywords(["a"], match="substring"),
        Pattern("a", ignore_case=False, engine="python", seconds=0.5),
        Lookup(str(tmp_path / "pairs.csv"), entities, ["a", "b"], True, True, True),
    ]
    sources = [Source(f"s{i}", [Rule("spam", when)]) for i, when in enumerate(whens)]
    book = SavedRules(Sources(CLASSES, sources))
    (tmp_path / "pairs.csv").unlink()
    assert carried(book).to_plain() == book.to_plain()


def test_each_file_of_functions_is_named_once(tmp_path: Path) -> None:
    for file, name in (("rules.py", "loud"), ("more.py", "calm")):
        code = f"import unruly\n\n@unruly.rule\ndef {name}(text):\n    return '!' in text\n"
        (tmp_path / file).write_text(code)
    loud, calm = (
        {"function": {"file": file, "name": name}}
        for file, name in (("rules.py", "loud"), ("more.py", "calm"))
    )
    tables: list[dict[str, object]] = [
        {"name": "plain", "rule": [{"label": "ham", "keywords": ["song"]}, loud]},
        {"name": "calm", "rule": [calm]},
        {"name": "again", "rule": [loud]},
    ]
    sources = Sources(CLASSES, [source_from_plain(table, CLASSES, tmp_path) for table in tables])
    found = function_files(sources, tmp_path)
    assert found == (tmp_path / "rules.py", tmp_path / "more.py")


def test_last_names_in_a_lookup_are_carried(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b\nAnn Lee,Bo Lee\n")
    lookup = {
        "file": "pairs.csv",
        "columns": ["entity1", "entity2"],
        "last_names": True,
        "either_order": True,
    }
    table = {"name": "kb", "rule": [{"label": "spam", "lookup": lookup}]}
    book = SavedRules(Sources(CLASSES, [source_from_plain(table, CLASSES, tmp_path)]))
    frame = pl.DataFrame(
        {"text": ["Jo Lee met Di Lee.", "Jo Lee met Di Ray."], "entity1": ["Jo Lee"] * 2, "entity2": ["Di Lee", "Di Ray"]}
    )  # fmt: skip
    corpus = Corpus.from_frame(frame)
    assert book.vote(corpus).matrix.tolist() == [[1], [-1]]
    assert carried(book).vote(corpus).matrix.tolist() == [[1], [-1]]


def test_sources_without_their_column_abstain_with_a_warning(book: SavedRules) -> None:
    plain = Corpus.from_texts(["Subscribe!", "nice song"])
    with pytest.warns(
        UserWarning, match=r"'stars' \(and 2 other sources\) abstains: no column 'stars' in texts"
    ):
        votes = book.vote(plain)
    assert votes.sources == book.sources.names
    assert (votes.matrix[:, 4:] == -1).all()
    assert votes.matrix[:, :4].tolist() == [[1, -1, 0, -1], [-1, -1, 0, 0]]
    assert {match.source for match in votes.matches(0)} == {"words", "short"}


def test_all_sources_without_their_column_leave_the_text_to_decide(documents: Corpus) -> None:
    sources = Sources(CLASSES, [source_from_plain(TABLES[5], CLASSES)])
    model = quick(5).set_params(encoder={"name": "lsa", "dim": 4}).fit(documents, sources=sources)
    with pytest.warns(UserWarning, match="no column 'vendor'"):
        answers = model.predictions(["nice song"])
    assert not answers.votes.covered.any()
    assert answers.decided_by == ["classifier"]
    assert answers.votes.matches(0) == ()
    assert [(fact.source, fact.column) for fact in lacking(answers.votes)] == [("vendor", "vendor")]


AMOUNTS = """
import unruly

@unruly.rule
def dear(x):
    return None if "song" in x.text else "spam" if x.amount > 100 else "ham"
"""


@pytest.fixture
def dear(tmp_path: Path) -> Sources:
    """A function that reads a column on some documents, alone, before and after another rule."""
    (tmp_path / "rules.py").write_text(AMOUNTS)
    function = {"function": {"file": "rules.py", "name": "dear"}}
    words = {"label": "spam", "keywords": ["offer"]}
    tables: list[dict[str, object]] = [
        {"name": "alone", "rule": [function]},
        {"name": "before", "rule": [function, words]},
        {"name": "after", "rule": [words, function]},
        {"name": "words", "rule": [words]},
    ]
    return Sources(CLASSES, [source_from_plain(table, CLASSES, tmp_path) for table in tables])


def paid(texts: Sequence[str]) -> Corpus:
    amounts = [90 + 20 * (i % 2) for i in range(len(texts))]
    return Corpus.from_frame(pl.DataFrame({"text": texts, "id": amounts, "amount": amounts}))


OFFERS = ["an offer for a song", "an offer", "nothing"]


def test_a_functions_source_abstains_where_it_asks_for_a_column_that_is_absent(
    dear: Sources, tmp_path: Path
) -> None:
    book = SavedRules(dear, VoteCache(tmp_path / "cache")).trained_on(paid(["a", "b"]))
    texts = Corpus.from_texts(OFFERS)
    for _ in range(2):  # also where votes are kept
        with pytest.warns(
            UserWarning,
            match=r"'alone' \(and 2 other sources\) abstains: no column 'amount' in texts",
        ):
            votes = book.vote(texts)
        assert votes.matrix.tolist() == [[-1, 1, 1, 1], [-1, -1, 1, 1], [-1, -1, -1, -1]]
    found = {fact.source: (fact.column, fact.rows.tolist()) for fact in lacking(votes)}
    assert found == {
        "alone": ("amount", [False, True, True]),
        "before": ("amount", [False, True, True]),
        "after": ("amount", [False, False, True]),
    }
    matched = [{match.source: match.rule for match in votes.matches(row)} for row in range(3)]
    assert matched == [
        {"before": 1, "after": 0, "words": 0},
        {"after": 0, "words": 0},
        {},
    ]
    assert book.vote(paid(OFFERS)).matrix.tolist() == dear.vote(paid(OFFERS)).matrix.tolist()


def test_a_column_that_training_did_not_have_either_is_an_error(dear: Sources) -> None:
    for book in (SavedRules(dear), SavedRules(dear).trained_on(Corpus.from_texts(["a"]))):
        with pytest.raises(RuleError, match="NoColumn: there is no column 'amount'"):
            book.vote(Corpus.from_texts(OFFERS))


def test_a_saved_model_knows_the_columns_of_training(dear: Sources, tmp_path: Path) -> None:
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}, cache=False)
    model.fit(paid(OFFERS * 4), sources=dear)
    model.save(tmp_path / "model.unruly")
    loaded = unruly.load(tmp_path / "model.unruly", functions=tmp_path / "rules.py")
    assert loaded.rule_columns_ == ("amount",)
    with pytest.warns(UserWarning, match="no column 'amount' in texts"):
        why = loaded.explain("an offer")
    assert why.lacking == (("alone", "amount"), ("before", "amount"))
    assert "alone abstains: the document has no column 'amount'" in str(why)
    assert why.to_plain()["lacking"][0] == {"source": "alone", "column": "amount"}
    with_columns = loaded.explain(paid(["an offer"]))
    assert (len(with_columns.votes), with_columns.lacking) == (4, ())
    assert "columns" not in SavedRules(Sources(CLASSES, [dear.sources[3]])).to_plain()


def test_votes_know_the_columns_that_the_texts_alone_do_not_have(dear: Sources) -> None:
    """Votes on a frame, and its column of texts: the same documents are predicted after they were fitted."""
    votes = dear.vote(paid(OFFERS * 4))
    for cast, texts in ((votes, OFFERS * 4), (votes[::2], (OFFERS * 4)[::2])):
        model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}, cache=False).fit(texts, cast)
        assert model.rule_columns_ == ("amount",)
        with pytest.warns(UserWarning, match="no column 'amount' in texts"):
            assert len(model.predict(texts)) == len(texts)
        assert len(model.predict(paid(texts))) == len(texts)


def test_a_soft_source_that_must_abstain_has_no_probabilities(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(AMOUNTS)
    function = {"function": {"file": "rules.py", "name": "dear"}}
    either = Rule(["ham", "spam"], Keywords(["offer"]))
    classes = ("ham", "spam", "eggs")
    own = source_from_plain({"name": "a", "rule": [function]}, classes, tmp_path).rules[0]
    book = SavedRules(Sources(classes, [Source("a", [own, either])])).trained_on(paid(["a"]))
    with pytest.warns(UserWarning, match="no column 'amount'"):
        votes = book.vote(Corpus.from_texts(OFFERS))
    assert votes.matrix.tolist() == [[0], [-1], [-1]]
    assert np.isnan(votes.soft["a"]).all(axis=1).tolist() == [False, True, True]


def test_votes_know_the_rules_behind_them(
    model: WeakClassifier, sources: Sources, corpus: Corpus
) -> None:
    found = SavedRules.behind(sources.vote(corpus))
    assert found is not None
    assert found.sources == sources
    sliced = SavedRules.behind(sources.vote(corpus)[::2])  # as scikit-learn splits them
    assert sliced is not None
    assert sliced.sources == sources
    assert SavedRules.behind(Votes.from_array(sources.vote(corpus).matrix)) is None
    assert model.predictions(["click my channel"]).voters == [["advert", "short"]]


def test_a_matrix_beside_sources_takes_their_names(sources: Sources, corpus: Corpus) -> None:
    cast = sources.vote(corpus)
    named = quick(5).set_params(encoder={"name": "lsa", "dim": 4})
    named.fit(corpus, cast.matrix, sources=sources)
    assert named.sources_ == sources.names
    assert named.classes_.tolist() == ["ham", "spam"]
    assert named.predictions(["click my channel"]).voters == [["advert", "short"]]


def test_votes_of_other_sources_than_the_rules_are_refused(
    sources: Sources, corpus: Corpus
) -> None:
    votes = Votes.from_array(sources.vote(corpus).matrix[:, :2], classes=CLASSES)
    with pytest.raises(InputError, match="the votes are of other sources"):
        quick(5).fit(corpus, votes, sources=sources)


def test_what_was_matched_for_fitting_is_not_matched_again(
    sources: Sources, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = sources.vote(corpus, cache=VoteCache(tmp_path))
    book = SavedRules.behind(votes)
    assert book is not None
    ran: list[object] = []
    match = Matcher._match

    def watched(self: Matcher, wanted: Sequence[Source], *rest: object) -> Matched:
        ran.append(wanted)
        return match(self, wanted, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Matcher, "_match", watched)
    np.testing.assert_array_equal(book.vote(corpus).matrix, votes.matrix)
    assert ran == []
    book.vote(corpus.take([0, 1]))
    assert len(ran) == 1


LABELING = """
import unruly

@unruly.labeling_function(name="loud")
def lf_1(x):
    return 1 if x.text.isupper() else -1

@unruly.labeling_function(resources={"words": {"lovely", "great"}})
def praise(x, words):
    return 0 if words & set(x.text.split()) else -1
"""


def test_a_model_of_labeling_functions_is_saved_and_loaded(corpus: Corpus, tmp_path: Path) -> None:
    """Functions given in Python, as Snorkel's users have them; the file is named when loading."""
    scope: dict[str, Any] = {}
    exec(compile(LABELING, str(tmp_path / "lfs.py"), "exec"), scope)
    (tmp_path / "lfs.py").write_text(LABELING)
    (tmp_path / "other.py").write_text("import unruly\n")
    sources = Sources(CLASSES, [scope["lf_1"], scope["praise"]])
    texts = [*corpus.texts[:40], "CLICK MY LINK", "MY CHANNEL"]
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}).fit(texts, sources=sources)
    model.save(tmp_path / "m.unruly")
    with pytest.raises(
        RuleError, match=r"Python function loud of lfs\.py.*--functions path/to/lfs\.py"
    ):
        unruly.load(tmp_path / "m.unruly").predict(["BUY"])
    named = [tmp_path / "other.py", tmp_path / "lfs.py"]
    again = unruly.load(tmp_path / "m.unruly", functions=named)
    assert again.predictions(["BUY NOW", "a great song"]).voters == [["loud"], ["praise"]]
    again.save(tmp_path / "again.unruly")
    assert (tmp_path / "again.unruly").read_bytes() == (tmp_path / "m.unruly").read_bytes()


def test_functions_are_named_by_their_file(corpus: Corpus, tmp_path: Path) -> None:
    scope: dict[str, Any] = {}
    exec(compile(LABELING, str(tmp_path / "lfs.py"), "exec"), scope)
    sources = Sources(CLASSES, [scope["lf_1"], scope["praise"]])
    quick(3).set_params(encoder={"name": "lsa", "dim": 4}).fit(
        ["BUY NOW", "a great song"] * 10, sources
    ).save(tmp_path / "m.unruly")
    given: list[Any] = [scope["lf_1"], [scope["lf_1"]], sources, [sources], 5]
    for wrong in given:
        with pytest.raises(InputError, match=r"functions= names files, not .*functions='.*\.py'"):
            unruly.load(tmp_path / "m.unruly", functions=wrong)
    with pytest.raises(InputError, match=r"functions='lfs.py'"):
        unruly.load(tmp_path / "m.unruly", functions=scope["lf_1"])


def test_documents_that_a_rule_gave_up_on_are_a_note_of_the_fit(corpus: Corpus) -> None:
    slow = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.1)
    sources = Sources(
        CLASSES,
        [
            Source("slow", [Rule("spam", slow)]),
            Source("praise", [Rule("ham", Keywords(["lovely", "great"]))]),
            Source("advert", [Rule("spam", Keywords(["click", "channel"]))]),
        ],
    )
    texts = [*corpus.texts[:40], "a" * 60]
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4})
    with pytest.warns(UserWarning, match="timed out on 1 document"):
        model.fit(texts, sources=sources)
    fact = DocumentsGivenUp("slow", 1, 1, 0.1)
    assert fact in model.summary_.notes
    assert "source 'slow', rule 1 timed out on 1 document" in sentence(fact)


@pytest.mark.parametrize("engine", ["linear", "python"])
def test_the_patterns_of_a_model_are_bounded_together(engine: str) -> None:
    """Each of them is allowed; a thousand and more would take minutes to compile."""
    patterns = [{"pattern": rf"\w{{90}}b{i}", "engine": engine} for i in range(1_500)]
    if engine == "python":
        patterns = [{"pattern": f"(a|b){{900}}{i}", "engine": engine} for i in range(1_500)]
    rule = {"label": "spam", "when": {"any": patterns}, "examples": [], "counter_examples": []}
    plain = {"classes": CLASSES, "sources": [{"name": "bombs", "rule": [rule]}]}
    with pytest.raises(RuleError, match="source 'bombs': the patterns of all rules together are"):
        SavedRules.from_plain(plain, AllowedRules())


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
        SavedRules.from_plain(payload(AROUND[around](KINDS[kind](folder))), AllowedRules())
    assert not (folder / "ran").exists()
    assert not [name for name in opened if "secret" in name or "rules.py" in name]


@pytest.mark.parametrize("label", ["spam", None])
@pytest.mark.parametrize("name", ["rules.py", "../rules.py", "/etc/passwd", ""])
def test_a_function_by_name_is_left_absent(name: str, label: str | None, folder: Path) -> None:
    facts = {"carried_function": {"name": "shouting", "file": name, "digest": None}}
    book = SavedRules.from_plain(payload(facts, label), AllowedRules())
    with pytest.raises(RuleError, match="a model file carries no code: pass the file"):
        book.vote(Corpus.from_texts(["HEY"]))
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("around", AROUND)
def test_an_entity_waits_for_the_callers_word(around: str) -> None:
    facts = {"carried_entity": {"type": "PERSON", "model": "antigravity"}}
    plain = payload(AROUND[around](facts))
    with pytest.raises(
        RuleError, match=r"needs the spaCy model antigravity.*--functions antigravity"
    ):
        SavedRules.from_plain(plain, AllowedRules()).vote(Corpus.from_texts(["Ann"]))
    with pytest.raises(RuleError, match="needs the spaCy model antigravity"):
        SavedRules.from_plain(plain, AllowedRules.of("en_core_web_sm")).vote(
            Corpus.from_texts(["Ann"])
        )
    allowed = SavedRules.from_plain(plain, AllowedRules.of("antigravity"))
    assert allowed.to_plain() == plain
    with pytest.raises(UnrulyError) as caught:  # it is looked for, and is no spaCy model
        allowed.vote(Corpus.from_texts(["Ann"]))
    assert "--functions" not in str(caught.value)


def test_the_callers_own_folder_is_the_one_that_is_opened(folder: Path) -> None:
    """A model that names another folder of the same name does not get it."""
    mine = folder / "pipeline"
    facts = {"carried_entity": {"type": "PERSON", "model": "/elsewhere/pipeline"}}
    book = SavedRules.from_plain(payload(facts), AllowedRules.of(mine))
    assert isinstance(book.sources.sources[0].rules[0].when, Absent)
    facts = {"carried_entity": {"type": "PERSON", "model": "pipeline"}}
    book = SavedRules.from_plain(payload(facts), AllowedRules.of(mine))
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
        SavedRules.from_plain(plain, AllowedRules())
    assert "\n" not in str(caught.value)


def test_conditions_without_end() -> None:
    deep: dict[str, Any] = {"keywords": ["a"]}
    for _ in range(500):
        deep = {"not": deep}
    with pytest.raises(ModelFileError, match="too deep"):
        SavedRules.from_plain(payload(deep), AllowedRules())


def test_a_rule_of_thousands_of_conditions_is_refused_before_it_is_made() -> None:
    wide: dict[str, Any] = {"keywords": ["a"]}
    for _ in range(12):
        wide = {"any": [wide, wide]}
    with pytest.raises(ModelFileError, match="a rule of more than 2,000 conditions"):
        SavedRules.from_plain(payload(wide), AllowedRules())


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
    carried = json.dumps(SavedRules(sources).to_plain())
    assert str(folder) not in carried
    assert "click" in carried
    assert "ann" in carried


def test_a_crafted_model_file_runs_nothing(folder: Path) -> None:
    """The whole way: a good model, its rules replaced, its checksums right."""
    rules = [Rule("spam", Keywords(["click"])), Rule("ham", Keywords(["lovely"]))]
    sources = Sources(CLASSES, [Source("s", rules)])
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
