"""`unruly evaluate`: a model against gold labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    bad_row_option,
    functions_option,
    json_option,
    label_option,
    quiet_option,
    split_option,
    text_options,
)
from unruly.cli.screen import Screen
from unruly.errors import InputError

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@text_options
@label_option
@click.option(
    "--labels",
    is_flag=True,
    help="Estimate the accuracy on the training documents from labels.csv of the project DATA.",
)
@split_option
@bad_row_option
@functions_option
@json_option
@quiet_option
def command(
    model: Path,
    data: Path,
    text: str | None,
    id_: str | None,
    label: str | None,
    labels: bool,
    split: str,
    on_bad_row: str,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a model against gold labels.

    Accuracy, macro-F1, F1 of each class and calibration error, beside majority vote, on documents
    that rules cover and on those that they do not; and what gold was used for the model. DATA is a
    file of texts and labels, or a project or a WRENCH folder, whose test file is then used.

    With --labels a few labels made by `unruly label` suffice: the interval knows how they were drawn, and where the
    model was trained on them they are held out in turn, and it is fitted again without them.

    \b
    Example:
      unruly evaluate spam.unruly test.csv --label is_spam
      unruly evaluate spam.unruly spam --labels
    """
    from unruly.cli.documents import load_model, must_have_gold, named

    screen = Screen(quiet, as_json)
    loaded = load_model(model, functions, data)
    if labels:
        _by_labels(loaded, data, on_bad_row, screen)
        return
    documents = must_have_gold(
        named(data, split, text=text, id=id_, label=label, on_bad_row=on_bad_row)
    )
    corpus = documents.read(loaded.class_names, split)
    evaluation = loaded.evaluate(corpus, progress=screen.progress())
    screen.answer(evaluation.to_plain())
    screen.say(str(evaluation))


def _by_labels(model: WeakClassifier, data: Path, on_bad_row: str, screen: Screen) -> None:
    """The accuracy on the training documents of a project, from its labels."""
    from unruly.cli.documents import is_project, open_project
    from unruly.labelling.answers import problem_lines

    if not is_project(data):
        raise InputError(f"{data}: --labels are those of a project: name its folder")
    project = open_project(data, on_bad_row=on_bad_row)
    if model.class_names != project.classes:
        raise InputError(
            f"the model's classes are {', '.join(model.class_names)}, the project's "
            f"{', '.join(project.classes)}: name the model of this project"
        )
    corpus = project.corpus("train")
    labels = project.labels(corpus)
    found = model.estimate_accuracy(labels, corpus, progress=screen.progress())
    ledger = model.ledger_.add(found.gold.use, found.gold.labels, found.gold.origin)
    remarks = problem_lines(labels.problems, labels.origin)
    screen.answer({**found.to_plain(), "ledger": ledger.to_plain(), "remarks": remarks})
    screen.say(f"{found}\n{ledger}")
    for line in remarks:
        screen.remark(line)
