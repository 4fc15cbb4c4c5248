"""Undo and redo, kept on disk so that they survive a restart.

`.studio/history/` has one numbered file for each step, and `at`, the number of the last step that is in effect;
higher numbers were undone. A step of the project file holds the replaced and the new text, and digests of the whole
file: it is undone only where the file is exactly what the step left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unruly.files import written_whole
from unruly.labelling.label_file import Answer

if TYPE_CHECKING:  # it imports scipy, which the first page does without
    from unruly.project.suggestions import Refusal

MOST_STEPS = 200  # that can be undone


@dataclass(frozen=True)
class TextStep:
    """An edit of the project file: at this character, `old` became `new`."""

    what: str
    at: int
    old: str
    new: str
    before: str  # digests of the whole text
    after: str

    @classmethod
    def of(cls, what: str, before: str, after: str) -> TextStep:
        """From the two texts.

        >>> step = TextStep.of("b", "a = 1", "a = 20")
        >>> step.old, step.new, step.applied("a = 20", back=True)
        ('1', '20', 'a = 1')
        """
        start = _common(before, after)
        end = _common(before[start:][::-1], after[start:][::-1])
        old, new = before[start : len(before) - end], after[start : len(after) - end]
        return cls(what, start, old, new, _digest(before), _digest(after))

    def applied(self, text: str, back: bool) -> str | None:
        """The text with the edit undone or redone; None where the text is not what the edit left."""
        gone, put = (self.new, self.old) if back else (self.old, self.new)
        if _digest(text) != (self.after if back else self.before):
            return None
        return text[: self.at] + put + text[self.at + len(gone) :]


@dataclass(frozen=True)
class LabelStep:
    """Labels given or withdrawn: whole answers, so that an undo says how the documents were drawn, too."""

    what: str
    before: tuple[Answer, ...]  # to be written back, with a new time
    after: tuple[Answer, ...]


@dataclass(frozen=True)
class RefusedStep:
    """A suggested rule or remedy refused: the rules stay as they are."""

    what: str
    refused: Refusal


@dataclass(frozen=True)
class PresetStep:
    """A filter saved under a name, or forgotten; None where there is none."""

    what: str
    name: str
    before: Mapping[str, str] | None
    after: Mapping[str, str] | None


Step = TextStep | LabelStep | RefusedStep | PresetStep


class History:
    """The steps of one project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._steps: dict[int, Step | None] = {}
        self._at = self._read_place()

    @property
    def last(self) -> Step | None:
        """What undo would undo."""
        return self._step(self._at)

    @property
    def next(self) -> Step | None:
        """What redo would redo."""
        return self._step(self._at + 1)

    def holds(self, step: Step) -> bool:
        """Whether a step of this run is in effect."""
        return any(one == step for number, one in self._steps.items() if number <= self._at)

    def note(self, step: Step) -> None:
        """Add a step; undone steps are dropped."""
        self._at += 1
        for number in [number for number in self._numbers() if number >= self._at]:
            self._forget(number)
        self._steps[self._at] = step
        with suppress(OSError):  # a full disk: the step can be undone until the server ends
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write(f"{self._at:08d}.json", json.dumps(_plain(step), ensure_ascii=False))
            self._write("at", str(self._at))
        for number in [number for number in self._numbers() if number <= self._at - MOST_STEPS]:
            self._forget(number)

    def back(self) -> None:
        """The last step was undone."""
        self._move(-1)

    def forth(self) -> None:
        """The next step was redone."""
        self._move(1)

    def _move(self, by: int) -> None:
        self._at += by
        self._write("at", str(self._at))

    def _step(self, number: int) -> Step | None:
        if number not in self._steps:
            self._steps[number] = _read(self._folder / f"{number:08d}.json")
        return self._steps[number]

    def _numbers(self) -> list[int]:
        found = {
            int(file.stem) for file in self._folder.glob("[0-9]*.json") if file.stem.isdecimal()
        }
        return sorted(found | set(self._steps))

    def _forget(self, number: int) -> None:
        self._steps.pop(number, None)
        with suppress(OSError):
            (self._folder / f"{number:08d}.json").unlink()

    def _read_place(self) -> int:
        try:
            return max(0, int((self._folder / "at").read_text(encoding="ascii")))
        except (OSError, ValueError):
            return max(self._numbers(), default=0)

    def _write(self, name: str, text: str) -> None:
        """Where the disk cannot be written, steps can be undone until the server ends."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with written_whole(self._folder / name) as part:
                part.write_text(text, encoding="utf-8")


def _plain(step: Step) -> dict[str, Any]:
    plain = {"step": type(step).__name__, **asdict(step)}
    if isinstance(step, RefusedStep):
        from unruly.project.suggestions import refusal_to_plain

        plain["refused"] = refusal_to_plain(step.refused)
    if isinstance(step, LabelStep):
        for name, answers in (("before", step.before), ("after", step.after)):
            plain[name] = [answer.values() for answer in answers]
    return plain


def _read(path: Path) -> Step | None:
    """A step from its file; None where it is missing, unreadable or of another version."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        match plain.pop("step"):
            case "TextStep":
                return TextStep(**plain)
            case "LabelStep":
                pair = (tuple(map(_answer, plain.pop(name))) for name in ("before", "after"))
                return LabelStep(plain.pop("what"), *pair, **plain)
            case "RefusedStep":
                from unruly.project.suggestions import refusal_from_plain

                return RefusedStep(plain["what"], refusal_from_plain(plain["refused"]))
            case "PresetStep":
                return PresetStep(**plain)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
    return None


def _answer(values: dict[str, str]) -> Answer:
    found = Answer.of(values)
    if found is None:
        raise ValueError("an answer without an id or a label")
    return found


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    end = min(len(one), len(other))
    return next((i for i in range(end) if one[i] != other[i]), end)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
