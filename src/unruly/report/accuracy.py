"""How good the answers are: noise before and after denoising, accuracy by votes, confidence and calibration, confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.html import (
    BAD,
    LETTERS,
    MODEL,
    OTHER,
    SOFT,
    THIRD,
    Chart,
    Frame,
    board,
    count_ticks,
    dot,
    label,
    legend,
    line,
    percent,
    percent_ticks,
    rect,
    share_words,
)
from unruly.learner import Heads
from unruly.statistics import Share, wilson
from unruly.votes.majority import majority_shares
from unruly.votes.votes import Votes
from unruly.wording import plural, shortened

BARS = (("majority vote", OTHER), ("denoiser", THIRD), ("final label", MODEL))
MOST_GROUPS = 9  # that are drawn: all documents, and the first classes
FEW = 20  # documents, below which the description leaves a group out
MOST_CLASSES = 20  # in the confusion matrix, the commonest
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
    groups = [g for g in groups if g.documents >= FEW]
    if not groups:
        return f"No number of votes has {FEW} documents, so none are compared."
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
    return f"{message} Groups of fewer than {FEW} documents are not compared."


def _against(group: VoteCount) -> str:
    return f"{percent(group.model.value)} against {percent(group.majority.value)}"


BINS = 10
SURE = 0.9


@dataclass(frozen=True)
class Slice:
    """The documents whose confidence lies between two bounds."""

    low: float
    high: float
    covered: int
    uncovered: int
    confidence: float  # mean, of documents with gold; NaN without
    accuracy: Share | None  # None without gold in this slice

    @property
    def documents(self) -> int:
        """All of them."""
        return self.covered + self.uncovered

    @property
    def words(self) -> str:
        """The bounds."""
        return f"{percent(self.low, 0)} to {percent(self.high, 0)}"


@dataclass(frozen=True)
class Confidence:
    """The confidence of all answers, in equal slices from 1/m (a guess among m classes) to 1."""

    slices: tuple[Slice, ...]
    sure: int  # documents with a confidence of at least SURE
    scored: int  # documents with gold
    mean: float  # confidence of these; NaN without
    accuracy: float  # of these; NaN without

    @property
    def documents(self) -> int:
        """All of them."""
        return sum(s.documents for s in self.slices)


def confidence_of(
    proba: NDArray[np.floating], votes: Votes, gold: NDArray[np.int64] | None = None
) -> Confidence:
    """Count the answers by their confidence, and how many are right where gold is known.

    >>> votes = Votes.from_array([[0], [-1]], classes=["ham", "spam"])
    >>> found = confidence_of(np.array([[0.99, 0.01], [0.4, 0.6]]), votes, np.array([0, 0]))
    >>> found.sure, found.accuracy, found.slices[-1].covered, found.slices[2].accuracy.value
    (1, 0.5, 1, 0.0)
    """
    confidence = proba.max(axis=1).astype(np.float64)  # (n,)
    edges = np.linspace(1 / proba.shape[1], 1.0, BINS + 1)
    which = np.clip(np.searchsorted(edges, confidence + 1e-7, side="right") - 1, 0, BINS - 1)
    known = np.zeros(votes.n, dtype=np.bool_) if gold is None else gold >= 0
    right = np.zeros(votes.n, dtype=np.bool_) if gold is None else proba.argmax(axis=1) == gold
    slices = []
    for b in range(BINS):
        rows = which == b
        scored = rows & known
        n = int(scored.sum())
        slices.append(
            Slice(
                low=float(edges[b]),
                high=float(edges[b + 1]),
                covered=int((rows & votes.covered).sum()),
                uncovered=int((rows & ~votes.covered).sum()),
                confidence=float(confidence[scored].mean()) if n else float("nan"),
                accuracy=wilson(int(right[scored].sum()), n) if n else None,
            )
        )
    return Confidence(
        slices=tuple(slices),
        sure=int((confidence >= SURE).sum()),
        scored=int(known.sum()),
        mean=float(confidence[known].mean()) if known.any() else float("nan"),
        accuracy=float(right[known].mean()) if known.any() else float("nan"),
    )


def confidence_chart(found: Confidence | None) -> Chart | None:
    """A histogram, covered documents below and uncovered ones on top; None without documents."""
    if found is None or not found.documents:
        return None
    slices, total = found.slices, found.documents
    frame = Frame.of(
        (slices[0].low, 1.0),
        (0.0, 1.05 * max(s.documents for s in slices)),
        size=(440.0, 280.0),
        left=60,
    )
    marks = []
    for s in slices:
        x, width = frame.x(s.low), 0.94 * (frame.x(s.high) - frame.x(s.low))
        base, middle, top = (frame.y(v) for v in (0, s.covered, s.documents))
        marks.append(rect(x, middle, width, base - middle, MODEL))
        marks.append(rect(x, top, width, middle - top, OTHER))
    return Chart(
        name="confidence",
        title="Confidence",
        description=f"{found.sure:,} of {plural(total, 'document')} ({percent(found.sure / total, 0)}) get their "
        f"label with a confidence of {SURE:.0%} or more.",
        svg=frame.svg(
            frame.x_axis(percent_ticks(frame.x), "confidence", grid=False),
            frame.y_axis(count_ticks(frame.y), "documents"),
            *marks,
            legend(
                [("with votes", MODEL, "area"), ("without votes", OTHER, "area")], frame.x.start
            ),
        ),
        header=("confidence", "with votes", "without votes"),
        rows=tuple((s.words, f"{s.covered:,}", f"{s.uncovered:,}") for s in slices),
    )


def calibration_chart(found: Confidence | None, error: float | None) -> Chart | None:
    """Accuracy against confidence, and the diagonal on which both agree; None without gold."""
    shown = [] if found is None else [(s, s.accuracy) for s in found.slices if s.accuracy]
    if found is None or not shown:
        return None
    start = found.slices[0].low
    low = max(0.0, min([start, *(a.low for _, a in shown)]) - 0.03)
    frame = Frame.of((start - 0.02, 1.02), (low, 1.03))
    places = [(frame.x(s.confidence), frame.y(a.value)) for s, a in shown]
    marks = [line([(frame.x(start), frame.y(start)), (frame.x(1), frame.y(1))], SOFT, 1, "4 3")]
    marks.append(line(places, MODEL, 1.4))
    for (x, y), (_, a) in zip(places, shown, strict=True):
        marks.append(line([(x, frame.y(a.low)), (x, frame.y(a.high))], MODEL, 1.4))
        marks.append(dot(x, y, 4, MODEL))
    return Chart(
        name="calibration",
        title="Calibration",
        description=_calibration_description(found, error),
        svg=frame.svg(
            frame.x_axis(percent_ticks(frame.x), "confidence"),
            frame.y_axis(percent_ticks(frame.y), "accuracy"),
            *marks,
            legend([("model", MODEL, "dot"), ("calibrated", SOFT, "dashes")], frame.x.start),
        ),
        header=("confidence", "mean confidence", "documents", "accuracy"),
        rows=tuple((s.words, percent(s.confidence), f"{a.n:,}", share_words(a)) for s, a in shown),
    )


def _calibration_description(found: Confidence, error: float | None) -> str:
    gap = found.mean - found.accuracy
    right = wilson(found.accuracy * found.scored, found.scored)
    message = (
        f"On average the model is {percent(found.mean)} confident and {share_words(right)} right"
    )
    if right.low <= found.mean <= right.high:
        message += ": no clear difference. Points below the dashed line are overconfident, points above it underconfident."
    else:
        message += f": {'over' if gap > 0 else 'under'}confident by {100 * abs(gap):.1f} points."
    return message + ("" if error is None else f" Expected calibration error: {error:.3f}.")


def confusion_chart(table: NDArray[np.float64], classes: tuple[str, ...]) -> Chart | None:
    """True classes by row, predicted ones by column, with counts; None for an empty matrix."""
    if not table.sum():
        return None
    order = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[:MOST_CLASSES])
    drawn, of = table[np.ix_(order, order)], table.sum(axis=1)[order]
    m = len(order)
    share = np.divide(drawn, of[:, None], out=np.zeros(drawn.shape), where=of[:, None] > 0)
    colours = [
        [(MODEL if i == j else BAD, 0.05 + 0.6 * float(share[i, j])) for j in range(m)]
        for i in range(m)
    ]
    texts = [
        [f"{drawn[i, j]:,.0f}" + (f"\n{100 * share[i, j]:.0f}%" if m < 6 else "") for j in range(m)]
        for i in range(m)
    ]
    square = min(84.0, max(32.0, 300.0 / m))
    return Chart(
        name="confusion",
        title="Confusion matrix",
        description=_confusion_description(table, classes),
        svg=board(
            [classes[r] for r in order], colours, texts, square, ("true class", "predicted class")
        ),
        header=("true class", *classes),
        rows=tuple(
            (name, *(f"{count:,.0f}" for count in table[r])) for r, name in enumerate(classes)
        ),
        wide=m > 8,
    )


def _confusion_description(table: NDArray[np.float64], classes: tuple[str, ...]) -> str:
    message = (
        f"{percent(float(np.trace(table) / table.sum()))} of the documents get their true class."
    )
    wrong = table.copy()
    np.fill_diagonal(wrong, 0)
    if wrong.any():
        i, j = (int(at) for at in np.unravel_index(int(wrong.argmax()), wrong.shape))
        message += (
            f" The commonest mistake: {classes[i]} predicted as {classes[j]}, "
            f"{wrong[i, j]:,.0f} of {table[i].sum():,.0f}."
        )
    return message
