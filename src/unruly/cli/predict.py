"""`unruly predict`: a file of texts in, the same file with labels out."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.data_options import split_option, text_options
from unruly.cli.outputs import TABLES, check_output
from unruly.cli.screen import Screen, functions_option, json_option, quiet_option
from unruly.plural import plural


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The file to write: .parquet, .csv, .tsv or .jsonl.",
)
@text_options
@split_option
@functions_option
@json_option
@quiet_option
def command(
    model: Path,
    data: Path,
    output: Path,
    text: str | None,
    id_: str | None,
    split: str,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Label every text of a file.

    The output keeps the columns and the order of DATA and adds label, confidence, one probability
    for each class, which of the two heads decided, and the sources that voted. DATA is a file of
    texts, or a project or a WRENCH folder, whose test file is then meant.

    \b
    Example:
      unruly predict spam.unruly comments.csv -o labelled.csv
    """
    from unruly.cli.documents import named
    from unruly.model.loading import load
    from unruly.model.prediction_file import predict_file

    screen = Screen(quiet, as_json)
    check_output(output, TABLES)
    documents = named(data, split, text=text, id=id_)
    loaded = load(model, functions or None)
    with documents.as_file(loaded.class_names, split) as file:
        written = predict_file(
            loaded, file.path, output, text=file.text, id=file.id, progress=screen.progress()
        )
    screen.answer(
        {
            "output": str(output),
            "documents": written.documents,
            "covered": written.covered,
            "labels": written.labels,
            "columns": written.columns,
        }
    )
    labels = ", ".join(f"{name} {count:,}" for name, count in written.labels.items())
    screen.remark(f"{output}: {plural(written.documents, 'document')}: {labels}")
