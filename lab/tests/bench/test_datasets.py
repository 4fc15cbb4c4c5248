"""Data sets: read, cut, fetched."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from lab.tests.bench.handmade import write_tiny

from unruly.errors import InputError
from unruly.features.cache import FeatureCache
from unruly.votes.votes import Votes
from unruly_lab.bench.data_statistics import DatasetFacts, read_facts, write_facts
from unruly_lab.bench.datasets import Folder, download, folder_of
from unruly_lab.bench.runs import GIVEN


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return folder_of(write_tiny(tmp_path / "tiny").parent, "tiny")


def test_true_labels_stand_apart_from_the_documents(folder: Folder, tmp_path: Path) -> None:
    dataset = folder.load("lsa", cache=FeatureCache(tmp_path / "cache"))
    assert dataset.sizes == (60, 20, 24)
    for split in (dataset.train, dataset.valid, dataset.test):
        assert split is not None
        assert split.documents.corpus.gold is None
        assert sorted(set(split.gold.tolist())) == [0, 1]


def test_rows_are_drawn_by_chance_and_always_the_same(folder: Folder, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "cache")
    one, two = folder.load("lsa", 20, cache), folder.load("lsa", 20, cache)
    ids = one.train.documents.corpus.ids.to_list()
    assert one.sizes == (20, 20, 24)
    assert ids == two.train.documents.corpus.ids.to_list() == sorted(ids)
    assert set(one.train.gold.tolist()) == {0, 1}  # the file is sorted by class
    whole = Votes.from_wrench(folder.path, "train")
    assert (one.train.documents.votes.matrix == whole.matrix[ids]).all()


def test_another_draw_takes_other_documents_of_both_splits(folder: Folder, tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "cache")
    zero, one, again = (folder.load("lsa", 10, cache, draw=draw) for draw in (0, 1, 1))
    ids = [s.train.documents.corpus.ids.to_list() for s in (zero, one, again)]
    assert ids[0] != ids[1] == ids[2]
    assert zero.valid is not None
    assert one.valid is not None
    assert zero.valid.documents.corpus.ids.to_list() != one.valid.documents.corpus.ids.to_list()


def test_features_of_the_folder_are_taken_row_by_row(folder: Folder) -> None:
    for split, n in (("train", 60), ("valid", 20), ("test", 24)):
        np.save(folder.path / f"{split}_features.npy", np.arange(n, dtype=np.float32)[:, None])
    assert folder.brings_features
    dataset = folder.load(GIVEN, 20)
    values = dataset.train.documents.features.matrix()[:, 0].astype(int).tolist()
    assert values == dataset.train.documents.corpus.ids.to_list()


def test_the_digest_is_of_all_that_a_run_reads(folder: Folder) -> None:
    before = folder.digest()
    assert before == folder.digest()
    np.save(folder.path / "train_features.npy", np.zeros((60, 1)))
    with_features = folder.digest()
    path = folder.path / "test.json"
    path.write_text(path.read_text("utf-8").replace("number", "numeral"), "utf-8")
    assert len({before, with_features, folder.digest()}) == 3


def test_a_data_set_that_is_not_there_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"jieyuz2/WRENCH; --download fetches imdb"):
        folder_of(tmp_path, "imdb")


def test_test_documents_without_labels_are_refused(folder: Folder, tmp_path: Path) -> None:
    path = folder.path / "test.json"
    items = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({k: {**v, "label": -1} for k, v in items.items()}), "utf-8")
    with pytest.raises(InputError, match="no labels to score against"):
        folder.load("lsa", cache=FeatureCache(tmp_path / "cache"))


def test_facts_by_hand(tmp_path: Path) -> None:
    votes = Votes.from_array([[0, 1], [0, -1], [-1, -1], [1, 1]], sources=["a", "b"])
    facts = DatasetFacts.of("hand", (4, 0, 2), votes, np.array([0, 1, 1, 1]))
    assert (facts.coverage, facts.balance) == (0.75, (0.25, 0.75))
    assert facts.precision == 3 / 5  # right: 0 by a, 1 by a, 1 by b
    assert facts.majority == 0.5  # a tie, a wrong one, a right one
    assert [(s.name, s.coverage) for s in facts.sources] == [("a", 0.75), ("b", 0.5)]
    assert [s.accuracy for s in facts.sources] == [2 / 3, 0.5]
    write_facts(tmp_path / "datasets.json", [facts])
    assert read_facts(tmp_path / "datasets.json") == (facts,)


class Hub(ModuleType):
    """Lists and hands out the files of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__("huggingface_hub")
        self.folder, self.reachable = folder, True

    def list_repo_files(self, repository: str, *, repo_type: str) -> list[str]:
        assert (repository, repo_type) == ("jieyuz2/WRENCH", "dataset")
        if not self.reachable:
            raise ConnectionError("no route\nto host")
        return [
            p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file()
        ]

    def hf_hub_download(self, repository: str, filename: str, *, repo_type: str) -> str:
        return str(self.folder / filename)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Hub(tmp_path / "hub")
    write_tiny(tmp_path / "hub" / "classification" / "tiny")
    monkeypatch.setitem(sys.modules, "huggingface_hub", made)
    return made


def test_a_folder_of_files(hub: Hub, tmp_path: Path) -> None:
    (hub.folder / "classification" / "tiny" / "notes.txt").write_text("not data")
    download(tmp_path / "data", "tiny")
    folder = folder_of(tmp_path / "data", "tiny")
    assert folder.splits == ("train", "valid", "test")
    assert not (folder.path / "notes.txt").exists()


def test_a_zip_file(hub: Hub, tmp_path: Path) -> None:
    source = hub.folder / "classification" / "tiny"
    with zipfile.ZipFile(hub.folder / "other.zip", "w") as archive:
        for path in source.iterdir():
            archive.write(path, f"../deep/other/{path.name}")
    download(tmp_path / "data", "other")
    assert folder_of(tmp_path / "data", "other").splits == ("train", "valid", "test")
    assert not (tmp_path / "deep").exists()


def test_without_a_network_nothing_is_left_behind(hub: Hub, tmp_path: Path) -> None:
    hub.reachable = False
    with pytest.raises(InputError, match=r"cannot be reached .*\(no route to host\)"):
        download(tmp_path / "data", "tiny")
    assert not (tmp_path / "data").exists()


def test_a_name_that_the_hub_does_not_have(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data set 'trec': it has tiny"):
        download(tmp_path / "data", "trec")
