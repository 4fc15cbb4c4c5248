"""The page: every section, nothing from outside, and the user's text only ever as text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.report.conftest import ATTACK, CLASSES, Made

from unruly.findings import BalanceOrigin, BlankTexts, ClassBalance
from unruly.html import escape
from unruly.labelling.answers import Labelled
from unruly.learner import Epoch
from unruly.ledger import GoldUse, Use
from unruly.report.facts import Facts, gather
from unruly.report.page import SECTIONS, page, report
from unruly.report.verdict import verdict
from unruly.sentences import sentence

ALWAYS = set(SECTIONS) - {"training", "agreement"}  # which not every model has
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Collects tags, ids and links, and checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")
            assert not name.startswith("on"), f"<{tag} {name}>"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(params=["whole", "without gold", "alone"])
def text(request: pytest.FixtureRequest, pages: dict[str, str]) -> str:
    return pages[request.param]


def test_the_page_is_well_formed_and_has_every_section(text: str) -> None:
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert set(reader.ids) >= ALWAYS
    assert len(reader.ids) == len(set(reader.ids))
    for link in reader.links:
        assert link == "data:," or (link.startswith("#") and link[1:] in reader.ids)


def test_training_curves_are_shown_where_there_are_epochs(whole: Facts) -> None:
    history = tuple(Epoch(n, 1 / n, 2 / n, 0.1, 3 / n, 0) for n in range(1, 9))
    for epochs in (history, ()):
        text = page(replace(whole, history=epochs))
        assert (
            ('<section id="training">' in text) == ('<a href="#training">' in text) == bool(epochs)
        )
        assert ("Training curves" in text) == bool(epochs)


def test_nothing_runs_and_nothing_is_fetched(text: str) -> None:
    reader = Reader()
    reader.feed(text)
    assert not {"script", "img", "iframe", "object", "b1"} & set(reader.tags)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "default-src &#x27;none&#x27;" in text


def test_texts_and_names_of_the_user_are_escaped(pages: dict[str, str]) -> None:
    text = pages["whole"]
    assert "<script" not in text
    assert "<b>long</b>" not in text
    assert "<i>spam</i>" not in text
    assert "&lt;b&gt;long&lt;/b&gt;" in text


def test_a_hostile_document_is_shown_as_it_is(made: Made, whole: Facts) -> None:
    from unruly.report.documents import excerpt

    one = replace(whole.shown[0], pieces=excerpt(ATTACK, [(8, 13, 1)]), id='"><script>')
    text = page(replace(whole, shown=(one,)))
    assert "&lt;script&gt;" in text
    assert ">alert</mark>" in text
    assert "<script" not in text


def test_control_characters_are_left_out() -> None:
    assert escape("a\x00\x1b[31m<") == "a[31m&lt;"


def test_the_same_facts_give_the_same_bytes(whole: Facts, pages: dict[str, str]) -> None:
    assert page(whole) == pages["whole"]


def test_the_page_is_small(text: str) -> None:
    assert len(text.encode()) < 1_000_000


def test_every_section_without_gold_says_how_to_give_it(pages: dict[str, str]) -> None:
    for name in ("accuracy", "confidence", "confusion", "sources"):
        section = re.search(
            rf'<section id="{name}">.*?</section>', pages["without gold"], re.DOTALL
        )
        assert section is not None
        assert "--label COLUMN" in section.group()
    assert "MODEL PROJECT" in pages["alone"]


def test_the_verdict_gives_intervals_and_the_gold_used(whole: Facts) -> None:
    found = verdict(whole)
    assert whole.evaluation is not None
    gain = whole.evaluation.everything.gain
    assert (found.tone == "good") == (gain.low > 0)
    assert f"{100 * gain.low:+.1f} to {100 * gain.high:+.1f}" in found.sentences[0]
    assert any("61 for scoring" in message for message in found.sentences)


def test_the_verdict_without_gold_says_what_is_known(without_gold: Facts) -> None:
    message = " ".join(verdict(without_gold).sentences)
    assert "agree on" in message
    assert "none used" in message
    assert "--label COLUMN" in message


def test_notes_of_the_fit_stand_in_the_verdict_once(without_gold: Facts) -> None:
    note = BlankTexts(9, 10)
    balance = ClassBalance(CLASSES, (0.5, 0.5), BalanceOrigin.STATED)
    summary = replace(without_gold.summary, notes=(note, balance), balance=balance)
    message = verdict(replace(without_gold, summary=summary)).sentences
    assert [s for s in message if s == sentence(note)] == [sentence(note)]
    assert len([s for s in message if s.startswith("Class shares")]) == 1


def test_labels_by_hand_count_in_the_advice_and_are_entered(made: Made) -> None:
    documents = replace(made.train, gold=None)
    before = gather("spam.unruly", made.fitted, documents)
    first = before.suggestions[0]
    gold = np.asarray(made.train.gold, np.int64)
    wrong = CLASSES.index(first.label)
    matches = [one.id for one in (*first.fits, *first.misfits)]
    there = made.train.ids.is_in(matches).to_numpy()
    labels = replace(Labelled.alike(np.where(there, 1 - wrong, -1)), origin="labels.csv")
    facts = gather("spam.unruly", made.fitted, documents, labels=labels)
    after = [one for one in facts.suggestions if one.rule == first.rule]
    assert not after or after[0].accuracy.value < first.accuracy.value
    assert GoldUse(Use.ADVICE, labels.labels, "labels.csv") in facts.ledger.entries
    told = page(gather("spam.unruly", made.fitted, documents, labels=Labelled.alike(gold)))
    assert escape("161 labels by hand count in place of the model's answers") in told


def test_scoring_on_training_documents_is_told(made: Made) -> None:
    found = gather("m", made.fitted, made.train)
    message = " ".join(verdict(found).sentences)
    assert "All these documents repeat the text of a training document: " in message
    assert found.evaluation is not None
    some = replace(found, evaluation=replace(found.evaluation, repeats=1))
    assert re.search(
        r"1 of these documents \(.*%\) repeats the text of", str(verdict(some).sentences)
    )


def test_the_report_is_written_whole(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    target = tmp_path / "report.html"
    first = report(made.fitted, target, made.train, made.test)
    kept = target.read_bytes()
    assert first.evaluation is not None
    report(made.fitted, target, made.train, made.test)
    assert target.read_bytes() == kept
    assert {p.name for p in tmp_path.iterdir()} - {"cache"} == {"report.html"}


def test_judging_the_rules_shows_progress(made: Made) -> None:
    steps: list[str] = []

    class Heard:
        """Remembers the stages."""

        def start(self, what: str, total: int | None, unit: str) -> None:
            steps.append(what)

        def advance(self, units: int, note: str = "") -> None: ...

        def finish(self) -> None: ...

    gather("m", made.fitted, made.train, progress=Heard())
    assert "judging the rules" in steps
    assert "looking for rules" in steps
