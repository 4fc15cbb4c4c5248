"""Many texts through a network: documents of like length together, so that little is filling."""

from __future__ import annotations

import numpy as np
import torch

from unruly.peers.system import Proba
from unruly.peers.vocabulary import TokenIds


def answers_by_length(
    network: torch.nn.Module,
    corpus: TokenIds,
    m: int,
    *,
    together: int,
    most: int,
    least: int = 1,
) -> Proba:
    """(n, m): class probabilities in the corpus's order, from `together` documents at a time.

    Of each document the first `most` tokens are read; shorter batches are filled up to `least`.
    """
    proba = np.zeros((corpus.n, m))
    order = np.argsort(corpus.lengths, kind="stable")
    with torch.no_grad():
        for start in range(0, corpus.n, together):
            rows = order[start : start + together]
            ids = torch.from_numpy(corpus.padded(rows, most, least))
            proba[rows] = network(ids).double().softmax(dim=1).numpy()
    return proba
