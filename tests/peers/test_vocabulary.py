"""Tokens and their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.peers.vocabulary import PAD, UNKNOWN, Vocabulary, tokens


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
