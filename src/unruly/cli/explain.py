"""`unruly explain`: why one text gets its label."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from unruly.cli.screen import Screen, functions_option, json_option, quiet_option


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", required=False)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="A file or project: explain one of its documents, other columns included.",
)
@click.option("--id", "id_", help="With --data: which document, by its id or row number from 0.")
@click.option("--words", type=click.IntRange(0), default=8, help="How many words to weigh.")
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
    words: int,
    neighbours: int,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Tell why a text gets its label.

    The sources that voted, the rule and the words that matched, how far each source is trusted here
    and overall, by what factor its vote moves the odds of its label, what the two heads say and which
    decides, the words that weigh most, and the nearest training documents. TEXT may be - to read it from standard input; rules that read other columns
    need --data and --id instead.

    \b
    Example:
      unruly explain spam.unruly "check out my channel"
      unruly explain spam.unruly - --json < letter.txt
      unruly explain spam.unruly --data test.csv --id 17
    """
    from unruly.cli.documents import one_document
    from unruly.model.loading import load

    screen = Screen(quiet, as_json)
    loaded = load(model, functions or None)
    given: object = sys.stdin.read() if text == "-" else text
    if (text is None) == (data is None) or (data is None) != (id_ is None):
        raise click.UsageError("give either a TEXT, or --data and --id")
    if data is not None and id_ is not None:
        given = one_document(data, id_, loaded.class_names)
    explanation = loaded.explain(given, words=words, neighbours=neighbours)
    screen.answer(explanation.to_plain())
    screen.say(str(explanation))
