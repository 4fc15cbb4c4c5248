"""`unruly label`: label a few documents of a project by hand."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    Data,
    functions_option,
    json_option,
    load_model,
    open_project,
    quiet_option,
)
from unruly.cli.screen import Screen
from unruly.errors import InputError, Where
from unruly.wording import near_file, plural

if TYPE_CHECKING:
    from unruly.cli.label_screen import Keyboard, Lines
    from unruly.labelling.sampling import Session
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.project.documents import LabellingTask
    from unruly.project.project import Project


class TwoWords(click.Command):
    """A command that takes `--by source NAME` for `--by source:NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = joined(args)
        _check_kind(words)  # now, for after `--by sauce links` the last word is one too many
        return super().parse_args(ctx, words)


def _check_kind(words: Sequence[str]) -> None:
    """Refuse a way to draw documents that there is not."""
    values = [word for option, word in pairwise(words) if option == "--by" and word[:1] != "-"]
    values += [word.removeprefix("--by=") for word in words if word.startswith("--by=")]
    for value in values:
        from unruly.labelling.sampling import parsed_kind

        parsed_kind(value)


def joined(args: Sequence[str]) -> list[str]:
    """The words of a command line, those of `--by source NAME` and `--by class NAME` joined.

    >>> joined(["spam", "--by", "source", "link", "-n", "5"])
    ['spam', '--by', 'source:link', '-n', '5']
    """
    found: list[str] = []
    for arg in args:
        last = "=".join(found[-2:] if found[-2:-1] == ["--by"] else found[-1:])
        if last in ("--by=source", "--by=class") and not arg.startswith("-"):
            found[-1] += f":{arg}"
        else:
            found.append(arg)
    return found


@click.command(cls=TwoWords)
@click.argument("project", type=PATH)
@click.option(
    "-n", "most", type=click.IntRange(1), default=20, show_default=True, help="How many documents."
)
@click.option(
    "--by",
    default="balance",
    show_default=True,
    help="Which: balance (spread over the predicted classes, good for everything), doubt (the most "
    "doubtful), random, source NAME (to check a source), class NAME (predicted to be of a class), contested "
    "(those on which people disagree, to settle them).",
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
      unruly label spam --by source link
      unruly label spam --import theirs.csv
    """
    from unruly.cli.label_screen import Conversation, Lines, View
    from unruly.labelling.label_file import user_name
    from unruly.project.documents import LabellingTask

    screen = Screen(quiet, as_json)
    opened = open_project(project)
    opened.label_file().check_writable()
    if import_ is not None:
        _import(opened, import_, screen)
        return
    reader = _reader(as_json)
    loaded = None if model is None else load_model(model, functions, Data(project, opened))
    task = LabellingTask.of(opened, loaded, screen.progress())
    session = task.session(most, by, user_name() if by_whom is None else by_whom)
    if session.question is None:
        _nothing_left(screen, task, session, by)
        return
    _begin(screen, task, session, by)
    view = View(sys.stderr if as_json else sys.stdout)
    conversation = Conversation(task, session, reader, view, partial(screen.remark, prose=True))
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
    _end(screen, task, session.saved(), len(session.given), project, model, by)


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
        raise InputError(f"there is no such file{hint and ': ' + hint}", where=Where(str(path)))
    file = project.label_file()
    corpus = project.corpus("train")
    theirs = LabelFile.open(path, file.names)
    if not theirs.answers and not theirs.unreadable:
        raise InputError(
            "there are no labels: expected the columns id and label, and one document a row",
            where=Where(str(path)),
        )
    done = import_labels(file, theirs, corpus.ids.to_list(), project.classes)
    found = [(done.problems, path.name), (project.labels(corpus).problems, file.path.name)]
    problems = [plain for some, name in found for plain in problems_to_plain(some, name)]
    screen.answer({"added": done.added, "file": str(file.path), "problems": problems})
    screen.say(f"{file.path}: {plural(done.added, 'answer')} added from {path}")
    for some, name in found:
        for line in problem_lines(some, name, project.address):
            screen.remark(line, prose=True)


def _nothing_left(screen: Screen, task: LabellingTask, session: Session, by: str) -> None:
    from unruly.labelling.answers import problems_to_plain

    labels, path = task.labelled(session.file), session.file.path
    which = "" if by in ("balance", "random", "doubt") else f" with --by {by}"
    screen.answer(
        {
            "answers": 0,
            "labels": 0,
            "all_labels": labels.labels,
            "file": str(path),
            "problems": problems_to_plain(labels.problems, path.name),
        }
    )
    screen.say(
        f"nothing left to label{which}: {path} has {plural(labels.labels, 'label')}", prose=True
    )
    _say_problems(screen, task, session)


def _say_problems(screen: Screen, task: LabellingTask, session: Session) -> None:
    """What of the file is set aside."""
    from unruly.labelling.answers import problem_lines

    problems, name = task.labelled(session.file).problems, session.file.path.name
    for line in problem_lines(problems, name, task.project.address):
        screen.remark(line, prose=True)


def _begin(screen: Screen, task: LabellingTask, session: Session, by: str) -> None:
    _say_problems(screen, task, session)
    if task.model is None and by != "contested":
        screen.remark(
            "documents are drawn by their votes; --model FILE draws better, by a model's predictions, and shows what "
            "labels would change",
            prose=True,
        )
    if task.numbered:
        screen.remark(
            'labels are kept by row number: set an id column (id = "..." under [data]) before you move rows',
            prose=True,
        )


def _end(
    screen: Screen,
    task: LabellingTask,
    session: Session,
    answers: int,
    project: Path,
    model: Path | None,
    by: str,
) -> None:
    """A summary of the answers, and the next step; `answers` were given, and those of the session are in the file."""
    from unruly.cli.label_screen import change_line
    from unruly.labelling.answers import problems_to_plain

    labels = task.labelled(session.file)
    checked = by.removeprefix("source:") if by.startswith("source:") else None
    accuracy = None if checked is None else task.source_accuracy(session.file, checked)
    balance = task.balance(session.file) if session.labels and checked is None else None
    changed = task.changed(session.file, screen.progress()) if session.labels else None
    screen.answer(
        {
            "answers": len(session.given),
            "labels": session.labels,
            "all_labels": labels.labels,
            "file": str(session.file.path),
            "balance": None if balance is None else balance.to_plain(),
            "source": None if accuracy is None else {"name": checked, **asdict(accuracy)},
            "changed": changed,
            "problems": problems_to_plain(labels.problems, session.file.path.name),
        }
    )
    screen.say(
        f"{session.file.path}: {plural(session.labels, 'label')} added, {labels.labels:,} in all",
        prose=True,
    )
    if lost := answers - len(session.given):
        screen.remark(
            f"{plural(lost, 'answer')} of this session {'is' if lost == 1 else 'are'} no longer in {session.file.path}",
            prose=True,
        )
    if accuracy is not None:
        on = plural(int(accuracy.n), "labelled document")
        screen.say(f"{checked} is right on {accuracy}, by {on} that it votes on", prose=True)
    if balance is not None and balance.narrow:
        screen.say(balance.sentence(), prose=True)
    if changed is not None:
        screen.say(change_line(changed, len(task.corpus)), prose=True)
    if session.labels:
        name = task.project.folder.resolve().name
        target = unused(model or Path(f"{name}.unruly"))
        options = [] if task.model is None else options_of(task.model, task.project)
        words = ["unruly", "fit", str(project), "-o", str(target), *options]
        screen.remark(f"next: {' '.join(map(quote, words))}")


def unused(path: Path) -> Path:
    """The path, or one like it that no file has yet.

    >>> unused(Path("no such folder/a.unruly")).name
    'a.unruly'
    """
    stem, number, found = re.sub(r"-\d+$", "", path.stem), 2, path
    while found.exists():
        found, number = path.with_name(f"{stem}-{number}{path.suffix}"), number + 1
    return found


def options_of(model: WeakClassifier, project: Project) -> list[str]:
    """The options that make `unruly fit` of a project fit as this model was fitted, as far as its file tells them."""
    from unruly.features.registry import plain_spec
    from unruly.prior import parse_prior
    from unruly.settings import settings_for

    found: list[str] = []
    own = project.classifier()
    plain = plain_spec(model.encoder)
    kinds = plain if isinstance(plain, list) else [plain]
    if kinds != plain_spec(own.encoder) and all(k in ("auto", "lsa", "minilm") for k in kinds):
        found += [word for kind in kinds for word in ("--encoder", kind)]
    same = model.method == project.method
    if not same:
        found += ["--method", model.method]
    before = project.settings if same else settings_for(model.method, None)
    for option in model.settings_.options():
        value = getattr(model.settings_, option.name)
        if value != getattr(before, option.name):
            switch = [option.flag if value else f"--no-{option.flag.removeprefix('--')}"]
            found += switch if option.range is None else [option.flag, str(value)]
    if model.seed != project.seed:
        found += ["--seed", str(model.seed)]
    stated = parse_prior(model.class_prior, model.class_names)
    if same and stated != parse_prior(own.class_prior, project.classes):
        found += ["--prior", "auto" if stated is None else stated.in_words(model.class_names)]
    return found if model.keep_documents else [*found, "--no-excerpts"]
