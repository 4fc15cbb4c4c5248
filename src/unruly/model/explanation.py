"""Why one document got its label: every vote, both heads, the nearest training documents, and the words that matter.

Each word is left out once, and the classifier asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.html import escape, html_table, marked_html
from unruly.learner import Decider, Heads
from unruly.ledger import Ledger
from unruly.model.fitted import Fitted, Neighbour
from unruly.model.inputs import Documents, silence
from unruly.paper.pseudo_labels import pseudo_labels
from unruly.rules.matching import lacking
from unruly.texts.corpus import Corpus
from unruly.votes.majority import majority_classes
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes
from unruly.wording import LONGEST_PIECE, plural, reason_with, shortened

_LONGEST_LABEL = 40  # characters of a partial vote's classes
LEGEND = "here: the vote's share of the weight on this document; overall: the source's share over all documents"
LEGEND_OF_ODDS = (
    "odds: factor on the odds of the voted class (below 1: against it); accuracy: of the source's votes, as estimated "
    "on the training documents"
)


@dataclass(frozen=True)
class Vote:
    """One source that voted on the document."""

    source: str
    label: str
    conditional: float  # reliability on this document (a_ij); those that voted sum to 1
    overall: float  # reliability over all documents (a_j)
    rule: int | None  # which of its rules fired, counted from 1; None when rules are not known
    reason: str  # the rule in words
    spans: tuple[tuple[int, int], ...]  # character ranges that the rule matched
    matched: tuple[str, ...]  # the text of these spans
    accuracy: float | None = None  # of the source's votes, where the method estimates it
    odds: float | None = None  # by what factor it moves the odds of its label here, likewise

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "source": self.source,
            "label": self.label,
            "conditional_reliability": self.conditional,
            "global_reliability": self.overall,
            "rule": self.rule,
            "reason": self.reason,
            "spans": [list(span) for span in self.spans],
            "matched": list(self.matched),
            "estimated_accuracy": self.accuracy,
            "odds": self.odds,
        }


@dataclass(frozen=True)
class Opinion:
    """What one head says."""

    label: str
    confidence: float
    probabilities: tuple[tuple[str, float], ...]  # (class, probability), in the model's order

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "probabilities": dict(self.probabilities)}

    def __str__(self) -> str:
        return f"{self.label} ({self.confidence:.1%})"


@dataclass(frozen=True)
class Explanation:
    """Everything that led to one label; `str` tells it in lines, `to_plain` to machines."""

    text: str | None  # None when the model was fitted on features
    answer: Opinion
    decided_by: str  # 'denoiser', 'classifier', as `Predictions.decided_by` has it
    votes: tuple[Vote, ...]
    majority: tuple[str, ...]  # classes with most votes; several in a tie, none without votes
    pseudo_label: tuple[str, ...]  # by global reliability (Eq. 2), likewise; none for the default
    denoiser: Opinion | None  # None without votes
    classifier: Opinion
    neighbours: tuple[Neighbour, ...]
    words: tuple[Word, ...]  # effects are on the classifier's probability of the label
    ledger: Ledger  # of the model
    lacking: tuple[tuple[str, str], ...] = ()  # sources that abstain, each for want of a column

    @property
    def label(self) -> str:
        """The final class."""
        return self.answer.label

    @property
    def confidence(self) -> float:
        """Its probability."""
        return self.answer.confidence

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "text": self.text,
            **self.answer.to_plain(),
            "decided_by": self.decided_by,
            "votes": [vote.to_plain() for vote in self.votes],
            "lacking": [{"source": source, "column": column} for source, column in self.lacking],
            "majority": list(self.majority),
            "pseudo_label": list(self.pseudo_label),
            "denoiser": self.denoiser.to_plain() if self.denoiser else None,
            "classifier": self.classifier.to_plain(),
            "neighbours": [neighbour.to_plain() for neighbour in self.neighbours],
            "words": [asdict(word) for word in self.words],
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
        }

    def __repr__(self) -> str:
        return f"Explanation({self.answer}, {plural(len(self.votes), 'vote')}, {decision(self.decided_by)})"

    def _repr_html_(self) -> str:
        spans = [
            (start, end, f"{vote.source}: {vote.label}")
            for vote in self.votes
            for start, end in vote.spans
        ]
        text = "" if self.text is None else f"<p>{marked_html(self.text, spans)}</p>"
        votes = html_table(
            ["source", "vote", *self._columns, "why"],
            [
                (v.source, v.label, *self._cells(v), reason_with(v.reason, v.matched))
                for v in self.votes
            ],
        )
        words = html_table(
            ["word", f"effect on {self.label}"],
            [(shortened(word.text, LONGEST_PIECE), f"{word.effect:+.3f}") for word in self.words],
        )
        head = f"<p><b>{escape(str(self.answer))}</b>, {escape(decision(self.decided_by))}</p>"
        return "".join(
            [
                head,
                text,
                votes if self.votes else "<p>no source votes on this document</p>",
                *(f"<p>{escape(line)}</p>" for line in self._lacking()),
                words if self.words else "",
                f"<p>{escape(str(self.ledger))}</p>",
            ]
        )

    def __str__(self) -> str:
        lines = [f"{self.answer}, {decision(self.decided_by)}"]
        lines += ["", *self._votes(), *self._lacking()]
        lines += ["", f"denoiser     {self.denoiser or 'no source voted'}"]
        lines += [f"classifier   {self.classifier}"]
        if self._with_odds:
            lines += [f"together     {self.answer}: product of the two, class shares counted once"]
        if self.words:
            lines += [
                "",
                f"words: drop in the classifier's probability of {self.label} when the word is removed",
            ]
            lines += [
                f"  {word.effect:+.3f}  {shortened(word.text, LONGEST_PIECE)}"
                for word in self.words
            ]
        if self.neighbours:
            lines += ["", "nearest training documents"]
            lines += [f"  {_neighbour(neighbour)}" for neighbour in self.neighbours]
        elif is_empty(self.text):
            lines += ["", "nearest training documents: none, because the text is empty"]
        return "\n".join([*lines, "", str(self.ledger)])

    def _lacking(self) -> list[str]:
        return [
            f"{source} abstains: the document has no column {column!r}"
            for source, column in self.lacking
        ]

    def _votes(self) -> list[str]:
        if not self.votes:
            return ["no source votes on this document"]
        width = max(len("source"), *(len(vote.source) for vote in self.votes))
        labels = [shortened(vote.label, _LONGEST_LABEL) for vote in self.votes]
        votes_width = max(len("vote"), *map(len, labels))
        rows = [("source", "vote", tuple(self._columns), "why")]
        rows += [
            (v.source, label, self._cells(v), reason_with(v.reason, v.matched))
            for v, label in zip(self.votes, labels, strict=True)
        ]
        lines = []
        for source, label, cells, why in rows:
            pairs = zip(cells, self._columns.values(), strict=True)
            figures = "  ".join(f"{cell:>{size}}" for cell, size in pairs)
            lines.append(f"{source:{width}}  {label:{votes_width}}  {figures}  {why}")
        by = f"; by reliability: {_winners(self.pseudo_label)}" if self.pseudo_label else ""
        return [
            *(line.rstrip() for line in lines),
            LEGEND_OF_ODDS if self._with_odds else LEGEND,
            f"majority vote: {_winners(self.majority)}{by}",
        ]

    @property
    def _with_odds(self) -> bool:
        """Whether the method knows by how much each vote moves the odds."""
        return any(vote.odds is not None for vote in self.votes)

    @property
    def _columns(self) -> dict[str, int]:
        """The figures of each vote, and how wide their columns are."""
        return {"odds": 7, "accuracy": 8} if self._with_odds else {"here": 5, "overall": 7}

    def _cells(self, vote: Vote) -> tuple[str, str]:
        """One vote under `_columns`."""
        if not self._with_odds:
            return f"{vote.conditional:.2f}", f"{vote.overall:.2f}"
        odds = "" if vote.odds is None else times(vote.odds)
        return odds, "-" if vote.accuracy is None else f"{vote.accuracy:.0%}"


def is_empty(text: str | None) -> bool:
    """Whether there is a text, but nothing in it.

    >>> is_empty(" "), is_empty("a"), is_empty(None)
    (True, False, False)
    """
    return text is not None and not text.strip()


def decision(decided_by: str) -> str:
    """Which head decided, in words.

    >>> decision("both"), decision("classifier")
    ('denoiser and classifier agree', 'the classifier decides')
    """
    match Decider[decided_by.upper()]:
        case Decider.BOTH:
            return "denoiser and classifier agree"
        case Decider.TOGETHER:
            return "a compromise: neither denoiser nor classifier prefers it alone"
        case Decider.PRIOR:
            return "by the class shares alone: there is neither a text nor a vote"
        case _:
            return f"the {decided_by} decides"


def times(odds: float) -> str:
    """A factor in odds as a person reads it.

    >>> times(2.0), times(0.1234), times(7e4), times(1e-5)
    ('×2', '×0.123', '×1000+', '×0.001-')
    """
    return "×1000+" if odds >= 1000 else "×0.001-" if odds <= 0.001 else f"×{odds:.3g}"


def _neighbour(neighbour: Neighbour) -> str:
    text = f"  {neighbour.text}" if neighbour.text is not None else ""
    return f"{neighbour.similarity:.2f}  predicted {neighbour.label}  (id {neighbour.id}){text}"


@dataclass(frozen=True)
class Word:
    """One word (or run of words), and what the classifier loses without it."""

    text: str
    start: int
    end: int
    effect: float  # probability of the class with the word, minus without it


_PLACES = ["tokens", "span1", "span2", "span1_tok", "span2_tok"]
MOST_WORDS = 200  # of one text; longer texts are taken in equal runs of words
# A sign of a script without blanks (kana, Han), a word with its apostrophes and hyphens, or signs that may
# carry meaning (emoji, exclamation and question marks); plain punctuation is no word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+(?:['’-]\w+)*|[^\w\s.,;:()\"'’“”\[\]-]+")
Asked = Callable[[Sequence[str]], NDArray[np.float32]]  # texts -> (n, m) probabilities


def explain(
    fitted: Fitted,
    documents: Documents,
    given: object = None,
    *,
    words: int = 8,
    neighbours: int = 5,
) -> Explanation:
    """Why the first of these documents gets its label."""
    seen = fitted.inputs(documents, given, fitting=False)
    votes, features = seen.votes, seen.features
    heads = seen.heads(fitted.learner, fitted.shares)
    text = None if documents.corpus is None else documents.corpus.texts[0]
    cast = votes.voted[0].any()
    return Explanation(
        text=text,
        answer=_opinion(heads.combined[0], fitted.classes),
        decided_by=Decider(int(heads.decided_by[0])).word,
        votes=_votes(fitted, votes, heads, features, text),
        majority=majority_classes(votes),
        pseudo_label=_pseudo_label(fitted, votes) if fitted.method == "paper" else (),
        denoiser=_opinion(heads.denoiser[0], fitted.classes) if cast else None,
        classifier=_opinion(heads.classifier[0], fitted.classes),
        neighbours=()
        if is_empty(text)
        else fitted.neighbourhood.nearest(
            features.matrix()[0],
            fitted.classes,
            fitted.sources,
            neighbours,
            itself=fitted.neighbourhood.place(documents.corpus),
        ),
        words=_words(fitted, documents.corpus, int(heads.predicted[0]), words),
        ledger=fitted.ledger,
        lacking=tuple((fact.source, fact.column) for fact in lacking(votes) if fact.rows[0]),
    )


def _words(fitted: Fitted, corpus: Corpus | None, label: int, count: int) -> tuple[Word, ...]:
    if corpus is None or fitted.encoder is None or count < 1:
        return ()
    return influential_words(corpus.texts[0], _asked(fitted, corpus), label, count)


def _asked(fitted: Fitted, corpus: Corpus) -> Asked:
    """The classifier alone, as a function of variants of one text; other columns stay as they are.

    Except those with the positions of the two entities of a relation: they are wrong once a word is missing,
    so the entities are searched for.
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
        features = fitted.features(Documents(variants, None), fitting=False)
        return fitted.learner.heads(features, none).classifier

    return ask


def _opinion(proba: NDArray[np.float32], classes: tuple[str, ...]) -> Opinion:
    best = int(proba.argmax())
    each = tuple((name, float(share)) for name, share in zip(classes, proba, strict=True))
    return Opinion(classes[best], float(proba[best]), each)


def _votes(
    fitted: Fitted, votes: Votes, heads: Heads, features: Features, text: str | None
) -> tuple[Vote, ...]:
    learner, here = fitted.learner, heads.conditional[0]  # (k,)
    known = fitted.summary.estimated
    moved = learner.vote_odds(features, votes)
    odds = None if moved is None else moved[0]  # (k,)
    why = {match.source: match for match in votes.matches(0)} if votes.provenance else {}

    def vote(j: int) -> Vote:
        source = votes.sources[j]
        match = why.get(source)
        spans = match.spans if match else ()
        return Vote(
            source=source,
            label=votes.label(0, j),
            conditional=float(here[j]),
            overall=float(learner.reliability[j]),
            rule=match.rule + 1 if match else None,
            reason=match.reason if match else "",
            spans=spans,
            matched=tuple((text or "")[start:end] for start, end in spans),
            accuracy=known[source].value if source in known else None,
            odds=None if odds is None else float(odds[j]),
        )

    moves = here if odds is None else np.abs(np.log(np.maximum(odds, 1e-300)))  # (k,)
    cast = np.flatnonzero(votes.voted[0]).tolist()
    return tuple(vote(j) for j in sorted(cast, key=lambda j: (-float(moves[j]), j)))


def _pseudo_label(fitted: Fitted, votes: Votes) -> tuple[str, ...]:
    """Equation 2: the class with the largest sum of global reliabilities; several when they tie, none without votes."""
    cast = SparseVotes.from_matrix(votes.hard[:1], votes.m)
    shares = pseudo_labels(fitted.learner.reliability, cast)[0]
    return tuple(votes.classes[r] for r in np.flatnonzero(shares))


def _winners(classes: Sequence[str]) -> str:
    """The class with most votes, or those that tie."""
    *others, last = classes
    return f"{', '.join(others)} and {last} tie" if others else last


def influential_words(
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
    ...     for w in influential_words("please subscribe now", ask, 1, count=1)
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
    return tuple(
        Word(text[start:end], start, end, round(float(effects[i]), 6))
        for i, (start, end) in ((i, spans[i]) for i in order)
    )


def _runs(spans: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """At most so many spans, neighbours joined."""
    if len(spans) <= most:
        return spans
    cuts = np.linspace(0, len(spans), most + 1).astype(int)
    return [(spans[a][0], spans[b - 1][1]) for a, b in pairwise(cuts.tolist())]
