"""Feature files: readable by safetensors, honest about what is written, whole or not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from unruly.errors import InputError
from unruly.features.lsa import Lsa
from unruly.features.stream import FeatureFile, encode_stream, keys_of

TEXTS = [f"a {word} film" for word in ("good", "bad", "long", "short", "dull")]


def test_the_file_is_plain_safetensors(tmp_path: Path) -> None:
    lsa = Lsa(dim=3).fit(TEXTS)
    path = tmp_path / "features.safetensors"
    done = encode_stream(lsa, iter([TEXTS[:2], TEXTS[2:]]), len(TEXTS), path)
    stored = load_file(path)
    assert np.array_equal(stored["values"], lsa.encode(TEXTS))
    assert np.array_equal(stored["keys"], keys_of(TEXTS))
    assert isinstance(done.values, np.memmap)
    assert done.written.all()


@pytest.mark.parametrize(
    ("n", "told"), [(4, "more than the 4 texts"), (6, "6 texts .* but 5 came")]
)
def test_the_wrong_number_of_texts_leaves_no_file(tmp_path: Path, n: int, told: str) -> None:
    lsa = Lsa(dim=3).fit(TEXTS)
    with pytest.raises(InputError, match=told):
        encode_stream(lsa, [TEXTS], n, tmp_path / "features.safetensors")
    assert list(tmp_path.iterdir()) == []


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
    with pytest.raises(InputError, match="not a file of features"):
        FeatureFile.open(tmp_path / "f")
    with pytest.raises(InputError, match="needs rows and columns"):
        FeatureFile.create(tmp_path / "g", 0, 3)


def test_a_full_disk_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("unruly.features.stream._reserve", full)
    with pytest.raises(InputError, match=r"cannot make a file of 0 MB .* No space left"):
        FeatureFile.create(tmp_path / "f", 4, 2)
    assert list(tmp_path.iterdir()) == []
