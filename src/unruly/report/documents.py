"""Documents to look at: twenty of them, in three groups, cut to the parts that rules matched.

- the answer goes against a clear majority of the votes;
- no vote, but a confident answer;
- votes, but an unsure answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unruly.html import HUES, badge, escape, lacking, paragraph, percent, section
from unruly.labelmodels.majority_vote import majority_vote
from unruly.learner import Heads
from unruly.texts.alike import unlike_first
from unruly.votes.majority import majority_classes
from unruly.votes.provenance import Match
from unruly.votes.votes import ABSTAIN, Votes

if TYPE_CHECKING:
    from unruly.report.facts import Facts

SURE = 0.8  # confidence that parts a confident answer from an unsure one
AGAINST = "Answers against a clear majority of the votes"
UNCOVERED = f"No votes, but a confidence of {SURE:.0%} or more"
UNSURE = f"Votes, but a confidence below {SURE:.0%}"
MOST = 20
LONGEST = 480  # characters of a text that are shown
AROUND = 70  # characters on either side of a span
LONGEST_SPAN = 120  # a longer match is no span to highlight: the rule looked at the whole text


@dataclass(frozen=True)
class Piece:
    """A run of characters; `label` is the class that a rule named because of it, None for the rest."""

    text: str
    label: int | None = None


@dataclass(frozen=True)
class ShownVote:
    """One vote on the document."""

    source: str
    label: str
    weight: float  # a_ij: the votes on the document sum to 1
    reason: str


@dataclass(frozen=True)
class ExcerptedDocument:
    """One document with the model's answer, its text cut to the parts that rules matched."""

    id: str
    group: str
    pieces: tuple[Piece, ...]
    votes: tuple[ShownVote, ...]
    majority: tuple[str, ...]  # the classes with most votes
    label: str
    confidence: float
    gold: str | None  # None where unknown


def documents_to_show(
    texts: Sequence[str],
    votes: Votes,
    heads: Heads,
    gold: NDArray[np.int64] | None = None,
) -> tuple[ExcerptedDocument, ...]:
    """The foremost documents of each group, a third each as far as there are enough."""
    majority, confidence = majority_vote(votes), heads.combined.max(axis=1)  # (n,), (n,)
    against = (majority != ABSTAIN) & (majority != heads.predicted)
    groups = {
        AGAINST: _ordered(against, -confidence),
        UNCOVERED: _ordered(~votes.covered & (confidence >= SURE), -confidence),
        UNSURE: _ordered(votes.covered & (confidence < SURE), confidence),
    }
    return tuple(
        shown_document(row, group, texts, votes, heads, gold)
        for group, rows in _shared_out(groups, texts).items()
        for row in rows
    )


def _ordered(rows: NDArray[np.bool_], key: NDArray[np.floating]) -> list[int]:
    chosen = np.flatnonzero(rows)
    ordered: list[int] = chosen[np.argsort(key[chosen], kind="stable")].tolist()
    return ordered


def _shared_out(groups: dict[str, list[int]], texts: Sequence[str]) -> dict[str, list[int]]:
    """Documents by turns from each group, each in its order; near copies where there is nothing else, no text twice."""
    taken: dict[str, list[int]] = {name: [] for name in groups}
    left = {name: unlike_first(rows, texts.__getitem__) for name, rows in groups.items()}
    seen: set[str] = set()
    while left and len(seen) < MOST:
        for name in list(left):
            row = next((row for row in left[name] if texts[row] not in seen), None)
            if row is None:
                del left[name]
            elif len(seen) < MOST:
                seen.add(texts[row])
                taken[name].append(row)
    places = {name: {row: at for at, row in enumerate(rows)} for name, rows in groups.items()}
    return {name: sorted(rows, key=places[name].__getitem__) for name, rows in taken.items()}


def shown_document(
    row: int,
    group: str,
    texts: Sequence[str],
    votes: Votes,
    heads: Heads,
    gold: NDArray[np.int64] | None = None,
) -> ExcerptedDocument:
    """One document with its votes, the heaviest first, and its matched spans."""
    why = votes.matches(row) if votes.provenance else ()
    return ExcerptedDocument(
        id=str(votes.ids[row]),
        group=group,
        pieces=excerpt(texts[row], _spans(row, why, votes)),
        votes=_votes(row, why, votes, heads),
        majority=majority_classes(votes.take([row])),
        label=votes.classes[heads.predicted[row]],
        confidence=float(heads.combined[row].max()),
        gold=None if gold is None or gold[row] < 0 else votes.classes[gold[row]],
    )


def _spans(row: int, why: Sequence[Match], votes: Votes) -> list[tuple[int, int, int]]:
    cast = votes.matrix[row]  # a partial vote is marked in the colour of its first class
    return [
        (start, end, int(cast[votes.sources.index(match.source)]))
        for match in why
        for start, end in match.spans
    ]


def _votes(row: int, why: Sequence[Match], votes: Votes, heads: Heads) -> tuple[ShownVote, ...]:
    reasons = {match.source: match.reason for match in why}
    weight = heads.conditional[row]  # (k,)
    cast = sorted(np.flatnonzero(votes.voted[row]).tolist(), key=lambda j: (-float(weight[j]), j))
    return tuple(
        ShownVote(
            source=votes.sources[j],
            label=votes.label(row, j),
            weight=float(weight[j]),
            reason=reasons.get(votes.sources[j], ""),
        )
        for j in cast
    )


def excerpt(text: str, spans: Sequence[tuple[int, int, int]]) -> tuple[Piece, ...]:
    """Pieces of the text, with `(start, end, class)` spans set apart; '…' stands for what is left out.

    >>> excerpt("a good film", [(2, 6, 1)])
    (Piece(text='a ', label=None), Piece(text='good', label=1), Piece(text=' film', label=None))
    """
    short = [span for span in spans if 0 < span[1] - span[0] <= LONGEST_SPAN]
    pieces: list[Piece] = []
    end = 0
    for start, stop in _windows(text, short):
        if start > end:
            pieces.append(Piece(" … "))
        pieces += _cut(text, start, stop, short)
        end = stop
    if end < len(text):
        pieces.append(Piece(" …"))
    return tuple(piece for piece in pieces if piece.text)


def _windows(text: str, spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Where to look: all of a short text, else around the spans, else the beginning."""
    size = len(text)
    if size <= LONGEST:
        return [(0, size)]
    if not spans:
        return [(0, _at_word(text, LONGEST, -1))]
    windows: list[tuple[int, int]] = [(0, _at_word(text, AROUND, 1))]
    for start, stop, _ in sorted(spans):
        low, high = _at_word(text, start - AROUND, -1), _at_word(text, stop + AROUND, 1)
        if low <= windows[-1][1] + 10:
            windows[-1] = (windows[-1][0], max(high, windows[-1][1]))
        elif sum(b - a for a, b in windows) + high - low <= LONGEST:
            windows.append((low, high))
    return windows


def _at_word(text: str, at: int, step: int) -> int:
    """The next place between two words, looked for a little way in the direction of `step`."""
    at = min(max(at, 0), len(text))
    for place in range(at, at + 15 * step, step):
        if not 0 < place < len(text):
            return min(max(place, 0), len(text))
        if text[place].isspace():
            return place
    return at


def _cut(text: str, start: int, stop: int, spans: Sequence[tuple[int, int, int]]) -> list[Piece]:
    """The window in pieces; where spans overlap, the first one counts."""
    pieces: list[Piece] = []
    at = start
    for low, high, label in sorted(spans):
        low, high = max(low, at), min(high, stop)
        if low >= high:
            continue
        pieces += [Piece(text[at:low]), Piece(text[low:high], label)]
        at = high
    return [*pieces, Piece(text[at:stop])]


def documents_section(facts: Facts, command: str) -> str:
    """Documents to look at, each with its votes."""
    title = "Documents to look at"
    if facts.confidence is None:  # no documents were given
        message = (
            f"Shown with documents: {MOST} of them to look at, with the words that rules matched."
        )
        return section("documents", title, lacking(message, command))
    if not facts.shown:
        message = "No document falls into one of the groups: the model is sure where there are votes, and follows them."
        return section("documents", title, paragraph(message))
    groups = list(dict.fromkeys(document.group for document in facts.shown))
    parts = [
        f"<h3>{escape(group)}</h3>"
        + "".join(_article(d, facts.classes) for d in facts.shown if d.group == group)
        for group in groups
    ]
    message = (
        f"From {facts.documents}. Words that a rule matched are marked in the colour of its class."
    )
    return section("documents", title, paragraph(message), *parts)


def _article(document: ExcerptedDocument, classes: tuple[str, ...]) -> str:
    votes = "".join(
        f"<li>{badge(v.label, classes)} {escape(v.source)} "
        f'<span class="soft">weight {v.weight:.2f}{"; " + escape(v.reason) if v.reason else ""}</span></li>'
        for v in document.votes
    )
    message = "no votes"
    if document.majority:
        tie = " (tie)" if len(document.majority) > 1 else ""
        message = f"majority vote: {' or '.join(document.majority)}{tie}"
    gold = ""
    if document.gold is not None:
        right = "right" if document.gold == document.label else "wrong"
        gold = f' <span class="{right}">true class: {escape(document.gold)} ({right})</span>'
    marked = "".join(_marked(piece, classes) for piece in document.pieces)
    return (
        f'<article class="document"><p class="facts">{badge(document.label, classes)} '
        f'{percent(document.confidence, 0)} <span class="soft">{escape(message)}; id {escape(document.id)}</span>'
        f"{gold}</p><blockquote>{marked}</blockquote>"
        + (f'<ul class="votes">{votes}</ul>' if votes else "")
        + "</article>"
    )


def _marked(piece: Piece, classes: tuple[str, ...]) -> str:
    """Text as it is, or marked in the colour of the class that a rule named because of it."""
    if piece.label is None:
        return escape(piece.text)
    title = escape(classes[piece.label])
    return f'<mark class="c{piece.label % HUES}" title="{title}">{escape(piece.text)}</mark>'
