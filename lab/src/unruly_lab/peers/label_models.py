"""Label models used alone as systems: they see the votes, and never a text or a true label.

Ties between classes are drawn by the seed: whoever takes the first of equals would favour one class. It
matters most where there are no votes. Under an even prior such documents are a tie of all classes, and with
class 0 for all of them a label model is as good as class 0 is common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from unruly.labelmodels.dawid_skene import DawidSkene, OneCoin
from unruly.labelmodels.label_model import LabelModel
from unruly.labelmodels.majority_vote import MajorityVote, WeightedVote
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.ledger import GoldUse
from unruly.progress import SILENT, Progress
from unruly_lab.peers.denoiser_alone import DenoiserAlone
from unruly_lab.peers.systems import Documents, Proba, TrainingData

TIE = 1e-6  # what the drawn class gets on top
_NEAR = 1e-9  # probabilities no further apart than this are equal


def break_ties(proba: Proba, texts: Iterable[str], seed: int) -> Proba:
    """(n, m): the same, with one of the likeliest classes a little ahead in each row.

    Drawn by text and seed, so that the order of documents does not matter and equal texts fare alike.

    >>> break_ties(np.array([[0.5, 0.5], [0.9, 0.1]]), ["first text", "second"], seed=0).round(
    ...     3
    ... ).tolist()
    [[0.5, 0.5], [0.9, 0.1]]
    >>> ties = break_ties(np.full((1000, 2), 0.5), map(str, range(1000)), seed=0)
    >>> 450 < ties.argmax(axis=1).sum() < 550
    np.True_
    """
    leading = proba >= proba.max(axis=1, keepdims=True, initial=0) - _NEAR  # (n, m)
    tied = leading.sum(axis=1) > 1
    if not tied.any():
        return proba
    fair = proba.copy()
    for row, text in enumerate(texts):
        if tied[row]:
            among = np.flatnonzero(leading[row])
            fair[row, among[_draw(text, seed) % len(among)]] += TIE
    fair[tied] /= fair[tied].sum(axis=1, keepdims=True)
    return fair


def _draw(text: str, seed: int) -> int:
    key = seed.to_bytes(8, "little", signed=True)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little")


Shares = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FittedVotes:
    """A fitted label model."""

    model: LabelModel
    parameters: int
    seed: int
    gold_used: tuple[GoldUse, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the soft labels; the prior where no source voted; ties are drawn by the seed."""
        said = self.model.predict_proba(documents.votes)
        return break_ties(said, documents.corpus.texts, self.seed)


@dataclass(frozen=True)
class VotesOnly:
    """One label model, with the data's prior if it has one, else with an even one.

    Clean labels and validation documents are not looked at.
    """

    make: Callable[[Shares, int], LabelModel]  # from the prior and the seed
    learnt: Callable[[LabelModel], int]  # how many numbers it has learnt

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedVotes:
        """Learn how the sources behave."""
        votes = data.documents.votes
        model = self.make(data.prior or (1 / votes.m,) * votes.m, data.seed)
        if isinstance(model, DenoiserAlone):  # the only one that takes its time
            model.fit(votes, progress=progress)
        else:
            model.fit(votes)
        return FittedVotes(model, self.learnt(model), data.seed)


def majority_vote() -> VotesOnly:
    """Every source has one vote; documents without votes get the commonest class of the votes, as everywhere."""
    return VotesOnly(lambda _, seed: MajorityVote(seed=seed), lambda model: 0)


def weighted_vote() -> VotesOnly:
    """Votes weighed by how far sources agree."""
    return VotesOnly(lambda prior, _: WeightedVote(prior), lambda model: model.accuracies_.size)


def one_coin() -> VotesOnly:
    """Dawid-Skene with one number for each source."""
    return VotesOnly(lambda prior, _: OneCoin(prior), _rates)


def dawid_skene() -> VotesOnly:
    """Dawid-Skene with a confusion matrix for each source."""
    return VotesOnly(lambda prior, _: DawidSkene(prior), _rates)


def matrix_completion() -> VotesOnly:
    """Snorkel's generative model."""
    return VotesOnly(lambda prior, _: MatrixCompletion(prior), _rates)


def denoiser() -> VotesOnly:
    """The paper's attention over votes, without features."""
    return VotesOnly(
        lambda prior, seed: DenoiserAlone(class_prior=prior, seed=seed),
        _attention,
    )


def _rates(model: LabelModel) -> int:
    assert isinstance(model, OneCoin | DawidSkene | MatrixCompletion)
    return model.coins_.size if isinstance(model, OneCoin) else model.rates_.size


def _attention(model: LabelModel) -> int:
    assert isinstance(model, DenoiserAlone)
    a = model.learner.attention
    return a.w1.size + a.w2.size + a.votes.size
