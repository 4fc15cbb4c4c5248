"""Shapes at the edge: each is handled or refused in one clear line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.model.planted import planted, quick

from unruly.errors import InputError
from unruly.findings import BlankTexts
from unruly.model.weak_classifier import WeakClassifier
from unruly.votes.votes import Votes

Make = Callable[[], WeakClassifier]


@pytest.fixture(params=["paper", "default"])
def make(request: pytest.FixtureRequest) -> Make:
    """The paper's method with fewer epochs, and the default as it is."""
    return quick if request.param == "paper" else WeakClassifier


def test_no_uncovered_documents(make: Make) -> None:
    data = planted(coverage=1.0)
    assert data.votes.coverage == 1.0
    model = make().fit(data.features, data.votes)
    assert np.isfinite([epoch.total for epoch in model.history_]).all()
    assert model.evaluate(data.features, data.gold, data.votes).uncovered is None
    assert model.score(data.features, data.gold) > 0.8


def test_no_covered_documents_is_refused_with_the_remedy(make: Make) -> None:
    data = planted()
    with pytest.raises(InputError, match=r"none of (the )?200 documents has a vote: write rules"):
        make().fit(data.features, np.full((200, 5), -1))


def test_no_covered_documents_but_clean_labels(make: Make) -> None:
    data = planted()
    model = make().fit(data.features, np.full((200, 5), -1), clean=data.gold)
    assert model.score(data.features, data.gold) > 0.8
    assert model.summary_.agreement is None
    assert "no document has a vote" in str(model.summary_)


def test_one_source(make: Make) -> None:
    data = planted(k=1, coverage=0.9)
    model = make().fit(data.features, data.votes)
    assert model.reliability_.tolist() == [1.0]
    assert model.score(data.features, data.gold) > 0.8


def test_two_hundred_sources(make: Make) -> None:
    data = planted(k=200, coverage=0.05)
    model = make().fit(data.features, data.votes)
    assert model.reliability_.shape == (200,)
    assert model.reliability_.sum() == pytest.approx(1)
    assert (model.predict(data.features, data.votes) == model.classes_[data.gold]).mean() > 0.9


def test_fifty_classes(make: Make) -> None:
    data = planted(n=1000, k=8, m=50, coverage=0.6)
    model = make().fit(data.features, data.votes)
    proba = model.predict_proba(data.features, data.votes)
    assert proba.shape == (1000, 50)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
    assert (proba.argmax(axis=1) == data.gold).mean() > 0.6


def test_a_class_nobody_votes_for_keeps_its_column(make: Make) -> None:
    data = planted()
    votes = Votes.from_array(data.matrix, classes=["ham", "spam", "eggs"])
    model = make().fit(data.features, votes)
    assert model.classes_.tolist() == ["ham", "spam", "eggs"]
    assert model.predict_proba(data.features).shape == (200, 3)
    assert "eggs" not in model.predict(data.features)


@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_source_that_always_abstains_changes_nothing_exactly(make: Make, place: int) -> None:
    data = planted()
    silent = np.insert(data.matrix, place, -1, axis=1)
    without = make().fit(data.features, data.matrix)
    beside = make().fit(data.features, silent)
    np.testing.assert_array_equal(
        without.predict_proba(data.features, data.matrix),
        beside.predict_proba(data.features, silent),
    )
    np.testing.assert_array_equal(without.denoise(), beside.denoise())
    np.testing.assert_array_equal(without.reliability_, np.delete(beside.reliability_, place))
    assert beside.reliability_[place] == 0
    assert beside.summary_.sources[place].agreement is None


def test_duplicate_documents_get_one_answer_each(make: Make) -> None:
    data = planted(n=60)
    twice = np.repeat(np.arange(60), 2)
    model = make().fit(data.features[twice], data.matrix[twice])
    proba = model.predict_proba(data.features[twice], data.matrix[twice])
    np.testing.assert_array_equal(proba[::2], proba[1::2])
    assert model.evaluate(data.features, data.gold, data.matrix).repeats == 60


def test_a_single_document_and_two(make: Make) -> None:
    with pytest.raises(InputError, match="all votes are for one class, 1, so no other can be"):
        make().fit([[1.0, 2.0]], [[1, -1]])
    model = make().fit([[1.0, 2.0], [2.0, 1.0]], [[1, -1], [-1, 0]])
    assert model.predict([[1.0, 2.0]]).tolist() == [1]
    assert len(model.explain(np.array([1.0, 2.0]), [1, -1]).neighbours) == 2
    assert model.summary_.documents == 2


def test_ties_are_settled_the_same_way_every_time(make: Make) -> None:
    features = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    tied = np.tile([[0, 1]], (40, 1))
    first, again = (make().fit(features, tied).predict_proba(features, tied) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert make().fit(features, tied).explain(features[0], tied[0]).majority == ("0", "1")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_features_are_refused_with_their_row(make: Make, bad: float) -> None:
    data = planted()
    broken = data.features.copy()
    broken[7, 2] = bad
    with pytest.raises(InputError, match="row 7: a feature is NaN or infinite"):
        make().fit(broken, data.votes)
    model = make().fit(data.features, data.votes)
    with pytest.raises(InputError, match="row 7"):
        model.predict(broken)


def test_no_documents_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="there are no documents"):
        make().fit(np.zeros((0, 3)), np.zeros((0, 2), dtype=int))


def test_no_documents_to_predict_give_no_answers(make: Make) -> None:
    data = planted()
    model = make().fit(data.features, data.votes)
    assert model.predict(np.zeros((0, 8))).shape == (0,)
    assert model.predict_proba(np.zeros((0, 8))).shape == (0, 2)


def test_constant_features_do_no_harm(make: Make) -> None:
    data = planted()
    model = make().fit(np.ones((200, 3)), data.votes)
    assert np.isfinite(model.predict_proba(np.ones((200, 3)), data.votes)).all()


@pytest.mark.parametrize(
    ("blank", "told"),
    [(20, "20 of 20 texts are blank"), (12, "12 of 20 texts are blank"), (9, "")],
)
def test_blank_texts_are_told(blank: int, told: str) -> None:
    texts = [" " if i < blank else f"word{i % 2}" for i in range(20)]
    model = WeakClassifier(encoder="lsa", cache=False).fit(texts, [[i % 2, -1] for i in range(20)])
    assert (told in str(model.summary_)) if told else ("blank" not in str(model.summary_))
    assert (BlankTexts(blank, 20) in model.summary_.notes) == bool(told)
