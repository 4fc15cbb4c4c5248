"""The sources: what is known of each, as dots; how the weight of their votes varies; and which of them agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.html import (
    BAD,
    GRID,
    INK,
    LETTERS,
    MODEL,
    OTHER,
    SOFT,
    WIDTH,
    Chart,
    Frame,
    board,
    diamond,
    dot,
    label,
    legend,
    line,
    percent,
    percent_ticks,
    rect,
    ring,
    share_words,
    text_width,
)
from unruly.learner import Heads
from unruly.model.critique import measured_accuracy, tells_more
from unruly.model.summary import FitSummary, SourceLine
from unruly.statistics import Share, posterior_share
from unruly.votes.summary import Pairs
from unruly.votes.votes import Votes
from unruly.wording import plural, shortened

MOST_NAMED = 25  # sources whose name is written beside their dot; all are in the table
MOST_WEIGHED = 40  # sources whose weights are drawn
MOST_SOURCES = 40  # in the map of agreement, those with most votes
FEW_COMMON = 5  # common documents, below which pairs are left out
NUMBERED = 14  # sources up to which the squares carry their figures
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Box = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float]
_RADIUS = 6.0  # of the dot of a source
_BEARABLE = 0.15  # of a name that may be covered


@dataclass(frozen=True)
class SourceFacts:
    """One source. Shares are of all documents, but for the accuracies, which are of its votes."""

    name: str
    labels: tuple[str, ...]  # the classes that it votes for
    votes: int
    coverage: float
    overlaps: float  # with a vote of another source, too
    conflicts: float  # with a different vote of another source
    reliability: float  # all sources sum to 1
    estimated: Share | None  # accuracy without true labels; None for a source that never voted
    measured: Share | None  # accuracy against true labels; None without any

    @property
    def is_measured(self) -> bool:
        """Whether enough of its votes could be checked."""
        return self.measured is not None and tells_more(self.measured, self.estimated)


def source_facts(
    summary: FitSummary,
    votes: Votes,
    scored: Votes | None = None,
    gold: NDArray[np.int64] | None = None,
) -> tuple[SourceFacts, ...]:
    """All sources in the model's order: counted on `votes`, measured on `scored` against its gold."""
    table = votes.summary()
    return tuple(
        SourceFacts(
            name=known.name,
            labels=tuple(votes.classes[r] for r in row.polarity),
            votes=int(votes.voted[:, j].sum()),
            coverage=row.coverage,
            overlaps=row.overlaps,
            conflicts=row.conflicts,
            reliability=known.reliability,
            estimated=_estimated(known),
            measured=None if scored is None or gold is None else measured_accuracy(scored, gold, j),
        )
        for j, (known, row) in enumerate(zip(summary.sources, table.sources, strict=True))
    )


def _estimated(known: SourceLine) -> Share | None:
    """As the fit has estimated it; where the method does not, how many of its votes are the final label."""
    if known.estimated is not None or known.agreement is None:
        return known.estimated
    return posterior_share(known.agreement, known.votes)


def bubble_chart(sources: Sequence[SourceFacts]) -> Chart | None:
    """Coverage to the right, accuracy upwards. Filled: estimated; rings: measured. None without votes."""
    shown = [(s, s.estimated) for s in sources if s.votes and s.estimated is not None]
    if not shown:
        return None
    frame = _bubble_frame(shown)
    marks = []
    for s, estimate in shown:
        x = frame.x(s.coverage)
        marks.append(line([(x, frame.y(estimate.low)), (x, frame.y(estimate.high))], MODEL, 1.2))
        if s.measured is not None:
            gap = [(x, frame.y(estimate.value)), (x, frame.y(s.measured.value))]
            marks += [line(gap, SOFT, 1, "1.5 2.5"), ring(x, frame.y(s.measured.value), 5, BAD)]
        marks.append(dot(x, frame.y(estimate.value), _RADIUS, MODEL, 0.75))
    scored = any(s.measured for s, _ in shown)
    items = [("estimated", MODEL, "dot"), *([("measured", BAD, "ring")] if scored else [])]
    log = " (log scale)" if frame.x.log else ""
    svg = frame.svg(
        frame.x_axis(percent_ticks(frame.x), f"coverage: documents with its vote{log}"),
        frame.y_axis(percent_ticks(frame.y), "accuracy of its votes"),
        *marks,
        *_names(frame, shown),
        legend(items, frame.x.start),
    )
    header = ["source", "coverage", "estimated accuracy"]
    header += ["measured accuracy"] if scored else []
    rows = [
        (s.name, percent(s.coverage), share_words(s.estimated))
        + ((share_words(s.measured),) if scored else ())
        for s in sources
    ]
    return Chart(
        name="bubbles",
        title="Coverage and accuracy of the sources",
        description=_bubbles_description(shown),
        svg=svg,
        header=tuple(header),
        rows=tuple(rows),
    )


def _bubble_frame(shown: Sequence[tuple[SourceFacts, Share]]) -> Frame:
    """A logarithmic axis where some sources cover far more than others, else a plain one."""
    coverage = [s.coverage for s, _ in shown]
    low, high = min(coverage), max(coverage)
    log = high >= 3 * low
    x = (low / 1.6, high * 2.2) if log else (max(0.0, low - 0.3 * high), high * 1.3)
    lows = [e.low for _, e in shown] + [s.measured.value for s, _ in shown if s.measured]
    bottom = max(0.0, math.floor(10 * (min(lows) - 0.03)) / 10)
    return Frame.of(x, (bottom, 1.03), size=(WIDTH, 350.0), log=log)


def _names(frame: Frame, shown: Sequence[tuple[SourceFacts, Share]]) -> list[str]:
    """Names of the widest sources, each at the first free place around its dot."""
    at = [(frame.x(s.coverage), frame.y(e.value)) for s, e in shown]
    taken = [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in at]
    for s, e in shown:
        x = frame.x(s.coverage)
        taken.append((x - 3, frame.y(e.high), x + 3, frame.y(e.low)))  # the line of its interval
        if s.measured is not None:
            x, y = frame.x(s.coverage), frame.y(s.measured.value)
            taken.append((x - 5, y - 5, x + 5, y + 5))
    inside = (frame.x.start, frame.y.end, frame.width - 2, frame.y.start)
    marks = []
    named = sorted(range(len(shown)), key=lambda i: -shown[i][0].votes)[:MOST_NAMED]
    for i in sorted(named, key=lambda i: at[i][1]):
        name = shortened(shown[i][0].name)
        width, height = text_width(name, LETTERS - 1), LETTERS + 2
        others = [point for j, point in enumerate(at) if j != i]
        place = free_place(at[i], _RADIUS, (width, height), taken, inside, others)
        if place is not None:
            x, y = place
            taken.append(_box(x, y, width, height))
            marks.append(label(x, y, name, size=LETTERS - 1))
    return marks


def free_place(
    point: Point,
    r: float,
    size: tuple[float, float],
    taken: Sequence[Box],
    inside: Box,
    others: Sequence[Point] = (),
) -> Point | None:
    """A free place for the middle of a name around a point; None where there is none.

    A name must be nearer to its own point than to any of the `others`, so that it is read with it.
    """
    (x, y), (width, height) = point, size
    side, up = width / 2 + r + 3, height / 2 + r + 1
    steps = [(side, 0.0), (-side, 0.0), (0.0, -up), (0.0, up)]
    for lift in (0.7 * height, 1.4 * height, 2.1 * height):
        steps += [(side, lift), (side, -lift), (-side, lift), (-side, -lift)]
        steps += [(0.0, up + lift), (0.0, -up - lift)]

    def crowding(step: tuple[float, float]) -> float:
        box = _box(x + step[0], y + step[1], width, height)
        outside = max(0.0, inside[0] - box[0]) + max(0.0, box[2] - inside[2])
        outside += max(0.0, inside[1] - box[1]) + max(0.0, box[3] - inside[3])
        own = _distance(box, point)
        astray = sum(_distance(box, other) < own for other in others)
        covered = sum(shared_area(box, other) for other in taken)
        return covered + 40 * outside + width * height * astray

    best = min(steps, key=crowding)
    return (x + best[0], y + best[1]) if crowding(best) <= _BEARABLE * width * height else None


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _distance(box: Box, point: Point) -> float:
    x, y = point
    return math.hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3]))


def shared_area(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return across * down if across > 0 and down > 0 else 0.0


def _bubbles_description(shown: Sequence[tuple[SourceFacts, Share]]) -> str:
    best, worst = (pick(shown, key=lambda pair: pair[1].value) for pick in (max, min))
    widest = max(shown, key=lambda pair: pair[0].coverage)[0]
    spread = f"{share_words(best[1])} for {best[0].name}"
    if best[1].value > worst[1].value:
        spread = f"from {share_words(worst[1])} for {worst[0].name} to {spread}"
    elif len(shown) > 1:
        spread = f"{percent(best[1].value)} for each"
    message = (
        f"{plural(len(shown), 'source')}; {widest.name} covers most, "
        f"{percent(widest.coverage)} of the documents. Estimated accuracy: {spread}."
    )
    both = [(e, s.measured) for s, e in shown if s.measured is not None]
    if both:
        off = sum(abs(e.value - m.value) for e, m in both) / len(both)
        outside = sum(not e.low <= m.value <= e.high for e, m in both)
        message += (
            f" The estimates are off by {100 * off:.1f} points on average; "
            f"{outside} of {plural(len(both), 'measured accuracy', 'measured accuracies')} "
            f"{'lies' if outside == 1 else 'lie'} outside the estimated interval."
        )
    return message


@dataclass(frozen=True)
class Weights:
    """The weight of one source's votes, on the documents where others vote too.

    A weight is relative to the other votes on the document, so it is shown beside an equal share:
    a_ij times the number of votes on document i. 1 is as much as the others there, 2 twice as much.
    A vote that counts against its class, because the source is mostly wrong, has weight as well.
    """

    name: str
    mean: float | None  # over these documents; None when there are none
    documents: int  # with another vote beside its own
    quantiles: tuple[float, ...]  # 5, 25, 50, 75 and 95 %; empty when there are no such documents


def source_weights(votes: Votes, heads: Heads) -> tuple[Weights, ...]:
    """All sources, in their order."""
    cast = votes.voted.sum(axis=1)  # (n,)
    beside = heads.conditional * cast[:, None]  # (n, k)
    found = []
    for j, name in enumerate(votes.sources):
        rows = votes.voted[:, j] & (cast > 1)
        spread = np.quantile(beside[rows, j], QUANTILES).tolist() if rows.any() else ()
        mean = float(beside[rows, j].mean()) if rows.any() else None
        found.append(Weights(name, mean, int(rows.sum()), tuple(spread)))
    return tuple(found)


def weights_chart(weights: Sequence[Weights], *, against: bool = True) -> Chart | None:
    """Boxes over documents and a diamond for their mean; None when there is nothing to compare.

    `against`: whether a vote can count against its class, as it can where behaviours are learnt and not in the paper.
    """
    compared = [(w, w.mean) for w in weights if w.mean is not None]
    if not compared:
        return None
    shown = sorted(compared, key=lambda pair: -pair[1])[:MOST_WEIGHED]
    high = max([mean for _, mean in shown] + [w.quantiles[-1] for w, _ in shown])
    names = [shortened(w.name) for w, _ in shown]
    frame = Frame.rows(names, (0.0, 1.05 * max(high, 1.0)), 22)
    equal = frame.x(1)
    marks = [
        frame.x_axis(
            [(tick, f"{tick:g}") for tick in frame.x.ticks()],
            "weight (1 is an equal share)",
            grid=False,
        ),
        line([(equal, frame.y.end), (equal, frame.y.start)], SOFT, 1, "4 3"),
        frame.row_names(names),
    ]
    for row, (w, mean) in enumerate(shown):
        y = frame.y(row)
        low, q1, middle, q3, top = (frame.x(q) for q in w.quantiles)
        marks.append(line([(low, y), (top, y)], OTHER, 1.4))
        marks.append(rect(q1, y - 6, max(q3 - q1, 1.5), 12, OTHER, 0.6))
        marks.append(line([(middle, y - 6), (middle, y + 6)], INK, 1.6))
        marks.append(diamond(frame.x(mean), y, 5, MODEL))
    return Chart(
        name="weights",
        title="Weight of the sources' votes from document to document",
        description=_weights_description(shown, against),
        svg=frame.svg(
            *marks,
            legend([("over documents", OTHER, "area"), ("mean", MODEL, "diamond")], frame.x.start),
        ),
        header=("source", "mean", "documents", "5%", "25%", "median", "75%", "95%"),
        rows=tuple(_weights_row(w) for w in weights),
    )


def _weights_row(w: Weights) -> tuple[str, ...]:
    found = [f"{q:.2f}" for q in w.quantiles] or ["–"] * len(QUANTILES)
    return (w.name, "–" if w.mean is None else f"{w.mean:.2f}", f"{w.documents:,}", *found)


def _weights_description(shown: Sequence[tuple[Weights, float]], against: bool) -> str:
    counted = "Counted on documents with two votes or more. A large weight is not a high accuracy"
    counted += (
        ": votes of a source that is taken to be mostly wrong count against their class."
        if against
        else "."
    )
    values = [v for w, mean in shown for v in (mean, *w.quantiles)]
    if max(values) - min(values) < 0.005:
        return f"All votes have the same weight, on every document. {counted}"
    moving = max((w for w, _ in shown), key=lambda w: w.quantiles[-1] - w.quantiles[0])
    (first, most), (last, least) = shown[0], shown[-1]
    message = f"{first.name} has most weight on average, {most:.2f} times an equal share"
    if len(shown) > 1:
        message += f"; {last.name} has least, {least:.2f} times"
    if moving.quantiles[-1] - moving.quantiles[0] < 0.005:
        return f"{message}. Each has the same weight on all its documents. {counted}"
    return (
        f"{message}. From document to document {moving.name} varies most: {moving.quantiles[0]:.2f} to "
        f"{moving.quantiles[-1]:.2f} times (5th to 95th percentile). {counted}"
    )


def agreement_map(pairs: Pairs) -> Chart | None:
    """Blue: both vote alike; red: they conflict; pale: half and half.

    Only sources that can both agree and disagree with another one, which sources that vote for one class each
    cannot, and that meet it on enough documents; None where there are none.
    """
    tells = pairs.informative & (pairs.both >= FEW_COMMON)  # (k, k)
    np.fill_diagonal(tells, val=False)
    compared = np.flatnonzero(tells.any(axis=1))
    if not len(compared):
        return None
    votes = np.diag(pairs.both)[compared]
    order = np.sort(compared[np.argsort(-votes, kind="stable")[:MOST_SOURCES]])
    pick = np.ix_(order, order)
    both, shares, informative = pairs.both[pick], pairs.agreement[pick], pairs.informative[pick]
    drawn = np.where(informative & ~np.eye(len(order), dtype=np.bool_), both, 0)  # (k, k)
    names = [pairs.sources[j] for j in order]
    k = len(names)
    colours = [[_agreement_colour(shares[i, j], drawn[i, j]) for j in range(k)] for i in range(k)]
    texts = [[_agreement_text(shares[i, j], drawn[i, j], k) for j in range(k)] for i in range(k)]
    return Chart(
        name="agreement",
        title="Which sources agree",
        description=_agreement_description(names, shares, drawn, len(compared), len(pairs.sources)),
        svg=board(names, colours, texts, square=max(16.0, min(40.0, 300.0 / k))),
        header=("source", "other source", "common documents", "agree"),
        rows=tuple(
            (names[i], names[j], f"{both[i, j]:,}", _agreed(shares[i, j], informative[i, j]))
            for i in range(k)
            for j in range(i)
            if both[i, j]
        ),
        wide=k > NUMBERED,
    )


def _agreed(share: float, informative: bool) -> str:
    if informative:
        return percent(float(share))
    return "always: one class" if share == 1 else "never: other classes"


def _agreement_colour(share: float, both: int) -> tuple[str, float]:
    if both < FEW_COMMON:
        return GRID, 0.4
    return (MODEL if share >= 0.5 else BAD), 0.06 + 0.7 * abs(2 * float(share) - 1)


def _agreement_text(share: float, both: int, k: int) -> str:
    return "" if both < FEW_COMMON or k > NUMBERED else f"{100 * share:.0f}"


def _agreement_description(
    names: list[str], shares: NDArray[np.float64], both: NDArray[np.int64], compared: int, k: int
) -> str:
    known = [
        (float(shares[i, j]), names[i], names[j])
        for i in range(len(names))
        for j in range(i)
        if both[i, j] >= FEW_COMMON
    ]
    message = (
        "Each square: of the documents on which both sources vote, the share (in %) on which they vote alike. "
        f"Blue where they agree, red where they conflict, grey where they share fewer than {FEW_COMMON}, or where "
        "the classes that they vote for leave no choice. "
    )
    if compared < k:
        left = "source that has" if k - compared == 1 else "sources that have"
        message += f"Left out: {k - compared:,} {left} no such pair. "
    if compared > len(names):
        message += f"The {len(names)} of {compared} sources with most votes are drawn. "
    if not known:
        return message + f"No such pair votes on {FEW_COMMON} common documents or more."
    shared = [share for share, _, _ in known]
    return (
        f"{message}Of {plural(len(known), 'pair')} with {FEW_COMMON} common documents or more, "
        f"{_extreme(known, max(shared))} most often ({percent(max(shared), 0)})"
        + (
            "."
            if min(shared) == max(shared)
            else f", {_extreme(known, min(shared))} least often ({percent(min(shared), 0)})."
        )
    )


def _extreme(known: list[tuple[float, str, str]], share: float) -> str:
    """The pair with this share of agreement, or how many there are."""
    found = [(one, two) for at, one, two in known if at == share]
    return f"{found[0][0]} and {found[0][1]} agree" if len(found) == 1 else f"{len(found)} agree"
