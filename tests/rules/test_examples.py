from __future__ import annotations

import pytest

from unruly.errors import RuleError
from unruly.rules.field import Field
from unruly.rules.keywords import Keywords
from unruly.rules.rule import Rule
from unruly.rules.sequence import Sequence
from unruly.rules.source import Source
from unruly.rules.sources import Sources

CLASSES = ["ham", "spam"]


def check(*rules: Rule) -> list[str]:
    return [str(f) for f in Sources(CLASSES, [Source("s", rules)]).check_examples()]


def test_examples_that_hold() -> None:
    rule = Rule("spam", Keywords(["subscribe"]), ["please SUBSCRIBE"], ["unsubscribed long ago"])
    assert check(rule) == []


def test_examples_that_do_not() -> None:
    rule = Rule("spam", Keywords(["subscribe"]), ["nice"], ["subscribe now", "fine"])
    assert check(rule) == [
        "source 's', rule 1 does not match its example 'nice'",
        "source 's', rule 1 matches its counter-example 'subscribe now'",
    ]


def test_a_rule_is_tested_alone_whatever_comes_before_it() -> None:
    first, second = Rule("ham", Keywords(["a"])), Rule("spam", Keywords(["a"]), ["a"])
    assert check(first, second) == []


def test_a_flipped_vote_is_no_match() -> None:
    rule = Sequence(["recommend"], ["it"], negators=["not"], negated="flip")
    assert check(Rule("ham", rule, ["I recommend it"], ["do not recommend it"])) == []


def test_examples_have_no_other_columns() -> None:
    with pytest.raises(RuleError, match=r"rule 1 reads the column 'stars'.*drop the examples"):
        check(Rule("ham", Field("stars", equal=1), ["x"]))
