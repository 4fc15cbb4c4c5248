"""Sources that repeat each other share one say."""

from __future__ import annotations

import numpy as np
import pytest

from unruly.labelmodels.planted import planted_votes
from unruly.recipe.evidence import Evidence
from unruly.recipe.redundancy import redundancy_discount
from unruly.recipe.source_behaviour import source_behaviour


def discount(
    copies: dict[int, int], fidelity: float = 1.0
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    votes, gold = planted_votes(3000, [0.75] * 5, 0.5, copies=copies, fidelity=fidelity, seed=3)
    evidence = Evidence.of(votes, np.full(3000, -1))
    q = np.eye(2)[gold]
    return redundancy_discount(evidence, q, source_behaviour(evidence, q))


def test_independent_sources_keep_their_say() -> None:
    assert (discount({}) > 0.98).all()


@pytest.mark.parametrize("copied", [1, 2, 3])
def test_exact_copies_have_one_say_together(copied: int) -> None:
    r = discount(dict.fromkeys(range(1, copied + 1), 0))
    np.testing.assert_allclose(r[: copied + 1].sum(), 1, atol=0.02)
    assert (r[copied + 1 :] > 0.98).all()


def test_the_more_faithful_the_copy_the_larger_the_discount() -> None:
    r = [discount({1: 0}, fidelity)[1] for fidelity in (0.0, 0.5, 0.8, 1.0)]
    assert r == sorted(r, reverse=True)
