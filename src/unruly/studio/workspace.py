"""An open project: all changes go through here, testable without a browser.

Readers take `workspace.state`, an immutable snapshot. Writers hold a lock, write the file first and then
replace the snapshot. `unruly.toml` is written only while it is what was read; labels are appended to
`labels.csv` line by line, so lines written by others are kept, and noted.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from unruly.errors import InputError, UnrulyError
from unruly.files import written_whole
from unruly.labelling.answers import corrections, labelled, problem_lines, replaced, written_id
from unruly.labelling.label_file import Answer, moment, timestamp
from unruly.project.editing import (
    ProjectText,
    add_source_text,
    describe_classes,
    duplicate_source,
    move_source,
    remove_source,
    replace_source_text,
    source_names,
    source_text,
    state_shares,
    switch_source,
    write_edit,
)
from unruly.project.file import parse_project, project_file
from unruly.rules.matching import MatchFrame, VoteCache
from unruly.studio.filters import Filter, Preset, counted
from unruly.studio.history import (
    History,
    LabelStep,
    PresetStep,
    RefusedStep,
    Step,
    TextStep,
)
from unruly.studio.incremental_matching import TypedVotes
from unruly.studio.preview import parse_source
from unruly.studio.state import ModelAnswers, State, no_votes
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import free_name, listed, plural

if TYPE_CHECKING:  # they import scipy, which the first page does without
    from unruly.labelling.sampling import Question
    from unruly.project.suggestions import Edit

Noted = TypeVar("Noted", bound=Step)
EXPORTS = "exports.json"
FOLDER = ".studio"  # beside unruly.toml: drafts, saved filters, what can be undone


_DONE = {
    "duplicate": "copied",
    "up": "moved up",
    "down": "moved down",
    "on": "switched on",
    "off": "switched off",
    "delete": "deleted",
}


class ChangedOutsideError(UnrulyError):
    """The project file was edited outside, so it is not overwritten."""


@dataclass(frozen=True)
class LabelChange:
    """The label of a document before and after the file of labels was edited outside; None: none."""

    row: int
    id: str
    before: str | None
    after: str | None


class Workspace:
    """A project with its documents, votes, labels, model answers, and undo history."""

    def __init__(self, path: Path, *, by: str = "", cache: VoteCache | None = None) -> None:
        self.file = project_file(path)
        self.folder = self.file.parent
        self.by = by  # who labels
        self._cache = VoteCache.default() if cache is None else cache
        self._lock = threading.RLock()
        self._history = History(self.folder / FOLDER / "history")
        self._drafts = {k: str(v) for k, v in self._read_json("drafts.json").items()}
        self._state = self._read()
        self._labels_seen = _signature(self._state.project.label_file().path)
        self._label_changes: dict[int, LabelChange] = {}

    @property
    def state(self) -> State:
        """The current snapshot."""
        return self._state

    # Reading

    def _read(self) -> State:
        file = ProjectText.read(self.file)
        project = parse_project(file.text, self.file, may_be_empty=True)
        corpus = project.corpus("train")
        state = State(
            project=project,
            file=file,
            corpus=corpus,
            typed=TypedVotes(MatchFrame.of(corpus)),
            votes=no_votes(corpus, project.classes),
            labelled=labelled(project.label_file(), corpus.ids, project.classes),
        )
        return replace(state, votes=self._vote(state))

    def _vote(self, state: State) -> Votes:
        """The votes of all sources, cached for those matched before."""
        if not state.project.sources.sources:
            return no_votes(state.corpus, state.classes)
        with state.project.blamed():
            return state.project.sources.vote(state.corpus, cache=self._cache)

    def reload(self) -> None:
        """Read the project file again; the documents only where the file names others."""
        with self._lock:
            old, file = self._state, ProjectText.read(self.file)
            project = parse_project(file.text, self.file, may_be_empty=True)
            if project.data != old.project.data or project.classes != old.classes:
                self._state = self._read()
                return
            state = replace(old, project=project, file=file)
            self._state = replace(state, votes=self._vote(state))

    def reload_labels(self) -> None:
        """Read the labels again."""
        with self._lock:
            state = self._state
            file = state.project.label_file()
            self._labels_seen = _signature(file.path)
            found = labelled(file, state.corpus.ids, state.classes)
            self._state = replace(state, labelled=found)

    def notice_labels(self) -> None:
        """Read the labels again where someone else wrote them, and note the difference."""
        with self._lock:
            if _signature(self._state.project.label_file().path) == self._labels_seen:
                return
            old = self._state
            self.reload_labels()
            new, names = self._state, (*self._state.classes, None)  # -1: none
            for row in np.flatnonzero(old.labels != new.labels).tolist():
                noted = self._label_changes.get(row)
                before = names[old.labels[row]] if noted is None else noted.before
                own = str(new.corpus.ids[row])
                self._label_changes[row] = LabelChange(row, own, before, names[new.labels[row]])

    @property
    def label_changes(self) -> tuple[LabelChange, ...]:
        """The labels that others changed, until somebody has looked at them."""
        return tuple(self._label_changes.values())

    def forget_label_changes(self) -> None:
        """Somebody has looked at them."""
        with self._lock:
            self._label_changes = {}

    def use_answers(
        self, corpus: Corpus, answers: ModelAnswers | None, earlier: ModelAnswers | None = None
    ) -> bool:
        """Use a model's answers on these documents, and those of the one before it.

        False where other documents were loaded since: then they are not used.
        """
        with self._lock:
            if corpus is not self._state.corpus:
                return False
            self._state = replace(self._state, answers=answers, earlier=earlier)
            return True

    # The project file

    def outside(self) -> str:
        """The diff of the project file on disk against what was read; empty where they are equal."""
        state = self._state
        try:
            raw = self.file.read_bytes()
        except OSError as error:
            return f"{self.file.name} cannot be read: {error.strerror}"
        if raw == state.file.raw:
            return ""
        text = raw.decode("utf-8-sig", "replace")
        names = (f"{self.file.name}, in the studio", f"{self.file.name}, on disk")
        pair = (state.text.splitlines(), text.splitlines())
        return "\n".join(unified_diff(*pair, *names, lineterm="", n=2))

    def load_outside(self) -> None:
        """Load the project file as it was edited outside; a step like any other, so all before it can be undone."""
        with self._lock:
            before = self._state.text
            self.reload()
            if self._state.text != before:
                self._note(
                    TextStep.of(f"{self.file.name}: edited outside", before, self._state.text)
                )

    def edit(self, what: str, text: str) -> TextStep:
        """Write the project file, if it is valid and was not edited outside; can be undone."""
        with self._lock:
            before = self._state.text
            self._write(text)
            return self._note(TextStep.of(what, before, text))

    def _write(self, text: str) -> None:
        if self.outside():
            raise ChangedOutsideError(
                f"{self.file.name} was edited outside: review the difference and load it first"
            )
        write_edit(self._state.file, text, may_be_empty=True)
        self.reload()

    def save_source(self, text: str, saved: str | None, original: str = "") -> str:
        """Write one source, in place of the one called `saved` or as a new one; returns its name.

        `original` is the source when the editor was opened: where it differs by now, it was changed in
        another tab and is not overwritten.
        """
        with self._lock:
            state = self._state
            source = parse_source(text, state)
            if saved is None:
                self.edit(f"{source.name}: added", add_source_text(state.text, text))
            else:
                if source_text(state.text, saved).split() != original.split():
                    raise ChangedOutsideError(
                        f"the source {saved} was changed in the meantime, perhaps in another tab: reload the page to see it; "
                        "your edit is kept as a draft"
                    )
                edited = replace_source_text(state.text, saved, text)
                done = "edited" if source.name == saved else f"edited, now called {source.name}"
                self.edit(f"{saved}: {done}", edited)
            with suppress(OSError):  # the source is saved: a stale draft is harmless
                self.keep_draft(saved or "", None)
            return source.name

    def describe(self, descriptions: Mapping[str, str]) -> None:
        """Describe the classes, or remove the descriptions; can be undone."""
        with self._lock:
            edited = describe_classes(self._state.text, descriptions)
            self.edit("class descriptions", edited)

    def state_shares(self, prior: str) -> None:
        """State the class shares, or take the statement back; can be undone."""
        with self._lock:
            self.edit("class shares", state_shares(self._state.text, prior))

    def change_source(self, what: str, name: str) -> TextStep:
        """Duplicate, move (up, down), switch (on, off) or delete a source; can be undone."""
        with self._lock:
            text = self._state.text
            names = source_names(text)
            place = names.index(name) if name in names else 0
            match what:
                case "duplicate":
                    edited = duplicate_source(text, name, free_name(f"{name} copy", names))
                case "up" | "down":
                    to = place + (1 if what == "down" else -1)
                    edited = move_source(text, name, min(max(to, 0), len(names) - 1))
                case "on" | "off":
                    edited = switch_source(text, name, what == "on")
                case "delete":
                    edited = remove_source(text, name, may_be_empty=True)
                case _:
                    raise InputError(f"{what!r} is not an action on a source")
            return self.edit(f"{name}: {_DONE[what]}", edited)

    def refuse(self, edit: Edit) -> RefusedStep:
        """Do not suggest a rule or a remedy again; can be undone."""
        from unruly.project.suggestions import refusal_of, refuse

        with self._lock:
            step = RefusedStep(f"declined: {edit}", refusal_of(edit))
            refuse(self.folder, [step.refused])
            return self._note(step)

    # Labels

    def label(self, rows: Sequence[int], label: str | None) -> int:
        """Label documents, or withdraw their labels; returns how many changed. Can be undone."""
        with self._lock:
            state = self._state
            if label is not None and label not in state.classes:
                raise InputError(
                    f"{label!r} is not a class: the classes are {listed(state.classes, most=40)}"
                )
            ids = [written_id(state.corpus.ids[r]) for r in rows if self._label_of(r) != label]
            if not ids:
                return 0
            why = "browse" if len(ids) == 1 else "filter"
            answers = corrections(state.project.label_file(), ids, label, self.by, why)
            self._label(f"{plural(len(ids), 'document')}: {label or 'label withdrawn'}", answers)
            return len(ids)

    def answer(self, question: Question, label: str) -> None:
        """Save an answer from the queue, including `(cannot tell)` and `(skipped)`."""
        with self._lock:
            if self._label_of(question.row) != label:
                own, chance = written_id(question.id), question.probability
                answer = Answer(own, label, "", self.by, question.why, chance)
                self._label(f"1 document: {label}", [answer])

    def _label_of(self, row: int) -> str | None:
        number = int(self._state.labels[row])
        return None if number == UNKNOWN else self._state.classes[number]

    def _label(self, what: str, answers: Sequence[Answer]) -> None:
        after = self._append(answers)
        before = replaced(self._state.project.label_file(), after)
        self._history.note(LabelStep(what, before, after))

    def _append(self, answers: Sequence[Answer]) -> tuple[Answer, ...]:
        """Write answers with a time of now, which overrides all others about these documents."""
        file = self._state.project.label_file()
        ids = {answer.id for answer in answers}
        self.notice_labels()
        others = [moment(answer.when) for answer in file.answers if answer.id in ids]
        when = timestamp(max(others)) if others else timestamp()
        written = tuple(replace(answer, when=when) for answer in answers)
        file.append(*written)
        self.reload_labels()
        return written

    def label_problems(self) -> list[str]:
        """Problems in the file of labels, a line each."""
        return problem_lines(self._state.labelled.problems, self._state.labelled.origin)

    # Undo and redo

    def _note(self, step: Noted) -> Noted:
        self._history.note(step)
        return step

    def in_effect(self, step: Step) -> bool:
        """Whether a step was made, and not undone since."""
        return self._history.holds(step)

    @property
    def last_step(self) -> Step | None:
        """The step that `undo` would undo."""
        return self._history.last

    @property
    def next_step(self) -> Step | None:
        """The step that `redo` would redo."""
        return self._history.next

    def undo(self) -> Step | None:
        """Undo the last step."""
        with self._lock:
            step = self._history.last
            if step is not None:
                self._restore(step, back=True)
                self._history.back()
            return step

    def redo(self) -> Step | None:
        """Redo the last undone step."""
        with self._lock:
            step = self._history.next
            if step is not None:
                self._restore(step, back=False)
                self._history.forth()
            return step

    def _restore(self, step: Step, back: bool) -> None:
        if isinstance(step, LabelStep):
            self._append(step.before if back else step.after)
        elif isinstance(step, RefusedStep):
            from unruly.project.suggestions import read_refused, write_refused

            others = [one for one in read_refused(self.folder) if one != step.refused]
            write_refused(self.folder, others if back else [*others, step.refused])
        elif isinstance(step, PresetStep):
            self._put_preset(step.name, step.before if back else step.after)
        else:
            text = step.applied(self._state.text, back)
            if text is None:
                raise ChangedOutsideError(
                    f"{self.file.name} was changed since this edit: it cannot be undone"
                )
            self._write(text)

    # Drafts and saved filters

    def draft(self, source: str) -> str | None:
        """The unsaved draft of a source."""
        return self._drafts.get(source)

    def keep_draft(self, source: str, text: str | None) -> None:
        """Save a draft on disk, so that a killed server or closed tab loses nothing; None deletes it."""
        with self._lock:
            if self._drafts.get(source) == text:
                return
            if text is None:
                self._drafts.pop(source, None)
            else:
                self._drafts[source] = text
            self._write_json("drafts.json", self._drafts)

    def presets(self) -> tuple[Preset, ...]:
        """The usual filters and the saved ones, with counts."""
        own = {
            name: Filter.of(parts)
            for name, parts in self._read_json("presets.json").items()
            if isinstance(parts, dict)
        }
        return self._state.once("presets", lambda: counted(self._state, own))

    def save_preset(self, name: str, chosen: Filter | None) -> None:
        """Save a filter under a name; None deletes it."""
        if not name.strip():
            raise InputError("a filter needs a name")
        with self._lock:
            own = name.strip()
            found = self._read_json("presets.json").get(own)
            old = {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else None
            new = None if chosen is None else {k: v for k, v in vars(chosen).items() if v}
            self._put_preset(own, new)
            what = f"filter {own}: {'deleted' if new is None else 'saved'}"
            self._history.note(PresetStep(what, own, old, new))

    def _put_preset(self, name: str, parts: Mapping[str, str] | None) -> None:
        kept = {k: v for k, v in self._read_json("presets.json").items() if k != name}
        self._write_json("presets.json", kept if parts is None else {**kept, name: dict(parts)})
        self._state = replace(self._state)  # counts again

    def made_by(self, name: str) -> str:
        """The model that an exported file was made with; empty where that is not known."""
        return str(self._read_json(EXPORTS).get(name, ""))

    def note_export(self, name: str, model: str) -> None:
        """Remember which model an exported file was made with."""
        with self._lock, suppress(OSError):  # a full disk: the file itself is there
            self._write_json(EXPORTS, {**self._read_json(EXPORTS), name: model})

    def _read_json(self, name: str) -> dict[str, object]:
        try:
            found = json.loads((self.folder / FOLDER / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_json(self, name: str, value: object) -> None:
        folder = self.folder / FOLDER
        folder.mkdir(exist_ok=True)
        ignored = folder / ".gitignore"
        if not ignored.exists():
            ignored.write_text("drafts.json\nexports.json\nhistory/\n", encoding="utf-8")
        with written_whole(folder / name) as part:
            part.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def _signature(path: Path) -> tuple[int, int] | None:
    """Time and size, which change when a file does."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size
