"""Texts without the words that rules look for.

An encoder that counts words can learn by heart which of them make a rule fire, and then only repeats the
rules, their mistakes included. Reading the texts once more without these words, it has to say from the
rest of the text what the document is. (That leaving out seed words helps was found for seed words given by
hand: Dong et al., 2023, Debiasing made state-of-the-art.)
"""

from __future__ import annotations

import re

import polars as pl

MOST = 500  # words


def without(texts: pl.Series, words: tuple[str, ...]) -> pl.Series:
    """The texts with a blank in place of each of these words or phrases, whatever their case.

    >>> without(pl.Series(["Please SUBSCRIBE, subscriber"]), ("subscribe",)).to_list()
    ['Please  , subscriber']
    """
    if not words:
        return texts
    pattern = "|".join(_whole(word) for word in sorted(set(words[:MOST]), key=len, reverse=True))
    return texts.str.replace_all(rf"(?i)(?:{pattern})", " ")


def _whole(word: str) -> str:
    """A pattern that finds the word but not a part of another; signs at its ends need no border.

    >>> _whole("sub"), _whole(":-)")
    ('\\\\bsub\\\\b', ':\\\\-\\\\)')
    """
    left = r"\b" if re.match(r"\w", word) else ""
    right = r"\b" if re.search(r"\w$", word) else ""
    return f"{left}{re.escape(word)}{right}"
