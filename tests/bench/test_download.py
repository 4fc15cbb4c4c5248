"""The published data sets, fetched from a hub that a test plays."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.bench.tiny_wrench import write_tiny

from unruly.bench.datasets import folder_of
from unruly.bench.download import download
from unruly.errors import InputError


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
