"""The whole story in a real browser, against a real server: from a CSV file to labelled data, by clicks and keys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chromium import needs_chromium

from unruly.project.starter import make_starter

pytestmark = needs_chromium
LONGEST = 60  # seconds that anything may take
PAGES = (
    "/documents",
    "/documents/3",
    "/rules",
    "/rule?name=money",
    "/rule/new",
    "/rules/describe",
    "/suggestions",
    "/label",
    "/train",
    "/out",
    "/outside",
)


class Served:
    """A studio in a process of its own."""

    def __init__(self, path: Path, cache: Path) -> None:
        command = [sys.executable, "-m", "unruly", "studio", str(path), "--no-open", "--port", "0"]
        environment = {**os.environ, "UNRULY_CACHE": str(cache)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip()
        self.base = self.link.partition("/?")[0]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(20)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def served(browser: Any, tmp_path: Path) -> Iterator[Callable[[Path], Served]]:
    running: list[Served] = []

    def serve(path: Path) -> Served:
        running.append(Served(path, tmp_path / "cache"))
        return running[-1]

    yield serve
    browser.get("about:blank")  # a page left open would ask the stopped server for its status
    for one in running:
        one.stop()


def until(found: Callable[[], Any], what: str) -> Any:
    """Wait for something to be true."""
    end = time.monotonic() + LONGEST
    last: Exception | None = None
    while time.monotonic() < end:
        try:
            if value := found():
                return value
        except Exception as error:  # the page is being replaced
            last = error
        time.sleep(0.05)
    raise AssertionError(f"never: {what} ({last})")


def css(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def text(driver: Any, selector: str = "main") -> str:
    return str(css(driver, selector).text)


def press(driver: Any, keys: str) -> None:
    """Keys to whatever has the focus; on a fresh page, to the page."""
    driver.switch_to.active_element.send_keys(keys)


def complaints(driver: Any, base: str) -> tuple[list[str], list[str]]:
    """What the console says, and requests that leave the studio."""
    said = [line["message"] for line in driver.get_log("browser")]
    asked = [
        event["params"]["request"]["url"]
        for line in driver.get_log("performance")
        if (event := json.loads(line["message"])["message"])["method"]
        == "Network.requestWillBeSent"
    ]
    away = [url for url in asked if not url.startswith((base, "data:", "chrome:", "about:"))]
    return said, away


def test_the_whole_story(browser: Any, served: Callable[[Path], Served], tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    data = make_starter(tmp_path / "made") / "comments.csv"
    csv = tmp_path / "comments.csv"
    shutil.copy(data, csv)
    studio = served(csv)
    complaints(browser, studio.base)
    browser.get(studio.link)

    # A project from the file
    assert "A project from comments.csv" in text(browser)
    assert "token" not in browser.current_url
    Select(css(browser, "select[name=text]")).select_by_value("comment")
    css(browser, "textarea[name=classes]").send_keys("ham\nspam")
    css(browser, "main form button.main").click()
    until(lambda: "1–20 of 73" in text(browser), "the documents")

    # A filter while typing, and a label by key
    press(browser, "/")
    press(browser, "song")
    until(lambda: "of 73 in all" in text(browser, "#results"), "a filtered list")
    assert "words=song" in browser.current_url
    press(browser, Keys.ESCAPE)
    press(browser, "j")
    press(browser, "1")
    until(lambda: "you: ham" in text(browser, ".card.here"), "a label")
    assert "ham" in (tmp_path / "labels.csv").read_text()

    # Edited outside: noticed, shown, loaded
    file = tmp_path / "unruly.toml"
    file.write_text('encoder = "lsa"\n' + file.read_text())
    until(lambda: css(browser, "#outside").is_displayed(), "a word about the edit")
    css(browser, "#outside a").click()
    assert '+encoder = "lsa"' in text(browser)
    css(browser, "main form button.main").click()
    until(lambda: "No rules yet" in text(browser), "the rules")

    # A rule from words that are marked
    browser.get(f"{studio.base}/documents?words=channel")
    css(browser, ".card a[data-open]").click()
    until(lambda: css(browser, "[data-markable]"), "a document")
    browser.execute_script(
        "const node = [...document.querySelectorAll('[data-markable] p')][0].firstChild;"
        "const at = node.textContent.toLowerCase().indexOf('channel');"
        "const range = document.createRange(); range.setStart(node, at); range.setEnd(node, at + 7);"
        "getSelection().removeAllRanges(); getSelection().addRange(range);"
        "document.querySelector('[data-markable]').dispatchEvent(new MouseEvent('mouseup', {bubbles: true}));"
    )
    until(lambda: css(browser, "#popup button[value=spam]").is_displayed(), "the popup")
    css(browser, "#popup button[value=spam]").click()
    until(lambda: "Majority vote changes" in text(browser, "#preview"), "a preview")
    css(browser, "[data-save]").click()
    until(lambda: browser.current_url.endswith("/rules"), "saved")
    assert "channel" in file.read_text()

    # A rule that is typed: the counts follow, and it is saved by a key
    browser.get(f"{studio.base}/rule/new")
    box = css(browser, "textarea[name='keywords:keywords']")
    name = css(browser, "input[name=name]")
    name.send_keys(Keys.CONTROL, "a")
    name.send_keys("music")
    Select(css(browser, "select[name=label]")).select_by_visible_text("ham")
    counts = set()
    for letter in "song, lyrics, love":
        box.send_keys(letter)
        until(lambda: "waiting" not in css(browser, "#preview").get_attribute("class"), "an answer")
        counts.add(text(browser, "#preview").partition("\n")[2].partition("\n")[0])
    assert len(counts) > 2, "the counts follow the keys"
    box.send_keys(Keys.CONTROL, "s")
    until(lambda: browser.current_url.endswith("/rules"), "saved by a key")
    until(lambda: "music" in text(browser), "the new source")
    assert '"lyrics"' in file.read_text()

    # Undo and redo by keys
    press(browser, "u")
    until(lambda: "music" not in file.read_text(), "undone")
    until(lambda: "music" not in text(browser), "undone on the page")
    press(browser, "U")
    until(lambda: "music" in file.read_text(), "redone")
    until(lambda: "music" in text(browser), "redone on the page")

    # The queue, by keys
    press(browser, "g")
    press(browser, "l")
    until(lambda: "in this draw" in text(browser), "a question")
    before = (tmp_path / "labels.csv").read_text()
    press(browser, "2")
    until(lambda: "Your answer: spam" in text(browser), "an answer")
    assert len((tmp_path / "labels.csv").read_text()) > len(before)

    # Train, and take the data away
    press(browser, "g")
    press(browser, "t")
    until(lambda: "Train on 2 rules and 2 labels" in text(browser), "the page")
    css(browser, "form[data-post='/train/fit'] button").click()
    until(lambda: list((tmp_path / "models").glob("*.unruly")), "a model")
    until(lambda: "shown" in text(browser), "the new model")
    until(lambda: css(browser, ".charts svg").is_displayed(), "charts")
    browser.get(f"{studio.base}/out")
    css(browser, "button[aria-label='Make labelled.csv']").click()
    until((tmp_path / "out" / "labelled.csv").exists, "labelled data")
    assert complaints(browser, studio.base) == ([], [])


def test_a_rule_from_words_by_keyboard_alone(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    folder = make_starter(tmp_path / "spam")
    studio = served(folder)
    browser.get(studio.link)
    press(browser, "j")
    press(browser, Keys.ENTER)
    until(lambda: css(browser, "[data-words]"), "a document")
    until(lambda: "Similar documents" in text(browser), "similar documents")
    press(browser, "m")
    press(browser, "subscribe")
    until(lambda: css(browser, "#popup").is_displayed(), "the popup")
    press(browser, Keys.ENTER)  # to the forms of the word
    until(lambda: browser.switch_to.active_element.get_attribute("name") == "form", "its forms")
    for _ in range(20):
        if browser.switch_to.active_element.get_attribute("value") == "spam":
            break
        press(browser, Keys.TAB)
    press(browser, Keys.ENTER)
    until(lambda: "Majority vote changes" in text(browser, "#preview"), "a preview")
    press(browser, Keys.CONTROL + "s")
    until(lambda: browser.current_url.endswith("/rules"), "saved")
    assert 'keywords = ["subscribe"' in (folder / "unruly.toml").read_text()
    assert complaints(browser, studio.base) == ([], [])


def test_a_killed_server_loses_nothing(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    folder = make_starter(tmp_path / "spam")
    studio = served(folder)
    browser.get(studio.link)
    browser.get(f"{studio.base}/rule?name=money")
    until(lambda: "Majority vote changes" in text(browser, "#preview"), "a preview")
    box = css(browser, "textarea[name='keywords:keywords']")
    box.send_keys(", doubloons")
    until(lambda: "doubloons" in (folder / ".studio" / "drafts.json").read_text(), "a draft")
    browser.get(f"{studio.base}/documents/0")
    press(browser, "2")
    until(lambda: "spam" in (folder / "labels.csv").read_text(), "a label")
    until(lambda: "you: spam" in text(browser), "the label on the page")
    studio.stop()
    press(browser, "1")
    until(lambda: "does not respond" in text(browser, "#toast"), "a word about it")
    again = served(folder)
    browser.get(again.link)
    browser.get(f"{again.base}/rule?name=money")
    assert "not saved yet" in text(browser)
    assert "doubloons" in css(browser, "textarea[name='keywords:keywords']").get_attribute("value")
    browser.get(f"{again.base}/documents/0")
    assert "you: spam" in text(browser)
    browser.get_log("browser")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script, by npm."""
    room = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    try:
        subprocess.run(
            [npm, "pack", "axe-core@4", "--silent"],
            cwd=room,
            check=True,
            timeout=60,
            capture_output=True,
        )
    except (subprocess.SubprocessError, OSError):
        pytest.skip("npm cannot be reached")
    with tarfile.open(next(room.glob("*.tgz"))) as packed:
        script = packed.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.fixture
def furnished(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path, trained: Path
) -> Served:
    """A studio with rules, a model and some labels."""
    folder = make_starter(tmp_path / "spam")
    shutil.copy(trained, folder / "first.unruly")
    (folder / "labels.csv").write_text(
        "id,label\n" + "".join(f"{i},spam\n" for i in range(0, 30, 3))
    )
    studio = served(folder)
    browser.get(studio.link)
    until(lambda: "model:" in text(browser) or browser.refresh(), "the model's answers")
    return studio


def visit(browser: Any, studio: Served, path: str) -> None:
    browser.get(studio.base + path)
    until(lambda: not browser.find_elements("css selector", "[data-load]"), "all parts asked for")
    until(
        lambda: "Looking for" not in text(browser) and "Drawing…" not in text(browser), "all parts"
    )
    until(lambda: "Matching…" not in text(browser), "a preview")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_for_any_eye_or_hand(
    browser: Any, furnished: Served, axe: str, scheme: str
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    for path in PAGES:
        visit(browser, furnished, path)
        browser.execute_script(axe)
        found = browser.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run({resultTypes: ['violations']}).then((found) => done(found.violations));"
        )
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path


def test_pages_are_quiet_stay_here_and_fit(browser: Any, furnished: Served) -> None:
    complaints(browser, furnished.base)
    for width in (390, 1280):
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        for path in PAGES:
            visit(browser, furnished, path)
            wide = browser.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, (path, width)
            names = browser.execute_script(
                "return [...document.querySelectorAll('main button, main input, main select, main a')]"
                ".filter((one) => one.offsetParent && !one.accessibleName && "
                "!(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length)).map((one) => one.outerHTML)"
            )
            assert names == [], path
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert complaints(browser, furnished.base) == ([], [])
