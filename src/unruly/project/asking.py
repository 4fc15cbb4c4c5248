"""Language models of a project: what asking them about a split would cost, and asking them."""

from __future__ import annotations

from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.project.voting import blamed_on_its_line
from unruly.prompts.asking import Asked
from unruly.prompts.endpoint import FORMS
from unruly.prompts.plan import Plan
from unruly.rules.asking import ask, plans, prompt_of
from unruly.rules.cache import Cache
from unruly.wording import listed, plural


def plan_split(
    project: Project, split: str = "train", cache: Cache | None = None
) -> tuple[Plan, ...]:
    """What asking would send and cost; nothing is read where no source is a language model."""
    if not _asks(project):
        return ()
    with blamed_on_its_line(project):
        return plans(project.sources, project.corpus(split), cache)


def ask_split(
    project: Project,
    split: str = "train",
    progress: Progress = SILENT,
    cache: Cache | None = None,
) -> tuple[Asked, ...]:
    """Ask the language models of a project about one split, within their budgets."""
    if not _asks(project):
        return ()
    with blamed_on_its_line(project):
        return ask(project.sources, project.corpus(split), progress, cache)


def asked_line(asked: Asked) -> str:
    """What asking one source came to, in a line."""
    parts = [f"{plural(asked.answered, 'answer')} received", f"{asked.cached:,} known before"]
    if asked.unasked:
        parts.append(
            f"{asked.unasked:,} not asked ({asked.stopped or 'some failed'}); run again to go on"
        )
    if asked.unreadable:
        parts.append(
            f"{plural(len(asked.unreadable), 'answer')} that cannot be read, such as {asked.unreadable[0][:60]!r}"
        )
    if asked.models:
        parts.append(f"answered by {listed(asked.models)}")
    if asked.forms == FORMS[2]:
        parts.append("the server knows no schema, so answers were read as plain text")
    return f"{asked.source}: {', '.join(parts)}"


def _asks(project: Project) -> bool:
    return any(prompt_of(source) is not None for source in project.sources.sources)
