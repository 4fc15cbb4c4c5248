"""`unruly show`, `explain`, `diff` and `report`: the documents behind a figure, why a text gets its label, what changed, all on one page."""

from __future__ import annotations

import os
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from shlex import quote
from textwrap import indent
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    Data,
    DataFile,
    bad_row_option,
    check_not_swapped,
    check_output,
    defuse_option,
    functions_option,
    json_option,
    label_option,
    load_model,
    one_document,
    open_project,
    output_option,
    quiet_option,
    remarks_on,
    text_options,
)
from unruly.cli.screen import Screen
from unruly.errors import InputError
from unruly.files import TABLES
from unruly.project import SPLITS
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.project.documents import ShownDocument
    from unruly.texts.corpus import Corpus
    from unruly.votes.votes import Votes


@click.command()
@click.argument("project", type=PATH)
@click.option("--source", help="Documents that this source votes on.")
@click.option(
    "--conflicts-with",
    help="Documents where this source votes for a different class than --source.",
)
@click.option("--label", help="Documents with a vote (of --source) for this class.")
@click.option("--uncovered", is_flag=True, help="Documents without any vote.")
@click.option("--id", "id_", help="The document with this id.")
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@click.option(
    "-n", "most", type=click.IntRange(1), default=20, show_default=True, help="How many at most."
)
@output_option(
    "Write them to a file instead: .parquet, .csv, .tsv, .jsonl or .ndjson.", required=False
)
@defuse_option
@bad_row_option
@json_option
@quiet_option
def show(
    project: Path,
    source: str | None,
    conflicts_with: str | None,
    label: str | None,
    uncovered: bool,
    id_: str | None,
    split: str,
    most: int,
    output: Path | None,
    defuse: bool,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show the documents behind any figure of a project.

    Every document comes with its id, its votes and what each rule matched, marked in the text.

    \b
    Example:
      unruly show spam --source link --label spam
      unruly show spam --source link --conflicts-with about_the_song
      unruly show spam --uncovered -n 100 -o uncovered.csv
      unruly show spam --id 17
    """
    from unruly.findings import finding_to_plain
    from unruly.project.documents import show
    from unruly.sentences import sentence

    screen = Screen(quiet, as_json)
    opened = open_project(project, on_bad_row=on_bad_row)
    if output is not None:
        check_output(output, TABLES, opened.inputs())
    found = show(
        opened,
        split,
        source=source,
        conflicts_with=conflicts_with,
        label=label,
        uncovered=uncovered,
        id=id_,
        most=most,
        progress=screen.progress(),
    )
    documents = [one.to_plain() for one in found.documents]
    why = found.why_none
    screen.answer(
        {
            "total": found.total,
            "blank": found.blank,
            "why_none": None if why is None else finding_to_plain(why),
            "documents": documents,
        }
    )
    if output is not None:
        found.write(output, defuse=defuse)
    else:
        for one in found.documents:
            screen.say(_lines(one))
    where = "" if output is None else f"{output}: "
    shown = f"{len(found.documents):,} of {plural(found.total, 'document')}"
    if why is not None:
        shown = f"No documents. {sentence(why)}"
    blank = f"; {plural(found.blank, 'row')} without a text left out" if found.blank else ""
    screen.remark(f"{where}{shown.rstrip('.') if blank else shown}{blank}")


def _lines(one: ShownDocument) -> str:
    """One document on the screen, what rules matched in brackets."""
    gold = "" if one.gold is None else f"  gold: {one.gold}"
    votes = "".join(f"\n  {vote.source}: {vote.label} ({one.why(vote)})" for vote in one.votes)
    text = indent(one.marked(), "  ")
    return f"{one.id}{gold}\n{text}{votes or chr(10) + '  no votes'}\n"


@click.command()
@click.argument("model", type=PATH)
@click.argument("text", required=False)
@click.option(
    "--data",
    type=PATH,
    help="A file or project: explain one of its documents, other columns included.",
)
@click.option(
    "--id",
    "id_",
    help="With --data: which document, by its id, or in a file without ids by its row number, from 0.",
)
@click.option("--id-column", help="With --data: the column with the ids; id, where there is one.")
@click.option("--text-column", help="With --data: the column with the texts, where not obvious.")
@click.option("--words", type=click.IntRange(0), default=8, help="How many words to show.")
@click.option(
    "--neighbours", type=click.IntRange(0), default=5, help="How many near documents to show."
)
@functions_option
@json_option
@quiet_option
def explain(
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

    The sources that voted, the rule and the words that matched; each vote's factor on the odds, and the
    estimated accuracy of its source (with the paper's method, its weight here and overall); what the
    two heads predict and which of them decides; the words with the largest effect, and the nearest training
    documents. TEXT may be - to read it from standard input. Rules that read other columns abstain on a
    TEXT; --data and --id explain a document with its columns. In a project, the id is looked for in the test
    file first, then in the others.

    \b
    Example:
      unruly explain spam.unruly "check out my channel"
      unruly explain spam.unruly - --json < letter.txt
      unruly explain spam.unruly --data test.csv --id 17
      unruly explain spam.unruly --data tickets.csv --id T-1042 --id-column number
    """
    screen = Screen(quiet, as_json)
    if (text is None) == (data is None) or (data is None) != (id_ is None):
        raise click.UsageError("give either a TEXT, or --data and --id")
    if data is None and (id_column or text_column):
        raise click.UsageError("--id-column and --text-column go with --data")
    typed = os.fsencode(text or "").decode("utf-8", "replace")  # arguments may be any bytes
    if typed.endswith(".unruly"):
        check_not_swapped(model, Path(typed))
    file_meant = _is_file(typed)
    named = None if data is None else Data.of(data)
    loaded = load_model(model, functions, named)
    given: object = sys.stdin.read() if text == "-" else typed
    if named is not None and id_ is not None:
        found = one_document(named, id_, loaded, text=text_column, id_column=id_column)
        given = found.corpus
        if found.elsewhere:
            screen.remark(f"{id_} is a document of {found.file}")
    explanation = loaded.explain(given, words=words, neighbours=neighbours)
    screen.answer(explanation.to_plain())
    screen.say(str(explanation))
    if file_meant:
        screen.remark(
            f"{typed} is explained as a text; to explain a document of this file, use --data {quote(typed)} --id ID"
        )
    if explanation.lacking and data is None:
        screen.remark(
            "to explain a document with its other columns, use --data FILE --id ID instead of a TEXT"
        )


def _is_file(text: str) -> bool:
    """Whether a text is the name of a file or a folder that is there."""
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # too long, or no name of a file at all
        return False


@click.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option(
    "--data",
    type=PATH,
    help="With two models: a file or project, to count the labels that differ.",
)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@functions_option
@json_option
@quiet_option
def diff(
    old: Path,
    new: Path,
    data: Path | None,
    split: str,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what changed between two projects or two models.

    Of two projects (two states of the rules): the sources that were added, removed or edited, how their votes
    differ on the documents of NEW, and labels by hand. Of two models also reliabilities, settings and gold
    labels used, and with --data the labels that differ.

    \b
    Example:
      unruly diff spam-monday spam
      unruly diff old.unruly new.unruly --data test.csv
    """
    from unruly.model.storage import is_model
    from unruly.project.difference import compare_models, compare_projects

    screen = Screen(quiet, as_json)
    if is_model(old) != is_model(new):
        raise InputError(f"{old} and {new}: compare two models, or two projects")
    if is_model(old):
        named = None if data is None else Data.of(data)
        models = [load_model(path, functions, named) for path in (old, new)]
        corpus = None
        if named is not None:
            documents = named.file(split).for_model(models[1].text_column)
            documents = replace(
                documents, text_option='text = "..." in a project, passed as --data'
            )
            corpus = documents.read_with_ids(models[1].class_names, split, models[1].id_column)
        difference = compare_models(models[0], models[1], corpus, screen.progress())
    else:
        difference = compare_projects(
            open_project(old), open_project(new), split, screen.progress()
        )
    screen.answer(difference.to_plain())
    screen.say(str(difference))


@click.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH, required=False)
@output_option("The page to write.")
@text_options
@label_option
@bad_row_option
@functions_option
@click.option("--open", "opened", is_flag=True, help="Show the page in the browser.")
@json_option
@quiet_option
def report(
    model: Path,
    data: Path | None,
    output: Path,
    text: str | None,
    id_: str | None,
    label: str | None,
    on_bad_row: str,
    functions: tuple[Path, ...],
    opened: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write everything about a model into one HTML page.

    A verdict beside majority vote, the sources, which of them agree, weights, noise, confidence,
    training, mistakes, documents to look at, and advice on rules. The page needs no network.
    DATA is a file of texts, a project or a WRENCH folder. The training file of a project is shown, and its test file,
    where it has labels, scores the model; a file of texts serves as both. Without gold labels, those of labels.csv estimate the accuracy.
    Gold labels score the model and its sources; rules that you change because of these scores have seen
    them. Without DATA the page shows what the model file alone knows.

    \b
    Example:
      unruly report spam.unruly spam -o report.html --open
    """
    from unruly.report.page import report
    from unruly.texts.columns import missing_column

    screen = Screen(quiet, as_json)
    if data is not None:
        check_not_swapped(model, data)
    given = None if data is None else Data.of(data, on_bad_row)
    check_output(output, inputs=(model, *functions, *(given.inputs if given else ())))
    documents = scored = votes = scored_votes = labels = None
    fitted = load_model(model, functions, given).fitted
    if given is not None:
        given.check_same_task(fitted.classes)
        columns = given.file("train", text=text, id=id_, label=label)
        columns = columns.for_model(fitted.text_column)
        file = columns.with_gold()
        documents = file.read_with_ids(fitted.classes, "train", fitted.id_column)
        scored = _test_file(given, columns, label, fitted.classes)
        read = [corpus for corpus in (documents, scored) if corpus is not None]
        if label is not None and all(corpus.gold is None for corpus in read):
            raise missing_column(label, file.names, name=str(file.path), role="label")
        for line in remarks_on(columns, file, read):
            screen.remark(line)
        if given.project is not None:
            labels = given.project.labels(documents)
        if fitted.rules is None:
            votes, scored_votes = (_stored_votes(given.path, split) for split in ("train", "test"))
    found = report(
        fitted,
        output,
        documents,
        scored,
        votes=votes,
        scored_votes=scored_votes,
        labels=labels,
        name=model.name,
        progress=screen.progress(),
    )
    screen.answer({**found.to_plain(), "output": str(output), "bytes": output.stat().st_size})
    screen.say(str(output))
    if opened:
        webbrowser.open(output.resolve().as_uri())


def _test_file(
    data: Data, columns: DataFile, label: str | None, classes: tuple[str, ...]
) -> Corpus | None:
    """The test documents of a project or of a WRENCH folder, where there are any."""
    from unruly.texts.wrench import is_wrench

    project = data.project
    if project is not None:
        if project.data.test is None:
            return None
        own = label or project.data.label_of("test")
        columns = replace(columns, path=project.data.path("test", project.folder), label=own)
    elif not is_wrench(data.path) or not (data.path / "test.json").is_file():
        return None
    return columns.with_gold().read(classes, "test")


def _stored_votes(data: Path, split: str) -> Votes | None:
    """The votes in a WRENCH folder, for a model that was fitted on such votes and carries no rules."""
    from unruly.texts.wrench import is_wrench
    from unruly.votes.votes import Votes

    if not is_wrench(data) or not (data / f"{split}.json").is_file():
        return None
    return Votes.from_wrench(data, split)
