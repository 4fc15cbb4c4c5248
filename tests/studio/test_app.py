"""From a file of texts to a project, and what every page polls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import ACCESS, client_of

from unruly.errors import InputError
from unruly.project.new import begin_project, look_at, project_of
from unruly.rules.matching import VoteCache
from unruly.studio.app import Studio
from unruly.studio.server import serve
from unruly.studio.training import JobStatus


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "reviews.csv"
    rows = [f"{i},review number {i},{'good' if i % 2 else 'bad'}" for i in range(20)]
    path.write_text("\n".join(["key,review,stars", *rows]) + "\n")
    return path


@pytest.fixture
def new(data: Path, cache: VoteCache) -> Iterator[Any]:
    with client_of(Studio(ACCESS, data=data)) as client:
        yield client


def test_looks_at_a_file(data: Path) -> None:
    look = look_at(data)
    assert (look.rows, look.text) == (20, "review")
    assert look.columns[2].kinds == ("bad", "good")
    assert look.id == "key"


def test_proposes_ids_and_offers_as_classes_what_may_be_some(tmp_path: Path) -> None:
    path = tmp_path / "tickets.csv"
    rows = [
        f"{i},t{i % 50},the parcel number {i},{(i * 7) % 50},user{i % 40},{'ab'[i % 2]},{i % 2}"
        for i in range(600)
    ]
    header = "ticket_id,not_an_id,comment,likes,author,queue,urgent"
    path.write_text("\n".join([header, *rows]) + "\n")
    look = look_at(path)
    assert look.id == "ticket_id"
    offered = {column.name: column.kinds for column in look.columns if column.kinds}
    assert offered == {"queue": ("a", "b"), "urgent": ("0", "1")}
    path.write_text("\n".join([header, *rows, rows[0]]) + "\n")
    assert look_at(path).id is None, "a value stands there twice"


def test_where_no_name_tells_the_longest_texts_are_proposed(tmp_path: Path) -> None:
    path = tmp_path / "news.csv"
    path.write_text(
        "place,published,headline\nOslo,2024-01-01,a long winter begins\nRome,2024-01-02,\n"
    )
    assert look_at(path).text == "headline"


def test_the_proposed_id_is_chosen_on_the_page(new: Any) -> None:
    assert "<option selected>key</option>" in new.get("/start").text


def test_a_column_that_may_name_the_rows_is_offered_for_the_ids(tmp_path: Path) -> None:
    path = tmp_path / "enquiries.csv"
    rows = "".join(f"Q{100 + i},can I renew the book number {i}\n" for i in range(30))
    path.write_text(f"ticket,question\n{rows}")
    with client_of(Studio(ACCESS, data=path)) as client:
        page = client.get("/start").text
        assert '<option value="ticket">ticket (all values differ)</option>' in page
        given = {"text": "question", "classes": "loans\nother", "id": "ticket"}
        assert client.post("/start", data=given).status_code < 400
    assert 'id = "ticket"' in (tmp_path / "unruly.toml").read_text()


@pytest.mark.parametrize(("name", "text"), [("data.csv", "text,label\n"), ("app.py", "print(1)\n")])
def test_what_cannot_be_a_file_of_texts_is_refused_before_there_is_a_page(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=r"no row|are not read"):
        serve(path, opened=False, ready=lambda link: pytest.fail("a page was opened"))


def test_asks_and_makes_the_project(new: Any, data: Path) -> None:
    page = new.get("/documents")
    assert "A project from reviews.csv" in page.text
    assert "Use these as classes" in page.text
    answer = new.post("/start", data={"text": "review", "classes": "good\nbad", "id": "key"})
    assert answer.url.path == "/documents"
    assert "1–20 of 20" in answer.text
    text = (data.parent / "unruly.toml").read_text()
    assert 'train = "reviews.csv"' in text
    assert 'id = "key"' in text
    assert project_of(data) == data.parent / "unruly.toml"


def test_says_what_is_wrong_and_keeps_what_was_typed(new: Any, data: Path) -> None:
    answer = new.post("/start", data={"text": "review", "classes": "good"})
    assert answer.status_code == 422
    assert ">good</textarea>" in answer.text
    assert new.post("/start", data={"text": "nowhere", "classes": "a,b"}).status_code == 422
    assert not (data.parent / "unruly.toml").exists()


def test_never_overwrites_a_project(data: Path) -> None:
    other = data.parent / "unruly.toml"
    other.write_text('[task]\nclasses = ["a", "b"]\n[data]\ntrain = "other.csv"\n')
    made = begin_project(data, ("good", "bad"), text="review")
    assert made == data.parent / "reviews" / "unruly.toml"
    assert 'train = "../reviews.csv"' in made.read_text()
    assert "other.csv" in other.read_text()


def test_status_tells_of_edits_from_outside(client: Any, folder: Path) -> None:
    assert client.get("/status").json()["outside"] is False
    file = folder / "unruly.toml"
    file.write_text(file.read_text() + "# theirs\n")
    assert client.get("/status").json()["outside"] is True
    assert "+# theirs" in client.get("/outside").text
    assert client.post("/outside").url.path == "/rules"
    assert client.get("/status").json()["outside"] is False
    assert client.get("/status").json()["undo"] == "unruly.toml: edited outside"


def test_labels_of_others_are_taken_over(client: Any, folder: Path) -> None:
    (folder / "labels.csv").write_text("id,label\n3,spam\n")
    assert client.get("/status").json()["labels_outside"] == 1
    assert "Label now" in client.get("/outside").text
    assert client.post("/outside/labels").url.path == "/documents"
    assert client.get("/status").json()["labels_outside"] == 0


def test_messages_are_sentences_and_keep_their_names(new: Any, studio: Studio) -> None:
    given = {"text": "review", "classes": "good\ngood"}
    assert "The class &#39;good&#39; is listed twice" in new.post("/start", data=given).text
    with client_of(studio) as client:
        refused = client.post(
            "/label/one", data={"row": "0", "label": "x"}, headers={"x-part": "1"}
        )
        assert refused.text.startswith("'x' is not a class")
        missing = client.get("/out/labelled.csv", headers={"x-part": "1"}).text
        assert missing == "'labelled.csv' does not exist: make it first"
    shown = studio.render("_job.html", {"job": JobStatus("applying First to all documents")})
    assert "Applying First to all documents" in shown, "names keep their capitals"


def test_the_first_page_imports_neither_scipy_nor_models(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from unruly.studio.app import *;"
        f"studio = Studio(Access('secret', 1)); studio.open(Path({str(folder)!r}));"
        "page = documents.listing(studio, PageRequest({}, {}, {}, {}, ''));"
        "assert page.status_code == 200;"
        "heavy = ('scipy', 'unruly.model.weak_classifier', 'unruly.report.facts', 'unruly.denoising.em');"
        "print([name for name in heavy if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
