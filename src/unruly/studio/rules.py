"""Rules: the table of sources with their figures, and the editor of one source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import ndiff
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import PlainTextResponse, Response

from unruly.errors import InputError, UnrulyError
from unruly.project.editing import source_names, source_text
from unruly.rules.condition import Condition
from unruly.rules.matching import VoteCache
from unruly.rules.similar import DESCRIBE, descriptions_of, lines_of
from unruly.statistics import Share
from unruly.studio.documents import cards
from unruly.studio.forms import NoFormError, SourceForm, changed, new_source, with_words
from unruly.studio.kinds import KINDS
from unruly.studio.preview import (
    Outcome,
    Preview,
    PreviewedDocuments,
    Wrong,
    prepare,
    preview,
    preview_sampled,
)
from unruly.studio.state import State, counts_with
from unruly.studio.training import Job, Trainer
from unruly.studio.workspace import Workspace
from unruly.votes.majority import winners
from unruly.wording import index_of

if TYPE_CHECKING:
    from unruly.prompts.asking import Plan
    from unruly.studio.app import PageRequest, Routes, Studio


@dataclass(frozen=True)
class SourceRow:
    """One source of the project, disabled ones included."""

    name: str
    enabled: bool
    labels: tuple[str, ...]  # the classes that it votes for
    conditions: tuple[Condition, ...]  # of its first rules
    votes: int = 0
    coverage: float = 0.0
    overlaps: float = 0.0
    conflicts: float = 0.0
    unasked: float = 0.0  # documents that a language model was not asked about
    alone: int = 0  # documents that no other source covers
    decides: int = 0  # documents whose majority vote would be another without it, these included
    estimated: Share | None = None  # its accuracy, as the model estimates it without gold
    measured: Share | None = None  # against labels


def source_rows(state: State, estimates: Mapping[str, Share]) -> tuple[SourceRow, ...]:
    """All sources in the order of the file."""
    return state.once(("source rows", tuple(estimates.items())), lambda: _rows(state, estimates))


def _rows(state: State, estimates: Mapping[str, Share]) -> tuple[SourceRow, ...]:
    alone = state.votes.voted.sum(axis=1) == 1
    lines = {row.source: row for row in state.summary.sources} if state.votes.k else {}
    found = []
    for source in state.project.sources.with_disabled:
        conditions = tuple(rule.when for rule in source.rules[:3])
        line = lines.get(source.name)
        if line is None or line.j is None:
            classes = tuple(state.project.sources.classes)
            labels = tuple(
                dict.fromkeys(
                    classes[c] for rule in source.rules for c in rule.named(classes) or ()
                )
            )
            found.append(SourceRow(source.name, source.enabled, labels, conditions))
            continue
        voted = state.votes.voted[:, line.j]
        score = line.score
        found.append(
            SourceRow(
                name=source.name,
                enabled=True,
                labels=tuple(state.classes[c] for c in line.polarity),
                conditions=conditions,
                votes=int(voted.sum()),
                coverage=line.coverage,
                overlaps=line.overlaps,
                conflicts=line.conflicts,
                unasked=line.unasked,
                alone=int((voted & alone).sum()),
                estimated=estimates.get(source.name),
                decides=_decided(state, line.j),
                measured=score.share if score is not None and score.share.n else None,
            )
        )
    return tuple(found)


FIGURES = ("votes", "coverage", "overlaps", "conflicts", "alone", "decides", "accuracy", "measured")


def sorted_rows(rows: Sequence[SourceRow], by: str) -> tuple[SourceRow, ...]:
    """The sources by one of their figures, the greatest first and those without it last."""
    index_of(by, FIGURES, "figure")

    def figure(row: SourceRow) -> float:
        found = row.estimated if by == "accuracy" else getattr(row, by)
        value = found.value if isinstance(found, Share) else found
        return -1.0 if value is None or not row.enabled else float(value)

    return tuple(sorted(rows, key=figure, reverse=True))


def _decided(state: State, j: int) -> int:
    """The documents whose majority vote would be another without this source."""
    own = state.votes_of(state.votes.sources[j])
    rows = np.flatnonzero(own.voted)
    votes = own.take(rows)
    majority = winners(counts_with(state, rows, votes))
    return int((majority != state.winner[rows]).sum())


def plan_of(name: str, state: State) -> Plan | None:
    """The cost of querying the language model of a saved source; None where it is not a prompt."""
    from unruly.rules.prompt import plans, prompt_of

    source = next((one for one in state.project.sources.sources if one.name == name), None)
    if source is None or prompt_of(source) is None:
        return None
    (found,) = plans(state.project.sources, state.corpus, VoteCache.default(), only=name)
    return found


def ask_now(trainer: Trainer, name: str) -> None:
    """Query the model about documents without an answer, within the budget, and add the votes."""
    from unruly.project.voting import asked_line
    from unruly.rules.prompt import ask as ask_model
    from unruly.rules.prompt import prompt_of

    state = trainer.workspace.state
    source = next((one for one in state.project.sources.sources if one.name == name), None)
    if source is None or prompt_of(source) is None:
        raise InputError(f"{name!r} is not a saved prompt source: save it first")

    def work(job: Job) -> None:
        (done,) = ask_model(
            state.project.sources, state.corpus, job, VoteCache.default(), only=source.name
        )
        trainer.workspace.reload()
        if done.failed:
            raise InputError(asked_line(done))

    trainer.begin(f"querying {name}", work)


def table(studio: Studio, request: PageRequest) -> Response:
    """All sources with their figures."""
    work, trainer = studio.workspace, studio.trainer
    rows = source_rows(work.state, trainer.estimated())
    by = request.query.get("by", "")
    context = {
        "here": "rules",
        "state": work.state,
        "rows": sorted_rows(rows, by) if by else rows,
        "by": by,
        "figures": [one for one in FIGURES if one != "accuracy" or trainer.current],
        "summary": work.state.summary if work.state.votes.k else None,
        "model": trainer.current,
        "stale": trainer.stale,
        "written": set(source_names(work.state.text)),
        "failures": work.state.once(
            "failures", lambda: tuple(work.state.project.sources.check_examples())
        ),
    }
    return studio.page("rules.html", context)


def edit(studio: Studio, request: PageRequest) -> Response:
    """The editor of one source."""
    work = studio.workspace
    name = request.query.get("name", "")
    if name == DESCRIBE and name not in source_names(work.state.text):
        return described(studio, request)
    index_of(name, source_names(work.state.text), "source")  # refused where there is none
    saved = source_text(work.state.text, name)
    draft = work.draft(name)
    if "add" in request.query:
        draft = with_words(saved if draft is None else draft, _marked(request))
    return _editor(studio, name, saved, None if draft == saved else draft)


def new(studio: Studio, request: PageRequest) -> Response:
    """The editor of a new source, filled with words marked in a document."""
    work = studio.workspace
    words = _marked(request)
    label = request.query.get("class", "")
    if label not in work.state.classes:
        label = work.state.classes[0]
    text = new_source(words, label, source_names(work.state.text))
    draft = None if words else work.draft("")
    return _editor(studio, None, text, draft, unnamed=not words and draft is None)


def _marked(request: PageRequest) -> list[str]:
    """The words marked in a document, or the forms of them that were chosen."""
    words = " ".join(request.query.get("words", "").replace(",", " ").split())
    return request.lists.get("form") or ([words] if words else [])


def _editor(
    studio: Studio, name: str | None, saved: str, draft: str | None, *, unnamed: bool = False
) -> Response:
    """`unnamed`: the form has no name yet, and the source gets one by its words."""
    prepare(studio.workspace.state)
    text = draft if draft is not None else saved
    form, hint = _form_of(text)
    if form is not None and unnamed:
        form = replace(form, name="")
    kinds = set() if form is None else {c.kind for rule in form.rules for c in rule.conditions}
    context = {
        "here": "rules",
        "state": studio.workspace.state,
        "name": name,
        "original": saved,
        "text": text,
        "drafted": draft is not None,
        "changes": [] if name is None or draft is None else _changes(saved, draft),
        "form": form,
        "hint": hint,
        "focus": "",
        "toml": "",
        "kinds": KINDS,
        "asks": name is not None and "prompt" in kinds,
    }
    return studio.page("rule.html", context)


def _changes(saved: str, draft: str) -> list[str]:
    """The lines that a draft takes out of the saved source, which another tab may have changed, and puts in."""
    lines = ndiff(saved.strip().splitlines(), draft.strip().splitlines())
    return [line for line in lines if line[0] in "+-"]


def _form_of(text: str) -> tuple[SourceForm | None, str]:
    """The form of a source, or why there is none."""
    try:
        return SourceForm.of_toml(text), ""
    except NoFormError as error:
        return None, error.message


def form(studio: Studio, request: PageRequest) -> Response:
    """The form of a source in TOML; or the form that was sent, with a rule or a condition more, less or moved."""
    given, state = request.form, studio.workspace.state
    toml, act, focus = given.get("toml", ""), given.get("act"), ""
    if act is None:
        shown = SourceForm.of_toml(toml)
    else:
        shown = SourceForm.of_fields(given)
        if act:
            change = changed(shown, toml, act, state.classes)
            shown, toml, focus = change.form, change.toml, change.focus
        else:  # another kind of condition, or of vote
            toml = shown.to_toml(toml)
    context = {"form": shown, "state": state, "kinds": KINDS, "focus": focus, "toml": toml}
    return studio.page("_rule_form.html", context)


def preview_source(studio: Studio, request: PageRequest) -> Response:
    """The effect of the edited source."""
    work = studio.workspace
    given, toml = request.form, request.form.get("toml", "")
    saved = given.get("saved") or None
    state, lost = work.state, ""
    form = SourceForm.of_fields(given) if given.get("way") == "form" else None
    if form is not None and saved is None:
        form = form.named(source_names(state.text))
    try:
        toml = toml if form is None else form.to_toml(toml)
        if "typed" in given:  # before anything that takes time
            lost = _kept(work, saved or "", toml)
        outcome = _outcome(form, toml, state, saved, given)
        if isinstance(outcome, Preview) and not outcome.changed:  # then what the table has
            fitted = studio.trainer.estimated().get(saved or "")
            outcome = replace(outcome, by_model=fitted or outcome.by_model)
    except UnrulyError as error:
        outcome = Wrong(error.message or str(error))
    context: dict[str, Any] = {
        "state": state,
        "outcome": outcome,
        "toml": toml,
        "typed": "typed" in given,
        "lost": lost,
        "kind": "",
        "fresh": saved is None and "typed" not in given,
    }
    if isinstance(outcome, Preview):
        context |= {"kind": "preview", "groups": _groups(outcome, state)}
    else:
        context["kind"] = "wrong" if isinstance(outcome, Wrong) else "slow"
    return studio.page("_preview.html", context)


def _outcome(
    form: SourceForm | None, toml: str, state: State, saved: str | None, given: Mapping[str, str]
) -> Outcome:
    """The effect of a source; what is wrong with one in a form is said in the form's words."""
    problem = None if form is None else form.problem()
    if problem is None:
        if "exact" in given or "patient" in given:
            outcome = preview(toml, state, saved, patient="patient" in given)
        else:
            outcome = preview_sampled(toml, state, saved)
        if form is None or not isinstance(outcome, Wrong):
            return outcome
        problem = form.problem_at(outcome.message, outcome.keys)
    return Wrong(problem.message, field=problem.field, missing=problem.missing)


def _kept(work: Workspace, name: str, toml: str) -> str:
    """Save the draft; returns a message where the disk cannot be written."""
    try:
        work.keep_draft(name, toml)
    except OSError as error:
        return f"The draft cannot be saved ({error.strerror}): save the rule, or copy it elsewhere."
    return ""


def _groups(outcome: Preview, state: State) -> list[tuple[str, str, int, Any]]:
    """The documents behind the counts: title, explanation, count, and the first few."""
    new = outcome.before is None
    groups: list[tuple[str, str, PreviewedDocuments | None]] = [
        ("Matched" if new else "Newly matched", "", outcome.added),
        ("No longer matched", "", None if new else outcome.removed),
        ("Against the model", "the model says another class", outcome.contradicts),
        ("Majority vote changes", "", outcome.majority),
        ("All that it matches", "", None if new else outcome.matched),
    ]
    moves = dict(zip(outcome.majority.rows, outcome.moves, strict=True))
    return [
        (
            title,
            about,
            group.count,
            [
                (card, moves[card.row] if group is outcome.majority else None)
                for card in cards(state, group.rows, group.matches)
            ],
        )
        for title, about, group in groups
        if group is not None and group.count
    ]


def save(studio: Studio, request: PageRequest) -> Response:
    """Save the source; returns the address of the next page."""
    saved = request.form.get("saved") or None
    studio.workspace.save_source(
        request.form.get("toml", ""), saved, request.form.get("original", "")
    )
    return PlainTextResponse("/rules")


def change(studio: Studio, request: PageRequest) -> Response:
    """Duplicate, move, switch or delete a source."""
    given = request.form
    step = studio.workspace.change_source(given.get("what", ""), given.get("name", ""))
    return PlainTextResponse(step.what)


def described(studio: Studio, request: PageRequest) -> Response:
    """Class descriptions: a source that votes for the class with the nearest description."""
    state = studio.workspace.state
    found = (descriptions_of(source) for source in state.project.sources.with_disabled)
    known = next((one for one in found if one is not None), {})
    return studio.page("describe.html", {"here": "rules", "state": state, "known": known})


def describe(studio: Studio, request: PageRequest) -> Response:
    """Save the descriptions."""
    work = studio.workspace
    given = {name: request.form.get(f"about:{name}", "").strip() for name in work.state.classes}
    work.describe({name: "\n".join(lines_of(about)) for name, about in given.items()})
    return PlainTextResponse(
        "Class descriptions saved" if any(given.values()) else "Class descriptions removed"
    )


def plan(studio: Studio, request: PageRequest) -> Response:
    """The cost of querying the language model of a saved source; empty for other sources."""
    found = plan_of(request.query.get("name", ""), studio.workspace.state)
    return studio.page("_plan.html", {"plan": found})


def ask(studio: Studio, request: PageRequest) -> Response:
    """Query it in the background."""
    ask_now(studio.trainer, request.form.get("name", ""))
    return PlainTextResponse("Querying the model in the background")


def discard(studio: Studio, request: PageRequest) -> Response:
    """Discard a draft."""
    studio.workspace.keep_draft(request.form.get("name", ""), None)
    return PlainTextResponse("Draft discarded")


ROUTES: Routes = [
    ("GET", "/rules", table),
    ("GET", "/rule", edit),
    ("GET", "/rule/new", new),
    ("POST", "/rules/preview", preview_source),
    ("POST", "/rules/form", form),
    ("POST", "/rules/save", save),
    ("POST", "/rules/change", change),
    ("POST", "/rules/discard", discard),
    ("GET", "/rules/describe", described),
    ("POST", "/rules/describe", describe),
    ("GET", "/rules/plan", plan),
    ("POST", "/rules/ask", ask),
]
