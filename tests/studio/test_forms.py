"""Forms and TOML say the same, and the layout of the text survives."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.studio.form_kinds import KINDS, words_in
from unruly.studio.forms import RuleForm, new_source

WORDS = st.lists(
    st.text("abc dé'#\"", min_size=1, max_size=8).map(str.strip).filter(bool),
    min_size=1,
    max_size=4,
).map(lambda words: list(dict.fromkeys(words)))


@given(words=WORDS, examples=WORDS, inside=st.booleans())
def test_a_form_becomes_toml_and_a_form_again(
    words: list[str], examples: list[str], inside: bool
) -> None:
    values = {"keywords": ", ".join(words), "match": "on" if inside else ""}
    form = RuleForm("a", "keywords", "spam", values, examples="\n".join(examples))
    text = form.to_toml()
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule["keywords"] == words
    assert rule["examples"] == examples
    assert rule.get("match") == ("substring" if inside else None)
    again = RuleForm.of_toml(text)
    assert again is not None
    assert words_in(again.values["keywords"]) == words
    assert again.to_toml(text) == text


TEXT = """# mine
[[source]]
name = "money"  # the root of all
rule = [
  # words
  { label = "spam", keywords = ["cash", "money"], examples = ["cash!"] },
]
"""


def sent(form: RuleForm) -> dict[str, str]:
    """What a browser sends."""
    own = {k: v for k, v in vars(form).items() if isinstance(v, str)}
    return {**own, **{f"{form.kind}:{key}": value for key, value in form.values.items() if value}}


def test_the_layout_is_kept() -> None:
    form = RuleForm.of_toml(TEXT)
    assert form is not None
    edited = RuleForm.of_fields(
        {**sent(form), "name": "gold", "keywords:keywords": "cash, money, coins"}
    ).to_toml(TEXT)
    assert "# the root of all" in edited
    assert "# words" in edited
    assert edited == TEXT.replace('"money"]', '"money", "coins"]').replace('= "money"', '= "gold"')


def test_another_kind_takes_the_place_of_the_first() -> None:
    text = RuleForm("a", "pattern", "spam", {"pattern": r"\bcash\b", "ignore_case": "on"}).to_toml(
        TEXT
    )
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule == {"label": "spam", "pattern": r"\bcash\b", "ignore_case": True}
    sequence = {"first": "my", "then": "channel", "within_words": "2"}
    text = RuleForm("a", "sequence", "spam", sequence).to_toml(text)
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule["sequence"] == {"first": ["my"], "then": ["channel"], "within_words": 2}


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        '[[source]]\nname = "a"\nrule = [{ label = "x", not = { keywords = ["b"] } }]',
        '[[source]]\nname = "a"\nrule = [{ not_label = "x", keywords = ["b"] }]',
        '[[source]]\nname = "a"\nrule = [{ label = ["x", "y"], keywords = ["b"] }]',
        '[[source]]\nname = "a"\nrule = [{ label = "x", keywords = ["well, well"] }]',
        '[[source]]\nname = "a"\nrule = [{ label = "x", keywords = ["a"] }, { label = "y", keywords = ["b"] }]',
    ],
)
def test_what_is_more_than_a_form_has_none(text: str) -> None:
    assert RuleForm.of_toml(text) is None


def test_a_source_from_marked_words() -> None:
    text = new_source(["my channel"], "spam", ["my_channel"])
    assert 'name = "my_channel 2"' in text
    assert '"my channel"' in text


RULES = [
    'keywords = ["cash", "money"], match = "substring"',
    'keywords = ["well, well", "cash"]',
    'keywords_file = "words.txt"',
    'pattern = "a(?=b)", engine = "python", seconds = 2.0',
    'sequence = { first = ["my"], then = ["channel"], negators = ["not"], negated = "flip", negators_within = 5 }',
    "length = { min_words = 2, max_chars = 90 }",
    'field = { column = "stars", min = 4, max = 4.5 }',
    'field = { column = "stars", in = [1, 2.5, true, "many"] }',
    'lookup = { file = "pairs.csv", columns = ["entity1", "entity2"], either_order = true }',
    'similar = { to = ["buy now, now", "win money"], above = 0.4 }',
    "similar = { ids = [3, 4], calibrated = 0.05 }",
    "vader = { above = 0.5 }",
    "polarity = { above = -0.5, below = 0.5 }",
    'entity = { type = "PERSON", model = "en_core_web_sm" }',
]
PICKING = [
    'column = { name = "vendor", map = { 1 = "spam", none = "ham" }, others = "abstain" }',
    'classifier = { model = "old.skops", above = 0.6, trusted = ["sklearn.x"] }',
    'prompt = { endpoint = "http://127.0.0.1:1/v1", model = "m", ask = "Spam? {text}", answers = { spam = ["yes", "junk"], ham = "no" }, budget = { calls = 9, minutes = 2 }, seed = 3 }',
]


@pytest.mark.parametrize("rule", [*(f'label = "spam", {rule}' for rule in RULES), *PICKING])
def test_every_kind_has_a_form_that_says_the_same(rule: str) -> None:
    text = f'# mine\n[[source]]\nname = "a"  # name\nrule = [{{ {rule} }}]\n'
    form = RuleForm.of_toml(text)
    assert form is not None
    again = RuleForm.of_fields(sent(form))
    assert again == form
    assert tomllib.loads(again.to_toml(text)) == tomllib.loads(text)
    assert "# name" in again.to_toml(text)


def test_a_prompt_beside_the_name_has_a_form_too() -> None:
    text = '[[source]]\nname = "llm"\nprompt = { endpoint = "http://127.0.0.1:1", model = "m", ask = "{text}?" }\n'
    form = RuleForm.of_toml(text)
    assert form is not None
    assert form.kind == "prompt"
    (source,) = tomllib.loads(form.to_toml(text))["source"]
    assert source["rule"] == [{"prompt": tomllib.loads(text)["source"][0]["prompt"]}]


def test_a_number_that_is_none_is_left_to_the_rule_to_complain_about() -> None:
    text = RuleForm("a", "length", "spam", {"max_words": "three"}).to_toml()
    assert tomllib.loads(text)["source"][0]["rule"][0]["length"] == {"max_words": "three"}


def test_kinds_are_those_of_project_files() -> None:
    from unruly.rules.plain import _KINDS

    assert set(_KINDS) - set(KINDS) == {"function"}, "Python is not edited in a browser"
