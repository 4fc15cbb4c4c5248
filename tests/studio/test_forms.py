"""Forms and TOML say the same, and the layout of the text survives."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.studio.forms import RuleForm, new_source, words_in

WORDS = st.lists(
    st.text("abc dé'#\"", min_size=1, max_size=8).map(str.strip).filter(bool),
    min_size=1,
    max_size=4,
).map(lambda words: list(dict.fromkeys(words)))


@given(words=WORDS, examples=WORDS, inside=st.booleans())
def test_a_form_becomes_toml_and_a_form_again(
    words: list[str], examples: list[str], inside: bool
) -> None:
    lines = ("\n".join([*words, ""]), "\n".join(examples))
    form = RuleForm("a", "keywords", "spam", lines[0], inside, examples=lines[1])
    text = form.to_toml()
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule["keywords"] == words
    assert rule["examples"] == examples
    assert rule.get("match") == ("substring" if inside else None)
    again = RuleForm.of_toml(text)
    assert again is not None
    assert words_in(again.keywords) == words
    assert again.to_toml(text) == text


TEXT = """# mine
[[source]]
name = "money"  # the root of all
rule = [
  # words
  { label = "spam", keywords = ["cash", "money"], examples = ["cash!"] },
]
"""


def test_the_layout_is_kept() -> None:
    form = RuleForm.of_toml(TEXT)
    assert form is not None
    fields = {**{k: v for k, v in vars(form).items() if isinstance(v, str)}, "name": "gold"}
    edited = RuleForm.of_fields({**fields, "keywords": "cash, money, coins"}).to_toml(TEXT)
    assert "# the root of all" in edited
    assert "# words" in edited
    assert edited == TEXT.replace('"money"]', '"money", "coins"]').replace('= "money"', '= "gold"')


def test_another_kind_takes_the_place_of_the_first() -> None:
    text = RuleForm("a", "pattern", "spam", pattern=r"\bcash\b", ignore_case=True).to_toml(TEXT)
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule == {"label": "spam", "pattern": r"\bcash\b", "ignore_case": True}
    text = RuleForm("a", "sequence", "spam", first="my", then="channel", within_words="2").to_toml(
        text
    )
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule["sequence"] == {"first": ["my"], "then": ["channel"], "within_words": 2}


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '[[source]]\nname = "a"\nrule = [{ label = "x", length = { max_words = 3 } }]',
        '[[source]]\nname = "a"\nrule = [{ label = "x", keywords = ["a"] }, { label = "y", keywords = ["b"] }]',
    ],
)
def test_what_is_more_than_a_form_has_none(text: str) -> None:
    assert RuleForm.of_toml(text) is None


def test_a_source_from_marked_words() -> None:
    text = new_source(["my channel"], "spam", ["my_channel"])
    assert 'name = "my_channel 2"' in text
    assert '"my channel"' in text
