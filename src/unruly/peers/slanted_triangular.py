"""The slanted triangular learning rate of Howard and Ruder (2018), section 3.2: a short rise, a long fall.

    cut = floor(T cut_frac)
    p   = t / cut                                             if t < cut
        = 1 - (t - cut) / (cut (1 / cut_frac - 1))            else
    eta_t = eta_max (1 + p (ratio - 1)) / ratio

and the discriminative rates of section 3.2: eta^(l-1) = eta^l / 2.6 for the layer below.
"""

from __future__ import annotations

from dataclasses import dataclass

from unruly.errors import SettingsError


@dataclass(frozen=True)
class SlantedTriangular:
    """The share of `steps` steps that the rate rises in, and how many times lower it ends.

    >>> plan = SlantedTriangular(steps=1000)
    >>> [round(plan.share(t), 5) for t in (0, 50, 100, 550, 1000)]
    [0.03125, 0.51562, 1.0, 0.51562, 0.03125]
    """

    steps: int  # T
    cut_frac: float = 0.1
    ratio: float = 32.0

    def __post_init__(self) -> None:
        if not 0 < self.cut_frac < 1:
            raise SettingsError(f"cut_frac = {self.cut_frac}: must lie between 0 and 1")
        if self.ratio < 1:
            raise SettingsError(f"ratio = {self.ratio}: must be at least 1")

    def share(self, t: int) -> float:
        """The share of the highest rate at step t; the rise takes at least one step."""
        cut = max(int(self.steps * self.cut_frac), 1)
        p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / self.cut_frac - 1))
        return (1 + max(p, 0.0) * (self.ratio - 1)) / self.ratio


def discriminative_rates(highest: float, layers: int, decay: float = 2.6) -> list[float]:
    """The rate of each layer, the last one's highest.

    >>> [round(rate, 6) for rate in discriminative_rates(0.01, 3)]
    [0.001479, 0.003846, 0.01]
    """
    return [highest / decay ** (layers - 1 - layer) for layer in range(layers)]
