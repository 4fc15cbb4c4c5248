"""Matrices as boards of coloured squares: which sources agree, and which classes are confused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unruly.html import (
    BAD,
    GRID,
    LETTERS,
    MODEL,
    WIDTH,
    label,
    picture,
    rect,
    text_width,
)
from unruly.model.advice import Pairs
from unruly.report.markup import Chart, percent
from unruly.wording import plural, shortened

MOST_SOURCES = 40  # that are drawn, those with most votes
FEW = 5  # common documents, below which pairs are left out
NUMBERED = 14  # sources up to which the squares carry their figures
MOST_CLASSES = 20  # that are drawn, the commonest
_GAP = 1.5  # between two squares


def agreement_map(pairs: Pairs) -> Chart | None:
    """Blue: both vote alike; red: they conflict; pale: half and half. None for fewer than two sources."""
    if len(pairs.sources) < 2:
        return None
    order = np.sort(np.argsort(-np.diag(pairs.both), kind="stable")[:MOST_SOURCES])
    both, shares = pairs.both[np.ix_(order, order)], pairs.agreement[np.ix_(order, order)]
    names = [pairs.sources[j] for j in order]
    k = len(names)
    colours = [
        [_agreement_colour(shares[i, j], both[i, j], i == j) for j in range(k)] for i in range(k)
    ]
    texts = [
        [_agreement_text(shares[i, j], both[i, j], i == j, k) for j in range(k)] for i in range(k)
    ]
    return Chart(
        name="agreement",
        title="Which sources agree",
        description=_agreement_description(names, shares, both, len(pairs.sources)),
        svg=_board(names, colours, texts, square=max(16.0, min(40.0, 300.0 / k))),
        header=("source", "other source", "common documents", "agree"),
        rows=tuple(
            (names[i], names[j], f"{both[i, j]:,}", percent(float(shares[i, j])))
            for i in range(k)
            for j in range(i)
            if both[i, j]
        ),
        wide=k > NUMBERED,
    )


def _agreement_colour(share: float, both: int, same: bool) -> tuple[str, float]:
    if same or both < FEW:
        return GRID, 0.4
    return (MODEL if share >= 0.5 else BAD), 0.06 + 0.7 * abs(2 * float(share) - 1)


def _agreement_text(share: float, both: int, same: bool, k: int) -> str:
    return "" if same or both < FEW or k > NUMBERED else f"{100 * share:.0f}"


def _agreement_description(
    names: list[str], shares: NDArray[np.float64], both: NDArray[np.int64], k: int
) -> str:
    known = [
        (float(shares[i, j]), names[i], names[j])
        for i in range(len(names))
        for j in range(i)
        if both[i, j] >= FEW
    ]
    message = (
        "Each square: of the documents on which both sources vote, the share (in %) on which they vote alike. "
        f"Blue where they agree, red where they conflict, grey where they share fewer than {FEW}. "
    )
    if k > len(names):
        message += f"The {len(names)} of {k} sources with most votes are drawn. "
    if not known:
        return message + f"No two sources vote on {FEW} common documents or more."
    shared = [share for share, _, _ in known]
    return (
        f"{message}Of {plural(len(known), 'pair')} with {FEW} common documents or more, "
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
        svg=_board(
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


def _board(
    names: Sequence[str],
    colours: Sequence[Sequence[tuple[str, float]]],
    texts: Sequence[Sequence[str]],
    square: float,
    titles: tuple[str, str] = ("", ""),
) -> str:
    """Squares in rows and columns with the same names; names below are turned where there are many."""
    size = LETTERS - 1 if len(names) <= 25 else LETTERS - 3
    short = [shortened(name, 16) for name in names]
    long = max(text_width(name, size) for name in short)
    turned = long > square - 4
    rows, columns = titles
    left = (24 if rows else 6) + long + 6
    below = (0.77 * long + 14 if turned else 18) + (20 if columns else 0)
    side = square * len(names)
    width, height = max(left + side + 8, WIDTH), side + below + 6
    left += max(0.0, (width - left - side - 8) / 2 - 10) if len(names) > 3 else 0.0
    marks = []
    for i, row in enumerate(colours):
        y = 4 + i * square
        marks.append(label(left - 6, y + square / 2, short[i], anchor="end", size=size))
        for j, (colour, strength) in enumerate(row):
            x = left + j * square
            marks.append(rect(x, y, square - _GAP, square - _GAP, colour, round(strength, 2)))
            lines = texts[i][j].split("\n") if texts[i][j] else []
            for n, text in enumerate(lines):
                shift = 15 * (n - (len(lines) - 1) / 2)
                small = size if square >= 40 else size - 1.5
                marks.append(label(x + square / 2, y + square / 2 + shift, text, size=small))
    for j, name in enumerate(short):
        x, y = left + (j + 0.5) * square, side + 14
        if turned:
            marks.append(label(x + 3, y - 2, name, anchor="end", size=size, turn=-50))
        else:
            marks.append(label(x, y, name, size=size))
    if rows:
        marks.append(label(11, 4 + side / 2, rows, turn=-90))
        marks.append(label(left + side / 2, height - 9, columns))
    return picture(width, height, *marks)
