"""The whole story in a real browser, against a real server: from a CSV file to labelled data, by clicks and keys."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.chromium import needs_chromium
from tests.studio.conftest import hosted

from unruly.project.editing import source_names
from unruly.project.new import make_starter
from unruly.studio.app import Studio
from unruly.studio.training import Job

pytestmark = needs_chromium
LONGEST = 60  # seconds that anything may take
AXE = "4.14.0"
AXE_SHA256 = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
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
    complaints(browser, "")  # what tests before left in the log, read late or not at all

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


def counted(driver: Any) -> str:
    """The votes of the rule that is being typed, as the preview has them."""
    return text(driver, "#preview").partition("Votes\n")[2].partition("\n")[0]


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
    until(lambda: "Labelled\n1" in text(browser, "#presets"), "its count")
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
    focused = browser.switch_to.active_element.get_attribute("name")
    assert focused == "r0.c0.keywords:keywords", "words can be typed at once"
    name = css(browser, "input[name=name]")
    assert name.get_attribute("value") == "", "a source is called after its words until it is named"
    name.send_keys("music")
    Select(css(browser, "select[name='r0.votes']")).select_by_visible_text("ham")
    until(lambda: "label = &#34;ham" in browser.page_source or settled(browser), "the form")
    box = css(browser, "textarea[name='r0.c0.keywords:keywords']")
    counts: list[str] = []
    for typed in ("song", ", lyrics"):
        box.send_keys(typed)
        until(lambda: counted(browser) not in ("", "0", *counts), "the count follows the keys")
        counts.append(counted(browser))
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
    press(browser, "?")
    until(lambda: "Your answer: (cannot tell)" in text(browser), "an answer by the terminal's key")
    press(browser, "<")
    until(lambda: "(withdrawn)" in (tmp_path / "labels.csv").read_text(), "undone")
    until(lambda: "(cannot tell)" not in text(browser), "undone on the page")

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
    box = css(browser, "textarea[name='r0.c0.keywords:keywords']")
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
    assert "doubloons" in css(browser, "textarea[name='r0.c0.keywords:keywords']").get_attribute(
        "value"
    )
    browser.get(f"{again.base}/documents/0")
    assert "you: spam" in text(browser)
    browser.get_log("browser")


def place(driver: Any, selector: str) -> tuple[float, float]:
    box = driver.execute_script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.left, box.top + scrollY];",
        selector,
    )
    return box[0], box[1]


def settled(driver: Any) -> bool:
    return "waiting" not in css(driver, "#preview").get_attribute("class")


def test_figures_stay_in_place_and_are_greyed_while_a_rule_is_wrong(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    studio = served(make_starter(tmp_path / "spam"))
    browser.get(studio.link)
    browser.get(f"{studio.base}/rule?name=check_out")
    until(lambda: "Majority vote changes" in text(browser, "#preview"), "a preview")
    before = place(browser, ".facts")
    box = css(browser, "textarea[name='r0.c0.pattern:pattern']")
    box.send_keys("(")
    until(lambda: "Regular expression" in text(browser, "#wrong"), "a word about it")
    assert place(browser, ".facts") == before
    assert "stale" in css(browser, "#preview").get_attribute("class")
    assert box.get_attribute("aria-invalid") == "true"
    box.send_keys("out)")
    until(lambda: "documents in" in text(browser, "#wrong"), "counts again")
    assert place(browser, ".facts") == before
    assert "stale" not in css(browser, "#preview").get_attribute("class")
    assert box.get_attribute("aria-invalid") is None


def test_a_source_of_several_rules_in_the_form_by_keyboard(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    folder = make_starter(tmp_path / "spam")
    studio = served(folder)
    browser.get(studio.link)
    browser.get(f"{studio.base}/rule?name=feeling")
    until(lambda: "Majority vote changes" in text(browser, "#preview"), "a preview")
    css(browser, "[data-act='add']").send_keys(Keys.ENTER)
    until(lambda: css(browser, "select[name='r2.votes']"), "a third rule")
    until(
        lambda: browser.switch_to.active_element.get_attribute("name") == "r2.votes",
        "the focus on it",
    )
    until(lambda: "Rule 3: Words or phrases: still empty" in text(browser, "#wrong"), "what to do")
    css(browser, "textarea[name='r2.c0.keywords:keywords']").send_keys("listen")
    css(browser, "[data-act='r2.add']").send_keys(Keys.ENTER)
    until(lambda: css(browser, "select[name='r2.c1.kind']"), "a second condition")
    Select(css(browser, "select[name='r2.c1.kind']")).select_by_value("length")
    until(lambda: css(browser, "input[name='r2.c1.length:min_words']"), "its fields")
    css(browser, "input[name='r2.c1.not']").send_keys(Keys.SPACE)
    until(lambda: css(browser, "input[name='r2.c1.not']").is_selected(), "negated")
    css(browser, "input[name='r2.c1.length:min_words']").send_keys("9")
    until(lambda: "documents in" in text(browser, "#wrong"), "counts")
    css(browser, "[data-act='r2.up']").send_keys(Keys.ENTER)
    until(
        lambda: (
            css(browser, "textarea[name='r1.c0.keywords:keywords']").get_attribute("value")
            == "listen"
        ),
        "the order",
    )
    until(
        lambda: browser.switch_to.active_element.get_attribute("data-act") == "r1.up",
        "the focus on it",
    )
    until(lambda: settled(browser) and "documents in" in text(browser, "#wrong"), "counts")
    press(browser, Keys.CONTROL + "s")
    until(lambda: browser.current_url.endswith("/rules"), "saved")
    (source,) = [
        one
        for one in tomllib.loads((folder / "unruly.toml").read_text())["source"]
        if one["name"] == "feeling"
    ]
    assert source["rule"][1]["all"] == [
        {"keywords": ["listen"]},
        {"not": {"length": {"min_words": 9}}},
    ]
    assert "rules of one source may vote" in (folder / "unruly.toml").read_text()
    assert complaints(browser, studio.base) == ([], [])


def test_a_job_that_ends_before_the_page_asks_is_noticed(
    browser: Any, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, drawn = threading.Event(), threading.Event()

    def work(job: Job) -> None:
        begun.set()
        drawn.wait(LONGEST)
        job.advance(1)  # where a cancelled job ends

    studio.trainer.begin("training", work)
    begun.wait(LONGEST)
    page = Studio.page

    def cancelled_once_drawn(self: Studio, name: str, *rest: Any) -> Any:
        answer = page(self, name, *rest)
        if name == "train.html" and not drawn.is_set():
            self.trainer.cancel()
            drawn.set()
            self.trainer.wait(LONGEST)
        return answer

    monkeypatch.setattr(Studio, "page", cancelled_once_drawn)
    with hosted(studio) as link:
        browser.get(link)
        browser.get(f"{link.partition('/?')[0]}/train")
        until(lambda: "was cancelled" in text(browser), "a word about the end")
        assert css(browser, "form[data-post='/train/fit'] button").is_enabled()
        browser.get("about:blank")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script: by npm, which knows of mirrors, or from the registry. In CI it must be there."""
    packed = _by_npm(tmp_path_factory.mktemp("axe")) or _from_registry()
    if packed is None and os.environ.get("UNRULY_CI"):
        pytest.fail("neither npm nor the registry gives axe-core")
    if packed is None:
        pytest.skip("neither npm nor the registry gives axe-core")
    assert hashlib.sha256(packed).hexdigest() == AXE_SHA256
    with tarfile.open(fileobj=BytesIO(packed)) as files:
        script = files.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def _by_npm(room: Path) -> bytes | None:
    npm = shutil.which("npm")
    if npm is None:
        return None
    command = [npm, "pack", f"axe-core@{AXE}", "--silent"]
    with suppress(subprocess.SubprocessError, OSError):
        subprocess.run(command, cwd=room, check=True, timeout=120, capture_output=True)
    return next((file.read_bytes() for file in room.glob("*.tgz")), None)


def _from_registry() -> bytes | None:
    address = f"https://registry.npmjs.org/axe-core/-/axe-core-{AXE}.tgz"
    try:
        with urlopen(address, timeout=60) as answer:
            return bytes(answer.read())
    except OSError:
        return None


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


BROKEN_WORDS = """
const broken = [];
const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
for (let node = walk.nextNode(); node; node = walk.nextNode()) {
  if (!node.parentElement.closest("table") || !node.parentElement.offsetParent) continue;
  for (const word of node.textContent.matchAll(/[\\p{L}\\p{N}]{2,24}/gu)) {
    const range = document.createRange();
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
  }
}
return broken;
"""


LONG = """
[[source]]
name = "long"
rule = [{ label = "spam", pattern = "(?i)subscription|subscribing|subscribers|unsubscribed|giveaway" }]
"""


@pytest.mark.parametrize("width", [390, 1000, 1280])
def test_no_word_of_a_table_is_broken(
    browser: Any, furnished: Served, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "spam" / "unruly.toml"
    file.write_text(file.read_text() + LONG)
    browser.get(f"{furnished.base}/outside")
    css(browser, "form[action='/outside'] button").click()
    until(lambda: "subscribers" in text(browser), "the rule with a long pattern")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    for path in ("/rules", "/documents/3", "/train"):
        visit(browser, furnished, path)
        assert browser.execute_script(BROKEN_WORDS) == [], path
        inside = browser.execute_script(
            "return [...document.querySelectorAll('table')].map((one) => one.scrollWidth - one.clientWidth)"
        )
        assert width > 600 or max(inside, default=0) <= 0, path
        cut = browser.execute_script(
            "return [...document.querySelectorAll('.scroll')].filter((one) => one.checkVisibility())"
            ".map((one) => one.scrollWidth - one.clientWidth)"
        )
        assert max(cut, default=0) <= 1, path
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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


def test_the_keyboard_goes_on_where_it_was_after_a_move(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    folder = make_starter(tmp_path / "spam")
    studio = served(folder)
    browser.get(studio.link)
    browser.get(f"{studio.base}/rules")
    moved = source_names((folder / "unruly.toml").read_text())[3]
    up = f"Move {moved} up"

    def ready(at: int) -> bool:
        """The source is at this place on the page, and the same button has the focus."""
        shown = [one.text for one in browser.find_elements("css selector", "th.name a")]
        focused = browser.switch_to.active_element.get_attribute("aria-label")
        return shown.index(moved) == at and focused == up

    css(browser, f"button[aria-label='{up}']").send_keys(Keys.ENTER)
    until(lambda: ready(2), "one place up")
    press(browser, Keys.ENTER)
    until(lambda: ready(1), "another")
    assert source_names((folder / "unruly.toml").read_text())[1] == moved
    assert complaints(browser, studio.base) == ([], [])


def test_words_marked_in_the_list_and_labels_changed_outside(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    folder = make_starter(tmp_path / "spam")
    studio = served(folder)
    browser.get(studio.link)
    assert css(browser, ".presets a[aria-current]").text.startswith("All documents")
    before = place(browser, "#results article")
    press(browser, "/")
    press(browser, "song")
    until(lambda: "of 73 in all" in text(browser, "#results"), "a filtered list")
    assert place(browser, "#results article") == before, "the list stays where it is"
    until(
        lambda: not browser.find_elements("css selector", ".presets a[aria-current]"), "no preset"
    )
    browser.execute_script(
        "const words = document.createTreeWalker(document.querySelectorAll('#results .text')[1], 4);"
        "let node; do { node = words.nextNode(); } while (!/song/i.test(node.textContent));"
        "const at = node.textContent.toLowerCase().indexOf('song');"
        "const range = document.createRange(); range.setStart(node, at); range.setEnd(node, at + 4);"
        "getSelection().removeAllRanges(); getSelection().addRange(range);"
    )
    until(lambda: css(browser, "#popup button[value=ham]").is_displayed(), "the popup")
    assert "Make a rule of song" in text(browser, "#popup")
    (folder / "labels.csv").write_text("id,label\n3,spam\n")
    until(lambda: css(browser, "#labels-outside").is_displayed(), "a word about the labels")
    css(browser, "#labels-outside a").click()
    until(lambda: "Labels that were changed outside" in text(browser), "which")
    css(browser, "main form button.main").click()
    until(lambda: "label=yes" in browser.current_url, "seen")
    assert not css(browser, "#labels-outside").is_displayed()
    assert complaints(browser, studio.base) == ([], [])


def test_forms_are_ticked_with_the_mouse_in_the_popup(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    studio = served(make_starter(tmp_path / "spam"))
    browser.get(studio.link)
    browser.get(f"{studio.base}/documents?words=subscribers")

    def popped_up() -> bool:
        """Whether the popup is there, after another double click: on a busy machine the first may come too soon."""
        marks = browser.find_elements("css selector", "#results mark")
        word = next(one for one in marks if one.text == "subscribers")
        ActionChains(browser).double_click(word).pause(1).perform()
        return bool(css(browser, "#popup input[value=subscribe]").is_displayed())

    until(popped_up, "the popup")
    time.sleep(0.7)  # the browser tells of the selection once more
    box = css(browser, "#popup input[value=subscribe]")
    box.click()
    time.sleep(0.7)
    assert box.is_selected()
    below = css(browser, "#popup").rect
    assert below["y"] + below["height"] < browser.execute_script("return innerHeight + scrollY")
    press(browser, Keys.ESCAPE)
    assert not css(browser, "#popup").is_displayed()
    ActionChains(browser).double_click(css(browser, "#results mark")).perform()
    until(lambda: css(browser, "#popup").is_displayed(), "the popup")
    press(browser, "j")
    assert not css(browser, "#popup").is_displayed(), "who goes on makes no rule"
    browser.get(f"{studio.base}/documents?words=subscribers")
    ActionChains(browser).double_click(css(browser, "#results mark")).perform()
    until(lambda: css(browser, "#popup").is_displayed(), "the popup")
    press(browser, "2")  # asks for the second class of a rule, and labels no document
    until(lambda: "/rule/new" in browser.current_url and "class=spam" in browser.current_url, "it")
    assert not (tmp_path / "spam" / "labels.csv").exists()
    assert complaints(browser, studio.base) == ([], [])


def test_the_marked_place_is_kept(browser: Any, furnished: Served) -> None:
    def here() -> str:
        return str(css(browser, "[data-list] .here").get_attribute("aria-label"))

    browser.get(f"{furnished.base}/suggestions")
    search = css(browser, "form[data-post='/suggestions/look'] button")
    search.click()
    until(lambda: "open; judged by" in text(browser), "suggestions")
    names = [
        one.get_attribute("aria-label") for one in browser.find_elements("css selector", "article")
    ]
    press(browser, "j")
    until(lambda: here() == names[1], "the second")
    press(browser, "a")
    until(lambda: "Accepted: " in text(browser, "#toast"), "a word about it")
    assert here() == names[2], "the first was passed over, and is not next"
    press(browser, "u")
    until(lambda: "Undone: " in text(browser, "#toast"), "undone")
    assert here() == names[1]
    browser.get(f"{furnished.base}/documents")
    for _ in range(3):
        press(browser, "j")
    press(browser, "1")
    until(lambda: "you: ham" in text(browser, ".card.here"), "a label")
    third = here()
    press(browser, "u")
    until(lambda: "Undone: " in text(browser, "#toast"), "undone")
    assert here() == third
    browser.get(f"{furnished.base}/label")
    press(browser, "s")
    until(lambda: "Your answer: (skipped)" in text(browser), "skipped by a key")
    assert complaints(browser, furnished.base) == ([], [])


def test_a_running_job_disables_what_begins_another(browser: Any, studio: Studio) -> None:
    end = threading.Event()

    def work(job: Job) -> None:
        end.wait(LONGEST)

    with hosted(studio) as link:
        browser.get(link)
        browser.get(f"{link.partition('/?')[0]}/train")
        button = css(browser, "form[data-post='/train/fit'] button")
        assert button.is_enabled()
        studio.trainer.begin("training", work)
        until(lambda: not button.is_enabled(), "disabled")
        end.set()
        until(lambda: css(browser, "form[data-post='/train/fit'] button").is_enabled(), "enabled")
        browser.get("about:blank")


def test_long_names_of_many_classes_fit_a_phone(
    browser: Any, served: Callable[[Path], Served], tmp_path: Path
) -> None:
    folder = make_starter(tmp_path / "spam")
    many = ", ".join(f'"class {i} with a name that is rather long"' for i in range(30))
    (folder / "unruly.toml").write_text(
        f'[task]\nclasses = [{many}]\n[data]\ntrain = "comments.csv"\ntext = "comment"\n'
    )
    studio = served(folder)
    browser.get(studio.link)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
    )
    for path in ("/documents?covered=no", "/documents/0", "/label", "/rule/new", "/rules/describe"):
        visit(browser, studio, path)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390, path
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert complaints(browser, studio.base) == ([], [])


def test_the_actions_of_a_rule_are_in_a_line_and_the_table_is_as_wide_as_the_page(
    browser: Any, furnished: Served
) -> None:
    size = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    visit(browser, furnished, "/rules")
    lines, over = browser.execute_script(
        "const box = document.querySelector('.scroll');"
        "return [[...document.querySelectorAll('.stacks .acts')].map((acts) => new Set("
        "[...acts.querySelectorAll('button')].map((one) => Math.round(one.getBoundingClientRect().bottom))).size),"
        "box.scrollWidth - box.clientWidth]"
    )
    assert (set(lines), over) == ({1}, 0)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_phone_shows_the_actions_of_a_rule_in_a_line_and_the_shares_whole(
    browser: Any, furnished: Served
) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
    )
    visit(browser, furnished, "/rules")
    lines = browser.execute_script(
        "return [...document.querySelectorAll('.stacks .acts')].map((acts) => new Set("
        "[...acts.querySelectorAll('button')].map((one) => Math.round(one.getBoundingClientRect().bottom))).size)"
    )
    assert set(lines) == {1}
    visit(browser, furnished, "/train")
    assert css(browser, "input[name=prior]").size["width"] > 300
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
