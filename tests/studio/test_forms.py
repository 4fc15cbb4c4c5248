"""Forms and TOML say the same, and the layout of the text survives."""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError, UnrulyError, Where
from unruly.rules.condition import Place
from unruly.rules.source import condition_from_plain
from unruly.studio.forms import (
    ConditionForm,
    NoFormError,
    RuleForm,
    SourceForm,
    changed,
    new_source,
)
from unruly.studio.kinds import KINDS, Kind, words_in

WORDS = st.lists(
    st.text("abc dé'#,\"", min_size=1, max_size=8).map(str.strip).filter(bool),
    min_size=1,
    max_size=4,
).map(lambda words: list(dict.fromkeys(words)))


def single(kind: str, values: dict[str, str], label: str = "spam", **texts: str) -> SourceForm:
    """A source with one rule of one condition."""
    named = {f"{kind}:{key}": value for key, value in values.items() if value}
    return SourceForm(
        "a", (RuleForm("one", label, (), (ConditionForm(kind, named),), "", **texts),)
    )


@given(words=WORDS, examples=WORDS, inside=st.booleans())
def test_a_form_becomes_toml_and_a_form_again(
    words: list[str], examples: list[str], inside: bool
) -> None:
    listed = KINDS["keywords"].fields[0]
    values = {"keywords": listed.shown(words), "match": "on" if inside else ""}
    form = single("keywords", values, examples="\n".join(examples))
    text = form.to_toml()
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule["keywords"] == words
    assert rule["examples"] == examples
    assert rule.get("match") == ("substring" if inside else None)
    again = SourceForm.of_toml(text)
    assert words_in(again.rules[0].conditions[0].values["keywords:keywords"]) == words
    assert again.to_toml(text) == text


TEXT = """# mine
[[source]]
name = "money"  # the root of all
rule = [
  # words
  { label = "spam", keywords = ["cash", "money"], examples = ["cash!"] },
]
"""


def sent(form: SourceForm) -> dict[str, str]:
    """What a browser sends."""
    fields = {"name": form.name}
    for i, rule in enumerate(form.rules):
        votes = f"={rule.label}" if rule.votes == "one" else rule.votes
        fields |= {f"r{i}.votes": votes, f"r{i}.examples": rule.examples}
        fields[f"r{i}.counter_examples"] = rule.counter_examples
        fields |= {f"r{i}.several:{c}": name for c, name in enumerate(rule.labels)}
        fields |= {f"r{i}.but": rule.label} if rule.votes == "but" else {}
        fields |= {f"r{i}.joint": rule.joint} if rule.joint else {}
        for j, condition in enumerate(rule.conditions):
            at = f"r{i}.c{j}."
            fields[f"{at}kind"] = condition.kind
            fields |= {f"{at}not": "on"} if condition.negated else {}
            fields |= {f"{at}{name}": value for name, value in condition.values.items()}
    return fields


def test_the_layout_is_kept() -> None:
    form = SourceForm.of_toml(TEXT)
    edited = SourceForm.of_fields(
        {**sent(form), "name": "gold", "r0.c0.keywords:keywords": "cash, money, coins"}
    ).to_toml(TEXT)
    assert "# the root of all" in edited
    assert "# words" in edited
    assert edited == TEXT.replace('"money"]', '"money", "coins"]').replace('= "money"', '= "gold"')


def test_another_kind_takes_the_place_of_the_first() -> None:
    text = single("pattern", {"pattern": r"\bcash\b", "ignore_case": "on"}).to_toml(TEXT)
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule == {"label": "spam", "pattern": r"\bcash\b", "ignore_case": True}
    sequence = {"first": "my", "then": "channel", "within_words": "2"}
    text = single("sequence", sequence).to_toml(text)
    (rule,) = tomllib.loads(text)["source"][0]["rule"]
    assert rule["sequence"] == {"first": ["my"], "then": ["channel"], "within_words": 2}


def test_what_was_typed_for_another_kind_waits_there() -> None:
    fields = {"name": "a", "r0.votes": "=spam", "r0.c0.kind": "length"}
    fields |= {"r0.c0.keywords:keywords": "cash", "r0.c0.length:max_words": "3"}
    form = SourceForm.of_fields(fields)
    (rule,) = tomllib.loads(form.to_toml())["source"][0]["rule"]
    assert rule == {"label": "spam", "length": {"max_words": 3}}
    assert form.rules[0].conditions[0].values["keywords:keywords"] == "cash"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "not valid TOML"),
        (
            '[[source]]\nname = "a"\nrule = [{ label = "x", not = { not = { keywords = ["b"] } } }]',
            "conditions within conditions",
        ),
        (
            '[[source]]\nname = "a"\nrule = [{ label = "x", all = [{ any = [{ keywords = ["b"] }] }] }]',
            "conditions within conditions",
        ),
        (
            '[[source]]\nname = "a"\nrule = [{ label = "x", not = { all = [{ keywords = ["b"] }] } }]',
            "conditions within conditions",
        ),
        (
            '[[source]]\nname = "a"\nrule = [{ function = { file = "f.py", name = "f" } }]',
            "Python functions",
        ),
        (
            '[[source]]\nname = "a"\nrule = [{ label = "x", keywords = ["well\\nwell"] }]',
            "what stands in Words or phrases",
        ),
        (
            '[[source]]\nname = "a"\nrule = [{ label = "x", keywords = ["a"], seconds = 3 }]',
            "the option seconds",
        ),
    ],
)
def test_what_is_more_than_a_form_has_none(text: str, why: str) -> None:
    with pytest.raises(NoFormError, match=why):
        SourceForm.of_toml(text)


def test_a_source_from_marked_words() -> None:
    text = new_source(["my channel"], "spam", ["my_channel"])
    assert 'name = "my_channel 2"' in text
    assert '"my channel"' in text


def test_a_form_without_a_name_is_called_after_its_words() -> None:
    form = SourceForm.of_toml(new_source(["short loan", "renew"], "x", []))
    blank = replace(form, name=" ")
    assert blank.named([]).name == "short_loan"
    assert blank.named(["short_loan"]).name == "short_loan 2"
    assert form.named(["short_loan"]) is form, "a name that was given stays"
    length = SourceForm.of_toml(
        '[[source]]\nname = "a"\nrule = [{ label = "x", length = { max_words = 3 } }]'
    )
    assert replace(length, name="").named([]).name == "length"
    words = replace(SourceForm.of_toml(new_source([], "x", [])), name="")
    assert words.named([]).name == "keywords"


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
    form = SourceForm.of_toml(text)
    again = SourceForm.of_fields(sent(form))
    assert again == form
    assert tomllib.loads(again.to_toml(text)) == tomllib.loads(text)
    assert "# name" in again.to_toml(text)


SEVERAL = """[[source]]
name = "a"  # name
[[source.rule]]  # the first
label = ["billing", "bug"]
keywords = ["refund"]
examples = ["a refund"]
[[source.rule]]
not_label = "praise"  # whatever it is
all = [
  { keywords = ["broken"] },  # one
  { not = { length = { max_words = 3 } } },  # two
]
[[source.rule]]
label = "praise"
any = [{ pattern = "great!+" }, { sequence = { first = ["so"], then = ["good"], negators_within = 5 } }]
[[source.rule]]
label = "bug"
not = { keywords = ["thanks"] }
"""
CLASSES = ("praise", "billing", "bug")


def test_several_rules_partial_votes_and_combined_conditions() -> None:
    form = SourceForm.of_toml(SEVERAL)
    assert [rule.votes for rule in form.rules] == ["several", "but", "one", "one"]
    assert [rule.joint for rule in form.rules] == ["", "all", "any", ""]
    assert form.rules[0].labels == ("billing", "bug")
    assert form.rules[1].conditions[1].negated
    again = SourceForm.of_fields(sent(form))
    assert again == form
    assert again.to_toml(SEVERAL) == SEVERAL
    fields = {**sent(form), "r1.c1.length:max_words": "5", "r2.c1.sequence:then": "good, nice"}
    edited = SourceForm.of_fields(fields).to_toml(SEVERAL)
    assert edited == SEVERAL.replace("max_words = 3", "max_words = 5").replace(
        '"good"]', '"good", "nice"]'
    ), "comments, layout and keys without a field stay"


def test_rules_and_conditions_are_added_removed_and_moved() -> None:
    form, text = SourceForm.of_toml(SEVERAL), SEVERAL
    step = changed(form, text, "r1.up", CLASSES)
    assert step.toml.index("the first") > step.toml.index("whatever it is")
    assert SourceForm.of_toml(step.toml) == step.form
    assert step.focus == "r0.up"
    step = changed(step.form, step.toml, "r0.down", CLASSES)
    assert tomllib.loads(step.toml) == tomllib.loads(SEVERAL)
    step = changed(step.form, step.toml, "add", CLASSES)
    assert (len(step.form.rules), step.focus) == (5, "r4.votes")
    step = changed(step.form, step.toml, "r4.remove", CLASSES)
    assert tomllib.loads(step.toml) == tomllib.loads(SEVERAL)
    step = changed(step.form, step.toml, "r0.add", CLASSES)
    assert step.form.rules[0].joint == "all"
    assert len(step.form.rules[0].conditions) == 2
    step = changed(step.form, step.toml, "r0.c1.remove", CLASSES)
    assert step.form.rules[0].joint == ""
    assert tomllib.loads(step.toml) == tomllib.loads(SEVERAL)
    for act in ("explode", "r9.up", "r0.c7.remove", "r0.explode", "r0.c0.remove", ".", "rx.up"):
        with pytest.raises(InputError):
            changed(form, text, act, CLASSES)


def test_problems_are_said_in_the_words_of_the_form() -> None:
    def said(form: SourceForm) -> tuple[str, str, bool]:
        problem = form.problem()
        assert problem is not None
        return problem.message, problem.field, problem.missing

    first = "r0.c0.sequence:first"
    assert said(single("sequence", {})) == ("First one of these words: still empty", first, True)
    then = "r0.c0.sequence:then"
    half = single("sequence", {"first": "my"})
    assert said(half) == ("Then one of these: still empty", then, True)
    length = "r0.c0.length:max_words"
    odd = single("length", {"max_words": "four"})
    assert said(odd) == ("At most so many words: 'four' is not a whole number", length, False)
    message, _, missing = said(single("length", {}))
    assert missing
    assert message.startswith("Fill in one of “At least so many words”, ")
    assert said(SourceForm(" ", single("keywords", {}).rules))[1] == "name"
    good = single("keywords", {"keywords": "cash"})
    assert good.problem() is None
    several = SourceForm(
        "a", (*good.rules, RuleForm("several", "", ("ham",), good.rules[0].conditions))
    )
    assert said(several) == ("Rule 2: Votes for: tick two classes or more", "r1.votes", True)
    pairs = single("column", {"name": "vendor", "map": "1 spam"})
    assert said(pairs)[0] == "What its values mean: '1 spam' has no equals sign"


def test_a_complaint_of_the_library_is_put_to_its_field() -> None:
    form = SourceForm.of_toml(SEVERAL)

    def at(*keys: str | int) -> tuple[str, str]:
        problem = form.problem_at("no", keys)
        return problem.message, problem.field

    assert at("rule", 0, "label", 1) == ("Rule 1: Votes for: no", "r0.votes")
    assert at("rule", 0, "keywords", 0) == (
        "Rule 1: Words or phrases: no",
        "r0.c0.keywords:keywords",
    )
    assert at("rule", 1, "all", 1, "not", "length", "max_words") == (
        "Rule 2: At most so many words: no",
        "r1.c1.length:max_words",
    )
    assert at("rule", 0, "examples", 0) == ("Rule 1: no", "r0.examples")
    assert at("rule", 2, "any", 0) == ("Rule 3: no", "r2.c0.pattern:pattern")
    assert at("name") == ("no", "name")


def test_a_prompt_beside_the_name_has_a_form_too() -> None:
    text = '[[source]]\nname = "llm"\nprompt = { endpoint = "http://127.0.0.1:1", model = "m", ask = "{text}?" }\n'
    form = SourceForm.of_toml(text)
    assert form.rules[0].conditions[0].kind == "prompt"
    (source,) = tomllib.loads(form.to_toml(text))["source"]
    assert source["rule"] == [{"prompt": tomllib.loads(text)["source"][0]["prompt"]}]


def test_a_number_that_is_none_is_kept_in_the_draft() -> None:
    text = single("length", {"max_words": "three"}).to_toml()
    assert tomllib.loads(text)["source"][0]["rule"][0]["length"] == {"max_words": "three"}


def test_kinds_are_those_of_project_files() -> None:
    from unruly.rules.source import _KINDS

    assert set(_KINDS) - set(KINDS) == {"function"}, "Python is not edited in a browser"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_a_form_has_or_keeps_every_key_of_a_kind(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Place(lambda keys: Where(), ("a", "b"), Path())
    allowed: set[str] = set()
    monkeypatch.setattr(
        Place, "only", lambda here, table, known, what, synonyms=None: allowed.update(known)
    )
    tables: list[dict[str, object]] = [{}, {"probabilities": {}}]  # which columns take other keys
    for inner in tables if kind.inner else ["a"]:
        with contextlib.suppress(UnrulyError):
            condition_from_plain({kind.key: inner}, here)
    beside = {kind.key} if kind.inner else set()
    keys = allowed - beside - {"label", "not_label", "examples", "counter_examples"}
    assert {each.key.partition(".")[0] for each in kind.fields} | set(kind.kept) == keys


@pytest.mark.parametrize(
    "rule",
    [
        'label = "a", similar = { to = ["x"], calibrated = 0.1 }',
        'label = "a", similar = { to = ["x"], calibrated = true }',
        'label = "a", field = { part = "left1", words = 3, keywords = ["x"] }',
        'label = "a", field = { same_last_name = true }',
        'column = { probabilities = { a = "p_a", b = "p_b" }, above = 0.5 }',
        'prompt = { endpoint = "http://x", model = "m", ask = "{text}?", extra = { top_p = 1 } }',
    ],
)
def test_a_form_shows_what_a_kind_can_say(rule: str) -> None:
    text = f'[[source]]\nname = "s"\nrule = [{{ {rule} }}]\n'
    form = SourceForm.of_toml(text)
    assert (form.problem(), tomllib.loads(form.to_toml(text))) == (None, tomllib.loads(text))
