"""How confident the model is, and whether its confidence is justified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.drawing import (
    MODEL,
    OTHER,
    SOFT,
    Frame,
    count_ticks,
    dot,
    legend,
    line,
    percent_ticks,
    rect,
)
from unruly.report.markup import Chart, percent, share_words
from unruly.sampling import Share, wilson
from unruly.votes.votes import Votes
from unruly.wording import plural

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
    message = f"On average the model is {percent(found.mean)} confident and {percent(found.accuracy)} right"
    if abs(gap) < 0.02:
        message += (
            ". Points below the dashed line are overconfident, points above it underconfident."
        )
    else:
        message += f": {'over' if gap > 0 else 'under'}confident by {100 * abs(gap):.1f} points."
    return message + ("" if error is None else f" Expected calibration error: {error:.3f}.")
