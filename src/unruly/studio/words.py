"""Similar documents by shared rare words, and the inflections of a word in the texts.

Similar documents share rare words; they are found without an index or a model.

    score(d) = sum_{w in q and d} idf(w)^2 / sum_{w in q} idf(w)^2        idf(w) = log(n / documents with w)

q: the document's dozen rarest words that stand elsewhere as well.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from unruly.sampling import sample_rows
from unruly.studio.state import State

WORDS = 12
TRIED = 60  # words of the document that are looked up in the sample
SAMPLE = 4_000  # documents that tell which words are rare
FORMS_SAMPLE = 50_000  # documents in which other forms of a word are looked for
MOST_FORMS = 12
_ENDINGS = ("ing", "ed", "es", "er", "ers", "ly", "s", "e", "y")
_WORD = re.compile(r"[^\W\d_][\w'’]{2,}")


def similar(state: State, row: int, most: int = 8) -> list[tuple[int, float]]:
    """Rows of the most similar documents with their scores from 0 to 1, best first."""
    words = _rare_words(state, row)
    score = np.zeros(state.n)
    total = 0.0
    for word in words:
        found = state.corpus.texts.str.contains(rf"(?i)\b{re.escape(word)}\b").to_numpy()
        weight = float(np.log(state.n / max(int(found.sum()), 1))) ** 2
        score += weight * found
        total += weight
    if not total:
        return []
    score[row] = 0.0
    best = np.argsort(-score, kind="stable")[:most]
    return [(int(i), float(score[i] / total)) for i in best if score[i] > 0.1 * total]


def _rare_words(state: State, row: int) -> list[str]:
    text = state.corpus.texts[row]
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(text[:20_000])))
    words = sorted(words, key=len, reverse=True)[:TRIED]
    if not words:
        return []
    rows = pl.Series(sample_rows(state.n, SAMPLE), dtype=pl.UInt32)
    sample = state.corpus.texts.gather(rows).alias("text").to_frame()
    counts = sample.select(
        pl.col("text").str.contains(rf"(?i)\b{re.escape(word)}\b").sum().alias(str(i))
        for i, word in enumerate(words)
    ).row(0)
    order = sorted(range(len(words)), key=lambda i: (counts[i], words[i]))
    return [words[i] for i in order[:WORDS]]


def stem_of(word: str) -> str:
    """A word without a common English ending, where enough of it is left.

    >>> stem_of("subscribing"), stem_of("songs"), stem_of("bus")
    ('subscrib', 'song', 'bus')
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def inflections(words: str, state: State) -> list[tuple[str, int]]:
    """Other forms of the last of these words that the texts have, with the number of texts.

    What comes after the stem is at most four letters, so that *subscribe* offers *subscribed* and
    *subscribers*, but not another word.
    """
    phrase = words.casefold().split()
    if not phrase:
        return []
    stem = stem_of(phrase[-1])
    if len(stem) < 3:
        return []
    before = r"\s+".join(re.escape(word) for word in phrase[:-1])
    pattern = rf"(?i)\b({before}{chr(92) + 's+' if before else ''}{re.escape(stem)}\w{{0,4}})\b"
    rows = pl.Series(sample_rows(state.n, FORMS_SAMPLE), dtype=pl.UInt32)
    found = state.corpus.texts.gather(rows).str.extract(pattern).drop_nulls().str.to_lowercase()
    counts = found.str.replace_all(r"\s+", " ").value_counts(sort=True, name="n")
    return [(form, n) for form, n in counts.iter_rows()][:MOST_FORMS]
