"""`unruly suggest`: new rules and what is wrong with the old ones; accepted or refused by number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unruly.cli.options import bad_row_option, json_option, quiet_option
from unruly.cli.screen import Screen
from unruly.errors import InputError
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.model.suggestions import MatchedText, RuleSuggestion
    from unruly.project.project import Project
    from unruly.project.suggesting import Place, Suggestions


@click.command()
@click.argument("project", type=click.Path(path_type=Path))
@click.option(
    "-n", "most", type=click.IntRange(1, 200), default=20, show_default=True, help="How many rules."
)
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="A model of this project to judge by; else one is fitted now, in memory.",
)
@click.option("--accept", help="Numbers of suggestions shown last, as in 1,4: write them down.")
@click.option("--refuse", help="Numbers of suggestions shown last: do not suggest them again.")
@bad_row_option
@json_option
@quiet_option
def command(
    project: Path,
    most: int,
    model: Path | None,
    accept: str | None,
    refuse: str | None,
    on_bad_row: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Suggest new rules, and say what is wrong with the old ones.

    Words, phrases, word sequences, patterns, lengths and values of other columns that go with one class in the
    model's answers and reach documents without votes, the best first, each with matches that fit and that do
    not. Gold labels are not used; labels by hand are, where the project has any. Accepted rules are written into
    unruly.toml, refused ones into refused.csv.

    \b
    Example:
      unruly suggest spam
      unruly suggest spam --accept 1,4 --refuse 2
    """
    from unruly.cli.documents import load_model, open_project
    from unruly.project.suggesting import Kept, suggest

    screen = Screen(quiet, as_json)
    opened = open_project(project, on_bad_row=on_bad_row)
    if accept is not None or refuse is not None:
        _decide(opened, numbers(accept), numbers(refuse), screen)
        return
    judge = None if model is None else load_model(model, data=project)
    found = suggest(opened, most, judge, screen.progress())
    Kept.of(opened, found).write(opened)
    screen.answer(found.to_plain())
    _show(found, screen)
    if found.suggestions:
        screen.remark(f"accept or refuse by number: unruly suggest {project} --accept 1 --refuse 2")


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


def _decide(project: Project, accepted: list[int], refused: list[int], screen: Screen) -> None:
    from unruly.model.suggestions import Refused
    from unruly.project.suggesting import Kept, accept, refuse

    if both := sorted(set(accepted) & set(refused)):
        raise InputError(f"suggestion {both[0]} is both accepted and refused: choose one")
    kept = Kept.read(project)
    wanted = kept.taken(project, accepted)
    unwanted = kept.taken(project, refused)
    assert project.file is not None
    for rule, place in wanted:
        accept(project.file, rule, place)
        screen.say(f"accepted: {rule.when.reason()} for {rule.label}, in {place}")
    if unwanted:
        path = refuse(project.folder, [Refused.of(rule) for rule, _ in unwanted])
        for rule, _ in unwanted:
            screen.say(f"refused: {rule.when.reason()} for {rule.label}, kept in {path.name}")
    kept.renewed(project).write(project)
    screen.answer(
        {
            "accepted": [{"rule": rule.when.reason(), "into": vars(p)} for rule, p in wanted],
            "refused": [rule.when.reason() for rule, _ in unwanted],
        }
    )


def _show(found: Suggestions, screen: Screen) -> None:
    from unruly.model.wording import advice_sentence

    by = "a model fitted now, not saved" if found.fitted_now else "the model"
    screen.say(f"judged by {by}; {_labels(found)}")
    if found.stand_in is not None:
        screen.say(
            f"no rule votes for {found.stand_in}: documents without votes stand in for it, so look twice"
        )
    if not found.suggestions:
        screen.say("no new rule: nothing goes clearly with one class beyond the rules that exist")
    for number, (one, place) in enumerate(
        zip(found.suggestions, found.places, strict=True), start=1
    ):
        screen.say("\n" + _lines(number, one, place))
    if found.critique:
        screen.say("\nabout the rules that exist")
    for critique in found.critique:
        screen.say(f"- {advice_sentence(critique)}")


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
        f"({share.low:.0%} to {share.high:.0%}, at random {one.usual:.0%}); would change {plural(one.changed, 'label')}"
    )
    if one.measured is not None:
        figures += f"; {one.measured.value:.0%} right of {plural(round(one.measured.n), 'label')}"
    fits = [f"    + {_example(match)}" for match in one.fits]
    misfits = [f"    - {_example(match)}" for match in one.misfits]
    return "\n".join([head, figures, *fits, *misfits])


def _example(match: MatchedText) -> str:
    return f"{match.text}  ({match.label})"
