"""The words that rules read, found from texts and votes alone.

A source made of keywords votes on every document that holds one of them. So w is a word of source j when

    share of documents with w on which j votes  >= 0.995,    and by chance that is rare:  c_j ^ n_w < 1e-4

with c_j the share of all documents on which j votes and n_w the number of documents with w (20 or more). Fewer than 1,000
documents are not asked.

What for: an encoder that counts words can learn by heart which of them make a rule fire, and then only
repeats the rules, their mistakes included. Reading the texts once more without these words, it has to say
from the rest of the text what the document is; votes and text then err apart, as the recipe assumes. (That
leaving out seed words helps was found for seed words given by hand: Dong et al., 2023, Debiasing made
state-of-the-art.) And a source's votes are told apart by the word that made it vote (`recipe.shades`).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unruly.features.encoder import HeldWords
from unruly.votes.votes import Votes

FEWEST = 20  # documents with the word,
DOCUMENTS = 1_000  # and in all: in few texts, what goes with a rule's word cannot be told from it
ALWAYS = 0.995  # of them have the source's vote
CHANCE = 1e-4
MOST = 500  # words, the commonest first
SAMPLE = 20_000  # documents looked at
_WORD = r"\w+"


def rule_words(texts: pl.Series, votes: Votes) -> tuple[str, ...]:
    """The words, in lower case, commonest first.

    >>> texts = pl.Series(
    ...     ["please subscribe", "what a song", "please, a song", "do subscribe"] * 250
    ... )
    >>> votes = Votes.from_array([[1], [-1], [-1], [1]] * 250, classes=["ham", "spam"])
    >>> rule_words(texts, votes)
    ('subscribe', 'do')
    """
    if len(texts) < DOCUMENTS:
        return ()
    rows = np.arange(len(texts))
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    words, holds = _documents_with(texts.gather(rows))
    if not words:
        return ()
    found = np.flatnonzero(read_by(holds, votes.matrix[rows] >= 0).any(axis=1))
    count = np.asarray(holds.sum(axis=0))[found]
    order = found[np.lexsort((found, -count))][:MOST]
    return tuple(words[place] for place in order.tolist())


def read_by(holds: csr_array, voted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(w, k): whether a source reads a word, from which words texts hold, (n, w), and where the sources vote, (n, k).

    >>> holds = csr_array(np.repeat([[1, 0], [1, 1], [0, 1]], 30, axis=0))
    >>> read_by(holds, np.repeat([[True], [True], [False]], 30, axis=0)).tolist()
    [[True], [False]]
    """
    count = np.asarray(holds.sum(axis=0), np.float64)[:, None]  # (w, 1): n_w
    share = (holds.T @ voted.astype(np.float64)) / np.maximum(count, 1)  # (w, k)
    rarity = count * np.log(np.maximum(voted.mean(axis=0), 1e-300))  # (w, k)
    return np.asarray((share >= ALWAYS) & (rarity < np.log(CHANCE)) & (count >= FEWEST))


def held_words(texts: pl.Series, words: tuple[str, ...]) -> HeldWords:
    """Which of these words each text holds, whatever their case.

    >>> texts = pl.Series(["Please SUBSCRIBE, do subscribe", "subscriber"])
    >>> held_words(texts, ("do", "subscribe")).holds.toarray().tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    pattern = rf"(?i)\b(?:{'|'.join(words)})\b"
    found = pl.DataFrame({"word": texts.str.extract_all(pattern)}).with_row_index("row")
    each = found.explode("word").drop_nulls("word").with_columns(pl.col("word").str.to_lowercase())
    number = pl.DataFrame({"word": words}).with_row_index("number")
    cells = each.unique().join(number, on="word").sort("row", "number")
    pair = (cells["row"].to_numpy(), cells["number"].to_numpy())
    ones = np.ones(cells.height, np.float32)
    return HeldWords(words, csr_array((ones, pair), shape=(len(texts), len(words))))


def without(texts: pl.Series, words: tuple[str, ...]) -> pl.Series:
    """The texts with these words blotted out, whatever their case.

    >>> without(pl.Series(["Please SUBSCRIBE, subscriber"]), ("subscribe",)).to_list()
    ['Please  , subscriber']
    """
    if not words:
        return texts
    # Longer words first is not needed: \b holds each to whole words. All are of \w, so none needs escaping.
    return texts.str.replace_all(rf"(?i)\b(?:{'|'.join(words)})\b", " ")


def _documents_with(texts: pl.Series) -> tuple[list[str], csr_array]:
    """Words of 20 documents or more, sorted, and (n, w) which documents hold each."""
    frame = pl.DataFrame({"word": texts.str.to_lowercase().str.extract_all(_WORD).list.unique()})
    each = frame.with_row_index("row").explode("word").drop_nulls("word")
    common = each.group_by("word").len().filter(pl.col("len") >= FEWEST).sort("word")
    if not common.height:
        return [], csr_array((len(texts), 0))
    number = common.select("word", pl.int_range(pl.len()).alias("number"))
    cells = each.join(number, on="word")
    pair = (cells["row"].to_numpy(), cells["number"].to_numpy())
    holds = csr_array((np.ones(cells.height), pair), shape=(len(texts), common.height))
    return common["word"].to_list(), holds
