"""Suggestions over HTTP: looked for in the background, accepted into the file, refused for good, undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import client_of

from unruly.findings import Conflict
from unruly.model.critique import DisableSource
from unruly.project.suggestions import read_refused
from unruly.rules.matching import VoteCache
from unruly.sentences import likely_gold_sentence
from unruly.studio.app import Studio
from unruly.studio.suggestions import _criticism
from unruly.studio.workspace import Workspace


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
    offers = advised.advisor.offers(advised.workspace)
    assert len(offers) >= 2
    with client_of(advised) as client:
        page = client.get("/suggestions").text
        assert offers[0].suggestion.condition in page
        answer = client.post(
            "/suggestions/decide", data={"number": str(offers[0].number), "what": "accept"}
        )
        assert answer.text.count('aria-label="Suggestion ') == len(offers) - 1
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
        assert len(advised.advisor.offers(advised.workspace)) == len(offers) - 1, "open again"
        client.post("/undo")
        assert file.read_text() == before
        assert advised.advisor.offers(advised.workspace) == offers
        client.post("/redo")
        assert len(advised.advisor.offers(advised.workspace)) == len(offers) - 1


def test_a_column_that_is_left_out_is_named_as_in_the_terminal(advised: Studio) -> None:
    assert advised.advisor.found is not None
    advised.advisor.found = replace(advised.advisor.found, likely_gold="target")
    with client_of(advised) as client:
        assert likely_gold_sentence("target") in client.get("/suggestions").text


def test_examples_are_the_documents_with_what_the_rule_matches(advised: Studio) -> None:
    texts = advised.workspace.state.corpus.texts
    offers = advised.advisor.offers(advised.workspace)
    assert offers
    for offer in offers:
        assert offer.examples
        for one in offer.examples:
            whole = "".join(piece.text for piece in one.pieces)
            assert whole in texts[one.row]
            assert {piece.colour for piece in one.pieces if piece.labels} <= {
                offer.suggestion.label
            }


REPEATING = """
[[source]]
name = "money again"
rule = [{ label = "spam", keywords = ["money", "cash", "free", "dollars", "win"] }]

[[source]]
name = "nobody"
rule = [{ label = "ham", keywords = ["xylophone"] }]
"""


def test_the_critique_is_followed_or_declined_by_its_number(modelled: Studio, folder: Path) -> None:
    file = folder / "unruly.toml"
    file.write_text(file.read_text() + REPEATING)
    work = modelled.workspace
    work.load_outside()
    modelled.advisor.look(modelled.trainer)
    modelled.trainer.wait(60)
    before = file.read_text()
    found = {one.remedy: one for one in modelled.advisor.critique(work)}
    silent = found[DisableSource("nobody")]
    with client_of(modelled) as client:
        page = client.get("/suggestions").text
        assert "Disable nobody" in page
        data = {"number": str(silent.number), "what": "accept"}
        assert "Disable nobody" not in client.post("/suggestions/decide", data=data).text
        assert not work.state.project.sources.with_disabled[-1].enabled
        client.post("/undo")
        assert file.read_text() == before
        assert "Disable nobody" in client.get("/suggestions").text
        client.post("/suggestions/decide", data={**data, "what": "refuse"})
        assert read_refused(folder) == (DisableSource("nobody"),)
        assert "Disable nobody" not in client.get("/suggestions").text
    again = Workspace(folder)  # what was declined can be undone after a restart
    again.undo()
    assert read_refused(folder) == ()
    for one in modelled.advisor.critique(work):
        assert one.sentence
        for example in one.examples:
            assert "".join(p.text for p in example.pieces) in work.state.corpus.texts[example.row]


OPPOSED = """
[[source]]
name = "one"
rule = [{ label = "spam", pattern = "song" }, { label = "ham", pattern = "." }]

[[source]]
name = "two"
rule = [{ label = "ham", pattern = "song" }, { label = "spam", pattern = "." }]
"""


@pytest.mark.parametrize(("label", "other"), [("spam", "ham"), ("ham", "spam")])
def test_a_conflict_shows_documents_with_the_votes_that_it_names(
    folder: Path, cache: VoteCache, label: str, other: str
) -> None:
    file = folder / "unruly.toml"
    file.write_text(file.read_text() + OPPOSED)
    state = Workspace(folder).state
    songs = state.corpus.texts.str.contains("song").to_numpy()
    of_label = songs if label == "spam" else ~songs
    ids = tuple(str(one) for one in state.corpus.ids.to_numpy()[of_label][:3])
    found = Conflict("one", "two", 73, 73, 73, label, other, int(of_label.sum()), False, ids)
    shown = [example.row for example in _criticism(1, found, "", state).examples]
    assert [str(state.corpus.ids[row]) for row in shown[:3]] == list(ids)


def test_without_rules_or_before_looking(client: Any) -> None:
    assert "No suggestions yet" in client.get("/suggestions").text
    assert client.post("/suggestions/decide", data={"number": "x"}).status_code == 422


def test_accepted_for_another_class(advised: Studio, folder: Path) -> None:
    offer = advised.advisor.offers(advised.workspace)[0]
    other = next(name for name in ("ham", "spam") if name != offer.suggestion.label)
    given = {"number": str(offer.number), "what": "accept"}
    with client_of(advised) as client:
        assert client.post("/suggestions/decide", data={**given, "class": "?"}).status_code == 422
        client.post("/suggestions/decide", data={**given, "class": other})
    assert advised.workspace is not None
    added = advised.workspace.state.project.sources.sources[-1]
    assert added.rules[0].label == other
    assert added.rules[0].when == offer.suggestion.rule.when
