"""From a file of answers to one label a document, with a weight, and problems that are set aside.

An estimate over all documents needs to know how the labelled ones were drawn. Draws follow each other: each
takes documents that have no answer yet, under whatever model there is by then. With N documents, L_r those
answered before draw r, and p_i the probability with which draw r takes a document that is still open, each draw
alone gives an unbiased total of any y,

    t_r = sum_{i in L_r} y_i + sum_{i in draw r} y_i / p_i

whatever chose the model and the probabilities, for given the past only this draw is by chance (Des Raj,
1956). So does their mean weighted by precision, which is linear in y with one weight a document:

    a_r ~ n_r / (O_r^2 (1 - n_r / O_r))              O_r: documents still open; sum a_r = 1
    w_i = a_r / p_i + sum_{later draws s} a_s                          i drawn in r

The more of the open documents a draw takes, the less is left to chance. Where none is left, all count alike.

Only the probability at the draw itself is needed, which the file keeps: the probability of being drawn in any
round, 1 - prod(1 - p), would need those of draws in which a document was *not* taken, and the models behind
them. Draws that do not reach all documents (the most doubtful, one source, one class) get a_r = 0: their
documents count as known in later draws, and teach the model. Within a draw 1 / p is scaled to sum to the open documents,
which makes the estimate steadier (Hajek, 1971) and corrects for documents that were skipped, or not reached
before the annotator left (the order within a draw is random). The estimates so hold for documents that
people can tell.

A document is drawn once, whoever is right about it: so a correction repeats the draw and its probability, and an undo
writes back the answers that it replaced.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.findings import Contradiction, LabelProblem, UnknownClass, UnknownId, finding_to_plain
from unruly.labelling.label_file import (
    AGAIN,
    NO_CLASS,
    SKIPPED,
    WITHDRAWN,
    Answer,
    LabelFile,
    moment,
)
from unruly.sentences import label_sentences
from unruly.texts.columns import UNKNOWN, class_number, warn_if_counted_from_one

EVERYWHERE = ("balance", "random", "import")  # draws that reach all documents
_REWRITTEN = r"^[\s\x1c-\x1f]|[\s\x1c-\x1f]$|[\n\r\x0b\x0c\x1c-\x1e\x{85}\x{2028}\x{2029}]"  # what `written_id` changes


@dataclass(frozen=True, eq=False)
class Labelled:
    """n documents, of which some have a label."""

    numbers: NDArray[np.int64]  # (n,): class numbers, -1 where there is no label
    weights: NDArray[np.float64]  # (n,): w_i; 0 where a label tells nothing about all documents
    answered: NDArray[np.bool_]  # (n,): documents not to be asked about again
    problems: tuple[LabelProblem, ...]
    origin: str = ""  # the file's name

    @classmethod
    def alike(cls, numbers: NDArray[np.int64]) -> Labelled:
        """Labels drawn evenly: class numbers (n,), -1 where there is none."""
        known = numbers != UNKNOWN
        return cls(numbers, known.astype(np.float64), known, ())

    def take(self, rows: NDArray[np.integer[Any]]) -> Labelled:
        """The same of some documents."""
        return Labelled(
            self.numbers[rows],
            self.weights[rows],
            self.answered[rows],
            self.problems,
            self.origin,
        )

    @property
    def labels(self) -> int:
        """How many documents have a label."""
        return int((self.numbers != UNKNOWN).sum())

    @property
    def rows(self) -> NDArray[np.intp]:
        """Documents whose labels tell about all documents."""
        return np.flatnonzero((self.numbers != UNKNOWN) & (self.weights > 0))


def labelled(
    file: LabelFile, ids: Sequence[object] | pl.Series, classes: Sequence[str]
) -> Labelled:
    """The labels of these documents, in their order.

    >>> from pathlib import Path
    >>> file = LabelFile(
    ...     Path("labels.csv"), (Answer("b", "spam"), Answer("x", "ham"), Answer("c", "eggs"))
    ... )
    >>> found = labelled(file, ["a", "b", "c"], ["ham", "spam"])
    >>> found.numbers.tolist(), found.problems
    ([-1, 1, -1], (UnknownClass(id='c', label='eggs'), UnknownId(id='x')))
    """
    standing = file.standing()
    places = places_of(ids, standing)
    numbers = np.full(len(ids), UNKNOWN, dtype=np.int64)
    answered = np.zeros(len(ids), dtype=np.bool_)
    problems: list[LabelProblem] = list(file.unreadable)
    counted: dict[int, Answer] = {}
    for own, answers in sorted(standing.items()):
        if own not in places:
            problems.append(UnknownId(own))
            continue
        row = places[own]
        answered[row] = any(answer.label != SKIPPED for answer in answers)
        named = [(a, class_of(a.label, classes)) for a in answers if a.label not in NO_CLASS]
        problems += [UnknownClass(own, answer.label) for answer, number in named if number is None]
        known = [(answer, number) for answer, number in named if number is not None]
        if len({number for _, number in known}) > 1:
            problems.append(Contradiction(own, tuple((a.by, a.label) for a, _ in known)))
        elif known:
            counted[row], numbers[row] = drawn_as([answer for answer, _ in known]), known[0][1]
    weights = _weights(counted, answered)
    given = pl.Series([answer.label for answer in counted.values()], dtype=pl.String)
    warn_if_counted_from_one(given, numbers, classes, file.path.name)
    return Labelled(numbers, weights, answered, tuple(problems), file.path.name)


def places_of(ids: Sequence[object] | pl.Series, wanted: Collection[str]) -> dict[str, int]:
    """The rows of the ids that are wanted; of a million documents, few have a label."""
    if isinstance(ids, pl.Series) and (ids.dtype == pl.String or ids.dtype.is_integer()):
        texts = ids.cast(pl.String)
        if ids.dtype.is_integer() or not texts.str.contains(_REWRITTEN).any():
            rows = texts.is_in(list(wanted)).arg_true() if wanted else pl.Series(dtype=pl.UInt32)
            return dict(zip(texts.gather(rows).to_list(), rows.to_list(), strict=True))
    found = ((written_id(own), row) for row, own in enumerate(ids))
    return {own: row for own, row in found if own in wanted}


def written_id(own: object) -> str:
    """An id as a line of the file has it."""
    return " ".join(str(own).splitlines()).strip()


def class_of(label: str, classes: Sequence[str]) -> int | None:
    """The class that a label names; capitals matter only where two classes differ by them."""
    number = class_number(label, classes)
    return None if number == UNKNOWN else number


def _weights(counted: Mapping[int, Answer], answered: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n,): w_i, scaled to a mean of 1 over the documents that have one."""
    draws: dict[str, list[int]] = defaultdict(list)
    for row in sorted(counted):
        draws[counted[row].draw].append(row)
    begun = {name: min(moment(counted[row].when) for row in rows) for name, rows in draws.items()}
    order = sorted(draws, key=lambda name: (begun[name], name))
    taken = np.array([len(draws[name]) for name in order])
    reaches_all = np.array([_everywhere(counted[draws[name][0]]) for name in order], np.bool_)
    weights = np.zeros(len(answered))
    known = len(answered) - (int(answered.sum()) - len(counted))  # documents that people can tell
    if known == len(counted):
        weights[list(counted)] = 1.0
        return weights
    if not reaches_all.any():
        return weights
    open_after = known - np.cumsum(taken)  # of each draw
    open_then = open_after + taken
    share = np.where(reaches_all, taken / (open_then * open_after), 0.0)
    share /= share.sum()
    later = 1 - np.cumsum(share)
    for name, stands, own, rest in zip(order, open_then, share, later, strict=True):
        rows = draws[name]
        inverse = np.array([1 / (counted[row].probability or 1.0) for row in rows])
        weights[rows] = own * stands * inverse / inverse.sum() + max(rest, 0.0)
    used = weights > 1e-12 * weights.max()
    weights[~used] = 0.0
    weights[used] /= weights[used].mean()
    return weights


def _everywhere(answer: Answer) -> bool:
    return answer.reason in EVERYWHERE or not answer.draw


def drawn_as(answers: Sequence[Answer]) -> Answer:
    """Of the answers about one document, the earliest first, the one that tells most of how it was drawn.

    A draw from all documents with a known probability tells most, then any draw from all documents, and then the earliest.

    >>> drawn_as(
    ...     [Answer("4", "ham", why="browse"), Answer("4", "ham", "", "", "balance#1", 0.25)]
    ... ).why
    'balance#1'
    """
    return max(
        answers, key=lambda a: (_everywhere(a), _everywhere(a) and a.probability is not None)
    )


def problems_to_plain(problems: Sequence[LabelProblem], name: str) -> list[dict[str, Any]]:
    """The problems of a file as JSON has them.

    >>> problems_to_plain([UnknownId("7")], "labels.csv")
    [{'file': 'labels.csv', 'kind': 'unknown_id', 'id': '7'}]
    """
    return [{"file": name, **finding_to_plain(problem)} for problem in problems]


def problem_lines(
    problems: Sequence[LabelProblem], name: str, project: Path | None = None
) -> list[str]:
    """One line for each kind of problem of a file.

    >>> problem_lines([UnknownId("7"), UnknownId("9")], "labels.csv")
    ['labels.csv: 2 labels set aside: their documents are not in the data (7, 9)']
    """
    return [f"{name}: {line}" for line in label_sentences(problems, project)]


@dataclass(frozen=True, eq=False)
class Imported:
    """The file with the labels added, how many were new, and what was left behind."""

    file: LabelFile
    added: int
    problems: tuple[LabelProblem, ...]


def import_labels(
    file: LabelFile, theirs: LabelFile, ids: Iterable[object], classes: Sequence[str]
) -> Imported:
    """Labels made elsewhere, added to a file: those answers that are of these documents and name a class.

    An answer that does not say by whom is entered under its file's name, and one that does not say how its document was
    drawn counts as drawn evenly, with all others of that file, unless it corrects an answer that does. Importing a file
    again adds nothing.
    """
    known, standing = {written_id(own) for own in ids}, file.standing()
    token = zlib.crc32("\n".join(sorted(a.to_line() for a in theirs.answers)).encode())
    new: list[Answer] = []
    problems: list[LabelProblem] = list(theirs.unreadable)
    for answer in theirs.answers:
        if answer.id not in known:
            problems.append(UnknownId(answer.id))
        elif answer.label not in NO_CLASS and class_of(answer.label, classes) is None:
            problems.append(UnknownClass(answer.id, answer.label))
        else:
            own = replace(answer, by=answer.by or theirs.path.stem)
            before = [a for a in standing.get(own.id, ()) if a.by == own.by]
            if not own.why and before:
                drawn = drawn_as(before)
                own = replace(own, why=drawn.why, probability=drawn.probability)
            new.append(replace(own, why=own.why or f"import#{token:08x}"))
    merged = file.merge(new)
    return Imported(merged, len(merged.answers) - len(file.answers), tuple(problems))


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
