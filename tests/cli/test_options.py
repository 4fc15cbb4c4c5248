"""What commands share: places for outputs, and what DATA may be."""

from __future__ import annotations

import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Unruly

from unruly.cli.options import STREAM, Data, DataFile, check_output
from unruly.errors import InputError
from unruly.files import TABLES
from unruly.project.project import EncoderSpec, Project


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "A.CSV", "b.tsv", "c.jsonl"])
def test_places_that_will_do(tmp_path: Path, name: str) -> None:
    check_output(tmp_path / name, TABLES)
    (tmp_path / name).write_text("old")
    check_output(tmp_path / name, TABLES)
    assert (tmp_path / name).read_text() == "old"


def test_any_ending_where_none_is_asked_for(tmp_path: Path) -> None:
    check_output(tmp_path / "model.anything")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.xlsx", "cannot write '.xlsx' files: use .parquet, .csv, .tsv, .jsonl or .ndjson"),
        ("a", "cannot write a file without an ending"),
        ("no/a.csv", "does not exist"),
        ("folder.csv", "it is a folder: pass a file"),
        (f"{'a' * 240}.csv", "choose a shorter name"),  # too long for what is written beside it
    ],
)
def test_places_that_will_not(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=message):
        check_output(tmp_path / name, TABLES)


def test_one_ending_alone_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"files: use \.parquet$"):
        check_output(tmp_path / "a.npy", [".parquet"])


def test_a_read_only_folder_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(InputError, match="is read-only"):
        check_output(tmp_path / "a.csv")


CLASSES = ("ham", "spam")


@pytest.fixture
def wrench(tmp_path: Path) -> Path:
    folder = tmp_path / "wrench"
    folder.mkdir()
    (folder / "label.json").write_text('{"0": "ham", "1": "spam"}')
    rows = {"7": ("please do subscribe to us", 1), "8": ("what a lovely song this is", 0)}
    for split in ("train", "valid", "test"):
        plain = {
            key: {"label": label, "weak_labels": [-1], "data": {"text": f"{text}, {split}"}}
            for key, (text, label) in rows.items()
        }
        (folder / f"{split}.json").write_text(json.dumps(plain))
    return folder


def test_a_project_gives_its_file_and_columns_and_options_override(spam: Path) -> None:
    found = Data.of(spam).file("train")
    assert (found.path, found.text, found.label) == (spam / "comments.csv", "comment", "is_spam")
    assert Data.of(spam / "unruly.toml").file("train") == found
    assert Data.of(spam).file("train", text="other").text == "other"
    assert len(found.read(CLASSES, "train")) == 73


def test_the_label_column_is_found_where_it_has_the_usual_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,gold\nx,ham\n")
    assert Data.of(tmp_path / "a.csv").file("test").with_gold().label == "gold"
    (tmp_path / "a.csv").write_text("text,other\nx,ham\n")
    assert Data.of(tmp_path / "a.csv").file("test").with_gold().label is None


def test_a_wrench_folder_can_be_evaluated_and_predicted(
    unruly: Unruly, fitted: Path, wrench: Path
) -> None:
    done = unruly("evaluate", fitted, wrench, "--split", "valid", "--json")
    assert json.loads(done.out)["all"]["model"]["documents"] == 2
    assert unruly("predict", fitted, wrench, "-o", "out.csv").code == 0
    out = pl.read_csv("out.csv")
    assert out["text"].to_list()[0].endswith(", test")
    assert out.columns[:3] == ["id", "text", "label"]


def test_scoring_needs_a_label_column_and_says_how_to_name_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("comment,is_spam\nhello,0\n")
    with pytest.raises(InputError, match=r"with --label \(columns are comment, is_spam\)"):
        Data.of(tmp_path / "a.csv").file("test").with_gold(required=True)
    named = Data.of(tmp_path / "a.csv").file("test", label="is_spam")
    assert named.with_gold(required=True).label == "is_spam"


@pytest.mark.parametrize(
    ("content", "label", "told"),
    [
        ("ticket_id,label\nT-1,ham\n", None, r"not obvious: .* \(one of ticket_id, label\); labels by id"),
        ("user,label\nann,ham\n", None, r"not obvious: .* \(one of user, label\); labels by id"),
        ("number,label\n1,ham\n", None, r"beside label no column holds text: .* --import"),
        ("ticket_id,outcome\nT-1,ham\n", "outcome", r"no column holds text: .* --import"),
        ("comment,label\nx,ham\n", "nope", r"there is no column 'nope' \(asked for by label"),
        ("comment,label\nx,ham\n", "lable", r"did you mean 'label'\?"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused(
    content: str, label: str | None, told: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(InputError, match=told):
        Data.of(tmp_path / "a.csv").file("test", label=label).with_gold(required=True)


def test_the_label_that_was_named_is_not_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("phrase,feeling\nso good,ham\n")
    assert Data.of(tmp_path / "a.csv").file("test", label="feeling").with_gold().text == "phrase"
    with pytest.raises(InputError, match="not obvious"):
        Data.of(tmp_path / "a.csv").file("test").with_gold()


def test_bad_rows_are_skipped_where_the_label_column_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,gold\nx,ham\ny\n")
    found = Data.of(tmp_path / "a.csv", "skip").file("test").with_gold(required=True)
    assert len(found.read(CLASSES).skipped) == 1


def test_the_rows_that_a_project_skips_are_skipped(spam: Path) -> None:
    file = spam / "unruly.toml"
    file.write_text(file.read_text().replace("[data]", '[data]\non_bad_row = "skip"'))
    assert Data.of(spam, "keep").file("train").on_bad_row == "skip"
    assert Data.of(spam, "error").file("train").on_bad_row == "error"


def test_a_wrong_word_for_bad_rows_is_refused(spam: Path) -> None:
    with pytest.raises(InputError, match="on_bad_row = 'drop': must be one of"):
        Data.of(spam / "comments.csv", "drop").file("test")


def test_a_wrench_folder_names_its_own_columns(wrench: Path) -> None:
    with pytest.raises(InputError, match="leave out --text, --id and --label"):
        Data.of(wrench).file("test", label="gold")


@pytest.mark.parametrize("data", [b'[{"text": "hello"}]', b"text\nhello\n"])
def test_what_comes_by_standard_input_is_called_so(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    with DataFile(STREAM, None, None, None).stream(["ham", "spam"], live=True) as stream:
        assert [batch.name for batch in stream] == ["standard input"]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("evaluate", ()),
        ("predict", ("-o", "labelled.csv")),
        ("report", ("-o", "page.html")),
    ],
)
def test_a_project_is_read_once(
    command: str,
    more: tuple[str, ...],
    unruly: Unruly,
    spam: Path,
    fitted: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Path] = []
    whole = Project.read

    def counted(path: Path, encoder: EncoderSpec | None = None) -> Project:
        read.append(path)
        return whole(path, encoder)

    monkeypatch.setattr(Project, "read", counted)
    text = (spam / "unruly.toml").read_text()
    (spam / "unruly.toml").write_text(text.replace("train = ", 'test = "comments.csv"\ntrain = '))
    done = unruly(command, fitted, spam, *more)
    assert (done.code, read) == (0, [spam]), done.err
