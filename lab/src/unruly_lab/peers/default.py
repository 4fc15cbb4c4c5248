"""unruly's default as a system to compare: `WeakClassifier` itself, so that it is what `unruly fit` gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unruly.ledger import GoldUse, Use
from unruly.model.weak_classifier import WeakClassifier
from unruly.progress import SILENT, Progress
from unruly.settings import MethodSettings
from unruly_lab.peers.systems import Documents, Proba, TrainingData


@dataclass(frozen=True, eq=False)
class FittedDefault:
    """A fitted classifier, given votes and texts as `unruly predict` gives them."""

    model: WeakClassifier

    @property
    def parameters(self) -> int:
        """How many numbers the model keeps of what it learnt."""
        arrays = self.model.fitted.learner.arrays()
        return sum(int(values.size) for values in arrays.values())

    @property
    def gold_used(self) -> tuple[GoldUse, ...]:
        """What true labels were used for."""
        return tuple(used for used in self.model.ledger_.entries if used.use is not Use.SCORING)

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): from text and votes together."""
        found = self.model.predictions(_readable(documents), documents.votes)
        return np.asarray(found.proba, np.float64)


@dataclass(frozen=True)
class Default:
    """The default uses the votes, the texts, and a class prior and clean labels where they are given.

    It never looks at validation labels. Texts are read by the encoder that made the features; where these
    were given without one, they are used as they are.
    """

    settings: MethodSettings | None = field(default=None)

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedDefault:
        """What `unruly fit` does."""
        documents = data.documents
        asked = data.classifier or WeakClassifier(
            documents.encoder or "auto", class_prior=data.prior, settings=self.settings
        )
        model = WeakClassifier(**{**asked.get_params(deep=False), "seed": data.seed})
        model.fit(_readable(documents), documents.votes, clean=data.clean, progress=progress)
        return FittedDefault(model)


def _readable(documents: Documents) -> Any:
    """Texts where an encoder reads them, else their features."""
    return documents.features if documents.encoder is None else documents.corpus
