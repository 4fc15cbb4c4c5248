"""How one answer is explained: its votes and heads, the nearest training documents, and the words that it hangs on.

Each word is left out once, and the classifier asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.denoising.denoised import DenoisedModel
from unruly.features.encoder import Features
from unruly.learner import Heads
from unruly.model.explanation import Explanation, Opinion, Vote, Word, is_empty
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents, silence
from unruly.model.predictions import DECIDED
from unruly.model.summary import estimated_accuracy
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Match, Votes

_PLACES = ["tokens", "span1", "span2", "span1_tok", "span2_tok"]
MOST_WORDS = 200  # of one text; longer texts are taken in equal runs of words
# A sign of a script without blanks (kana, Han), a word with its apostrophes and hyphens, or signs that may
# carry meaning (emoji, exclamation and question marks); plain punctuation is no word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+(?:['’-]\w+)*|[^\w\s.,;:()\"'’“”\[\]-]+")
Asked = Callable[[Sequence[str]], NDArray[np.float32]]  # texts -> (n, m) probabilities


def explain(
    fitted: Fitted,
    documents: Documents,
    given: Votes | None,
    *,
    words: int = 8,
    neighbours: int = 5,
) -> Explanation:
    """Why the first of these documents gets its label."""
    votes = fitted.votes(documents, given)
    features = fitted.features(documents)
    heads = fitted.heads(documents, features, votes)
    text = None if documents.corpus is None else documents.corpus.texts[0]
    cast = votes.voted[0].any()
    predicted = int(heads.classifier[0].argmax())
    return Explanation(
        text=text,
        answer=_opinion(heads.combined[0], fitted.classes),
        decided_by=DECIDED[int(heads.decided_by[0])],
        votes=_votes(fitted, votes, heads, features, text),
        majority=_majority(votes),
        pseudo_label=_pseudo_label(fitted, votes) if cast and fitted.method == "paper" else None,
        denoiser=_opinion(heads.denoiser[0], fitted.classes) if cast else None,
        classifier=_opinion(heads.classifier[0], fitted.classes),
        neighbours=()
        if is_empty(text)
        else fitted.neighbourhood.nearest(
            features.matrix()[0], fitted.classes, fitted.sources, neighbours
        ),
        words=_words(fitted, documents.corpus, predicted, words),
        ledger=fitted.ledger,
    )


def _words(fitted: Fitted, corpus: Corpus | None, label: int, count: int) -> tuple[Word, ...]:
    if corpus is None or fitted.encoder is None or count < 1:
        return ()
    return telling_words(corpus.texts[0], _asked(fitted, corpus), label, count)


def _asked(fitted: Fitted, corpus: Corpus) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """The classifier alone, as a function of variants of one text; other columns stay as they are.

    But for the columns that say where in the text the two entities of a relation stand: without a word
    they no longer hold, so the entities are looked for.
    """
    columns = (
        corpus.columns if corpus.relation is None else corpus.columns.drop(_PLACES, strict=False)
    )

    def ask(texts: Sequence[str]) -> NDArray[np.float32]:
        variants = Corpus(
            ids=pl.Series("id", range(len(texts)), dtype=pl.Int64),
            texts=pl.Series("text", list(texts), dtype=pl.String),
            columns=columns[[0] * len(texts)] if columns.width else columns,
            name=corpus.name,
        )
        none = silence(variants.ids, fitted.classes, fitted.sources)
        features = fitted.features(Documents(variants, None))
        return fitted.learner.heads(features, none).classifier

    return ask


def _opinion(proba: NDArray[np.float32], classes: tuple[str, ...]) -> Opinion:
    best = int(proba.argmax())
    each = tuple((name, float(share)) for name, share in zip(classes, proba, strict=True))
    return Opinion(classes[best], float(proba[best]), each)


def _votes(
    fitted: Fitted, votes: Votes, heads: Heads, features: Features, text: str | None
) -> tuple[Vote, ...]:
    learner = fitted.learner
    odds = learner.vote_odds(features, votes)[0] if isinstance(learner, DenoisedModel) else None
    why = {match.source: match for match in votes.matches(0)} if votes.provenance else {}
    cast = np.flatnonzero(votes.voted[0])
    order = sorted(cast.tolist(), key=lambda j: (-float(heads.conditional[0, j]), j))
    return tuple(
        _vote(
            fitted,
            votes,
            j,
            float(heads.conditional[0, j]),
            None if odds is None else float(odds[j]),
            why.get(votes.sources[j]),
            text or "",
        )
        for j in order
    )


def _vote(
    fitted: Fitted,
    votes: Votes,
    j: int,
    here: float,
    odds: float | None,
    match: Match | None,
    text: str,
) -> Vote:
    spans = match.spans if match else ()
    return Vote(
        source=votes.sources[j],
        label=votes.label(0, j),
        conditional=here,
        overall=float(fitted.learner.reliability[j]),
        rule=match.rule + 1 if match else None,
        reason=match.reason if match else "",
        spans=spans,
        matched=tuple(text[start:end] for start, end in spans),
        accuracy=estimated_accuracy(fitted.learner, j)[0],
        odds=odds,
    )


def _majority(votes: Votes) -> tuple[str, ...]:
    counts = votes.counts()[0]
    if not counts.any():
        return ()
    return tuple(votes.classes[r] for r in np.flatnonzero(counts == counts.max()))


def _pseudo_label(fitted: Fitted, votes: Votes) -> str:
    """Equation 2: the class with the largest sum of global reliabilities."""
    named = np.stack([votes.agrees(np.array([r]), slice(1))[0] for r in range(votes.m)])  # (m, k)
    shares = named / np.maximum(named.sum(axis=0), 1)
    return votes.classes[int((shares @ fitted.learner.reliability).argmax())]


def telling_words(
    text: str, ask: Asked, label: int, count: int = 8, most: int = MOST_WORDS
) -> tuple[Word, ...]:
    """The words whose removal changes the probability of class `label` most, greatest change first.

    A text of more than `most` words is cut into `most` runs of about equal length, so that at most
    `most` + 1 texts are encoded.

    >>> def ask(texts):  # a classifier that only looks for 'subscribe'
    ...     spam = [0.9 if "subscribe" in t else 0.2 for t in texts]
    ...     return np.array([[1 - p, p] for p in spam], dtype=np.float32)
    >>> [
    ...     (w.text, round(w.effect, 2))
    ...     for w in telling_words("please subscribe now", ask, 1, count=1)
    ... ]
    [('subscribe', 0.7)]
    """
    spans = _runs([match.span() for match in _WORD.finditer(text)], most)
    if not spans:
        return ()
    without = [text[:start] + text[end:] for start, end in spans]
    given = ask([text, *without])[:, label].astype(np.float64)  # (1 + words,)
    effects = given[0] - given[1:]  # (words,)
    order = np.argsort(-np.abs(effects), kind="stable")[:count]
    return tuple(_word(text, spans[i], float(effects[i])) for i in order)


def _word(text: str, span: tuple[int, int], effect: float) -> Word:
    return Word(text[slice(*span)], span[0], span[1], round(effect, 6))


def _runs(spans: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """At most so many spans, neighbours joined."""
    if len(spans) <= most:
        return spans
    cuts = np.linspace(0, len(spans), most + 1).astype(int)
    return [(spans[a][0], spans[b - 1][1]) for a, b in pairwise(cuts.tolist())]
