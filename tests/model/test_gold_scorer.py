"""Gold for the scorer alone."""

from __future__ import annotations

import numpy as np
import pytest
from tests.model.planted import planted, quick

from unruly.errors import InputError
from unruly.model.gold_scorer import GoldScorer
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


def test_a_bare_matrix_does_not_know_its_documents() -> None:
    data = planted(n=10)
    model = quick().fit(data.features, data.matrix)
    with pytest.raises(InputError, match=r"Votes\.from_array"):
        GoldScorer(data.gold)(model, data.features, data.matrix)
