"""Do text and the other sources foretell each source's votes? It tells when the loop has run too far, and when text is too loud.

    p_i = softmax(s_i - opinion of source j on i),    s = tau lp + ev + b        what all but source j say of i

    a   = mean over all votes of  p_i[vote_ij]                                    agreement
    g   = mean over all votes of  log (p_i . t_ij) / (p . t_ij)                   gain, in nats a vote

t_ij (m,) is how often source j says this of each class, counted without document i, and p the mean of all
softmax(s_i): g is how much likelier a vote is, given its document, than it is anyhow. A vote counts by its
source's discount r_j for repeating others, so that copies of one source are not many.

Where the loop learns something, a rises, or stays. Where it teaches itself its own mistakes (weak text, many
classes, a class balance that is wrong), text drifts away from all sources, and a falls. g compares different
weights of text, which a cannot: it likes loud answers, while g punishes them where they are wrong.
"""

from __future__ import annotations

import numpy as np

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64, softmax


def left_out_agreement(
    scores: Real64, evidence: Evidence, opinion: Real64, discount: Real64
) -> float:
    """a, from the scores (n, m) with all sources in them, their opinions (s, c, y) and discounts (k,).

    >>> import numpy as np
    >>> from unruly.votes.votes import Votes
    >>> evidence = Evidence.of(Votes.from_array([[0, 0], [1, -1]]), np.full(2, -1))
    >>> sure = np.log(np.array([[[0.8, 0.2], [0.2, 0.8]]] * 2))  # each source is right 4 times in 5
    >>> text = np.zeros((2, 2))
    >>> ev = evidence.said @ sure.reshape(-1, 2)
    >>> found = left_out_agreement(text + ev, evidence, sure, np.ones(2))
    >>> round(found, 2)  # 0.8, 0.8 and, with no other source, 0.5
    0.7
    """
    agreed = votes = 0.0
    for j in range(evidence.k):
        rows, said = evidence.votes_of(j)  # (v,), (v, m)
        alone = softmax(scores[rows] - evidence.opinion_of(j, opinion))  # (v, m)
        agreed += discount[j] * float((alone * said).sum())
        votes += discount[j] * float(said.sum())
    return float(agreed / votes) if votes else 1.0


def left_out_gain(
    scores: Real64, q: Real64, evidence: Evidence, opinion: Real64, discount: Real64
) -> float:
    """g, from the same, and the posteriors q (n, m) that count how sources behave.

    >>> from unruly.recipe.source_behaviour import opinions, source_behaviour
    >>> from unruly.votes.votes import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 400)
    >>> said = np.where(rng.random(400) < 0.8, truth, 1 - truth)
    >>> evidence = Evidence.of(Votes.from_array(said[:, None]), np.full(400, -1))
    >>> def gain(text):
    ...     opinion = opinions(source_behaviour(evidence, softmax(text)), np.ones(1))
    ...     ev = evidence.said @ opinion.reshape(-1, 2)
    ...     return round(left_out_gain(text + ev, softmax(text), evidence, opinion, np.ones(1)), 2)
    >>> knows, guesses = 4 * np.eye(2)[truth], 4 * np.eye(2)[rng.integers(0, 2, 400)]
    >>> gain(knows) > 0.15, gain(guesses) < 0.01
    (True, True)
    """
    mean = softmax(scores).mean(axis=0)  # (m,)
    mass = q.sum(axis=0)  # (m,)
    gained = votes = 0.0
    for j in range(evidence.k):
        rows, said = evidence.votes_of(j)  # (v,), (v, m)
        alone = softmax(
            scores[rows] - evidence.opinion_of(j, opinion)
        )  # (v, m): without its own say
        own = q[rows]  # (v, m)
        for c in np.flatnonzero(said.any(axis=0)):
            share = said[:, c, None]  # (v, 1): 1 where it says c, less where it is a soft vote
            t = (own.T @ said[:, c] - share * own + mass / mass.sum()) / mass  # (v, m)
            likelier = np.log((alone * t).sum(axis=1)) - np.log(t @ mean)
            gained += discount[j] * float(said[:, c] @ likelier)
        votes += discount[j] * float(said.sum())
    return float(gained / votes) if votes else 0.0
