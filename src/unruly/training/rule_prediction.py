"""Equation 3: the denoiser's own prediction, from each document's conditional reliabilities.

y_ir = sum_j a_ij [y_ij = C_r],     z^_ir = exp(y_ir) / sum_r exp(y_ir)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.training.cells import Cells


def rule_scores(conditional: NDArray[np.float32], cells: Cells) -> NDArray[np.float32]:
    """(n, m): y_ir; zeros where no source voted, which the softmax turns into a uniform row."""
    return cells.sum_by_class(conditional).astype(np.float32)


def softmax(scores: NDArray[np.float32], sharpness: float = 1.0) -> NDArray[np.float32]:
    """(n, m): rows of probabilities.

    With sharpness 1 this is the paper's z^: its scores lie in [0, 1], so with two classes it is never
    surer than e / (e + 1) = 0.731.

    >>> softmax(np.array([[1.0, 0.0]], np.float32)).round(3).tolist()
    [[0.7310000061988831, 0.26899999380111694]]
    """
    raised = np.exp((scores - scores.max(axis=1, keepdims=True, initial=-np.inf)) * sharpness)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)
