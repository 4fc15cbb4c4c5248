"""The encoders of a model: fitted, saved, and read on first use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.planted import quick, texts

import unruly
from unruly.errors import InputError
from unruly.features.cache import Cache
from unruly.model.container import open_container, write_container
from unruly.model.encoding import Encoding
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus


class Lengths:
    """An encoder of the user's own."""

    name = "lengths"
    identity = "lengths-1"
    width = 2

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        return np.array([[len(text), text.count(" ")] for text in texts], dtype=np.float32)

    def save(self, folder: Path) -> None:
        raise AssertionError("never asked")


def test_saved_and_read_back_it_gives_the_same_bits(tmp_path: Path, corpus: Corpus) -> None:
    spec = [{"name": "lsa", "dim": 8}, {"name": "lsa", "dim": 4, "chars": True}]
    made = Encoding.fitted(spec, corpus, cache=None)
    write_container(tmp_path / "a", made.members(), {})
    read = Encoding.from_plain(made.to_plain(), open_container(tmp_path / "a"))
    new = Corpus.from_texts([*texts(20, seed=4)[0], "", "words never seen before"])
    for before, after in zip(made.features(new).blocks, read.features(new).blocks, strict=True):
        assert before.name == after.name
        np.testing.assert_array_equal(before.values, after.values)
    assert read.members() == made.members()


def test_the_cache_changes_nothing(tmp_path: Path, corpus: Corpus) -> None:
    spec = {"name": "lsa", "dim": 8}
    cache = Cache(tmp_path / "features")
    plain = Encoding.fitted(spec, corpus, cache=None).features(corpus).matrix()
    for _ in range(2):
        kept = Encoding.fitted(spec, corpus, cache).features(corpus, cache).matrix()
        np.testing.assert_array_equal(plain, kept)
    assert cache.size() > 0


def test_without_the_cache_nothing_is_written(tmp_path: Path, corpus: Corpus) -> None:
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}, cache=False)
    model.fit(corpus, np.zeros((len(corpus), 1), dtype=int)).predict(["a"])
    assert not (tmp_path / "cache").exists()


def test_an_encoder_of_the_users_own_works_but_is_not_saved(tmp_path: Path, corpus: Corpus) -> None:
    votes = np.where(np.arange(len(corpus))[:, None] % 2, 0, 1)
    model = quick(3).set_params(encoder=Lengths(), cache=False).fit(corpus, votes)
    assert model.predict(["a b"]).shape == (1,)
    with pytest.raises(InputError, match="the encoder lengths is a class of your own"):
        model.save(tmp_path / "a.unruly")
    assert not (tmp_path / "a.unruly").exists()


def test_several_encoders_are_named(corpus: Corpus, tmp_path: Path) -> None:
    votes = np.where(np.arange(len(corpus))[:, None] % 2, 0, 1)
    spec = ["lsa", {"name": "lsa", "dim": 4}]
    model = quick(3).set_params(encoder=spec).fit(corpus, votes)
    assert model.summary_.encoder == "lsa + lsa"
    model.save(tmp_path / "a.unruly")
    assert unruly.load(tmp_path / "a.unruly").encoder == spec
