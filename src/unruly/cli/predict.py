"""`unruly predict` and `encode`: a file of texts in, the same file with labels or with features out."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    STREAM,
    Data,
    DataFile,
    bad_row_option,
    check_output,
    defuse_option,
    functions_option,
    json_option,
    load_model,
    output_option,
    placement_of,
    quiet_option,
    skipped_option,
    split_option,
    text_options,
    threaded_options,
    write_skipped,
)
from unruly.cli.screen import Screen, results, show_cluster_run
from unruly.errors import InputError
from unruly.files import TABLES, temporary_folder
from unruly.wording import counted, listed, plural

if TYPE_CHECKING:
    from unruly.distributed.run import ClusterRun, Placement
    from unruly.model.predictions import Written
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.texts.stream import CorpusStream


@click.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@output_option(
    "The file to write: .parquet, .csv, .tsv, .jsonl or .ndjson; - for standard output.",
    required=False,
)
@text_options
@split_option
@bad_row_option
@skipped_option
@click.option(
    "--missing",
    type=click.Choice(["label", "empty"]),
    default="label",
    show_default=True,
    help="Rows without a text: label them by the class shares of the training documents, or leave them empty.",
)
@defuse_option
@functions_option
@click.option(
    "--ask",
    is_flag=True,
    help="Ask the model's language models about these texts, within their budgets; without it nothing is sent.",
)
@click.option(
    "--key-env", help="With --ask: the environment variable that holds the endpoint's key."
)
@click.option(
    "--endpoint",
    "hosts",
    metavar="HOST",
    multiple=True,
    help="With --ask: a machine other than this one that the texts, and the key, may be sent to.",
)
@threaded_options
@json_option
@quiet_option
def predict(
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
    hosts: tuple[str, ...],
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
    with a header, or JSON Lines, answered while more rows come); what comes by standard input goes to standard output unless -o names
    a file. CSV keeps its delimiter and its bytes, JSON Lines every object as it is spelt. The texts are in the column that the
    model was fitted on, where DATA has it.

    With --engine ray the rows of a Parquet file, or of a folder of them, are labelled by many workers on one machine or a
    cluster, and -o names a folder, whose files hold the rows in their order. A worker that dies is replaced, and a run that
    was stopped goes on when it is started again.

    \b
    Example:
      unruly predict spam.unruly comments.csv -o labelled.csv
      cat comments.jsonl | unruly predict spam.unruly - > labelled.jsonl
      unruly predict spam.unruly comments/ -o labelled/ --engine ray --workers 8
    """
    from unruly.model.predictions import missing_of, predict_stream

    screen = Screen(quiet, as_json)
    placement = placement_of(engine, address, workers if engine == "ray" else None)
    if placement is not None:
        if output is None or STREAM in (data, output):
            raise click.UsageError("--engine ray reads and writes files: pass the folder with -o")
        if ask or defuse or missing != "label" or skipped is not None:
            raise click.UsageError(
                "--ask, --defuse, --missing and --skipped cannot be used with --engine ray"
            )
        from unruly.distributed.run import predict

        documents = Data.of(data, on_bad_row).file(split, text=text, id=id_)
        _on_cluster(predict, model, documents, output, functions, placement, screen)
        return
    _check_is_file(data, model)
    given = Data.of(data, on_bad_row)
    inputs = (model, *functions, *given.inputs)
    target = _target(output, data, inputs, as_json)
    if skipped is not None:
        check_output(skipped, inputs=(*inputs, target))
    documents = given.file(split, text=text, id=id_)
    loaded = load_model(model, functions, given)
    likely = documents.for_model(loaded.text_column)
    live = not ask and target.suffix.lower() != ".parquet"
    with likely.stream(loaded.class_names, split, live=live) as stream:
        if ask:
            _ask(loaded, stream, key_env, hosts, screen)
        into, form = _destination(target, stream)
        with into as destination:
            written = predict_stream(
                loaded,
                stream,
                destination,
                missing=missing_of(missing),
                defuse=defuse,
                form=form,
                workers=workers,
                progress=screen.progress(),
            )
    if skipped is not None:
        write_skipped(skipped, (*written.skipped, *written.broken))
    if text is None and documents.text is None:
        known = ", as in training" if written.text == loaded.text_column else ""
        screen.remark(f"text column: {listed([written.text])}{known}")
    _show_written(written, target, missing, screen)


def _check_is_file(data: Path, model: Path) -> None:
    """Refuse a text where a file is named, and point to the command that takes one."""
    if data == STREAM or os.path.exists(data) or " " not in str(data):
        return
    raise InputError(
        f"{data}: there is no such file; for one text: unruly explain {quote(str(model))} {quote(str(data))}"
    )


def _target(output: Path | None, data: Path, inputs: tuple[Path, ...], as_json: bool) -> Path:
    """Where predictions are to go, if that can be written."""
    if output is None and data != STREAM:
        raise click.UsageError("pass the file to write with -o, or -o - for standard output")
    target = STREAM if output is None else output
    if target != STREAM:
        check_output(target, TABLES, inputs)
    elif as_json:
        raise click.UsageError(
            "--json and predictions cannot both go to standard output: use -o FILE"
        )
    elif sys.__stdout__ is None:
        raise click.UsageError("standard output is closed: pass the file to write with -o")
    return target


def _ask(
    model: WeakClassifier,
    stream: CorpusStream,
    key_env: str | None,
    hosts: tuple[str, ...],
    screen: Screen,
) -> None:
    """Ask the model's language models about all texts; their answers are kept for the prediction."""
    from unruly.cli.rules import show_asked

    corpus = stream.read()
    for planned in model.plan_prompts(corpus):
        screen.remark(f"asking {planned.model} at {planned.host}")
        if planned.leaves:
            screen.warn(planned.leaves)
    show_asked(model.ask_prompts(corpus, key_env, screen.progress(), hosts=hosts), screen)


def _destination(
    target: Path, stream: CorpusStream
) -> tuple[AbstractContextManager[Path | IO[bytes]], str]:
    """Where predictions go, and for standard output in which format: that of the data, where it can be written."""
    from unruly.texts.frame_table import PARQUET
    from unruly.texts.json_table import JsonTable
    from unruly.texts.table import ending

    kind = ending(Path(stream.table.name))
    if target != STREAM:
        return nullcontext(target), ""
    if kind in PARQUET:
        if sys.stdout.isatty():
            raise click.UsageError("Parquet is nothing for a terminal: pass the file with -o FILE")
        return _whole_file("out.parquet"), ".parquet"
    lines = isinstance(stream.table, JsonTable)
    return nullcontext(results(sys.stdout)), ".jsonl" if lines else ".csv"


def _show_written(written: Written, target: Path, missing: str, screen: Screen) -> None:
    from unruly.findings import finding_to_plain
    from unruly.texts.table import row_remarks

    screen.answer(
        {
            "output": str(target),
            "text": written.text,
            "documents": written.documents,
            "covered": written.covered,
            "missing": written.missing,
            "skipped": len(written.skipped),
            "broken": [asdict(file) for file in written.broken],
            "given_up": [finding_to_plain(fact) for fact in written.given_up],
            "unasked": [finding_to_plain(fact) for fact in written.unasked],
            "labels": written.labels,
            "columns": written.columns,
        }
    )
    then = ": labelled by the class shares" if missing == "label" else ": left empty"
    for line in row_remarks(written.skipped, written.missing, then, written.broken):
        screen.remark(line)
    for fact in written.unasked:
        screen.remark(
            f"{fact.source} has not been asked about {fact.documents:,} of {plural(fact.of, 'document')}: --ask asks"
        )
    name = "standard output" if target == STREAM else str(target)
    labels = counted(written.labels, written.labels.values())
    screen.remark(f"{name}: {plural(written.documents, 'document')}: {labels}")


@contextmanager
def _whole_file(name: str) -> Iterator[Path]:
    """A temporary file that goes to standard output once it is whole."""
    with temporary_folder() as scratch:
        yield scratch / name
        with (scratch / name).open("rb") as done:
            shutil.copyfileobj(done, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@click.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@output_option("The Parquet file to write; with --engine ray, a folder of them.")
@text_options
@split_option
@bad_row_option
@functions_option
@threaded_options
@json_option
@quiet_option
def encode(
    model: Path,
    data: Path,
    output: Path,
    text: str | None,
    id_: str | None,
    split: str,
    on_bad_row: str,
    functions: tuple[Path, ...],
    engine: str,
    address: str | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the features (embeddings) that a model computes for each text of a file.

    The output keeps the columns and the order of DATA and adds the column features, a list of numbers, which other programs, or
    another project by `encoder = { column = "features" }`, can learn from. DATA is a file of texts, a folder of Parquet files, or a
    project or a WRENCH folder, whose test file is then used.

    \b
    Example:
      unruly encode spam.unruly comments.csv -o features.parquet
      unruly encode spam.unruly comments/ -o features/ --engine ray --workers 8
    """
    from unruly.model.predictions import encode_stream
    from unruly.texts.table import row_remarks

    screen = Screen(quiet, as_json)
    placement = placement_of(engine, address, workers if engine == "ray" else None)
    given = Data.of(data, on_bad_row)
    found = given.file(split, text=text, id=id_)
    if placement is not None:
        from unruly.distributed.run import encode

        _on_cluster(encode, model, found, output, functions, placement, screen)
        return
    check_output(output, (".parquet",), (model, *functions, *given.inputs))
    loaded = load_model(model, functions, given)
    with found.for_model(loaded.text_column).stream(loaded.class_names, split) as stream:
        done = encode_stream(loaded, stream, output, screen.progress(), workers)
    screen.answer(
        {
            "output": str(done.path),
            "documents": done.documents,
            "width": done.width,
            "column": done.column,
            "skipped": len(done.skipped),
            "broken": [asdict(file) for file in done.broken],
            "missing": done.missing,
        }
    )
    for line in row_remarks(done.skipped, done.missing, broken=done.broken):
        screen.remark(line)
    screen.remark(
        f"{done.path}: {plural(done.documents, 'document')}, {plural(done.width, 'number')} each in {done.column}"
    )


def _on_cluster(
    run: Callable[..., ClusterRun],
    model: Path,
    data: DataFile,
    output: Path,
    functions: tuple[Path, ...],
    placement: Placement,
    screen: Screen,
) -> None:
    """The same over many workers, from Parquet to a folder of Parquet files."""
    done = run(
        model,
        data.path,
        output,
        text=data.text,
        id=data.id,
        on_bad_row=data.on_bad_row,
        functions=functions,
        placement=placement,
        progress=screen.progress(),
    )
    show_cluster_run(done, screen)
