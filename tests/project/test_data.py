"""The files of a project: splits, columns, and clean labels by id."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from unruly.errors import InputError, ProjectError
from unruly.project.data import DataFiles

CLASSES = ("ham", "spam")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.csv").write_text(
        "key,comment,is_spam\na,nice,0\nb,subscribe,1\nc,call me,\n"
    )
    (tmp_path / "test.csv").write_text("key,comment,is_spam\nx,fine,ham\n")
    return tmp_path


FILES = DataFiles(train="train.csv", test="test.csv", text="comment", id="key", label="is_spam")


def test_splits(folder: Path) -> None:
    train = FILES.read("train", folder, CLASSES)
    assert train.ids.to_list() == ["a", "b", "c"]
    assert train.texts.to_list() == ["nice", "subscribe", "call me"]
    assert train.gold is not None
    assert train.gold.tolist() == [0, 1, -1]
    assert len(FILES.read("test", folder, CLASSES)) == 1
    assert [len(batch) for batch in FILES.scan("train", folder, CLASSES)] == [3]


def test_a_split_that_is_not_there(folder: Path) -> None:
    with pytest.raises(
        ProjectError, match=r'names no valid file: add valid = "\.\.\." under \[data\]'
    ):
        FILES.read("valid", folder, CLASSES)
    with pytest.raises(InputError, match="there is no split 'trian': did you mean 'train'"):
        FILES.read("trian", folder, CLASSES)


@pytest.mark.parametrize("name", ["clean.csv", "clean.jsonl", "clean.parquet"])
def test_clean_labels_find_their_documents(folder: Path, name: str) -> None:
    rows = [{"key": "c", "is_spam": "spam"}, {"key": "a", "is_spam": "ham"}]
    frame = pl.DataFrame(rows)
    match Path(name).suffix:
        case ".csv":
            frame.write_csv(folder / name)
        case ".parquet":
            frame.write_parquet(folder / name)
        case _:
            (folder / name).write_text("\n".join(map(json.dumps, rows)))
    files = DataFiles("train.csv", clean=name, text="comment", id="key", label="is_spam")
    corpus = files.read("train", folder, CLASSES)
    assert files.clean_labels(corpus, folder, CLASSES).tolist() == [0, -1, 1]


def test_clean_labels_by_row_number(folder: Path) -> None:
    (folder / "clean.csv").write_text("id,label\n2,1\n")
    files = DataFiles("train.csv", clean="clean.csv", text="comment")
    corpus = files.read("train", folder, CLASSES)
    assert files.clean_labels(corpus, folder, CLASSES).tolist() == [-1, -1, 1]
    pl.DataFrame({"id": [1], "label": [0]}).write_parquet(folder / "clean.parquet")
    files = DataFiles("train.csv", clean="clean.parquet", text="comment")
    assert files.clean_labels(corpus, folder, CLASSES).tolist() == [-1, 0, -1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("key,is_spam\nz,1\n", "there is no document with the id 'z' in .*train.csv"),
        ("key,is_spam\na,1\na,0\n", "clean.csv, line 3: the id 'a' has a label already"),
        ("key,is_spam\na,maybe\n", "clean.csv, line 2: the label 'maybe' is not a class"),
        ("key,label\na,1\n", "clean.csv: there is no column 'is_spam'"),
    ],
)
def test_wrong_clean_labels(folder: Path, text: str, message: str) -> None:
    (folder / "clean.csv").write_text(text)
    files = DataFiles("train.csv", clean="clean.csv", text="comment", id="key", label="is_spam")
    with pytest.raises(InputError, match=message):
        files.clean_labels(files.read("train", folder, CLASSES), folder, CLASSES)


def test_no_clean_labels(folder: Path) -> None:
    with pytest.raises(ProjectError, match="names no file of clean labels"):
        FILES.clean_labels(FILES.read("train", folder, CLASSES), folder, CLASSES)


def test_a_wrench_folder_gives_each_split_and_its_classes_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "youtube"
    folder.mkdir()
    (folder / "label.json").write_text('{"0": "spam", "1": "ham"}')
    for split, text in {"train": "subscribe", "valid": "nice", "test": "fine"}.items():
        row = {"label": 0, "weak_labels": [-1, 0], "data": {"text": text}}
        (folder / f"{split}.json").write_text(json.dumps({"0": row}))
    files = DataFiles(train="youtube", valid="youtube")
    valid = files.read("valid", tmp_path, CLASSES)
    assert valid.texts.to_list() == ["nice"]
    assert valid.gold is not None
    assert valid.gold.tolist() == [1]  # spam, as this project numbers it
    with pytest.raises(InputError, match="the label 'ham' is not a class: classes are spam, eggs"):
        files.read("train", tmp_path, ("spam", "eggs"))
    with pytest.raises(InputError, match="read it whole"):
        files.scan("train", tmp_path, CLASSES)


def test_unlabelled_training_texts_beside_a_labelled_test_file(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,n\na,1\nb,2\n")
    (tmp_path / "test.csv").write_text("text,n,is_spam\na,1,1\nb,2,0\n")
    files = DataFiles(train="train.csv", test="test.csv", label="is_spam")
    assert files.read("train", tmp_path, ("ham", "spam")).gold is None
    assert next(iter(files.scan("train", tmp_path, ("ham", "spam")))).gold is None
    gold = files.read("test", tmp_path, ("ham", "spam")).gold
    assert gold is not None
    assert gold.tolist() == [1, 0]


def test_a_label_column_that_is_misspelt_is_not_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,is_spma\na,1\n")
    files = DataFiles(train="train.csv", label="is_spam")
    with pytest.raises(InputError, match="did you mean 'is_spma'"):
        files.read("train", tmp_path, ("ham", "spam"))
