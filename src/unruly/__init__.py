"""unruly learns text classifiers from rules that disagree."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unruly.errors import UnrulyError as UnrulyError
    from unruly.features.encoder import TextSpace as TextSpace
    from unruly.labelmodels.dawid_skene import DawidSkene as DawidSkene
    from unruly.labelmodels.dawid_skene import OneCoin as OneCoin
    from unruly.labelmodels.label_model import LabelModel as LabelModel
    from unruly.labelmodels.majority_vote import MajorityVote as MajorityVote
    from unruly.labelmodels.majority_vote import WeightedVote as WeightedVote
    from unruly.labelmodels.matrix_completion import MatrixCompletion as MatrixCompletion
    from unruly.model.evaluation import GoldScorer as GoldScorer
    from unruly.model.evaluation import vote_agreement as vote_agreement
    from unruly.model.weak_classifier import WeakClassifier as WeakClassifier
    from unruly.model.weak_classifier import load as load
    from unruly.project.project import Project as Project
    from unruly.rules.function import labeling_function as labeling_function
    from unruly.rules.function import rule as rule
    from unruly.rules.source import Rule as Rule
    from unruly.rules.source import Source as Source
    from unruly.rules.sources import Sources as Sources
    from unruly.settings import PaperSettings as PaperSettings
    from unruly.settings import Settings as Settings
    from unruly.texts.corpus import Corpus as Corpus
    from unruly.votes.votes import Votes as Votes

__version__ = "0.1.0"

# Public name -> the module it lives in. Imported on first use, so that `import unruly` is instant.
_HOMES = {
    "Corpus": "unruly.texts.corpus",
    "Rule": "unruly.rules.source",
    "Source": "unruly.rules.source",
    "Settings": "unruly.settings",
    "Sources": "unruly.rules.sources",
    "Project": "unruly.project.project",
    "rule": "unruly.rules.function",
    "labeling_function": "unruly.rules.function",
    "UnrulyError": "unruly.errors",
    "GoldScorer": "unruly.model.evaluation",
    "vote_agreement": "unruly.model.evaluation",
    "DawidSkene": "unruly.labelmodels.dawid_skene",
    "LabelModel": "unruly.labelmodels.label_model",
    "MajorityVote": "unruly.labelmodels.majority_vote",
    "MatrixCompletion": "unruly.labelmodels.matrix_completion",
    "OneCoin": "unruly.labelmodels.dawid_skene",
    "WeightedVote": "unruly.labelmodels.majority_vote",
    "PaperSettings": "unruly.settings",
    "TextSpace": "unruly.features.encoder",
    "Votes": "unruly.votes.votes",
    "WeakClassifier": "unruly.model.weak_classifier",
    "load": "unruly.model.weak_classifier",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'unruly' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
