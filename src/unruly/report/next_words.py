"""Words that would make good next rules: they go with one class, and reach documents without votes.

For every word and pair of words w, from the model's own probabilities P(y | document):

    share(w, y) = (Σ over documents with w of P(y) + s π_y) / (documents with w + s)      s = 5, π the mean of P
    z(w, y)     = (share - π_y) / √(π_y (1 - π_y) / documents with w)
    score       = (share - π_y) · √(1 + documents with w that have no vote)

The model judges itself here: the shares are a reason to look at a word, not a measurement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.report.excerpt import LONGEST_SPAN
from unruly.votes.votes import Votes

MOST_DOCUMENTS = 5000
ASKED = 200  # documents whose matches tell which words rules know already
SMOOTH = 5.0
SURE = 3.0  # z from which a word is more than chance
LEAST_LIFT = 0.15
_WORD = r"(?u)\b[^\W\d_][\w'’]+\b"


@dataclass(frozen=True)
class NextWord:
    """A word (or two), and the class that it speaks for."""

    word: str
    label: str
    documents: int
    uncovered: int  # of these, documents without any vote
    share: float  # of the documents with the word that the model gives this class
    usual: float  # the class's share of all documents


def next_words(
    texts: Sequence[str], votes: Votes, proba: NDArray[np.floating], each: int = 6, most: int = 18
) -> tuple[NextWord, ...]:
    """The best words of each class, classes in order; none when nothing stands out."""
    from sklearn.feature_extraction.text import CountVectorizer

    rows = _sample(len(texts), MOST_DOCUMENTS)
    least = max(3, len(rows) // 400)
    counter = CountVectorizer(
        binary=True, ngram_range=(1, 2), min_df=least, max_df=0.5, token_pattern=_WORD
    )
    try:
        found = counter.fit_transform([texts[row] for row in rows]).astype(np.float64)
    except ValueError:  # no word occurs often enough, or no limit fits so few texts
        return ()
    names = counter.get_feature_names_out()
    p = proba[rows].astype(np.float64)  # (n, m)
    usual = p.mean(axis=0)  # (m,)
    documents = np.asarray(found.sum(axis=0)).ravel()  # (w,)
    uncovered = np.asarray(found.T @ ~votes.covered[rows]).ravel()  # (w,)
    share = (found.T @ p + SMOOTH * usual) / (documents + SMOOTH)[:, None]  # (w, m)
    lift = share - usual
    z = lift / np.sqrt(np.maximum(usual * (1 - usual), 1e-9) / documents[:, None])
    score = np.where((z > SURE) & (lift > LEAST_LIFT), lift * np.sqrt(1 + uncovered)[:, None], 0.0)
    known = _known_words(votes, texts)
    chosen = []
    for r, label in enumerate(votes.classes):
        for w in _best(names, score[:, r], known, min(each, max(2, most // votes.m))):
            counts = int(documents[w]), int(uncovered[w])
            chosen.append(
                NextWord(str(names[w]), label, *counts, float(share[w, r]), float(usual[r]))
            )
    return tuple(chosen)


def _best(
    names: NDArray[np.object_], score: NDArray[np.float64], known: set[str], count: int
) -> list[int]:
    """The highest scores, leaving out what rules know and what repeats a better one."""
    chosen: list[int] = []
    used: set[str] = set(known)
    for w in np.argsort(-score, kind="stable").tolist():
        if score[w] <= 0 or len(chosen) == count:
            break
        words = set(str(names[w]).split())
        if not words & used:
            chosen.append(w)
            used |= words
    return chosen


def _known_words(votes: Votes, texts: Sequence[str]) -> set[str]:
    """Words that stand in spans which rules match, from a sample of documents."""
    if votes.provenance is None:
        return set()
    covered = np.flatnonzero(votes.covered)
    known: set[str] = set()
    for row in covered[_sample(len(covered), ASKED)].tolist():
        for match in votes.matches(row):
            for start, end in match.spans:
                if end - start <= LONGEST_SPAN:
                    known |= set(re.findall(_WORD, texts[row][start:end].lower()))
    return known


def _sample(n: int, most: int) -> NDArray[np.int64]:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
