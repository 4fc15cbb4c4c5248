"""The starter folder works at once, and so does a project for a file of texts; neither overwrites anything."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError, UnrulyError
from unruly.project.new import STARTER_FILES, look_at, make_starter, new_project
from unruly.project.project import Project


def test_it_is_a_project_that_votes(tmp_path: Path) -> None:
    project = Project.read(make_starter(tmp_path / "spam"))
    corpus = project.corpus("train")
    votes = project.sources.vote(corpus)
    assert 40 <= len(corpus) <= 100
    assert corpus.gold is not None
    assert set(corpus.gold.tolist()) == {0, 1}
    assert votes.voted.any(axis=0).all(), "a source of the starter never votes"
    assert 0.6 < votes.coverage < 1
    counts = votes.counts()
    assert ((counts > 0).sum(axis=1) > 1).any(), "no two sources disagree"


def test_its_readme_names_it(tmp_path: Path) -> None:
    readme = (make_starter(tmp_path / "mine") / "README.md").read_text()
    assert "unruly check mine" in readme
    assert "{" not in readme


def test_a_folder_that_exists_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "spam").mkdir()
    (tmp_path / "spam" / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match="spam exists already: choose another name"):
        make_starter(tmp_path / "spam")
    assert [p.name for p in (tmp_path / "spam").iterdir()] == ["precious.txt"]


def test_nothing_half_made_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unruly.project.new.STARTER_FILES", (*STARTER_FILES, "missing"))
    with pytest.raises(FileNotFoundError):
        make_starter(tmp_path / "spam")
    assert list(tmp_path.iterdir()) == []


ROWS = """ticket_id,when,body text,status
1,2024-01-02,"my invoice, is wrong",billing
2,2024-01-02,the app crashes,technical_fault
3,,"thanks, a technical fault is gone",technical_fault
4,,billing again,billing
"""


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "tickets.csv"
    path.parent.mkdir()
    path.write_text(ROWS)
    return path


def test_a_project_for_a_file_finds_its_texts_and_votes_by_the_names(
    tickets: Path, tmp_path: Path
) -> None:
    made = new_project(tmp_path / "mine", tickets, ("billing", "technical_fault"))
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["unruly.toml"]
    project = Project.read(tmp_path / "mine")
    assert project.data == made.data
    assert (project.data.train, project.data.text) == ("../data/tickets.csv", "body text")
    assert (project.data.id, project.data.label) == ("ticket_id", None)
    votes = project.sources.vote(project.corpus())
    assert votes.ids.to_list() == [1, 2, 3, 4]
    assert votes.matrix.tolist() == [[-1, -1], [-1, -1], [-1, 1], [0, -1]]


def test_the_classes_are_those_of_the_labels_where_nobody_names_them(
    tickets: Path, tmp_path: Path
) -> None:
    project = new_project(tmp_path / "mine", tickets, label="status", text="body text")
    assert project.classes == ("billing", "technical_fault")
    gold = project.corpus().gold
    assert gold is not None
    assert gold.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("classes", "text", "label", "message"),
    [
        (
            (),
            None,
            None,
            r"name them by --classes a,b,c; .* by --label: status \(billing, technical_fault\)",
        ),
        (("a", "b"), "bdy", None, "there is no column 'bdy'"),
        ((), None, "stats", "did you mean 'status'"),
        (("billing", "praise"), None, "status", "'technical_fault' is not a class"),
        (("a", " "), None, None, "2 to 127 classes, not 1"),
    ],
)
def test_what_cannot_become_a_project_leaves_nothing(
    tickets: Path,
    tmp_path: Path,
    classes: tuple[str, ...],
    text: str | None,
    label: str | None,
    message: str,
) -> None:
    with pytest.raises(UnrulyError, match=message):
        new_project(tmp_path / "mine", tickets, classes, text=text, label=label)
    assert not (tmp_path / "mine").exists()


def data_section(folder: Path, rows: list[str], text: str | None = None) -> list[str]:
    """The lines below [data] of a project for these rows."""
    data = folder / "rows.csv"
    data.write_text("\n".join(rows) + "\n")
    new_project(folder / "mine", data, ("good", "bad"), text=text)
    section = (folder / "mine" / "unruly.toml").read_text("utf-8").split("[data]\n")[1]
    return section.split("\n\n")[0].splitlines()


@pytest.mark.parametrize(
    "name", ["id", "ticket_id", "orderID", "Kundennr", "Auftrags-Nr.", "Bestellnummer", "key", "Case Number"]
)  # fmt: skip
def test_a_column_called_like_ids_is_the_id(name: str, tmp_path: Path) -> None:
    rows = [f"K-{row},it is good {row % 3}" for row in range(9)]
    lines = data_section(tmp_path, [f"{name},comment", *rows])
    assert lines[2].startswith(f'id = "{name}"   # no value stands there twice')
    assert Project.read(tmp_path / "mine").corpus().ids.to_list()[:2] == ["K-0", "K-1"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("paid", "K-{}"),
        ("valid", "{}"),
        ("phone_number", "0170{}"),
        ("ticket_id", "{}.5"),  # ids are strings or whole numbers
        ("ticket_id", ""),
    ],
)
def test_what_is_no_id_is_none(name: str, value: str, tmp_path: Path) -> None:
    rows = [f"{value.format(100 + row)},it is good" for row in range(9)]
    assert len(data_section(tmp_path, [f"{name},comment", *rows])) == 2


def test_an_id_that_is_there_twice_far_below_is_none(tmp_path: Path) -> None:
    rows = [f"{row},it is good" for row in [*range(21_000), 7]]
    assert len(data_section(tmp_path, ["id,comment", *rows])) == 2


@pytest.mark.parametrize(
    ("value", "offered"), [("V{:03}", True), ("{}", True), ("2024-01-{:02}", False)]
)
def test_codes_under_another_name_are_offered(value: str, offered: bool, tmp_path: Path) -> None:
    rows = [f"{value.format(row)},it is good" for row in range(1, 25)]
    lines = data_section(tmp_path, ["thing,comment", *rows])
    assert lines[2:] == (
        ['# id = "thing"   # no value stands there twice: if it names the document, take it']
        if offered
        else []
    )


@pytest.mark.parametrize(
    "rows", [["a,b", "1,2", "3,4"], ["text,b", "1,2"], ["when,n", "2024-01-02,1"], ["id,n", "ab12,1"]]
)  # fmt: skip
def test_a_table_without_texts_becomes_no_project(rows: list[str], tmp_path: Path) -> None:
    names = rows[0].replace(",", ", ")
    with pytest.raises(
        InputError, match=rf"no column holds text \(columns are {names}\): add the column"
    ):
        data_section(tmp_path, rows)
    assert not (tmp_path / "mine").exists()
    assert 'text = "' + rows[0][0] in data_section(tmp_path, rows, text=rows[0].split(",")[0])[1]


@given(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).map(str.strip).filter(bool),
        min_size=2,
        max_size=5,
        unique_by=str.casefold,
    )
)
def test_any_names_of_classes_are_written_as_they_are(classes: list[str]) -> None:
    with TemporaryDirectory() as room:
        data = Path(room) / "texts.csv"
        data.write_text("text\nhello\n")
        try:
            made = new_project(Path(room) / "mine", data, classes)
        except UnrulyError:
            assert not (Path(room) / "mine").exists()
            return
        assert made.classes == tuple(classes)
        assert Project.read(Path(room) / "mine").classes == made.classes


def test_a_project_for_a_wrench_folder_takes_its_classes_and_splits(tmp_path: Path) -> None:
    folder = tmp_path / "mails"
    folder.mkdir()
    (folder / "label.json").write_text('{"0": "ham", "1": "spam"}')
    for split, text in {"train": "no ham", "test": "spam"}.items():
        row = {"label": 1, "weak_labels": [-1], "data": {"text": text}}
        (folder / f"{split}.json").write_text(json.dumps({"0": row}))
    project = new_project(tmp_path / "mine", folder)
    files = project.data
    assert (files.train, files.valid, files.test) == ("../mails", None, "../mails")
    assert (files.text, files.id, files.label) == (None, None, None)
    assert project.sources.vote(project.corpus("test")).matrix.tolist() == [[-1, 1]]
    assert new_project(tmp_path / "other", folder, ("spam", "ham")).classes == ("spam", "ham")
    with pytest.raises(InputError, match="its classes are ham, spam: leave out --classes"):
        new_project(tmp_path / "a", folder, ("spam", "eggs"))
    with pytest.raises(InputError, match="leave out --text and --label"):
        new_project(tmp_path / "a", folder, label="label")
    with pytest.raises(InputError, match="make a project for it"):
        look_at(folder)
