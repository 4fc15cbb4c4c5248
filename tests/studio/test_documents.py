"""The pages of documents over HTTP: lists, one document, labels in place, hostile texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import ACCESS, client_of

from unruly.rules.cache import Cache
from unruly.studio.app import Studio

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}"


def work(studio: Studio) -> Any:
    assert studio.workspace is not None
    return studio.workspace


def test_lists_documents_with_marks_and_counts(client: Any) -> None:
    page = client.get("/documents").text
    assert "1–20 of 73" in page
    assert '<mark class="c1"' in page
    part = client.get("/documents?covered=no", headers={"x-part": "1"})
    assert "1–13 of 13" in part.text
    assert "<html" not in part.text
    assert "of 13 (of 73 in all)" in client.get("/documents?covered=no").text


def test_pages_end_where_the_list_ends(client: Any) -> None:
    assert "61–73 of 73" in client.get("/documents?page=999").text
    assert "1–20 of 73" in client.get("/documents?page=nonsense").text


def test_a_filter_that_cannot_be_is_said(client: Any) -> None:
    assert "there is no source" in client.get("/documents?source=nobody").text
    assert "No document fits" in client.get("/documents?words=zzzzz").text


def test_one_document_with_reasons(modelled: Studio) -> None:
    with client_of(modelled) as client:
        page = client.get("/documents/0").text
        assert "my channel" in page
        reasons = client.get("/documents/0/reasons", headers={"x-part": "1"}).text
        assert "Why the model says so" in reasons
        assert "Weight here" in reasons
        assert "Nearest training documents" in reasons
        assert "Similar documents" in client.get("/documents/0/similar").text
        assert client.get("/documents/9999").status_code == 422
        assert client.get("/documents/x").status_code == 422


def test_without_a_model_the_page_says_how_to_get_one(client: Any) -> None:
    assert "Train one" in client.get("/documents/0/reasons").text


def test_labels_one_and_takes_it_back(client: Any, studio: Studio) -> None:
    card = client.post("/label/one", data={"row": "4", "label": "spam"}).text
    assert 'aria-pressed="true"' in card
    assert work(studio).state.labelled.labels == 1
    client.post("/label/one", data={"row": "4", "label": ""})
    assert work(studio).state.labelled.labels == 0
    assert client.post("/label/one", data={"row": "4", "label": "eggs"}).status_code == 422
    assert client.post("/undo").text == "undone: 1 document: label withdrawn"
    assert work(studio).state.labelled.labels == 1


def test_labels_a_filter_only_when_the_count_holds(client: Any, studio: Studio) -> None:
    asked = {"covered": "no", "class": "ham", "expected": "12"}
    answer = client.post("/label/all", data=asked, headers={"x-part": "1"})
    assert answer.status_code == 422
    assert "now has 13 documents, not 12" in answer.text
    assert work(studio).state.labelled.labels == 0
    answer = client.post("/label/all", data={**asked, "expected": "13"})
    assert answer.text == "13 documents labelled: undo takes it back"
    client.post("/undo")
    assert work(studio).state.labelled.labels == 0


def test_saves_a_filter(client: Any) -> None:
    page = client.post("/presets", data={"name": "songs", "words": "song"}).text
    assert "songs" in page
    assert "Delete the filter songs" in page
    assert "songs" not in client.post("/presets", data={"name": "songs", "forget": "1"}).text


def test_marked_words_offer_their_forms(client: Any) -> None:
    part = client.get("/marked?words=subscribe").text
    assert 'value="subscribe"' in part
    assert "checked" in part


@pytest.fixture
def hostile(tmp_path: Path, cache: Cache) -> Iterator[Any]:
    """Texts, ids, classes, sources and columns that would like to be code."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    import polars as pl

    frame = pl.DataFrame(
        {"text": [HOSTILE, "fine"], HOSTILE: [HOSTILE, "x"], "key": [HOSTILE, "b"]}
    )
    frame.write_csv(folder / "texts.csv")
    name = HOSTILE.replace('"', '\\"')
    (folder / "unruly.toml").write_text(
        f'[task]\nclasses = ["{name}", "b"]\n[data]\ntrain = "texts.csv"\ntext = "text"\nid = "key"\n'
        f'[[source]]\nname = "{name}"\nrule = [{{ label = "{name}", keywords = ["script"] }}]\n'
    )
    studio = Studio(ACCESS)
    studio.open(folder)
    with client_of(studio) as client:
        yield client


def test_hostile_texts_are_texts(hostile: Any) -> None:
    from urllib.parse import quote

    for path in (
        "/documents",
        "/documents/0",
        "/documents/0/reasons",
        "/documents/0/similar",
        "/documents?words=" + quote(HOSTILE),
        "/documents?source=" + quote(HOSTILE),
        "/marked?words=" + quote(HOSTILE),
        "/" + quote(HOSTILE),
    ):
        page = hostile.get(path).text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "{{ 7*7 }}" in page or "49" not in page
    assert "&lt;script&gt;" in hostile.get("/documents").text
