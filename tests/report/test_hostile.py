"""Hostile names, texts, ids and labels: no element, attribute, link or script that is not ours."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.written import Written, answers_for, readable, words

from unruly.findings import (
    BalanceOrigin,
    ClassBalance,
    ClassesWithoutVotes,
    EncoderFallback,
    WeakSource,
)
from unruly.report.page import page
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.statistics import Share
from unruly.votes.votes import Votes

ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></svg></table></section><iframe src=//evil>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<!-- --><base href=//evil>",
    "<![CDATA[<b>]]>",
    "&lt;b&gt; &#60;b&#62;",
    "{{7*7}} ${7*7} a$_$b $\\frac",
    "\x00\x07\x1b[2J\u202e\u2028\ud800",
    "</textarea><form action=//evil><input name=x>",
)


class Shape(HTMLParser):
    """Every element with the names of its attributes, and every link."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[tuple[str, tuple[str, ...]]] = set()
        self.values: set[str] = set()
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shapes.add((tag, tuple(sorted(name for name, _ in attrs))))
        self.values |= {
            str(v) for n, v in attrs if n in ("href", "src", "style", "action", "class")
        }

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def shape(text: str) -> Shape:
    found = Shape()
    found.feed(text)
    return found


def hostile(attack: str) -> Written:
    """A model that has everything, with the attack wherever the user has a word."""
    n, names = 120, [f"{attack}{j}" for j in range(3)]
    classes = [f"{attack} a", f"{attack} b"]
    gold = np.arange(n) % 2
    rng = np.random.default_rng(0)
    matrix = np.where(
        rng.random((n, 3)) < 0.6,
        np.where(rng.random((n, 3)) < 0.6, gold[:, None], 1 - gold[:, None]),
        -1,
    )
    ids = [f"{attack} {i}" for i in range(n)]
    word = "".join(c for c in attack if not c.isspace())[:40] or "x"
    return Written(
        Votes.from_array(matrix, classes=classes, sources=names, ids=ids),
        answers_for(rng.integers(0, 2, n).tolist(), 2, sure=0.7),
        gold,
        accuracy=[(0.2, 0.1, 0.3), (0.6, 0.5, 0.7), (0.9, 0.8, 1.0)],
        balance=ClassBalance(tuple(classes), (0.5, 0.5), BalanceOrigin.ASSUMED, depends=0.2),
        notes=(
            ClassesWithoutVotes((attack,)),
            WeakSource(attack, 30, Share(0.1, 0.0, 0.2, 30), chance=0.5),
            EncoderFallback(attack, attack, attack),
        ),
        texts=[f"{text} {attack}" for text in words(n)],
        rules=Sources(classes, [Source(names[0], [Rule(classes[0], Keywords((word, "the")))])]),
    )


@pytest.fixture(scope="module")
def harmless() -> dict[bool, Shape]:
    """The page without an attack, with gold and without."""
    return {gold: shape(page(hostile("plain").facts(gold))) for gold in (True, False)}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("gold", [True, False])
def test_nothing_of_the_users_becomes_markup(
    attack: str, gold: bool, harmless: dict[bool, Shape]
) -> None:
    facts = replace(hostile(attack.replace("\ud800", "")).facts(gold), model=attack)
    text = page(facts)
    found = shape(text)
    assert found.shapes <= harmless[gold].shapes
    assert found.values <= harmless[gold].values
    assert not found.comments
    text.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


def test_what_can_be_shown_is_shown_as_it_is() -> None:
    attack = '<script>alert("1")</script>'
    text = page(hostile(attack).facts())
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;") > 50
    assert attack in readable(text)


@settings(deadline=None, max_examples=10)
@given(st.text(min_size=1, max_size=20))
def test_any_name_gives_a_page_of_the_same_shape(name: str) -> None:
    text = page(hostile(name).facts())
    assert shape(text).shapes <= shape(page(hostile("plain").facts())).shapes
