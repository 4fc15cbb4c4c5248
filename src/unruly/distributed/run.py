"""`predict`, `encode` and `vote` on a cluster: a folder of Parquet files, whole or not there, its rows in the order of the data.

Parts are written into `<out>.unfinished` as they are done, and that folder is renamed at the end. A run that was stopped, with
this process or the whole cluster, goes on where it was when it is started again with the same model, data and options.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unruly.distributed.cluster import Cluster, Job, connected
from unruly.distributed.jobs import (
    BROKEN,
    PROBLEM,
    ROWS,
    Columns,
    Counts,
    EncodeJob,
    Plan,
    PredictJob,
    VoteJob,
    counts_file,
    planned,
)
from unruly.errors import InputError, Where
from unruly.files import sha256
from unruly.progress import SILENT, Progress, stage
from unruly.texts.table import OnBadRow
from unruly.wording import plural

PLAN = ".plan.json"


@dataclass(frozen=True)
class Placement:
    """Where the work is done: a cluster's address (None: this machine), how many workers, how many rows for each at a time."""

    address: str | None = None
    workers: int | None = None  # None: one for each processor of the cluster
    part_rows: int = ROWS


HERE = Placement()


@dataclass(frozen=True)
class Spread:
    """What a run over many workers came to."""

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
    broken: tuple[str, ...] = ()  # files, or ends of files, that could not be read


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
) -> Spread:
    """Label every row of a Parquet file or a folder of them; each keeps its columns and its place.

    `data` may also be a daft frame or a Ray Dataset, which is written to Parquet first, its rows in any order.
    """
    model, out = _existing(model), Path(out)
    columns = Columns(text, id, on_bad_row)
    names = tuple(str(Path(name).resolve()) for name in functions)
    job = PredictJob(str(unfinished(out)), columns, str(model), names)
    return _run(job, sha256(model), data, out, columns, placement, progress, "labelling")


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
) -> Spread:
    """Every row with a model's features as one more column."""
    model, out = _existing(model), Path(out)
    columns = Columns(text, id, on_bad_row)
    names = tuple(str(Path(name).resolve()) for name in functions)
    job = EncodeJob(str(unfinished(out)), columns, str(model), names)
    return _run(job, sha256(model), data, out, columns, placement, progress, "encoding")


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
) -> Spread:
    """The votes of a project's rules on every row: ids, and one column for each source."""
    from unruly.project.project import Project

    opened = Project.read(project)
    assert opened.file is not None
    columns, out = Columns(text or opened.data.text, id or opened.data.id, on_bad_row), Path(out)
    job = VoteJob(str(unfinished(out)), columns, str(opened.folder.resolve()))
    rules = sha256(opened.file)
    return _run(job, rules, data, out, columns, placement, progress, "matching rules")


def _run(
    job: Job,
    made_by: str,
    data: Any,
    out: Path,
    columns: Columns,
    placement: Placement,
    progress: Progress,
    what: str,
) -> Spread:
    _check_output(out)
    plan = planned(_as_files(data, out), placement.part_rows, columns.on_bad_row == "skip")
    folder = unfinished(out)
    _begin(folder, {"job": type(job).__name__, "by": made_by, **asdict(columns)}, plan)
    with connected(placement.address, placement.workers) as cluster:
        done = work_through(cluster, job, plan, folder, progress, what)
    resumed = len(plan.parts) - done.fresh
    _finish(folder, out)
    shutil.rmtree(_written(out), ignore_errors=True)
    return done.summed(out, cluster.workers, plan, resumed)


@dataclass(frozen=True)
class Done:
    """The counts of all parts, in their order; and how many were made just now."""

    counts: list[Counts]
    fresh: int

    def summed(self, out: Path, workers: int, plan: Plan, resumed: int) -> Spread:
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
        words = [str(bad) for bad in plan.broken]
        words += [counts[BROKEN] for counts in self.counts if BROKEN in counts]
        return Spread(
            out,
            workers=workers,
            parts=len(plan.parts),
            resumed=resumed,
            cpu=sum(counts["cpu"] for counts in self.counts),
            labels=labels,
            broken=tuple(words),
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


def _as_files(data: Any, out: Path) -> Path:
    """A path as it is; a frame that can write itself as a folder of Parquet files (daft, Ray Data), written beside `out`."""
    if isinstance(data, str | Path):
        return Path(data)
    if not hasattr(data, "write_parquet"):
        raise InputError(
            f"expected a Parquet file, a folder of them, a daft frame or a Ray Dataset, not {type(data).__name__}"
        )
    if not _written(out).exists():
        data.write_parquet(str(_written(out)))
    return _written(out)


def _written(out: Path) -> Path:
    """Where a frame is written."""
    return Path(f"{out.absolute()}.input")


def _existing(model: str | Path) -> Path:
    path = Path(model).resolve()
    if not path.is_file():
        raise InputError("there is no such model file", where=Where(str(model)))
    return path


def _check_output(out: Path) -> None:
    here = Where(str(out))
    if out.exists():
        raise InputError("already there: delete it, or name another folder by -o", where=here)
    if not out.absolute().parent.is_dir():
        raise InputError(
            f"cannot write there: the folder {out.absolute().parent} does not exist", where=here
        )


def _begin(folder: Path, facts: dict[str, Any], plan: Plan) -> None:
    """Make the folder of parts, or go on with one that was made for the same work."""
    expected = json.dumps({**facts, "parts": plan.to_plain()}, sort_keys=True)
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
