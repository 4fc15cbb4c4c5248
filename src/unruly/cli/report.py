"""`unruly report`: a saved model and data as one HTML page."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    check_output,
    functions_option,
    json_option,
    label_option,
    quiet_option,
    text_options,
)
from unruly.cli.screen import Screen

if TYPE_CHECKING:
    from unruly.cli.documents import Named
    from unruly.texts.corpus import Corpus
    from unruly.votes.votes import Votes


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="The page to write."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="The documents: a project, a file of texts, or a WRENCH folder.",
)
@text_options
@label_option
@functions_option
@click.option("--open", "opened", is_flag=True, help="Show the page in the browser.")
@json_option
@quiet_option
def command(
    model: Path,
    output: Path,
    data: Path | None,
    text: str | None,
    id_: str | None,
    label: str | None,
    functions: tuple[Path, ...],
    opened: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write everything about a model into one HTML page.

    A verdict beside majority vote, the sources, which of them agree, weights, noise, confidence,
    training, mistakes, documents to look at, and advice on rules. The page needs no network.
    With a project as --data, its training file is shown and its test file, where it has labels,
    scores the model; a file of texts serves as both. Gold labels are used for scoring only. Without
    --data the page shows what the model file alone knows.

    \b
    Example:
      unruly report spam.unruly --data spam -o report.html --open
    """
    from unruly.cli.documents import named
    from unruly.model.storage import load
    from unruly.report.page import report

    screen = Screen(quiet, as_json)
    check_output(output)
    documents = scored = votes = scored_votes = None
    fitted = load(model, functions or None).fitted
    if data is not None:
        columns = named(data, "train", text=text, id=id_, label=label)
        documents = _read(columns, fitted.classes, "train")
        scored = _test_file(data, columns, fitted.classes)
        if fitted.rules is None:
            votes, scored_votes = (_stored_votes(data, split) for split in ("train", "test"))
    found = report(
        fitted,
        output,
        documents,
        scored,
        votes=votes,
        scored_votes=scored_votes,
        name=model.name,
        progress=screen.progress(),
    )
    screen.answer({**found.to_plain(), "output": str(output), "bytes": output.stat().st_size})
    screen.say(str(output))
    if opened:
        webbrowser.open(output.resolve().as_uri())


def _read(named: Named, classes: tuple[str, ...], split: str) -> Corpus:
    from unruly.cli.documents import with_gold

    return with_gold(named).read(classes, split)


def _test_file(data: Path, columns: Named, classes: tuple[str, ...]) -> Corpus | None:
    """The test documents of a project or of a WRENCH folder, where there are any."""
    from unruly.project.project import FILE_NAME, Project
    from unruly.texts.wrench import is_wrench

    if data.suffix == ".toml" or (data / FILE_NAME).is_file():
        project = Project.read(data)
        if project.data.test is None:
            return None
        test = project.data.path("test", project.folder)
        return _read(replace(columns, path=test), classes, "test")
    if is_wrench(data) and (data / "test.json").is_file():
        return _read(columns, classes, "test")
    return None


def _stored_votes(data: Path, split: str) -> Votes | None:
    """The votes in a WRENCH folder, for a model that was fitted on such votes and carries no rules."""
    from unruly.texts.wrench import is_wrench
    from unruly.votes.votes import Votes

    if not is_wrench(data) or not (data / f"{split}.json").is_file():
        return None
    return Votes.from_wrench(data, split)
