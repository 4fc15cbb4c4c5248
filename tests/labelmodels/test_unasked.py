"""A document that a source was never asked about is missing, not an abstention, to the models in which silence counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from unruly.labelmodels.dawid_skene import DawidSkene, OneCoin
from unruly.votes.votes import Votes

MODELS = (DawidSkene, OneCoin)


def planted() -> tuple[Votes, Votes, NDArray[np.int64]]:
    """Two rules, and a source that speaks wherever it is asked, which is mostly about class 0; asked and as silence."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 4000)
    right = rng.random((4000, 3)) < [0.8, 0.75, 0.9]
    cast = np.where(right, truth[:, None], 1 - truth[:, None])
    cast[:, :2][rng.random((4000, 2)) < 0.5] = -1
    unasked = rng.random(4000) < np.where(truth == 0, 0.1, 0.9)
    cast[unasked, 2] = -1
    silent = Votes.from_array(cast, sources=["a", "b", "llm"])
    return replace(silent, unasked={"llm": unasked}), silent, truth


@pytest.mark.parametrize("kind", MODELS)
def test_silence_of_a_source_that_was_not_asked_tells_nothing(kind: type[DawidSkene]) -> None:
    asked, silent, _ = planted()
    model = kind(abstention=1.0).fit(asked)
    proba = model.predict_proba(asked)
    only_llm = np.flatnonzero((asked.matrix[:, :2] == -1).all(axis=1) & asked.unasked["llm"])
    assert np.allclose(proba[only_llm], model.class_prior_)
    # A row that the others vote on gets what it would get without the source.
    weights, bias, silence = model._rule.weights, model._rule.bias, model._rule.silent  # type: ignore[union-attr]
    assert silence is not None
    row = int(np.flatnonzero((asked.matrix[:, 0] == 1) & (asked.matrix[:, 1] == -1) & asked.unasked["llm"])[0])  # fmt: skip
    logits = bias - silence[2] + weights[0, 1]
    assert np.allclose(proba[row], np.exp(logits) / np.exp(logits).sum())
    assert not np.allclose(kind(abstention=1.0).fit(silent).predict_proba(silent)[row], proba[row])


def test_rates_are_of_the_documents_that_were_asked() -> None:
    asked, silent, _ = planted()
    found, taken = (DawidSkene().fit(votes).rates_[2] for votes in (asked, silent))
    assert found.sum(axis=0) == pytest.approx([1, 1], abs=0.02)  # it speaks whenever it is asked
    assert taken.sum(axis=0).max() < 0.95


@pytest.mark.parametrize("kind", MODELS)
def test_without_missing_votes_nothing_changes(kind: type[DawidSkene]) -> None:
    _, silent, _ = planted()
    none = replace(silent, unasked={"llm": np.zeros(silent.n, np.bool_)})
    before, after = kind().fit(silent).predict_proba(silent), kind().fit(none).predict_proba(none)
    assert np.allclose(before, after)
