"""`unruly explain`: why one text gets its label."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from unruly.cli.screen import Screen, json_option, quiet_option


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text")
@click.option("--words", type=click.IntRange(0), default=8, help="How many words to weigh.")
@click.option(
    "--neighbours", type=click.IntRange(0), default=5, help="How many near documents to show."
)
@click.option(
    "--functions",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A Python file with the model's rule functions: models carry no code.",
)
@json_option
@quiet_option
def command(
    model: Path,
    text: str,
    words: int,
    neighbours: int,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Tell why a text gets its label.

    The sources that voted, the rule and the words that matched, how far each source is trusted here
    and overall, what the two heads say and which decides, the words that weigh most, and the nearest
    training documents. TEXT may be - to read it from standard input.

    \b
    Example:
      unruly explain spam.unruly "check out my channel"
      unruly explain spam.unruly - --json < letter.txt
    """
    from unruly.model.weak_classifier import load

    screen = Screen(quiet, as_json)
    loaded = load(model, functions or None)
    given = sys.stdin.read() if text == "-" else text
    explanation = loaded.explain(given, words=words, neighbours=neighbours)
    screen.answer(explanation.to_plain())
    screen.say(str(explanation))
