"""Rules: every kind of rule, and the matcher that turns rules and texts into votes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unruly.rules.classifier import Classifier as Classifier
    from unruly.rules.column import Column as Column
    from unruly.rules.column import Probabilities as Probabilities
    from unruly.rules.condition import AllOf as AllOf
    from unruly.rules.condition import AnyOf as AnyOf
    from unruly.rules.condition import Not as Not
    from unruly.rules.field import Field as Field
    from unruly.rules.field import Lookup as Lookup
    from unruly.rules.field import PartWords as PartWords
    from unruly.rules.field import SameLastName as SameLastName
    from unruly.rules.function import Function as Function
    from unruly.rules.keywords import Keywords as Keywords
    from unruly.rules.keywords import WordSequence as WordSequence
    from unruly.rules.matching import VoteCache as VoteCache
    from unruly.rules.pattern import Pattern as Pattern
    from unruly.rules.prompt import Prompt as Prompt
    from unruly.rules.similar import Described as Described
    from unruly.rules.similar import Similar as Similar
    from unruly.rules.tools import Entity as Entity
    from unruly.rules.tools import Length as Length
    from unruly.rules.tools import Sentiment as Sentiment

# Kind -> the module it lives in. Imported on first use: polars comes with the first rule.
_HOMES = {
    "AllOf": "condition",
    "AnyOf": "condition",
    "VoteCache": "matching",
    "Classifier": "classifier",
    "Column": "column",
    "Described": "similar",
    "Entity": "tools",
    "Field": "field",
    "Function": "function",
    "Keywords": "keywords",
    "Length": "tools",
    "Lookup": "field",
    "Not": "condition",
    "PartWords": "field",
    "Pattern": "pattern",
    "Probabilities": "column",
    "Prompt": "prompt",
    "SameLastName": "field",
    "Sentiment": "tools",
    "Similar": "similar",
    "WordSequence": "keywords",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"unruly.rules.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'unruly.rules' has no attribute {name!r}")
