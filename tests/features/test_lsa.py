"""lsa: the textbook's TF-IDF, the same bits always, any language, any number of texts; and products not multiplied out."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, random
from scipy.sparse import random as sparse_random
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Block, Features
from unruly.features.lsa import SHORT, Axes, Lsa, Projected, _right_singular
from unruly.features.ngrams import CharGrams, Terms, WordGrams

GOOD, BAD = ["good", "fine", "great"], ["bad", "poor", "awful"]


def reviews(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    words = [GOOD, BAD]
    return [
        " ".join([*rng.choice(words[i % 2], 3), *rng.choice(["film", "song", "plot", "the"], 4)])
        for i in range(n)
    ]


def kinds(lsa: Lsa) -> list[type]:
    return [type(part.grams) for part in lsa.terms]


def test_weights_are_those_of_scikit_learn() -> None:
    texts = reviews(40)
    terms = Lsa(chars=False).fit(texts).terms[0]
    ours = terms.weigh(texts).toarray()
    theirs = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+")
    expected = theirs.fit_transform(texts).toarray()
    column = [theirs.vocabulary_[terms.grams.term(int(key))] for key in terms.keys]
    np.testing.assert_allclose(ours, expected[:, column], rtol=1e-5)


def test_the_second_block_has_idf_to_the_third() -> None:
    texts = ["", *reviews(40)]
    terms = Lsa(chars=False).fit(texts).terms[0]
    ours = terms.raised(terms.weigh(texts), 3).toarray()
    plain = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+", min_df=1, norm=None
    ).fit(texts)
    column = [plain.vocabulary_[terms.grams.term(int(key))] for key in terms.keys]
    cubed = (plain.transform(texts).toarray() * plain.idf_**2)[:, column]
    length = np.linalg.norm(cubed, axis=1, keepdims=True)
    np.testing.assert_allclose(ours, cubed / np.maximum(length, 1e-9), rtol=1e-5)


@pytest.mark.parametrize(("texts", "terms"), [(40, 400), (400, 40)])
def test_axes_are_those_of_scikit_learn_s_randomised_decomposition(texts: int, terms: int) -> None:
    x = sparse_random(texts, terms, 0.1, "csr", np.float32, random_state=1)
    s, axes = _right_singular(x, 12, seed=3)
    _, expected, theirs = randomized_svd(x, 12, n_iter=3, random_state=3)
    np.testing.assert_allclose(s, expected, rtol=1e-5)
    np.testing.assert_allclose(axes, theirs.T, atol=1e-4)


def test_fitting_does_without_scikit_learn() -> None:
    code = (
        "import sys; from unruly.features.lsa import Lsa; Lsa(dim=2).fit(['a b', 'b c', 'c d']); "
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("chars", [False, True])
def test_the_order_of_texts_does_not_matter(chars: bool) -> None:
    texts = [*reviews(120), "A good film", "a good  film", "a good film", ""]
    order = np.random.default_rng(1).permutation(len(texts))
    one = Lsa(dim=8, chars=chars).fit(texts)
    other = Lsa(dim=8, chars=chars).fit([texts[i] for i in order])
    assert one.identity == other.identity
    np.testing.assert_array_equal(one.encode(texts)[order], other.encode([texts[i] for i in order]))


def test_axes_keep_what_a_full_decomposition_keeps() -> None:
    texts = reviews(60)
    lsa = Lsa(dim=5, chars=False).fit(texts)
    (terms,) = lsa.terms
    common = terms.weigh(texts)
    both = (common, terms.raised(common, 3))
    for block, weighed in zip(np.split(lsa.encode(texts), 2, axis=1), both, strict=True):
        exact = np.linalg.svd(weighed.toarray(), compute_uv=False)[:5]
        ours = np.linalg.norm(block, axis=0)
        np.testing.assert_allclose(np.sort(ours)[::-1], exact, rtol=0.02)


def test_a_common_word_says_less_in_the_second_block() -> None:
    texts = [f"the {word} the plot" for word in [*GOOD, *BAD] * 10]
    lsa = Lsa(dim=8, chars=False).fit(texts)
    apart = []
    for block in np.split(lsa.encode(["the plot good", "the plot bad"]), 2, axis=1):
        unit = block / np.linalg.norm(block, axis=1, keepdims=True)
        apart.append(1 - float(unit[0] @ unit[1]))
    assert apart[1] > apart[0] + 0.05


def test_features_tell_good_from_bad() -> None:
    texts = reviews(100)
    features = Lsa(dim=4).fit(texts).encode(reviews(50, seed=1))
    similar = features @ features.T
    same = np.equal.outer(np.arange(50) % 2, np.arange(50) % 2)
    assert similar[same].mean() > 2 * similar[~same].mean()


def test_same_texts_same_bits() -> None:
    texts = reviews(200)
    first, second = Lsa(dim=16).fit(texts), Lsa(dim=16).fit(texts)
    assert first.identity == second.identity
    assert np.array_equal(first.encode(texts), second.encode(texts))
    assert Lsa(dim=16).fit(texts[1:]).identity != first.identity


@settings(max_examples=25)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=8))
def test_a_text_has_the_same_bits_whatever_stands_beside_it(texts: list[str]) -> None:
    lsa = Lsa(dim=6, chars=True).fit([*reviews(20), *texts])
    together = lsa.encode(texts)
    alone = np.concatenate([lsa.encode([text]) for text in texts])
    assert np.array_equal(together, alone)


def test_saved_and_loaded_bit_for_bit(odd_texts: list[str]) -> None:
    texts = [*reviews(60), *odd_texts[:9]]
    lsa = Lsa(dim=12, chars=True).fit(texts)
    loaded = Lsa.from_state(lsa.state())
    assert np.array_equal(loaded.encode(texts), lsa.encode(texts))
    assert loaded.identity == lsa.identity


def test_characters_help_short_texts_and_scripts_without_blanks() -> None:
    long = [text + " and so on" * SHORT for text in reviews(10)]
    assert kinds(Lsa().fit(reviews(10))) == [WordGrams, CharGrams]
    assert kinds(Lsa().fit(long)) == [WordGrams]
    assert kinds(Lsa().fit(["我喜欢这部电影" * SHORT, "这部电影很糟糕" * SHORT])) == [
        WordGrams,
        CharGrams,
    ]
    assert kinds(Lsa(chars=False).fit(reviews(10))) == [WordGrams]


def test_chinese_texts_are_told_apart() -> None:
    texts = ["我喜欢这部电影", "我很喜欢这首歌", "这部电影很糟糕", "这首歌太糟糕了"] * 5
    features = Lsa(dim=4).fit(texts).encode(["喜欢", "真喜欢", "糟糕"])
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2] + 0.3


def test_fewer_texts_than_dimensions() -> None:
    lsa = Lsa(dim=256).fit(["a good film", "a bad film"])
    assert lsa.width == 4
    assert lsa.pieces == (("lsa", 2), ("lsa, idf^3", 2))
    assert np.isfinite(lsa.encode(["good", ""])).all()


def test_no_axis_without_a_text_on_it() -> None:
    texts = ["the lamb was good", "a bad stew", "we came back", "small plates of fish"] * 10
    lsa = Lsa(chars=False).fit(texts)
    assert [width for _, width in lsa.pieces] == [4, 4], "forty texts, but four of their own"
    for block, steps in zip(np.split(lsa.encode(texts), 2, axis=1), lsa.axes, strict=True):
        assert steps.width == 4
        assert np.linalg.matrix_rank(block) == 4


@pytest.mark.parametrize("texts", [[""], ["", "   "], ["\x00"]])
def test_blank_texts_only(texts: list[str]) -> None:
    assert not Lsa().fit(texts).encode(["", "anything"]).any()


def test_odd_texts(odd_texts: list[str]) -> None:
    lsa = Lsa(dim=8, chars=True).fit([*reviews(20), *odd_texts])
    features = lsa.encode(odd_texts)
    assert np.isfinite(features).all()
    assert not features[0].any()


def test_no_text_to_encode_is_an_empty_matrix() -> None:
    assert Lsa(dim=3).fit(reviews(9)).encode([]).shape == (0, 6)


def test_terms_without_keys_weigh_nothing() -> None:
    none = Terms(WordGrams(()), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
    assert none.weigh(["a"]).shape == (1, 0)


def test_refusals() -> None:
    with pytest.raises(InputError, match="lsa: there are no texts"):
        Lsa().fit([])
    with pytest.raises(NotFittedError, match="call fit"):
        Lsa().encode(["a"])
    with pytest.raises(SettingsError, match="dim must be at least 1, not 0"):
        Lsa(dim=0)


@pytest.mark.parametrize(("bits", "bound"), [(8, 0.01), (4, 0.15)])
@pytest.mark.parametrize("width", [1, 6, 7])
def test_rounded_axes_are_near_and_come_back(bits: int, bound: float, width: int) -> None:
    exact = np.random.default_rng(0).normal(size=(50, width)).astype(np.float32)
    exact[3] = 0
    axes = Axes.rounded(exact, bits)
    assert np.linalg.norm(axes.matrix - exact) < bound * np.linalg.norm(exact)
    assert not axes.matrix[3].any()
    again = Axes.from_state(axes.state(), 50)
    assert np.array_equal(again.matrix, axes.matrix)
    assert axes.state()["packed"].nbytes == 50 * (width if bits == 8 else (width + 1) // 2)


def test_many_terms_take_four_bits_and_few_take_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {axes.bits for axes in Lsa(dim=4).fit(reviews(40)).axes} == {8}
    monkeypatch.setattr("unruly.features.lsa.EIGHT_BITS", 10)
    texts = reviews(40)
    small = Lsa(dim=4).fit(texts)
    assert {axes.bits for axes in small.axes} == {4}
    assert np.array_equal(Lsa.from_state(small.state()).encode(texts), small.encode(texts))


def test_a_vocabulary_that_is_no_text_is_refused() -> None:
    words, characters = (part.state() for part in Lsa(dim=4).fit(reviews(40)).terms)
    assert (words["kind"], characters["kind"]) == ("words", "characters")
    for state in (words, characters):
        for other in (True, 5, ["a", "b"], None):
            with pytest.raises(ValueError, match="the vocabulary of lsa is not a text"):
                Terms.from_state({**state, "vocabulary": other})


def product(n: int, terms: int, width: int, seed: int) -> Projected:
    rng = np.random.default_rng(seed)
    rows = random(n, terms, density=0.3, format="csr", dtype=np.float32, random_state=rng)
    return Projected(
        csr_matrix(rows), Axes.rounded(rng.normal(size=(terms, width)).astype(np.float32))
    )


@given(
    st.integers(0, 6), st.integers(1, 9), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99)
)
def test_a_product_with_weights_is_that_of_the_array(
    n: int, terms: int, width: int, m: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, weights = product(n, terms, width, seed), rng.normal(size=(width, m)).astype(np.float32)
    first, second = rng.normal(size=(2, width)).astype(np.float32)
    moved = ((x * 2.0 - first) * 3.0 - second) * 0.25
    array = ((x.multiplied * 2.0 - first) * 3.0 - second) * 0.25
    np.testing.assert_allclose(moved.multiplied, array, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(moved @ weights, array @ weights, rtol=1e-4, atol=1e-4)


def test_more_terms_than_are_multiplied_at_a_time() -> None:
    x, weights = product(3, 10_000, 2, seed=0), np.eye(2, dtype=np.float32)
    np.testing.assert_allclose(x @ weights, x.multiplied, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 0]), np.array([True, False, True])])
def test_rows_are_taken_as_those_of_an_array(rows: slice) -> None:
    x = product(3, 5, 2, seed=0) - np.ones(2, dtype=np.float32)
    np.testing.assert_array_equal(x[rows].multiplied, x.multiplied[rows])
    assert len(x[rows]) == len(x.multiplied[rows])


def test_a_row_that_is_not_finite_is_found_behind_empty_rows() -> None:
    rows = csr_matrix(np.array([[0, 0], [1, 2], [0, 0], [np.nan, 1]], np.float32))
    x = Projected(rows, Axes.rounded(np.eye(2, dtype=np.float32)))
    assert x.finite.tolist() == [True, True, True, False]


def test_features_are_one_matrix_whatever_their_blocks_are() -> None:
    x = product(3, 5, 2, seed=0)
    features = Features((Block("a", x), Block("b", np.ones((3, 1), dtype=np.float32))))
    expected = np.concatenate([x.multiplied, np.ones((3, 1))], axis=1)
    np.testing.assert_array_equal(features.matrix(), expected)
    np.testing.assert_array_equal(features.take(np.array([1])).matrix(), expected[[1]])
