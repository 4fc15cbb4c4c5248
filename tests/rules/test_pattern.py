from __future__ import annotations

import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.rules.condition import TEXT
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus


def vote(rule: Pattern, texts: list[str]) -> list[int]:
    sources = Sources(["no", "yes"], [Source("p", [Rule("yes", rule)])])
    return [int(v) for v in sources.vote(Corpus.from_texts(texts)).matrix[:, 0]]


def test_case_counts_unless_told() -> None:
    assert vote(Pattern("Check"), ["Check", "check"]) == [1, -1]
    assert vote(Pattern("Check", ignore_case=True), ["Check", "check"]) == [1, 1]


@pytest.mark.parametrize(
    ("pattern", "position"), [("(a", 1), ("abc[", 4), ("a**b)", 5), (r"x\q", 2)]
)
def test_an_invalid_pattern_names_the_position(pattern: str, position: int) -> None:
    with pytest.raises(RuleError, match=rf"not a regular expression: .*at character {position}"):
        Pattern(pattern)


def test_an_invalid_python_pattern_names_the_position() -> None:
    with pytest.raises(RuleError, match=r"not a regular expression: missing \), at character 4"):
        Pattern("a(b", engine="python")


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1"])
def test_look_around_and_back_references_need_the_other_engine(pattern: str) -> None:
    with pytest.raises(RuleError, match='add engine = "python"'):
        Pattern(pattern)
    Pattern(pattern, engine="python")


def test_the_python_engine_looks_around() -> None:
    rule = Pattern(r"(?<!un)subscribe", engine="python")
    assert vote(rule, ["subscribe", "unsubscribe"]) == [1, -1]
    assert rule.spans({TEXT: "é subscribe"}) == ((2, 11),)


def test_backtracking_is_stopped_by_the_clock() -> None:
    rule = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.01)  # a second and more without it
    with pytest.warns(UserWarning, match="gave up on 1 document"):
        assert vote(rule, ["aac", "a" * 30]) == [1, -1]


def test_the_linear_engine_is_not_hurt_by_a_bomb() -> None:
    assert vote(Pattern("^(a+)+$"), ["a" * 50_000 + "b"]) == [-1]


def test_too_large_a_pattern() -> None:
    with pytest.raises(RuleError, match="too large"):
        Pattern("a{1000}{1000}")


def test_spans_of_every_match() -> None:
    assert Pattern(r"\d+").spans({TEXT: "é1 22"}) == ((1, 2), (3, 5))


def test_an_unknown_engine() -> None:
    with pytest.raises(RuleError, match="engine must be"):
        Pattern("a", engine="fast")  # type: ignore[arg-type]


def test_mask_is_one_expression() -> None:
    assert pl.DataFrame({TEXT: ["a", "b"]}).select(Pattern("a").mask()).to_series().to_list() == [
        True,
        False,
    ]
