"""Sharpened targets: the formula, and what it is for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unruly.peers.self_training import share_changed, sharpened


def test_the_formula_by_hand() -> None:
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    f = [1.7, 1.3]
    for i in range(3):
        weights = [p[i, j] ** 2 / f[j] for j in range(2)]
        assert np.allclose(sharpened(p)[i], np.array(weights) / sum(weights))


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=20))
def test_with_balanced_classes_every_target_is_sharper(first: list[float]) -> None:
    p = np.array([[x, 1 - x] for x in first] + [[1 - x, x] for x in first])
    q = sharpened(p)
    assert np.allclose(q.sum(axis=1), 1)
    assert (q.max(axis=1) >= p.max(axis=1) - 1e-9).all()
    assert (q.argmax(axis=1) == p.argmax(axis=1))[np.abs(p[:, 0] - 0.5) > 1e-6].all()


def test_no_document_no_change() -> None:
    assert share_changed(np.empty(0, np.int64), np.empty(0, np.int64)) == 0.0
