"""`predict`, `encode` and `vote` on a cluster: a folder of Parquet files, whole or not at all, rows in the data's order.

The data is cut into parts. A worker takes a part, writes one file and reports its counts. Parts are written into
`<out>.unfinished`, which is renamed at the end. A run that was stopped resumes when it is started again with the same
model, data and options.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from unruly.distributed.cluster import Cluster, Job, connected
from unruly.errors import InputError, UnrulyError, Where
from unruly.features.registry import names_class
from unruly.files import check_folder_of, file_state, folder_written_whole, os_reason, sha256
from unruly.findings import DocumentsGivenUp, finding_to_plain
from unruly.progress import SILENT, Progress, stage
from unruly.rules.matching import given_up, given_up_together, warn_given_up
from unruly.texts.columns import find_layout, remembered
from unruly.texts.frame_table import PARQUET, ParquetPart, open_files, parquet_files
from unruly.texts.stream import CorpusStream
from unruly.texts.table import BrokenFile, OnBadRow, check_file, on_bad_row_of
from unruly.wording import plural

PLAN = ".plan.json"
ROWS = 20_000  # of a part


@dataclass(frozen=True)
class Part:
    """Rows `start` to `start + rows` of one file."""

    number: int  # among all parts, in the order of the documents
    path: str
    start: int  # in the file
    rows: int
    first: int  # the number of its first row among all documents

    @property
    def name(self) -> str:
        """What is written for it; names sort as parts do."""
        return f"part-{self.number:07}.parquet"

    def open(self, text: str | None, id: str | None, on_bad_row: OnBadRow) -> CorpusStream:
        """Its documents."""
        table = ParquetPart(Path(self.path), self.start, self.rows, self.first)
        layout = find_layout(table.schema, name=table.name, text=text, id=id, label=None)
        return CorpusStream(table, layout, on_bad_row=on_bad_row)


@dataclass(frozen=True)
class Plan:
    """All parts of a file or a folder."""

    parts: tuple[Part, ...]
    rows: int
    broken: tuple[BrokenFile, ...]  # files that cannot be read
    data: str  # what was cut up
    schema: pl.Schema  # its columns

    def check(self, columns: Columns) -> None:
        """Refuse names of columns that the data does not have, before any work."""
        find_layout(self.schema, name=self.data, text=columns.text, id=columns.id, label=None)

    def to_plain(self) -> dict[str, list[Any]]:
        """As JSON has it: what a run depends on, with what tells that the files are still those that they were."""
        files = [(path, os.stat(path)) for path in dict.fromkeys(part.path for part in self.parts)]
        return {
            "parts": [[part.path, part.start, part.rows] for part in self.parts],
            "files": [[path, state.st_size, state.st_mtime_ns] for path, state in files],
        }


def planned(data: Path, rows: int = ROWS, skip: bool = False) -> Plan:
    """Cut a Parquet file, or a folder of them, into parts of at most so many rows."""
    if rows < 1:
        raise InputError(f"{rows} rows a part: at least one is needed")
    files = parquet_files(data) if data.is_dir() else (data,)
    if not files:
        raise InputError("a folder without Parquet files", where=Where(str(data)))
    if not data.is_dir():
        check_file(data)
        if data.suffix.lower() not in PARQUET:
            raise InputError(
                "many machines read Parquet only: convert it, or leave --engine ray out",
                where=Where(str(data)),
            )
    opened = open_files(data, files, skip)
    parts, first = list[Part](), 0
    for table in opened.tables:
        for start in range(0, table.rows, rows):
            size = min(rows, table.rows - start)
            parts.append(Part(len(parts), str(table.path.resolve()), start, size, first + start))
        first += table.rows
    return Plan(tuple(parts), first, opened.broken, str(data), opened.tables[0].schema)


Counts = dict[str, Any]  # of a part: numbers, and what went wrong, as JSON has it
Write = Callable[[CorpusStream, Path], Counts]  # documents and a path in, counts out
PROBLEM, BROKEN, GIVEN_UP = "problem", "broken", "given_up"


@dataclass(frozen=True)
class Columns:
    """Which columns hold what, and what becomes of rows that cannot be used."""

    text: str | None = None
    id: str | None = None
    on_bad_row: OnBadRow = "keep"

    def __post_init__(self) -> None:
        on_bad_row_of(self.on_bad_row)


@dataclass(frozen=True)
class PartWork:
    """Does one part: reads it, writes its file into a folder that all workers see, and the counts beside it.

    Both are moved into place whole, so that a part that is done twice, because its worker died, is there once.
    """

    folder: str
    columns: Columns
    write: Write

    def __call__(self, item: dict[str, Any]) -> dict[str, Any]:
        part = Part(**item)
        folder = Path(self.folder)
        scratch = Path(tempfile.mkdtemp(prefix=f".{part.number}-", dir=folder))
        started = time.process_time()
        try:
            counts = self._counts(part, scratch / part.name)
            counts["cpu"] = time.process_time() - started
            if PROBLEM not in counts:
                (scratch / "counts").write_text(json.dumps(counts), encoding="utf-8")
                for file in scratch.glob("*.parquet"):
                    os.replace(file, folder / file.name)
                os.replace(scratch / "counts", counts_file(folder, part))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return {"number": part.number, "rows": part.rows, **counts}

    def _counts(self, part: Part, target: Path) -> Counts:
        """The counts of a part; a user error is returned as text, since this may be another machine."""
        c = self.columns
        try:
            return self.write(part.open(c.text, c.id, c.on_bad_row), target)
        except UnrulyError as error:
            here = error.where is not None and error.where.file == part.path
            if isinstance(error, InputError) and here and c.on_bad_row == "skip":
                return {BROKEN: asdict(BrokenFile(part.path, error.message, part.start, part.rows))}
            return {PROBLEM: str(error)}
        except OSError as error:  # such as a full disk
            return {PROBLEM: f"{error.filename or target}: {os_reason(error)}"}


def counts_file(folder: Path, part: Part) -> Path:
    """The file with the counts of a part that is done."""
    return folder / f".{part.name}.json"


@dataclass(frozen=True)
class ModelJob:
    """Every row with a model's predictions, or with its features."""

    folder: str
    columns: Columns
    what: Literal["labelling", "encoding"]
    model: str  # its path, which every machine sees
    functions: tuple[str, ...] = ()

    def begin(self) -> PartWork:
        """Load the model."""
        from unruly.model.predictions import encode_stream, predict_stream
        from unruly.model.weak_classifier import load

        model = load(self.model, self.functions or None)

        def features(stream: CorpusStream, target: Path) -> Counts:
            done = encode_stream(model, stream, target)
            return {"documents": done.documents, "skipped": len(done.skipped)}

        def predictions(stream: CorpusStream, target: Path) -> Counts:
            done = predict_stream(model, stream, target)
            counted = ("documents", "covered", "missing", "labels")
            facts = [asdict(fact) for fact in done.given_up]
            counts = {name: getattr(done, name) for name in counted}
            return {**counts, "skipped": len(done.skipped), GIVEN_UP: facts}

        write = features if self.what == "encoding" else predictions
        return PartWork(self.folder, self.columns, write)


@dataclass(frozen=True)
class VoteJob:
    """The votes of a project's rules, as `unruly vote` writes them."""

    folder: str
    columns: Columns
    project: str  # its folder

    def begin(self) -> PartWork:
        """Read the rules."""
        from unruly.project.project import Project
        from unruly.votes.files import write_votes
        from unruly.votes.votes import Votes

        sources = Project.read(self.project).sources

        def write(stream: CorpusStream, target: Path) -> Counts:
            skipped, parts = 0, list[Votes]()
            for corpus in stream:
                parts.append(sources.vote(corpus))
                skipped += len(corpus.skipped)
            votes = Votes.concat(parts)
            write_votes(votes, target)
            covered = int(votes.covered.sum())
            facts = [asdict(fact) for fact in given_up(votes)]
            counts = {"documents": votes.n, "covered": covered, "skipped": skipped}
            return {**counts, GIVEN_UP: facts}

        return PartWork(self.folder, self.columns, write)


@dataclass(frozen=True)
class Placement:
    """Where the work is done: a cluster's address (None: this machine), its workers, and the rows of one part."""

    address: str | None = None
    workers: int | None = None  # None: one for each processor of the cluster
    part_rows: int = ROWS


HERE = Placement()


@dataclass(frozen=True)
class ClusterRun:
    """The outcome of a run over many workers."""

    path: Path
    documents: int
    workers: int
    parts: int
    resumed: int  # parts that an earlier run had done
    cpu: float = 0.0  # seconds that workers spent on parts, loading the model not counted
    covered: int = 0
    missing: int = 0
    skipped: int = 0  # rows that were left out
    labels: dict[str, int] = field(default_factory=dict)
    broken: tuple[BrokenFile, ...] = ()  # files, or ends of files, that could not be read
    given_up: tuple[DocumentsGivenUp, ...] = ()  # where rules took too long, and so abstain

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        plain = {**asdict(self), GIVEN_UP: [finding_to_plain(fact) for fact in self.given_up]}
        return {"output": str(plain.pop("path")), **plain}


def predict(
    model: str | Path,
    data: Any,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    on_bad_row: OnBadRow = "keep",
    functions: Sequence[str | Path] = (),
    placement: Placement = HERE,
    progress: Progress = SILENT,
) -> ClusterRun:
    """Label every row of a Parquet file or a folder of them; each keeps its columns and its place.

    `data` may also be a daft frame or a Ray Dataset, which is written to Parquet first, its rows in any order.
    """
    columns = Columns(text, id, on_bad_row)
    return _by_model("labelling", model, data, out, columns, functions, placement, progress)


def encode(
    model: str | Path,
    data: Any,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    on_bad_row: OnBadRow = "keep",
    functions: Sequence[str | Path] = (),
    placement: Placement = HERE,
    progress: Progress = SILENT,
) -> ClusterRun:
    """Every row with a model's features as one more column."""
    columns = Columns(text, id, on_bad_row)
    return _by_model("encoding", model, data, out, columns, functions, placement, progress)


def _places(name: str) -> tuple[str, ...]:
    """A file that a model needs by its whole path, as workers see it; a model's folder or name as the model has it, too."""
    path = Path(name)
    whole = str(path.resolve())
    if path.is_file() or names_class(name):
        return (whole,)
    return (whole, name) if path.is_dir() else (name,)


def _by_model(
    what: Literal["labelling", "encoding"],
    model: str | Path,
    data: Any,
    out: str | Path,
    columns: Columns,
    functions: Sequence[str | Path],
    placement: Placement,
    progress: Progress,
) -> ClusterRun:
    from unruly.model.storage import text_column_of

    path, target = Path(model).resolve(), Path(out)
    if not path.is_file():
        raise InputError("there is no such model file", where=Where(str(model)))
    names = tuple(place for name in functions for place in _places(str(name)))
    if columns.text is None:
        columns = replace(columns, text=remembered(text_column_of(path)))
    job = ModelJob(str(unfinished(target)), columns, what, str(path), names)
    made_by = [sha256(path), *map(file_state, names)]
    return _run(job, made_by, data, target, columns, placement, progress, what)


def vote(
    project: str | Path,
    data: Any,
    out: str | Path,
    *,
    text: str | None = None,
    id: str | None = None,
    on_bad_row: OnBadRow = "keep",
    placement: Placement = HERE,
    progress: Progress = SILENT,
) -> ClusterRun:
    """The votes of a project's rules on every row: ids, and one column for each source."""
    from unruly.project.project import Project

    opened = Project.read(project)
    columns, out = Columns(text or opened.data.text, id or opened.data.id, on_bad_row), Path(out)
    job = VoteJob(str(unfinished(out)), columns, str(opened.folder.resolve()))
    made_by = [file_state(file) for file in opened.rule_files()]
    return _run(job, made_by, data, out, columns, placement, progress, "matching rules")


def _run(
    job: Job,
    made_by: list[str],
    data: Any,
    out: Path,
    columns: Columns,
    placement: Placement,
    progress: Progress,
    what: str,
) -> ClusterRun:
    _check_output(out)
    with _as_files(data, out) as files:
        plan = planned(files, placement.part_rows, columns.on_bad_row == "skip")
        plan.check(columns)
        folder = unfinished(out)
        with connected(placement.address, placement.workers) as cluster:
            _begin(folder, {"job": what, "by": made_by, **asdict(columns)}, plan)
            done = work_through(cluster, job, plan, folder, progress, what)
        resumed = len(plan.parts) - done.fresh
        _finish(folder, out)
    run = done.summed(out, cluster.workers, plan, resumed)
    warn_given_up(run.given_up)
    return run


@dataclass(frozen=True)
class Done:
    """The counts of all parts, in their order; and how many were made just now."""

    counts: list[Counts]
    fresh: int

    def summed(self, out: Path, workers: int, plan: Plan, resumed: int) -> ClusterRun:
        """All counts together; refuses to lose a row."""
        totals = {
            name: sum(counts.get(name, 0) for counts in self.counts)
            for name in ("documents", "covered", "missing", "skipped")
        }
        lost = sum(
            part.rows
            for part, counts in zip(plan.parts, self.counts, strict=True)
            if BROKEN in counts
        )
        if totals["documents"] + totals["skipped"] + lost != plan.rows:
            raise InputError(
                f"{plan.rows:,} rows went in and {totals['documents']:,} came out: was the data changed meanwhile?",
                where=Where(str(out)),
            )
        labels: dict[str, int] = {}
        for counts in self.counts:
            for name, count in counts.get("labels", {}).items():
                labels[name] = labels.get(name, 0) + count
        broken = [BrokenFile(**counts[BROKEN]) for counts in self.counts if BROKEN in counts]
        return ClusterRun(
            out,
            workers=workers,
            parts=len(plan.parts),
            resumed=resumed,
            cpu=sum(counts["cpu"] for counts in self.counts),
            labels=labels,
            broken=(*plan.broken, *broken),
            given_up=given_up_together(
                DocumentsGivenUp(**fact)
                for counts in self.counts
                for fact in counts.get(GIVEN_UP, ())
            ),
            **totals,
        )


def work_through(
    cluster: Cluster, job: Job, plan: Plan, folder: Path, progress: Progress, what: str
) -> Done:
    """Do what is not done yet; an error that the user made, on whatever machine, ends it in one line."""
    left = [part for part in plan.parts if not counts_file(folder, part).exists()]
    title = f"{what} on {plural(cluster.workers, 'worker')}"
    with stage(progress, title, plan.rows, "texts"):
        progress.advance(plan.rows - sum(part.rows for part in left))
        for answer in cluster.map(job, [asdict(part) for part in left]) if left else ():
            if PROBLEM in answer:
                raise InputError(answer[PROBLEM])
            progress.advance(answer["rows"])
    counts = [json.loads(counts_file(folder, part).read_text("utf-8")) for part in plan.parts]
    return Done(counts, len(left))


def unfinished(out: Path) -> Path:
    """Where parts are kept until all are there."""
    return Path(f"{out.absolute()}.unfinished")


@contextmanager
def _as_files(data: Any, out: Path) -> Iterator[Path]:
    """A path as it is; a frame that can write Parquet files (daft, Ray Data) is written beside `out` meanwhile.

    Where parts of it are done when the block ends, it stays: the frame may give its rows in another order next time.
    """
    if isinstance(data, str | Path):
        yield Path(data)
        return
    if not hasattr(data, "write_parquet"):
        raise InputError(
            f"expected a Parquet file, a folder of them, a daft frame or a Ray Dataset, not {type(data).__name__}"
        )
    written = Path(f"{out.absolute()}.input")
    if written.exists():
        raise InputError(
            "an earlier run wrote its frame here: pass this folder as the data to finish that run, or delete it",
            where=Where(str(written)),
        )
    with folder_written_whole(written) as part:
        data.write_parquet(str(part))
    try:
        yield written
    finally:
        if not unfinished(out).exists():
            shutil.rmtree(written, ignore_errors=True)


def _check_output(out: Path) -> None:
    if out.exists():
        raise InputError(
            "already there: delete it, or pass another folder with -o", where=Where(str(out))
        )
    check_folder_of(out)


def _begin(folder: Path, facts: dict[str, Any], plan: Plan) -> None:
    """Make the folder of parts, or go on with one that was made for the same work."""
    expected = json.dumps({**facts, **plan.to_plain()}, sort_keys=True)
    file = folder / PLAN
    if not file.exists():
        folder.mkdir(exist_ok=True)
        file.write_text(expected, encoding="utf-8")
    elif file.read_text(encoding="utf-8") != expected:
        raise InputError(
            "holds parts of a run with another model, data or options: finish that one, or delete the folder",
            where=Where(str(folder)),
        )


def _finish(folder: Path, out: Path) -> None:
    """Nothing but the data stays, and the folder gets its name."""
    for path in folder.iterdir():
        if path.name.startswith("."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    folder.rename(out)
