"""`unruly evaluate`: a model against gold labels."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.data_options import label_option, split_option, text_options
from unruly.cli.screen import Screen, functions_option, json_option, quiet_option


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@text_options
@label_option
@split_option
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
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a model against gold labels.

    Accuracy, macro-F1, F1 of each class and calibration error, beside majority vote, on documents
    that rules cover and on those that they do not; and what gold was used for the model. DATA is a
    file of texts and labels, or a project or a WRENCH folder, whose test file is then meant.

    \b
    Example:
      unruly evaluate spam.unruly test.csv --label is_spam
    """
    from unruly.cli.documents import must_have_gold, named
    from unruly.model.loading import load

    screen = Screen(quiet, as_json)
    documents = must_have_gold(named(data, split, text=text, id=id_, label=label))
    loaded = load(model, functions or None)
    corpus = documents.read(loaded.class_names, split)
    evaluation = loaded.evaluate(corpus, progress=screen.progress())
    screen.answer(evaluation.to_plain())
    screen.say(str(evaluation))
