"""Options that several commands share, and what they name: outputs, projects, models, documents.

Heavy libraries are imported where they are needed: the commands import this file to show their help.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import click

from unruly.errors import InputError, ProjectError, UnrulyError, Where
from unruly.files import (
    check_can_write,
    check_folder_of,
    check_no_device,
    check_no_folder,
    check_not_input,
    temporary_folder,
    written_whole,
)
from unruly.project import SPLITS
from unruly.wording import listed

if TYPE_CHECKING:
    from unruly.distributed.run import Placement
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.project.project import Project
    from unruly.texts.corpus import Corpus
    from unruly.texts.stream import CorpusStream
    from unruly.texts.table import BadRow, BrokenFile, OnBadRow, Pipe, Table

Command = TypeVar("Command", bound=Callable[..., object])
PATH = click.Path(path_type=Path)
STREAM = Path("-")  # standard input or output
BAD_ROWS = ("error", "skip", "keep")


quiet_option = click.option(
    "-q", "--quiet", is_flag=True, help="Print results and errors only: no bar, no remarks."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
functions_option = click.option(
    "--functions",
    "--encoder",
    "functions",
    type=PATH,
    multiple=True,
    help="What the model needs and does not carry: the Python file of its rule functions, the name of the "
    "transformer that reads its texts, or FILE.py:CLASS for an encoder of your own.",
)
label_option = click.option(
    "--label",
    help="The column with the gold labels; if left out, label, gold, target or class, where there is one.",
)
split_option = click.option(
    "--split", type=click.Choice(SPLITS), default="test", help="Of a project: which file."
)
encoder_option = click.option(
    "--encoder",
    multiple=True,
    help="The text encoder: auto, lsa, minilm, a folder or a hub name. Several may be given.",
)


defuse_option = click.option(
    "--defuse",
    is_flag=True,
    help="CSV and TSV: put an apostrophe before cells that a spreadsheet would run as a formula.",
)


def text_options(command: Command) -> Command:
    """`--text` and `--id`."""
    text = click.option("--text", help="The column with the texts, where that is not obvious.")
    ids = click.option("--id", "id_", help="The column with the ids.")
    return text(ids(command))


def bad_row_option(command: Command) -> Command:
    """`--on-bad-row`, where data is read, and `--skip-bad`, which is short for one of its values."""
    short = click.option(
        "--skip-bad",
        "on_bad_row",
        flag_value="skip",
        help="Short for --on-bad-row skip; of a folder, files that cannot be read are left out and named.",
    )
    return click.option(
        "--on-bad-row",
        type=click.Choice(BAD_ROWS),
        default="keep",
        show_default=True,
        help="Rows that cannot be used: keep rows without a text and stop at malformed ones, skip both, or "
        "stop at either (error).",
    )(short(command))


skipped_option = click.option(
    "--skipped",
    type=PATH,
    help="With --on-bad-row skip: a file to list the rows in that were left out.",
)


def write_skipped(path: Path, left_out: Iterable[BadRow | BrokenFile]) -> None:
    """List the rows and files that could not be used, a line for each."""
    with written_whole(path) as part:
        part.write_text("".join(f"{one}\n" for one in left_out), encoding="utf-8")


def engine_options(command: Command, here: bool = False) -> Command:
    """`--engine`, `--address` and `--workers`, where the work can be spread over machines, or over threads `here`."""
    engine = click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="ray: many workers, Parquet in, and a folder of Parquet files out.",
    )
    address = click.option(
        "--address",
        help="With --engine ray: the cluster (auto: the one of this machine); a local one if left out.",
    )
    workers = click.option(
        "--workers",
        type=click.IntRange(1),
        help="How many threads work at once; with --engine ray, how many processes.  [default: one for each "
        "processor, without Ray at most 8, and 1 with functions, other rules in Python or minilm]"
        if here
        else "With --engine ray: how many.  [default: one for each processor of the cluster]",
    )
    return engine(address(workers(command)))


def threaded_options(command: Command) -> Command:
    """The same for what several threads can do, too."""
    return engine_options(command, here=True)


def placement_of(engine: str, address: str | None, workers: int | None) -> Placement | None:
    """Where workers are, by the `engine_options`; None: the work is done here.

    >>> placement_of("local", "auto", None)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: --address is an option of --engine ray: add it, or leave the option out
    """
    if engine == "ray":
        from unruly.distributed.run import Placement

        return Placement(address, workers)
    for option, given in (("--address", address), ("--workers", workers)):
        if given is not None:
            raise InputError(
                f"{option} is an option of --engine ray: add it, or leave the option out"
            )
    return None


def output_option(help: str, required: bool = True) -> Callable[[Command], Command]:
    """`-o`, `--output`."""
    return click.option("-o", "--output", type=PATH, required=required, help=help)


def check_output(path: Path, endings: Sequence[str] = (), inputs: Iterable[Path] = ()) -> None:
    """Refuse, before any work, an output that cannot be written, or is one of the inputs.

    >>> check_output(Path("votes.xlsx"), [".parquet", ".csv"])
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: votes.xlsx: cannot write '.xlsx' files: use .parquet or .csv
    """
    here = Where(str(path))
    if endings and path.suffix.lower() not in endings:
        known = " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))
        what = f"{path.suffix!r} files" if path.suffix else "a file without an ending"
        raise InputError(f"cannot write {what}: use {known}", where=here)
    check_no_folder(path)
    check_no_device(path)
    check_folder_of(path)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError(
            f"cannot write there: the folder {path.parent} is read-only: change its permissions, or choose another",
            where=here,
        )
    check_not_input(path, inputs)
    if path.exists() and any(file.exists() and path.samefile(file) for file in _files_beside(path)):
        raise InputError(
            f"cannot write there: this is a file of the project {path.parent}: choose another",
            where=here,
        )
    check_can_write(path)


def _files_beside(path: Path) -> tuple[Path, ...]:
    """The files of the project in whose folder a file lies; none where there is no project that can be read."""
    try:
        return Data.of(path.parent).inputs if is_project(path.parent) else ()
    except UnrulyError:
        return ()


@dataclass(frozen=True)
class DataFile:
    """A file of documents and its columns."""

    path: Path
    text: str | None
    id: str | None
    label: str | None
    on_bad_row: OnBadRow = "keep"
    label_needed: bool = False  # whether it is an error that the file has no such column
    table: Table | None = None  # the file, where it is open already
    text_option: str = "--text"  # of the command

    def read(self, classes: Sequence[str], split: str = "test") -> Corpus:
        """All documents; of a WRENCH folder, one split."""
        from unruly.project.project import DataFiles
        from unruly.texts.columns import text_named_by
        from unruly.texts.stream import CorpusStream

        if self.is_wrench:
            files = replace(DataFiles(), **{split: str(self.path)})
            return files.read(split, Path(), tuple(classes))
        with text_named_by(self.text_option):
            opened = CorpusStream.open(
                self.path if self.table is None else self.table,
                text=self.text,
                id=self.id,
                label=self.label,
                classes=classes,
                on_bad_row=self.on_bad_row,
                label_may_be_missing=not self.label_needed,
            )
        return opened.read()

    def read_with_ids(self, classes: Sequence[str], split: str, id_column: str | None) -> Corpus:
        """All documents, by the ids in the column that a model was fitted with, where this file has them."""
        if self.id is None and id_column is not None and not self.is_wrench:
            from unruly.texts.table import open_table

            known = open_table(self.path).schema if self.table is None else self.table.schema
            if id_column in known and id_column not in (self.text, self.label):
                with suppress(InputError):  # ids that are missing or not unique are no ids here
                    return replace(self, id=id_column).read(classes, split)
        return self.read(classes, split)

    def for_model(self, text_column: str | None) -> DataFile:
        """The same, with the texts in the model's column where neither the user nor the project names one."""
        from unruly.texts.columns import remembered

        return self if self.text is not None else replace(self, text=remembered(text_column))

    def with_gold(self, *, required: bool = False) -> DataFile:
        """The same, opened, with the text column that `predict` would take, and the label column if its name is the usual one."""
        from unruly.texts.columns import (
            LABEL_NAMES,
            NoTextColumn,
            find_layout,
            gold_column,
            text_named_by,
        )
        from unruly.texts.table import open_table

        if self.is_wrench:
            return self
        table = open_table(self.path, skip=self.on_bad_row == "skip")
        found = gold_column(list(table.schema))
        needed = required or self.label_needed
        if self.label is None and found is None and required:
            raise InputError(
                f"no column is called {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}: "
                f"pass the column of the gold labels with --label (columns are {listed(table.schema)})",
                where=Where(str(self.path)),
            )
        try:
            with text_named_by(self.text_option):
                layout = find_layout(
                    table.schema,
                    name=table.name,
                    text=self.text,
                    id=self.id,
                    label=self.label,
                    label_may_be_missing=not needed,
                )
            if self.label is None and layout.text == found:
                raise NoTextColumn(
                    f"beside {found} no column holds text: pass one with",
                    where=Where(table.name),
                    how="--text",
                )
        except NoTextColumn as error:
            if not required:
                raise
            raise InputError(
                f"{error.message}; labels by id alone are for a project: unruly label PROJECT --import "
                f"{quote(str(self.path))}, then unruly evaluate MODEL PROJECT --labels",
                where=error.where,
            ) from None
        label = self.label or found
        return replace(self, text=layout.text, label=label, label_needed=needed, table=table)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the file, once it is open."""
        return () if self.table is None else tuple(self.table.schema)

    @contextmanager
    def stream(
        self, classes: Sequence[str], split: str = "test", *, live: bool = False
    ) -> Iterator[CorpusStream]:
        """The documents batch by batch; with `live`, those of standard input as they come, where their format allows it."""
        from unruly.model.predictions import BATCH_ROWS
        from unruly.texts.columns import text_named_by
        from unruly.texts.stream import CorpusStream
        from unruly.texts.table import Pipe

        with ExitStack() as stack:
            file, source, called = self, None, ""
            if self.path == STREAM:
                pipe = Pipe(sys.stdin.buffer)
                flows = live and pipe.ending in (".csv", ".jsonl")
                source = pipe if flows else stack.enter_context(_kept(pipe))
                called = str(pipe)
            elif self.is_wrench:
                file = stack.enter_context(self._wrench_file(classes, split))
            with text_named_by(self.text_option):
                opened = CorpusStream.open(
                    file.path if source is None else source,
                    text=file.text,
                    id=file.id,
                    label=file.label,
                    batch_rows=BATCH_ROWS,
                    on_bad_row=self.on_bad_row,
                    label_may_be_missing=True,
                )
            # The label column is not the text, but a column like others: these labels are not read.
            yield replace(opened, called=called, layout=replace(opened.layout, label=None))

    @property
    def is_wrench(self) -> bool:
        """Whether it is a folder in WRENCH's layout."""
        from unruly.texts.wrench import is_wrench

        return is_wrench(self.path)

    @contextmanager
    def _wrench_file(self, classes: Sequence[str], split: str) -> Iterator[DataFile]:
        """One split of a WRENCH folder as a file."""
        import polars as pl

        corpus = self.read(classes, split)
        own = {name: corpus.columns[name] for name in corpus.columns.columns}
        frame = pl.DataFrame({**own, "id": corpus.ids, "text": corpus.texts})
        with temporary_folder() as folder:
            path = folder / f"{split}.parquet"
            frame.select("id", "text", pl.exclude("id", "text")).write_parquet(path)
            yield DataFile(path, "text", "id", None, self.on_bad_row)


@contextmanager
def _kept(pipe: Pipe) -> Iterator[Path]:
    """What comes by a pipe, in a temporary file; errors name the pipe."""
    with temporary_folder() as folder:
        path = folder / f"stdin{pipe.ending}"
        with path.open("wb") as file:
            for piece in pipe.pieces():
                file.write(piece)
        try:
            yield path
        except UnrulyError as error:
            if error.where is None or error.where.file != str(path):
                raise
            there = replace(error.where, file=str(pipe))
            raise type(error)(error.message, where=there) from None


@dataclass(frozen=True)
class Data:
    """What DATA names: a file, a folder, or a project, which is read here and nowhere else."""

    path: Path
    project: Project | None
    on_bad_row: OnBadRow = "keep"

    @classmethod
    def of(cls, path: Path, on_bad_row: str | None = None) -> Data:
        """What is at a path; rows that cannot be read as typed, else as the project says."""
        from unruly.texts.table import on_bad_row_of

        rows = on_bad_row_of(on_bad_row)
        if not is_project(path):
            return cls(path, None, rows)
        project = open_project(path, on_bad_row=on_bad_row)
        return cls(path, project, on_bad_row_of(project.data.on_bad_row))

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that are read."""
        from unruly.texts.frame_table import files_of

        return files_of(self.path) if self.project is None else self.project.inputs()

    def file(
        self,
        split: str,
        *,
        text: str | None = None,
        id: str | None = None,
        label: str | None = None,
    ) -> DataFile:
        """The file itself, or that of a project with its columns, which options override."""
        from unruly.texts.wrench import is_wrench

        if self.project is None:
            if (text or id or label) and is_wrench(self.path):
                raise InputError(
                    "WRENCH files have fixed column names: leave out --text, --id and --label",
                    where=Where(str(self.path)),
                )
            needed = label is not None
            return DataFile(self.path, text, id, label, self.on_bad_row, label_needed=needed)
        data, folder = self.project.data, self.project.folder
        if split == "test" and data.test is None and data.train is not None:
            raise ProjectError(
                f'the project has no test file: set test = "..." under [data] in unruly.toml, or pass '
                f"a file instead of the project, such as {folder / data.train}"
            )
        label = label or data.label_of(split)
        path = data.path(split, folder)
        return DataFile(path, text or data.text, id or data.id, label, self.on_bad_row)

    def check_same_task(self, classes: Sequence[str]) -> None:
        """Refuse a project of another task than the model's: numbers in its label column would mean other classes."""
        theirs = classes if self.project is None else self.project.classes
        if set(theirs) != set(classes):
            raise InputError(
                f"the model's classes are {listed(classes)}, the project's {listed(theirs)}: pass data of the same task",
                where=Where(str(self.path)),
            )

    def named_files(self) -> tuple[Path, ...]:
        """What a model of the project may open because the project names it: rule functions and encoders."""
        return () if self.project is None else self.project.named_files()


def remarks_on(given: DataFile, found: DataFile, read: Iterable[Corpus]) -> Iterator[str]:
    """The text column where it was not named, and rows that are not like the others."""
    from unruly.texts.table import row_remarks

    if given.text is None and found.text is not None:
        yield f"text column: {listed([found.text])}"
    for corpus in read:
        told = row_remarks(corpus.skipped, corpus.missing_count, broken=corpus.broken)
        yield from (f"{corpus.name}: {line}" for line in told)


def one_document(
    data: Data,
    id: str,
    model: WeakClassifier,
    *,
    text: str | None = None,
    id_column: str | None = None,
) -> FoundDocument:
    """The document with this id (row numbers, where the data has no ids); of a project, the test file is looked at first."""
    import polars as pl

    missing: list[InputError] = []
    for split in _splits_with_ids(data):
        found, numbered = _with_ids(
            data, split, text, id_column, model.text_column, model.id_column
        )
        corpus = found.read(model.class_names, split)
        rows = [row for row, own in enumerate(corpus.ids.to_list()) if str(own) == id]
        if not rows:
            missing.append(_no_such_id(id, found, corpus, bool(id_column)))
            continue
        one = corpus.take(rows)
        if numbered:
            one = replace(one, ids=pl.Series("id", rows))  # as training numbers it
        return FoundDocument(one, found.path, elsewhere=bool(missing))
    raise missing[0]


@dataclass(frozen=True)
class FoundDocument:
    """A corpus of one, and where it was found."""

    corpus: Corpus
    file: Path
    elsewhere: bool  # not in the file that was looked at first


def _no_such_id(id: str, found: DataFile, corpus: Corpus, named: bool) -> InputError:
    first = ", ".join(str(own) for own in corpus.ids.head(3).to_list())
    what = "ids are row numbers" if found.id is None else f"ids are in column {found.id!r}"
    remedy = (
        ": pass one of these" if named else ": pass one, or another column of ids with --id-column"
    )
    if found.id is not None and id.isdecimal() and int(id) < len(corpus):
        remedy = f": the row with this number has the id {corpus.ids[int(id)]!r}"
    return InputError(
        f"no document has the id {id!r} ({what}, the first are {first}){remedy}",
        where=Where(str(found.path)),
    )


def _splits_with_ids(data: Data) -> tuple[str, ...]:
    """The files in which a document is looked for by its id, in this order."""
    if data.project is None:
        return ("test",)
    named = data.project.data
    files = {"test": named.test, "train": named.train, "valid": named.valid}
    return tuple(split for split, file in files.items() if file is not None) or ("train",)


def first_id(data: Data, classes: Sequence[str]) -> str | None:
    """The id of the first document that `one_document` finds there; None where there is none that can be read."""
    try:
        split = _splits_with_ids(data)[0]
        found, _ = _with_ids(data, split)
        with found.stream(classes, split) as stream:
            return next((str(batch.ids[0]) for batch in replace(stream, batch_rows=1)), None)
    except UnrulyError:
        return None


def _with_ids(
    data: Data,
    split: str,
    text: str | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    known: str | None = None,  # the column of ids that the model was fitted with
) -> tuple[DataFile, bool]:
    """A file of documents with its column of ids, where it has one; whether training numbers rows."""
    from unruly.texts.table import open_table

    found = data.file(split, text=text, id=id_column).for_model(text_column)
    found, numbered = replace(found, label=None, text_option="--text-column"), found.id is None
    if numbered and not found.is_wrench:
        schema = open_table(found.path).schema
        if known is not None and known in schema:
            return replace(found, id=known), False
        if "id" in schema:
            found = replace(found, id="id")
    return found, numbered


def is_project(path: Path) -> bool:
    """Whether a project is named: its folder, or its TOML file."""
    from unruly.project import FILE_NAME

    return path.suffix == ".toml" or (path / FILE_NAME).is_file()


def open_project(
    path: Path, encoder: tuple[str, ...] = (), on_bad_row: str | None = None
) -> Project:
    """The project at a path, with the options that were typed; a data file or a model is not a project."""
    from unruly.model.storage import is_model
    from unruly.project.project import Project

    if is_model(path):
        raise InputError(
            "this is a model, but a project is needed: pass the project's folder",
            where=Where(str(path)),
        )
    if path.is_file() and path.suffix != ".toml":
        raise InputError(
            f"this is a data file, but a project is needed: `unruly new NAME --data {quote(str(path))}` makes "
            f"one, and `unruly studio {quote(str(path))}` makes it in the browser",
            where=Where(str(path)),
        )
    folder = path if path.is_dir() else path.parent
    typed = tuple(_from_project(name, folder) for name in encoder)
    project = Project.read(path, encoder=typed or None)
    if on_bad_row is not None and on_bad_row != "keep":
        project = replace(project, data=replace(project.data, on_bad_row=on_bad_row))
    return project


def _from_project(name: str, folder: Path) -> str:
    """A path that was typed, which starts here, as the project's folder sees it; other names as they are."""
    place, end = name.partition(".py:")[0], ".py" if ".py:" in name else ""
    here = Path(place + end)
    is_path = bool(end) or os.sep in name or here.suffix in (".npy", ".parquet", ".pq")
    if not is_path or (folder / here).exists() or not here.exists():
        return name
    return str(Path(name).resolve())


def load_model(
    path: Path, functions: Sequence[Path] = (), data: Data | None = None
) -> WeakClassifier:
    """A saved model, with the rule functions and encoders that are named, and those that the project names that DATA is."""
    from unruly.model.weak_classifier import load

    if data is not None:
        check_not_swapped(path, data.path)
        functions = (*functions, *data.named_files())
    return load(path, tuple(functions) or None)


def check_not_swapped(model: Path, other: Path) -> None:
    """Refuse the two arguments in the wrong order."""
    from unruly.model.storage import is_model

    if not is_model(model) and is_model(other):
        raise InputError(f"{model} is not a model, but {other} is: swap them, MODEL comes first")
