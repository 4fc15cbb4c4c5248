"""Labels made elsewhere, added to a file of labels."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from unruly.labelling.answers import Problem, UnknownClass, UnknownId, class_of, written_id
from unruly.labelling.labels import NO_CLASS, Answer, LabelFile


@dataclass(frozen=True, eq=False)
class Imported:
    """The file with the labels added, how many were new, and what was left behind."""

    file: LabelFile
    added: int
    problems: tuple[Problem, ...]


def import_labels(
    file: LabelFile, theirs: LabelFile, ids: Iterable[object], classes: Sequence[str]
) -> Imported:
    """Add those answers that are of these documents and name a class.

    An answer that does not say by whom is entered under its file's name, and one that does not say how its document was
    drawn counts as drawn evenly, with all others of that file. Importing a file again adds nothing.
    """
    known = {written_id(own) for own in ids}
    token = zlib.crc32("\n".join(sorted(a.to_line() for a in theirs.answers)).encode())
    new: list[Answer] = []
    problems: list[Problem] = list(theirs.unreadable)
    for answer in theirs.answers:
        if answer.id not in known:
            problems.append(UnknownId(answer.id))
        elif answer.label not in NO_CLASS and class_of(answer.label, classes) is None:
            problems.append(UnknownClass(answer.id, answer.label))
        else:
            by, why = answer.by or theirs.path.stem, answer.why or f"import#{token:08x}"
            new.append(replace(answer, by=by, why=why))
    merged = file.merge(new)
    return Imported(merged, len(merged.answers) - len(file.answers), tuple(problems))
