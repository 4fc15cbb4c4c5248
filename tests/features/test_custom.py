"""A user's own encoder: two methods are enough, and what they get wrong is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from unruly.errors import InputError
from unruly.features.cache import FeatureCache
from unruly.features.custom import CustomEncoder, is_custom
from unruly.features.registry import encoder_from
from unruly.texts.corpus import Corpus

TEXTS = ["a good film", "a bad film", "so good", "so bad"]
CORPUS = Corpus.from_texts(TEXTS)


class Lengths:
    """The least that will do."""

    def fit(self, texts: list[str]) -> None:
        self.fitted_on = len(texts)

    def encode(self, texts: list[str]) -> list[list[int]]:
        self.calls = getattr(self, "calls", 0) + 1
        return [[len(text), text.count(" ")] for text in texts]


def test_two_methods_are_enough() -> None:
    stack = encoder_from([Lengths(), "lsa"]).fit(CORPUS)
    features = stack.encode(CORPUS)
    assert stack.name == "Lengths + lsa"
    assert [block.encoder for block in features.blocks] == ["Lengths", "lsa", "lsa"]
    raw = features.blocks[0].array * stack.parts[0].scales[0]
    np.testing.assert_allclose(raw, Lengths().encode(TEXTS), rtol=1e-6)


def test_a_class_is_made_without_arguments() -> None:
    assert encoder_from(Lengths).fit(CORPUS).encode(CORPUS).width == 2


@pytest.mark.parametrize("vectoriser", [TfidfVectorizer(), CountVectorizer(ngram_range=(1, 2))])
def test_scikit_learns_vectorisers_do(vectoriser: object) -> None:
    stack = encoder_from(vectoriser).fit(CORPUS)
    assert stack.encode(Corpus.from_texts(["good", "unheard"])).n == 2


def test_without_an_identity_nothing_is_cached(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path)
    encoder_from(Lengths()).fit(CORPUS, cache).encode(CORPUS, cache)
    assert cache.files.size() == 0


def test_with_an_identity_it_is_cached(tmp_path: Path) -> None:
    class Known(Lengths):
        identity = "lengths_1"

    cache = FeatureCache(tmp_path)
    stack = encoder_from(Known()).fit(CORPUS, cache)
    stack.encode(CORPUS, cache)
    again = Known()
    fresh = encoder_from(again).fit(CORPUS, cache)
    calls = again.calls
    assert np.array_equal(fresh.encode(CORPUS, cache).matrix(), stack.encode(CORPUS).matrix())
    assert again.calls == calls
    assert cache.files.size() > 0


def test_relation_data_is_read_in_views() -> None:
    import polars as pl

    frame = pl.DataFrame({"text": ["Al wed Bo"] * 3, "entity1": ["Al"] * 3, "entity2": ["Bo"] * 3})
    corpus = Corpus.from_frame(frame)
    blocks = encoder_from(Lengths()).fit(corpus).encode(corpus).blocks
    assert [block.name for block in blocks] == ["Lengths, between", "Lengths, around"]


class Giving(Lengths):
    def __init__(self, given: object) -> None:
        self.given = given

    def encode(self, texts: list[str]) -> object:  # type: ignore[override]
        return self.given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0], r"an array of shape \(1,\) for 1 texts"),
        ([[1.0], [2.0]], r"an array of shape \(2, 1\) for 1 texts"),
        ([[]], r"an array of shape \(1, 0\)"),
        ([[np.nan]], "gave NaN or infinity for the text 'a good film'"),
        ([["x"]], "did not give numbers"),
        (None, "shape|numbers"),
    ],
)
def test_what_it_gets_wrong_is_said(given: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        CustomEncoder(Giving(given)).fit(TEXTS)
    assert "Giving" in str(caught.value)


def test_a_changed_width_is_said() -> None:
    own = Giving([[1.0, 2.0]])
    encoder = CustomEncoder(own).fit(TEXTS)
    own.given = [[1.0]]
    with pytest.raises(InputError, match="gave 1 numbers a text, but 2 when it was fitted"):
        encoder.encode(["a"])


def test_a_fit_that_returns_something_else() -> None:
    class Wrong(Lengths):
        def fit(self, texts: list[str]) -> int:  # type: ignore[override]
            return 3

    with pytest.raises(InputError, match=r"fit\(texts\) gave a int.*return self"):
        CustomEncoder(Wrong()).fit(TEXTS)


def test_sparse_rows_are_taken() -> None:
    found = CustomEncoder(Giving(csr_array([[0.0, 2.0]]))).fit(TEXTS)
    assert found.encode(["a"]).tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize("value", [3, "lsa", object(), {"fit": 1}])
def test_other_things_are_no_encoders(value: object) -> None:
    assert not is_custom(value)
