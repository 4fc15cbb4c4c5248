"""Lines that change labels outside a draw: they say how the document was drawn, as the lines before them did.

A document is drawn once, whoever is right about it, and estimates for all documents need to know how (see `answers`).
So a correction repeats the draw and its probability, and an undo writes back the answers that it replaced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from unruly.labelling.answers import drawn_as
from unruly.labelling.label_file import AGAIN, WITHDRAWN, Answer, LabelFile, moment


def corrections(
    file: LabelFile, ids: Sequence[str], label: str | None, by: str, why: str
) -> tuple[Answer, ...]:
    """The lines with which somebody labels documents, or withdraws their own labels (None); without a time yet.

    `why` is for documents that were never drawn.

    >>> from pathlib import Path
    >>> file = LabelFile(Path("labels.csv"), (Answer("4", "ham", "", "ada", "balance#1", 0.25),))
    >>> corrections(file, ["4"], "spam", "ada", "browse")
    (Answer(id='4', label='spam', when='', by='ada', why='balance#1', probability=0.25, note=''),)
    """
    standing, lines = file.standing(), _lines(file, ids)
    found: list[Answer] = []
    for own in ids:
        valid = standing.get(own, ())
        mine = {answer.again: answer for answer in valid if answer.by == by}
        if label is None and mine:
            found += [replace(answer, label=WITHDRAWN, note="") for answer in mine.values()]
            continue
        earlier = valid or _last([answer for answer in lines[own] if answer.by == by])
        drawn = drawn_as(earlier) if earlier else Answer(own, WITHDRAWN, why=why)
        settles = AGAIN if True in mine else ""  # it corrects an answer that settled the document
        named = label or WITHDRAWN
        found.append(Answer(own, named, "", by, settles + drawn.draw, drawn.probability))
    return tuple(found)


def replaced(file: LabelFile, answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """What the same people had said of these documents before; a withdrawal where that was nothing.

    Appended with a new time, it undoes the answers.

    >>> from pathlib import Path
    >>> new = Answer("4", "spam", "2026-01-02", "ada", "balance#1", 0.25)
    >>> [answer.label for answer in replaced(LabelFile(Path("labels.csv")), [new])]
    ['(withdrawn)']
    """
    lines = _lines(file, [answer.id for answer in answers])
    found: list[Answer] = []
    for new in answers:
        before = [
            old
            for old in lines[new.id]
            if (old.by, old.again) == (new.by, new.again) and moment(old.when) < moment(new.when)
        ]
        found += _last(before) or [replace(new, label=WITHDRAWN, note="")]
    return tuple(found)


def _lines(file: LabelFile, ids: Sequence[str]) -> dict[str, list[Answer]]:
    """All lines about these documents."""
    wanted = set(ids)
    found: dict[str, list[Answer]] = defaultdict(list)
    for answer in file.answers:
        if answer.id in wanted:
            found[answer.id].append(answer)
    return found


def _last(answers: Sequence[Answer]) -> list[Answer]:
    """Those with the latest time."""
    last = max((moment(answer.when) for answer in answers), default=None)
    return [answer for answer in dict.fromkeys(answers) if moment(answer.when) == last]
