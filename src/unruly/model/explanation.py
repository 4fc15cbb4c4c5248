"""Why one document got its label: every vote, every head, and what the text itself says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from unruly.facts import Ledger
from unruly.html import escape, html_table, marked_html
from unruly.model.fitted import Neighbour
from unruly.wording import plural

LEGEND = "here: the vote's share of the weight on this document; overall: the source's share over all documents"
LEGEND_OF_ODDS = "; odds: the factor by which it moves the odds of its class"


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
        return {
            "label": self.label,
            "confidence": self.confidence,
            "probabilities": dict(self.probabilities),
        }

    def __str__(self) -> str:
        return f"{self.label} ({self.confidence:.1%})"


@dataclass(frozen=True)
class Explanation:
    """Everything that led to one label; `str` tells it in lines, `to_json` to machines."""

    text: str | None  # None when the model was fitted on features
    answer: Opinion
    decided_by: str  # 'denoiser', 'classifier', or 'both' where they agree
    votes: tuple[Vote, ...]
    majority: tuple[
        str, ...
    ]  # the classes with most votes; several when they tie, none without votes
    pseudo_label: (
        str | None
    )  # by global reliability (Eq. 2); None without votes, and for the default
    denoiser: Opinion | None  # None without votes
    classifier: Opinion
    neighbours: tuple[Neighbour, ...]
    words: tuple[Word, ...]  # effects are on the probability of the classifier's own label
    ledger: Ledger  # of the model

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
            "majority": list(self.majority),
            "pseudo_label": self.pseudo_label,
            "denoiser": self.denoiser.to_plain() if self.denoiser else None,
            "classifier": self.classifier.to_plain(),
            "neighbours": [neighbour.to_plain() for neighbour in self.neighbours],
            "words": [word.to_plain() for word in self.words],
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_plain(), ensure_ascii=False, default=str)

    def __repr__(self) -> str:
        return f"Explanation({self.answer}, {plural(len(self.votes), 'vote')}, {_decision(self.decided_by)})"

    def _repr_html_(self) -> str:
        spans = [
            (start, end, f"{vote.source}: {vote.label}")
            for vote in self.votes
            for start, end in vote.spans
        ]
        text = "" if self.text is None else f"<p>{marked_html(self.text, spans)}</p>"
        votes = html_table(
            ["source", "vote", "reliability here", "overall", "why"],
            [
                (v.source, v.label, f"{v.conditional:.2f}", f"{v.overall:.2f}", _why(v))
                for v in self.votes
            ],
        )
        words = html_table(
            ["word", f"effect on {self.classifier.label}"],
            [(word.text, f"{word.effect:+.3f}") for word in self.words],
        )
        head = f"<p><b>{escape(str(self.answer))}</b>, {escape(_decision(self.decided_by))}</p>"
        return "".join(
            [
                head,
                text,
                votes if self.votes else "<p>no source votes on this document</p>",
                words if self.words else "",
                f"<p>{escape(str(self.ledger))}</p>",
            ]
        )

    def __str__(self) -> str:
        lines = [f"{self.answer}, {_decision(self.decided_by)}"]
        lines += ["", *self._votes()]
        lines += ["", f"denoiser     {self.denoiser or 'no source voted'}"]
        lines += [f"classifier   {self.classifier}"]
        if self.words:
            lines += [
                "",
                f"words, by how much the classifier's probability of {self.classifier.label} falls without them",
            ]
            lines += [f"  {word.effect:+.3f}  {word.text}" for word in self.words]
        if self.neighbours:
            lines += ["", "nearest training documents"]
            lines += [f"  {_neighbour(neighbour)}" for neighbour in self.neighbours]
        elif is_empty(self.text):
            lines += ["", "nearest training documents: none, because the text is empty"]
        return "\n".join([*lines, "", str(self.ledger)])

    def _votes(self) -> list[str]:
        if not self.votes:
            return ["no source votes on this document"]
        width = max(len("source"), *(len(vote.source) for vote in self.votes))
        votes_width = max(len("vote"), *(len(vote.label) for vote in self.votes))
        with_odds = any(vote.odds is not None for vote in self.votes)
        odds = f"  {'odds':>7}" if with_odds else ""
        head = f"{'source':{width}}  {'vote':{votes_width}}  {'here':>5}  {'overall':>7}{odds}  why"
        rows = [
            f"{v.source:{width}}  {v.label:{votes_width}}  {v.conditional:>5.2f}  {v.overall:>7.2f}{_odds(v, with_odds)}  {_why(v)}"
            for v in self.votes
        ]
        by = self.pseudo_label
        most = " and ".join(self.majority) + (" tie" if len(self.majority) > 1 else "")
        return [
            head,
            *(row.rstrip() for row in rows),
            LEGEND + (LEGEND_OF_ODDS if with_odds else ""),
            f"majority vote {most}" + ("" if by is None else f"; by reliability {by}"),
        ]


def is_empty(text: str | None) -> bool:
    """Whether there is a text, but nothing in it.

    >>> is_empty(" "), is_empty("a"), is_empty(None)
    (True, False, False)
    """
    return text is not None and not text.strip()


def _decision(decided_by: str) -> str:
    return "both heads agree" if decided_by == "both" else f"the {decided_by} decides"


def _odds(vote: Vote, with_odds: bool) -> str:
    if not with_odds:
        return ""
    return f"  {'' if vote.odds is None else times(vote.odds):>7}"


def times(odds: float) -> str:
    """A factor in odds as a person reads it.

    >>> times(2.0), times(0.1234), times(7e4), times(1e-5)
    ('×2', '×0.123', '×1000+', '×0.001-')
    """
    return "×1000+" if odds >= 1000 else "×0.001-" if odds <= 0.001 else f"×{odds:.3g}"


def _why(vote: Vote) -> str:
    shown = ", ".join(f"“{piece}”" for piece in vote.matched)
    return f"{vote.reason}: {shown}" if shown and vote.reason else vote.reason or shown


def _neighbour(neighbour: Neighbour) -> str:
    text = f"  {neighbour.text}" if neighbour.text is not None else ""
    return f"{neighbour.similarity:.2f}  {neighbour.label}  (id {neighbour.id}){text}"


@dataclass(frozen=True)
class Word:
    """One word (or run of words), and what the classifier loses without it."""

    text: str
    start: int
    end: int
    effect: float  # probability of the class with the word, minus without it

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"text": self.text, "start": self.start, "end": self.end, "effect": self.effect}
