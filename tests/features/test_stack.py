"""Several encoders: one block each, none drowning the others, and the views of relation data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from unruly.errors import InputError
from unruly.features.cache import FeatureCache
from unruly.features.custom import PrecomputedFeatures
from unruly.features.lsa import Lsa, Projected
from unruly.features.registry import AllowedEncoders
from unruly.features.stack import EncoderStack, Encoding
from unruly.features.static import Static
from unruly.texts.corpus import Corpus

TEXTS = [f"a {'good' if i % 2 else 'bad'} film number {i % 7}, not the song" for i in range(80)]
CORPUS = Corpus.from_texts(TEXTS)


def spread(values: np.ndarray) -> float:
    return float(np.sqrt(((values - values.mean(axis=0)) ** 2).sum(axis=1).mean()))


def test_every_block_has_the_same_spread(static_folder: Path) -> None:
    loud = PrecomputedFeatures.from_array(1e4 + 1e3 * np.random.default_rng(0).normal(size=(80, 5)))
    encoders = (Lsa(dim=4), Static.open(static_folder), loud)
    features = EncoderStack(encoders).fit(CORPUS).encode(CORPUS)
    names = ["lsa", "lsa, idf^3", "static tiny", "features"]
    assert [block.name for block in features.blocks] == names
    for block in features.blocks:
        assert spread(block.array) == pytest.approx(1, rel=0.01)


def test_new_documents_are_scaled_as_the_old_were() -> None:
    fitted = EncoderStack((Lsa(dim=4),)).fit(CORPUS)
    few = CORPUS.take([3, 5])
    assert np.array_equal(fitted.encode(few).matrix(), fitted.encode(CORPUS).matrix()[[3, 5]])


def test_the_cache_changes_nothing(tmp_path: Path) -> None:
    many = Corpus.from_texts([f"{text} {i}" for i, text in enumerate(TEXTS * 10)])
    plain = EncoderStack((Lsa(dim=4),)).fit(many)
    kept = EncoderStack((Lsa(dim=4),)).fit(many, FeatureCache(tmp_path))
    assert plain.parts[0].scales == kept.parts[0].scales
    first = plain.encode(many).matrix()
    assert np.array_equal(first, kept.encode(many, FeatureCache(tmp_path)).matrix())


def test_for_predicting_products_are_not_multiplied_out(
    static_folder: Path, tmp_path: Path
) -> None:
    cache = FeatureCache(tmp_path)
    fitted = EncoderStack((Lsa(dim=4), Static.open(static_folder))).fit(CORPUS, cache)
    expected = fitted.encode(CORPUS, cache).matrix()
    for kept in (None, cache):
        features = fitted.encode(CORPUS, kept, fitting=False)
        kinds = [Projected, Projected, np.ndarray]
        assert [type(block.values) for block in features.blocks] == kinds
        assert features.keys is None
        assert np.array_equal(features.matrix(), expected)


def test_saved_and_loaded_bit_for_bit(static_folder: Path) -> None:
    fitted = EncoderStack((Lsa(dim=4), Static.open(static_folder))).fit(CORPUS)
    members = fitted.to_members()
    loaded = EncoderStack.from_members(members, AllowedEncoders(), "here")
    assert loaded.name == fitted.name
    assert np.array_equal(loaded.encode(CORPUS).matrix(), fitted.encode(CORPUS).matrix())
    assert {name.partition(".")[2] for name in members} == {"json", "safetensors"}
    assert loaded.to_members() == members


def test_relation_data_gets_its_views_unasked(static_folder: Path) -> None:
    frame = pl.DataFrame(
        {
            "text": [f"Al {'wed' if i % 2 else 'met'} Bo in {i} films" for i in range(60)],
            "entity1": ["Al"] * 60,
            "entity2": ["Bo"] * 60,
        }
    )
    corpus = Corpus.from_frame(frame)
    fitted = EncoderStack((Lsa(dim=4), Static.open(static_folder))).fit(corpus)
    features = fitted.encode(corpus)
    lsa = [
        "lsa, between",
        "lsa, idf^3, between",
        "lsa, tagged",
        "lsa, idf^3, tagged",
    ]
    names = [*lsa, "static tiny, between", "static tiny, around"]
    assert [block.name for block in features.blocks] == names
    wed = np.arange(60) % 2 == 1
    between = features.blocks[0].array
    assert (
        np.ptp(between[wed], axis=0).max() < 1e-5 < np.abs(between[wed][0] - between[~wed][0]).max()
    )
    again = EncoderStack.from_members(fitted.to_members(), AllowedEncoders(), "here").encode(corpus)
    assert np.array_equal(again.matrix(), features.matrix())


def test_no_documents() -> None:
    fitted = EncoderStack((Lsa(dim=4),)).fit(CORPUS)
    assert fitted.encode(CORPUS.take([])).matrix().shape == (0, 8)
    with pytest.raises(InputError, match="there are no texts to encode"):
        EncoderStack((Lsa(),)).fit(CORPUS.take([]))


def test_refusals() -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        EncoderStack((Lsa(),)).encode(CORPUS)
    with pytest.raises(InputError, match="the list is empty"):
        EncoderStack(())
    with pytest.raises(InputError, match="3 rows of features for 80 texts"):
        EncoderStack((PrecomputedFeatures.from_array(np.ones((3, 2))),)).fit(CORPUS)


def test_texts_are_read_once() -> None:
    fitted = EncoderStack((Lsa(dim=4),)).fit(CORPUS)
    assert len(fitted.parts) == 1
    assert fitted.notes() == ()


def test_a_list_or_a_series_of_texts_has_features_too() -> None:
    encoding = Encoding.fitted("lsa", CORPUS, None)
    expected = encoding.features(CORPUS).matrix()
    for given in (TEXTS, pl.Series(TEXTS), pl.DataFrame({"text": TEXTS})):
        assert np.array_equal(encoding.features(given).matrix(), expected)
    with pytest.raises(InputError, match="text"):
        encoding.features(pl.Series([1, 2]))
