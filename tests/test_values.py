"""Values travel between rooms: nobody can change one on the way, and comparing two never fails."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import unruly

# What changes while it works: models that are fitted, counters, caches, screens. Everything else is a value.
CHANGING = {
    "cli.label_screen": {"Lines", "Conversation"},
    "cli.screen": {"Stage"},
    "labelmodels.dawid_skene": {"DawidSkene", "OneCoin"},
    "labelmodels.label_model": {"Parameters", "LogLinearModel"},
    "labelmodels.majority_vote": {"MajorityVote", "WeightedVote"},
    "labelmodels.matrix_completion": {"MatrixCompletion"},
    "paper.classifier": {"Part"},
    "paper.selection": {"Best"},
    "paper.training_set": {"TrainingSet"},
    "rules.function": {"FilesRead", "FunctionFiles"},
    "rules.regular_expressions": {"_Level"},
    "serve.metrics": {"Histogram"},
    "studio.app": {"Studio"},
    "studio.incremental_matching": {"TypedVotes"},
    "studio.labelling": {"Queue"},
    "studio.suggestions": {"Advisor"},
}
ROOMS: dict[str, list[str]] = {}
for found in pkgutil.walk_packages(unruly.__path__, "unruly."):
    if not found.ispkg and not found.name.endswith("__main__"):
        name = found.name.removeprefix("unruly.")
        ROOMS.setdefault(name.partition(".")[0], []).append(name)
AMBIGUOUS = (np.ndarray, csr_array, pl.DataFrame, pl.Series)  # `a == b` is no yes or no


def dataclasses_of(module: str) -> list[type[Any]]:
    members = vars(importlib.import_module(f"unruly.{module}")).values()
    return [
        found
        for found in members
        if inspect.isclass(found)
        and found.__module__ == f"unruly.{module}"
        and dataclasses.is_dataclass(found)
    ]


def types_in(hint: Any) -> Iterator[type[Any]]:
    """A type, and those that it holds: tuple[NDArray | None, ...] holds an array."""
    if isinstance(hint, type):
        yield hint
    if (origin := typing.get_origin(hint)) is not None:
        yield from types_in(origin)
    for part in typing.get_args(hint):
        yield from types_in(part)


def holds_an_array(field: dataclasses.Field[Any], module: str) -> bool:
    try:
        hint = eval(str(field.type), vars(importlib.import_module(module)))
    except (NameError, TypeError):  # names for type checkers alone: of rooms, not of libraries
        return False
    return any(issubclass(kind, AMBIGUOUS) for kind in types_in(hint))


@pytest.mark.parametrize("room", ROOMS)
def test_values_cannot_be_changed(room: str) -> None:
    for module in ROOMS[room]:
        changing = {
            found.__name__
            for found in dataclasses_of(module)
            if not found.__dataclass_params__.frozen
        }
        assert changing == CHANGING.get(module, set())


@pytest.mark.parametrize("room", ROOMS)
def test_no_comparison_of_values_meets_an_array(room: str) -> None:
    """An array in a field that is compared makes `==` an error: such a value equals itself alone."""
    for found in (found for module in ROOMS[room] for found in dataclasses_of(module)):
        if not found.__dataclass_params__.eq:
            continue
        for field in dataclasses.fields(found):
            assert not (field.compare and holds_an_array(field, found.__module__)), (
                f"{found.__name__}.{field.name}: eq=False, or compare=False for the field"
            )
