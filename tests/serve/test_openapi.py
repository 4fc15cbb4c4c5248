"""The OpenAPI document and the page: every path that exists, examples that are answered, nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.serve.conftest import Running

from unruly.serve import openapi
from unruly.serve.openapi import docs_page
from unruly.serve.service import ServeSettings

SETTINGS = ServeSettings(Path("<b>spam</b>.unruly"))


def test_hostile_names_are_escaped_and_nothing_comes_from_elsewhere() -> None:
    page = docs_page(
        openapi.document(SETTINGS, ["<script>x</script>", "ham"], ["'\"<i>"], "0" * 64)
    )
    assert "<script>x" not in page
    assert "<b>spam" not in page
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", page)
    assert page.count("<script>") == 1


def test_a_token_is_declared_where_there_is_one() -> None:
    plain = openapi.document(SETTINGS, ["a", "b"], [], "0" * 64)
    closed = openapi.document(ServeSettings(Path("a"), token="x"), ["a", "b"], [], "0" * 64)
    assert "security" not in plain
    assert closed["security"] == [{"token": []}]
    assert 'id="token"' in docs_page(closed)
    assert 'id="token"' not in docs_page(plain)


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
