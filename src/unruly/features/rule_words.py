"""The words that rules read, found from texts and votes alone.

A source made of keywords votes on every document that holds one of them. So w is a word of source j when

    share of documents with w on which j votes  >= 0.995,    and by chance that is rare:  c_j ^ n_w < 1e-4

with c_j the share of all documents on which j votes and n_w the number of documents with w (20 or more). Fewer than 1,000
documents are not asked.

What for: an encoder that counts words can learn by heart which of them make a rule fire, and then only
repeats the rules, their mistakes included. Reading the texts once more without these words, it has to say
from the rest of the text what the document is; votes and text then err apart, as the recipe assumes. (That
leaving out seed words helps was found for seed words given by hand: Dong et al., 2023, Debiasing made
state-of-the-art.)
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.sparse import csr_array

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
    voted = (votes.matrix[rows] >= 0).astype(np.float64)  # (n, k)
    count = np.asarray(holds.sum(axis=1), np.float64)  # (w,): n_w
    share = (holds @ voted) / count[:, None]  # (w, k)
    rarity = count[:, None] * np.log(np.maximum(voted.mean(axis=0), 1e-300))  # (w, k)
    found = np.flatnonzero(((share >= ALWAYS) & (rarity < np.log(CHANCE))).any(axis=1))
    order = found[np.lexsort((found, -count[found]))][:MOST]
    return tuple(words[place] for place in order.tolist())


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
    """Words of 20 documents or more, sorted, and (w, n) which documents hold each."""
    frame = pl.DataFrame({"word": texts.str.to_lowercase().str.extract_all(_WORD).list.unique()})
    each = frame.with_row_index("row").explode("word").drop_nulls("word")
    common = each.group_by("word").len().filter(pl.col("len") >= FEWEST).sort("word")
    if not common.height:
        return [], csr_array((0, len(texts)))
    number = common.select("word", pl.int_range(pl.len()).alias("number"))
    cells = each.join(number, on="word")
    pair = (cells["number"].to_numpy(), cells["row"].to_numpy())
    holds = csr_array((np.ones(cells.height), pair), shape=(common.height, len(texts)))
    return common["word"].to_list(), holds
