"""`unruly suggest`: new rules and what is wrong with the old ones; accepted or refused by number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from unruly.cli.options import (
    PATH,
    Data,
    bad_row_option,
    json_option,
    load_model,
    open_project,
    quiet_option,
)
from unruly.cli.rules import show_asked, show_plans
from unruly.cli.screen import Screen
from unruly.errors import InputError
from unruly.wording import did_you_mean, plural, same_name

if TYPE_CHECKING:
    from unruly.model.suggestions import MatchedText, RuleSuggestion
    from unruly.project.project import Project
    from unruly.project.proposals import Proposals
    from unruly.project.suggestions import Place, Suggestions
    from unruly.prompts.asking import Plan

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
