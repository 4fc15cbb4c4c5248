"""`unruly evaluate`: a model against gold labels."""

from __future__ import annotations

from pathlib import Path

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


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@text_options
@label_option
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

    \b
    Example:
      unruly evaluate spam.unruly test.csv --label is_spam
    """
    from unruly.cli.documents import load_model, must_have_gold, named

    screen = Screen(quiet, as_json)
    loaded = load_model(model, functions, data)
    documents = must_have_gold(
        named(data, split, text=text, id=id_, label=label, on_bad_row=on_bad_row)
    )
    corpus = documents.read(loaded.class_names, split)
    evaluation = loaded.evaluate(corpus, progress=screen.progress())
    screen.answer(evaluation.to_plain())
    screen.say(str(evaluation))
