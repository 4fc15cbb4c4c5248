"""scikit-learn's manners: its own checks, pandas out, and gold for the scorer alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator
from tests.model.planted import planted, quick

import unruly
from unruly import Rule, Source, Sources
from unruly.errors import InputError, SettingsError
from unruly.model.evaluation import GoldScorer, vote_agreement
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules import Keywords
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


def test_gold_follows_the_ids_of_the_votes() -> None:
    data = planted(n=40)
    model = quick().fit(data.features, data.votes)
    rows = np.array([31, 2, 17])
    expected = model.score(data.features[rows], data.gold[rows])
    assert GoldScorer(data.gold)(model, data.features[rows], data.votes[rows]) == expected


def test_a_map_from_ids_of_any_kind() -> None:
    data = planted(n=10)
    ids = [f"doc{i}" for i in range(10)]
    votes = Votes.from_array(data.matrix, classes=data.votes.classes, ids=ids)
    model = quick().fit(data.features, votes)
    gold = {key: f"c{label}" for key, label in zip(ids, data.gold, strict=True)}
    assert GoldScorer(gold)(model, data.features, votes) == model.score(data.features, data.gold)
    with pytest.raises(InputError, match="as a map from ids"):
        GoldScorer(data.gold)(model, data.features, votes)


def test_a_corpus_with_gold_or_labels_beside_their_ids() -> None:
    data = planted(n=10)
    ids = [f"doc{i}" for i in range(10)]
    votes = Votes.from_array(data.matrix, classes=data.votes.classes, ids=ids)
    model = quick().fit(data.features, votes)
    rows = np.array([7, 2, 5])
    expected = model.score(data.features[rows], data.gold[rows])
    frame = pl.DataFrame({"id": ids, "text": ["x"] * 10, "label": data.gold}).sample(10, seed=1)
    corpus = Corpus.from_frame(frame, text="text", id="id", label="label")
    for scorer in (GoldScorer(corpus), GoldScorer(data.gold, ids=ids)):
        assert scorer(model, data.features[rows], votes[rows]) == expected
    with pytest.raises(InputError, match=r"no id of these votes, such as 'doc0'.* such as 0"):
        GoldScorer(dict(enumerate(data.gold)))(model, data.features, votes)
    with pytest.raises(InputError, match="10 gold labels, but 3 ids"):
        GoldScorer(data.gold, ids=ids[:3])(model, data.features, votes)


def test_ids_that_only_look_like_row_numbers_are_not_taken_for_them() -> None:
    """Gold is in the order of the documents, not in that of the ids."""
    texts = ["free cash", "nice song", "free", "song"]
    corpus = Corpus.from_frame(pl.DataFrame({"text": texts, "key": [2, 0, 3, 1]}), id="key")
    rules = [Rule("spam", Keywords(["free"])), Rule("ham", Keywords(["song"]))]
    votes = Sources(["ham", "spam"], [Source("a", rules)]).vote(corpus)
    model = quick().set_params(encoder="lsa").fit(corpus, votes)
    assert GoldScorer([1, 0, 1, 0])(model, corpus[1:3], votes[1:3]) == 1
    assert GoldScorer([1, 1, 0, 0])(model, corpus[1:3], votes[1:3]) == 0
    with pytest.raises(InputError, match=r"not row numbers.*ids=votes\.ids"):
        GoldScorer([1, 0, 1])(model, corpus[:2], votes[:2])
    assert GoldScorer([1, 0, 1, 0], ids=votes.ids)(model, corpus, votes) == 1


def test_gold_in_the_order_of_documents_with_other_ids_scores_folds() -> None:
    texts = ["free cash", "nice song", "free", "song"] * 5
    frame = pl.DataFrame({"text": texts, "key": [f"RV-{i}" for i in range(20)]})
    corpus = Corpus.from_frame(frame, id="key")
    rules = [Rule("spam", Keywords(["free"])), Rule("ham", Keywords(["song"]))]
    votes = Sources(["ham", "spam"], [Source("a", rules)]).vote(corpus)
    model = quick().set_params(encoder="lsa")
    scores = cross_val_score(model, corpus, votes, scoring=GoldScorer([1, 0] * 10), cv=2)
    assert scores.tolist() == [1, 1]


def test_a_bare_matrix_does_not_know_its_documents() -> None:
    data = planted(n=10)
    model = quick().fit(data.features, data.matrix)
    with pytest.raises(InputError, match=r"Votes\.from_array"):
        GoldScorer(data.gold)(model, data.features, data.matrix)


class OneSource(WeakClassifier):
    """What the checks pass as y, taken as the votes of a source that never abstains."""

    def fit(self, X: Any, y: Any = None) -> OneSource:  # type: ignore[override]
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        labels = np.asarray(y)
        if labels.ndim == 2:
            labels = labels[:, 0]
        if labels.dtype.kind == "f" or (labels.dtype.kind in "iu" and labels.min(initial=0) >= 0):
            silent = np.full_like(labels, -1)  # beside it: one full column would pass for gold
            return super().fit(X, np.column_stack([labels, silent]))
        names, numbers = np.unique(labels, return_inverse=True)
        return super().fit(X, Votes.from_array(numbers[:, None], classes=[str(n) for n in names]))


CANNOT_HOLD = {
    "check_classifiers_classes": "-1 is abstain in a vote matrix, so it cannot be a class by number",
}


@pytest.mark.parametrize("method", ["default", "paper"])
def test_scikit_learns_own_checks(method: str) -> None:
    model = OneSource(method=method)
    if method == "paper":
        model.set_params(settings__epochs=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=CANNOT_HOLD, on_fail=None)
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert failed == []
    assert sum(r["status"] == "passed" for r in results) > 40
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(CANNOT_HOLD)


def test_pandas_out_where_pandas_came_in() -> None:
    data = planted(n=60)
    frame = pd.DataFrame(data.features, index=[f"row{i}" for i in range(60)])
    model = quick().fit(frame, data.votes)
    labels, proba = model.predict(frame), model.predict_proba(frame)
    assert isinstance(labels, pd.Series)
    assert isinstance(proba, pd.DataFrame)
    assert labels.index.equals(frame.index)
    assert list(proba.columns) == ["c0", "c1"]
    np.testing.assert_array_equal(proba.to_numpy(), model.predict_proba(data.features))
    assert isinstance(model.predict_proba(data.features), np.ndarray)


def test_texts_in_a_pandas_series(model: WeakClassifier) -> None:
    texts = pd.Series(["lovely song", "subscribe to my channel"], index=[7, 9])
    labels = model.predict(texts)
    assert labels.to_dict() == {7: "ham", 9: "spam"}


def test_set_output() -> None:
    data = planted(n=40)
    model = quick().fit(data.features, data.votes)
    frame = pd.DataFrame(data.features)
    assert isinstance(model.set_output(transform="pandas").predict(data.features), pd.Series)
    assert isinstance(model.set_output(transform="polars").predict_proba(frame), pl.DataFrame)
    assert isinstance(model.set_output(transform="default").predict_proba(frame), np.ndarray)
    assert isinstance(model.set_output().predict(frame), np.ndarray)
    with pytest.raises(SettingsError, match="must be default, pandas, polars"):
        model.set_output(transform="excel")


def test_set_output_lasts_through_clone_and_searches() -> None:
    data = planted(n=60)
    model = quick(5).set_output(transform="pandas")
    assert isinstance(clone(model).fit(data.features, data.votes).predict(data.features), pd.Series)
    search = GridSearchCV(model, {"seed": [0, 1]}, scoring=vote_agreement, cv=2)
    found = search.fit(data.features, data.votes)
    assert isinstance(found.predict_proba(data.features), pd.DataFrame)


def test_features_of_a_frame_keep_their_names(tmp_path: Path) -> None:
    """Columns in another order gave other predictions without a word."""
    data = planted(n=60)
    names = [f"x{j}" for j in range(data.features.shape[1])]
    frame = pd.DataFrame(data.features, columns=names)
    model = quick(5).fit(frame, data.votes)
    assert model.feature_names_in_.tolist() == names
    model.save(tmp_path / "a.unruly")
    for one in (model, unruly.load(tmp_path / "a.unruly")):
        with pytest.raises(
            ValueError, match=r"feature names should match.*column 0 is 'x7', and was 'x0'"
        ):
            one.predict(frame[names[::-1]])
        np.testing.assert_array_equal(one.predict(pl.from_pandas(frame)), one.predict(frame))
        assert len(one.predict(data.features)) == 60  # without names they are taken in order
    assert not hasattr(model.fit(data.features, data.votes), "feature_names_in_")
    assert model.n_features_in_ == len(names)


def test_a_matrix_in_which_nobody_abstains_is_warned_of() -> None:
    """Where 0 means no vote, it was learnt as a class."""
    data = planted(n=60, coverage=0.7)
    shifted = data.matrix + 1
    with pytest.warns(UserWarning, match=r"0 is taken for a class.*abstain=0"):
        quick(5).fit(data.features, shifted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(5).fit(data.features, data.matrix)
        quick(5).fit(data.features, Votes.from_array(shifted, abstain=0))
        quick(5).fit(data.features, Votes.from_array(shifted))  # it is said: a class


def test_votes_in_a_frame() -> None:
    """Names could be written to a frame, and no frame of names, or with missing values, was read."""
    data = planted(n=60)
    expected = quick(5).fit(data.features, data.votes).predict_proba(data.features)
    numbers = pd.DataFrame(data.matrix)
    for frame, classes in (
        (data.votes.to_pandas(), ["c0", "c1"]),
        (data.votes.to_frame(), ["c0", "c1"]),
        (numbers.where(numbers >= 0), [0, 1]),
        (numbers.astype("Int64").where(numbers >= 0), [0, 1]),
        (data.votes.to_pandas().astype("category"), ["c0", "c1"]),
    ):
        model = quick(5).fit(data.features, frame)
        assert model.classes_.tolist() == classes
        np.testing.assert_array_equal(model.predict_proba(data.features), expected)
        part = frame[:3] if isinstance(frame, pl.DataFrame) else frame.iloc[:3]
        heads = model.predictions(data.features[:3], part)
        assert heads.votes.matrix.tolist() == data.matrix[:3].tolist()
    gold = pd.DataFrame({"truth": [f"c{g}" for g in data.gold]})
    with pytest.raises(InputError, match="are these true labels"):
        quick(5).fit(data.features, gold)


def test_gold_that_seems_to_count_from_one_is_warned_of() -> None:
    data = planted(n=80, m=4)
    model = quick(5).fit(data.features, data.votes)
    shifted = np.where(data.gold == 0, 1, data.gold)
    with pytest.warns(UserWarning, match=r"1 to 3, never 0.*if yours start at 1, use class names"):
        assert model.score(data.features, shifted) > 0
    with pytest.warns(UserWarning, match="start at 1"):
        model.evaluate(data.features, shifted)
    assert model.score(data.features, data.gold) > 0.5
    assert model.score(data.features, [f"c{g}" for g in shifted]) > 0.2  # names are never shifted
    three = [int(np.flatnonzero(shifted == label)[0]) for label in (1, 2, 3)]
    with pytest.warns(UserWarning, match="start at 1"):
        model.score(data.features[three], shifted[three])


def test_vote_agreement_needs_no_gold() -> None:
    data = planted(n=80)
    model = quick().fit(data.features, data.votes)
    assert 0.6 < model.vote_agreement(data.features, data.votes) < 0.95
    assert model.vote_agreement(data.features, data.matrix) == model.vote_agreement(
        data.features, data.votes
    )
    with pytest.raises(InputError, match="none of these documents has a vote"):
        model.vote_agreement(data.features, np.full((80, 5), -1))
