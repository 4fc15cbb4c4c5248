"""`unruly predict`: a file of texts in, the same file with labels out."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from unruly.cli.options import (
    TABLES,
    bad_row_option,
    check_engine,
    check_output,
    engine_options,
    functions_option,
    json_option,
    output_option,
    quiet_option,
    split_option,
    text_options,
)
from unruly.cli.screen import Screen
from unruly.wording import listed, plural

STREAM = Path("-")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option(
    "The file to write: .parquet, .csv, .tsv or .jsonl; - for standard output.", required=False
)
@text_options
@split_option
@bad_row_option
@click.option(
    "--skipped",
    type=click.Path(path_type=Path),
    help="With --on-bad-row skip: a file to list the skipped rows in.",
)
@click.option(
    "--missing",
    type=click.Choice(["label", "empty"]),
    default="label",
    show_default=True,
    help="Rows without a text: label them by the class shares of the training documents, or leave them empty.",
)
@click.option(
    "--defuse",
    is_flag=True,
    help="CSV and TSV: put an apostrophe before cells that a spreadsheet would run as a formula.",
)
@functions_option
@click.option(
    "--ask",
    is_flag=True,
    help="Ask the model's language models about these texts, within their budgets; without it nothing is sent.",
)
@click.option(
    "--key-env", help="With --ask: the environment variable that holds the endpoint's key."
)
@engine_options
@json_option
@quiet_option
def command(
    model: Path,
    data: Path,
    output: Path | None,
    text: str | None,
    id_: str | None,
    split: str,
    on_bad_row: str,
    skipped: Path | None,
    missing: str,
    defuse: bool,
    functions: tuple[Path, ...],
    ask: bool,
    key_env: str | None,
    engine: str,
    address: str | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Label every text of a file.

    The output keeps the columns and the order of DATA and adds label, confidence, one probability
    for each class, which of the two heads decided, and the sources that voted. DATA is a file of
    texts, a folder of Parquet files, or a project or a WRENCH folder, whose test file is then used, or - for standard input (CSV
    with a header, or JSON Lines); what comes by standard input goes to standard output unless -o names a file.

    With --engine ray the rows of a Parquet file, or of a folder of them, are labelled by many workers on one machine or a
    cluster, and -o names a folder, whose files hold the rows in their order. A worker that dies is replaced, and a run that
    was stopped goes on when it is started again.

    \b
    Example:
      unruly predict spam.unruly comments.csv -o labelled.csv
      cat comments.jsonl | unruly predict spam.unruly - > labelled.jsonl
      unruly predict spam.unruly comments/ -o labelled/ --engine ray --workers 8
    """
    from unruly.cli.documents import load_model, named
    from unruly.cli.vote import show_asked
    from unruly.model.predictions import predict_file
    from unruly.texts.corpus import Corpus

    screen = Screen(quiet, as_json)
    check_engine(engine, address, workers)
    if engine == "ray":
        if output is None or STREAM in (data, output):
            raise click.UsageError("--engine ray reads and writes files: name the folder by -o")
        if ask or defuse or missing != "label" or skipped is not None:
            raise click.UsageError(
                "--ask, --defuse, --missing and --skipped work without --engine ray only"
            )
        from unruly.cli.screen import show_spread
        from unruly.distributed.run import Placement, predict

        found = named(data, split, text=text, id=id_)
        spread = predict(
            model,
            found.path,
            output,
            text=found.text,
            id=found.id,
            on_bad_row=on_bad_row,  # type: ignore[arg-type]
            functions=functions,
            placement=Placement(address, workers),
            progress=screen.progress(),
        )
        show_spread(spread, screen)
        return
    if output is None and data != STREAM:
        raise click.UsageError("name the file to write by -o, or - for standard output")
    target = STREAM if output is None else output
    if target != STREAM:
        check_output(target, TABLES)
    elif as_json:
        raise click.UsageError(
            "--json and predictions cannot both go to standard output: use -o FILE"
        )
    elif sys.__stdout__ is None:
        raise click.UsageError("standard output is closed: name the file to write by -o")
    if skipped is not None:
        check_output(skipped)
    documents = named(data, split, text=text, id=id_, on_bad_row=on_bad_row)
    loaded = load_model(model, functions, data)
    with documents.as_file(loaded.class_names, split) as file, TemporaryDirectory() as room:
        if ask:
            corpus = Corpus.read(file.path, text=file.text, id=file.id, on_bad_row=on_bad_row)  # type: ignore[arg-type]
            for planned in loaded.plan_prompts(corpus):
                screen.remark(f"asking {planned.model} at {planned.host}")
                if planned.leaves:
                    screen.warn(planned.leaves)
            show_asked(loaded.ask_prompts(corpus, key_env, screen.progress()), screen)
        flows = {".json": ".jsonl"}.get(file.path.suffix, file.path.suffix)
        flows = flows if flows in TABLES else ".csv"
        written = predict_file(
            loaded,
            file.path,
            Path(room) / f"out{flows}" if target == STREAM else target,
            text=file.text,
            id=file.id,
            on_bad_row=on_bad_row,  # type: ignore[arg-type]
            missing=missing,  # type: ignore[arg-type]
            defuse=defuse,
            progress=screen.progress(),
        )
        if target == STREAM:
            with written.path.open("rb") as done:
                shutil.copyfileobj(done, sys.stdout.buffer)
            sys.stdout.buffer.flush()
    if skipped is not None:
        skipped.write_text("".join(f"{row}\n" for row in written.skipped), encoding="utf-8")
    screen.answer(
        {
            "output": str(target),
            "text": written.text,
            "documents": written.documents,
            "covered": written.covered,
            "missing": written.missing,
            "skipped": len(written.skipped) - len(written.broken),
            "broken": [str(bad) for bad in written.broken],
            "labels": written.labels,
            "columns": written.columns,
        }
    )
    labels = ", ".join(f"{name} {count:,}" for name, count in written.labels.items())
    if text is None and file.text is None:
        screen.remark(f"text column: {listed([written.text])}")
    if written.missing:
        screen.remark(f"{plural(written.missing, 'row')} without a text")
    if rows := [bad for bad in written.skipped if not bad.whole_file]:
        screen.remark(f"{plural(len(rows), 'row')} skipped: {rows[0]}")
    for bad in written.broken:
        screen.remark(f"left out: {bad}")
    name = "standard output" if target == STREAM else str(target)
    screen.remark(f"{name}: {plural(written.documents, 'document')}: {labels}")
