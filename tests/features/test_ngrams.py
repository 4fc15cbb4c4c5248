"""N-grams as numbers: the same n-grams that a plain reading of the text gives."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from unruly.features.ngrams import LENGTHS, CharGrams, WordGrams

WRITTEN = st.lists(st.text(alphabet="ab c,é我", max_size=20), min_size=1, max_size=6)


@given(WRITTEN)
def test_words_and_pairs_are_those_of_a_plain_loop(texts: list[str]) -> None:
    grams = WordGrams.learn(texts, least=1)
    found = grams.of(texts)
    ours = Counter((int(r), grams.term(int(k))) for r, k in zip(found.row, found.key, strict=True))
    plain: Counter[tuple[int, str]] = Counter()
    for row, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        plain.update((row, word) for word in words)
        plain.update((row, f"{a} {b}") for a, b in pairwise(words))
    assert ours == plain


@given(WRITTEN)
def test_runs_of_characters_are_those_of_a_plain_loop(texts: list[str]) -> None:
    grams = CharGrams.learn(texts)
    found = grams.of(texts)
    ours = Counter((int(r), grams.term(int(k))) for r, k in zip(found.row, found.key, strict=True))
    plain: Counter[tuple[int, str]] = Counter()
    for row, text in enumerate(texts):
        for word in text.lower().split():
            padded = f" {word} "
            for n in LENGTHS:
                plain.update((row, padded[i : i + n]) for i in range(len(padded) - n + 1))
    # A blank between two words belongs to both: " c" of "ab c" is counted once in either reading.
    assert ours == plain


def test_rare_words_break_pairs() -> None:
    grams = WordGrams.learn(["good film", "good song", "film"], least=2)
    assert grams.words == ("film", "good")
    found = grams.of(["good unheard film good film"])
    assert [grams.term(int(k)) for k in found.key] == [
        "good",
        "film",
        "good",
        "film",
        "film good",
        "good film",
    ]


def test_an_unknown_character_breaks_a_run() -> None:
    grams = CharGrams(" ab")
    found = grams.of(["abzab"])
    assert {grams.term(int(k)) for k in found.key} == {" a", "ab", " ab", "b ", "ab "}


def test_emoji_are_words() -> None:
    assert "😀" in WordGrams.learn(["😀 nice 😀"], least=1).words
