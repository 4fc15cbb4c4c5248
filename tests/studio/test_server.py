"""Nobody gets in but this machine's browser, with the token, from the studio's own pages."""

from __future__ import annotations

from typing import Any

import pytest
from tests.studio.conftest import ACCESS, BASE

from unruly.studio.app import Studio, application
from unruly.studio.server import POLICY, Access


@pytest.fixture
def stranger(studio: Studio) -> Any:
    testing = pytest.importorskip("starlette.testclient")
    return testing.TestClient(application(studio), base_url=BASE, follow_redirects=False)


def test_without_the_token_there_is_nothing(stranger: Any) -> None:
    for path in ("/", "/documents", "/status", "/static/studio.js", "/nonsense"):
        answer = stranger.get(path)
        assert answer.status_code == 403
        assert "subscribe" not in answer.text
    assert stranger.get("/documents?token=wrong").status_code == 403
    assert stranger.get("/", headers={"cookie": f"{ACCESS.cookie}=wrong"}).status_code == 403
    assert stranger.post("/label/one", data={"row": "0", "label": "spam"}).status_code == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(stranger: Any) -> None:
    answer = stranger.get("/documents?token=secret&covered=no")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/documents?covered=no"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert stranger.get("/documents").status_code == 200


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example"])
def test_the_token_link_leads_nowhere_else(stranger: Any, path: str) -> None:
    answer = stranger.get(f"{BASE}{path}?token=secret")
    assert answer.headers.get("location", "/").startswith("/")
    assert not answer.headers.get("location", "/").startswith(("//", "/\\"))


@pytest.mark.parametrize("host", ["evil.example:8765", "evil.example", "127.0.0.1:1", "", "[::1"])
def test_a_foreign_host_is_refused(client: Any, host: str) -> None:
    assert client.get("/documents", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
def test_writes_from_elsewhere_are_refused(
    client: Any, studio: Studio, headers: dict[str, str]
) -> None:
    data = {"row": "0", "label": "spam"}
    assert client.post("/label/one", data=data, headers=headers).status_code == 403
    assert studio.workspace is not None
    assert studio.workspace.state.labelled.labels == 0
    own = {"sec-fetch-site": "same-origin", "origin": BASE}
    assert client.post("/label/one", data=data, headers=own).status_code == 200
    assert studio.workspace.state.labelled.labels == 1


def test_pages_may_run_and_load_nothing_else(client: Any) -> None:
    for path in ("/documents", "/status", "/static/studio.js", "/nonsense"):
        assert client.get(path).headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    page = client.get("/documents").text
    assert "<style" not in page
    assert " style=" not in page
    assert "onclick" not in page


def test_too_large_a_write_is_refused(client: Any) -> None:
    answer = client.post("/rules/preview", content=b"", headers={"content-length": "99999999"})
    assert answer.status_code == 413


def test_other_machines_only_by_number() -> None:
    wide = Access("secret", 80, "0.0.0.0")
    assert wide.knows("192.168.0.7")
    assert not wide.knows("rebound.example")
    assert not Access("secret", 80).knows("192.168.0.7")
