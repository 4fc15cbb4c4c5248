"""Screenshots of the studio with headless chromium: those of the docs, or every page for review.

python tools/screenshots.py docs                 # docs/studio-*.png
python tools/screenshots.py /tmp/look --all      # every page, light and dark, desktop, phone and wide, odd projects
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from unruly.project.new import make_starter

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
PAGES = {
    "documents": "/documents",
    "filtered": "/documents?covered=no",
    "document": "/documents/3",
    "rules": "/rules",
    "rule": "{rule}",
    "suggestions": "/suggestions",
    "label": "/label",
    "train": "/train",
    "out": "/out",
}
WIDE = 1920
SIZES = ((1280, 900), (390, 844), (WIDE, 1000))
FOR_DOCS = ("documents", "rule")
TYPED = ", visit"
RTL = "هذه مراجعة جيدة جدا للفيلم وأنصح بمشاهدته مرة أخرى"


def browser() -> Any:
    """A headless chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument("--disable-dev-shm-usage")
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def furnished(folder: Path, environment: dict[str, str]) -> Path:
    """The starter project with two models and a few labels."""
    project = make_starter(folder / "spam")
    file = project / "unruly.toml"
    file.write_text('encoder = "lsa"\n' + file.read_text())
    _fit(project, "first.unruly", environment)
    gold = pl.read_csv(project / "comments.csv")["is_spam"].to_list()
    rows = "".join(f"{i},{gold[i]}\n" for i in range(0, 24, 2))
    (project / "labels.csv").write_text("id,label\n" + rows)
    file.write_text(file.read_text().replace('"song", ', ""))
    _fit(project, "spam.unruly", environment)
    return project


def _fit(project: Path, name: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "unruly", "fit", str(project), "-q", "-o", str(project / name)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


def empty(folder: Path) -> Path:
    """A project without rules, labels and models."""
    project = make_starter(folder / "empty")
    text = (project / "unruly.toml").read_text()
    (project / "unruly.toml").write_text(text[: text.index("[[source]]")])
    return project


def crowded(folder: Path) -> Path:
    """Two hundred sources with long names, thirty classes, texts from right to left and of great length."""
    project = folder / "crowded"
    project.mkdir()
    classes = [
        f"class {i} with a name that is rather long" if i % 7 == 3 else f"class {i}"
        for i in range(30)
    ]
    texts = [
        RTL,
        "x" * 400,
        "one two three " * 300,
        *(f"word{i} and word{i + 1}" for i in range(300)),
    ]
    pl.DataFrame({"text": texts}).write_csv(project / "texts.csv")
    sources = "".join(
        f'[[source]]\nname = "source_{i}{"_of_a_very_long_name_that_goes_on" if i % 9 == 4 else ""}"\n'
        f'rule = [{{ label = "{classes[i % 30]}", keywords = ["word{i}", "word{i + 1}", "فيلم", "جيدة"] }}]\n\n'
        for i in range(200)
    )
    listed = ", ".join(f'"{name}"' for name in classes)
    (project / "unruly.toml").write_text(
        f'[task]\nclasses = [{listed}]\n[data]\ntrain = "texts.csv"\ntext = "text"\n\n{sources}'
    )
    return project


class Shown:
    """A studio, and a browser that looks at it."""

    def __init__(self, project: Path, environment: dict[str, str], driver: Any) -> None:
        command = [
            sys.executable,
            "-m",
            "unruly",
            "studio",
            str(project),
            "--no-open",
            "--port",
            "0",
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        link = self.process.stdout.readline().strip()
        self.base, self.driver = link.partition("/?")[0], driver
        driver.get(link)
        time.sleep(3)

    def look(
        self, path: str, target: Path, *, width: int, height: int, dark: bool, typed: str = ""
    ) -> None:
        """One picture of one page, after some words were typed into its list of keywords."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get(self.base + path)
        if typed:
            self.driver.find_element("name", "r0.c0.keywords:keywords").send_keys(typed)
            time.sleep(2)
        end = time.monotonic() + 20
        while time.monotonic() < end and any(
            word in self.driver.page_source
            for word in ("Matching…", "Drawing…", "Looking for", "Comparing")
        ):
            time.sleep(0.2)
        time.sleep(0.5)
        self.driver.save_screenshot(str(target))

    def suggest(self) -> None:
        """Have suggestions looked for."""
        self.driver.get(self.base + "/suggestions")
        self.driver.find_element(
            "css selector", "form[data-post='/suggestions/look'] button"
        ).click()
        time.sleep(4)

    def compare(self) -> None:
        """Have the first model shown, then the second, which is compared with it."""
        for name in ("first", "spam"):
            self.driver.get(self.base + "/train")
            found = self.driver.find_elements("css selector", f"[aria-label='Show {name}']")
            if found:
                found[0].click()
                time.sleep(3)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--all", action="store_true", help="every page, for review")
    given = parser.parse_args()
    given.target.mkdir(parents=True, exist_ok=True)
    driver = browser()
    try:
        with tempfile.TemporaryDirectory() as room:
            environment = {**os.environ, "UNRULY_CACHE": f"{room}/cache"}
            folder = Path(room)
            projects = {"spam": (furnished(folder, environment), "/rule?name=money")}
            if given.all:
                projects["empty"] = (empty(folder), "/rule/new")
                projects["crowded"] = (
                    crowded(folder),
                    "/rule?name=source_4_of_a_very_long_name_that_goes_on",
                )
                csv = folder / "reviews.csv"
                pl.read_csv(projects["spam"][0] / "comments.csv").write_csv(csv)
                projects["start"] = (csv, "")
            for name, (project, rule) in projects.items():
                _pictures(name, project, rule, given.target, given.all, environment, driver)
    finally:
        driver.quit()


def _pictures(
    name: str,
    project: Path,
    rule: str,
    target: Path,
    everything: bool,
    environment: dict[str, str],
    driver: Any,
) -> None:
    shown = Shown(project, environment, driver)
    try:
        if name == "spam" and everything:
            shown.compare()
            shown.suggest()
        for page, path in {"start": "/start"}.items() if name == "start" else PAGES.items():
            path = path.format(rule=rule)
            if not everything:
                if page in FOR_DOCS:
                    picture = target / f"studio-{page}.png"
                    typed = TYPED if page == "rule" else ""
                    shown.look(path, picture, width=1280, height=800, dark=False, typed=typed)
                continue
            for width, height in SIZES:
                for dark in (False, True):
                    if width == WIDE and dark:
                        continue
                    look = f"{name}-{page}-{width}-{'dark' if dark else 'light'}.png"
                    shown.look(path, target / look, width=width, height=height, dark=dark)
    finally:
        shown.stop()


if __name__ == "__main__":
    main()
