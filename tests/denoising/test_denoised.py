"""The fitted default: two heads and their answer, kept exactly through arrays and facts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.denoising.planted import drawn

from unruly.denoising import denoised
from unruly.denoising.denoised import DenoisedModel, named_votes
from unruly.denoising.fit import denoise
from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.learner import Decider
from unruly.statistics import softmax
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes


@pytest.fixture(scope="module")
def task() -> tuple[DenoisedModel, Features, Votes]:
    features, votes, _ = drawn(300, [0.6, 0.7, 0.8], m=3)
    return replace(denoise(features, votes), temperature=2.0), features, votes


def test_it_is_the_same_after_saving(task: tuple[DenoisedModel, Features, Votes]) -> None:
    model, features, votes = task
    facts = json.loads(json.dumps(model.facts()))
    again = DenoisedModel.restore(model.arrays(), facts)
    ours, theirs = model.heads(features, votes), again.heads(features, votes)
    assert (ours.combined == theirs.combined).all()
    assert (ours.conditional == theirs.conditional).all()
    assert again.balance == model.balance
    assert again.notes == model.notes
    assert again.gold_used == model.gold_used


def test_accuracies_of_other_sources_are_not_restored(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    model = task[0]
    arrays = {**model.arrays(), "accuracy": model.accuracy[:-1]}
    with pytest.raises(ValueError, match="not one row for each source"):
        DenoisedModel.restore(arrays, model.facts())


def test_the_answer_pools_both_heads(task: tuple[DenoisedModel, Features, Votes]) -> None:
    model, features, votes = task
    heads = model.heads(features, votes)
    lp = model.log_text(features)
    assert heads.classifier == pytest.approx(softmax((model.tau * lp + model.b) / 2), abs=1e-6)
    silent = ~votes.covered
    assert silent.any()
    assert heads.combined[silent] == pytest.approx(heads.classifier[silent], abs=1e-6)
    row = int(np.flatnonzero(votes.covered)[0])
    ev = sum(
        (model.log_likelihoods[j, votes.matrix[row, j]] for j in np.flatnonzero(votes.voted[row])),
        start=np.zeros(3),
    )
    scores = (model.tau * lp[row] + ev + model.b) / 2
    assert heads.combined[row] == pytest.approx(softmax(scores), abs=1e-5)
    assert heads.denoiser[row] == pytest.approx(softmax(ev / 2 + model.vote_bias), abs=1e-5)


def test_who_decided(task: tuple[DenoisedModel, Features, Votes]) -> None:
    model, features, votes = task
    heads = model.heads(features, votes)
    rule, text = heads.denoiser.argmax(axis=1), heads.classifier.argmax(axis=1)
    final = heads.predicted
    assert (heads.decided_by[~votes.covered] == Decider.CLASSIFIER).all()
    assert set(heads.decided_by.tolist()) >= {Decider.BOTH, Decider.DENOISER, Decider.CLASSIFIER}
    follows = votes.covered & (rule == final)
    np.testing.assert_array_equal(heads.decided_by == Decider.BOTH, follows & (rule == text))
    np.testing.assert_array_equal(heads.decided_by == Decider.DENOISER, follows & (rule != text))
    assert heads.denoiser[~votes.covered] == pytest.approx(1 / 3)


def test_an_answer_that_neither_head_prefers_is_decided_by_both_together(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    model, features, votes = task
    log_likelihoods = np.random.default_rng(0).normal(0, 4, model.log_likelihoods.shape)
    heads = replace(model, log_likelihoods=log_likelihoods).heads(features, votes)
    rule, text = heads.denoiser.argmax(axis=1), heads.classifier.argmax(axis=1)
    other = votes.covered & (heads.predicted != rule) & (heads.predicted != text)
    assert other.any()
    np.testing.assert_array_equal(heads.decided_by == Decider.TOGETHER, other)


def test_vote_weights_sum_to_one_where_there_are_votes(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    model, features, votes = task
    weights = model.heads(features, votes).conditional
    assert weights.sum(axis=1)[votes.covered] == pytest.approx(1, abs=1e-5)
    assert (weights[~votes.voted] == 0).all()


def test_votes_that_tell_nothing_have_equal_weights(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    model, features, votes = task
    silent = replace(model, log_likelihoods=np.zeros_like(model.log_likelihoods))
    weights = silent.heads(features, votes).conditional
    even = votes.voted / np.maximum(votes.voted.sum(axis=1, keepdims=True), 1)
    assert weights == pytest.approx(even)


def test_vote_odds_are_the_factor_of_one_vote(task: tuple[DenoisedModel, Features, Votes]) -> None:
    model, features, votes = task
    odds = model.vote_odds(features, votes)
    assert (odds[~votes.voted] == 1).all()
    row, j = (int(x[0]) for x in np.nonzero(votes.voted))
    c = int(votes.matrix[row, j])
    prior = np.array(model.balance.shares)
    after = prior * np.exp(model.log_likelihoods[j, c] / 2)  # as in the answer
    factor = (after[c] / (after.sum() - after[c])) / (prior[c] / (1 - prior[c]))
    assert odds[row, j] == pytest.approx(factor)


def test_the_odds_of_a_soft_vote_are_those_of_its_shares(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    model, features, votes = task
    row, j = (int(x[0]) for x in np.nonzero(votes.voted))
    c = int(votes.matrix[row, j])
    shares = np.full((votes.n, 3), np.nan, np.float32)
    shares[votes.voted[:, j]] = np.eye(3)[votes.matrix[votes.voted[:, j], j]]
    shares[row] = 0.225
    shares[row, c] = 0.55
    soft = replace(votes, soft={votes.sources[j]: shares})
    prior = np.array(model.balance.shares)
    after = prior * np.exp(shares[row].astype(float) @ model.log_likelihoods[j] / 2)
    factor = (after[c] / (after.sum() - after[c])) / (prior[c] / (1 - prior[c]))
    assert model.vote_odds(features, soft)[row, j] == pytest.approx(factor, rel=1e-6)
    assert abs(np.log(factor)) < abs(np.log(model.vote_odds(features, votes)[row, j]))


def test_a_vote_for_every_class_moves_no_odds(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    """Or for every class that the model knows: there is no other that it could speak against."""
    model, features, votes = task
    row, j = (int(x[0]) for x in np.nonzero(votes.voted))
    known = replace(model, named=model.named[:2], log_likelihoods=model.log_likelihoods[:, :2, :2])
    shares = np.full((votes.n, 3), np.nan, np.float32)
    shares[votes.voted[:, j]] = np.eye(3)[votes.matrix[votes.voted[:, j], j]]
    shares[row] = [0.5, 0.5, 0]
    either = replace(votes, soft={votes.sources[j]: shares})
    assert known.vote_odds(features, either)[row, j] == 1
    uneven = replace(model, balance=replace(model.balance, shares=(0.6, 0.3, 0.1)))
    prior = np.array([0.6, 0.3, 0.1])
    after = prior * np.exp(model.log_likelihoods[j, :2].mean(axis=0) / 2)
    factor = (after[0] + after[1]) / after[2] / (0.9 / 0.1)  # of the odds that it is one of both
    assert uneven.vote_odds(features, either)[row, j] == pytest.approx(factor)
    assert abs(factor - 1) > 1e-3


def test_many_documents_are_predicted_in_parts(
    task: tuple[DenoisedModel, Features, Votes], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, features, votes = task
    whole = model.heads(features, votes)
    monkeypatch.setattr(denoised, "_CHUNK", 64)
    parts = model.heads(features, votes)
    assert parts.combined == pytest.approx(whole.combined, abs=1e-6)
    assert (parts.decided_by == whole.decided_by).all()


def test_blocks_may_come_side_by_side(task: tuple[DenoisedModel, Features, Votes]) -> None:
    model, features, votes = task
    joined = Features.from_array(features.matrix())
    ours, theirs = model.heads(features, votes), model.heads(joined, votes)
    assert theirs.combined == pytest.approx(ours.combined, abs=1e-6)


def test_other_sources_and_features_are_refused(
    task: tuple[DenoisedModel, Features, Votes],
) -> None:
    model, features, votes = task
    with pytest.raises(InputError, match="knows the sources"):
        model.heads(features, Votes.from_array(votes.matrix[:, :2], classes=votes.classes))
    with pytest.raises(InputError, match="24 features"):
        model.heads(Features.from_array(features.matrix()[:, :5]), votes)


def test_no_documents_are_no_error(task: tuple[DenoisedModel, Features, Votes]) -> None:
    model, features, votes = task
    none = np.arange(0)
    heads = model.heads(features.take(none), votes.take(none))
    assert heads.combined.shape == (0, 3)


@pytest.mark.parametrize("named", [[0, 2], [1], [0, 1, 2]])
def test_votes_for_some_classes_are_those_columns_of_every_source(named: list[int]) -> None:
    rng = np.random.default_rng(0)
    votes = Votes.from_array(rng.integers(-1, 3, (20, 4)), classes=["a", "b", "c"])
    dense = (votes.matrix[:, :, None] == np.array(named)).astype(float)  # (n, k, named)
    found = named_votes(SparseVotes.of(votes), np.array(named))
    assert (found.k, found.m) == (4, len(named))
    np.testing.assert_array_equal(found.onehot.toarray(), dense.reshape(20, -1))
