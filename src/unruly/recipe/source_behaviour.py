"""How each source behaves given the true class, and what its votes are worth as evidence.

    N_jyc      = sum_i q_iy O_ijc,     N_y = sum_i q_iy,     s_y = N_y / sum_y N_y
    T[j, y, c] = (N_jyc + s_y) / (N_y + m s_y)                               P(source j says c | class y)

A source that is silent on most documents of every class has small numbers everywhere; only their ratio
over y matters. The sum runs over all documents, so that a source which stays silent on a class counts
as evidence against it when it does speak. One vote more for each thing that a source says, spread over
the classes as the documents are, keeps a source that was heard twice from claiming certainty. A shade of a
source (see `shades`) has S votes more instead, spread as the votes of the whole source are:

    T[(j, w), y, c] = (N_jwyc + S P(y | j says c)) / N_y,      P(y | j says c) = N_y T[j, y, c] / sum_y N_y T[j, y, c]

    evidence_iy = sum_j r_j sum_c O_ijc log T[j, y, c]        r_j: the discount for repeating other sources
"""

from __future__ import annotations

import numpy as np

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64

_LEAST = 1e-6
SHRUNK = 5.0  # S: votes of the whole source that a shade of it is given


def source_behaviour(evidence: Evidence, mass: Real64) -> Real64:
    """(k, m, m): T, from the class mass (n, m) of each document: its posterior times its weight.

    >>> from unruly.votes.votes import Votes
    >>> votes = Votes.from_array([[0], [0], [1], [-1]])
    >>> truth = np.eye(2)[[0, 0, 1, 1]]
    >>> source_behaviour(Evidence.of(votes, np.full(4, -1)), truth).round(2).tolist()
    [[[0.83, 0.17], [0.17, 0.5]]]
    """
    k, m = evidence.k, evidence.m
    counts = np.asarray(evidence.said.T @ mass, np.float64).reshape(k, m, m)  # (k, c, y)
    total = mass.sum(axis=0)[:, None]  # (y, 1)
    extra = total / total.sum()  # (y, 1): s_y
    behaviour = (counts.transpose(0, 2, 1) + extra) / (total + m * extra)  # (k, y, c)
    return np.asarray(np.maximum(behaviour, _LEAST))


def shade_behaviour(evidence: Evidence, mass: Real64, behaviour: Real64) -> Real64:
    """(s, m, m): T of each shade, from the same and the behaviour of the sources (k, m, m)."""
    if evidence.shaded is evidence.said:
        return behaviour
    m, total = evidence.m, mass.sum(axis=0)[:, None]  # (y, 1)
    counts = np.asarray(evidence.shaded.T @ mass, np.float64).reshape(-1, m, m)  # (s, c, y)
    whole = total * behaviour  # (k, y, c)
    whole /= whole.sum(axis=1, keepdims=True)
    owner = evidence.shades.owner
    found = (counts.transpose(0, 2, 1) + SHRUNK * whole[owner]) / total
    single = (np.bincount(owner) == 1)[owner][:, None, None]  # the source has no other shade
    return np.asarray(np.where(single, behaviour[owner], np.maximum(found, _LEAST)))


def opinions(behaviour: Real64, discount: Real64) -> Real64:
    """(s, c, y): what a shade's saying c adds to the log-odds of class y, centred over y."""
    logs = np.log(behaviour) * discount[:, None, None]  # (s, y, c)
    return np.ascontiguousarray((logs - logs.mean(axis=1, keepdims=True)).transpose(0, 2, 1))


def vote_evidence(evidence: Evidence, opinion: Real64) -> Real64:
    """(n, m): the sum of the opinions of the sources that voted on each document."""
    return np.asarray(evidence.shaded @ opinion.reshape(-1, evidence.m), np.float64)
