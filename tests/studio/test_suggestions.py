"""Suggestions over HTTP: looked for in the background, accepted into the file, refused for good, undone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import client_of

from unruly.project.suggesting import read_refused
from unruly.studio.app import Studio


@pytest.fixture
def advised(modelled: Studio) -> Studio:
    assert modelled.trainer is not None
    modelled.advisor.look(modelled.trainer)
    modelled.trainer.wait(60)
    assert modelled.trainer.status is not None
    assert modelled.trainer.status.state == "done", modelled.trainer.status.error
    return modelled


def test_accepts_refuses_and_undoes(advised: Studio, folder: Path) -> None:
    file = folder / "unruly.toml"
    before = file.read_text()
    offers = advised.advisor.offers
    assert len(offers) >= 2
    with client_of(advised) as client:
        page = client.get("/suggestions").text
        assert offers[0].suggestion.condition in page
        answer = client.post(
            "/suggestions/decide", data={"number": str(offers[0].number), "what": "accept"}
        )
        assert answer.text.count("data-item") == len(offers) - 1
        assert file.read_text() != before
        assert advised.workspace is not None
        assert advised.workspace.state.text == file.read_text()
        data = {"number": str(offers[1].number), "what": "refuse"}
        client.post("/suggestions/decide", data=data)
        assert len(read_refused(folder)) == 1
        assert client.post("/suggestions/decide", data=data).status_code == 422, "decided already"
        client.post("/undo")
        assert read_refused(folder) == ()
        client.post("/redo")
        assert len(read_refused(folder)) == 1
        client.post("/undo")
        client.post("/undo")
        assert file.read_text() == before


def test_without_rules_or_before_looking(client: Any) -> None:
    assert "No suggestions yet" in client.get("/suggestions").text
    assert client.post("/suggestions/decide", data={"number": "x"}).status_code == 422


def test_accepted_for_another_class(advised: Studio, folder: Path) -> None:
    offer = advised.advisor.offers[0]
    other = next(name for name in ("ham", "spam") if name != offer.suggestion.label)
    given = {"number": str(offer.number), "what": "accept"}
    with client_of(advised) as client:
        assert client.post("/suggestions/decide", data={**given, "class": "?"}).status_code == 422
        client.post("/suggestions/decide", data={**given, "class": other})
    assert advised.workspace is not None
    added = advised.workspace.state.project.sources.sources[-1]
    assert added.rules[0].label == other
    assert added.rules[0].when == offer.suggestion.rule.when
