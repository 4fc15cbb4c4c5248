"""unruly learns text classifiers from rules that disagree."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unruly.errors import UnrulyError as UnrulyError
    from unruly.model.gold_scorer import GoldScorer as GoldScorer
    from unruly.model.loading import load as load
    from unruly.model.weak_classifier import WeakClassifier as WeakClassifier
    from unruly.project.project import Project as Project
    from unruly.rules.function import rule as rule
    from unruly.rules.rule import Rule as Rule
    from unruly.rules.source import Source as Source
    from unruly.rules.sources import Sources as Sources
    from unruly.settings import Settings as Settings
    from unruly.texts.corpus import Corpus as Corpus
    from unruly.votes.votes import Votes as Votes

__version__ = "0.1.0"

# Public name -> the module it lives in. Imported on first use, so that `import unruly` is instant.
_HOMES = {
    "Corpus": "unruly.texts.corpus",
    "Rule": "unruly.rules.rule",
    "Source": "unruly.rules.source",
    "Settings": "unruly.settings",
    "Sources": "unruly.rules.sources",
    "Project": "unruly.project.project",
    "rule": "unruly.rules.function",
    "UnrulyError": "unruly.errors",
    "GoldScorer": "unruly.model.gold_scorer",
    "Votes": "unruly.votes.votes",
    "WeakClassifier": "unruly.model.weak_classifier",
    "load": "unruly.model.loading",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unruly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
