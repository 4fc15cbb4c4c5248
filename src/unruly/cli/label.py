"""`unruly label`: label a few documents of a project by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import functions_option, json_option, quiet_option
from unruly.cli.screen import Screen
from unruly.errors import InputError
from unruly.wording import near_file, plural

if TYPE_CHECKING:
    from unruly.cli.label_keys import Keyboard, Lines
    from unruly.labelling.queue import Session
    from unruly.project.labelling import LabellingTask
    from unruly.project.project import Project


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
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
@click.option("--by-whom", help="Who answers, as the file keeps it.  [default: your user name]")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="A model of the project: draws by its predictions, not by the votes alone.",
)
@click.option(
    "--import",
    "import_",
    type=click.Path(path_type=Path),
    help="Add the labels of another file (CSV with id and label), and ask nothing.",
)
@functions_option
@json_option
@quiet_option
def command(
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
    """Label a few documents of a project by hand, drawn so that they tell about all.

    One document at a time, what rules matched marked; the votes are shown once you have answered, so that they
    do not sway you. Each answer is in labels.csv (or the file under `labels` in [data]) before the next document
    comes. `unruly fit` uses the labels without being asked. Answers may come from a pipe, one a line: a class,
    skip, cannot tell, undo, `+ a note`, quit.

    \b
    Example:
      unruly label spam
      unruly label spam -n 50 --model spam.unruly
      unruly label spam --by source:links
      unruly label spam --import theirs.csv
    """
    from unruly.cli.documents import load_model, open_project
    from unruly.cli.label_conversation import Conversation, View
    from unruly.cli.label_keys import Lines
    from unruly.labelling.queue import parsed_kind
    from unruly.project.labelling import LabellingTask

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
    session = task.session(most, by, _name() if by_whom is None else by_whom)
    if session.question is None:
        _nothing_left(screen, task, session, by)
        return
    _begin(screen, task, session)
    view = View(sys.stderr if as_json else sys.stdout)
    session = Conversation(task, session, reader, view, screen.remark).run()
    if isinstance(reader, Lines) and not reader.number:
        raise InputError(
            "standard input is no terminal and holds no answer: run it in a terminal, or send one answer a line"
        )
    _end(screen, task, session, project)


def _name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # nobody, as in some containers
        return ""


def _reader(as_json: bool) -> Keyboard | Lines:
    """Keys where there is a terminal to show documents on, else lines."""
    from unruly.cli.label_keys import Keyboard, Lines

    if not sys.stdin.isatty():
        return Lines(sys.stdin)
    if not (sys.stderr if as_json else sys.stdout).isatty():
        raise InputError(
            "the output is no terminal, so documents cannot be shown: run it in one, or send answers by a pipe"
        )
    try:
        import termios  # noqa: F401
    except ImportError:  # Windows: a line and Enter
        return Lines(sys.stdin)
    return Keyboard(sys.stdin.fileno())


def _import(project: Project, path: Path, screen: Screen) -> None:
    from unruly.labelling.answers import import_labels, problem_lines
    from unruly.labelling.labels import LabelFile

    if not path.exists():
        hint = near_file(path)
        raise InputError(f"{path}: there is no such file{hint and ': ' + hint}")
    file = project.label_file()
    corpus = project.corpus("train")
    theirs = LabelFile.open(path, file.names)
    done = import_labels(file, theirs, corpus.ids.to_list(), project.classes)
    remarks = problem_lines(done.problems, path.name)
    remarks += problem_lines(project.labels(corpus).problems, file.path.name)
    screen.answer({"added": done.added, "file": str(file.path), "remarks": remarks})
    screen.say(f"{file.path}: {plural(done.added, 'answer')} added from {path}")
    for line in remarks:
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
            "drawn by the votes alone; with --model FILE a model's predictions draw better"
        )
    if task.numbered:
        screen.remark(
            'labels go by row number: name an id column (id = "..." under [data]) before rows move'
        )


def _end(screen: Screen, task: LabellingTask, session: Session, project: Path) -> None:
    """What the answers came to, and what to do with them."""
    from unruly.labelling.answers import problem_lines

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
            "remarks": problem_lines(labels.problems, session.file.path.name),
        }
    )
    screen.say(
        f"{session.file.path}: {plural(session.labels, 'label')} added, {labels.labels:,} in all"
    )
    if balance is not None and balance.telling:
        screen.say(balance.sentence())
    if changed is not None:
        screen.say(
            f"a fit with them would change {changed:,} of {plural(len(task.corpus), 'answer')}"
        )
    if session.labels:
        screen.remark(f"unruly fit {project} -o MODEL uses them")
