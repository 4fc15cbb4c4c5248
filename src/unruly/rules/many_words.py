"""Thousands of keywords at once: one Aho-Corasick automaton over texts whose words are marked.

Every word of the text is put between two marks, and so are the words of the keywords; a keyword then
occurs as a whole word where its marked form occurs at all, which is what the automaton finds, in a
time that hardly depends on how many keywords there are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import polars as pl

_START, _END = "\x01", "\x02"  # control characters: no text that people write has them


def contains_any_word(text: pl.Expr, words: Sequence[str], whole: bool) -> pl.Expr:
    """Whether one of the words occurs, whatever its case.

    >>> frame = pl.DataFrame({"text": ["Check  OUT!", "check outs", "c++"]})
    >>> frame.select(
    ...     contains_any_word(pl.col("text"), ["check out", "C++"], True)
    ... ).to_series().to_list()
    [True, False, True]
    """
    single = pl.Series([" ".join(word.split()) for word in words])
    keywords = pl.select(_prepared(pl.lit(single), whole)).to_series()
    return _prepared(text, whole).str.contains_any(keywords.to_list())


def _prepared(text: pl.Expr, whole: bool) -> pl.Expr:
    plain = _folded(text).str.replace_all(r"\s+", " ")
    return plain.str.replace_all(r"\w+", f"{_START}${{0}}{_END}") if whole else plain


def _folded(text: pl.Expr) -> pl.Expr:
    """Letters that differ in case only made one, as the regular expressions see it."""
    rest = _beyond_lower_case()
    return text.str.to_lowercase().str.replace_many(list(rest), list(rest.values()))


@functools.lru_cache(maxsize=1)
def _beyond_lower_case() -> dict[str, str]:
    """Lower-case letters that are yet the same as another: ς and σ, ſ and s."""
    found = {}
    for letter in map(chr, range(0x10000)):  # further on, lower case is all there is to it
        folded, lower = letter.casefold(), letter.lower()
        simple = folded if len(folded) == 1 else lower
        if len(lower) == 1 and len(simple) == 1 and simple != lower:
            found[lower] = simple
    return found
