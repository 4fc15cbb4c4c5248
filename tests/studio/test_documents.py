"""The pages of documents over HTTP: lists, one document, labels in place, hostile texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studio.conftest import ACCESS, client_of

from unruly.model.explanation import Explanation
from unruly.project.new import begin_project
from unruly.rules.matching import Matcher, VoteCache, matches_on
from unruly.rules.source import Source
from unruly.studio.app import Studio
from unruly.studio.documents import EXCERPT, excerpt, pieces, similar
from unruly.studio.workspace import Workspace
from unruly.votes.provenance import Match

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}"


class CountedSpans(tuple[tuple[int, int], ...]):
    """Spans that count how often they are read."""

    reads = 0

    def __iter__(self) -> Iterator[tuple[int, int]]:
        CountedSpans.reads += 1
        return super().__iter__()


spans = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda ab: (min(ab), max(ab))), max_size=3
)


@given(st.lists(spans, max_size=6), st.integers(0, 10), st.integers(15, 35))
def test_pieces_are_cut_where_a_match_begins_or_ends(
    many: list[list[tuple[int, int]]], start: int, end: int
) -> None:
    text = "abcdefghijklmnopqrstuvwxyz1234"
    matches = [
        Match(f"s{i}", 0, "ab"[i % 2], CountedSpans(some), "") for i, some in enumerate(many)
    ]
    CountedSpans.reads = 0
    found = pieces(text, matches, start, end)
    assert CountedSpans.reads <= len(matches), "each match is read once, however many pieces"
    assert "".join(piece.text for piece in found) == text[start:end]
    place = start
    for piece in found:
        for at in range(place, place + len(piece.text)):
            over = [m for m in matches if any(a <= at < b for a, b in tuple.__iter__(m.spans))]
            assert piece.sources == tuple(m.source for m in over)
            assert set(piece.labels) == {m.label for m in over}
        place += len(piece.text)


def test_a_tooltip_names_a_few_of_many_sources() -> None:
    many = [Match(f"s{i}", 0, "ham", ((0, 2),), "") for i in range(9)]
    assert pieces("go", many)[0].why == "s0, s1, s2, s3, s4 and 4 more: ham"


def test_rules_whose_votes_are_known_are_not_matched_again(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, rows = studio.workspace.state, list(range(73))
    sources = tuple(state.project.sources.sources)
    asked: list[str] = []
    before = Source.rule_votes

    def noted(self: Source, classes: tuple[str, ...]) -> Any:
        asked.append(self.name)
        return before(self, classes)

    expected = matches_on(Matcher(sources, state.classes), state.corpus)
    monkeypatch.setattr(Source, "rule_votes", noted)
    assert state.matches(rows) == expected
    assert asked == ["feeling"], "the one with several rules"


def test_excerpts_end_between_words() -> None:
    text = "seventeen letters " * 100
    for at in (0, 900, 1790):
        shown, before, after = excerpt(text, [Match("s", 0, "ham", ((at, at + 9),), "")])
        whole = "".join(piece.text for piece in shown)
        assert len(whole) > EXCERPT - 20
        assert set(whole.split()) == {"seventeen", "letters"}
        assert (before, after) == (at > 0, at < 1000)
    long, _, cut = excerpt("x" * 2000, [])
    assert len(long[0].text) == EXCERPT
    assert cut


def test_similar_documents_have_different_texts(tmp_path: Path, cache: VoteCache) -> None:
    texts = ["buy fluffy slippers now"] * 12 + ["fluffy slippers are lovely", "slippers, maybe"]
    texts += [f"nothing of interest {i}" for i in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["text", *(f'"{t}"' for t in texts)]) + "\n")
    begin_project(tmp_path / "data.csv", ("x", "y"), text="text")
    found = similar(Workspace(tmp_path).state, 0)
    shown = [texts[one.row] for one in found]
    assert len(set(shown)) == len(shown)
    assert shown[:2] == texts[11:13]
    assert found[0].copies == 10, "eleven others have the text of the first"


def test_what_is_done_with_a_filter_stands_above_its_documents(client: Any) -> None:
    page = client.get("/documents?covered=no").text
    cards = page.index('<article class="card"')
    assert page.index("Label all 13 as") < cards
    assert page.index("Save this filter as") < cards
    assert "Label all" not in client.get("/documents").text


def test_a_column_offers_its_values_and_a_range(tmp_path: Path, cache: VoteCache) -> None:
    rows = [f"text {i},{i},{'ab'[i % 2]}" for i in range(20)]
    (tmp_path / "data.csv").write_text("\n".join(["text,likes,lang", *rows]) + "\n")
    begin_project(tmp_path / "data.csv", ("x", "y"), text="text")
    studio = Studio(ACCESS)
    studio.open(tmp_path)
    with client_of(studio) as client:
        part = client.get("/documents/column?column=likes", headers={"x-part": "1"}).text
        assert 'name="least"' in part
        assert 'placeholder="19"' in part
        part = client.get("/documents/column?column=lang", headers={"x-part": "1"}).text
        assert 'name="least"' not in part
        assert 'data-value="b"' in part
        assert client.get("/documents/column?column=nothing").text.strip() == ""
        page = client.get("/documents?column=likes&least=5&most=9").text
        assert "1–5 of 5" in page
        assert 'name="least" size="8" value="5"' in page
        wrong = client.get("/documents?column=likes&least=five")
        assert "is not a number" in wrong.text


def test_the_document_itself_is_no_neighbour(modelled: Studio) -> None:
    for row in range(5):
        found = modelled.trainer.explained(row)
        assert isinstance(found, Explanation)
        own = str(modelled.workspace.state.corpus.ids[row])
        assert found.neighbours
        assert own not in [str(near.id) for near in found.neighbours]


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
    assert "There is no source" in client.get("/documents?source=nobody").text
    assert "No document fits" in client.get("/documents?words=zzzzz").text


def test_one_document_with_reasons(modelled: Studio) -> None:
    with client_of(modelled) as client:
        page = client.get("/documents/0").text
        assert "<strong>my channel</strong>" in page, "what the rule matched"
        reasons = client.get("/documents/0/reasons", headers={"x-part": "1"}).text
        assert "Why the model says so" in reasons
        assert ">Odds ×</th>" in reasons
        assert ">Weight</th>" not in reasons
        near = reasons[reasons.index("Nearest training documents") :]
        assert '<a href="/documents/' in near
        assert "Similar documents" in client.get("/documents/0/similar").text
        assert client.get("/documents/9999").status_code == 422
        assert client.get("/documents/x").status_code == 422


def test_with_many_classes_the_popup_sends_one_class(folder: Path, cache: VoteCache) -> None:
    many = ", ".join(f'"class {i}"' for i in range(9))
    (folder / "unruly.toml").write_text(
        f'[task]\nclasses = [{many}]\n[data]\ntrain = "comments.csv"\ntext = "comment"\n'
    )
    made = Studio(ACCESS)
    made.open(folder)
    with client_of(made) as client:
        popup = client.get("/marked?words=song").text
    assert popup.count('name="class"') == 1, "the last of two would win"
    assert popup.count("<option>class ") == 9


def test_without_a_model_the_page_says_how_to_get_one(client: Any) -> None:
    assert "Train one" in client.get("/documents/0/reasons").text


def test_labels_one_and_takes_it_back(client: Any, studio: Studio) -> None:
    card = client.post("/label/one", data={"row": "4", "label": "spam"}).text
    assert 'aria-pressed="true"' in card
    assert work(studio).state.labelled.labels == 1
    client.post("/label/one", data={"row": "4", "label": ""})
    assert work(studio).state.labelled.labels == 0
    assert client.post("/label/one", data={"row": "4", "label": "eggs"}).status_code == 422
    assert client.post("/undo").text == "Undone: 1 document: label withdrawn"
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
def hostile(tmp_path: Path, cache: VoteCache) -> Iterator[Any]:
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
