"""Which epoch is kept, when to stop, and calibration: by held-out votes, or by gold where it is asked for.

Without gold, a part of the matched documents has its votes held out of training. An epoch is as good
as the classifier's likelihood of those votes, at the sharpness that suits it best (noisy votes punish
any network that has begun to be sure, so the plain likelihood would stop before it has learned
anything). A network that memorises the training documents' noise does worse there. No true label is
touched. Of equal epochs the earliest is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.learner import Gold, check_labels
from unruly.paper.inference import CoTrained
from unruly.settings import PaperSettings
from unruly.statistics import log_softmax
from unruly.texts.columns import UNKNOWN
from unruly.votes.votes import ABSTAIN, Votes

Judge = Callable[[CoTrained], float]  # higher is better
Valid = tuple[Features, Votes, Gold]
_PART, _MOST = 0.1, 0.3  # of the matched documents are held out: a tenth, up to 0.3 if few
_ENOUGH = 100  # held-out documents are enough to judge by
_FEWEST = 20  # with fewer the judgement would be noise, and the last epoch is kept


def hold_out(
    features: Features, votes: Votes, settings: PaperSettings, seed: int
) -> NDArray[np.bool_]:
    """(n,): the documents whose votes are held out: a tenth of the matched ones or more, none if few.

    Drawn by a digest of the features, so that repeated documents are held out together and the order of
    documents does not matter.
    """
    held = np.zeros(votes.n, dtype=np.bool_)
    if settings.selection != "votes" or settings.ablation == "rule-only":
        return held
    rows = np.flatnonzero((votes.hard != ABSTAIN).sum(axis=1) > settings.p)
    part = min(_MOST, max(_PART, _ENOUGH / max(len(rows), 1)))
    if len(rows) * part < _FEWEST:
        return held
    start = zlib.crc32(str(seed).encode())
    blocks = [block.array for block in features.blocks]
    digest = np.array([_digest(blocks, row, start) for row in rows.tolist()])
    held[rows[digest < part * 2**32]] = True
    return held


def _digest(blocks: list[NDArray[np.float32]], row: int, start: int) -> int:
    for block in blocks:
        start = zlib.crc32(np.ascontiguousarray(block[row]).tobytes(), start)
    return zlib.crc32(start.to_bytes(4, "little"))


def judge_for(
    features: Features,
    votes: Votes,
    settings: PaperSettings,
    held: NDArray[np.bool_],
    valid: Valid | None,
) -> Judge | None:
    """What judges an epoch; None when the last is kept."""
    if settings.selection == "gold":
        if valid is None:
            raise InputError(
                'selection = "gold" needs validation documents with true labels: give them, or select by "votes"'
            )
        return _by_gold(valid)
    if not held.any():
        return None
    rows = np.flatnonzero(held)
    counts = votes.take(rows).counts().astype(np.float64)  # (n, m)
    share = counts / counts.sum(axis=1, keepdims=True)
    mine = features.take(rows)
    return lambda learner: sharpness(learner.text_scores(mine), share)[1]


def _by_gold(valid: Valid) -> Judge:
    features, votes, labels = valid
    gold = check_labels(labels, votes.n, votes.m, "validation labels")
    known = gold >= 0
    if not known.any():
        raise InputError("none of the validation documents has a true label")

    def judge(learner: CoTrained) -> float:
        predicted = learner.heads(features, votes).predicted
        return float((predicted == gold)[known].mean())

    return judge


@dataclass(eq=False)
class Best:
    """The best epoch so far; of equal ones the earliest."""

    patience: int
    epoch: int = 0
    score: float = -np.inf
    weights: NDArray[np.float32] | None = field(default=None, repr=False)

    def offer(self, epoch: int, score: float, weights: NDArray[np.float32]) -> None:
        """Keep this epoch if it is better than all before."""
        if score > self.score:
            self.epoch, self.score, self.weights = epoch, score, weights.copy()

    def enough(self, epoch: int) -> bool:
        """Whether patience has run out."""
        return self.patience > 0 and epoch - self.epoch >= self.patience


def set_aside(clean: Gold, seed: int) -> tuple[Gold, Gold]:
    """Split clean labels in two: four fifths for training, and a fifth that training never sees."""
    known = np.random.default_rng(seed).permutation(np.flatnonzero(clean >= 0))
    aside = known[: len(known) // 5]
    training, apart = clean.copy(), np.full_like(clean, UNKNOWN)
    training[aside] = UNKNOWN
    apart[aside] = clean[aside]
    return training, apart


def calibrated(
    learner: CoTrained, features: Features, votes: Votes, valid: Valid | None, aside: Gold | None
) -> CoTrained:
    """Put both heads on one scale, by labels that training did not see."""
    if valid is not None:
        features, votes, given = valid
        gold = check_labels(given, votes.n, votes.m, "validation labels")
    else:
        gold = check_labels(aside, votes.n, votes.m)
    known = np.flatnonzero(gold >= 0)
    if not len(known):
        raise InputError(
            "calibrate = true needs true labels: at least 5 clean labels, or validation documents"
        )
    rule, text = learner.scores(features.take(known), votes.take(known))
    voted = votes.covered[known]
    labels = np.eye(votes.m)[gold[known]]  # (known, m)
    first = sharpness(rule[voted], labels[voted])[0] if voted.any() else 1.0
    return replace(learner, sharpness=(first, sharpness(text, labels)[0]))


def sharpness(
    scores: NDArray[np.float32], labels: NDArray[np.floating[Any]]
) -> tuple[float, float]:
    """The factor on a head's scores that calibrates it, and the mean log-likelihood then.

    `labels`, (n, m), are distributions: one-hot rows of true labels, or shares of votes. One number
    (the inverse of a temperature) for each head puts both on one scale; it is searched for over its logarithm.

    >>> from unruly.statistics import softmax
    >>> nine_in_ten = np.array([[9.0, 0.0]] * 9 + [[0.0, 9.0]], np.float32)
    >>> factor, _ = sharpness(nine_in_ten, np.array([[1, 0]] * 10))
    >>> print(softmax(nine_in_ten * factor)[0].round(2))
    [0.9 0.1]
    """
    wide = scores.astype(np.float64)

    def loss(log_factor: float) -> float:
        log_probability = log_softmax(wide * np.exp(log_factor))
        return -float((log_probability * labels).sum(axis=1).mean())

    found = minimize_scalar(
        loss, bounds=(np.log(1e-2), np.log(1e2)), method="bounded", options={"xatol": 1e-5}
    )
    return float(np.exp(found.x)), -float(found.fun)
