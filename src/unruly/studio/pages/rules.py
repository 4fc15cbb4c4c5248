"""Rules: the table of sources, and the editor that shows at every keystroke what an edit would do."""

from __future__ import annotations

from typing import Any

from starlette.responses import PlainTextResponse, Response

from unruly.errors import InputError, UnrulyError
from unruly.project.editing import source_names, source_text
from unruly.rules.describe import NAME as DESCRIBE
from unruly.rules.describe import descriptions_of
from unruly.studio.app import Asked, Studio, get, post
from unruly.studio.asking import ask_now, plan_of
from unruly.studio.cards import cards
from unruly.studio.form_kinds import KINDS, words_in
from unruly.studio.forms import RuleForm, new_source
from unruly.studio.models import source_estimates
from unruly.studio.pages.setup import the
from unruly.studio.preview import Preview, Shown, Wrong, preview, preview_sampled
from unruly.studio.sources import source_rows
from unruly.studio.state import State
from unruly.studio.workspace import Workspace
from unruly.wording import index_of


def table(studio: Studio, asked: Asked) -> Response:
    """All sources with their figures."""
    work, trainer = the(studio), studio.trainer
    assert trainer is not None
    summary = trainer.summary()
    context = {
        "here": "rules",
        "state": work.state,
        "rows": source_rows(work.state, source_estimates(summary)),
        "summary": work.state.summary if work.state.votes.k else None,
        "model": trainer.current,
        "stale": trainer.stale,
        "written": set(source_names(work.state.text)),
        "failures": work.state.once(
            "failures", lambda: tuple(work.state.project.sources.check_examples())
        ),
    }
    return studio.page("rules.html", context)


def edit(studio: Studio, asked: Asked) -> Response:
    """The editor of one source."""
    work = the(studio)
    name = asked.query.get("name", "")
    if name == DESCRIBE and name not in source_names(work.state.text):
        return described(studio, asked)
    index_of(name, source_names(work.state.text), "source")  # refused where there is none
    saved = source_text(work.state.text, name)
    draft = work.draft(name)
    return _editor(studio, name, saved, None if draft == saved else draft)


def new(studio: Studio, asked: Asked) -> Response:
    """The editor of a new source, with words that were marked in a document where there are any."""
    work = the(studio)
    words = asked.lists.get("form") or words_in(asked.query.get("words", "").replace(",", " "))
    label = asked.query.get("class", "")
    if label not in work.state.classes:
        label = work.state.classes[0]
    text = new_source(words, label, source_names(work.state.text))
    return _editor(studio, None, text, None if words else work.draft(""))


def _editor(studio: Studio, name: str | None, saved: str, draft: str | None) -> Response:
    text = draft if draft is not None else saved
    context = {
        "here": "rules",
        "state": the(studio).state,
        "name": name,
        "original": saved,
        "text": text,
        "drafted": draft is not None,
        "form": (form := RuleForm.of_toml(text)),
        "kinds": KINDS,
        "asks": name is not None and form is not None and form.kind == "prompt",
    }
    return studio.page("rule.html", context)


def form(studio: Studio, asked: Asked) -> Response:
    """The form that shows what stands in the TOML."""
    found = RuleForm.of_toml(asked.form.get("toml", ""))
    if found is None:
        raise InputError(
            "this is more than a form shows (several rules, or conditions within each other): edit it as TOML"
        )
    context = {"form": found, "state": the(studio).state, "kinds": KINDS}
    return studio.page("_rule_form.html", context)


def shown(studio: Studio, asked: Asked) -> Response:
    """What the edited source would do."""
    work = the(studio)
    given, toml = asked.form, asked.form.get("toml", "")
    saved = given.get("saved") or None
    state, lost = work.state, ""
    try:
        if given.get("way") == "form":
            toml = RuleForm.of_fields(given).to_toml(toml)
        if "typed" in given:  # before anything that takes time
            lost = _kept(work, saved or "", toml)
        if "exact" in given or "patient" in given:
            outcome = preview(toml, state, saved, patient="patient" in given)
        else:
            outcome = preview_sampled(toml, state, saved)
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


def _kept(work: Workspace, name: str, toml: str) -> str:
    """Keep what was typed; why it cannot be, where the disk is full or must not be written."""
    try:
        work.keep_draft(name, toml)
    except OSError as error:
        return f"What you type cannot be kept ({error.strerror}): save it, or copy it elsewhere."
    return ""


def _groups(outcome: Preview, state: State) -> list[tuple[str, str, int, Any]]:
    """The documents behind the counts: title, what it means, how many, and the first few."""
    new = outcome.before is None
    groups: list[tuple[str, str, Shown | None]] = [
        ("Matched" if new else "Newly matched", "", outcome.added),
        ("No longer matched", "", None if new else outcome.removed),
        ("Against the model", "the model says another class", outcome.contradicts),
    ]
    return [
        (title, about, group.count, cards(state, group.rows, group.matches))
        for title, about, group in groups
        if group is not None and group.count
    ]


def save(studio: Studio, asked: Asked) -> Response:
    """Write the source; gives the address to go on to."""
    saved = asked.form.get("saved") or None
    the(studio).save_source(asked.form.get("toml", ""), saved, asked.form.get("original", ""))
    return PlainTextResponse("/rules")


def change(studio: Studio, asked: Asked) -> Response:
    """Rename, duplicate, move, switch or delete a source."""
    given = asked.form
    the(studio).change_source(given.get("what", ""), given.get("name", ""), given.get("value", ""))
    return PlainTextResponse(f"{given['name']}: {given['what']}")


def described(studio: Studio, asked: Asked) -> Response:
    """What the classes mean: a source that votes for the class whose description is nearest."""
    state = the(studio).state
    found = (descriptions_of(source) for source in state.project.sources.with_disabled)
    known = next((one for one in found if one is not None), {})
    return studio.page("describe.html", {"here": "rules", "state": state, "known": known})


def describe(studio: Studio, asked: Asked) -> Response:
    """Write it down; gives the address to go on to."""
    work = the(studio)
    given = {name: asked.form.get(f"about:{name}", "").strip() for name in work.state.classes}
    work.describe({name: " ".join(about.split()) for name, about in given.items()})
    return PlainTextResponse("the classes are described" if any(given.values()) else "removed")


def plan(studio: Studio, asked: Asked) -> Response:
    """What asking the language model of a saved source would cost; empty for all other sources."""
    found = plan_of(asked.query.get("name", ""), the(studio).state)
    return studio.page("_plan.html", {"plan": found})


def ask(studio: Studio, asked: Asked) -> Response:
    """Ask it, in the background."""
    assert studio.trainer is not None
    ask_now(studio.trainer, asked.form.get("name", ""))
    return PlainTextResponse("asking, in the background")


def discard(studio: Studio, asked: Asked) -> Response:
    """Forget what was typed and not saved."""
    the(studio).keep_draft(asked.form.get("name", ""), None)
    return PlainTextResponse("draft discarded")


ROUTES = [
    get("/rules", table),
    get("/rule", edit),
    get("/rule/new", new),
    post("/rules/preview", shown),
    post("/rules/form", form),
    post("/rules/save", save),
    post("/rules/change", change),
    post("/rules/discard", discard),
    get("/rules/describe", described),
    post("/rules/describe", describe),
    get("/rules/plan", plan),
    post("/rules/ask", ask),
]
