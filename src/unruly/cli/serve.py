"""`unruly serve`: a saved model behind HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import click

from unruly.cli.options import functions_option, quiet_option
from unruly.cli.screen import Screen


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="0.0.0.0 for all networks.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="0 for any free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that share the port; each loads the model.",
)
@click.option(
    "--token-env",
    metavar="NAME",
    help="The variable of the environment with the token that clients must send.",
)
@click.option(
    "--max-body",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="The largest request, in MB.",
)
@click.option(
    "--max-texts",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Texts in one request.",
)
@click.option(
    "--max-characters",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    help="Characters in one text.",
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1),
    default=4000,
    show_default=True,
    help="Texts that wait; more are turned away with 429.",
)
@click.option(
    "--log",
    type=click.Choice(["none", "requests", "texts"]),
    default="requests",
    show_default=True,
    help="A line for each request on standard error; texts: with the texts.",
)
@functions_option
@quiet_option
def command(
    model: Path,
    host: str,
    port: int,
    workers: int,
    token_env: str | None,
    max_body: int,
    max_texts: int,
    max_characters: int,
    max_waiting: int,
    log: str,
    functions: tuple[Path, ...],
    quiet: bool,
) -> None:
    """Serve a model over HTTP.

    POST /predict takes {"inputs": "a text"} as Hugging Face's servers do, or {"texts": ["…"]} for a fuller answer;
    POST /explain says why; GET /docs describes the rest. Requests that come together are predicted together.
    When the model file is replaced, the new model is taken into service without a lost request.

    \b
    Example:
      unruly serve spam.unruly --port 8080
      curl -s localhost:8080/predict -d '{"inputs": "check out my channel"}'
    """
    from unruly.serve.server import serve
    from unruly.serve.settings import Limits, ServeSettings

    screen = Screen(quiet)
    limits = Limits(
        body=1_000_000 * max_body,
        texts=max_texts,
        characters=max_characters,
        waiting=max_waiting,
    )
    settings = ServeSettings(
        model=model,
        functions=tuple(functions),
        host=host,
        port=port,
        workers=workers,
        token=None if token_env is None else _token(token_env),
        limits=limits,
        log=log,
    )
    serve(settings, screen.remark)


def _token(name: str) -> str:
    token = os.environ.get(name, "")
    if not token:
        raise click.UsageError(f"--token-env {name}: this variable is not set, or is empty")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError(f"--token-env {name}: a token has no blanks and is plain ASCII")
    return token
