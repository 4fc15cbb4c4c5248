"""`unruly label`: label a few documents of a project by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    functions_option,
    json_option,
    load_model,
    open_project,
    quiet_option,
)
from unruly.cli.screen import Screen
from unruly.errors import InputError
from unruly.wording import near_file, plural

if TYPE_CHECKING:
    from unruly.cli.label_screen import Keyboard, Lines
    from unruly.labelling.sampling import Session
    from unruly.project.documents import LabellingTask
    from unruly.project.project import Project


@click.command()
@click.argument("project", type=PATH)
@click.option(
    "-n", "most", type=click.IntRange(1), default=20, show_default=True, help="How many documents."
)
@click.option(
    "--by",
    default="balance",
    show_default=True,
    help="Which: balance (spread over the predicted classes, good for everything), doubt (the most "
    "doubtful), random, source:NAME (to check a source), class:NAME (predicted to be of a class).",
)
@click.option("--by-whom", help="Your name, written beside each answer.  [default: your user name]")
@click.option(
    "--model",
    type=PATH,
    help="A model of the project: draw by its predictions instead of the votes alone.",
)
@click.option(
    "--import",
    "import_",
    type=PATH,
    help="Add the labels of another file (CSV with id and label) and exit.",
)
@functions_option
@json_option
@quiet_option
def label(
    project: Path,
    most: int,
    by: str,
    by_whom: str | None,
    model: Path | None,
    import_: Path | None,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Label a few documents of a project by hand, drawn so that estimates hold for all documents.

    One document at a time, with rule matches highlighted; votes are shown after your answer, so that they do not
    influence it. Each answer is saved to labels.csv (or the file under `labels` in [data]) before the next document
    is shown. `unruly fit` uses the labels. Answers can also be piped in, one a line: a class, skip, cannot tell,
    undo, `+ a note`, quit.

    \b
    Example:
      unruly label spam
      unruly label spam -n 50 --model spam.unruly
      unruly label spam --by source:link
      unruly label spam --import theirs.csv
    """
    from unruly.cli.label_screen import Conversation, Lines, View
    from unruly.labelling.label_file import user_name
    from unruly.labelling.sampling import parsed_kind
    from unruly.project.documents import LabellingTask

    screen = Screen(quiet, as_json)
    opened = open_project(project)
    opened.label_file().check_writable()
    if import_ is not None:
        _import(opened, import_, screen)
        return
    parsed_kind(by)
    reader = _reader(as_json)
    loaded = None if model is None else load_model(model, functions, project)
    task = LabellingTask.of(opened, loaded, screen.progress())
    session = task.session(most, by, user_name() if by_whom is None else by_whom)
    if session.question is None:
        _nothing_left(screen, task, session, by)
        return
    _begin(screen, task, session)
    view = View(sys.stderr if as_json else sys.stdout)
    conversation = Conversation(task, session, reader, view, screen.remark)
    try:
        session = conversation.run()
    except KeyboardInterrupt:
        given = plural(len(conversation.session.given), "answer")
        screen.remark(f"\n{given} kept in {session.file.path}")
        raise
    if isinstance(reader, Lines) and not reader.number:
        raise InputError(
            "standard input is not a terminal and has no answers: run it in a terminal, or send one answer a line"
        )
    _end(screen, task, session, project, model)


def _reader(as_json: bool) -> Keyboard | Lines:
    """Keys where there is a terminal to show documents on, else lines."""
    from unruly.cli.label_screen import Keyboard, Lines

    if not sys.stdin.isatty():
        return Lines(sys.stdin)
    if not (sys.stderr if as_json else sys.stdout).isatty():
        raise InputError(
            "the output is not a terminal, so documents cannot be shown: run it in a terminal, or pipe the answers in"
        )
    try:
        import termios  # noqa: F401
    except ImportError:  # Windows: a line and Enter
        return Lines(sys.stdin)
    return Keyboard(sys.stdin.fileno())


def _import(project: Project, path: Path, screen: Screen) -> None:
    from unruly.labelling.answers import import_labels, problem_lines, problems_to_plain
    from unruly.labelling.label_file import LabelFile

    if not path.exists():
        hint = near_file(path)
        raise InputError(f"{path}: there is no such file{hint and ': ' + hint}")
    file = project.label_file()
    corpus = project.corpus("train")
    theirs = LabelFile.open(path, file.names)
    done = import_labels(file, theirs, corpus.ids.to_list(), project.classes)
    found = [(done.problems, path.name), (project.labels(corpus).problems, file.path.name)]
    problems = [plain for some, name in found for plain in problems_to_plain(some, name)]
    screen.answer({"added": done.added, "file": str(file.path), "problems": problems})
    screen.say(f"{file.path}: {plural(done.added, 'answer')} added from {path}")
    for some, name in found:
        for line in problem_lines(some, name):
            screen.remark(line)


def _nothing_left(screen: Screen, task: LabellingTask, session: Session, by: str) -> None:
    count = plural(task.labelled(session.file).labels, "label")
    which = "" if by in ("balance", "random", "doubt") else f" with --by {by}"
    screen.answer({"answers": 0, "labels": 0, "file": str(session.file.path)})
    screen.say(f"nothing left to label{which}: {session.file.path} has {count}")


def _begin(screen: Screen, task: LabellingTask, session: Session) -> None:
    from unruly.labelling.answers import problem_lines

    for line in problem_lines(task.labelled(session.file).problems, session.file.path.name):
        screen.remark(line)
    if task.model is None:
        screen.remark(
            "documents are drawn by the votes; --model FILE draws better, by a model's predictions"
        )
    if task.numbered:
        screen.remark(
            'labels are kept by row number: name an id column (id = "..." under [data]) before you move rows'
        )


def _end(
    screen: Screen, task: LabellingTask, session: Session, project: Path, model: Path | None
) -> None:
    """A summary of the answers, and the next step."""
    from unruly.labelling.answers import problems_to_plain

    labels = task.labelled(session.file)
    balance = task.balance(session.file) if session.labels else None
    changed = task.changed(session.file, screen.progress()) if session.labels else None
    screen.answer(
        {
            "answers": len(session.given),
            "labels": session.labels,
            "all_labels": labels.labels,
            "file": str(session.file.path),
            "balance": None if balance is None else balance.to_plain(),
            "changed": changed,
            "problems": problems_to_plain(labels.problems, session.file.path.name),
        }
    )
    screen.say(
        f"{session.file.path}: {plural(session.labels, 'label')} added, {labels.labels:,} in all"
    )
    if balance is not None and balance.telling:
        screen.say(balance.sentence())
    if changed is not None:
        screen.say(
            f"refitting with these labels would change {changed:,} of {plural(len(task.corpus), 'prediction')}"
        )
    if session.labels:
        target = model or Path(f"{task.project.folder.resolve().name}.unruly")
        screen.remark(f"next: unruly fit {quote(str(project))} -o {quote(str(target))}")
