"""The queue: votes hidden until answered, answers with how they were drawn, a meter of the balance."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import client_of

from unruly.labelling.label_file import CANNOT_TELL, SKIPPED, LabelFile
from unruly.studio.app import Studio
from unruly.studio.labelling import balance_of


def row_of(page: str) -> str:
    found = re.search(r'name="row" value="(\d+)"', page)
    assert found is not None
    return found[1]


def question_of(page: str) -> str:
    return page.partition("</form>")[0]


def test_asks_hides_and_reveals(client: Any, folder: Path) -> None:
    page = client.get("/label").text
    assert "<mark" not in question_of(page)
    row = row_of(page)
    after = client.post("/label/answer", data={"row": row, "label": "spam"}).text
    assert "Your answer: spam" in after
    assert row_of(after) != row
    (answer,) = LabelFile.open(folder / "labels.csv").answers
    assert answer.reason == "balance"
    assert answer.probability is not None
    assert answer.by == "ada"


def test_the_queue_shows_the_keys_of_the_terminal_as_well(client: Any) -> None:
    page = client.get("/label").text
    none = page[page.index("data-answer-none") :].partition("</button>")[0]
    assert re.findall(r"<kbd[^>]*>(.*?)</kbd>", none) == ["x", "?"]
    assert "<kbd>u</kbd> or <kbd>&lt;</kbd> undoes the last one" in page
    script = client.get("/static/studio.js").text
    assert 'key === "x" || key === "?"' in script
    assert 'key === "u" || key === "<"' in script


def test_other_answers_and_undo(client: Any, studio: Studio) -> None:
    first = row_of(client.get("/label").text)
    second = row_of(client.post("/label/answer", data={"row": first, "label": CANNOT_TELL}).text)
    third = row_of(client.post("/label/answer", data={"row": second, "label": SKIPPED}).text)
    assert len({first, second, third}) == 3
    client.post("/undo")
    assert row_of(client.get("/label").text) == second
    client.post("/redo")
    assert row_of(client.get("/label").text) == third
    bad = client.post("/label/answer", data={"row": third, "label": "eggs"})
    assert bad.status_code == 422
    assert client.post("/label/answer", data={"row": "9999", "label": "ham"}).status_code == 422


def test_without_rules_documents_are_drawn_at_random(studio: Studio, folder: Path) -> None:
    text = (folder / "unruly.toml").read_text()
    (folder / "unruly.toml").write_text(text[: text.index("[[source]]")])
    studio.workspace.load_outside()
    with client_of(studio) as client:
        page = client.get("/label").text
        assert '<option value="random" selected>' in page
        assert "Without rules they are drawn at random" in page
        assert "no rule votes on it" not in client.get("/documents").text


def test_the_meter_narrows(modelled: Studio) -> None:
    with client_of(modelled) as client:
        page = client.get("/label").text
        widths = []
        for number in range(24):
            page = client.post(
                "/label/answer", data={"row": row_of(page), "label": ["ham", "spam"][number % 2]}
            ).text
            found = re.search(r"± (\d+)</span>", page)
            if found:
                widths.append(int(found[1]))
        assert widths[-1] < widths[0]
        assert "more label" in page
        assert "5 of 20 in this draw" in page, "a second draw follows the first"


def test_the_way_to_draw_can_be_chosen(client: Any, studio: Studio) -> None:
    assert client.get("/label?by=doubt").status_code == 200
    assert studio.queue.by == "doubt"
    assert client.get("/label?by=nonsense").status_code == 422


def test_after_a_draw_it_says_that_one_can_train(client: Any) -> None:
    page = client.get("/label").text
    for number in range(20):
        assert "questions are answered" not in page, number
        page = client.post("/label/answer", data={"row": row_of(page), "label": "spam"}).text
    assert "All 20 questions are answered." in page
    assert "Train with your labels" in page
    page = client.post("/label/answer", data={"row": row_of(page), "label": "spam"}).text
    assert "questions are answered" not in page


def test_the_shares_that_a_model_used_are_told_apart_from_the_estimate(
    studio: Studio, folder: Path
) -> None:
    file = folder / "unruly.toml"
    file.write_text('encoder = "lsa"\n' + file.read_text())
    studio.workspace.reload()
    with client_of(studio) as client:
        page = client.get("/label").text
        for label in ["spam", "ham"] * 5:
            page = client.post("/label/answer", data={"row": row_of(page), "label": label}).text
        studio.trainer.fit()
        studio.trainer.wait(120)
        assert "The model trained on these labels used" in client.get("/label").text
        studio.workspace.label([30], "ham")
        assert "The model trained on these labels used" not in client.get("/label").text


def test_the_meter_ends_where_the_interval_ends(modelled: Studio) -> None:
    with client_of(modelled) as client:
        page = client.get("/label").text
        for _ in range(4):
            data = {"row": row_of(page), "label": "ham"}
            page = client.post("/label/answer", data=data).text
    balance = balance_of(modelled.trainer)
    assert balance is not None
    drawn = re.findall(r'class="span" x="([\d.]+)" y="3" width="([\d.]+)"', page)
    ends = [float(x) + float(width) for x, width in drawn]
    pairs = zip(balance.shares, balance.half_widths, strict=True)
    assert ends == pytest.approx([100 * min(share + half, 1) for share, half in pairs], abs=0.2)
    assert (
        min(share - half for share, half in zip(balance.shares, balance.half_widths, strict=True))
        < 0
    )
