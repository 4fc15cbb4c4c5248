"""Do text and the other sources still foretell each source's votes? It tells when the loop has run too far.

    a = mean over all votes of  softmax(s_i - opinion of source j on i)[vote_ij],    s = tau lp + ev + b

A vote counts by its source's discount r_j for repeating others, so that copies of one source are not many.
Where the loop learns something, a rises, or stays. Where it teaches itself its own mistakes (weak text, many
classes, a class balance that is wrong), text drifts away from all sources, and a falls.
"""

from __future__ import annotations

from unruly.recipe.evidence import Evidence
from unruly.recipe.log_odds import Real64, softmax


def left_out_agreement(
    scores: Real64, evidence: Evidence, opinion: Real64, discount: Real64
) -> float:
    """a, from the scores (n, m) with all sources in them, their opinions (k, c, y) and discounts (k,).

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
        alone = softmax(scores[rows] - said @ opinion[j])  # (v, m): without its own say
        agreed += discount[j] * float((alone * said).sum())
        votes += discount[j] * float(said.sum())
    return float(agreed / votes) if votes else 1.0
