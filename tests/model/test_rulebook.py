"""The rules that a model carries vote as the originals do, without their files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.model.planted import quick

import unruly
from unruly.errors import InputError, RuleError
from unruly.facts import DocumentsGivenUp
from unruly.model.carried_rules import Allowed
from unruly.model.rulebook import RuleBook
from unruly.model.weak_classifier import WeakClassifier
from unruly.model.wording import sentence
from unruly.rules.cache import Cache
from unruly.rules.keywords import Keywords
from unruly.rules.matching import Matched, Matcher
from unruly.rules.pattern import Pattern
from unruly.rules.plain import source_from_plain
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
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
def book(tmp_path: Path) -> RuleBook:
    (tmp_path / "words.txt").write_text("subscri\nchannel\n")
    (tmp_path / "names.csv").write_text("who,why\nzed,spams\nyan,spams\n")
    return RuleBook(Sources(CLASSES, [source_from_plain(t, CLASSES, tmp_path) for t in TABLES]))


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


def carried(book: RuleBook) -> RuleBook:
    return RuleBook.from_plain(json.loads(json.dumps(book.to_plain())), Allowed())


def test_carried_rules_vote_as_the_originals(
    book: RuleBook, documents: Corpus, tmp_path: Path
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


def test_last_names_in_a_lookup_are_carried(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b\nAnn Lee,Bo Lee\n")
    lookup = {
        "file": "pairs.csv",
        "columns": ["entity1", "entity2"],
        "last_names": True,
        "either_order": True,
    }
    table = {"name": "kb", "rule": [{"label": "spam", "lookup": lookup}]}
    book = RuleBook(Sources(CLASSES, [source_from_plain(table, CLASSES, tmp_path)]))
    frame = pl.DataFrame(
        {"text": ["Jo Lee met Di Lee.", "Jo Lee met Di Ray."], "entity1": ["Jo Lee"] * 2, "entity2": ["Di Lee", "Di Ray"]}
    )  # fmt: skip
    corpus = Corpus.from_frame(frame)
    assert book.vote(corpus).matrix.tolist() == [[1], [-1]]
    assert carried(book).vote(corpus).matrix.tolist() == [[1], [-1]]


def test_sources_without_their_column_abstain_with_a_warning(book: RuleBook) -> None:
    plain = Corpus.from_texts(["Subscribe!", "nice song"])
    with pytest.warns(
        UserWarning, match=r"'stars' \(and 2 other sources\) abstains: .* no column 'stars'"
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


def test_votes_know_the_rules_behind_them(
    model: WeakClassifier, sources: Sources, corpus: Corpus
) -> None:
    found = RuleBook.behind(sources.vote(corpus))
    assert found is not None
    assert found.sources == sources
    sliced = RuleBook.behind(sources.vote(corpus)[::2])  # as scikit-learn splits them
    assert sliced is not None
    assert sliced.sources == sources
    assert RuleBook.behind(Votes.from_array(sources.vote(corpus).matrix)) is None
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
    votes = sources.vote(corpus, cache=Cache(tmp_path))
    book = RuleBook.behind(votes)
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
    with pytest.raises(RuleError, match=r"Python function loud of lfs\.py.*--functions lfs\.py"):
        unruly.load(tmp_path / "m.unruly").predict(["BUY"])
    named = [tmp_path / "other.py", tmp_path / "lfs.py"]
    again = unruly.load(tmp_path / "m.unruly", functions=named)
    assert again.predictions(["BUY NOW", "a great song"]).voters == [["loud"], ["praise"]]
    again.save(tmp_path / "again.unruly")
    assert (tmp_path / "again.unruly").read_bytes() == (tmp_path / "m.unruly").read_bytes()


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
    with pytest.warns(UserWarning, match="gave up on 1 document"):
        model.fit(texts, sources=sources)
    fact = DocumentsGivenUp("slow", 1, 1, 0.1)
    assert fact in model.summary_.notes
    assert "slow, rule 1, gave up on 1 document" in sentence(fact)
