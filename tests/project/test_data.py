"""The files of a project: splits and columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unruly.errors import InputError, ProjectError
from unruly.project.project import DataFiles

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
        ProjectError, match=r'has no valid file: set valid = "\.\.\." under \[data\]'
    ):
        FILES.read("valid", folder, CLASSES)
    with pytest.raises(InputError, match="there is no split 'trian': did you mean 'train'"):
        FILES.read("trian", folder, CLASSES)


def test_a_file_named_from_the_wrong_folder_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "project").mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(ProjectError, match=r'write train = "\.\./train\.csv" for train\.csv'):
        FILES.read("train", Path("project"), CLASSES)


def test_a_file_beside_the_project_is_called_by_its_short_path(folder: Path) -> None:
    (folder / "project").mkdir()
    files = DataFiles(train="../train.csv")
    assert files.path("train", folder / "project") == folder / "train.csv"
    (folder / "elsewhere" / "deep").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "elsewhere" / "deep")
    (folder / "elsewhere" / "train.csv").write_text("comment\nother\n")
    assert files.path("train", folder / "link").read_text() == "comment\nother\n"


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


def test_the_label_column_of_the_test_file_may_have_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,gold\na,ham\nb,spam\n")
    (tmp_path / "test.csv").write_text("text,true_class\na,spam\n")
    files = DataFiles("train.csv", test="test.csv", label="gold", test_label="true_class")
    for split, expected in (("train", [0, 1]), ("test", [1])):
        for corpus in (
            files.read(split, tmp_path, ("ham", "spam")),
            next(iter(files.scan(split, tmp_path, ("ham", "spam")))),
        ):
            assert corpus.gold is not None
            assert corpus.gold.tolist() == expected
