"""Some of the documents, where there are many: enough to compare priors or encoders by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unruly.recipe.evidence import Evidence
from unruly.recipe.folded_regression import FoldedRegression
from unruly.settings import Settings

_COVERED = 1_000  # documents with votes that are drawn at least, if there are so many


def sampled(
    texts: Sequence[FoldedRegression], evidence: Evidence, settings: Settings, most: int
) -> tuple[Sequence[FoldedRegression], Evidence]:
    """The regressions and the votes on `most` documents drawn at random, or more where few have votes; all where there are few."""
    n, covered = evidence.n, int(evidence.covered.sum())
    size = round(n * max(most / n, _COVERED / max(covered, 1)))
    if size >= n:
        return texts, evidence
    rows = np.sort(np.random.default_rng(settings.seed).permutation(n)[:size])
    return tuple(text.part(rows, settings.l2 / size) for text in texts), evidence.take(rows)
