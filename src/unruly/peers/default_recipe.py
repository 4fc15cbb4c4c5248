"""unruly's default recipe as a system to compare. It never looks at validation labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from unruly.peers.system import Documents, Lesson, Proba
from unruly.progress import SILENT, Progress
from unruly.recipe.fitting import fit_recipe
from unruly.recipe.recipe import Recipe
from unruly.settings import Settings

# Told to the user, or mere bookkeeping and feature means: not what the answers were learnt with.
_NOT_LEARNT = {"reliability", "accuracy", "sources", "classes", "codes", "centre"}


@dataclass(frozen=True, eq=False)
class FittedRecipe:
    """What the recipe has learnt."""

    learner: Recipe

    @property
    def parameters(self) -> int:
        """How many numbers were learnt: those of regressions, networks, sources' opinions and holds."""
        arrays = self.learner.arrays().items()
        return sum(values.size for name, values in arrays if name.split(".")[-1] not in _NOT_LEARNT)

    @property
    def gold_used(self) -> tuple[str, ...]:
        """What true labels were used for."""
        return self.learner.gold_used

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): text and votes together."""
        heads = self.learner.heads(documents.features, documents.votes)
        return heads.combined.astype(np.float64)


@dataclass(frozen=True)
class DefaultRecipe:
    """The gold-free recipe: it uses a class prior and clean labels if there are any, and nothing else."""

    settings: Settings = field(default_factory=Settings)

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedRecipe:
        """Learn from votes and features."""
        documents = lesson.documents
        return FittedRecipe(
            fit_recipe(
                documents.features,
                documents.votes,
                replace(self.settings, seed=lesson.seed),
                prior=lesson.prior,
                clean=lesson.clean,
                progress=progress,
            )
        )
