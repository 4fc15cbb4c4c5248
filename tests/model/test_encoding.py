"""The encoders of a model: fitted, saved, and read on first use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.planted import quick, texts

import unruly
from unruly.errors import ModelFileError
from unruly.features.cache import FeatureCache
from unruly.features.stack import Encoding
from unruly.model.storage import open_container, to_json, write_container
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


class Lengths:
    """An encoder of the user's own: two methods."""

    def fit(self, texts: list[str]) -> Lengths:
        return self

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        return np.array([[len(text), text.count(" ")] for text in texts], dtype=np.float32)


class Words:
    """One that learns: which words of the training texts a text has."""

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        self.words = words

    def fit(self, texts: list[str]) -> Words:
        return Words(tuple(sorted({word for text in texts for word in text.split()}))[:50])

    def encode(self, texts: list[str]) -> list[list[bool]]:
        return [[word in text.split() for word in self.words] for text in texts]

    def state(self) -> dict[str, object]:
        return {"words": list(self.words)}

    @classmethod
    def from_state(cls, state: dict[str, list[str]]) -> Words:
        return cls(tuple(state["words"]))


def test_saved_and_read_back_it_gives_the_same_bits(tmp_path: Path, corpus: Corpus) -> None:
    spec = [{"name": "lsa", "dim": 8}, {"name": "lsa", "dim": 4, "chars": True}]
    made = Encoding.fitted(spec, corpus, cache=None)
    write_container(tmp_path / "a", made.members(), {})
    members = open_container(tmp_path / "a").members
    read = Encoding.from_plain(made.to_plain(), members, "a")
    new = Corpus.from_texts([*texts(20, seed=4)[0], "", "words never seen before"])
    for before, after in zip(made.features(new).blocks, read.features(new).blocks, strict=True):
        assert before.name == after.name
        np.testing.assert_array_equal(before.values, after.values)
    assert read.members() == made.members()


def test_the_cache_changes_nothing(tmp_path: Path, corpus: Corpus) -> None:
    spec = {"name": "lsa", "dim": 8}
    cache = FeatureCache(tmp_path / "features")
    plain = Encoding.fitted(spec, corpus, cache=None).features(corpus).matrix()
    for _ in range(2):
        kept = Encoding.fitted(spec, corpus, cache).features(corpus, cache).matrix()
        np.testing.assert_array_equal(plain, kept)
    assert cache.files.size() > 0


def test_without_the_cache_nothing_is_written(tmp_path: Path, corpus: Corpus) -> None:
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}, cache=False)
    model.fit(corpus, Votes.from_array(np.arange(len(corpus))[:, None] % 2)).predict(["a"])
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("own", [Lengths(), Words(), [Words(), {"name": "lsa", "dim": 4}]])
def test_an_encoder_of_the_users_own_works_saving_included(
    tmp_path: Path, corpus: Corpus, own: object
) -> None:
    votes = Votes.from_array(np.where(np.arange(len(corpus))[:, None] % 2, 0, 1))
    model = quick(3).set_params(encoder=own, cache=False).fit(corpus, votes)
    new = ["a b", "subscribe to my channel", ""]
    model.save(tmp_path / "a.unruly")
    for encoders in (
        [Lengths, Words],
        {f"{__name__}:Words": Words, f"{__name__}:Lengths": Lengths},
    ):
        again = unruly.load(tmp_path / "a.unruly", encoders=encoders)
        np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    again.save(tmp_path / "b.unruly")
    assert (tmp_path / "b.unruly").read_bytes() == (tmp_path / "a.unruly").read_bytes()


def test_a_model_never_imports_what_it_names(tmp_path: Path, corpus: Corpus) -> None:
    votes = Votes.from_array(np.where(np.arange(len(corpus))[:, None] % 2, 0, 1))
    model = quick(3).set_params(encoder=Lengths(), cache=False).fit(corpus, votes)
    model.save(tmp_path / "a.unruly")
    with pytest.raises(
        ModelFileError, match=r"reads texts with the encoder '.*:Lengths'.*encoders="
    ):
        unruly.load(tmp_path / "a.unruly")
    members = dict(open_container(tmp_path / "a.unruly").members)
    evil = tmp_path / "evil_module.py"
    evil.write_text(
        "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()\nLengths = 1\n"
    )
    part = "encoder/part0.json"
    members[part] = members[part].replace(f"{__name__}:Lengths".encode(), b"evil_module:Lengths")
    write_container(tmp_path / "b.unruly", members, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        with pytest.raises(ModelFileError, match="evil_module:Lengths"):
            unruly.load(tmp_path / "b.unruly", encoders=Lengths)
    assert not evil.with_suffix(".ran").exists()


def test_a_model_on_the_hub_is_opened_only_when_it_is_named(tmp_path: Path, corpus: Corpus) -> None:
    votes = Votes.from_array(np.where(np.arange(len(corpus))[:, None] % 2, 0, 1))
    quick(3).set_params(encoder={"name": "lsa", "dim": 4}).fit(corpus, votes).save(tmp_path / "a")
    members = dict(open_container(tmp_path / "a").members)
    state = {"model": "evil/model", "pooling": "cls", "layer": -1, "max_tokens": 9, "identity": "x"}
    members["encoder/part0.json"] = to_json({"kind": "transformer", "state": state})
    write_container(tmp_path / "b", members, {})
    for encoders in (None, "other/model"):
        with pytest.raises(ModelFileError, match="encoders='evil/model'"):
            unruly.load(tmp_path / "b", encoders=encoders)


def test_several_encoders_are_named(corpus: Corpus, tmp_path: Path) -> None:
    votes = Votes.from_array(np.where(np.arange(len(corpus))[:, None] % 2, 0, 1))
    spec = ["lsa", {"name": "lsa", "dim": 4}]
    model = quick(3).set_params(encoder=spec).fit(corpus, votes)
    assert model.summary_.encoder == "lsa + lsa"
    model.save(tmp_path / "a.unruly")
    assert unruly.load(tmp_path / "a.unruly").encoder == spec
