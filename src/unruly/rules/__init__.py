"""Rules: every kind of rule, and the matcher that turns rules and texts into votes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unruly.rules.cache import Cache as Cache
    from unruly.rules.classifier import Classifier as Classifier
    from unruly.rules.column import Column as Column
    from unruly.rules.column import Probabilities as Probabilities
    from unruly.rules.combine import AllOf as AllOf
    from unruly.rules.combine import AnyOf as AnyOf
    from unruly.rules.combine import Not as Not
    from unruly.rules.describe import Described as Described
    from unruly.rules.field import Field as Field
    from unruly.rules.field import PartWords as PartWords
    from unruly.rules.field import SameLastName as SameLastName
    from unruly.rules.function import Function as Function
    from unruly.rules.keywords import Keywords as Keywords
    from unruly.rules.length import Length as Length
    from unruly.rules.lookup import Lookup as Lookup
    from unruly.rules.pattern import Pattern as Pattern
    from unruly.rules.prompt import Prompt as Prompt
    from unruly.rules.similar import Similar as Similar
    from unruly.rules.tools import Entity as Entity
    from unruly.rules.tools import Sentiment as Sentiment
    from unruly.rules.word_sequence import WordSequence as WordSequence

# Kind -> the module it lives in. Imported on first use: polars comes with the first rule.
_HOMES = {
    "AllOf": "combine",
    "AnyOf": "combine",
    "Cache": "cache",
    "Classifier": "classifier",
    "Column": "column",
    "Described": "describe",
    "Entity": "tools",
    "Field": "field",
    "Function": "function",
    "Keywords": "keywords",
    "Length": "length",
    "Lookup": "lookup",
    "Not": "combine",
    "PartWords": "field",
    "Pattern": "pattern",
    "Probabilities": "column",
    "Prompt": "prompt",
    "SameLastName": "field",
    "Sentiment": "tools",
    "Similar": "similar",
    "WordSequence": "word_sequence",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"unruly.rules.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'unruly.rules' has no attribute {name!r}")
