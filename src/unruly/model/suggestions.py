"""Words for new rules: they go with one class in the model's answers, and reach documents without votes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.model.advice import MOST_DOCUMENTS, WordSuggestion, keyword_lists
from unruly.rules.keywords import Keywords
from unruly.rules.sources import Sources
from unruly.sampling import Share, sample_rows, wilson
from unruly.votes.votes import Votes

LEAST = 0.75  # accuracy of a word, below which it is not suggested
SURE = 3.0  # z of the interval that a suggestion has to keep
ASKED = 200  # documents whose matches tell which words rules know already
LONGEST_SPAN = 120  # characters; a longer match is the whole text, not a word
_WORD = r"(?u)\b[^\W\d_][\w'’]+\b"


def suggest_words(
    texts: Sequence[str],
    votes: Votes,
    posteriors: NDArray[np.floating],  # (n, m)
    *,
    rules: Sources | None = None,
    gold: NDArray[np.int64] | None = None,
    each: int = 6,
    most: int = 18,
) -> tuple[WordSuggestion, ...]:
    """Words that would make good rules: the best of each class, classes in order.

    A word is suggested for a class where its accuracy is 75% or more, and above one half and the
    class's usual share by more than chance explains (z = 3, for many words are tried). Words that reach documents without votes come first. Words that rules know, and
    words that true labels contradict (right on less than half), are left out.
    """
    rows = sample_rows(len(texts), MOST_DOCUMENTS)
    p = posteriors[rows].astype(np.float64)  # (n, m)
    usual = p.mean(axis=0) if len(rows) else np.zeros(votes.m)  # (m,)
    column = pl.DataFrame({"text": [texts[row] for row in rows]}, schema={"text": pl.String})
    names, found = _counted(column["text"].to_list())
    if not names:
        return ()
    bare = ~votes.covered[rows]  # (n,)
    documents = np.asarray(found.sum(axis=0)).ravel()  # (w,)
    reach = np.sqrt(1 + np.asarray(found.T @ bare).ravel())  # (w,)
    score = (np.asarray(found.T @ p) / documents[:, None] - usual) * reach[:, None]  # (w, m)
    truth = None if gold is None else gold[rows]
    known = known_words(texts, votes, rules)
    chosen: list[WordSuggestion] = []
    for r, label in enumerate(votes.classes):
        used, count = set(known), 0
        for w in np.argsort(-score[:, r], kind="stable").tolist():
            if score[w, r] <= 0 or count == min(each, max(2, most // votes.m)):
                break
            words = set(names[w].split())
            if words & used:
                continue
            rule = Keywords((names[w],)).on(pl.col("text"))  # what a rule would match
            holding = np.flatnonzero(column.select(rule).to_series().to_numpy())
            hits, n = p[holding].sum(axis=0), len(holding)  # (m,)
            least = max(0.5, float(usual[r]))
            if hits[r] < LEAST * n or wilson(float(hits[r]), n, SURE).low <= least:
                continue
            checked = None if truth is None else _measured(truth[holding], r)
            if checked is not None and checked.value < 0.5:
                continue
            chosen.append(
                WordSuggestion(
                    word=names[w],
                    label=label,
                    documents=n,
                    uncovered=int(bare[holding].sum()),
                    accuracy=wilson(float(hits[r]), n),
                    measured=checked,
                    usual=float(usual[r]),
                )
            )
            used |= words
            count += 1
    return tuple(chosen)


def _counted(texts: Sequence[str]) -> tuple[list[str], Any]:
    """Words and pairs of words that are neither rare nor everywhere, and (n, w) which text holds which."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(
        binary=True,
        ngram_range=(1, 2),
        min_df=max(3, len(texts) // 400),
        max_df=0.5,
        token_pattern=_WORD,
    )
    try:
        found = counter.fit_transform(texts).astype(np.float64)
    except ValueError:  # no word occurs often enough, or no limit fits so few texts
        return [], None
    return counter.get_feature_names_out().tolist(), found


def _measured(truth: NDArray[np.int64], r: int) -> Share | None:
    scored = truth[truth >= 0]
    return wilson(int((scored == r).sum()), len(scored)) if len(scored) else None


def known_words(texts: Sequence[str], votes: Votes, rules: Sources | None = None) -> set[str]:
    """Words in the rules' lists, and words in the spans that rules match in a sample of documents."""
    known = {
        part
        for _, _, words in (keyword_lists(rules) if rules is not None else ())
        for word in words.words
        for part in re.findall(_WORD, word.lower())
    }
    if votes.provenance is None:
        return known
    covered = np.flatnonzero(votes.covered)
    for row in covered[sample_rows(len(covered), ASKED)].tolist():
        for match in votes.matches(row):
            for start, end in match.spans:
                if end - start <= LONGEST_SPAN:
                    known |= set(re.findall(_WORD, texts[row][start:end].lower()))
    return known
