"""The discount for sources that repeat each other.

    e_ijc  = O_ijc - sum_y q_iy T[j, y, c]                       what the class does not explain of a vote
    rho_jl = sum_ic e_ijc e_ilc / sqrt(sum_ic e_ijc^2 sum_ic e_ilc^2)
    r_j    = 1 / (1 + sum_{l != j} rho_jl^2)

Independent sources keep their full say (r = 1); g copies of one source get 1/g each, one say together.
"""

from __future__ import annotations

import numpy as np

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64


def redundancy_discount(evidence: Evidence, posterior: Real64, behaviour: Real64) -> Real64:
    """(k,): r, from the posterior (n, m) and the behaviour T (k, m, m).

    >>> from unruly.recipe.source_behaviour import source_behaviour
    >>> from unruly.votes.votes import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth, noise = rng.integers(0, 2, 1000), rng.random((1000, 2)) < 0.3
    >>> matrix = np.where(noise, 1 - truth[:, None], truth[:, None])[:, [0, 0, 1]]
    >>> evidence, q = Evidence.of(Votes.from_array(matrix), np.full(1000, -1)), np.eye(2)[truth]
    >>> redundancy_discount(evidence, q, source_behaviour(evidence, q)).round(2).tolist()
    [0.5, 0.5, 1.0]
    """
    k, m = evidence.k, evidence.m
    if not k:
        return np.ones(0)  # clean labels alone
    together = np.zeros((k, k))
    expected = behaviour.transpose(1, 0, 2).reshape(m, k * m).astype(np.float32)  # (y, k * c)
    for part, said in evidence.dense():  # (documents, k, m)
        rest = said - (posterior[part].astype(np.float32) @ expected).reshape(-1, k, m)
        by_source = np.ascontiguousarray(rest.transpose(1, 0, 2)).reshape(k, -1)
        together += by_source @ by_source.T
    size = np.sqrt(np.maximum(np.diag(together), 1e-9))  # (k,)
    squared = (together / size / size[:, None]) ** 2
    np.fill_diagonal(squared, 0)
    return np.asarray(1 / (1 + squared.sum(axis=1)))
