"""Documents shown to a person: those behind a figure (`show`), and those to be labelled (`LabellingTask`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, UnrulyError, Where
from unruly.files import written_whole
from unruly.findings import AllCovered, LabelNeverVoted, NeverInConflict, SilentSource, WhyNone
from unruly.labelling.answers import Labelled, labelled
from unruly.labelling.estimates import BalanceEstimate, balance_beside_model
from unruly.labelling.label_file import LabelFile
from unruly.labelling.sampling import Session, ask, contested
from unruly.progress import SILENT, Progress
from unruly.project import SPLITS
from unruly.project.project import Project
from unruly.statistics import Share, wilson
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.texts.stream import defused
from unruly.votes.provenance import Match
from unruly.votes.votes import Votes
from unruly.wording import known_name, listed, reason_with

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier

_QUICK = 2000  # documents on which a fit takes a second or so

Proba = NDArray[np.floating[Any]]
Span = tuple[int, int]


@dataclass(frozen=True)
class ShownDocument:
    """One document, and why each source voted on it as it did."""

    id: object
    text: str
    gold: str | None
    votes: tuple[Match, ...]

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts of the text that rules matched, joined where they overlap, in order.

        >>> votes = (
        ...     Match("a", 0, "x", ((0, 4), (9, 12)), ""),
        ...     Match("b", 0, "x", ((3, 6),), ""),
        ... )
        >>> ShownDocument(1, "some text here", None, votes).spans
        ((0, 6), (9, 12))
        """
        joined: list[list[int]] = []
        for start, end in sorted({span for vote in self.votes for span in vote.spans}):
            if joined and start <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], end)
            else:
                joined.append([start, end])
        return tuple((start, end) for start, end in joined)

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The text, cut where matches begin and end, and of each piece whether it is a match."""
        last = 0
        for start, end in self.spans:
            yield self.text[last:start], False
            yield self.text[start:end], True
            last = end
        yield self.text[last:], False

    def why(self, vote: Match) -> str:
        """The rule behind a vote, and the words that it matched, which other rules may have matched as well."""
        words = dict.fromkeys(self.text[start:end] for start, end in vote.spans)
        return reason_with(vote.reason, list(words))

    def marked(self) -> str:
        """The text with each matched part in brackets."""
        return "".join(f"[{piece}]" if match else piece for piece, match in self.pieces())

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "id": self.id,
            "text": self.text,
            "gold": self.gold,
            "votes": [
                {
                    "source": vote.source,
                    "label": vote.label,
                    "rule": vote.rule + 1,
                    "reason": vote.reason,
                    "spans": [list(span) for span in vote.spans],
                }
                for vote in self.votes
            ],
        }


@dataclass(frozen=True)
class Shown:
    """The first documents that fit what was asked for, and how many do."""

    documents: tuple[ShownDocument, ...]
    total: int
    blank: int = 0  # further ones without a text, which no rule can match
    why_none: WhyNone | None = None  # where there are none, what lets no document pass

    def to_frame(self) -> pl.DataFrame:
        """One row for each document: id, text, gold label, and its votes in words."""
        return pl.DataFrame(
            {
                "id": pl.Series([str(one.id) for one in self.documents], dtype=pl.String),
                "text": pl.Series([one.text for one in self.documents], dtype=pl.String),
                "gold": pl.Series([one.gold for one in self.documents], dtype=pl.String),
                "votes": pl.Series(
                    [
                        "; ".join(f"{v.source}: {v.label}" for v in one.votes)
                        for one in self.documents
                    ],
                    dtype=pl.String,
                ),
                "matched": pl.Series(
                    ["; ".join(one.text[a:b] for a, b in one.spans) for one in self.documents],
                    dtype=pl.String,
                ),
            }
        )

    def write(self, path: Path, *, defuse: bool = False) -> None:
        """The rows of `to_frame` to a file; its ending tells the format.

        With `defuse`, cells of CSV that a spreadsheet would run as a formula get an apostrophe.
        """
        frame = self.to_frame()
        with written_whole(path) as part:
            match path.suffix.lower():
                case ".csv" | ".tsv" as form:
                    flat = defused(frame) if defuse else frame
                    flat.write_csv(part, separator="\t" if form == ".tsv" else ",")
                case ".jsonl" | ".ndjson":
                    frame.write_ndjson(part)
                case _:
                    frame.write_parquet(part)


def show(
    project: Project,
    split: str = "train",
    *,
    source: str | None = None,
    conflicts_with: str | None = None,
    label: str | None = None,
    uncovered: bool = False,
    id: str | None = None,
    most: int = 20,
    progress: Progress = SILENT,
) -> Shown:
    """Documents of one split: with a vote of `source`, for `label`, against `conflicts_with`, without votes, or by `id`."""
    if id is not None:
        if uncovered or source or conflicts_with or label:
            raise InputError("an id names one document: ask for --id alone")
        return _shown_by_id(project, split, id, progress)
    if uncovered and (source or conflicts_with or label):
        raise InputError(
            "documents without votes have no source and no label: ask for --uncovered alone"
        )
    if conflicts_with and not source:
        raise InputError("--conflicts-with needs --source: name both sources that disagree")
    corpus = project.corpus(split)
    votes = project.vote(corpus, progress)
    source = source and known_name(source, votes.sources, "source")
    conflicts_with = conflicts_with and known_name(conflicts_with, votes.sources, "source")
    label = label and known_name(label, votes.classes, "class")
    wanted, blank = _wanted(votes, source, conflicts_with, label, uncovered), 0
    if uncovered and corpus.missing is not None:
        blank = int((wanted & corpus.missing).sum())
        wanted &= ~corpus.missing
    rows = np.flatnonzero(wanted)
    found = [_shown(project, corpus, votes, row) for row in rows[:most].tolist()]
    why = None if len(rows) else _why_none(votes, source, conflicts_with, label)
    return Shown(tuple(found), len(rows), blank, why)


def _shown(project: Project, corpus: Corpus, votes: Votes, row: int) -> ShownDocument:
    number = -1 if corpus.gold is None else corpus.gold[row]
    gold = project.classes[number] if number >= 0 else None
    return ShownDocument(corpus.ids[row], corpus.texts[row], gold, votes.matches(row))


def _shown_by_id(project: Project, split: str, id: str, progress: Progress) -> Shown:
    corpus = project.corpus(split)
    rows = _rows_with(corpus, id)
    if not rows:
        others = [s for s in SPLITS if s != split and getattr(project.data, s) is not None]
        there = [s for s in others if _rows_with(project.corpus(s), id)]
        first = listed(map(str, corpus.ids.head(3)))
        remedy = f"add --split {there[0]}" if there else f"the first ids there are {first}"
        raise InputError(
            f"no document has the id {id!r}: {remedy}",
            where=Where(str(project.data.path(split, project.folder))),
        )
    return Shown((_shown(project, corpus, project.vote(corpus, progress), rows[0]),), 1)


def _rows_with(corpus: Corpus, id: str) -> list[int]:
    return [row for row, own in enumerate(corpus.ids.to_list()) if str(own) == id]


def _wanted(
    votes: Votes,
    source: str | None,
    conflicts_with: str | None,
    label: str | None,
    uncovered: bool,
) -> NDArray[np.bool_]:
    """(n,): which documents were asked for."""
    if uncovered:
        return ~votes.covered
    wanted = np.ones(votes.n, dtype=np.bool_)
    columns = list(range(votes.k))
    if source is not None:
        columns = [votes.sources.index(source)]
        wanted &= votes.voted[:, columns[0]]
    if conflicts_with is not None:
        other = votes.sources.index(conflicts_with)
        wanted &= votes.voted[:, other] & ~_compatible(votes, columns[0], other)
    if label is not None:
        number = votes.classes.index(label)
        wanted &= votes.agrees(np.full(votes.n, number))[:, columns].any(axis=1)
    return wanted


def _why_none(
    votes: Votes, source: str | None, conflicts_with: str | None, label: str | None
) -> WhyNone:
    """Which of the filters lets no document pass, the simplest first."""
    for name in (source, conflicts_with):
        if name is not None and not votes.voted[:, votes.sources.index(name)].any():
            return SilentSource(name)
    columns = range(votes.k) if source is None else [votes.sources.index(source)]
    if label is not None:
        named = [votes.agrees(np.full(votes.n, c))[:, columns].any() for c in range(votes.m)]
        if not named[votes.classes.index(label)]:
            others = [name for name, some in zip(votes.classes, named, strict=True) if some]
            return LabelNeverVoted(label, source, tuple(others))
    if conflicts_with is not None:
        assert source is not None
        return NeverInConflict(source, conflicts_with, label)
    return AllCovered()


def _compatible(votes: Votes, one: int, other: int) -> NDArray[np.bool_]:
    """(n,): where the votes of two sources allow a class in common."""
    both = [votes.agrees(np.full(votes.n, r))[:, [one, other]].all(axis=1) for r in range(votes.m)]
    return np.asarray(np.any(both, axis=0))


@dataclass(frozen=True, eq=False)
class LabellingTask:
    """The training documents of a project, the votes on them, and what a model says of them."""

    project: Project
    corpus: Corpus
    votes: Votes
    model: WeakClassifier | None
    proba: Proba | None  # (n, m): the model's; None without one
    on_disk: OnDisk

    @classmethod
    def of(
        cls, project: Project, model: WeakClassifier | None = None, progress: Progress = SILENT
    ) -> LabellingTask:
        """Read, vote and predict."""
        on_disk = OnDisk.of(project)
        corpus = project.corpus("train")
        votes = project.vote(corpus, progress)
        if model is not None:
            project.check_model(model)
        proba = None if model is None else model.predictions(corpus, progress=progress).proba
        return cls(project, corpus, votes, model, proba, on_disk)

    @property
    def numbered(self) -> bool:
        """Whether documents go by their row, having no ids of their own."""
        return self.project.data.id is None

    def labelled(self, file: LabelFile) -> Labelled:
        """The labels so far."""
        return labelled(file, self.corpus.ids, self.project.classes)

    def session(self, n: int = 20, by: str = "balance", whom: str = "") -> Session:
        """Questions about documents that have no answer yet (or contested ones), drawn as `labelling.sampling` says."""
        file = self.project.label_file()
        if by == "contested":
            return Session(file, contested(file, self.corpus.ids, self.project.classes, n), whom)
        answered = self.labelled(file).answered
        missing, seed = self.corpus.missing, self.project.seed
        asked = ask(self.votes, self.proba, n, by, answered=answered, missing=missing, seed=seed)
        return Session(file, asked, whom)

    def shown(self, row: int) -> ShownDocument:
        """A document and the votes on it; no gold label."""
        return ShownDocument(
            self.corpus.ids[row], self.corpus.texts[row], None, self.votes.matches(row)
        )

    def balance(self, file: LabelFile) -> BalanceEstimate | None:
        """The class shares as the labels tell them."""
        ledger = None if self.model is None else self.model.ledger_
        return balance_beside_model(self.labelled(file), self.votes, self.proba, ledger)

    def source_accuracy(self, file: LabelFile, source: str) -> Share:
        """How often a source is right on the labelled documents that it votes on."""
        j, labels = self.votes.sources.index(source), self.labelled(file).numbers
        judged = self.votes.voted[:, j] & (labels != UNKNOWN)
        right = self.votes.agrees(labels)[judged, j]
        return wilson(float(right.sum()), float(judged.sum()))

    @property
    def quick(self) -> bool:
        """Whether `changed` takes a second or so, and can be told while people wait for the next document."""
        default = self.model is not None and self.model.method == "default"
        return default and len(self.corpus) <= _QUICK

    def changed(self, file: LabelFile, progress: Progress = SILENT) -> int | None:
        """How many of the model's answers a fit with all labels would change; None without a model or a label."""
        labels = self.labelled(file)
        if self.model is None or self.proba is None or not labels.labels:
            return None
        again = self.model.preview_labels(labels, self.corpus, progress=progress)
        return int((again.argmax(axis=1) != self.proba.argmax(axis=1)).sum())


@dataclass(frozen=True)
class OnDisk:
    """The files of a project as they were, to tell when they have changed."""

    project: Path | None
    rules: bytes
    data: Path
    state: tuple[tuple[str, int, int], ...]  # of the data: names, sizes, times of the last change

    @classmethod
    def of(cls, project: Project) -> OnDisk:
        """As they are now."""
        data = project.data.path("train", project.folder)
        rules = b"" if project.file is None else project.file.read_bytes()
        return cls(project.file, rules, data, _state(data))

    def check(self, classes: tuple[str, ...]) -> bool:
        """Whether all is as it was; refused where answers would mean something else than before."""
        state = _state(self.data)
        if state != self.state:
            what = "have changed on disk" if state else "are gone"
            raise InputError(f"the documents {what}: start again", where=Where(str(self.data)))
        if self.project is None or _bytes(self.project) == self.rules:
            return True
        try:
            now = Project.read(self.project).classes
        except UnrulyError as error:
            raise InputError(
                f"the project has changed on disk and cannot be read ({error.message}): fix it and start again",
                where=error.where,
            ) from None
        if now != classes:
            raise InputError(
                f"the classes have changed on disk, they are now {', '.join(now)}: start again",
                where=Where(str(self.project)),
            )
        return False


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Of a file, or of the files of a WRENCH folder; nothing where there is none."""
    try:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        found = [(file.name, file.stat()) for file in files]
    except OSError:
        return ()
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in found)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
