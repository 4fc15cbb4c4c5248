from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unruly.errors import RuleError, Where
from unruly.rules.column import Column, Probabilities
from unruly.rules.field import Field
from unruly.rules.keywords import Keywords
from unruly.rules.matching import VoteCache
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.columns import gold_numbers
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

CLASSES = ["ham", "spam"]


def vote(rules: list[Rule], **columns: list[object]) -> Votes:
    n = len(next(iter(columns.values())))
    frame = pl.DataFrame({"text": ["subscribe"] + ["x"] * (n - 1), **columns})
    return Sources(CLASSES, [Source("v", rules)]).vote(Corpus.from_frame(frame, text="text"))


def votes_of(column: Column, values: list[object]) -> list[int]:
    return [int(v) for v in vote([Rule(None, column)], vendor=values).matrix[:, 0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["spam", "ham", None, ""], [1, 0, -1, -1]),
        ([1, 0, None, -1], [1, 0, -1, -1]),
        ([1.0, 0.0, None, -1.0], [1, 0, -1, -1]),
        (["1", "0", "-1", None], [1, 0, -1, -1]),
        ([" spam", "ham ", " ", " -1"], [1, 0, -1, -1]),
        (["1.0", "0.0", "-1.0", "nan"], [1, 0, -1, -1]),
        ([1.0, float("nan"), 0.0, float("nan")], [1, -1, 0, -1]),
        ([True, False, None], [1, 0, -1]),
    ],
)
def test_names_numbers_and_silence(values: list[object], expected: list[int]) -> None:
    assert votes_of(Column("vendor"), values) == expected


@pytest.mark.parametrize(
    "cell", ["spam", " spam", "1", "1.0", 1, 1.0, True, "", " ", None, -1, "-1", -1.0]
)
def test_a_cell_means_the_same_in_a_column_of_votes_and_in_one_of_labels(cell: object) -> None:
    gold = gold_numbers(pl.Series([cell]), CLASSES, lambda row: Where(row=row))
    assert votes_of(Column("vendor"), [cell]) == gold.tolist()


def test_the_keys_of_a_map_are_read_alike() -> None:
    column = Column("vendor", {"1": "spam", "fine": "ham"})
    assert votes_of(column, ["1.0", " fine", " ", "-1"]) == [1, 0, -1, -1]
    with pytest.raises(RuleError, match="holds 'ham', expected one of 1, fine"):
        votes_of(column, ["ham"])


def test_a_map() -> None:
    column = Column("vendor", {"bad": "spam", "fine": "ham"})
    assert votes_of(column, ["bad", "fine", None]) == [1, 0, -1]
    assert votes_of(Column("vendor", {"0": "spam", "1": "ham"}), [0, 1, 1]) == [1, 0, 0]


def test_an_unknown_value_is_named_with_its_row() -> None:
    with pytest.raises(RuleError, match=r"source 'v', rule 1, row id 1: .*'maybe'.*others"):
        votes_of(Column("vendor"), ["spam", "maybe"])
    assert votes_of(Column("vendor", others="abstain"), ["spam", "maybe"]) == [1, -1]


def test_a_map_to_a_class_that_is_none() -> None:
    with pytest.raises(RuleError, match=r"source 'v', rule 1: .*'spma'.*did you mean 'spam'"):
        votes_of(Column("vendor", {"x": "spma"}), ["x"])


def test_a_label_beside_a_column_is_refused() -> None:
    with pytest.raises(RuleError, match="picks the class itself"):
        vote([Rule("spam", Column("vendor"))], vendor=["spam"])


def test_probabilities_are_kept() -> None:
    rules = [Rule(None, Probabilities({"ham": "p", "spam": "q"}))]
    votes = vote(rules, p=[0.9, 0.2, None], q=[0.1, 0.8, 0.5])
    assert votes.matrix[:, 0].tolist() == [0, 1, -1]
    np.testing.assert_allclose(votes.soft["v"][:2], [[0.9, 0.1], [0.2, 0.8]], rtol=1e-6)
    assert np.isnan(votes.soft["v"][2]).all()


def test_one_column_is_enough_for_two_classes() -> None:
    votes = vote([Rule(None, Probabilities({"spam": "q"}, above=0.6))], q=[0.9, 0.1, 0.5])
    assert votes.matrix[:, 0].tolist() == [1, 0, -1]
    np.testing.assert_allclose(votes.soft["v"][0], [0.1, 0.9], rtol=1e-6)


def test_a_sure_rule_before_probabilities() -> None:
    rules = [Rule("spam", Keywords(["subscribe"])), Rule(None, Probabilities({"spam": "q"}))]
    votes = vote(rules, q=[0.2, 0.3])
    assert votes.matrix[:, 0].tolist() == [1, 0]
    np.testing.assert_allclose(votes.soft["v"], [[0.0, 1.0], [0.7, 0.3]], rtol=1e-6)


@pytest.mark.parametrize(("p", "q"), [(0.9, 0.9), (1.4, -0.4)])
def test_numbers_that_are_no_probabilities(p: float, q: float) -> None:
    with pytest.raises(RuleError, match=r"row id 1: the probabilities"):
        vote([Rule(None, Probabilities({"ham": "p", "spam": "q"}))], p=[0.5, p], q=[0.5, q])


def test_a_word_among_probabilities_is_named_and_nan_is_none() -> None:
    rules = [Rule(None, Probabilities({"spam": "q"}))]
    assert vote(rules, q=["0.9", "NaN", None]).matrix[:, 0].tolist() == [1, -1, -1]
    assert vote(rules, q=["0.9", " ", "nan"]).matrix[:, 0].tolist() == [1, -1, -1]
    with pytest.raises(RuleError, match=r"row id 1: the column 'q' holds 'high', not a number"):
        vote(rules, q=["0.9", "high", "0.2"])


@pytest.mark.parametrize(
    ("values", "condition", "message"),
    [
        (["high", "low"], Probabilities({"b": "x"}), r"source 's', rule 1: the column 'x' holds String, not numbers"),
        ([[0.1], [0.2]], Probabilities({"b": "x"}), "not numbers"),
        ([{"a": 1}, {"a": 2}], Column("x"), "not class names"),
        ([b"\xff", b"1"], Column("x"), "holds bytes"),
    ],
)  # fmt: skip
def test_columns_of_another_type_are_told_in_one_line(
    values: list[object], condition: Column | Probabilities, message: str
) -> None:
    corpus = Corpus.from_frame(pl.DataFrame({"text": ["t", "u"], "x": values}), text="text")
    with pytest.raises(RuleError, match=message) as caught:
        Sources(["a", "b"], [Source("s", [Rule(None, condition)])]).vote(corpus)
    assert "\n" not in str(caught.value)


def test_a_binary_column_beside_the_text_does_no_harm(tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["t", "u"], "x": [b"\xff", b"1"], "stars": [1, 5]})
    rule = Rule("b", Field("stars", low=4))
    sources = Sources(["a", "b"], [Source("s", [rule])])
    votes = sources.vote(Corpus.from_frame(frame, text="text"), cache=VoteCache(tmp_path))
    assert votes.matrix.tolist() == [[-1], [1]]


LETTERS = ["a", "b", "c", "d"]


def numbered(rule: Column) -> Sources:
    return Sources(LETTERS, [Source("v", [Rule(None, rule)])])


@pytest.mark.parametrize("values", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"]])
def test_numbers_that_count_from_one_are_not_read_in_silence(values: list[object]) -> None:
    frame = pl.DataFrame({"text": [f"t{i}" for i in range(12)], "v": values * 4}, strict=False)
    corpus, sources = Corpus.from_frame(frame, text="text"), numbered(Column("v"))
    with pytest.warns(UserWarning, match=r"column 'v': .*1 to 3, never 0.*read as b to d"):
        sources.vote(corpus)
    with pytest.warns(UserWarning, match=r"column 'v': .*1 to 3, never 0"):
        list(sources.vote_stream([corpus[:7], corpus[7:]]))  # too few in either to tell


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (["b", "c", "d"], Column("v")),
        ([0, 1, 2, 3], Column("v")),
        ([1, 2, 3], Column("v", map={"1": "a", "2": "b", "3": "c"})),
    ],
)
def test_others_are(values: list[object], rule: Column) -> None:
    frame = pl.DataFrame({"text": [f"t{i}" for i in range(12)], "v": values * (12 // len(values))})
    corpus = Corpus.from_frame(frame.sort("v"), text="text")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(numbered(rule).vote_stream([corpus]))
        list(numbered(rule).vote_stream([corpus[:1], corpus[1:]]))


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("is_spam", "holds the true labels, which only score and are kept from rules"),
        ("comment", "is the text, which rules read without its name"),
        ("number", "holds the ids, which rules do not read"),
        ("is_ham", "there is no column 'is_ham' in the data"),
    ],
)
def test_a_column_that_is_kept_from_rules_is_called_so(column: str, told: str) -> None:
    frame = pl.DataFrame({"comment": ["t", "u"], "is_spam": [0, 1], "number": [7, 8]})
    corpus = Corpus.from_frame(frame, text="comment", id="number", label="is_spam")
    with pytest.raises(RuleError, match=told):
        Sources(["a", "b"], [Source("s", [Rule(None, Column(column))])]).vote(corpus)
