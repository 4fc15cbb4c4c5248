"""Directions: fitted ones by hand, sampled ones by their law."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ive

from unruly.errors import InputError
from unruly.peers.von_mises_fisher import VonMisesFisher


def mean_cosine(p: int, kappa: float) -> float:
    """The law's resultant length: A_p(kappa) = I_{p/2}(kappa) / I_{p/2-1}(kappa)."""
    return float(ive(p / 2, kappa) / ive(p / 2 - 1, kappa))


@pytest.mark.parametrize(
    ("p", "kappa"), [(3, 1.0), (3, 20.0), (10, 5.0), (100, 66.0), (100, 400.0)]
)
def test_samples_gather_around_the_mean_as_kappa_says(p: int, kappa: float) -> None:
    mean = np.ones(p) / np.sqrt(p)
    x = VonMisesFisher(mean, kappa).sample(20_000, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(x, axis=1), 1)
    total = x.mean(axis=0)
    assert np.linalg.norm(total) == pytest.approx(mean_cosine(p, kappa), abs=0.01)
    assert total @ mean / np.linalg.norm(total) > 0.99


@pytest.mark.parametrize(("p", "kappa"), [(10, 8.0), (50, 60.0), (100, 66.0)])
def test_a_fit_finds_kappa_again(p: int, kappa: float) -> None:
    mean = np.eye(p)[0]
    x = VonMisesFisher(mean, kappa).sample(20_000, np.random.default_rng(1))
    found = VonMisesFisher.fit(x)
    assert found.kappa == pytest.approx(kappa, rel=0.05)
    assert found.mean @ mean > 0.99


def test_banerjees_formula() -> None:
    x = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0.6, -0.8, 0]])
    r = (1 + 0.6 + 0.6) / 3
    assert VonMisesFisher.fit(x).kappa == pytest.approx(r * (3 - r**2) / (1 - r**2))


def test_a_single_direction_has_a_bounded_kappa() -> None:
    assert np.isfinite(VonMisesFisher.fit(np.eye(5)[:1]).kappa)


def test_directions_that_cancel_out_are_refused() -> None:
    with pytest.raises(InputError, match="cancel out"):
        VonMisesFisher.fit(np.array([[1.0, 0], [-1.0, 0]]))
