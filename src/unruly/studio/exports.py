"""Out: labelled data, the model, the report and the project to take away, and the commands that do the same."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, PlainTextResponse, Response

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.studio.training import Job, Trainer
from unruly.texts.wrench import is_wrench

if TYPE_CHECKING:
    from unruly.studio.app import PageRequest, Routes, Studio


FOLDER = "out"
SPREADSHEET = "labelled.spreadsheet.csv"
LABELLED = {  # and what each is
    "labelled.csv": "CSV",
    SPREADSHEET: "CSV for spreadsheets: cells that would run as formulas are text",
    "labelled.parquet": "Parquet",
    "labelled.jsonl": "JSON Lines",
}
REPORT = "report.html"
NAMES = (*LABELLED, REPORT)


@dataclass(frozen=True)
class Export:
    """A file to export, the last one made, and the command that makes it."""

    name: str
    title: str
    command: str
    path: Path | None  # where it is; None where it was not made yet
    other: str = ""  # the model that it was made with, where that is not the one that is shown


def exports(trainer: Trainer) -> tuple[Export, ...]:
    """All exports; the model and the project file exist already."""
    folder = trainer.workspace.folder
    project = shlex.quote(str(folder))
    model = trainer.current
    found = [
        Export(
            "unruly.toml",
            "The project: rules, classes, files",
            f"unruly check {project}",
            trainer.workspace.file,
        )
    ]
    if (labels := trainer.workspace.state.project.label_file().path).exists():
        command = f"unruly label {project}"
        found.append(Export("labels.csv", "Your labels, one line each", command, labels))
    if model is None:
        return tuple(found)
    file = shlex.quote(str(model.path))
    fit = f"unruly fit {project} -o {file}"
    found.append(Export(model.path.name, "The model that is shown", fit, model.path))
    data = trainer.workspace.state.project.data.train or ""
    texts = shlex.quote(str(folder / data))
    for name, title in LABELLED.items():
        defuse = " --defuse" if name == SPREADSHEET else ""
        found.append(
            Export(
                name,
                f"All documents with the model's labels, as {title}",
                f"unruly predict {file} {texts} -o {name}{_columns(trainer)}{defuse}",
                _made(folder, name),
                _other(trainer, name),
            )
        )
    found.append(
        Export(
            REPORT,
            "The report: one page, no network",
            f"unruly report {file} {project} -o {REPORT}",
            _made(folder, REPORT),
            _other(trainer, REPORT),
        )
    )
    return tuple(found)


def _columns(trainer: Trainer) -> str:
    data = trainer.workspace.state.project.data
    named = [("--text", data.text), ("--id", data.id)]
    return "".join(f" {option} {shlex.quote(name)}" for option, name in named if name)


def _made(folder: Path, name: str) -> Path | None:
    path = folder / FOLDER / name
    return path if path.is_file() else None


def _other(trainer: Trainer, name: str) -> str:
    made = trainer.workspace.made_by(name)
    return "" if trainer.current is None or made == trainer.current.name else made


def begin_export(trainer: Trainer, name: str) -> None:
    """Write one of `NAMES` in the background."""
    if name not in NAMES:
        raise InputError(f"{name!r} is not an export: choose one of {', '.join(NAMES)}")
    if trainer.current is None:
        raise InputError("there is no model yet: train one first")

    model = trainer.current.name

    def work(job: Job) -> None:
        make_export(trainer, name, job)
        trainer.workspace.note_export(name, model)

    trainer.begin(f"writing {name}", work)


def make_export(trainer: Trainer, name: str, progress: Progress = SILENT) -> Path:
    """Write one of `NAMES`; gives its path."""
    model = trainer.current
    assert model is not None
    state = trainer.workspace.state
    folder = state.folder / FOLDER
    folder.mkdir(exist_ok=True)
    target, opened = folder / name, trainer.opened(model)
    if name == REPORT:
        test = state.project.corpus("test") if state.project.data.test else None
        return opened.report(target, state.corpus, test, progress=progress)
    data = state.project.data
    path = data.path("train", state.folder)
    if is_wrench(path):
        raise InputError(
            "a folder in WRENCH's layout cannot be exported as a table: use a CSV, Parquet or JSON Lines file"
        )
    from unruly.model.predictions import predict_file

    predict_file(
        opened,
        path,
        target,
        text=data.text,
        id=data.id,
        defuse=name == SPREADSHEET,
        progress=progress,
    )
    return target


def overview(studio: Studio, request: PageRequest) -> Response:
    """The page of exports."""
    trainer = studio.trainer
    context = {
        "here": "out",
        "state": studio.workspace.state,
        "exports": exports(trainer),
        "model": trainer.current,
        "job": trainer.status,
    }
    return studio.page("out.html", context)


def make(studio: Studio, request: PageRequest) -> Response:
    """Write a file in the background."""
    name = request.form.get("name", "")
    begin_export(studio.trainer, name)
    return PlainTextResponse(f"Writing {name}")


def download(studio: Studio, request: PageRequest) -> Response:
    """One of the files that the page lists, and no other."""
    for export in exports(studio.trainer):
        if export.name == request.path["name"] and export.path is not None:
            kind = "application/octet-stream"
            return FileResponse(export.path, media_type=kind, filename=export.name)
    raise InputError(f"{request.path['name']!r} does not exist: make it first")


ROUTES: Routes = [
    ("GET", "/out", overview),
    ("POST", "/out", make),
    ("GET", "/out/{name}", download),
]
