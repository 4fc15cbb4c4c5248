from __future__ import annotations

import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.rules.condition import Condition
from unruly.rules.field import Field, SameLastName
from unruly.rules.rule import Rule
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

FRAME = pl.DataFrame(
    {
        "text": ["a", "b", "c", "d"],
        "stars": [5, 3, 1, None],
        "kind": ["pro", "user", None, "5"],
        "paid": [True, False, True, None],
    }
)


def fired(condition: Condition, frame: pl.DataFrame = FRAME) -> list[bool]:
    sources = Sources(["no", "yes"], [Source("f", [Rule("yes", condition)])])
    return [bool(v) for v in sources.vote(Corpus.from_frame(frame, text="text")).voted[:, 0]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Field("stars", equal=3), [False, True, False, False]),
        (Field("kind", equal="pro"), [True, False, False, False]),
        (Field("kind", equal=5), [False, False, False, True]),
        (Field("paid", equal=True), [True, False, True, False]),
        (Field("kind", among=["pro", "user"]), [True, True, False, False]),
        (Field("stars", among=[1, 5]), [True, False, True, False]),
        (Field("stars", low=3), [True, True, False, False]),
        (Field("stars", low=1, high=3), [False, True, True, False]),
    ],
)
def test_tests_on_columns(condition: Field, expected: list[bool]) -> None:
    assert fired(condition) == expected


def test_a_wrong_column_is_named_with_a_suggestion() -> None:
    with pytest.raises(RuleError, match=r"source 'f', rule 1: .*'star'.*did you mean 'stars'"):
        fired(Field("star", equal=1))


def test_a_range_of_words_is_an_error_and_not_a_silence() -> None:
    with pytest.raises(RuleError, match=r"source 'f', rule 1: "):
        fired(Field("kind", low=1))


def test_one_test_only() -> None:
    with pytest.raises(RuleError, match="needs one test"):
        Field("stars")
    with pytest.raises(RuleError, match="needs one test"):
        Field("stars", equal=1, low=0)
    with pytest.raises(RuleError, match="no number"):
        Field("stars", low=2, high=1)
    with pytest.raises(RuleError, match="empty"):
        Field("stars", among=[])


def test_last_names() -> None:
    pairs = pl.DataFrame(
        {
            "text": ["Ann Lee met Bo Lee", "Ann Lee met Bo Orr", "Lee met Lee"],
            "entity1": ["Ann Lee", "Ann Lee", "Lee"],
            "entity2": ["Bo Lee", "Bo Orr", "Lee"],
        }
    )
    assert fired(SameLastName(), pairs) == [True, False, False]
    with pytest.raises(RuleError, match="no column 'entity1'"):
        fired(SameLastName())
