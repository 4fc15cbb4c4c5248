"""`unruly explain`: why one text gets its label."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from unruly.cli.options import functions_option, json_option, quiet_option
from unruly.cli.screen import Screen


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", required=False)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="A file or project: explain one of its documents, other columns included.",
)
@click.option("--id", "id_", help="With --data: which document, by its id or row number from 0.")
@click.option("--id-column", help="With --data: the column with the ids; id, where there is one.")
@click.option("--text-column", help="With --data: the column with the texts, where not obvious.")
@click.option("--words", type=click.IntRange(0), default=8, help="How many words to show.")
@click.option(
    "--neighbours", type=click.IntRange(0), default=5, help="How many near documents to show."
)
@functions_option
@json_option
@quiet_option
def command(
    model: Path,
    text: str | None,
    data: Path | None,
    id_: str | None,
    id_column: str | None,
    text_column: str | None,
    words: int,
    neighbours: int,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Show why a text gets its label.

    The sources that voted, the rule and the words that matched, the reliability of each source here
    and overall, what the two heads predict and which of them decides, the words with the largest effect,
    and the nearest training documents. TEXT may be - to read it from standard input; rules that read
    other columns need --data and --id instead.

    \b
    Example:
      unruly explain spam.unruly "check out my channel"
      unruly explain spam.unruly - --json < letter.txt
      unruly explain spam.unruly --data test.csv --id 17
      unruly explain spam.unruly --data tickets.csv --id T-1042 --id-column number
    """
    from unruly.cli.documents import load_model, one_document

    screen = Screen(quiet, as_json)
    if (text is None) == (data is None) or (data is None) != (id_ is None):
        raise click.UsageError("give either a TEXT, or --data and --id")
    if data is None and (id_column or text_column):
        raise click.UsageError("--id-column and --text-column go with --data")
    loaded = load_model(model, functions, data)
    typed = os.fsencode(text or "").decode("utf-8", "replace")  # arguments may be any bytes
    given: object = sys.stdin.read() if text == "-" else typed
    if data is not None and id_ is not None:
        given = one_document(data, id_, loaded.class_names, text=text_column, id_column=id_column)
    explanation = loaded.explain(given, words=words, neighbours=neighbours)
    screen.answer(explanation.to_plain())
    screen.say(str(explanation))
