"""The OpenAPI document and the page: every path that exists, examples that are answered, nothing from elsewhere."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.serve.conftest import Running

from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.field import Field
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.serve import openapi
from unruly.serve.messages import MOST_SHOWN, Limits, Problem, explain_request, predict_request
from unruly.serve.openapi import Shown, docs_page
from unruly.serve.service import ServeSettings

SETTINGS = ServeSettings(Path("<b>spam</b>.unruly"))


def test_hostile_names_are_escaped_and_nothing_comes_from_elsewhere() -> None:
    page = docs_page(
        openapi.document(
            SETTINGS, Shown(("<script>x</script>", "ham"), ("'\"<i>", "ham"), ("<u>",)), "0" * 64
        )
    )
    assert "<script>x" not in page
    assert "<b>spam" not in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert page.count("<script>") == 1


def test_a_token_is_declared_where_there_is_one() -> None:
    plain = openapi.document(SETTINGS, Shown(("a", "b")), "0" * 64)
    closed = openapi.document(ServeSettings(Path("a"), token="x"), Shown(("a", "b")), "0" * 64)
    assert "security" not in plain
    assert closed["security"] == [{"token": []}]
    assert 'id="token"' in docs_page(closed)
    assert 'id="token"' not in docs_page(plain)


def test_examples_show_what_the_model_can_say() -> None:
    links = Source("links", [Rule("spam", Keywords(["http"]))])
    liked = Source("liked", [Rule("ham", Field("likes", low=3))])
    columns = {"text": ["see http", "a song"], "likes": [1, 5]}
    song = Source("song", [Rule("ham", Keywords(["song"]))])
    for sources, read in (((links, song), []), ((links, liked), ["likes"])):
        model = WeakClassifier("lsa", cache=False)
        model.fit(pl.DataFrame(columns), sources=Sources(["ham", "spam"], sources))
        found = openapi.document(SETTINGS, Shown.of(model.fitted), "0" * 64)
        post = found["paths"]["/predict"]["post"]
        answered = post["responses"]["200"]["content"]["application/json"]["examples"]
        (own,) = answered["own"]["value"]["predictions"]
        assert own["votes"] == [{"source": "links", "label": "spam"}]
        assert own["label"] == "spam"
        asked = post["requestBody"]["content"]["application/json"]["examples"]
        documents = asked.get("documents", {"value": {"documents": [{"text": ""}]}})
        assert list(documents["value"]["documents"][0]) == ["text", *read]
        assert ("likes" in docs_page(found)) == bool(read)


def test_the_place_of_an_answer_is_not_shown_before_there_is_one() -> None:
    page = docs_page(openapi.document(SETTINGS, Shown(("a", "b")), "0" * 64))
    assert '<pre id="answer" aria-live="polite"></pre>' in page
    assert "pre:empty{display:none}" in page


def test_every_path_of_the_document_answers_its_examples(server: Running) -> None:
    document: dict[str, Any] = server.get("/openapi.json").json
    for path, ways in document["paths"].items():
        constants = {one["name"]: one["schema"]["const"] for one in ways.get("parameters", [])}
        place = path.format(**constants)
        if "get" in ways:
            assert server.get(place).status == 200, path
        if "post" in ways:
            content = ways["post"]["requestBody"]["content"]["application/json"]
            for example in content["examples"].values():
                answer = server.post(place, example["value"])
                assert answer.status == 200, (path, answer.body)


def test_the_page_is_served_with_a_policy(server: Running) -> None:
    answer = server.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert f"curl -s http://127.0.0.1:{server.port}/predict" in answer.body.decode()
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_every_command_of_the_page_is_answered(server: Running) -> None:
    page = html.unescape(server.get("/docs").body.decode())
    asked = re.findall(rf"curl -s http://127.0.0.1:{server.port}(\S+) -d '(.*?)'", page)
    assert len(asked) >= 7
    for path, body in asked:
        answer = server.post(path, body.encode())
        assert answer.status == 200, (path, answer.body)


def test_a_command_can_be_copied_without_its_answer(server: Running) -> None:
    page = html.unescape(server.get("/docs").body.decode())
    blocks = re.findall(r"<pre>(.*?)</pre>", page, re.S)
    assert len(blocks) >= 7
    assert all(block.startswith("curl -s ") and "\n" not in block for block in blocks)
    assert page.count('<pre class="answer">') >= 4


def test_one_text_is_shown_with_all_classes() -> None:
    found = openapi.document(SETTINGS, Shown(("a", "b"), ("links", "b")), "0" * 64)
    post = found["paths"]["/predict"]["post"]
    shown = post["responses"]["200"]["content"]["application/json"]["examples"]
    assert [one["label"] for one in shown["one"]["value"]] == ["b", "a"]


def forms(name: str) -> list[dict[str, Any]]:
    """The properties of each form that a request may have."""
    document = openapi.document(SETTINGS, Shown(("a", "b")), "0" * 64)
    return [one["properties"] for one in document["components"]["schemas"][name]["oneOf"]]


GOOD: dict[str, Any] = {
    "inputs": "a text",
    "text": "a text",
    "texts": ["a text"],
    "document": {"text": "a text"},
    "documents": [{"text": "a text"}],
    "words": MOST_SHOWN,
    "neighbours": MOST_SHOWN,
    "parameters": None,
    "options": {"wait_for_model": True, "use_cache": False},
    "top_k": 1,
    "function_to_apply": "sigmoid",
    "truncation": True,
    "return_all_scores": True,
}


@pytest.mark.parametrize(
    ("name", "understood"),
    [("PredictRequest", predict_request), ("ExplainRequest", explain_request)],
)
def test_the_server_takes_what_the_document_states(
    name: str, understood: Callable[[Any, Limits], object]
) -> None:
    for stated in forms(name):
        understood({key: GOOD[key] for key in stated}, Limits())
        if "parameters" in stated:
            known = {key: GOOD[key] for key in stated["parameters"]["properties"]}
            understood({"inputs": "a text", "parameters": known}, Limits())


@pytest.mark.parametrize(
    ("name", "understood"),
    [("PredictRequest", predict_request), ("ExplainRequest", explain_request)],
)
def test_the_document_states_what_the_server_takes(
    name: str, understood: Callable[[Any, Limits], object]
) -> None:
    stated = [set(one) for one in forms(name)]
    for first in GOOD:
        for second in GOOD:
            with suppress(Problem):
                understood({first: GOOD[first], second: GOOD[second]}, Limits())
                assert any({first, second} <= one for one in stated), (first, second)
    if name == "PredictRequest":
        known = set(forms(name)[0]["parameters"]["properties"])
        for key, value in GOOD.items():
            with suppress(Problem):
                predict_request({"inputs": "a text", "parameters": {key: value}}, Limits())
                assert key in known


def test_what_has_no_effect_says_so() -> None:
    (hub, *_) = forms("PredictRequest")
    for schema in (hub["options"], hub["parameters"]["properties"]["truncation"]):
        assert "without effect" in schema["description"]
    assert forms("ExplainRequest")[0]["words"]["maximum"] == MOST_SHOWN
