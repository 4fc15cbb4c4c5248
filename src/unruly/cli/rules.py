"""`unruly new`, `check`, `vote` and `suggest`: a starter folder, is the project sound, the votes of its rules, and new rules."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    Data,
    bad_row_option,
    check_output,
    defuse_option,
    engine_options,
    json_option,
    load_model,
    open_project,
    output_option,
    placement_of,
    quiet_option,
    skipped_option,
    write_skipped,
)
from unruly.cli.screen import Screen, show_cluster_run, source_table
from unruly.errors import ExampleError, InputError, UnrulyError
from unruly.files import TABLES, check_not_input
from unruly.project import SPLITS
from unruly.wording import did_you_mean, listed, plural, same_name

if TYPE_CHECKING:
    from unruly.distributed.run import Placement
    from unruly.model.suggestions import MatchedText, RuleSuggestion
    from unruly.project.project import Project
    from unruly.project.proposals import Proposals
    from unruly.project.suggestions import Place, Suggestions
    from unruly.prompts.asking import Asked, Plan
    from unruly.rules.matching import VoteCache


@click.command()
@click.argument("name", type=PATH)
@click.option(
    "--data",
    type=PATH,
    help="Your file of texts: CSV, JSON Lines, Parquet, Excel …; or a folder in WRENCH's layout.",
)
@click.option("--classes", help='Your classes, with commas between: "billing,technical".')
@click.option("--text", help="The column of texts; guessed if left out.")
@click.option(
    "--label",
    help="A column of true labels, for scoring only. Its values are the classes unless you name them.",
)
@quiet_option
def new(
    name: Path,
    data: Path | None,
    classes: str | None,
    text: str | None,
    label: str | None,
    quiet: bool,
) -> None:
    """Make a project: for your own file of texts, or a starter to try.

    NAME is the folder to make; one that exists is never touched. With --data its unruly.toml names your file, which stays
    where it is, and begins with one source for each class. Without, it has eight sources, a few dozen texts and a
    README.

    \b
    Example:
      unruly new spam
      unruly new tickets --data tickets.csv --classes billing,technical,praise
    """
    from unruly.project.new import make_starter, new_project

    screen = Screen(quiet)
    if data is None:
        given = {"--classes": classes, "--text": text, "--label": label}
        if useless := [option for option, value in given.items() if value]:
            raise InputError(
                f"{listed(useless)} is about your own texts: name their file, --data FILE"
            )
        make_starter(name)
    else:
        listing = (classes or "").split(",")
        project = new_project(name, data, listing, text=text, label=label)
        named = "" if text else " (if it is another: --text)"
        ids = f"; ids: {project.data.id}" if project.data.id else ""
        texts = f"the texts are in the column {project.data.text}{named}{ids}"
        if project.data.text is None:
            texts = "texts and true labels are read from WRENCH's layout; its votes are not used"
        screen.remark(f"{data}: {texts}; classes: {listed(project.classes)}")
    screen.remark(
        f"{name} is ready: edit {name / 'unruly.toml'}, then run: unruly check {quote(str(name))}"
    )


REJECTED = 5  # proposals that cannot be rules, shown


@click.command()
@click.argument("project", type=PATH)
@click.option(
    "-n", "most", type=click.IntRange(1, 200), default=20, show_default=True, help="How many rules."
)
@click.option(
    "--model",
    type=PATH,
    help="A model of this project to judge by; else one is fitted now, in memory.",
)
@click.option("--llm", is_flag=True, help="Ask a language model for rules, and test these.")
@click.option(
    "--endpoint",
    help="With --llm: whom to ask, an OpenAI-compatible address; else the project's first prompt.",
)
@click.option("--llm-model", help="With --endpoint: the name of the language model.")
@click.option(
    "--key-env", help="With --endpoint: the environment variable that holds the endpoint's key."
)
@click.option(
    "--calls",
    type=click.IntRange(1),
    help="With --endpoint: the most requests, all runs together; needed where it is not this machine.",
)
@click.option("--plan", is_flag=True, help="With --llm: tell what asking would cost; send nothing.")
@click.option(
    "--accept",
    help="Numbers of suggestions shown last, as in 1,4: write them down; 4=spam: for another class.",
)
@click.option("--refuse", help="Numbers of suggestions shown last: do not suggest them again.")
@bad_row_option
@json_option
@quiet_option
def suggest(
    project: Path,
    most: int,
    model: Path | None,
    llm: bool,
    endpoint: str | None,
    llm_model: str | None,
    key_env: str | None,
    calls: int | None,
    plan: bool,
    accept: str | None,
    refuse: str | None,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Suggest new rules, and say what is wrong with the old ones.

    Words, phrases, word sequences, patterns, lengths and values of other columns that go with one class in the
    model's answers and reach documents without votes, the best first, each with matches that fit and that do
    not. Where few votes or labels on its matches speak for its class, a rule is called a guess: many of these are
    wrong. Gold labels are not used; labels by hand are, where the project has any. What can be done about an old
    rule (drop a word, disable a source, merge two) has a number as well. What you accept is written into
    unruly.toml, comments and layout kept; what you refuse is not suggested again (refused.jsonl).

    --llm asks a language model for words and patterns instead, one request a class, and shows it the class
    descriptions and the beginnings of some documents that rules disagree on or do not cover. What it answers is
    checked, tested on the texts and offered in the same way; nothing of it is run.

    \b
    Example:
      unruly suggest spam
      unruly suggest spam --llm --plan
      unruly suggest spam --llm --endpoint http://127.0.0.1:11434/v1 --llm-model mistral
      unruly suggest spam --accept 1,4=ham --refuse 2
    """
    from unruly.project.proposals import LlmSuggester, language_model
    from unruly.project.suggestions import Shown, suggest

    screen = Screen(quiet, as_json)
    opened = open_project(project, on_bad_row=on_bad_row)
    if accept is not None or refuse is not None:
        _decide(opened, with_classes(accept, opened.classes), numbers(refuse), screen)
        return
    shown = Shown.of(opened)
    if not llm and (plan or any(o is not None for o in (endpoint, llm_model, key_env, calls))):
        raise click.UsageError("--plan, --endpoint, --llm-model, --key-env and --calls need --llm.")
    judge = None if model is None else load_model(model, data=Data(project, opened))
    if llm:
        asked = language_model(opened, endpoint, llm_model, key_env, calls)
        suggester = LlmSuggester.of(opened, asked, judge, screen.progress())
        if plan:
            show_plans([suggester.plan()], screen)
            return
        _announce(suggester.plan(), screen)
        found = suggester.suggest(most, screen.progress())
    else:
        found = suggest(opened, most, judge, screen.progress())
    replace(shown, edits=found.edits).write(opened)
    screen.answer(found.to_plain())
    _show(found, opened, most, screen)
    if found.proposals is not None:
        _show_proposals(found.proposals, len(found.suggestions), screen)
    if numbered := len(found.edits):
        how = "--accept 1 --refuse 2" if numbered > 1 else "--accept 1 or --refuse 1"
        screen.remark(f"accept or refuse by number: unruly suggest {quote(str(project))} {how}")


def numbers(given: str | None) -> list[int]:
    """The numbers in a list with commas.

    >>> numbers("1, 4"), numbers(None)
    ([1, 4], [])
    """
    if given is None:
        return []
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        raise InputError(f"{given!r}: expected numbers with commas between, as in 1,4")
    return [int(part) for part in dict.fromkeys(parts)]


def with_classes(given: str | None, classes: tuple[str, ...]) -> dict[int, str | None]:
    """Numbers in a list with commas, each with the class that it is for, where one is named.

    >>> with_classes("1, 4=Ham", ("ham", "spam"))
    {1: None, 4: 'ham'}
    """
    found: dict[int, str | None] = {}
    for part in (given or "").split(","):
        number, named, label = part.partition("=")
        same = same_name(label.strip(), classes)
        if label.strip() and same is None:
            raise InputError(
                f"{label.strip()!r} is not a class: {did_you_mean(label.strip(), classes, 'the classes are')}"
            )
        for one in numbers(number) if named or part.strip() else ():
            found[one] = same
    if given is not None and not found:
        numbers(given)
    return found


def _decide(
    project: Project, accepted: dict[int, str | None], refused: list[int], screen: Screen
) -> None:
    from unruly.project.project import Project
    from unruly.project.suggestions import REFUSED, NewRule, decide
    from unruly.sentences import sentence

    decided = decide(project, accepted, refused)
    screen.answer(decided.to_plain())
    for one in decided.accepted:
        screen.say(f"accepted: {one}" + (f", in {one.place}" if isinstance(one, NewRule) else ""))
    for one in decided.refused:
        screen.say(f"refused: {one}, kept in {REFUSED}")
    assert project.file is not None
    for failure in Project.read(project.file).sources.check_examples():
        screen.remark(f"{sentence(failure)}: correct the example, or the rule")


def _show(found: Suggestions, project: Project, most: int, screen: Screen) -> None:
    from unruly.model.critique import remedy_of
    from unruly.sentences import critique_sentences, likely_gold_sentence, sentence

    by = "a model fitted now, not saved" if found.fitted_now else "the model"
    screen.say(f"judged by {by}; {_labels(found)}")
    for note in found.notes:
        screen.say(sentence(note, project.address))
    if found.stand_in is not None:
        screen.say(
            f"no rule votes for {found.stand_in}: documents without votes stand in for it, so look twice"
        )
    if found.likely_gold is not None:
        screen.say(likely_gold_sentence(found.likely_gold))
    if not found.suggestions and found.proposals is None:
        screen.say("no new rule goes with one class beyond your rules: label some documents")
    for number, (one, place) in enumerate(
        zip(found.suggestions, found.places, strict=True), start=1
    ):
        screen.say("\n" + _lines(number, one, place))
    if 0 < len(found.suggestions) < most and found.proposals is None:
        screen.say(f"\nno more than {len(found.suggestions)}: nothing else goes with one class")
    if found.critique:
        screen.say("\nabout your rules")
    numbers = {remedy: number for number, remedy in found.remedies}
    for critique, line in critique_sentences(found.critique, project.address):
        remedy = remedy_of(critique)
        mark = " - " if remedy is None else f"{numbers[remedy]:>2}."
        screen.say(
            f"{mark} {line}" + (f" To {remedy}, accept {numbers[remedy]}." if remedy else "")
        )


def _announce(plan: Plan, screen: Screen) -> None:
    """Whom the requests go to, before they do."""
    calls = f"{plural(plan.calls, 'request')} to send, {plan.cached:,} answered already"
    screen.remark(f"asking {plan.model} at {plan.host} for rules: {calls}")
    if plan.leaves:
        screen.warn(plan.leaves)


def _show_proposals(proposals: Proposals, offered: int, screen: Screen) -> None:
    """What a language model proposed, and what became of it."""
    show_asked([proposals.asked], screen)
    left = len(proposals.rules) - offered
    rest = f"; {left:,} match nothing, repeat what is there, or go with no class" if left else ""
    screen.say(
        f"\n{proposals.model}: {offered:,} of {plural(len(proposals.rules), 'proposed rule')} passed the checks on your texts{rest}"
    )
    for one in proposals.rejected[:REJECTED]:
        screen.say(f"- not taken, {one.label}: {one.text!r}: {one.why}")
    if (more := len(proposals.rejected) - REJECTED) > 0:
        screen.say(f"- and {more:,} more that cannot be rules")


def _labels(found: Suggestions) -> str:
    if not found.labels:
        return "no true labels, so accuracies are estimates"
    return f"{plural(found.labels, 'label')} by hand used"


def _lines(number: int, one: RuleSuggestion, place: Place) -> str:
    """One suggestion on the screen."""
    share = one.accuracy
    head = f"{number:>2}. {one.label}: {one.condition}  (into {place})"
    figures = (
        f"    {plural(one.documents, 'document')}, {one.uncovered:,} without votes; about {share.value:.0%} right "
        f"({share.low:.0%} to {share.high:.0%}; by chance {one.usual:.0%})"
    )
    if one.guess:
        head += "  guess: read its matches first"
    if one.changed is not None:
        figures += f"; would change {plural(one.changed, 'prediction')}"
    if one.measured is not None:
        labels = plural(round(one.measured.n), "label")
        figures += f"; right on {one.measured.value * one.measured.n:.0f} of {labels} by hand"
    fits = [f"    + {_example(match)}" for match in one.fits]
    misfits = [f"    - {_example(match)}" for match in one.misfits]
    odd = [] if one.perhaps_gold is None else [f"    ! {one.perhaps_gold}"]
    return "\n".join([head, figures, *odd, *fits, *misfits])


def _example(match: MatchedText) -> str:
    return f"{match.text}  ({match.label})"


_PATIENCE = 0.3  # seconds between two looks at the files


@click.command()
@click.argument("project", type=PATH)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to look at.")
@click.option("--watch", is_flag=True, help="Check again whenever a file of the project is saved.")
@bad_row_option
@json_option
@quiet_option
def check(
    project: Path, split: str, watch: bool, on_bad_row: str, as_json: bool, quiet: bool
) -> None:
    """Validate a project, run its rules' own examples, show its sources.

    PROJECT is a folder with unruly.toml, or the path of that file. The exit code is 1 when a rule
    does not match one of its examples, or matches one of its counter_examples, and when there is
    nothing to learn from: no vote at all, or votes for one class only.

    \b
    Example:
      unruly check spam
      unruly check spam --watch
      unruly check spam --json
    """
    screen = Screen(quiet, as_json)
    if not watch:
        check_once(project, split, on_bad_row, screen)
        return
    try:
        for _ in saves(project):
            click.clear()
            try:
                check_once(project, split, on_bad_row, screen)
            except UnrulyError as error:
                screen.say(f"error: {error}")
            screen.remark("watching the project's files: Ctrl-C ends it")
    except KeyboardInterrupt:  # as announced
        screen.remark("stopped")


def check_once(path: Path, split: str, on_bad_row: str | None, screen: Screen) -> None:
    """One check, shown; raises when it fails."""
    from unruly.project.voting import check_project
    from unruly.rules.matching import VoteCache
    from unruly.sentences import sentence

    project = open_project(path, on_bad_row=on_bad_row)
    checked = check_project(project, split, screen.progress(), VoteCache.default())
    screen.answer(checked.to_plain())
    for line in checked.lines():
        screen.say(line)
    if checked.disabled:
        off = "is disabled and left" if len(checked.disabled) == 1 else "are disabled and left"
        screen.say(f"{listed(checked.disabled)} {off} out")
    screen.table(source_table(checked.summary))
    if scored := checked.scored_line():
        screen.say(scored)
    screen.say(checked.summary.majority_line())
    held = checked.examples - len(checked.failures)
    screen.say(
        f"examples: {held} of {checked.examples} as expected"
        if checked.examples
        else "examples: none"
    )
    failed = [sentence(failure) for failure in checked.failures]
    for line in failed:
        screen.say(line)
    if failed:
        raise ExampleError(
            f"{plural(len(failed), 'example')} failed: change the rule or the example"
        )
    if not checked.learnable:
        raise ExampleError(f"nothing can be learnt from this project. {checked.lines()[0]}")


def saves(project: Path) -> Iterator[None]:
    """Once at the beginning, and again whenever a file of the project has been saved."""
    before: dict[Path, int] = {}
    while True:
        now = _saved(project)
        if now != before:
            before = now
            yield
        time.sleep(_PATIENCE)


def _saved(project: Path) -> dict[Path, int]:
    """When each file of the project was last written."""
    folder = project if project.is_dir() else project.parent
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    found = {}
    for path in files:
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:  # deleted between the two looks
            continue
    return found


@click.command()
@click.argument("project", type=PATH)
@output_option("The file to write: .parquet, .csv, .tsv, .jsonl or .ndjson.", required=False)
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Which file to vote on.")
@click.option("--no-cache", is_flag=True, help="Run every rule, whatever was matched before.")
@click.option(
    "--plan", is_flag=True, help="Show what asking the language models would cost; send nothing."
)
@click.option(
    "--data",
    type=PATH,
    help="With --engine ray: a Parquet file, or a folder of them, in place of the project's own.",
)
@engine_options
@bad_row_option
@skipped_option
@defuse_option
@json_option
@quiet_option
def vote(
    project: Path,
    output: Path | None,
    split: str,
    no_cache: bool,
    plan: bool,
    data: Path | None,
    engine: str,
    address: str | None,
    workers: int | None,
    on_bad_row: str,
    skipped: Path | None,
    defuse: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Apply the rules to the texts and write the vote matrix.

    One row for each text, in the order of the file and with its id; one column for each source.
    Parquet holds class numbers and -1 where a source abstains; CSV and JSON Lines hold class names.
    Files larger than memory are read as a stream. Only sources that were edited since the last run
    are matched again.

    Language models among the sources are asked first, within their budgets; every answer is kept the
    moment it arrives, so a run that was interrupted goes on where it stopped. --plan tells the
    requests, tokens, money and time that this takes, and sends nothing.

    \b
    Example:
      unruly vote spam -o votes.parquet
      unruly vote spam --split test -o votes.csv
      unruly vote spam --plan
      unruly vote spam -o votes/ --engine ray --workers 8
    """
    from unruly.project.voting import plan_split
    from unruly.rules.matching import VoteCache

    screen = Screen(quiet, as_json)
    placement = placement_of(engine, address, workers)
    if output is None and not plan:
        raise click.UsageError("Missing option '-o' / '--output'.")
    if data is not None and placement is None:
        raise click.UsageError("--data is an option of --engine ray")
    if placement is not None and (skipped is not None or defuse):
        raise click.UsageError("--skipped and --defuse cannot be used with --engine ray")
    opened = open_project(project, on_bad_row=on_bad_row)
    cache = None if no_cache else VoteCache.default()
    if plan or output is None:
        show_plans(plan_split(opened, split, cache), screen)
    elif placement is not None:
        data = data or opened.data.path(split, opened.folder)
        _vote_on_cluster(project, data, output, opened.data.on_bad_row, placement, screen)
    else:
        _vote_here(opened, split, output, cache, skipped, defuse, screen)


def _vote_on_cluster(
    project: Path,
    data: Path,
    output: Path,
    on_bad_row: str | None,
    placement: Placement,
    screen: Screen,
) -> None:
    from unruly.distributed.run import vote
    from unruly.texts.table import on_bad_row_of

    done = vote(
        project,
        data,
        output,
        on_bad_row=on_bad_row_of(on_bad_row),
        placement=placement,
        progress=screen.progress(),
    )
    show_cluster_run(done, screen)


def _vote_here(
    project: Project,
    split: str,
    output: Path,
    cache: VoteCache | None,
    skipped: Path | None,
    defuse: bool,
    screen: Screen,
) -> None:
    from unruly.project.voting import ask_split, plan_split, vote_split
    from unruly.texts.table import row_remarks
    from unruly.votes.files import loss, write_votes

    check_output(output, TABLES)
    check_not_input(output, project.inputs())
    if skipped is not None:
        check_output(skipped, inputs=(*project.inputs(), output))
    for planned in plan_split(project, split, cache):
        if planned.leaves:
            screen.warn(planned.leaves)
    asked = ask_split(project, split, screen.progress(), cache)
    show_asked(asked, screen)
    voted = vote_split(project, split, screen.progress(), cache)
    votes, texts = voted.votes, voted.texts
    write_votes(votes, output, defuse=defuse)
    if skipped is not None:
        write_skipped(skipped, (*texts.skipped, *texts.broken))
    screen.answer(
        {
            "documents": votes.n,
            "sources": votes.k,
            "coverage": votes.coverage,
            "missing": texts.blank,
            "skipped": len(texts.skipped),
            "asked": [asdict(one) for one in asked],
            "broken": [asdict(file) for file in texts.broken],
            "output": str(output),
        }
    )
    screen.remark(
        f"{output}: {plural(votes.n, 'document')}, {plural(votes.k, 'source')}; {votes.coverage:.1%} of the "
        "documents have a vote"
    )
    if lost := loss(votes, output):
        screen.remark(lost)
    for line in row_remarks(texts.skipped, texts.blank, ": no rule votes there", texts.broken):
        screen.remark(line)


def show_asked(asked: Sequence[Asked], screen: Screen) -> None:
    """The outcome of asking, source by source; a failure is shown even with --quiet."""
    from unruly.project.voting import asked_line

    for one in asked:
        (screen.warn if one.failed else screen.remark)(asked_line(one))


def show_plans(plans: Sequence[Plan], screen: Screen) -> None:
    """What asking would cost, source by source."""
    screen.answer({"plans": [plan.to_plain() for plan in plans]})
    for plan in plans:
        screen.say(str(plan))
    if not plans:
        screen.say("no source is a language model: there is nothing to ask")
