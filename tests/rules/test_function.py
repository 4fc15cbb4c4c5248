from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unruly
from unruly.errors import RuleError
from unruly.rules.function import Document, Function, load_file
from unruly.rules.keywords import Keywords
from unruly.rules.matching import lacking
from unruly.rules.source import Rule, Source, source_from_plain, source_to_plain
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

CLASSES = ["ham", "spam"]
FILE = """
import unruly
from dataclasses import dataclass

@dataclass
class Helper:
    n: int

@unruly.rule
def shouting(row):
    return "spam" if row.text.isupper() else None

def unmarked(row):
    return None
"""


def sources_of(function: object) -> Sources:
    return Sources(CLASSES, [Source("f", [Rule(None, Function(function))])])  # type: ignore[arg-type]


def table(name: str, file: str = "rules.py") -> dict[str, object]:
    return {"name": "f", "rule": [{"function": {"file": file, "name": name}}]}


def test_a_function_sees_the_row() -> None:
    @unruly.rule
    def rule(row: Document) -> str | None:
        assert row["stars"] == row.stars
        assert row["text"] == row.text
        return "ham" if row.stars > 3 and row.id == "a" else None

    frame = pl.DataFrame({"key": ["a", "b"], "comment": ["x", "y"], "stars": [5, 5]})
    votes = sources_of(rule).vote(Corpus.from_frame(frame, text="comment", id="key"))
    assert votes.matrix[:, 0].tolist() == [0, -1]
    assert votes.matches(0)[0].reason == "function: rule"


def test_a_text_asked_for_by_the_name_of_its_column_is_pointed_to() -> None:
    @unruly.labeling_function()
    def refund(x: Document) -> int:
        return 1 if "refund" in x.message else -1

    frame = pl.DataFrame({"message": ["refund me"], "channel": ["web"]})
    with pytest.raises(
        RuleError, match=r"no column 'message': the text is always \.text; .* channel, id$"
    ):
        Sources(CLASSES, [refund]).vote(frame)
    assert not hasattr(Document(text="hello"), "stars")


def test_a_function_abstains_where_it_asks_for_an_absent_column_and_each_column_is_told() -> None:
    @unruly.rule
    def rule(row: Document) -> str | None:
        if row.text == "stars":
            return "spam" if row.stars < 2 else None
        if row.text == "price":
            return "spam" if row.price > 9 else None
        return "ham" if row.text else None

    source = Source("f", [Rule(None, Function(rule, absent=("stars", "price")))])
    corpus = Corpus.from_texts(["", "stars", "price", "both", "price"])
    votes = Sources(CLASSES, [source]).vote(corpus)
    assert votes.matrix[:, 0].tolist() == [-1, -1, -1, 0, -1]
    facts = {fact.column: np.flatnonzero(fact.rows).tolist() for fact in lacking(votes)}
    assert facts == {"stars": [1], "price": [2, 4]}


def test_a_function_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(FILE)
    source = source_from_plain(table("shouting"), CLASSES, tmp_path)
    votes = Sources(CLASSES, [source]).vote(Corpus.from_texts(["HEY", "hey"]))
    assert votes.matrix[:, 0].tolist() == [1, -1]
    assert source_to_plain(source) == table("shouting")
    before = source.meaning()
    (tmp_path / "rules.py").write_text(FILE + "\n# edited\n")
    assert source_from_plain(table("shouting"), CLASSES, tmp_path).meaning() != before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("shoutin", FILE, "did you mean 'shouting'"),
        ("unmarked", FILE, "put @unruly.rule above it"),
        ("x", "def x(:\n", r"line 1: cannot be run: SyntaxError"),
        ("x", "1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / "rules.py").write_text(text)
    with pytest.raises(RuleError, match=message):
        source_from_plain(table(name), CLASSES, tmp_path)


def test_a_missing_file_and_a_link_to_itself(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"source 'f', rule 1: there is no file none\.py"):
        source_from_plain(table("x", "none.py"), CLASSES, tmp_path)
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    with pytest.raises(RuleError, match="leads back to itself"):
        source_from_plain(table("x", "loop.py"), CLASSES, tmp_path)


def test_a_file_that_loads_its_own_functions_is_an_error_and_not_endless(tmp_path: Path) -> None:
    path = tmp_path / "notebook.py"
    again = "from unruly.rules.function import load_file\nfrom pathlib import Path\n"
    path.write_text(f"{again}load_file(Path({str(path)!r}), 'digest')\n")
    for _ in range(2):
        with pytest.raises(RuleError, match="loads its own functions while it runs"):
            load_file(path, "digest")


def test_an_exception_is_an_error_with_rule_and_row() -> None:
    @unruly.rule
    def broken(row: Document) -> str | None:
        return "ham" if 1 / len(row.text) else None

    with pytest.raises(
        RuleError, match=r"source 'f', rule 1, row id 2: .*broken raised ZeroDivisionError"
    ) as caught:
        sources_of(broken).vote(Corpus.from_texts(["a", "b", ""]))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("answer", ["spamm", 1, True, ["ham"]])
def test_an_answer_that_is_no_class(answer: object) -> None:
    with pytest.raises(
        RuleError, match=r"row id 0: .* which is not a class: return one of ham, spam"
    ):
        sources_of(unruly.rule(lambda row: answer)).vote(Corpus.from_texts(["a"]))


def test_a_function_without_the_mark() -> None:
    with pytest.raises(RuleError, match=r"put @unruly\.rule above"):
        Function(lambda row: None)


def test_snorkel_functions_as_they_are() -> None:
    labeling = pytest.importorskip("snorkel.labeling")

    shouting = labeling.LabelingFunction("shouting", lambda x: 1 if x.text.isupper() else -1)
    wrong = labeling.LabelingFunction("wrong", lambda x: 7)
    votes = sources_of(shouting).vote(Corpus.from_texts(["HEY", "hey"]))
    assert votes.matrix[:, 0].tolist() == [1, -1]
    with pytest.raises(RuleError, match="wrong returned 7, which is not a class"):
        sources_of(wrong).vote(Corpus.from_texts(["HEY"]))


def test_a_function_given_in_python_cannot_be_written() -> None:
    source = Source("f", [Rule(None, Function(unruly.rule(lambda row: None)))])
    with pytest.raises(RuleError, match="cannot be written"):
        source_to_plain(source)
    assert source.meaning() is None


def test_a_function_is_a_rule_as_it_is() -> None:
    @unruly.rule
    def shouting(row: Any) -> str | None:
        return "spam" if row.text.isupper() else None

    source = Source("loud", [shouting])  # type: ignore[list-item]
    votes = Sources(["ham", "spam"], [source]).vote(Corpus.from_texts(["BUY", "no"]))
    assert votes.matrix.tolist() == [[1], [-1]]
    with pytest.raises(RuleError, match="is not a rule: expected Rule"):
        Source("loud", ["shouting"])  # type: ignore[list-item]


def test_labeling_functions_as_snorkel_writes_them() -> None:
    """Named or not, with brackets or without, with resources and steps before."""

    def lower(x: Any) -> Any:
        x.text = x.text.lower()
        return x

    @unruly.labeling_function(name="advert", resources={"words": {"buy"}}, pre=[lower])
    def first(x: Any, words: set[str]) -> int:
        return 1 if words & set(x.text.split()) else -1

    @unruly.labeling_function()
    def short(x: Any) -> int:
        return 0 if len(x.text) < 5 else -1

    @unruly.labeling_function
    def bare(x: Any) -> str | None:
        return "ham" if "song" in x.text else None

    @unruly.labeling_function("by_position")
    def fourth(x: Any) -> np.int64:
        return np.int64(-1)

    sources = Sources(CLASSES, [first, short, bare, fourth])
    assert sources.names == ("advert", "short", "bare", "by_position")
    votes = sources.vote(["BUY it now", "song", "hm"])
    assert votes.matrix.tolist() == [[1, -1, -1, -1], [-1, 0, 0, -1], [-1, 0, -1, -1]]
    assert short(Document(text="a")) == 0  # still a function
    with pytest.raises(RuleError, match="wrong returned 2, which is not a class"):
        Sources(CLASSES, [unruly.labeling_function("wrong")(lambda x: 2)]).vote(["a"])


def test_functions_straight_into_sources() -> None:
    @unruly.labeling_function()
    def shouting(x: Any) -> int:
        return 1 if x.text.isupper() else -1

    sources = Sources([shouting])
    assert sources.classes == ("0", "1")
    assert sources.vote(["HEY", "hey"]).matrix.tolist() == [[1], [-1]]
    mixed = Sources(
        ["ham", "spam"], [shouting, Source("praise", [Rule("ham", Keywords(["lovely"]))])]
    )
    assert mixed.vote(["LOVELY"]).matrix.tolist() == [[1, 0]]
    named = [Source(c, [Rule(c, Keywords([c]))]) for c in ("ham", "spam")]
    assert Sources(named).classes == ("ham", "spam")
    with pytest.raises(RuleError, match="the rules name one class, 'ham': name all"):
        Sources(named[:1])
    with pytest.raises(RuleError, match="'shouting' is not a source"):
        Sources(["ham", "spam"], ["shouting"])  # type: ignore[list-item]


def test_a_function_in_a_file_is_found_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(
        "import unruly\n@unruly.labeling_function(name='loud')\ndef f(x):\n    return -1\n"
    )
    for name in ("f", "loud"):
        source_from_plain(table(name), CLASSES, tmp_path)
    with pytest.raises(RuleError, match=r"there is no rule lou: the rules in it are loud"):
        source_from_plain(table("lou"), CLASSES, tmp_path)
