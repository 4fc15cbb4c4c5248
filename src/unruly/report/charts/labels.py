"""Names beside points, moved until none covers another."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.report.charts.drawing import INK, LETTERS, Axes

_BEARABLE = 0.15  # of a name that may be covered
Box = tuple[float, float, float, float]  # left, bottom, right, top, in points
_WIDE, _HIGH = 0.64, 1.25  # of the letter size: a letter's width, a line's height


def name_points(
    ax: Axes,
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    radii: Sequence[float],
    others: Sequence[tuple[float, float]] = (),
    size: float = LETTERS - 1,
) -> None:
    """Write each name at the first place around its point that is still free.

    `others` are marks to keep clear of. Where no place is free, the name is left out.
    """
    ax.figure.draw_without_rendering()  # the layout must be settled to know where points lie
    scale = 72 / ax.figure.dpi
    frame = _scaled(ax.get_window_extent().extents, scale)
    at = [_on_paper(ax, point) for point in points]
    taken = [_around(x, y, r) for (x, y), r in zip(at, radii, strict=True)]
    taken += [_around(*_on_paper(ax, point), 5.0) for point in others]
    for (x, y), name, r in sorted(zip(at, names, radii, strict=True), key=lambda p: -p[0][1]):
        width, height = len(name) * size * _WIDE, size * _HIGH
        free = _free(x, y, r, width, height, taken, frame)
        if free is None:
            continue
        dx, dy = free
        taken.append(_box(x + dx, y + dy, width, height))
        ax.annotate(
            name,
            points[names.index(name)],
            xytext=(dx, dy),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=size,
            color=INK,
        )


def _on_paper(ax: Axes, point: tuple[float, float]) -> tuple[float, float]:
    x, y = ax.transData.transform(point) * 72 / ax.figure.dpi
    return float(x), float(y)


def _free(
    x: float, y: float, r: float, width: float, height: float, taken: Sequence[Box], frame: Box
) -> tuple[float, float] | None:
    """The offset of the first place that is free, or nearly; None when there is none."""
    side, up = width / 2 + r + 3, height / 2 + r + 1
    steps = [(side, 0.0), (-side, 0.0), (0.0, up), (0.0, -up)]
    for lift in (1, 2, 3):
        steps += [(side, lift * height * 0.7), (side, -lift * height * 0.7)]
        steps += [(-side, lift * height * 0.7), (-side, -lift * height * 0.7)]
        steps += [(0.0, up + lift * height * 0.7), (0.0, -up - lift * height * 0.7)]

    def crowding(step: tuple[float, float]) -> float:
        box = _box(x + step[0], y + step[1], width, height)
        outside = max(0.0, frame[0] - box[0]) + max(0.0, box[2] - frame[2] - 12)
        outside += max(0.0, frame[1] - box[1]) + max(0.0, box[3] - frame[3] - 6)
        return sum(_shared(box, other) for other in taken) + 40 * outside

    best = min(steps, key=crowding)
    return best if crowding(best) <= _BEARABLE * width * height else None


def _around(x: float, y: float, r: float) -> Box:
    return x - r, y - r, x + r, y + r


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _shared(a: Box, b: Box) -> float:
    """The area that two boxes share."""
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    return across * down if across > 0 and down > 0 else 0.0


def _scaled(extents: Sequence[float], scale: float) -> Box:
    left, bottom, right, top = (float(v) * scale for v in extents)
    return left, bottom, right, top
