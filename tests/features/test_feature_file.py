"""Feature files: readable by safetensors, honest about what is written, whole or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from unruly.features.feature_file import FeatureFile, keys_of

TEXTS = [f"a {word} film" for word in ("good", "bad", "long", "short", "dull")]


def test_the_file_is_plain_safetensors(tmp_path: Path) -> None:
    values = np.arange(10, dtype=np.float32).reshape(5, 2)
    file = FeatureFile.create(tmp_path / "f", 5, 2)
    file.write(slice(0, 2), keys_of(TEXTS[:2]), values[:2])
    file.write(np.array([4, 2, 3]), keys_of(TEXTS)[[4, 2, 3]], values[[4, 2, 3]])
    stored = load_file(tmp_path / "f")
    assert np.array_equal(stored["values"], values)
    assert np.array_equal(stored["keys"], keys_of(TEXTS))
    found = FeatureFile.open(tmp_path / "f")
    assert isinstance(found.values, np.memmap)
    assert found.written.all()
    assert found.holds(keys_of(TEXTS), 2)
    assert not found.holds(keys_of(TEXTS), 3)
    assert not found.holds(keys_of(TEXTS[::-1]), 2)


@settings(max_examples=60, deadline=None)
@given(at=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_a_flipped_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    path = tmp_path_factory.mktemp("f") / "f"
    values = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    FeatureFile.create(path, 5, 4).write(slice(0, 5), keys_of(TEXTS), values)
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= flip
    path.write_bytes(bytes(data))
    try:
        found = FeatureFile.open(path)
    except ValueError:
        return
    same = found.values.shape == values.shape and np.array_equal(found.values, values)
    assert same or not found.holds(keys_of(TEXTS), 4)


def test_rows_not_yet_written_are_known(tmp_path: Path) -> None:
    file = FeatureFile.create(tmp_path / "f", 4, 2)
    file.write(np.array([2]), keys_of(["x"]), np.ones((1, 2), dtype=np.float32))
    assert FeatureFile.open(tmp_path / "f").written.tolist() == [False, False, True, False]


def test_keys_depend_on_the_text_alone() -> None:
    keys = keys_of(["a", "b", "a", "", "\ud800"])
    assert np.array_equal(keys[0], keys[2])
    assert len(np.unique(keys, axis=0)) == 4
    assert keys.any(axis=1).all()


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"nonsense" * 9)
    with pytest.raises(ValueError, match="not a file of features"):
        FeatureFile.open(tmp_path / "f")
    with pytest.raises(ValueError, match="needs rows and columns"):
        FeatureFile.create(tmp_path / "g", 0, 3)


def test_a_full_disk_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unruly.features.feature_file._reserve", full)
    with pytest.raises(OSError, match="No space left"):
        FeatureFile.create(tmp_path / "f", 4, 2)
    assert list(tmp_path.iterdir()) == []
