"""Accuracy against true labels: wrong labels before and after denoising, and by the number of votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.drawing import (
    LETTERS,
    MODEL,
    OTHER,
    SOFT,
    THIRD,
    Frame,
    dot,
    label,
    legend,
    line,
    percent_ticks,
    rect,
)
from unruly.learner import Heads
from unruly.model.evaluation import majority_shares
from unruly.report.markup import Chart, percent, share_words
from unruly.sampling import Share, wilson
from unruly.votes.votes import Votes
from unruly.wording import shortened

BARS = (("majority vote", OTHER), ("denoiser", THIRD), ("final label", MODEL))
MOST_GROUPS = 9  # that are drawn: all documents, and the first classes
FEW = 20  # documents, below which a group is not spoken of
MOST_VOTES = 6  # this many votes or more are one group


@dataclass(frozen=True)
class Noise:
    """The share of wrong labels among some covered documents."""

    name: str  # 'all', or the true class
    before: Share  # majority vote; a tie of t classes counts as 1 - 1/t wrong
    denoised: Share  # the denoiser alone: the weighted votes
    after: Share  # the final labels: votes and text together


def noise(votes: Votes, heads: Heads, gold: NDArray[np.int64]) -> tuple[Noise, ...]:
    """All covered documents with gold, then those of each class; empty when there are none."""
    rows = votes.covered & (gold >= 0)
    if not rows.any():
        return ()
    truth = gold[rows]
    wrong = np.stack(
        [
            1 - majority_shares(votes)[rows][np.arange(len(truth)), truth],
            heads.denoiser[rows].argmax(axis=1) != truth,
            heads.predicted[rows] != truth,
        ]
    )  # (3, documents)
    groups = [("all", np.ones(len(truth), dtype=np.bool_))]
    groups += [(name, truth == r) for r, name in enumerate(votes.classes) if (truth == r).any()]
    return tuple(
        Noise(name, *(wilson(float(row[some].sum()), int(some.sum())) for row in wrong))
        for name, some in groups
    )


def noise_chart(groups: Sequence[Noise]) -> Chart | None:
    """Three bars for all documents and for each class; None without gold."""
    if not groups:
        return None
    shown = groups[:MOST_GROUPS]
    names = [shortened(g.name) for g in shown]
    high = max(s.high for g in shown for s in (g.before, g.denoised, g.after))
    frame = Frame.rows(names, (0.0, min(1.15, 1.15 * max(high, 0.05))), 60)
    marks = []
    for row, g in enumerate(shown):
        for place, share in enumerate((g.before, g.denoised, g.after)):
            colour = BARS[place][1]
            y = frame.y(row) + 16 * (place - 1)
            start, end = frame.x(0), frame.x(share.value)
            marks.append(rect(start, y - 7, max(end - start, 0.6), 14, colour))
            marks.append(line([(frame.x(share.low), y), (frame.x(share.high), y)], SOFT, 1.4))
            text = f"{100 * share.value:.1f}"
            at = frame.x(share.high) + 4
            marks.append(label(at, y, text, anchor="start", size=LETTERS - 2))
    items = [(name, colour, "area") for name, colour in BARS]
    header = ("true class", "covered", "majority vote", "denoiser", "final label")
    return Chart(
        name="noise",
        title="Wrong labels before and after denoising",
        description=_noise_description(groups[0]),
        svg=frame.svg(
            frame.x_axis(percent_ticks(frame.x), "wrong labels (true class on the left)"),
            frame.row_names(names),
            *marks,
            legend(items, 6),
        ),
        header=header,
        rows=tuple(
            (g.name, f"{g.before.n:,}", *map(share_words, (g.before, g.denoised, g.after)))
            for g in groups
        ),
    )


def _noise_description(whole: Noise) -> str:
    return (
        f"Wrong labels on {whole.before.n:,} covered documents: majority vote {percent(whole.before.value)}, "
        f"denoiser (weighted votes) {percent(whole.denoised.value)}, final labels {percent(whole.after.value)}."
    )


@dataclass(frozen=True)
class VoteCount:
    """The documents with so many votes."""

    name: str  # '0', '1', …, '6+'
    documents: int
    model: Share
    majority: Share

    @property
    def words(self) -> str:
        """How many votes, in words."""
        return "no vote" if self.name == "0" else f"{self.name} vote{'s' * (self.name != '1')}"


def by_votes(
    votes: Votes, heads: Heads, gold: NDArray[np.int64], commonest: int
) -> tuple[VoteCount, ...]:
    """One line for each number of votes that occurs."""
    cast = np.minimum(votes.voted.sum(axis=1), MOST_VOTES)  # (n,)
    credit = majority_shares(votes, commonest)  # (n, m)
    groups = []
    for count in range(MOST_VOTES + 1):
        rows = (cast == count) & (gold >= 0)
        if rows.any():
            n, truth = int(rows.sum()), gold[rows]
            right = int((heads.predicted[rows] == truth).sum())
            shared = float(credit[rows][np.arange(n), truth].sum())
            name = f"{MOST_VOTES}+" if count == MOST_VOTES else str(count)
            groups.append(VoteCount(name, n, wilson(right, n), wilson(shared, n)))
    return tuple(groups)


def by_votes_chart(groups: Sequence[VoteCount]) -> Chart | None:
    """Points with their intervals, beside majority vote's; None without gold."""
    if not groups:
        return None
    low = min(min(g.model.low, g.majority.low) for g in groups)
    frame = Frame.of((-0.5, len(groups) - 0.5), (max(0.0, low - 0.05), 1.03), bottom=60, left=52)
    marks = []
    for shift, colour, shares in (
        (0.08, OTHER, [g.majority for g in groups]),
        (-0.08, MODEL, [g.model for g in groups]),
    ):
        places = [(frame.x(i + shift), frame.y(s.value)) for i, s in enumerate(shares)]
        marks.append(line(places, colour, 1.2))
        for (x, y), s in zip(places, shares, strict=True):
            marks.append(line([(x, frame.y(s.low)), (x, frame.y(s.high))], colour, 1.4))
            marks.append(dot(x, y, 4, colour))
    ticks = [(float(i), f"{g.name}\n({g.documents:,})") for i, g in enumerate(groups)]
    return Chart(
        name="votes",
        title="Accuracy by the number of votes",
        description=_by_votes_description(groups),
        svg=frame.svg(
            frame.x_axis(ticks, "votes on the document (documents)", grid=False),
            frame.y_axis(percent_ticks(frame.y), "accuracy"),
            *marks,
            legend([("model", MODEL, "dot"), ("majority vote", OTHER, "dot")], frame.x.start),
        ),
        header=("votes", "documents", "model", "majority vote"),
        rows=tuple(
            (g.name, f"{g.documents:,}", share_words(g.model), share_words(g.majority))
            for g in groups
        ),
    )


def _by_votes_description(groups: Sequence[VoteCount]) -> str:
    large = [g for g in groups if g.documents >= FEW]
    groups = large or groups
    ends = [groups[0], groups[-1]] if len(groups) > 1 else [groups[0]]
    figures = " and ".join(f"{percent(g.model.value)} with {g.words}" for g in ends)
    most, least = (
        pick(groups, key=lambda g: g.model.value - g.majority.value) for pick in (max, min)
    )
    message = f"Accuracy of the model: {figures}."
    if most.model.value > most.majority.value:
        message += f" It is furthest ahead of majority vote with {most.words}: {_against(most)}."
    if least.model.value < least.majority.value:
        message += f" It is furthest behind majority vote with {least.words}: {_against(least)}."
    if most.model.value == most.majority.value and least.model.value == least.majority.value:
        message += " Majority vote has the same accuracy everywhere."
    return message + (f" Groups of fewer than {FEW} documents are not compared." if large else "")


def _against(group: VoteCount) -> str:
    return f"{percent(group.model.value)} against {percent(group.majority.value)}"
