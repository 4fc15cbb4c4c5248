"""The cache: nothing is encoded twice, whoever asks, and nothing is lost when a run is stopped; its files are honest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unruly.errors import ModelFileError
from unruly.features.cache import KEY, FeatureCache, keys_of
from unruly.features.encoder import State, text_views
from unruly.features.lsa import Lsa
from unruly.files import DIGEST, CacheWarning
from unruly.progress import SILENT, Progress, stage
from unruly.texts.corpus import Corpus


@dataclass
class Counting:
    """Encodes a text as its length and first letter, and remembers what it was given."""

    identity: str = "lsa-counting1"
    stop_after: int = 10**9
    given: list[str] = field(default_factory=list)
    name: str = "counting"
    width: int = 2
    kind: str = "counting"
    plan: str | None = None
    pieces: tuple[tuple[str, int], ...] = (("counting", 2),)
    aligned: bool = False

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        return text_views(corpus)

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        if len(self.given) + len(texts) > self.stop_after:
            raise KeyboardInterrupt
        self.given += texts
        return np.array([expected(text) for text in texts], dtype=np.float32)

    def state(self) -> State:
        return {}


def expected(text: str) -> tuple[float, float]:
    return float(len(text)), float(ord(text[0])) if text else 0.0


def check(values: NDArray[np.float32], texts: list[str]) -> None:
    np.testing.assert_array_equal(values, np.array([expected(text) for text in texts]))


TEXTS = [f"{i} text" for i in range(5_000)]


def test_a_second_run_encodes_nothing(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    check(FeatureCache(tmp_path).encode(first, TEXTS), TEXTS)
    check(FeatureCache(tmp_path).encode(second, TEXTS), TEXTS)
    assert (len(first.given), second.given) == (len(TEXTS), [])


def test_a_cache_that_is_only_read_writes_nothing(tmp_path: Path) -> None:
    reader = FeatureCache(tmp_path / "kept", read_only=True)
    check(reader.encode(Counting(), TEXTS[:9]), TEXTS[:9])
    reader.fitted(Lsa(dim=2), ["a good film", "a bad film", "so good"])
    assert not (tmp_path / "kept").exists()
    FeatureCache(tmp_path / "kept").encode(Counting(), TEXTS[:5])
    before = sorted((tmp_path / "kept").rglob("*"))
    partly, mixed = Counting(), ["new", *TEXTS[4::-1], "new", TEXTS[7]]
    check(reader.encode(partly, mixed), mixed)
    assert sorted(partly.given) == sorted(["new", TEXTS[7]])
    assert sorted((tmp_path / "kept").rglob("*")) == before


def test_progress_is_that_of_the_encoder_and_ends_at_all_texts(tmp_path: Path) -> None:
    class Slow(Counting):
        def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
            with stage(progress, "its own stage", len(texts), "texts"):
                for _ in texts:
                    progress.advance(1)
            return super().encode(texts)

    class Told:
        stages: ClassVar[list[str]] = []
        steps: ClassVar[list[int]] = []

        def start(self, what: str, total: int | None, unit: str) -> None:
            self.stages.append(what)

        def advance(self, units: int, note: str = "") -> None:
            self.steps.append(units)

        def finish(self) -> None: ...

    FeatureCache(tmp_path).encode(Slow(), ["a", "b", "c", "a"], Told())
    assert Told.stages == ["encoding with counting"]
    assert sum(Told.steps) == 4
    assert Told.steps.count(1) >= 3, "one for each text that is encoded"


def test_only_new_texts_are_encoded(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS)
    again, mixed = Counting(), ["new", *TEXTS[::-7], "newer", "new"]
    check(FeatureCache(tmp_path).encode(again, mixed), mixed)
    assert sorted(again.given) == ["new", "newer"]


def test_another_encoder_shares_nothing(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS[:10])
    other = Counting(identity="lsa-counting2")
    FeatureCache(tmp_path).encode(other, TEXTS[:10])
    assert len(other.given) == 10


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = Counting(stop_after=2_500)
    with pytest.raises(KeyboardInterrupt):
        FeatureCache(tmp_path).encode(first, TEXTS)
    assert 0 < len(first.given) < len(TEXTS)
    second = Counting()
    check(FeatureCache(tmp_path).encode(second, TEXTS), TEXTS)
    assert not set(second.given) & set(first.given)
    assert len(second.given) == len(TEXTS) - len(first.given)


def test_repeated_texts_are_encoded_once(tmp_path: Path) -> None:
    counting, texts = Counting(), ["a", "b", "a", "", "a", ""]
    check(FeatureCache(tmp_path).encode(counting, texts), texts)
    assert sorted(counting.given) == ["", "a", "b"]


def test_no_texts(tmp_path: Path) -> None:
    assert FeatureCache(tmp_path).encode(Counting(), []).shape == (0, 2)


def test_a_truncated_file_is_encoded_again(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS[:50])
    for path in tmp_path.rglob("*.features"):
        path.write_bytes(path.read_bytes()[:100])
    again = Counting()
    with pytest.warns(CacheWarning, match="damaged entry: its features are computed again"):
        check(FeatureCache(tmp_path).encode(again, TEXTS[:50]), TEXTS[:50])
    assert len(again.given) == 50


@settings(max_examples=40, deadline=None)
@given(at=st.integers(0, 10**6), flip=st.integers(1, 255))
def test_a_flipped_byte_is_computed_again(
    tmp_path_factory: pytest.TempPathFactory, at: int, flip: int
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    FeatureCache(folder).encode(Counting(), TEXTS[:50])
    (path,) = folder.rglob("*.features")
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= flip
    path.write_bytes(bytes(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        check(FeatureCache(folder).encode(Counting(), TEXTS[:50]), TEXTS[:50])
    last = Counting()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(FeatureCache(folder).encode(last, TEXTS[:50]), TEXTS[:50])  # mended, and quiet again
    assert last.given == []


def test_only_the_damaged_file_is_computed_again_and_one_line_says_so(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS[:50])
    FeatureCache(tmp_path).encode(Counting(), TEXTS[50:60])
    path = min(tmp_path.rglob("*.features"), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[-3] ^= 4  # in the last row's values
    path.write_bytes(bytes(data))
    again = Counting()
    with pytest.warns(
        CacheWarning, match="held a damaged entry: its features are computed again"
    ) as w:
        check(FeatureCache(tmp_path).encode(again, TEXTS[:60]), TEXTS[:60])
    assert sorted(again.given) == sorted(TEXTS[50:60])
    assert len(w) == 1


def test_the_limit_drops_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit=200_000)
    for start in range(0, 5_000, 1_000):
        cache.encode(Counting(), [f"{start} {text}" for text in TEXTS[:2_000]])
        time.sleep(0.01)
    assert 0 < cache.files.size() <= 200_000
    latest = Counting()
    cache.encode(latest, [f"4000 {text}" for text in TEXTS[:2_000]])
    assert latest.given == []


def test_clear(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path / "cache")
    values = cache.encode(Counting(), TEXTS[:10])
    assert cache.files.clear() > 0
    assert cache.files.size() == 0
    check(values, TEXTS[:10])  # what was read stays valid
    assert cache.files.clear() == 0


def test_fitted_encoders_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"a {'good' if i % 2 else 'bad'} film {i}" for i in range(60)]
    first = FeatureCache(tmp_path).fitted(Lsa(dim=4), texts)
    monkeypatch.setattr(Lsa, "fit", lambda *_: pytest.fail("fitted twice"))
    assert FeatureCache(tmp_path).fitted(Lsa(dim=4), texts).identity == first.identity
    with pytest.raises(pytest.fail.Exception):
        FeatureCache(tmp_path).fitted(Lsa(dim=5), texts)
    with pytest.raises(pytest.fail.Exception):
        FeatureCache(tmp_path).fitted(Lsa(dim=4), texts[1:])


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(CacheWarning, match="cannot be written .*: features are not kept") as w:
        check(FeatureCache(tmp_path / "file").encode(Counting(), ["a"]), ["a"])
    assert len(w) == 1
    with pytest.warns(CacheWarning, match="features are not kept"):
        assert FeatureCache(tmp_path / "file").fitted(Lsa(dim=2), TEXTS[:9]).width


def test_a_folder_in_the_place_of_a_file_is_done_without(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    fitted = cache.fitted(Lsa(dim=2), TEXTS[:9])
    cache.encode(fitted, TEXTS[:9])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.suffix for path in files) == [".encoder", ".features"]
    for path in files:
        path.unlink()
        path.mkdir()
    with pytest.warns(CacheWarning, match="features are not kept"):
        assert cache.fitted(Lsa(dim=2), TEXTS[:9]).identity == fitted.identity
    with pytest.warns(CacheWarning, match="features are not kept"):
        assert len(cache.encode(fitted, TEXTS[:9])) == 9


def test_a_full_disk_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.warns(CacheWarning, match=r"No space left on device\): features are not kept") as w:
        check(FeatureCache(tmp_path).encode(Counting(), TEXTS), TEXTS)
    assert len(w) == 1, "once, not for every file"
    assert not list(tmp_path.rglob("*.features"))


def test_a_cache_that_is_deleted_meanwhile_is_made_again(tmp_path: Path) -> None:
    @dataclass
    class Deleting(Counting):
        def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            return super().encode(texts, progress)

    check(FeatureCache(tmp_path / "cache").encode(Deleting(), TEXTS[:5]), TEXTS[:5])


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_cache_is_read(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS[:5])
    for path in [*tmp_path.rglob("*"), tmp_path]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    again = Counting()
    check(FeatureCache(tmp_path).encode(again, TEXTS[:5]), TEXTS[:5])
    assert again.given == []
    with pytest.warns(CacheWarning, match="features are not kept"):
        check(FeatureCache(tmp_path).encode(again, TEXTS[:6]), TEXTS[:6])


def test_clearing_deletes_only_what_is_ours(tmp_path: Path) -> None:
    theirs = [
        tmp_path / "features" / name
        for name in ("mine.npy", "lsa-x/notes.txt", "fitted/model.pkl", "deep/er/data.parquet")
    ]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("precious")
    cache = FeatureCache(tmp_path / "features")
    cache.encode(cache.fitted(Lsa(dim=2), TEXTS[:9]), TEXTS[:9])
    assert cache.files.size() > 0
    assert cache.files.clear() > 0
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(theirs)
    cache.files.trim(cache.limit)
    assert all(path.read_text() == "precious" for path in theirs)


def test_clearing_follows_no_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside" / f"{'0' * 32}.features"
    outside.parent.mkdir()
    outside.write_text("precious")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "lsa-abc").symlink_to(outside.parent)
    FeatureCache(tmp_path / "cache").files.clear()
    assert outside.read_text() == "precious"


PROCESS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_cache import Counting, TEXTS, check
from unruly.features.cache import FeatureCache
for start in range(0, 3000, 300):
    texts = TEXTS[start : start + 1500]
    check(FeatureCache(Path(sys.argv[2])).encode(Counting(), texts), texts)
"""


def test_two_processes_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESS, str(Path(__file__).parent), str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    again = Counting()
    check(FeatureCache(tmp_path).encode(again, TEXTS[:1_500]), TEXTS[:1_500])
    assert again.given == []
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("at", [0, 31, 35, 60, 200, 500, -1])
def test_a_damaged_fitted_encoder_is_fitted_again(tmp_path: Path, at: int) -> None:
    texts = [f"a {'good' if i % 2 else 'bad'} film {i}" for i in range(60)]
    first = FeatureCache(tmp_path).fitted(Lsa(dim=4), texts)
    (path,) = tmp_path.rglob("*.encoder")
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))
    with pytest.warns(CacheWarning, match="held a damaged entry: the encoder is fitted again"):
        assert FeatureCache(tmp_path).fitted(Lsa(dim=4), texts).identity == first.identity


def test_a_file_is_digests_and_rows(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS[:5])
    (path,) = tmp_path.rglob("*.features")
    body = path.read_bytes()[DIGEST:]
    keys, known = np.frombuffer(body[: 5 * KEY], np.uint64).reshape(5, 2), keys_of(TEXTS[:5])
    row = [int(np.flatnonzero((known == key).all(axis=1))[0]) for key in keys]
    values = np.frombuffer(body[5 * KEY :], np.float32).reshape(5, 2)
    check(values, [TEXTS[i] for i in row])


def test_a_file_under_another_name_is_not_believed(tmp_path: Path) -> None:
    FeatureCache(tmp_path).encode(Counting(), TEXTS[:5])
    (path,) = tmp_path.rglob("*.features")
    path.rename(path.with_name(f"{'0' * 32}.features"))
    again = Counting()
    with pytest.warns(CacheWarning, match="held a damaged entry"):
        check(FeatureCache(tmp_path).encode(again, TEXTS[:5]), TEXTS[:5])
    assert len(again.given) == 5


def test_an_encoder_of_another_version_is_fitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"a {'good' if i % 2 else 'bad'} film {i}" for i in range(60)]
    first = FeatureCache(tmp_path).fitted(Lsa(dim=4), texts)

    def unknown(*_: object) -> None:
        raise ModelFileError("an option that is not known")

    monkeypatch.setattr("unruly.features.cache.encoder_from_bytes", unknown)
    assert FeatureCache(tmp_path).fitted(Lsa(dim=4), texts).identity == first.identity


def test_keys_depend_on_the_text_alone() -> None:
    keys = keys_of(["a", "b", "a", "", "\ud800"])
    assert np.array_equal(keys[0], keys[2])
    assert len(np.unique(keys, axis=0)) == 4
