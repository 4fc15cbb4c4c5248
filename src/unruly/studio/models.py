"""The trained models of a project: every one kept in `models/`, drawn one after the other, and why two of them answer differently.

    models/2026-11-16T20-31-04.unruly    the model
    models/2026-11-16T20-31-04.json      when, the project file as it was, how many labels, the fit's summary

Models that the command line has left in the project's folder are listed as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.html import (
    MODEL,
    OTHER,
    Chart,
    Frame,
    count_ticks,
    dot,
    legend,
    line,
    percent,
    percent_ticks,
    share_words,
)
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress
from unruly.project.project import FittedProject
from unruly.rules.matching import VoteCache, entry_key
from unruly.statistics import Share, sample_rows
from unruly.studio.state import ModelAnswers, State
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.wording import free_name, plural

if TYPE_CHECKING:  # imports scipy, which the first page does without
    from unruly.model.weak_classifier import WeakClassifier

FOLDER = "models"
ENDING = ".unruly"
MOST_DRAWN = 30  # models in the chart of all
MOST_COMPARED = 2_000  # documents with another answer whose votes are compared


@dataclass(frozen=True)
class KeptModel:
    """A model on disk, with what is known without loading it."""

    path: Path
    when: datetime
    facts: (
        Mapping[str, Any] | None
    )  # what was written beside it; None where the command line made it

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def day(self) -> str:
        """Its date, to the second: two models may be of one minute."""
        return self.when.strftime("%Y-%m-%d %H:%M:%S")

    @property
    def summary(self) -> FitSummary | None:
        """The fit summary, where it was saved."""
        return None if self.facts is None else FitSummary.from_plain(self.facts["summary"])

    @property
    def labels(self) -> int | None:
        """How many labels there were."""
        return None if self.facts is None else int(self.facts["labels"])

    @property
    def text(self) -> str | None:
        """The project file as it was."""
        return None if self.facts is None else str(self.facts["project"])

    @property
    def accuracy(self) -> Share | None:
        """Accuracy on the project's gold labels, where it has any."""
        scores = None if self.facts is None else self.facts.get("accuracy")
        return None if scores is None else Share(**scores)


def kept_models(folder: Path) -> tuple[KeptModel, ...]:
    """All models of a project, the newest first."""
    paths = [*folder.glob(f"*{ENDING}"), *(folder / FOLDER).glob(f"*{ENDING}")]
    found = [_kept(path) for path in paths if path.is_file()]
    return tuple(sorted(found, key=lambda model: (model.when, model.name), reverse=True))


def _kept(path: Path) -> KeptModel:
    facts = None
    try:
        facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        when = datetime.fromisoformat(facts["when"])
        FitSummary.from_plain(facts["summary"])
    except (OSError, ValueError, KeyError, TypeError):
        facts = None  # missing or damaged: the model itself is what counts
        when = datetime.fromtimestamp(path.stat().st_mtime)
    return KeptModel(path, when, facts)


def keep(fit: FittedProject, state: State, now: datetime) -> KeptModel:
    """Save a model under its date, so that none is overwritten, with its facts in a JSON file."""
    folder = state.folder / FOLDER
    folder.mkdir(exist_ok=True)
    taken = {path.stem for path in folder.iterdir()}
    stem = free_name(now.strftime("%Y-%m-%dT%H-%M-%S"), taken, "-")
    path = folder / f"{stem}{ENDING}"
    scores = fit.evaluation
    share = None if scores is None else scores.everything.model.accuracy
    facts = {
        "when": now.isoformat(timespec="seconds"),
        "project": state.text,
        "labels": int((state.labels != UNKNOWN).sum()),
        "summary": fit.model.summary_.to_plain(),
        "scored_on": fit.scored_on,
        "accuracy": None if share is None else vars(share),
    }
    fit.model.save(path)
    with written_whole(path.with_suffix(".json")) as part:
        part.write_text(json.dumps(facts, ensure_ascii=False), encoding="utf-8")
    return _kept(path)


def open_model(path: Path, state: State) -> WeakClassifier:
    """A model of this project; its Python rules and encoders are those that the project names."""
    from unruly.model.weak_classifier import WeakClassifier

    return WeakClassifier.load(path, state.project.named_files())


def answers_of(
    model: WeakClassifier,
    path: Path,
    state: State,
    cache: VoteCache,
    progress: Progress = SILENT,
) -> ModelAnswers:
    """A model's answers on the project's documents, cached from run to run."""
    if (kept := kept_answers(path, state, cache)) is not None:
        return kept
    found = model.predictions(state.corpus, progress=progress)
    proba = _aligned(found.proba, model.class_names, state.classes)
    frame = pl.DataFrame(proba, schema=[str(c) for c in range(len(state.classes))])
    cache.put(_answers_key(path, state), frame)
    return ModelAnswers(path.name, proba)


def kept_answers(path: Path, state: State, cache: VoteCache) -> ModelAnswers | None:
    """A model's cached answers; None where there are none."""
    try:
        kept = cache.get(_answers_key(path, state))
    except OSError:
        return None
    if kept is None or kept.height != state.n or kept.width != len(state.classes):
        return None
    return ModelAnswers(path.name, np.ascontiguousarray(kept.to_numpy().astype(np.float32)))


def _answers_key(path: Path, state: State) -> str:
    digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    return entry_key(["answers", digest], state.classes, state.frame.everything)


def _aligned(
    proba: NDArray[np.float32], theirs: tuple[str, ...], ours: tuple[str, ...]
) -> NDArray[np.float32]:
    if set(theirs) != set(ours):
        raise InputError(
            f"the model knows the classes {', '.join(theirs)}, the project {', '.join(ours)}: train again"
        )
    return np.ascontiguousarray(proba[:, [theirs.index(name) for name in ours]], np.float32)


@dataclass(frozen=True)
class VoteChange:
    """What one source says of a document under the old rules and under the new ones; None: no vote."""

    source: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.source} now votes {self.after}"
        if self.after is None:
            return f"{self.source} no longer votes {self.before}"
        return f"{self.source} votes {self.after}, before {self.before}"


@dataclass(frozen=True)
class Cause:
    """Documents with another answer on which the same votes changed; without changed votes, the weights did it."""

    votes: tuple[VoteChange, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class ChangedAnswers:
    """The answers in which two models differ, by what changed on these documents, most documents first."""

    total: int
    seen: int  # documents whose votes were compared
    causes: tuple[Cause, ...]


def changed_answers(
    old: WeakClassifier, new: WeakClassifier, state: State, most: int = MOST_COMPARED
) -> ChangedAnswers:
    """Compare the votes of both models' rules on documents with another answer, of many on a sample."""
    assert state.answers is not None
    assert state.earlier is not None
    rows = np.flatnonzero(state.answers.predicted != state.earlier.predicted)
    seen = rows[sample_rows(len(rows), most)]
    groups: dict[tuple[VoteChange, ...], list[int]] = {}
    for row, changes in zip(seen.tolist(), vote_changes(old, new, state, seen), strict=True):
        groups.setdefault(changes, []).append(row)
    causes = [Cause(votes, tuple(found)) for votes, found in groups.items()]
    causes.sort(key=lambda cause: (-len(cause.rows), str(cause.votes)))
    return ChangedAnswers(len(rows), len(seen), tuple(causes))


def vote_changes(
    old: WeakClassifier, new: WeakClassifier, state: State, rows: NDArray[np.intp]
) -> list[tuple[VoteChange, ...]]:
    """For each document the votes that differ between the rules of two models."""
    if not len(rows):
        return []
    corpus = state.corpus.take(rows)
    before, after = (_votes_by_name(model, corpus) for model in (old, new))
    silent: list[str | None] = [None] * len(rows)
    found: list[list[VoteChange]] = [[] for _ in rows]
    for name in dict.fromkeys([*before, *after]):
        pairs = zip(before.get(name, silent), after.get(name, silent), strict=True)
        for changes, (was, now) in zip(found, pairs, strict=True):
            if was != now:
                changes.append(VoteChange(name, was, now))
    return [tuple(changes) for changes in found]


def _votes_by_name(model: WeakClassifier, corpus: Corpus) -> dict[str, list[str | None]]:
    rules = model.fitted.rules
    if rules is None:  # trained on votes alone
        return {}
    votes = rules.vote(corpus)
    return {
        source: [
            votes.label(row, j) if cast else None for row, cast in enumerate(votes.voted[:, j])
        ]
        for j, source in enumerate(votes.sources)
    }


def models_chart(models: Sequence[KeptModel]) -> Chart | None:
    """Coverage and, with gold, accuracy from one model to the next; None with fewer than two."""
    known = [(model, model.summary) for model in reversed(models)][-MOST_DRAWN:]
    shown = [(model, summary) for model, summary in known if summary is not None]
    if len(shown) < 2:
        return None
    frame = Frame.of((0.5, len(shown) + 0.5), (0.0, 1.03))
    coverage = [(frame.x(i), frame.y(s.coverage)) for i, (_, s) in enumerate(shown, start=1)]
    marks = [line(coverage, OTHER, 1.5), *(dot(x, y, 3, OTHER) for x, y in coverage)]
    scored = [(i, share) for i, (m, _) in enumerate(shown, start=1) if (share := m.accuracy)]
    for i, share in scored:
        ends = [(frame.x(i), frame.y(share.low)), (frame.x(i), frame.y(share.high))]
        marks += [line(ends, MODEL, 1.2), dot(frame.x(i), frame.y(share.value), 4, MODEL)]
    items = [("coverage", OTHER, "line"), *([("accuracy", MODEL, "dot")] if scored else [])]
    first, last = shown[0], shown[-1]
    return Chart(
        name="models",
        title="From model to model",
        description=f"{plural(len(shown), 'model')}, {first[0].day} to {last[0].day}. Coverage by rules: "
        f"{percent(first[1].coverage)} to {percent(last[1].coverage)}.",
        svg=frame.svg(
            frame.x_axis(count_ticks(frame.x), "model", grid=False),
            frame.y_axis(percent_ticks(frame.y)),
            *marks,
            legend(items, frame.x.start),
        ),
        header=("model", "rules", "labels", "coverage", "accuracy on gold"),
        rows=tuple(
            (
                m.day,
                f"{len(s.sources)}",
                f"{m.labels}",
                percent(s.coverage),
                share_words(m.accuracy),
            )
            for m, s in shown
        ),
    )
