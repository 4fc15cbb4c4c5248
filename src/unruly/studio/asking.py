"""A language model as a source: what asking would cost, and asking it in the background."""

from __future__ import annotations

from unruly.errors import InputError
from unruly.prompts.budget import Plan
from unruly.rules.asking import ask, plans
from unruly.rules.prompt import prompt_of
from unruly.rules.sources import Sources
from unruly.studio.state import State
from unruly.studio.training import Job, Trainer


def plan_of(name: str, state: State) -> Plan | None:
    """What asking the saved source would send and cost; None where it is not a prompt."""
    source = next((one for one in state.project.sources.sources if one.name == name), None)
    if source is None or prompt_of(source) is None:
        return None
    (found,) = plans(Sources(state.classes, (source,)), state.corpus)
    return found


def ask_now(trainer: Trainer, name: str) -> None:
    """Ask about the documents without an answer, as far as the budget goes; the votes then have the answers."""
    state = trainer.workspace.state
    source = next((one for one in state.project.sources.sources if one.name == name), None)
    if source is None or prompt_of(source) is None:
        raise InputError(f"{name!r} asks no language model: save it first")

    def work(job: Job) -> None:
        (done,) = ask(Sources(state.classes, (source,)), state.corpus, job)
        trainer.workspace.reload()
        if done.stopped:
            raise InputError(f"{done.answered} answered, then it stopped: {done.stopped}")

    trainer.begin(f"asking {name}", work)
