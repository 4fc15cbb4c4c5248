"""A source's votes told apart by the words that made it vote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from unruly.features.encoder import Features, HeldWords
from unruly.features.rule_words import held_words
from unruly.recipe.evidence import Evidence
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.opinion_pool import OpinionPool
from unruly.recipe.posteriors import WHOLE
from unruly.recipe.recipe import Recipe
from unruly.recipe.shades import NO_WORD, Shades
from unruly.recipe.source_behaviour import (
    opinions,
    shade_behaviour,
    source_behaviour,
    vote_evidence,
)
from unruly.settings import Settings
from unruly.votes.votes import Votes

WORDS = ("good", "masterpiece", "awful", "slow")


class Reviews:
    """A source that reads four words, of which two are worth much and two little, and one that reads none."""

    def __init__(self, n: int = 2400, seed: int = 0, signal: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.gold = rng.integers(0, 2, n)
        word = rng.integers(-1, 4, n)  # -1: none of them, and no vote
        right = rng.random(n) < np.array([0.55, 0.97, 0.97, 0.55, 0.5])[word]
        says = np.array([1, 1, 0, 0, -1])[word]
        swap = (says >= 0) & (right != (says == self.gold))
        self.gold[swap] = 1 - self.gold[swap]
        other = np.where(rng.random(n) < 0.75, self.gold, 1 - self.gold)
        other[rng.random(n) < 0.5] = -1
        self.votes = Votes.from_array(
            np.stack([says, other], axis=1), classes=["no", "yes"], sources=["words", "other"]
        )
        texts = [f"so {WORDS[w]}" if w >= 0 else "well" for w in word]
        x = signal * (self.gold[:, None] - 0.5) + rng.normal(0, 0.7, (n, 3))
        plain = Features.from_array(x.astype(np.float32))
        self.features = replace(plain, held=held_words(pl.Series(texts), WORDS))

    def right(self, recipe: Recipe, features: Features) -> float:
        return float((recipe.heads(features, self.votes).predicted == self.gold).mean())


@pytest.fixture(scope="module")
def reviews() -> Reviews:
    return Reviews()


def evidence_of(reviews: Reviews, shades: bool = True) -> Evidence:
    held = reviews.features.held if shades else None
    return Evidence.of(reviews.votes, np.full(reviews.votes.n, -1), held)


def test_words_belong_to_the_source_that_votes_wherever_they_stand(reviews: Reviews) -> None:
    shades = evidence_of(reviews).shades
    assert shades.owner.tolist() == [0] * 5 + [1]
    assert shades.word.tolist() == [0, 1, 2, 3, NO_WORD, NO_WORD]


holdings = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=30).map(
    np.array
)


@given(holdings)
def test_a_vote_is_still_one_vote(holds: NDArray[np.bool_]) -> None:
    shades = Shades(np.array([0, 0, 1, 1, 1, 2]), np.array([0, NO_WORD, 1, 2, NO_WORD, NO_WORD]))
    for j in range(3):
        shares = shades.shares(j, sparse.csr_array(holds.astype(float))).toarray()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
        assert (shares >= 0).all()


def test_shares_add_up_to_the_votes(reviews: Reviews) -> None:
    evidence = evidence_of(reviews)
    by_shade = evidence.shaded.toarray().reshape(evidence.n, -1, evidence.m)
    own = np.eye(evidence.k)[evidence.shades.owner]  # (s, k)
    said = np.einsum("nsm,sk->nkm", by_shade, own).reshape(evidence.n, -1)
    np.testing.assert_allclose(said, evidence.said.toarray(), atol=1e-6)


def test_a_word_that_is_worth_more_gets_a_louder_opinion(reviews: Reviews) -> None:
    evidence, truth = evidence_of(reviews), np.eye(2)[reviews.gold]
    whole = source_behaviour(evidence, truth)
    opinion = opinions(shade_behaviour(evidence, truth, whole), np.ones(6))  # (s, c, y)
    good, masterpiece = opinion[0, 1, 1], opinion[1, 1, 1]
    awful, slow = opinion[2, 0, 0], opinion[3, 0, 0]
    assert masterpiece > opinions(whole, np.ones(2))[0, 1, 1] > good > 0
    assert awful > slow > 0


def test_a_shade_that_was_never_heard_speaks_as_its_source_does(reviews: Reviews) -> None:
    evidence, truth = evidence_of(reviews), np.eye(2)[reviews.gold]
    whole = source_behaviour(evidence, truth)
    opinion = opinions(shade_behaviour(evidence, truth, whole), np.ones(6))
    np.testing.assert_allclose(opinion[4], opinions(whole, np.ones(2))[0], atol=1e-9)


def test_a_source_that_reads_no_word_is_as_it_is(reviews: Reviews) -> None:
    evidence, truth = evidence_of(reviews), np.eye(2)[reviews.gold]
    whole = source_behaviour(evidence, truth)
    np.testing.assert_array_equal(shade_behaviour(evidence, truth, whole)[5], whole[1])


def test_without_words_nothing_is_told_apart(reviews: Reviews) -> None:
    evidence = evidence_of(reviews, shades=False)
    assert evidence.shaded is evidence.said
    whole = source_behaviour(evidence, np.eye(2)[reviews.gold])
    assert shade_behaviour(evidence, np.eye(2)[reviews.gold], whole) is whole


def test_what_a_source_adds_is_taken_out_whole(reviews: Reviews) -> None:
    evidence, truth = evidence_of(reviews), np.eye(2)[reviews.gold]
    behaviour = shade_behaviour(evidence, truth, source_behaviour(evidence, truth))
    opinion = opinions(behaviour, np.ones(6))
    rest = vote_evidence(evidence, opinion)
    for j in range(evidence.k):
        rest[evidence.votes_of(j)[0]] -= evidence.opinion_of(j, opinion)
    np.testing.assert_allclose(rest, 0, atol=1e-9)


def test_the_pool_says_of_documents_what_the_loop_says(reviews: Reviews) -> None:
    evidence, truth = evidence_of(reviews), np.eye(2)[reviews.gold]
    behaviour = shade_behaviour(evidence, truth, source_behaviour(evidence, truth))
    opinion = opinions(behaviour, np.ones(6))
    pool = OpinionPool(
        opinion.astype(np.float32), evidence.shades, evidence.sources, evidence.classes, None
    )
    ev, _ = pool.evidence(reviews.features.matrix(), reviews.votes, reviews.features.held)
    np.testing.assert_allclose(ev, vote_evidence(evidence, opinion), atol=1e-4)
    # Where nobody tells which words the texts hold, a source speaks as it does without a word.
    blind, _ = pool.evidence(reviews.features.matrix(), reviews.votes)
    alone = np.flatnonzero((reviews.votes.matrix[:, 0] == 1) & (reviews.votes.matrix[:, 1] < 0))
    np.testing.assert_allclose(blind[alone], np.tile(opinion[4, 1], (len(alone), 1)), atol=1e-5)


def test_a_soft_vote_is_shared_among_the_words_too(reviews: Reviews) -> None:
    said = np.full((reviews.votes.n, 2), 0.5, np.float32)
    said[:, 0], said[:, 1] = 0.3, 0.7
    voted = reviews.votes.voted[:, 0]
    matrix = reviews.votes.matrix.copy()
    matrix[voted, 0] = 1
    soft = replace(reviews.votes, matrix=matrix, soft={"words": said})
    evidence = Evidence.of(soft, np.full(soft.n, -1), reviews.features.held)
    truth = np.eye(2)[reviews.gold]
    behaviour = shade_behaviour(evidence, truth, source_behaviour(evidence, truth))
    opinion = opinions(behaviour, np.ones(len(evidence.shades)))
    pool = OpinionPool(
        opinion.astype(np.float32), evidence.shades, evidence.sources, evidence.classes, None
    )
    ev, _ = pool.evidence(reviews.features.matrix(), soft, reviews.features.held)
    np.testing.assert_allclose(ev, vote_evidence(evidence, opinion), atol=1e-4)


def test_words_of_unequal_worth_are_told_apart_without_gold() -> None:
    gains = []
    for seed in range(3):
        task = Reviews(seed=seed, signal=0.8)
        told = fit_recipe(task.features, task.votes, Settings(seed=seed))
        whole = fit_recipe(
            task.features, task.votes, Settings(seed=seed), ingredients=replace(WHOLE, shades=False)
        )
        gains.append(task.right(told, task.features) - task.right(whole, task.features))
    assert min(gains) > 0.002


def test_rows_in_another_order_give_the_same(reviews: Reviews) -> None:
    order = np.random.default_rng(1).permutation(reviews.votes.n)
    evidence, moved = (
        Evidence.of(votes, np.full(votes.n, -1), features.held)
        for votes, features in (
            (reviews.votes, reviews.features),
            (reviews.votes.take(order), reviews.features.take(order)),
        )
    )
    np.testing.assert_array_equal(evidence.shades.word, moved.shades.word)
    np.testing.assert_allclose(evidence.shaded.toarray()[order], moved.shaded.toarray())
    np.testing.assert_allclose(evidence.take(order).shaded.toarray(), moved.shaded.toarray())


def test_a_recipe_comes_back_from_its_arrays(reviews: Reviews) -> None:
    recipe = fit_recipe(reviews.features, reviews.votes, Settings())
    again = Recipe.restore(recipe.arrays(), recipe.facts())
    one, other = (r.heads(reviews.features, reviews.votes).combined for r in (recipe, again))
    np.testing.assert_array_equal(one, other)
    old = {k: v for k, v in recipe.arrays().items() if k not in ("pool.owner", "pool.word")}
    old["pool.opinion"] = old["pool.opinion"][[4, 5]]  # as saved before there were shades
    plain = Recipe.restore(old, recipe.facts())
    assert plain.heads(reviews.features, reviews.votes).combined.shape == one.shape


def test_words_that_no_source_reads_change_nothing(reviews: Reviews) -> None:
    holds = sparse.csr_array(np.random.default_rng(0).random((reviews.votes.n, 2)) < 0.3)
    nothing = HeldWords(("the", "of"), holds.astype(np.float32))
    evidence = Evidence.of(reviews.votes, np.full(reviews.votes.n, -1), nothing)
    assert evidence.shaded is evidence.said
    assert evidence.shades.word.tolist() == [NO_WORD, NO_WORD]
