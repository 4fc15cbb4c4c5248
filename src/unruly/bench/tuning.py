"""A system with the hyper-parameters that a run asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from unruly.bench.paper_figures import known
from unruly.bench.run import Run, Setting
from unruly.errors import InputError
from unruly.peers.system import System
from unruly.peers.systems import entry
from unruly.settings import Settings

STUDIES = ("parameters", "search")  # these start from the paper's defaults, not from its best


def system_for(run: Run) -> System:
    """The method of a run, ready to fit.

    Where the paper's own method takes part (also as the maker of labels), it has the paper's values
    for the data set: its best, but in studies of hyper-parameters its defaults and its p.
    """
    system: Any = entry(run.method).build()
    name = known(run.dataset)
    own = getattr(system, "settings", None)
    if name is not None and isinstance(own, Settings) and own.method == "paper":
        best = Settings.paper(name)
        plain = Settings.paper()
        start = replace(plain, p=best.p) if run.experiment in STUDIES else best
        system = replace(system, settings=replace(start, ablation=own.ablation))
    tuned_system: System = tuned(system, run.settings)
    return tuned_system


def tuned(system: Any, settings: Sequence[Setting]) -> Any:
    """The system with other values; a name may lead inside, as `mlp.epochs` does.

    A plain name that the system does not have is looked for in its `settings`.

    >>> from unruly.peers.papers_method import whole
    >>> tuned(whole(), [("c1", 0.3)]).settings.c1
    0.3
    """
    for name, value in settings:
        system = _with(system, name, value)
    return system


def _with(thing: Any, name: str, value: object) -> Any:
    outer, _, inner = name.partition(".")
    own = {f.name for f in fields(thing)} if is_dataclass(thing) else set()
    if outer not in own and "settings" in own and not inner:
        return replace(thing, settings=_with(thing.settings, name, value))
    if outer not in own:
        raise InputError(
            f"{type(thing).__name__} has no hyper-parameter {name!r}: it has {', '.join(sorted(own))}"
        )
    changed: dict[str, Any] = {
        outer: _with(getattr(thing, outer), inner, value) if inner else value
    }
    return replace(thing, **changed)
