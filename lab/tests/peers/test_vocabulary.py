"""Tokens and their numbers.

Texts through a network: every document gets its own answer, whatever else is in its batch.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly_lab.peers.vocabulary import (
    PAD,
    UNKNOWN,
    TokenIds,
    Vocabulary,
    answers_by_length,
    tokens,
)


def test_tokens_of_many_scripts() -> None:
    assert tokens("L'été, 3 cafés!") == ["l'été", "3", "cafés", "!"]
    assert tokens("好歌") == ["好", "歌"]
    assert tokens("... --") == []


def test_words_are_ranked_by_count_then_alphabet_and_kept_words_stay() -> None:
    lists = [["b", "a", "b", "c"], ["a", "rare"]]
    vocabulary = Vocabulary.learn(lists, min_count=2, keep=["rare", "absent"])
    assert vocabulary.words[3:] == ("a", "b", "rare")
    assert vocabulary.counts.tolist() == [0, 1, 0, 2, 2, 1]
    assert Vocabulary.learn(lists, most=1).words[3:] == ("a",)


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), min_size=1, max_size=8))
def test_padding_keeps_every_document(lists: list[list[str]]) -> None:
    vocabulary = Vocabulary.learn([["a", "b", "c", "d"]])
    ids = vocabulary.encode(lists)
    padded = ids.padded(np.arange(len(lists)), most=5)
    for row, words in zip(padded, lists, strict=True):
        expected = [vocabulary.numbers.get(w, UNKNOWN) for w in words[:5]]
        assert row[: len(expected)].tolist() == expected
        assert (row[len(expected) :] == PAD).all()


def test_texts_without_a_word_are_refused() -> None:
    with pytest.raises(InputError, match="none of the texts has a word"):
        Vocabulary.learn([[], []])


LENGTHS = (3, 0, 5, 1, 5, 2, 4)


class Counts(torch.nn.Module):
    """Two scores of a document: its sum and its number of tokens; notes how wide the batches are."""

    def __init__(self) -> None:
        super().__init__()
        self.widths: list[int] = []

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.widths.append(ids.shape[1])
        return torch.stack([ids.sum(dim=1), (ids != PAD).sum(dim=1)], dim=1).float()


def corpus() -> TokenIds:
    starts = np.concatenate([[0], np.cumsum(LENGTHS)])
    return TokenIds(np.random.default_rng(0).integers(3, 9, starts[-1]), starts)


@pytest.mark.parametrize("together", [1, 2, 3, 100])
def test_answers_stand_in_the_order_of_the_corpus(together: int) -> None:
    some = corpus()
    found = answers_by_length(Counts(), some, 2, together=together, most=4)
    for i, row in enumerate(found):
        own = some.ids[some.starts[i] : some.starts[i + 1]][:4]
        scores = torch.tensor([own.sum(), len(own)], dtype=torch.float64)
        assert row == pytest.approx(scores.softmax(dim=0).numpy())


def test_batches_are_no_wider_than_their_longest_document_asks() -> None:
    network = Counts()
    answers_by_length(network, corpus(), 2, together=2, most=4, least=2)
    assert network.widths == [2, 3, 4, 4]


def test_no_document_no_answer() -> None:
    none = TokenIds(np.empty(0, np.int64), np.zeros(1, np.int64))
    assert answers_by_length(Counts(), none, 3, together=2, most=4).shape == (0, 3)
