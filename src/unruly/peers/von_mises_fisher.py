r"""The von Mises-Fisher distribution: directions around a mean direction.

On the unit sphere in p dimensions its density is

    f(x; mu, kappa) = c_p(kappa) exp(kappa mu'x).

kappa is estimated as in Banerjee et al. (2005), Clustering on the unit hypersphere; samples are drawn
by the method of Wood (1994), Simulation of the von Mises Fisher distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError

MOST_RESULTANT = 0.99  # a single direction would have kappa without bound
Real = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class VonMisesFisher:
    """A mean direction and how closely directions gather around it."""

    mean: Real  # (p,), of length 1
    kappa: float

    @classmethod
    def fit(cls, directions: NDArray[np.floating[Any]]) -> VonMisesFisher:
        """From n unit vectors, (n, p): the maximum-likelihood mean, and kappa approximately.

            mu = s / |s|,  s = sum_i x_i,   r = |s| / n,   kappa = r (p - r^2) / (1 - r^2)

        >>> around = VonMisesFisher.fit(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> around.mean.round(3).tolist(), round(around.kappa, 3)
        ([0.707, 0.707], 2.121)
        """
        x = np.asarray(directions, dtype=np.float64)
        total = x.sum(axis=0)  # (p,)
        length = float(np.linalg.norm(total))
        if not len(x) or length < 1e-9:
            raise InputError("the directions cancel out: there is no mean direction to fit")
        r = min(length / len(x), MOST_RESULTANT)
        p = x.shape[1]
        return cls(total / length, r * (p - r**2) / (1 - r**2))

    def sample(self, n: int, rng: np.random.Generator) -> Real:
        """(n, p): independent directions.

        x = w mu + sqrt(1 - w^2) v, with v uniform among the directions at right angles to mu, and w
        drawn by rejection from its density exp(kappa w) (1 - w^2)^((p - 3) / 2).
        """
        w = self._along(n, rng)  # (n,)
        aside = rng.standard_normal((n, len(self.mean)))
        aside -= (aside @ self.mean)[:, None] * self.mean
        aside /= np.linalg.norm(aside, axis=1, keepdims=True)
        return np.asarray(w[:, None] * self.mean + np.sqrt(1 - w**2)[:, None] * aside)

    def _along(self, n: int, rng: np.random.Generator) -> Real:
        """(n,): the cosines between samples and the mean direction, by Wood's envelope."""
        q, k = len(self.mean) - 1, self.kappa
        b = q / (2 * k + np.sqrt(4 * k**2 + q**2))
        x0 = (1 - b) / (1 + b)
        c = k * x0 + q * np.log(1 - x0**2)
        found = np.empty(0)
        while len(found) < n:
            z = rng.beta(q / 2, q / 2, size=n)
            w = (1 - (1 + b) * z) / (1 - (1 - b) * z)
            accepted = k * w + q * np.log(1 - x0 * w) - c >= np.log(rng.random(n))
            found = np.concatenate([found, w[accepted]])
        return found[:n]
