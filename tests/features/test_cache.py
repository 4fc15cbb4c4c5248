"""The cache: nothing is encoded twice, whoever asks, and nothing is lost when a run is stopped."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.cache import Cache
from unruly.features.lsa import Lsa
from unruly.progress import SILENT, Progress


@dataclass
class Counting:
    """Encodes a text as its length and first letter, and remembers what it was given."""

    identity: str = "counting-1"
    stop_after: int = 10**9
    given: list[str] = field(default_factory=list)
    name: str = "counting"
    width: int = 2

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        if len(self.given) + len(texts) > self.stop_after:
            raise KeyboardInterrupt
        self.given += texts
        return np.array([expected(text) for text in texts], dtype=np.float32)

    def save(self, folder: Path) -> None: ...


def expected(text: str) -> tuple[float, float]:
    return float(len(text)), float(ord(text[0])) if text else 0.0


def check(values: NDArray[np.float32], texts: list[str]) -> None:
    np.testing.assert_array_equal(values, np.array([expected(text) for text in texts]))


TEXTS = [f"{i} text" for i in range(5_000)]


def test_a_second_run_encodes_nothing(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    check(Cache(tmp_path).encode(first, TEXTS), TEXTS)
    check(Cache(tmp_path).encode(second, TEXTS), TEXTS)
    assert (len(first.given), second.given) == (len(TEXTS), [])


def test_only_new_texts_are_encoded(tmp_path: Path) -> None:
    Cache(tmp_path).encode(Counting(), TEXTS)
    again, mixed = Counting(), ["new", *TEXTS[::-7], "newer", "new"]
    check(Cache(tmp_path).encode(again, mixed), mixed)
    assert sorted(again.given) == ["new", "newer"]


def test_another_encoder_shares_nothing(tmp_path: Path) -> None:
    Cache(tmp_path).encode(Counting(), TEXTS[:10])
    other = Counting(identity="counting-2")
    Cache(tmp_path).encode(other, TEXTS[:10])
    assert len(other.given) == 10


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = Counting(stop_after=2_500)
    with pytest.raises(KeyboardInterrupt):
        Cache(tmp_path).encode(first, TEXTS)
    assert 0 < len(first.given) < len(TEXTS)
    second = Counting()
    check(Cache(tmp_path).encode(second, TEXTS), TEXTS)
    assert not set(second.given) & set(first.given)
    assert len(second.given) == len(TEXTS) - len(first.given)


def test_repeated_texts_are_encoded_once(tmp_path: Path) -> None:
    counting, texts = Counting(), ["a", "b", "a", "", "a", ""]
    check(Cache(tmp_path).encode(counting, texts), texts)
    assert sorted(counting.given) == ["", "a", "b"]


def test_no_texts(tmp_path: Path) -> None:
    assert Cache(tmp_path).encode(Counting(), []).shape == (0, 2)


def test_a_damaged_file_is_encoded_again(tmp_path: Path) -> None:
    Cache(tmp_path).encode(Counting(), TEXTS[:50])
    for path in tmp_path.rglob("*.safetensors"):
        path.write_bytes(path.read_bytes()[:100])
    again = Counting()
    check(Cache(tmp_path).encode(again, TEXTS[:50]), TEXTS[:50])
    assert len(again.given) == 50


def test_the_limit_drops_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=200_000)
    for start in range(0, 5_000, 1_000):
        cache.encode(Counting(), [f"{start} {text}" for text in TEXTS[:2_000]])
        time.sleep(0.01)
    assert 0 < cache.size() <= 200_000
    latest = Counting()
    cache.encode(latest, [f"4000 {text}" for text in TEXTS[:2_000]])
    assert latest.given == []


def test_clear(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    values = cache.encode(Counting(), TEXTS[:10])
    assert cache.clear() > 0
    assert cache.size() == 0
    check(values, TEXTS[:10])  # what was read stays valid
    assert cache.clear() == 0


def test_fitted_encoders_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"a {'good' if i % 2 else 'bad'} film {i}" for i in range(60)]
    first = Cache(tmp_path).fitted(Lsa(dim=4), texts)
    monkeypatch.setattr(Lsa, "fit", lambda *_: pytest.fail("fitted twice"))
    assert Cache(tmp_path).fitted(Lsa(dim=4), texts).identity == first.identity
    with pytest.raises(pytest.fail.Exception):
        Cache(tmp_path).fitted(Lsa(dim=5), texts)
    with pytest.raises(pytest.fail.Exception):
        Cache(tmp_path).fitted(Lsa(dim=4), texts[1:])


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"the cache cannot be made: .* UNRULY_CACHE"):
        Cache(tmp_path / "file").encode(Counting(), ["a"])


PROCESS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_cache import Counting, TEXTS, check
from unruly.features.cache import Cache
for start in range(0, 3000, 300):
    texts = TEXTS[start : start + 1500]
    check(Cache(Path(sys.argv[2])).encode(Counting(), texts), texts)
"""


def test_two_processes_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(Path(__file__).parent), str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    again = Counting()
    check(Cache(tmp_path).encode(again, TEXTS[:1_500]), TEXTS[:1_500])
    assert again.given == []
    assert not list(tmp_path.rglob("part-*"))


def test_the_unfinished_file_of_a_dead_process_is_swept(tmp_path: Path) -> None:
    room = tmp_path / "counting-1"
    room.mkdir()
    host = platform.node()
    dead = room / f"part-{host}-999999999-abcd1234.safetensors"
    dead.write_bytes(b"half")
    Cache(tmp_path).encode(Counting(), ["a"])
    assert not dead.exists()


def test_a_damaged_fitted_encoder_is_fitted_again(tmp_path: Path) -> None:
    texts = [f"a {'good' if i % 2 else 'bad'} film {i}" for i in range(60)]
    first = Cache(tmp_path).fitted(Lsa(dim=4), texts)
    for path in tmp_path.rglob("lsa.safetensors"):
        path.write_bytes(b"half")
    assert Cache(tmp_path).fitted(Lsa(dim=4), texts).identity == first.identity
