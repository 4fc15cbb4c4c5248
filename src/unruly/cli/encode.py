"""`unruly encode`: a file of texts in, the same file with a model's features out."""

from __future__ import annotations

from pathlib import Path

import click

from unruly.cli.options import (
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
from unruly.wording import plural


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@output_option("The Parquet file to write; with --engine ray, a folder of them.")
@text_options
@split_option
@bad_row_option
@functions_option
@engine_options
@json_option
@quiet_option
def command(
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
    """Write every text of a file with the features that a model reads of it.

    The output keeps the columns and the order of DATA and adds features, a list of numbers, which other programs, or
    another project by `encoder = { column = "features" }`, can learn from. DATA is a file of texts, a folder of Parquet files, or a
    project or a WRENCH folder, whose test file is then used.

    \b
    Example:
      unruly encode spam.unruly comments.csv -o features.parquet
      unruly encode spam.unruly comments/ -o features/ --engine ray --workers 8
    """
    from unruly.cli.documents import load_model, named
    from unruly.model.predictions import encode_file

    screen = Screen(quiet, as_json)
    check_engine(engine, address, workers)
    found = named(data, split, text=text, id=id_, on_bad_row=on_bad_row)
    if engine == "ray":
        from unruly.cli.screen import show_spread
        from unruly.distributed.run import Placement, encode

        spread = encode(
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
    check_output(output, (".parquet",))
    loaded = load_model(model, functions, data)
    with found.as_file(loaded.class_names, split) as file:
        done = encode_file(
            loaded,
            file.path,
            output,
            text=file.text,
            id=file.id,
            on_bad_row=on_bad_row,  # type: ignore[arg-type]
            progress=screen.progress(),
        )
    screen.answer(
        {
            "output": str(done.path),
            "documents": done.documents,
            "width": done.width,
            "column": done.column,
            "skipped": len(done.skipped),
        }
    )
    for bad in done.skipped[:10]:
        screen.remark(f"left out: {bad}")
    screen.remark(
        f"{done.path}: {plural(done.documents, 'document')}, {plural(done.width, 'number')} each in {done.column}"
    )
