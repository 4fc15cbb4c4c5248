"""A project: classes, files, rules, and how to train, as one object that is also a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unruly.errors import InputError, ProjectError, SettingsError, UnrulyError, Where
from unruly.files import check_name
from unruly.labelling.answers import Labelled, labelled, problem_lines, problems_to_plain
from unruly.labelling.label_file import FILE_NAME as LABELS
from unruly.labelling.label_file import LabelFile
from unruly.prior import StatedBalance, parse_prior
from unruly.progress import SILENT, Progress
from unruly.project import FILE_NAME, SAMPLE, SPLITS
from unruly.rules.matching import VoteCache
from unruly.rules.similar import descriptions_of
from unruly.rules.sources import Sources
from unruly.settings import MethodSettings, PaperSettings, settings_for
from unruly.texts.columns import UNKNOWN, gold_column, names_classes, text_named_by
from unruly.texts.corpus import Corpus
from unruly.texts.frame_table import files_of
from unruly.texts.stream import CorpusStream
from unruly.texts.table import BadRow, BrokenFile, on_bad_row_of, row_remarks
from unruly.texts.wrench import is_wrench
from unruly.votes.votes import MOST_CLASSES, Votes
from unruly.wording import did_you_mean, listed, plural

if TYPE_CHECKING:
    from unruly.model.evaluation import Evaluation
    from unruly.model.weak_classifier import WeakClassifier


Prior = str | tuple[float, ...] | Mapping[str, Any] | StatedBalance | None
EncoderSpec = str | Mapping[str, Any] | tuple[str | Mapping[str, Any], ...]


@dataclass(frozen=True)
class DataFiles:
    """`[data]`: paths relative to the project's folder, and column names; what is not there is None.

    A folder in WRENCH's layout may be named in place of a file: each split is read from it.
    """

    train: str | None = None
    valid: str | None = None
    test: str | None = None
    labels: str | None = None  # people's labels of training documents; None: labels.csv, if there
    text: str | None = None  # column names from here on
    id: str | None = None
    label: str | None = None
    test_label: str | None = None  # the label column of the test file, where it has another name
    on_bad_row: str | None = None  # error, skip or keep (the default): see `Corpus.read`

    def path(self, split: str, folder: Path) -> Path:
        """The file of one split."""
        if split not in SPLITS:
            hint = did_you_mean(split, SPLITS, "splits are")
            raise InputError(f"there is no split {split!r}: {hint}")
        name: str | None = getattr(self, split)
        if name is None:
            raise ProjectError(
                f'the project has no {split} file: set {split} = "..." under [data] in unruly.toml'
            )
        path = _without_detours(folder / check_name(name))
        if not path.exists() and Path(name).is_file():
            there = Path(os.path.relpath(name, folder)).as_posix()
            raise ProjectError(
                f"{path}: there is no such file: paths start from the project's folder, so write "
                f'{split} = "{there}" for {name}'
            )
        return path

    def read(self, split: str, folder: Path, classes: tuple[str, ...]) -> Corpus:
        """One split, whole."""
        path = self.path(split, folder)
        if is_wrench(path):
            return _same_classes(Corpus.from_wrench(path, split), classes)
        return self._open(path, classes, split).read()

    def scan(self, split: str, folder: Path, classes: tuple[str, ...]) -> CorpusStream:
        """One split as a stream of batches, for files larger than memory."""
        path = self.path(split, folder)
        if is_wrench(path):
            raise InputError(
                "a WRENCH folder cannot be read in batches: read it whole", where=Where(str(path))
            )
        return self._open(path, classes, split)

    def label_of(self, split: str) -> str | None:
        """The label column of one split."""
        return self.test_label if split == "test" and self.test_label is not None else self.label

    def _open(self, path: Path, classes: tuple[str, ...], split: str) -> CorpusStream:
        """A file whose label column may be missing: training texts are often unlabelled."""
        with text_named_by('text = "..." under [data] in unruly.toml'):
            return CorpusStream.open(
                path,
                text=self.text,
                id=self.id,
                label=self.label_of(split),
                classes=classes,
                on_bad_row=on_bad_row_of(self.on_bad_row),
                label_may_be_missing=True,
            )


@dataclass(frozen=True)
class Project:
    """What `unruly.toml` says. Build it in Python, or read it from a folder.

    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.source import Rule
    >>> from unruly.rules.source import Source
    >>> subscribe = Source("subscribe", [Rule("spam", Keywords(["subscribe"]))])
    >>> project = Project(Sources(["ham", "spam"], [subscribe]), DataFiles(train="comments.csv"))
    >>> import tempfile
    >>> Project.read(project.write(tempfile.mkdtemp())) == project
    True
    """

    sources: Sources
    data: DataFiles = field(default_factory=DataFiles)
    prior: Prior = None  # the class balance as stated (see `parse_prior`); None: nothing is known
    encoder: EncoderSpec = "auto"
    method: str = "default"
    settings: MethodSettings | None = None  # of the method; None: its defaults
    seed: int = 0
    folder: Path = field(default=Path(), compare=False)  # where the files are looked for
    file: Path | None = field(default=None, compare=False)  # what it was read from

    def __post_init__(self) -> None:
        check_classes(self.classes)
        for name in ("prior", "encoder"):  # lists to tuples: a project can be compared
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "settings", settings_for(self.method, self.settings))
        try:
            parse_prior(self.prior, self.classes)
        except SettingsError as error:
            raise ProjectError(error.message, where=error.where) from None

    def __repr__(self) -> str:
        """One line.

        >>> Project(Sources(["ham", "spam"], []), DataFiles(train="comments.csv"))
        Project(ham, spam: 0 sources, train comments.csv)
        """
        files = [f"{split} {name}" for split in SPLITS if (name := getattr(self.data, split))]
        sources = plural(len(self.sources.sources), "source")
        return f"Project({', '.join([f'{listed(self.classes)}: {sources}', *files])})"

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; everywhere else they are numbers in this order."""
        return tuple(self.sources.classes)

    @classmethod
    def read(cls, path: str | Path, encoder: EncoderSpec | None = None) -> Project:
        """A project from its folder, or from the path of its `unruly.toml`."""
        from unruly.project.file import read_project

        return read_project(Path(path), encoder=encoder)

    def write(self, path: str | Path) -> Path:
        """Write `unruly.toml` into a folder (or to a path that ends in .toml), whole or not at all.

        File names are written as they are: relative ones are looked for beside the file.
        """
        from unruly.project.file import write_project

        return write_project(self, Path(path))

    @property
    def address(self) -> Path | None:
        """What commands are to be given for this project; None where it was not read from a file.

        >>> Project(Sources(["ham", "spam"], []), file=Path("spam/unruly.toml")).address.name
        'spam'
        """
        if self.file is None or self.file.name != FILE_NAME:
            return self.file
        return self.file.parent

    def inputs(self) -> tuple[Path, ...]:
        """The files that the project reads: its own, its data, people's labels, and whatever else `unruly.toml` names."""
        data = [self.data.train, self.data.valid, self.data.test, self.data.labels or LABELS]
        files = [*self._files(name for name in data if name), *self.rule_files()]
        return tuple(dict.fromkeys(files))

    def rule_files(self) -> tuple[Path, ...]:
        """Its own file, and those that it names beside its data: functions, lists of words, models."""
        from unruly.project.toml import Table

        if self.file is None:
            return ()
        values = {k: v for k, v in Table.read(self.file).values.items() if k != "data"}
        return tuple(self._files([self.file.name, *_strings(values)]))

    def _files(self, names: Iterable[str]) -> Iterator[Path]:
        for name in dict.fromkeys(names):
            with suppress(InputError, OSError):  # a string that is no file's name
                yield from files_of(self.folder / check_name(name))

    def corpus(self, split: str = "train") -> Corpus:
        """The texts of one split: train, valid or test."""
        return self.data.read(split, self.folder, self.classes)

    def scan(self, split: str = "train") -> CorpusStream:
        """The same, batch by batch, for files larger than memory."""
        return self.data.scan(split, self.folder, self.classes)

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """The votes of all sources, those that the user's cache has not matched again."""
        with self.blamed():
            return self.sources.vote(corpus, progress, VoteCache.default())

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Add file and line to an error that names a rule of the project."""
        try:
            yield
        except UnrulyError as error:
            where = self._line_of(error.where)
            if where is None:
                raise
            raise error.located(where) from error.__cause__

    def _line_of(self, where: Where | None) -> Where | None:
        from unruly.project.toml import Table

        if self.file is None or where is None or where.rule is None:
            return None
        if where.file is not None or where.source not in self.sources.names:
            return None
        number = self.sources.index(where.source)
        described = descriptions_of(self.sources.with_disabled[number]) is not None
        steps = ("task", "describe") if described else ("source", number, "rule", where.rule - 1)
        return Table.read(self.file).where(*steps)

    def label_file(self) -> LabelFile:
        """The answers of people, in `labels.csv` or the file that `[data] labels` names; none if it is not there yet."""
        given = {"id": self.data.id, "label": self.data.label}
        names = {own: name for own, name in given.items() if name is not None}
        return LabelFile.open(self.folder / check_name(self.data.labels or LABELS), names)

    def labels(self, documents: Corpus | Votes) -> Labelled:
        """The labels of the training documents, or of the votes on them; a file that the project names must be there."""
        file = self.label_file()
        if self.data.labels is not None and not file.path.exists():
            raise ProjectError(
                f'there is no file {self.data.labels!r}: `unruly label` makes it, or leave out labels = "..." '
                "under [data]",
                where=None if self.file is None else Where(str(self.file)),
            )
        return labelled(file, documents.ids, self.classes)

    @property
    def prior_unused(self) -> bool:
        """Whether shares are stated that the method has no use for: they are a fact of the task, and may stay in the file."""
        return self.method == "paper" and parse_prior(self.prior, self.classes) is not None

    def named_files(self) -> tuple[Path, ...]:
        """What a model of this project may open because the project names it: rule functions and encoders."""
        from unruly.features.registry import named_in
        from unruly.model.saved_rules import function_files

        return (*function_files(self.sources, self.folder), *named_in(self.encoder, self.folder))

    def classifier(self) -> WeakClassifier:
        """The classifier that the project asks for, not fitted yet."""
        from unruly.features.registry import encoder_from
        from unruly.model.weak_classifier import WeakClassifier

        return WeakClassifier(
            encoder=encoder_from(self.encoder, self.folder),
            method=self.method,
            class_prior=None if self.prior_unused else self.prior,
            seed=self.seed,
            settings=self.settings,
        )

    def check_model(self, model: WeakClassifier) -> None:
        """Refuse a model with other classes than the project's, or with these in another order."""
        if model.class_names != self.classes:
            raise InputError(
                f"the model's classes are {listed(model.class_names)}, the project's {listed(self.classes)}: pass a model "
                "of this project, or fit it again"
            )

    def sample(self, most: int = SAMPLE, progress: Progress = SILENT) -> Corpus:
        """The training documents or, of more than `most`, so many drawn at random and all that people labelled; 0: all.

        A folder in WRENCH's layout is always read whole.
        """
        if is_wrench(self.data.path("train", self.folder)):
            return self.corpus("train")
        labelled = frozenset(self.label_file().standing())
        return self.scan("train").sample(most, self.seed, labelled, progress)

    def fit(
        self,
        progress: Progress = SILENT,
        *,
        score: bool = True,
        excerpts: bool = True,
        sample: int = SAMPLE,
    ) -> FittedProject:
        """Vote, fit, and score: on the test file, or without one on the training file's own labels.

        Without `excerpts` the model keeps no beginnings of training texts. Of more than `sample` training documents so
        many are learnt from (see `sample`), which the model's summary then says; 0 learns from all, as do features that
        come in the order of the documents.
        """
        model = self.classifier()
        aligned = any(encoder.aligned for encoder in model.encoder.encoders)
        corpus = self.corpus("train") if aligned else self.sample(sample, progress)
        votes = self.vote(corpus, progress)
        if not excerpts:
            model.set_params(keep_documents=0)
        labels = self.labels(corpus)
        model.fit(
            corpus,
            votes,
            clean=labels if labels.labels else None,
            valid=self._validation(),
            progress=progress,
        )
        split = "test" if self.data.test else "train"
        documents = self.corpus("test") if self.data.test else corpus
        found = FittedProject(
            self,
            model,
            None,
            None,
            labels,
            corpus.skipped,
            corpus.missing_count,
            broken=corpus.broken,
        )
        if not score:
            return found
        if documents.gold is None or not (documents.gold >= 0).any():
            return replace(found, unscored=_unscored(self, documents, split))
        evaluation = model.evaluate(documents, progress=progress)
        return replace(found, scored_on=split, evaluation=evaluation)

    def _validation(self) -> Corpus | None:
        """The validation file, only when the settings ask for its labels."""
        settings = self.settings
        asked = isinstance(settings, PaperSettings) and (
            settings.selection == "gold" or settings.calibrate
        )
        return self.corpus("valid") if asked and self.data.valid else None


PRIOR_UNUSED = "the prior of the project is not used: the method paper has none"


@dataclass(frozen=True)
class Unscored:
    """Why a fit was not scored, though there is a file for it or a column is named."""

    file: str
    split: str
    column: str | None  # that was looked for; None: none is named
    found: bool  # whether it is there, without a label
    likely: str | None  # a column that may hold the labels

    def __str__(self) -> str:
        if self.found:
            return f"not scored: the column {self.column!r} of {self.file} has no label"
        why = (
            f"no label column is set for {self.file}"
            if self.column is None
            else f"{self.file} has no column {self.column!r}"
        )
        perhaps = f" ({self.likely!r} may hold the labels)" if self.likely is not None else ""
        key = "test_label" if self.split == "test" and self.column is not None else "label"
        return f'not scored against gold labels: {why}{perhaps}: set {key} = "{self.likely or "..."}" under [data]'


def _unscored(project: Project, documents: Corpus, split: str) -> Unscored | None:
    """What to say of documents without gold labels; nothing of training texts where no label column is named."""
    column, others = project.data.label_of(split), documents.columns
    if column is None and split == "train":
        return None
    usual = gold_column(others.columns)
    named = (name for name in others.columns if names_classes(others[name], project.classes))
    return Unscored(
        file=Path(documents.name).name,
        split=split,
        column=column,
        found=documents.gold is not None,
        likely=next(named, usual),
    )


@dataclass(frozen=True, eq=False)
class FittedProject:
    """A fitted model, and its figures where there was gold to score against."""

    project: Project
    model: WeakClassifier
    scored_on: str | None  # the split: "test", "train", or none
    evaluation: Evaluation | None
    labels: Labelled  # that it was trained on
    skipped: tuple[BadRow, ...] = ()  # rows of the training file that could not be used
    missing: int = 0  # rows of it without a text
    unscored: Unscored | None = None  # why there are no figures, where some could be expected
    broken: tuple[
        BrokenFile, ...
    ] = ()  # of a folder of training files, those that could not be read

    def remarks(self) -> list[str]:
        """What is odd about rows and labels, a line for each kind."""
        return [
            *row_remarks(self.skipped, self.missing, broken=self.broken),
            *problem_lines(self.labels.problems, self.labels.origin, self.project.address),
            *([str(self.unscored)] if self.unscored is not None else ()),
            *([PRIOR_UNUSED] if self.project.prior_unused else ()),
        ]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **self.model.summary_.to_plain(),
            "scored_on": self.scored_on,
            "evaluation": self.evaluation.to_plain() if self.evaluation else None,
            "problems": problems_to_plain(self.labels.problems, self.labels.origin),
            "unscored": None if self.unscored is None else vars(self.unscored),
            "prior_unused": self.project.prior_unused,
            "skipped": len(self.skipped),
            "broken": [asdict(file) for file in self.broken],
            "missing": self.missing,
        }

    def __str__(self) -> str:
        lines = self.model.summary_.lines(self.project.address)
        if self.evaluation is None:
            return "\n".join([*lines, str(self.model.ledger_)])
        other = '; for new documents, set test = "..." under [data]'
        scored = f"scored against the gold labels of the {self.scored_on} file"
        scored += other if self.scored_on == "train" else ""
        return "\n".join([*lines, "", scored, str(self.evaluation)])


def _without_detours(path: Path) -> Path:
    """`spam/../comments.csv` as `comments.csv`, where that is the same file: links may lead elsewhere."""
    short = Path(os.path.normpath(path))
    same = path.exists() and short.exists() and short.samefile(path)
    return short if same else path


def check_classes(classes: tuple[str, ...]) -> None:
    """Two or more classes, each with its own name.

    >>> check_classes(("spam",))
    Traceback (most recent call last):
    ...
    unruly.errors.ProjectError: one class only ('spam'): a classifier needs at least two to choose from
    """
    if not classes:
        raise ProjectError('no classes: name at least two, as in classes = ["ham", "spam"]')
    if len(classes) == 1:
        raise ProjectError(
            f"one class only ({classes[0]!r}): a classifier needs at least two to choose from"
        )
    if len(classes) > MOST_CLASSES:
        raise ProjectError(f"{len(classes)} classes: at most {MOST_CLASSES} are supported")
    for name in classes:
        if not name.strip():
            raise ProjectError("a class has an empty name: give it one")
        if name != name.strip():
            raise ProjectError(
                f"the class {name!r} begins or ends with a space: remove it, because labels are read without it"
            )
        if classes.count(name) > 1:
            raise ProjectError(f"the class {name!r} is named twice: name each class once")


def _strings(value: object) -> Iterator[str]:
    """All strings in a table of tables and lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def data_keys() -> tuple[str, ...]:
    """The keys of `[data]`."""
    return tuple(field.name for field in fields(DataFiles))


def _same_classes(corpus: Corpus, classes: tuple[str, ...]) -> Corpus:
    """Gold numbers of a WRENCH folder as this project numbers its classes."""
    if corpus.classes is None or corpus.gold is None or corpus.classes == classes:
        return corpus
    unknown = set(corpus.classes) - set(classes)
    if unknown:
        raise InputError(
            f"the label {min(unknown)!r} is not a class: classes are {', '.join(classes)}",
            where=Where(corpus.name),
        )
    numbers = np.array([classes.index(name) for name in corpus.classes] + [UNKNOWN], dtype=np.int16)
    return replace(corpus, gold=numbers[corpus.gold], classes=classes)
