"""`unruly fit`, `evaluate` and `worth`: from a project to a saved model; the model, and the rules, against gold labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from unruly.cli.options import (
    PATH,
    Command,
    Data,
    bad_row_option,
    check_output,
    encoder_option,
    engine_options,
    first_id,
    functions_option,
    json_option,
    label_option,
    load_model,
    open_project,
    output_option,
    placement_of,
    quiet_option,
    remarks_on,
    skipped_option,
    split_option,
    text_options,
    write_skipped,
)
from unruly.cli.screen import Screen, table_of
from unruly.errors import InputError, Where
from unruly.files import TABLES, check_not_input
from unruly.progress import Timed
from unruly.project import SAMPLE
from unruly.settings import SETTINGS, options_of_others

if TYPE_CHECKING:
    from unruly.distributed.run import Placement
    from unruly.model.weak_classifier import WeakClassifier
    from unruly.project.project import FittedProject, Project
    from unruly.settings import Option


_TYPED = "unruly.settings"  # where the command's context keeps them


def setting_options(command: Command) -> Command:
    """One option for each setting of each method: `--learning-rate` for `learning_rate`."""
    owners: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for method, kind in SETTINGS.items():
        for option in kind.options():
            owners.setdefault(option.name, []).append(method)
            options.setdefault(option.name, option)
    for name in reversed(options):
        command = _setting_option(options[name], owners[name] == ["paper"])(command)
    return command


def _setting_option(option: Option, paper: bool) -> Callable[[Command], Command]:
    flag, help = option.flag, option.help[:1].upper() + option.help[1:] + "."
    kind: Any = bool
    if option.range is None:
        flag += f"/--no-{flag.removeprefix('--')}"
    elif option.range.choices:
        kind = click.Choice(option.range.choices)
    else:
        kind = int if option.range.whole else float
    if paper:
        help = f"--method paper: {option.help}."
    if option.range is not None and option.default is not None:
        help += f"  [default: {option.default}]"
    return click.option(
        flag, option.name, type=kind, expose_value=False, callback=_keep, help=help, default=None
    )


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None:
        context.meta.setdefault(_TYPED, {})[parameter.name] = value


def typed_settings(context: click.Context) -> Mapping[str, Any]:
    """The settings that were typed, by name."""
    return dict(context.meta.get(_TYPED, {}))


def check_typed(typed: Mapping[str, Any], method: str) -> None:
    """Refuse an option that the chosen method does not use.

    >>> check_typed({"epochs": 5}, "default")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: --epochs is an option of --method paper: add it, or leave --epochs out
    """
    others = options_of_others(method)
    for name in typed:
        if name in others:
            flag = "--" + name.replace("_", "-")
            raise InputError(
                f"{flag} is an option of --method {others[name]}: add it, or leave {flag} out"
            )


@click.command()
@click.argument("project", type=PATH)
@output_option("The model file to write.")
@encoder_option
@click.option(
    "--prior",
    help='The class shares, if you know them: "0.9,0.1", "spam is about 1 in 8", uniform, or votes.',
)
@click.option("--method", type=click.Choice(list(SETTINGS)), help="Training method.")
@click.option("--seed", type=click.IntRange(0), help="Random seed.  [default: 0]")
@click.option(
    "--score/--no-score", default=True, help="Score against gold labels where there are any."
)
@click.option(
    "--no-excerpts",
    is_flag=True,
    help="Store no excerpts of training texts in the model: explanations then show no nearest documents.",
)
@click.option(
    "--sample",
    type=click.IntRange(0),
    metavar="N",
    default=SAMPLE,
    show_default=True,
    help="Train on a random sample of at most N documents (labelled ones always included); 0 for all.",
)
@engine_options
@bad_row_option
@skipped_option
@setting_options
@json_option
@quiet_option
@click.pass_context
def fit(
    context: click.Context,
    project: Path,
    output: Path,
    encoder: tuple[str, ...],
    prior: str | None,
    method: str | None,
    seed: int | None,
    score: bool,
    no_excerpts: bool,
    sample: int,
    engine: str,
    address: str | None,
    workers: int | None,
    on_bad_row: str,
    skipped: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a classifier from a project's rules and texts, and save it.

    No gold label is used in training, except those of labels.csv (or the file under `labels` in [data]),
    which `unruly label` writes, and those of the validation file when --method paper has --selection gold
    or --calibrate; the ledger that is printed, and kept in the model, lists them. Gold labels of the test file score the result; without a
    test file those of the training file do, and new documents may come out differently. Options below override [encoder] and
    [train] of the project; those of another method than the one used are refused.

    With --engine ray, workers draw, match and encode the sample; training runs on this machine, without scoring.

    \b
    Example:
      unruly fit spam -o spam.unruly
      unruly fit spam -o spam.unruly --prior "spam is about 1 in 8"
      unruly fit spam -o spam.unruly --encoder lsa --method paper --hidden 64
    """
    from unruly.prior import unused_by_paper

    screen = Screen(quiet, as_json)
    check_output(output)
    placement = placement_of(engine, address, workers)
    opened = open_project(project, encoder, on_bad_row)
    check_not_input(output, opened.inputs())
    _check_model_name(output)
    if skipped is not None:
        if placement is not None:
            raise click.UsageError("--skipped cannot be used with --engine ray")
        check_output(skipped, inputs=(*opened.inputs(), output))
    opened = _with_options(opened, method, seed, typed_settings(context))
    if prior is not None:
        if opened.method == "paper":
            raise InputError(unused_by_paper("--prior"))
        opened = replace(opened, prior=prior)
    if placement is not None:
        _fit_on_cluster(opened, output, sample, not no_excerpts, placement, screen)
        return
    timed = Timed(screen.progress())
    fitted = opened.fit(timed, score=score, excerpts=not no_excerpts, sample=sample)
    fitted.model.save(output)
    if skipped is not None:
        write_skipped(skipped, (*fitted.skipped, *fitted.broken))
    screen.answer({**fitted.to_plain(), "output": str(output)})
    screen.say(str(fitted))
    for line in fitted.remarks():
        screen.remark(line)
    if code := _code_options(fitted):
        screen.remark(
            f"the model does not carry all that it needs: with a file or a text in place of the project, predict, "
            f"explain, serve and report need{code}"
        )
    if longest := where_time_went(timed.seconds):
        screen.remark(longest)
    screen.remark(f"{output} is ready, try: {_explaining(fitted, Data(project, opened), output)}")


def _fit_on_cluster(
    project: Project,
    output: Path,
    sample: int,
    excerpts: bool,
    placement: Placement,
    screen: Screen,
) -> None:
    from unruly.distributed.learn import fit
    from unruly.project.project import PRIOR_UNUSED

    model = fit(
        project,
        Path(f"{output.absolute()}.unfinished"),
        sample=sample,
        excerpts=excerpts,
        placement=placement,
        progress=screen.progress(),
    )
    model.save(output)
    summary = model.summary_
    screen.answer({**summary.to_plain(), "output": str(output)})
    screen.say("\n".join([*summary.lines(project.address), str(model.ledger_)]))
    if project.prior_unused:
        screen.remark(PRIOR_UNUSED)


def where_time_went(seconds: Mapping[str, float]) -> str:
    """The stages that took a second or longer; empty where none did.

    >>> where_time_went(
    ...     {"reading comments.csv": 0.1, "encoding with minilm": 6.84, "learning": 1.2}
    ... )
    'time: encoding with minilm 7 s, learning 1 s'
    """
    long = [f"{what} {time:,.0f} s" for what, time in seconds.items() if time >= 1]
    return f"time: {', '.join(long)}" if long else ""


def _code_options(fitted: FittedProject) -> str:
    """The options that name the Python files of its rules and its encoders, for a command line; empty where there are none."""
    from unruly.features.registry import named_in
    from unruly.model.saved_rules import function_files

    project = fitted.project
    files = function_files(project.sources, project.folder)
    encoders = named_in(project.encoder, project.folder)
    named = [("--functions", one) for one in files] + [("--encoder", one) for one in encoders]
    return "".join(f" {option} {quote(str(one))}" for option, one in named)


_NO_MODELS = (*TABLES, ".json", ".xlsx", ".toml", ".py", ".html", ".txt")


def _check_model_name(path: Path) -> None:
    """Refuse the name of a table or of another kind of file for a model.

    >>> _check_model_name(Path("labels.csv"))
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: labels.csv: a model is no .csv file: name it labels.unruly (`unruly predict` writes tables)
    """
    ending = path.suffix.lower()
    if ending in _NO_MODELS:
        hint = " (`unruly predict` writes tables)" if ending in TABLES else ""
        raise InputError(
            f"a model is no {ending} file: name it {path.with_suffix('.unruly')}{hint}",
            where=Where(str(path)),
        )


def _explaining(fitted: FittedProject, project: Data, model: Path) -> str:
    """A command that explains a text; a document of the project, where rules read other columns."""
    command = f"unruly explain {quote(str(model))}"
    if fitted.model.rule_columns_:
        own = first_id(project, fitted.model.class_names)
        if own is not None:
            return f"{command} --data {quote(str(project.path))} --id {quote(own)}"
    return f'{command}{_code_options(fitted)} "a text of yours"'


def _with_options(
    project: Project, method: str | None, seed: int | None, typed: Mapping[str, Any]
) -> Project:
    """The project with the method, the seed and the settings that were typed."""
    if method is not None and method != project.method:
        project = replace(project, method=method, settings=None)
    check_typed(typed, project.method)
    assert project.settings is not None
    if typed:
        project = replace(project, settings=replace(project.settings, **typed))
    return project if seed is None else replace(project, seed=seed)


@click.command()
@click.argument("model", type=PATH)
@click.argument("data", type=PATH)
@text_options
@label_option
@click.option(
    "--labels",
    is_flag=True,
    help="Estimate the accuracy on the training documents from labels.csv of the project DATA.",
)
@click.option(
    "--against",
    type=PATH,
    help="With --labels: another model of the project, to estimate by how much MODEL is better.",
)
@split_option
@bad_row_option
@functions_option
@json_option
@quiet_option
def evaluate(
    model: Path,
    data: Path,
    text: str | None,
    id_: str | None,
    label: str | None,
    labels: bool,
    against: Path | None,
    split: str,
    on_bad_row: str,
    functions: tuple[Path, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a model against gold labels.

    Accuracy, macro-F1, F1 of each class and calibration error, beside majority vote, on documents
    that rules cover and on those that they do not; and what gold was used for the model. DATA is a
    file of texts and labels, or a project or a WRENCH folder, whose test file is then used.

    With --labels a few labels made by `unruly label` suffice: the interval knows how they were drawn. Those that the
    model was trained on are held out in turn, and it is fitted again without them; all others judge it as it is.
    Two such estimates differ by chance: --against compares two models on the same labels.

    \b
    Example:
      unruly evaluate spam.unruly test.csv --label is_spam
      unruly evaluate spam.unruly spam --labels
      unruly evaluate new.unruly spam --labels --against spam.unruly
    """
    given = Data.of(data, on_bad_row)
    screen = Screen(quiet, as_json)
    if against is not None and not labels:
        raise click.UsageError(
            "--against needs --labels; `unruly diff` compares two models without."
        )
    loaded = load_model(model, functions, given)
    given.check_same_task(loaded.class_names)
    if labels:
        other = None if against is None else load_model(against, functions, given)
        _by_labels(loaded, other, given, screen)
        return
    named = given.file(split, text=text, id=id_, label=label)
    documents = named.for_model(loaded.text_column).with_gold(required=True)
    corpus = documents.read(loaded.class_names, split)
    evaluation = loaded.evaluate(corpus, progress=screen.progress())
    rows = {"missing": corpus.missing_count, "skipped": len(corpus.skipped)}
    screen.answer({**evaluation.to_plain(), "text": documents.text, **rows})
    screen.say(str(evaluation))
    for line in remarks_on(named, documents, [corpus]):
        screen.remark(line)


def _by_labels(
    model: WeakClassifier,
    other: WeakClassifier | None,
    data: Data,
    screen: Screen,
) -> None:
    """The accuracy on the training documents of a project, from its labels; and how much better it is than another model."""
    from unruly.labelling.answers import problem_lines, problems_to_plain
    from unruly.labelling.estimates import compare_accuracies

    project = data.project
    if project is None:
        raise InputError(
            "--labels are a project's labels: pass the project's folder",
            where=Where(str(data.path)),
        )
    for one in (model, other):
        if one is not None:
            project.check_model(one)
    corpus = project.corpus("train")
    labels = project.labels(corpus)
    found = model.estimate_accuracy(labels, corpus, progress=screen.progress())
    ledger = model.ledger_.add(found.gold.use, found.gold.labels, found.gold.origin)
    plain, lines = {**found.to_plain(), "ledger": ledger.to_plain()}, [str(found)]
    if other is not None:
        before = other.estimate_accuracy(labels, corpus, progress=screen.progress())
        gain = compare_accuracies(found, before, labels)
        plain["against"] = {**before.to_plain(), **gain.to_plain()}
        # Without the other's own estimate: each is nearer to the truth alone, and the two do not differ by the gain.
        lines += [
            f"difference on the same labels: {gain}",
            "rank the models by this difference, not by their two accuracies: it is estimated from the same labels",
        ]
    screen.answer({**plain, "problems": problems_to_plain(labels.problems, labels.origin)})
    screen.say("\n".join([*lines, str(ledger)]))
    for line in problem_lines(labels.problems, labels.origin, project.address):
        screen.remark(line)
    if other is None and found.wide:
        screen.remark(
            "too few labels to rank two models by such estimates: --against OTHER compares both on the same labels"
        )


@click.command()
@click.argument("project", type=PATH)
@encoder_option
@click.option(
    "--draws",
    type=click.IntRange(2, 100),
    default=5,
    show_default=True,
    help="How often labels are drawn for each number of them.",
)
@json_option
@quiet_option
def worth(project: Path, encoder: tuple[str, ...], draws: int, as_json: bool, quiet: bool) -> None:
    """Estimate how many hand labels a project's rules are worth.

    A model learns from the rules alone; a classifier on the same features learns from 10, 20, 50, ...
    gold labels. Both are scored on the test file, or without one on half of the labelled training
    documents. The rules are worth as many labels as the classifier needs to match them. Gold labels
    must be in the training file, or in labels.csv.

    \b
    Example:
      unruly worth spam
    """
    from unruly.project.worth import project_worth

    screen = Screen(quiet, as_json)
    worth = project_worth(open_project(project, encoder), draws, screen.progress())
    screen.answer(worth.to_plain())
    rows = [
        (
            f"{r.labels:,}",
            f"{r.accuracy:.1%}",
            "-" if r.deviation is None else f"± {r.deviation:.1%}",
        )
        for r in worth.curve
    ]
    rows.append(("the rules", str(worth.rules), ""))
    screen.table(table_of(("hand labels", "accuracy", "spread over draws"), rows, last=True))
    screen.say(worth.sentence)
    screen.say(str(worth.ledger))
