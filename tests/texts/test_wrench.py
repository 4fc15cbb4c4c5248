"""Folders in WRENCH's layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.wrench import read_wrench

ITEMS = {
    "0": {"label": 1, "weak_labels": [-1, 1], "data": {"text": "buy now", "video": 3}},
    "1": {"label": 0, "weak_labels": [0, -1], "data": {"text": "nice", "video": 4}},
}


def folder_of(
    tmp_path: Path, items: object = ITEMS, labels: object = None, meta: object = None
) -> Path:
    (tmp_path / "train.json").write_text(json.dumps(items))
    (tmp_path / "label.json").write_text(json.dumps(labels or {"0": "HAM", "1": "SPAM"}))
    if meta is not None:
        (tmp_path / "meta.json").write_text(json.dumps(meta))
    return tmp_path


def test_documents_gold_and_votes(tmp_path: Path) -> None:
    split = read_wrench(
        folder_of(tmp_path, meta={"label_names": ["HAM", "SPAM"], "lf_names": ["a", "b"]})
    )
    assert split.corpus.texts.to_list() == ["buy now", "nice"]
    assert split.corpus.ids.to_list() == [0, 1]
    assert split.corpus.columns.to_dict(as_series=False) == {"video": [3, 4]}
    assert split.corpus.gold is not None
    assert split.corpus.gold.tolist() == [1, 0]
    assert split.votes.tolist() == [[-1, 1], [0, -1]]
    assert split.sources == ("a", "b")
    assert split.classes == ("HAM", "SPAM")
    assert Corpus.read(tmp_path).texts.equals(split.corpus.texts)


@pytest.mark.parametrize(
    ("meta", "names"),
    [
        ({"entity_types": ["x", "y"], "lf_names": ["a", "b"]}, ("a", "b")),
        ({"label_names": ["x", "y"], "lf_names": ["x", "y"]}, ("x", "y")),
        ({"lf_names": ["a"], "lfs": ["x", "y"]}, ("x", "y")),
        ({"lf_names": ["a", "a"], "label_names": ["x", "y"]}, ("source_0", "source_1")),
    ],
)
def test_the_names_of_sources(meta: object, names: tuple[str, ...], tmp_path: Path) -> None:
    assert read_wrench(folder_of(tmp_path, meta=meta)).sources == names


def test_columns_that_are_called_as_ours_keep_apart(tmp_path: Path) -> None:
    data = {"text": "t", "id": 7, "data_id": 8, "label": "x"}
    items = {"0": {"label": 1, "weak_labels": [], "data": data}}
    columns = read_wrench(folder_of(tmp_path, items)).corpus.columns
    assert columns.to_dicts() == [{"data_id_": 7, "data_id": 8, "data_label": "x"}]


def test_a_split_without_gold_has_none(tmp_path: Path) -> None:
    items = {"a": {"label": -1, "weak_labels": [0], "data": {"text": "x"}}}
    split = read_wrench(folder_of(tmp_path, items))
    assert split.corpus.gold is None
    assert split.corpus.ids.to_list() == ["a"]
    assert split.sources == ("source_0",)


@pytest.mark.parametrize(
    ("items", "labels", "expected"),
    [
        ({"0": {"label": 5, "weak_labels": [0], "data": {"text": "x"}}}, None, "row id '0': the label 5 is not a class"),
        ({"0": {"label": 0, "weak_labels": [0], "data": {"text": 7}}}, None, "row id '0': data.text is 7, not a string"),
        ({"0": {"label": 0}}, None, "row id '0': expected"),
        ({**ITEMS, "2": {"label": 0, "weak_labels": [0], "data": {"text": "x"}}}, None, "row id '2': 1 vote, but the first entry has 2"),
        ({"0": {"label": 0, "weak_labels": 5, "data": {"text": "x"}}}, None, "row id '0': weak_labels must be a list"),
        ({"0": {"label": 0, "weak_labels": [10**20], "data": {"text": "x"}}}, None, "row id '0': weak_labels must be a list"),
        ([], None, "expected one JSON object of documents, found a list"),
        ({}, None, "the split is empty"),
        (ITEMS, {"1": "HAM", "2": "SPAM"}, "label.json: expected class numbers from 0"),
    ],
)  # fmt: skip
def test_broken_folders(tmp_path: Path, items: object, labels: object, expected: str) -> None:
    with pytest.raises(InputError, match=expected.replace("(", r"\(")):
        read_wrench(folder_of(tmp_path, items, labels))


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"not a folder in WRENCH's layout \(no label.json in it\)"
    ):
        Corpus.from_wrench(tmp_path)
    with pytest.raises(InputError, match="there is no such split: splits are train"):
        Corpus.from_wrench(folder_of(tmp_path), "valid")
    (tmp_path / "train.json").write_text('{"0": ')
    with pytest.raises(InputError, match=r"train.json, line 1: not JSON \(column 7"):
        Corpus.from_wrench(tmp_path)
