"""Where weights are looked for, that the wrong ones are refused, and batches of texts of one length."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.features import pretrained
from unruly.features.pretrained import batches, clean


def snapshot(hub: Path, revision: str, *files: str) -> Path:
    folder = hub / "models--a--b" / "snapshots" / revision
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).write_text("x")
    return folder


def test_the_hub_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert pretrained.hub_folder() == Path.home() / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert pretrained.hub_folder() == tmp_path / "x" / "huggingface" / "hub"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "y"))
    assert pretrained.hub_folder() == tmp_path / "y" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "z"))
    assert pretrained.hub_folder() == tmp_path / "z"


def test_the_newest_copy_that_is_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    old = snapshot(tmp_path, "old", "a", "b")
    new = snapshot(tmp_path, "new", "a", "b")
    newest = snapshot(tmp_path, "newest", "a")
    for age, folder in enumerate((newest, new, old)):
        os.utime(folder, (10_000 - age, 10_000 - age))
    assert pretrained.cached("a/b", ("a", "b")) == new
    assert pretrained.cached("a/b", ("a", "c")) is None


def test_a_folder_in_an_installed_package() -> None:
    found = pretrained.in_wheel("unruly", "features")
    assert found is not None
    assert (found / "pretrained.py").is_file()
    assert pretrained.in_wheel("unruly", "no_such_folder") is None


def test_nothing_is_downloaded_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: pytest.fail("looked further"))
    assert pretrained.downloaded("a/b", ("a",)) is None


def test_a_download_that_fails_is_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_: object, **__: object) -> str:
        raise OSError("no network")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    monkeypatch.setattr(hub, "snapshot_download", fail)
    monkeypatch.setattr(pretrained, "on_hub", lambda name: True)
    assert pretrained.downloaded("a/b", ("a",)) is None


def test_hashes(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    pretrained.check_hash(tmp_path / "w", right)
    with pytest.raises(
        InputError, match=f"SHA-256 is {right}, not the official abc, so the file is refused"
    ):
        pretrained.check_hash(tmp_path / "w", "abc")


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 100))
def test_every_row_once_one_length_a_batch(lengths: list[int], budget: int) -> None:
    found = batches(lengths, budget)
    assert sorted(row for batch in found for row in batch.tolist()) == list(range(len(lengths)))
    for batch in found:
        sizes = {lengths[row] for row in batch}
        assert len(sizes) == 1
        assert len(batch) == 1 or len(batch) * sizes.pop() <= budget


@given(st.text(alphabet=st.characters(), max_size=20))
def test_cleaned_texts_can_be_written(text: str) -> None:
    clean(text).encode()
    assert len(clean(text)) == len(text)
