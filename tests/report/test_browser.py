"""The page in a real browser: no errors, no requests, every section, no sideways scrolling on a phone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.chromium import needs_chromium
from tests.report.test_page import ALWAYS

pytestmark = needs_chromium


@pytest.fixture(scope="module", params=["whole", "alone"])
def shown(
    request: pytest.FixtureRequest,
    browser: Any,
    pages: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """The browser with the page open, its logs of earlier pages emptied."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(pages[request.param], encoding="utf-8")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    browser.page = path.as_uri()
    return browser


def test_no_console_errors_and_no_outside_requests(shown: Any) -> None:
    assert shown.get_log("browser") == []
    asked = [
        event["params"]["request"]["url"]
        for line in shown.get_log("performance")
        if (event := json.loads(line["message"])["message"])["method"]
        == "Network.requestWillBeSent"
        and event["params"]["documentURL"] == shown.page  # not the browser's own first tab
    ]
    assert shown.page in asked
    assert [url for url in asked if url != shown.page and not url.startswith("data:")] == []


def test_every_section_is_there_and_has_a_size(shown: Any) -> None:
    for name in ALWAYS:
        box = shown.find_element("id", name).rect
        assert box["width"] > 200
        assert box["height"] > 40
    for svg in shown.find_elements("css selector", "figure svg"):
        assert svg.rect["height"] > 100
        assert svg.accessible_name
        assert svg.aria_role in ("img", "image")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_sideways_scrolling_in_light_and_dark(shown: Any, width: int, scheme: str) -> None:
    shown.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    shown.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    wide = shown.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    ink, paper = (
        shown.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (_light(ink) > _light(paper)) == (scheme == "dark")


def _light(colour: str) -> int:
    return sum(int(part) for part in colour.strip("rgba()").split(",")[:3])


def test_hostile_text_is_text(shown: Any) -> None:
    assert shown.execute_script("return document.scripts.length") == 0
    assert shown.execute_script("return document.images.length") == 0
