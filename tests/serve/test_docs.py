"""Every request that the page on serving shows is answered."""

from __future__ import annotations

import re
from pathlib import Path

from tests.serve.conftest import Running

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serve.md"


def test_the_pages_requests(server: Running) -> None:
    asked = re.findall(r"^curl -s localhost:8080(\S+) -d '(.*)'$", PAGE.read_text("utf-8"), re.M)
    assert {path for path, _ in asked} == {"/predict", "/explain"}
    for path, body in asked:
        answer = server.post(path, body.encode())
        assert answer.status == 200, (body, answer.body)


def test_the_pages_paths(server: Running) -> None:
    text = PAGE.read_text("utf-8")
    for path in ("/health/live", "/health/ready", "/info", "/metrics", "/docs", "/openapi.json"):
        assert f"{path}`" in text
        assert server.get(path).status == 200
