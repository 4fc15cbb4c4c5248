"""Rules that a language model proposes: asked for, checked, tested on the corpus, offered; by a server that misbehaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Unruly
from tests.prompts.stand_in import StandIn

from unruly.errors import InputError, RuleError
from unruly.project.project import Project
from unruly.project.proposals import (
    LanguageModel,
    LlmSuggester,
    Proposed,
    RuleRequest,
    condition_of,
    contested,
    language_model,
)
from unruly.project.suggestions import Suggestions, read_refused
from unruly.prompts.answers import Completion
from unruly.prompts.asking import RetryPolicy, Stop
from unruly.rules import Keywords, Pattern
from unruly.rules.prompt import AGREED, urgency
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

HASTY = RetryPolicy(attempts=2, first_pause=0.01, failures=2)
TOML = """\
# a comment that stays
encoder = "lsa"
[task]
classes = ["ham", "spam"]
[task.describe]
ham = "about the lovely song and the voice"
spam = "wants you to subscribe or buy cheap things"
[data]
train = "texts.csv"
[[source]]
name = "praise"
rule = [{{ label = "ham", keywords = ["lovely"] }}]
[[source]]
name = "advert"
rule = [{{ label = "spam", keywords = ["subscribe"] }}]
[[source]]
name = "llm"
prompt = {{ endpoint = "{url}", model = "mistral", ask = "Spam? {{text}}", answers = {{ spam = ["yes"], ham = ["no"] }}{more} }}
"""
GOOD = {
    "ham": json.dumps({"keywords": ["Chorus", "lovely"], "patterns": [r"\bvoice\b"]}),
    "spam": json.dumps({"keywords": ["cheap", "xyzzy"], "patterns": [r"win+er"]}),
}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn(rules=dict(GOOD)) as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: StandIn) -> Path:
    """300 texts whose classes have three words each; rules know one."""
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))
    rng = np.random.default_rng(0)
    filler = [a + b for a in "bcdfgh" for b in ("ano", "elu", "iri")]
    words = (("lovely", "voice", "chorus"), ("subscribe", "cheap", "winner"))
    lines = ["text"]
    for i in range(300):
        parts = [*rng.choice(filler, 5), *rng.choice(words[i % 2], 2, replace=False)]
        lines.append(" ".join(parts))
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")
    return write(folder, server.url)


def write(folder: Path, url: str, more: str = "") -> Path:
    (folder / "unruly.toml").write_text(TOML.format(url=url, more=more))
    return folder


def suggested(folder: Path, llm: LanguageModel | None = None) -> Suggestions:
    project = Project.read(folder)
    return LlmSuggester.of(project, llm or language_model(project)).suggest(retries=HASTY)


def test_rules_are_asked_for_tested_and_offered(server: StandIn, folder: Path) -> None:
    found = suggested(folder)
    assert {(one.label, one.condition) for one in found.suggestions} == {
        ("ham", "keywords: chorus"),
        ("ham", r"pattern: \bvoice\b"),
        ("spam", "keywords: cheap"),
        ("spam", "pattern: win+er"),
    }  # "lovely" is there already, and no text holds "xyzzy"
    assert all(one.documents > 50 and one.accuracy.value > 0.8 for one in found.suggestions)
    assert found.proposals is not None
    assert len(found.proposals.rules) == 6
    assert not found.proposals.rejected
    asked = next(text for text in server.texts if 'of the class "ham"' in text)
    assert "- spam: wants you to subscribe or buy cheap things" in asked
    assert "Words that are known already: lovely" in asked
    assert len([line for line in asked.splitlines() if line[:1].isdigit()]) == 24
    schema = server.bodies[0]["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["keywords", "patterns"]
    assert server.bodies[0]["temperature"] == 0


def test_a_second_run_sends_nothing(server: StandIn, folder: Path) -> None:
    first = suggested(folder)
    assert server.requests == 2
    again = suggested(folder)
    assert server.requests == 2
    assert [one.rule for one in again.suggestions] == [one.rule for one in first.suggestions]
    assert again.proposals is not None
    assert again.proposals.asked.cached == 2


def test_plan_sends_nothing_and_the_budget_of_the_source_holds(
    server: StandIn, folder: Path
) -> None:
    write(folder, server.url, ", budget = { calls = 1 }")
    project = Project.read(folder)
    suggester = LlmSuggester.of(project, language_model(project))
    plan = suggester.plan()
    assert (plan.calls, plan.left_out, plan.cached, plan.texts, plan.leaves) == (1, 1, 0, 24, "")
    assert plan.cost.tokens > 200
    assert server.requests == 0
    found = suggester.suggest(retries=HASTY)
    assert found.proposals is not None
    assert (server.requests, found.proposals.asked.stopped) == (1, Stop.BUDGET)
    assert {one.label for one in found.suggestions} == {"ham"}  # what was answered is used
    (plan_of_source,) = project.sources.plan(project.corpus())
    assert plan_of_source.calls == 0  # one purse for both


def test_texts_that_leave_the_machine_are_said(folder: Path, unruly: Unruly) -> None:
    away = ("--endpoint", "https://api.example.com/v1", "--llm-model", "gpt")
    done = unruly("suggest", folder, "--llm", "--plan", *away, "--calls", "5")
    assert done.code == 0, done.err
    assert "the texts of 24 documents leave this machine for api.example.com" in done.out
    refused = unruly("suggest", folder, "--llm", "--plan", *away)
    assert refused.code == 2
    assert "is not this machine: give a budget" in refused.err


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"keywords": ["", " ", 7, None, ["x"], {"a": 1}]}, "blank, or no text"),
        ({"keywords": ["x" * 81]}, "longer than 80 characters"),
        ({"keywords": ["cheap\u001b[31m"]}, "control characters"),
        ({"keywords": ["cheap\u202e"]}, "control characters"),
        ({"patterns": ["(a{1,500}){1,50}b"]}, "at most 100 are allowed"),
        ({"patterns": ["(?:ab){60}", "x{1,101}"]}, "at most 100 are allowed"),
        ({"patterns": ["(unclosed"]}, "is not a regular expression"),
        ({"patterns": ["(?=cheap)"]}, "what the linear engine does not know"),
        ({"patterns": [".*", "x*", "", "(a|)"]}, "matches every text|blank"),
        ({"patterns": ["y" * 201]}, "longer than 200 characters"),
    ],
)
def test_what_cannot_be_a_rule_is_turned_away_with_the_reason(
    server: StandIn, folder: Path, said: dict[str, list[object]], why: str
) -> None:
    server.rules["spam"] = json.dumps(said)
    found = suggested(folder)
    assert found.proposals is not None
    away = found.proposals.rejected
    assert len(away) == len(next(iter(said.values())))
    for one in away:
        with pytest.raises(RuleError, match=why):
            raise RuleError(one.why)
        assert one.text.isprintable()
    assert {one.label for one in found.suggestions} == {"ham"}


@pytest.mark.parametrize("how", ["wrong", "half", "unsure"])
def test_an_answer_that_is_no_json_is_counted_and_kept(
    server: StandIn, folder: Path, how: str
) -> None:
    server.always = how
    if how == "unsure":
        server.rules = {"ham": "I cannot tell.", "spam": "[1, 2]"}
    found = suggested(folder)
    assert not found.suggestions
    assert found.proposals is not None
    assert len(found.proposals.asked.unreadable) == 2
    assert not found.proposals.rules


def test_a_server_without_schemas_and_a_chatty_model(server: StandIn, folder: Path) -> None:
    server.schema = False
    server.rules["spam"] = "Sure! ```json\n" + GOOD["spam"] + "\n```\nHope it helps."
    found = suggested(folder)
    assert {one.label for one in found.suggestions} == {"ham", "spam"}
    assert found.proposals is not None
    assert found.proposals.asked.without == ("logprobs", "response_format")


def test_a_model_that_reasons_first_has_room_time_and_its_setting(
    server: StandIn, folder: Path
) -> None:
    server.always = "think"
    write(folder, server.url, ', max_tokens = 4000, extra = { reasoning_effort = "low" }')
    found = suggested(folder)
    assert {one.label for one in found.suggestions} == {"ham", "spam"}
    body = server.bodies[0]
    assert (body["max_tokens"], body["reasoning_effort"]) == (4000, "low")
    assert language_model(Project.read(folder)).endpoint.seconds == 300


def test_a_server_that_fails_leaves_no_suggestion_and_says_so(
    server: StandIn, folder: Path
) -> None:
    server.always = "500"
    found = suggested(folder)
    assert not found.suggestions
    assert found.proposals is not None
    assert "failed" in found.proposals.asked.problem
    server.always = "404"
    with pytest.raises(RuleError, match="answers 404"):
        suggested(folder)


def test_a_flood_of_proposals_is_cut(server: StandIn, folder: Path) -> None:
    server.rules["spam"] = json.dumps({"keywords": [f"w{i}" for i in range(5000)]})
    found = suggested(folder)
    assert found.proposals is not None
    assert sum(rule.label == "spam" for rule in found.proposals.rules) == 60


def test_instructions_in_an_answer_are_words_and_nothing_else(
    server: StandIn, folder: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "pwned"
    code = f"__import__('os').system('touch {bad}')"
    server.rules["spam"] = json.dumps(
        {"keywords": [code[:80]], "patterns": ["(?{" + code + "})"], "function": code}
    )
    suggested(folder)
    assert not bad.exists()


def test_accept_and_refuse_by_number(server: StandIn, folder: Path, unruly: Unruly) -> None:
    done = unruly("suggest", folder, "--llm")
    assert done.code == 0, done.err
    assert "asking mistral at 127.0.0.1 for rules: 2 requests to send" in done.err
    assert (
        "mistral: 4 of 6 proposed rules passed the checks on your texts; 2 match nothing"
        in done.out
    )
    shown = json.loads(unruly("suggest", folder, "--llm", "--json").out)
    conditions = [one["condition"] for one in shown["suggestions"]]
    assert shown["proposals"]["proposed"] == 6
    done = unruly("suggest", folder, "--accept", "1", "--refuse", "2")
    assert f"accepted: {conditions[0]}" in done.out
    assert "# a comment that stays" in (folder / "unruly.toml").read_text()
    assert len(read_refused(folder)) == 1
    again = json.loads(unruly("suggest", folder, "--llm", "--json").out)
    assert not set(conditions[:2]) & {one["condition"] for one in again["suggestions"]}
    assert unruly("check", folder).code == 0


def test_the_plan_of_the_command(server: StandIn, folder: Path, unruly: Unruly) -> None:
    done = unruly("suggest", folder, "--llm", "--plan", "--json")
    assert json.loads(done.out)["plans"][0]["calls"] == 2
    assert "suggestions (mistral at 127.0.0.1): 2 requests to send" in unruly("suggest", folder, "--llm", "--plan").out  # fmt: skip
    assert server.requests == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--plan",), "need --llm"),
        (("--calls", "5"), "need --llm"),
        (("--llm", "--llm-model", "gpt"), "has its name, key and budget in unruly.toml"),
        (("--llm", "--endpoint", "http://127.0.0.1:1/v1"), "needs the name of a model"),
        (("--llm", "--endpoint", "ftp://x", "--llm-model", "m"), "expected an address"),
        (
            ("--llm", "--endpoint", "http://example.com", "--llm-model", "m", "--key-env", "K"),
            "use https",
        ),
        (
            (
                "--llm",
                "--endpoint",
                "http://127.0.0.1:1",
                "--llm-model",
                "m",
                "--key-env",
                "NO_KEY",
            ),
            "NO_KEY is not set",
        ),
    ],
)
def test_bad_options(folder: Path, unruly: Unruly, args: tuple[str, ...], message: str) -> None:
    done = unruly("suggest", folder, *args)
    assert done.code == 2
    assert message in done.err


def test_another_endpoint_with_a_key(
    server: StandIn, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "sk-secret"
    monkeypatch.setenv("SUGGEST_KEY", "sk-secret")
    project = Project.read(folder)
    llm = language_model(project, server.url, "gpt", "SUGGEST_KEY", 10)
    assert {one.label for one in suggested(folder, llm).suggestions} == {"ham", "spam"}
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert server.bodies[0]["model"] == "gpt"
    (plan,) = project.sources.plan(project.corpus())
    assert plan.spent.calls == 0  # a purse of its own


def test_a_project_without_a_language_model(folder: Path) -> None:
    text = (folder / "unruly.toml").read_text()
    (folder / "unruly.toml").write_text(text[: text.index('[[source]]\nname = "llm"')])
    with pytest.raises(InputError, match="no source of the project is a language model"):
        language_model(Project.read(folder))


def test_contested_documents_come_from_both_kinds_the_least_certain_first() -> None:
    need = urgency(Votes.from_array([[0, 1]] * 4 + [[-1, -1]] * 4 + [[0, 0]] * 4))
    sure = np.tile([0.9, 0.8, 0.7, 0.6], 3)
    posteriors = np.column_stack([sure, 1 - sure])
    corpus = Corpus.from_texts([f"text {i}" for i in range(12)])
    assert contested(corpus, need, posteriors, 4).tolist() == [3, 2, 7, 6]
    assert contested(corpus, need, posteriors, 12).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    agreed = np.full(12, AGREED)
    assert contested(corpus, agreed, posteriors, 3).tolist() == [3, 7, 11]


@given(st.text(max_size=120), st.sampled_from(["keywords", "patterns"]))
def test_whatever_a_model_says_becomes_a_small_rule_or_an_error(said: str, kind: str) -> None:
    try:
        made = condition_of(
            Proposed("spam", "keywords" if kind == "keywords" else "patterns", said)
        )
    except RuleError:
        return
    assert isinstance(made, Keywords | Pattern)
    assert not isinstance(made, Pattern) or made.engine == "linear"


@given(st.text() | st.recursive(st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)).map(json.dumps))  # fmt: skip
def test_any_answer_can_be_read_or_not(content: str) -> None:
    request = RuleRequest("m", "spam", (("spam", ""),), (), ())
    found = request.proposed(Completion(content))
    assert found is None or all(one.kind in ("keywords", "patterns") for one in found)
