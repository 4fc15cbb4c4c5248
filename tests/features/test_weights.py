"""Where weights are looked for, and that the wrong ones are refused."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.features import weights


def snapshot(hub: Path, revision: str, *files: str) -> Path:
    folder = hub / "models--a--b" / "snapshots" / revision
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).write_text("x")
    return folder


def test_the_hub_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert weights.hub_folder() == Path.home() / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert weights.hub_folder() == tmp_path / "x" / "huggingface" / "hub"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "y"))
    assert weights.hub_folder() == tmp_path / "y" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "z"))
    assert weights.hub_folder() == tmp_path / "z"


def test_the_newest_copy_that_is_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    old = snapshot(tmp_path, "old", "a", "b")
    new = snapshot(tmp_path, "new", "a", "b")
    newest = snapshot(tmp_path, "newest", "a")
    for age, folder in enumerate((newest, new, old)):
        os.utime(folder, (10_000 - age, 10_000 - age))
    assert weights.cached("a/b", ("a", "b")) == new
    assert weights.cached("a/b", ("a", "c")) is None


def test_a_folder_in_an_installed_package() -> None:
    found = weights.in_wheel("unruly", "features")
    assert found is not None
    assert (found / "weights.py").is_file()
    assert weights.in_wheel("unruly", "no_such_folder") is None


def test_nothing_is_downloaded_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: pytest.fail("looked further"))
    assert weights.downloaded("a/b", ("a",)) is None


def test_a_download_that_fails_is_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_: object, **__: object) -> str:
        raise OSError("no network")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    monkeypatch.setattr(hub, "snapshot_download", fail)
    assert weights.downloaded("a/b", ("a",)) is None


def test_hashes(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    weights.check_hash(tmp_path / "w", right)
    with pytest.raises(
        InputError, match=f"SHA-256 {right}, not the official abc, so they are refused"
    ):
        weights.check_hash(tmp_path / "w", "abc")
