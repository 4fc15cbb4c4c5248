"""A language model as a source, against a server that misbehaves."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.prompts.stand_in import StandIn

import unruly
from unruly.cli.main import run
from unruly.errors import InputError, RuleError
from unruly.findings import SilentSource
from unruly.project.project import Project
from unruly.project.voting import asked_line
from unruly.prompts.answers import AnswerStore, Budget, Completion, Cost, Price
from unruly.prompts.asking import Account, Asked, RetryPolicy, Stop
from unruly.prompts.endpoint import Endpoint, most_input
from unruly.rules import Classifier, Keywords, Prompt
from unruly.rules.prompt import ask, plans
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

CLASSES = ["ham", "spam"]
TEXTS = [f"please subscribe {i}" if i % 3 == 0 else f"a lovely song {i}" for i in range(30)]
HASTY = RetryPolicy(attempts=3, first_pause=0.01, failures=3)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))


@pytest.fixture
def server() -> Iterator[StandIn]:
    with StandIn() as served:
        yield served


def prompt(server: StandIn, *, in_flight: int = 8, seconds: float = 5.0, key_env: str | None = None, **changes: object) -> Prompt:  # fmt: skip
    endpoint = Endpoint(server.url, key_env, seconds, in_flight)
    usual = Prompt(endpoint, "mistral", "Spam? {text}", {"spam": ("yes",), "ham": ("no",)})
    return replace(usual, **changes)  # type: ignore[arg-type]


def sources(asked: Prompt, *rules: Source) -> Sources:
    return Sources(CLASSES, [*rules, Source("llm", [Rule(None, asked)])])


def asked(given: Sources, texts: list[str] = TEXTS, retries: RetryPolicy = HASTY) -> Asked:
    (found,) = ask(given, Corpus.from_texts(texts), retries=retries)
    return found


def test_answers_become_votes_and_log_probabilities_soft_ones(server: StandIn) -> None:
    given = sources(prompt(server))
    assert given.vote(TEXTS).unasked["llm"].all()
    found = asked(given)
    assert (found.answered, found.cached, found.unasked, found.stopped) == (30, 0, 0, None)
    votes = given.vote(TEXTS)
    assert not votes.unasked
    assert votes.matrix[:, 0].tolist() == [1 if "subscribe" in text else 0 for text in TEXTS]
    assert np.allclose(votes.soft["llm"][0], [0.2, 0.8], atol=1e-5)
    assert votes.matches(0)[0].reason == "mistral says “yes” (80%)"
    body = server.bodies[0]
    assert (body["temperature"], body["seed"], body["model"]) == (0, 0, "mistral")
    enum = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"]
    assert enum == ["no", "yes", "unsure"]


def test_a_second_run_sends_nothing_and_a_changed_prompt_asks_again(server: StandIn) -> None:
    given = sources(prompt(server))
    asked(given)
    again = asked(given)
    assert (again.answered, again.cached, server.requests) == (0, 30, 30)
    asked(sources(prompt(server, ask="Advert? {text}")))
    assert server.requests == 60


def test_the_same_text_is_asked_once(server: StandIn) -> None:
    given = sources(prompt(server))
    asked(given, ["subscribe", "subscribe", "hello"])
    assert server.requests == 2
    assert given.vote(["subscribe", "subscribe", "hello"]).matrix[:, 0].tolist() == [1, 1, 0]


def test_unsure_and_what_cannot_be_read_abstain_and_are_kept(server: StandIn) -> None:
    server.script.extend(["unsure", "wrong", "half"])
    given = sources(prompt(server, in_flight=1))
    found = asked(given, TEXTS[:4])
    votes = given.vote(TEXTS[:4])
    assert votes.matrix[:, 0].tolist() == [-1, -1, -1, 1]
    assert not votes.unasked  # it was asked: that is an abstention
    assert found.unreadable == ('{"answer": "perhaps"}', '{"answer')
    assert asked(given, TEXTS[:4]).unreadable == found.unreadable  # also when nothing is sent


def test_without_log_probabilities_votes_are_hard(server: StandIn) -> None:
    server.logprobs = False
    given = sources(prompt(server))
    asked(given, TEXTS[:4])
    assert given.vote(TEXTS[:4]).soft["llm"].tolist() == [[0, 1], [1, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("refused", "without"),
    [
        ((), ("logprobs", "response_format")),  # it does not say what it refuses
        (("logprobs",), ("logprobs",)),
        (("response_format",), ("response_format",)),
        (("max_tokens", "temperature", "logprobs"), ("max_tokens", "temperature", "logprobs")),
        (("seed",), ("seed",)),
        (("system role",), ("system",)),
    ],
)
def test_a_server_that_knows_less_is_asked_for_less(
    server: StandIn, refused: tuple[str, ...], without: tuple[str, ...]
) -> None:
    server.refuses, server.schema = refused, bool(refused)
    given = sources(prompt(server, in_flight=2))
    found = asked(given)
    assert found.answered == server.delivered == 30
    assert given.vote(TEXTS).matrix[:, 0].tolist() == [1 if i % 3 == 0 else 0 for i in range(30)]
    assert found.without == without
    assert server.bodies[-1].get("max_completion_tokens") == (32 if "max_tokens" in refused else None)  # fmt: skip
    assert server.requests <= 30 + 2 * len(without)  # what was found out is kept


@pytest.mark.parametrize(
    "how", ["parts", "think", "reasoned", "fence", "sentence", "close", "error:503"]
)
@pytest.mark.parametrize("schema", [True, False])
def test_answers_as_servers_and_small_models_give_them(
    server: StandIn, how: str, schema: bool
) -> None:
    server.always, server.schema = ("", schema) if ":" in how else (how, schema)
    server.script.extend([how] if ":" in how else [])
    given = sources(prompt(server, in_flight=1))
    found = asked(given, TEXTS[:4])
    assert (found.answered, found.unreadable, found.failed) == (4, (), False)
    assert given.vote(TEXTS[:4]).matrix[:, 0].tolist() == [1, 0, 0, 1]
    assert found.spent.calls == 4


@pytest.mark.parametrize(
    ("how", "kept", "cut"),
    [
        ("thinking", "<think>The user wants to know whether", 2),
        ("reasoning", "<think>The user wants to know whether", 2),
        ("both", "yes, or perhaps no", 0),
        ("null", "", 0),
        ("refusal", "I cannot help with that.", 0),
    ],
)
def test_no_answer_in_the_reply_abstains_and_says_why(
    server: StandIn, how: str, kept: str, cut: int
) -> None:
    server.script.extend([how, how])
    given = sources(prompt(server, in_flight=1))
    found = asked(given, TEXTS[:4])
    assert (found.unreadable, found.cut_short) == ((kept, kept), cut)
    assert given.vote(TEXTS[:4]).matrix[:, 0].tolist() == [-1, -1, 0, 1]
    assert ("2 of them still reasoning at max_tokens: raise it" in asked_line(found)) == bool(cut)


def test_a_model_that_gives_no_readable_answer_is_not_paid_for_all(server: StandIn) -> None:
    server.always = "reasoning"
    found = asked(sources(prompt(server, in_flight=1)))
    assert (found.answered, found.failed) == (20, True)
    assert found.problem == (
        "none of the first 20 answers can be read, still reasoning at max_tokens = 32: raise it"
    )


def test_a_reply_that_is_no_completion_is_not_kept_as_an_answer(server: StandIn) -> None:
    server.always = "html"
    given = sources(prompt(server, in_flight=1))
    found = asked(given, TEXTS[:4])
    assert found.answered == 0
    assert "the reply is not a chat completion: '<!doctype html>" in found.problem
    server.always = ""
    assert asked(given, TEXTS[:4]).answered == 4


def test_one_document_that_is_too_long_does_not_end_the_run(server: StandIn) -> None:
    server.longest = 40
    texts = [*TEXTS[:2], *(f"very long {i} " * 9 for i in range(9)), *TEXTS[2:5]]
    given = sources(prompt(server, in_flight=1))
    found = asked(given, texts)
    assert (found.answered, found.unasked, found.failed, found.stopped) == (5, 9, True, None)
    assert "9 not asked (127.0.0.1 answers 400: maximum context length exceeded)" in asked_line(found)  # fmt: skip
    assert found.without == ()
    assert given.vote(texts).unasked["llm"].sum() == 9
    server.always = "400"
    hopeless = asked(sources(prompt(server, in_flight=1, ask="All? {text}")))
    assert hopeless.problem == "the first 20 requests were refused: 127.0.0.1 answers 400: no"


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_endpoint_may_end_in_many_ways(server: StandIn, path: str) -> None:
    url = server.url.removesuffix("/v1") + path
    assert asked(sources(prompt(server, endpoint=Endpoint(url))), TEXTS[:2]).answered == 2


def test_an_unknown_model_or_path_is_one_line_that_helps(server: StandIn) -> None:
    server.known_models = ("llama3:8b", "qwen3")
    with pytest.raises(RuleError, match=r"404: no model mistral; it has the models llama3:8b, qwen3$"):  # fmt: skip
        asked(sources(prompt(server, in_flight=1)))
    server.known_models = ()
    astray = Endpoint(server.url.removesuffix("/v1") + "/api")
    with pytest.raises(RuleError, match=r"404: Not Found; check that it is right, http.*/api and"):
        asked(sources(prompt(server, endpoint=astray)))


def test_extra_settings_are_sent_and_asked_anew(server: StandIn) -> None:
    asked(sources(prompt(server)), TEXTS[:2])
    asked(sources(prompt(server, extra={"reasoning_effort": "none"})), TEXTS[:2])
    assert [body.get("reasoning_effort") for body in server.bodies] == [None, None, "none", "none"]
    with pytest.raises(RuleError, match="extra: 'temperature' is set already"):
        prompt(server, extra={"temperature": 1})


def test_headers_that_never_end_are_not_waited_for(server: StandIn) -> None:
    server.script.append("drip")
    found = asked(sources(prompt(server, in_flight=1, seconds=0.5)), TEXTS[:1])
    assert found.answered == 1
    assert found.spent.calls == 2


def test_what_a_gateway_lost_counts_as_paid(server: StandIn) -> None:
    server.script.extend(["504", "500"])
    assert asked(sources(prompt(server, in_flight=1)), TEXTS[:1]).spent.calls == 2


def test_two_runs_at_once_do_not_pay_twice(server: StandIn) -> None:
    given = sources(prompt(server))
    with AnswerStore.default() as store, store.alone(prompt(server).identity, "llm"):
        with pytest.raises(InputError, match="'llm': another run is asking this model the same"):
            asked(given)
        assert asked(sources(prompt(server, ask="Other? {text}"))).answered == 30
    assert asked(given).answered == 30


def test_another_model_name_is_told(server: StandIn) -> None:
    server.model = "mistral-7b-q4"
    assert asked(sources(prompt(server))).models == ("mistral-7b-q4",)


def test_turned_away_is_tried_again_and_retry_after_is_obeyed(server: StandIn) -> None:
    waited: list[float] = []
    server.script.extend(["429:7", "500", "503"])
    found = asked(
        sources(prompt(server, in_flight=1)),
        TEXTS[:3],
        replace(HASTY, attempts=5, sleep=waited.append),
    )
    assert (found.answered, server.delivered, server.requests) == (3, 3, 6)
    assert sum(waited) > 6.9
    assert found.spent.calls == 3  # what a server turns away costs nothing


@pytest.mark.parametrize("busy", ["429:0", "429", "503"])
def test_a_server_that_lets_few_through_at_a_time_is_waited_for(server: StandIn, busy: str) -> None:
    server.script.extend([*[busy] * 7, ""] * 40)
    patient = RetryPolicy(attempts=12, first_pause=1e-4, longest_pause=1e-3)
    found = asked(sources(prompt(server, in_flight=8)), retries=patient)
    assert (found.answered, found.unasked, found.stopped) == (30, 0, None)
    assert server.requests == 8 * 30


def test_a_server_that_wants_a_long_pause_ends_the_run_and_keeps_what_it_has(
    server: StandIn,
) -> None:
    given = sources(prompt(server, in_flight=1))
    server.script.extend(["", "429:90000"])
    found = asked(given, TEXTS[:4])
    assert (found.answered, found.unasked, found.failed) == (1, 3, True)
    assert found.problem == "the server wants no request for 25.0 hours"
    assert asked(given, TEXTS[:4]).answered == 3


def test_a_reply_that_breaks_off_or_stalls_counts_as_paid_and_is_asked_again(
    server: StandIn,
) -> None:
    server.script.extend(["cut", "stall:1.5"])
    found = asked(sources(prompt(server, in_flight=1, seconds=0.7)), TEXTS[:3])
    assert found.answered == 3
    assert found.spent.calls == 5


def test_after_failures_in_a_row_it_stops_keeps_and_says_so(server: StandIn) -> None:
    given = sources(prompt(server, in_flight=2))
    asked(given, TEXTS[:5])
    server.always = "500"
    found = asked(given)
    assert (found.cached, found.answered, found.unasked) == (5, 0, 25)
    assert found.stopped == Stop.ERROR
    assert found.problem == "3 requests in a row failed: 127.0.0.1 answers 500: no"
    assert f"25 not asked ({found.problem}); run again to go on" in asked_line(found)
    assert found.failed
    assert server.requests < 5 + 25
    votes = given.vote(TEXTS)
    assert votes.unasked["llm"].sum() == 25
    server.always = ""
    assert asked(given).answered == 25


def test_nobody_there() -> None:
    with StandIn() as gone:
        given = sources(prompt(gone, in_flight=2))
    found = asked(given)
    assert found.problem == (
        "3 requests in a row failed: 127.0.0.1 cannot be reached (Connection refused): "
        "is the server running, and the port right?"
    )
    assert found.spent == Cost()


@pytest.mark.parametrize("in_flight", [1, 16])
def test_a_budget_of_calls_is_never_exceeded(server: StandIn, in_flight: int) -> None:
    server.seconds = 0.01
    given = sources(prompt(server, in_flight=in_flight, budget=Budget(calls=13)))
    found = asked(given)
    assert server.requests == server.delivered == found.answered == 13
    assert (found.unasked, found.stopped) == (17, Stop.BUDGET)
    assert "17 not asked (the budget is spent); raise it to go on" in asked_line(found)
    assert asked(given).answered == 0  # the budget is for all runs together
    more = sources(prompt(server, in_flight=in_flight, budget=Budget(calls=20)))
    assert asked(more).answered == 7


def test_a_budget_of_tokens_and_money_is_never_exceeded(server: StandIn) -> None:
    server.seconds = 0.005
    most = most_input(prompt(server).questions(pl.DataFrame({"__text": TEXTS[:1]}), ("ham", "spam"))[0]) + 32  # fmt: skip
    limited = prompt(server, in_flight=16, budget=Budget(tokens=2 * most))
    found = asked(sources(limited))
    used = sum(sum(len(m["content"]) for m in body["messages"]) // 4 + 5 for body in server.bodies)
    assert found.spent.tokens == used <= 2 * most
    assert found.answered > 2  # answers cost less than what was set aside, and the rest is used
    price = Price(input=1000.0, output=1000.0)
    costly = prompt(server, ask="Costly? {text}", in_flight=16, price=price, budget=Budget(money=most / 500))  # fmt: skip
    paid = asked(sources(costly))
    assert 0 < paid.spent.money <= most / 500
    assert paid.stopped == Stop.BUDGET


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_misbehaviour_makes_a_run_spend_more_than_the_budget(server: StandIn, seed: int) -> None:
    """By the server's own count, over runs that break off, with many requests in flight."""
    ways = ["", "", "", "cut", "stall:0.5", "429", "500", "504", "half", "wrong", "html"]
    limits = Budget(calls=40, tokens=9_000, money=0.009)
    given = sources(prompt(server, in_flight=8, seconds=0.3, budget=limits, price=Price(1.0, 1.0)))
    for run_number in range(4):
        rng = np.random.default_rng([seed, run_number])
        server.script.extend(rng.choice(ways, 25).tolist())
        found = asked(given, [f"song {i}" for i in range(200)])
    assert server.delivered > 10
    assert server.billed <= found.spent.tokens <= 9_000
    assert sum(server.paid.values()) <= found.spent.calls <= 40
    assert server.billed / 1e6 <= found.spent.money <= 0.009 + 1e-12


def test_a_budget_of_minutes_is_not_exceeded(server: StandIn) -> None:
    server.seconds = 0.05
    begun = time.monotonic()
    found = asked(sources(prompt(server, in_flight=1, budget=Budget(minutes=0.3 / 60))))
    assert found.stopped == Stop.TIME
    assert "not asked (the time limit is reached); run again to go on" in asked_line(found)
    assert not found.failed
    assert found.unasked > 10
    assert time.monotonic() - begun < 5


def test_a_purse_gives_back_what_was_not_needed() -> None:
    account = Account(Budget(tokens=100), Cost(tokens=20))
    assert account.reserve(Cost(1, 60))
    account.settle(Cost(1, 60), Cost(1, 10))
    assert account.reserve(Cost(1, 70))
    account.settle(Cost(1, 70), Cost(1, 70))
    assert not account.reserve(Cost(1, 1))
    assert account.spent == Cost(2, 100)


def test_documents_that_rules_do_not_cover_or_disagree_on_come_first(server: StandIn) -> None:
    rules = (
        Source("song", [Rule("ham", Keywords(["song"]))]),
        Source("lovely", [Rule("spam", Keywords(["lovely", "great"]))]),
    )
    texts = ["a great day", "a song", "nothing here", "a lovely song", "", "who knows"]
    given = sources(prompt(server, in_flight=1, budget=Budget(calls=3)), *rules)
    assert asked(given, texts).unasked == 2
    assert [text.removeprefix("Spam? ") for text in server.texts] == ["nothing here", "who knows", "a lovely song"]  # fmt: skip
    votes = given.vote(texts)
    assert votes.unasked["llm"].tolist() == [True, True, False, False, True, False]


def test_the_key_comes_from_the_environment_and_is_written_nowhere(
    server: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.key = "sk-very-secret"
    given = sources(prompt(server, key_env="STAND_IN_KEY"))
    with pytest.raises(RuleError, match="STAND_IN_KEY is not set"):
        asked(given)
    assert not server.requests
    monkeypatch.setenv("STAND_IN_KEY", "sk-very-secret")
    assert asked(given).answered == 30
    assert server.headers[0]["Authorization"] == "Bearer sk-very-secret"
    for path in (tmp_path / ".cache").rglob("*"):
        assert path.is_dir() or b"sk-very-secret" not in path.read_bytes()
    monkeypatch.setenv("STAND_IN_KEY", "sk-other-secret")
    with pytest.raises(RuleError, match="refuses the key") as caught:
        asked(sources(prompt(server, key_env="STAND_IN_KEY", ask="Again? {text}")))
    assert "sk-other-secret" not in str(caught.value)
    server.key, server.always = "sk-other-secret", "repeat"
    told = asked(sources(prompt(server, key_env="STAND_IN_KEY", ask="Say it? {text}")), TEXTS[1:2])
    assert told.unreadable == ('{"answer": "Bearer ***"}',)
    for path in (tmp_path / ".cache").rglob("*"):
        assert path.is_dir() or b"sk-other-secret" not in path.read_bytes()


def test_a_redirect_is_not_followed(server: StandIn) -> None:
    with StandIn() as elsewhere:
        server.always = f"307:{elsewhere.url}/chat/completions"
        with pytest.raises(RuleError, match="answers 307"):
            asked(sources(prompt(server)))
        assert not elsewhere.requests


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "HTTPS_PROXY"])
def test_a_proxy_of_the_environment_sees_nothing(
    server: StandIn, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StandIn() as proxy:
        monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        assert asked(sources(prompt(server)), TEXTS[:2]).answered == 2
        assert not proxy.requests


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1", True),
        ("http://LOCALHOST", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:8080/v1", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.nip.io", False),
        ("http://10.0.0.1", False),
        ("http://host.docker.internal", False),
        ("http://[fe80::1]", False),
    ],
)
def test_only_loopback_is_this_machine(url: str, local: bool) -> None:
    assert Endpoint(url).local == local


def test_localhost_must_lead_to_this_machine(
    server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Endpoint(server.url.replace("127.0.0.1", "localhost"))
    monkeypatch.setattr("socket.socket.getpeername", lambda sock: ("192.0.2.7", 80))
    with pytest.raises(RuleError, match=r"localhost leads to 192\.0\.2\.7, which is not this mach"):
        asked(sources(prompt(server, endpoint=here)))
    assert not server.requests


def test_an_ipv6_address_without_a_port_is_read_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted: list[object] = []

    def refuse(address: object, *more: object) -> None:
        wanted.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", refuse)
    with pytest.raises(ConnectionRefusedError):
        Endpoint("http://[::1]/v1").connection(1.0)
    assert wanted == [("::1", 80)]


def test_an_error_in_the_request_stops_at_once(server: StandIn) -> None:
    server.always = "404"
    with pytest.raises(RuleError, match=r"127\.0\.0\.1 answers 404: no"):
        asked(sources(prompt(server, in_flight=1)))
    assert server.requests == 1


def test_the_plan_tells_calls_tokens_money_and_cache_hits_and_sends_nothing(
    server: StandIn,
) -> None:
    given = sources(prompt(server, price=Price(1.0, 2.0), budget=Budget(calls=20)))
    asked(given, TEXTS[:5])
    before = server.requests
    (plan,) = plans(given, Corpus.from_texts(TEXTS))
    assert server.requests == before
    assert (plan.documents, plan.cached, plan.calls, plan.left_out) == (30, 5, 15, 10)
    assert plan.cost.tokens > 100
    assert plan.cost.money > 0
    assert plan.seconds is not None
    assert plan.leaves == ""


def test_texts_that_leave_the_machine_are_announced() -> None:
    away = Endpoint("https://api.example.com/v1", "SOME_KEY")
    asking = Prompt(away, "gpt", "Spam? {text}", budget=Budget(calls=5))
    (plan,) = plans(sources(asking), Corpus.from_texts(TEXTS))
    assert plan.leaves == "the texts of 5 documents leave this machine for api.example.com"
    assert "api.example.com" in str(plan)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"endpoint": "ftp://x"}, "expected an address"),
        ({"endpoint": "http://0.0.0.0:8000/v1"}, "write 127.0.0.1"),
        ({"extra": {"seed": 1}}, "'seed' is set already"),
        ({"endpoint": "https://user:pass@x/v1"}, "holds a key"),
        ({"endpoint": "https://api.example.com/v1"}, "give a budget"),
        (
            {"endpoint": "http://api.example.com/v1", "key_env": "K", "budget": {"calls": 1}},
            "use https",
        ),
        ({"api_key": "sk-1"}, "environment variable"),
        ({"ask": "Is this spam?"}, "must hold {text}"),
        ({"answers": {"spam": ["yes"], "ham": ["Yes"]}}, "belongs to one class"),
        ({"answers": {"spam": ["yes", " "], "ham": ["no"]}}, "none is blank"),
        ({"answers": {"spam": ["unsure"]}}, "an answer already"),
        ({"answers": {"smap": ["yes"]}}, "'smap' is not a class"),
        ({"budget": {"money": 1.0}}, "needs a price"),
        ({"budget": {"call": 1}}, "did you mean 'calls'"),
        ({"temperature": 1}, "is not a key of prompt"),
        ({"max_tokens": 0}, "give 1 to 32,768"),
        ({"max_tokens": 32_769}, "give 1 to 32,768"),
    ],
)
def test_mistakes_are_refused(changes: dict[str, object], problem: str) -> None:
    usual = {"endpoint": "http://127.0.0.1:1/v1", "model": "m", "ask": "Spam? {text}"}
    from unruly.rules.source import source_from_plain

    with pytest.raises(RuleError, match=problem):
        source_from_plain({"name": "s", "prompt": {**usual, **changes}}, CLASSES)


def test_a_prompt_is_written_as_it_was_read_without_what_is_usual() -> None:
    from unruly.rules.source import source_from_plain, source_to_plain

    usual = {"endpoint": "http://127.0.0.1:1/v1", "model": "m", "ask": "Spam? {text}"}
    whole = usual | {
        "answers": {"spam": ["yes"], "ham": ["no"]}, "budget": {"calls": 3}, "price": {"input": 0.0, "output": 1.0},
        "key_env": "K", "in_flight": 1, "seconds": 1.5, "max_tokens": 32_768, "seed": 1,
    }  # fmt: skip
    for table in (usual, whole, {**usual, "max_tokens": 1, "price": {"input": 1.0, "output": 0.0}}):
        source = source_from_plain({"name": "s", "prompt": table}, CLASSES)
        assert source_to_plain(source) == {"name": "s", "prompt": table}


def test_templates_see_columns_classes_and_descriptions(server: StandIn) -> None:
    about = {"ham": "about the song\nwhat a voice", "spam": "an advert"}
    wide = prompt(
        server, ask="{author}: {text} ({classes})\n{descriptions} {{x}}", descriptions=about
    )
    corpus = Corpus.from_frame(pl.DataFrame({"text": ["see {author}"], "author": ["Ann"]}))
    ask(sources(wide), corpus)
    assert server.texts == [
        "Ann: see {author} (ham, spam)\nham: about the song; what a voice\nspam: an advert {x}"
    ]
    with pytest.raises(RuleError, match=r"names \{author\}, which is not a column"):
        ask(sources(wide), Corpus.from_texts(["x"]))


def test_answers_without_a_table_are_the_class_names(server: StandIn) -> None:
    given = sources(prompt(server, answers={}))
    asked(given, TEXTS[:2])
    words = server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["answer"][
        "enum"
    ]
    assert words == ["ham", "spam", "unsure"]


def test_a_saved_model_asks_nobody(server: StandIn, tmp_path: Path) -> None:
    rule = Source("song", [Rule("ham", Keywords(["song"])), Rule("spam", Keywords(["subscribe"]))])
    given = sources(prompt(server), rule)
    asked(given)
    before = server.requests
    model = unruly.WeakClassifier(encoder="lsa").fit(TEXTS, sources=given)
    model.save(tmp_path / "m.unruly")
    again = unruly.load(tmp_path / "m.unruly")
    assert again.predict(["please subscribe now", "a song"]).tolist() == ["spam", "ham"]
    assert again.predictions(["please subscribe now"]).votes.unasked["llm"].all()
    assert [v.source for v in again.explain(TEXTS[0]).votes] != []
    assert server.requests == before
    assert again.plan_prompts(["please subscribe now"])[0].calls == 1
    again.ask_prompts(["please subscribe now"])  # the user's word
    assert not again.predictions(["please subscribe now"]).votes.unasked
    known = {v.source: v.reason for v in again.explain(TEXTS[0]).votes}
    assert known["llm"] == "mistral says “yes” (80%)"


def folder_with(server: StandIn, folder: Path, count: int = 30, more: str = "") -> Path:
    texts = [f"please subscribe {i}" if i % 3 == 0 else f"a lovely song {i}" for i in range(count)]
    pl.DataFrame({"text": texts}).write_csv(folder / "train.csv")
    answers = 'answers = { spam = ["yes"], ham = ["no"] }'
    (folder / "unruly.toml").write_text(
        '[task]\nclasses = ["ham", "spam"]\n[data]\ntrain = "train.csv"\n'
        '[[source]]\nname = "song"\nrule = [{ label = "ham", keywords = ["song"] }]\n'
        f'[[source]]\nname = "llm"\nprompt = {{ endpoint = "{server.url}", model = "mistral", '
        f'ask = "Spam? {{text}}", {answers}, in_flight = 16{more} }}\n'
    )
    return folder


def test_the_command_plans_asks_and_votes(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(folder_with(server, tmp_path)), str(tmp_path / "v.parquet")
    assert run(["vote", folder, "--plan"]) == 0
    assert "llm (mistral at 127.0.0.1): 30 requests to send" in capsys.readouterr().out
    assert run(["vote", folder, "--plan", "--json"]) == 0
    assert server.delivered == 0
    assert json.loads(capsys.readouterr().out)["plans"][0]["calls"] == 30
    assert run(["vote", folder, "-o", out]) == 0
    said = capsys.readouterr().err
    assert "llm: 30 answers received, 0 known before" in said
    assert "does not hold" not in said
    assert unruly.Votes.read(out).matrix[:, 1].tolist() == [
        1 if i % 3 == 0 else 0 for i in range(30)
    ]
    assert run(["vote", folder, "-o", str(tmp_path / "v.csv")]) == 0
    assert "v.csv does not hold the probabilities of llm: write" in capsys.readouterr().err
    assert run(["vote", folder]) == 2
    assert run(["check", folder, "-q"]) == 0
    assert run(["fit", folder, "-q", "-o", str(tmp_path / "m.unruly")]) == 0
    assert len(server.bodies) == 30
    more = tmp_path / "new.csv"
    more.write_text("text\nplease subscribe soon\n")
    for words, requests in (([], 30), (["--ask"], 31)):
        out = str(tmp_path / "out.csv")
        assert run(["predict", str(tmp_path / "m.unruly"), str(more), "-q", "-o", out, *words]) == 0
        assert len(server.bodies) == requests
    more.write_text("text\nplease subscribe soon\nplease subscribe later\n")
    capsys.readouterr()
    assert run(["predict", str(tmp_path / "m.unruly"), str(more), "-o", out]) == 0
    assert "llm has not been asked about 1 of 2 documents: --ask asks\n" in capsys.readouterr().err
    assert len(server.bodies) == 31
    project = Project.read(folder)
    project.write(tmp_path / "again.toml")
    assert Project.read(tmp_path / "again.toml") == project


def test_what_was_not_asked_is_no_fault_of_the_rules(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_with(server, tmp_path)
    assert run(["check", str(folder), "-q"]) == 1  # so far, all votes are for ham
    said = capsys.readouterr().out
    assert said.startswith("llm has not been asked yet: `unruly vote ")
    assert "never votes" not in said
    assert "no other class can be learnt" not in said
    assert run(["vote", str(folder), "-q", "-o", str(tmp_path / "v.parquet")]) == 0
    assert run(["check", str(folder), "-q"]) == 0
    assert "asked" not in capsys.readouterr().out.splitlines()[0]
    project = Project.read(folder)
    votes = project.sources.vote(project.corpus("train"))
    missing = replace(votes, matrix=np.full_like(votes.matrix, -1), soft={}, unasked={"llm": np.ones(30, bool)})  # fmt: skip
    model = unruly.WeakClassifier(encoder="lsa").fit(project.corpus("train"), votes)
    silent = [
        one.source
        for one in model.critique_rules(project.corpus("train"), missing)
        if isinstance(one, SilentSource)
    ]
    assert silent == ["song"]


def test_documents_are_not_covered_by_another_classifier(server: StandIn) -> None:
    texts = ["a song", "nothing here"]
    rules = [Source("song", [Rule("ham", Keywords(["song"]))])]
    rules.append(Source("other", [Rule(None, Classifier("missing.skops"))]))
    ask(sources(prompt(server, in_flight=1), *rules), Corpus.from_texts(texts))
    assert server.texts == ["Spam? nothing here", "Spam? a song"]


def test_the_key_is_in_no_file_and_on_no_screen(
    server: StandIn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    key = "sk-very-secret"
    monkeypatch.setenv("STAND_IN_KEY", key)
    server.key = key
    server.script.extend(["repeat", "500", "wrong"])
    folder = str(folder_with(server, tmp_path, 60, more=', key_env = "STAND_IN_KEY"'))
    model = str(tmp_path / "m.unruly")
    commands = [
        ["vote", folder, "--plan", "--json"],
        ["--debug", "vote", folder, "--json", "-o", str(tmp_path / "v.parquet")],
        ["check", folder, "--json"],
        ["fit", folder, "-o", model, "--json"],
        ["explain", model, "please subscribe 0", "--json"],
        ["report", model, folder, "-o", str(tmp_path / "r.html")],
        ["predict", model, str(tmp_path / "train.csv"), "--ask", "--key-env", "STAND_IN_KEY", "-o", str(tmp_path / "p.csv")],
    ]  # fmt: skip
    for command in commands:
        assert run(command) == 0, command
    server.key = "sk-another"
    assert run(["suggest", folder, "--llm"]) == 2  # a server that repeats the wrong key
    screen = capfd.readouterr()
    assert "refuses the key (401; STAND_IN_KEY): wrong key Bearer ***" in screen.err
    assert key not in screen.out + screen.err
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"m.unruly", "r.html", "answers.sqlite"} <= {path.name for path in found}
    assert not [path for path in found if key.encode() in path.read_bytes()]
    with zipfile.ZipFile(model) as saved:
        assert not [name for name in saved.namelist() if key.encode() in saved.read(name)]


def test_the_command_says_so_when_it_stops_even_quietly(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(folder_with(server, tmp_path)), str(tmp_path / "v.parquet")
    server.always = "403"
    assert run(["vote", folder, "-q", "-o", out]) == 2
    assert "refuses the key (403" in capsys.readouterr().err
    (tmp_path / "unruly.toml").write_text(
        (tmp_path / "unruly.toml")
        .read_text()
        .replace("in_flight = 16", "in_flight = 16, budget = { calls = 10 }")
    )
    server.always = ""
    assert run(["vote", folder, "-q", "-o", out]) == 0
    assert capsys.readouterr().err == ""  # the end of a budget is no failure
    assert run(["vote", folder, "-o", out, "--json"]) == 0
    found = capsys.readouterr()
    assert "20 not asked (the budget is spent); raise it to go on" in found.err
    assert json.loads(found.out)["asked"][0]["unasked"] == 20


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "unruly",
        "vote",
        str(folder),
        "-q",
        "-o",
        str(folder / "v.parquet"),
    ]
    return subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL)


def _until(server: StandIn, delivered: int) -> None:
    for _ in range(60_000):
        if server.delivered >= delivered:
            return
        time.sleep(0.01)
    raise AssertionError(f"only {server.delivered} answers")


def test_a_run_that_is_ended_three_times_pays_for_every_document_once(server: StandIn, tmp_path: Path) -> None:  # fmt: skip
    server.seconds = 0.05
    folder = folder_with(server, tmp_path, 600)
    for turn in range(3):
        started = _start(folder)
        _until(server, 120 * (turn + 1))
        started.send_signal(signal.SIGTERM if turn % 2 else signal.SIGINT)
        assert started.wait(600) == 130
    assert 360 <= server.delivered < 600
    assert _start(folder).wait(600) == 0
    assert server.requests == server.delivered == 600
    votes = unruly.Votes.read(folder / "v.parquet")
    assert votes.matrix[:, 1].tolist() == [1 if i % 3 == 0 else 0 for i in range(600)]
    assert not votes.unasked


def test_a_killed_run_loses_at_most_what_was_in_flight(server: StandIn, tmp_path: Path) -> None:
    server.seconds = 0.03
    folder = folder_with(server, tmp_path, 400)
    for turn in range(2):
        started = _start(folder)
        _until(server, 100 * (turn + 1))
        started.kill()
        started.wait()
    assert _start(folder).wait(600) == 0
    assert len(server.paid) == 400  # a server that honours idempotency keys charges once
    assert server.requests <= 400 + 2 * 16
    store = sqlite3.connect(AnswerStore.usual_path())
    spent = store.execute("select sum(calls) from answer").fetchone()[0]
    assert server.requests <= spent <= 400 + 2 * 16  # what got lost is counted against the budget
    store.close()


def test_a_model_names_no_key_so_that_a_strangers_file_cannot_send_one_away(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN_KEY", "sk-very-secret")
    server.key = "sk-very-secret"
    rule = Source("song", [Rule("ham", Keywords(["song"])), Rule("spam", Keywords(["subscribe"]))])
    given = sources(prompt(server, key_env="STAND_IN_KEY"), rule)
    model = unruly.WeakClassifier(encoder="lsa").fit(TEXTS, sources=given)
    model.save(tmp_path / "m.unruly")
    again = unruly.load(tmp_path / "m.unruly")
    with pytest.raises(RuleError, match="refuses the key"):
        again.ask_prompts(["a song"])
    assert "Authorization" not in server.headers[-1]
    (found,) = again.ask_prompts(["a song"], key_env="STAND_IN_KEY")
    assert found.answered == 1


def test_a_model_sends_texts_and_key_to_no_other_machine_that_the_user_did_not_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-very-secret")
    sent = list[str]()
    monkeypatch.setattr(Endpoint, "connection", lambda self, seconds: sent.append(self.host))
    far = Prompt(Endpoint("https://far.example/v1"), "m", "Spam? {text}", budget=Budget(calls=5))
    rule = Source("song", [Rule("ham", Keywords(["song"])), Rule("spam", Keywords(["subscribe"]))])
    given = Sources(["ham", "spam"], [Source("llm", [Rule(None, far)]), rule])
    unruly.WeakClassifier(encoder="lsa").fit(TEXTS, sources=given).save(tmp_path / "m.unruly")
    again = unruly.load(tmp_path / "m.unruly")
    for hosts in ((), ("other.example",)):
        with pytest.raises(InputError, match=r"go to far\.example, .* --endpoint far\.example"):
            again.ask_prompts(["a song"], key_env="OUR_KEY", hosts=hosts)
    assert not sent
    with suppress(Exception):  # there is no connection
        again.ask_prompts(["a song"], key_env="OUR_KEY", hosts=["far.example"])
    assert set(sent) == {"far.example"}


def test_a_word_whose_probability_is_all_doubt_is_a_vote_for_the_word() -> None:
    asking = Prompt(Endpoint("http://localhost:1"), "m", "Spam? {text}", {"spam": ("yes",), "ham": ("no",)})  # fmt: skip
    sure = (("yes", (("unsure", 0.0),)),)
    row = asking._row(Completion("yes", sure), ("ham", "spam"))
    assert (row["vote"], row["soft"]) == (1, [0.0, 1.0])
