"""Which epoch is kept, and when to stop: by votes alone, or by gold labels when they are asked for.

Without gold, a part of the matched documents has its votes hidden from training. An epoch is as good
as the classifier's likelihood of those hidden votes, at the sharpness that suits it best (noisy votes
punish any network that has begun to be sure, so the plain likelihood would stop before it has learnt
anything). A network that learns the training documents' noise by heart does worse there. No true label
is touched.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.settings import Settings
from unruly.training.clean_labels import Gold, checked
from unruly.training.confidence import sharpness
from unruly.training.cotrained import CoTrained
from unruly.votes.votes import Votes

Judge = Callable[[CoTrained], float]  # higher is better
Valid = tuple[Features, Votes, Gold]
_PART, _MOST = (
    0.1,
    0.3,
)  # of the matched documents have their votes hidden: a tenth, up to 0.3 if few
_ENOUGH = 100  # hidden documents are enough to judge by
_FEWEST = 20  # with fewer the judgement would be noise, and the last epoch is kept


def hide_votes(features: Features, votes: Votes, settings: Settings) -> NDArray[np.bool_]:
    """(n,): the documents whose votes are hidden: a tenth of the matched ones or more, none if few.

    Drawn by a digest of the features, so that repeated documents are hidden together and the order of
    documents does not matter.
    """
    none = np.zeros(votes.n, dtype=np.bool_)
    if settings.selection != "votes" or settings.ablation == "rule-only":
        return none
    rows = np.flatnonzero(votes.voted.sum(axis=1) > settings.p)
    part = min(_MOST, max(_PART, _ENOUGH / max(len(rows), 1)))
    if len(rows) * part < _FEWEST:
        return none
    start = zlib.crc32(str(settings.seed).encode())
    blocks = [block.values for block in features.blocks]
    digest = np.array([_digest(blocks, row, start) for row in rows.tolist()])
    none[rows[digest < part * 2**32]] = True
    return none


def _digest(blocks: list[NDArray[np.float32]], row: int, start: int) -> int:
    for block in blocks:
        start = zlib.crc32(np.ascontiguousarray(block[row]).tobytes(), start)
    return zlib.crc32(start.to_bytes(4, "little"))


def judge_for(
    features: Features,
    votes: Votes,
    settings: Settings,
    hidden: NDArray[np.bool_],
    valid: Valid | None,
) -> Judge | None:
    """What judges an epoch; None when the last is kept."""
    if settings.selection == "gold":
        if valid is None:
            raise InputError(
                'selection = "gold" needs validation documents with true labels: give them, or select by "votes"'
            )
        return _by_gold(valid)
    if not hidden.any():
        return None
    rows = np.flatnonzero(hidden)
    counts = votes.take(rows).counts().astype(np.float64)  # (n, m)
    return _by_votes(features.take(rows), counts / counts.sum(axis=1, keepdims=True))


def _by_votes(features: Features, share: NDArray[np.float64]) -> Judge:
    def judge(learner: CoTrained) -> float:
        return sharpness(learner.text_scores(features), share)[1]

    return judge


def _by_gold(valid: Valid) -> Judge:
    features, votes, labels = valid
    gold = checked(labels, votes.n, votes.m, "validation labels")
    known = gold >= 0
    if not known.any():
        raise InputError("none of the validation documents has a true label")

    def judge(learner: CoTrained) -> float:
        predicted = learner.heads(features, votes).predicted
        return float((predicted == gold)[known].mean())

    return judge


@dataclass
class Best:
    """The best epoch so far."""

    patience: int
    epoch: int = 0
    score: float = -np.inf
    weights: Tensor | None = field(default=None, repr=False)

    def offer(self, epoch: int, score: float, weights: Tensor) -> None:
        """Keep this epoch if it is better than all before."""
        if score > self.score:
            self.epoch, self.score, self.weights = epoch, score, weights.clone()

    def enough(self, epoch: int) -> bool:
        """Whether patience has run out."""
        return self.patience > 0 and epoch - self.epoch >= self.patience
