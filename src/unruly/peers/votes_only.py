"""Label models used alone as systems: they see the votes, and never a text or a true label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from unruly.labelmodels.dawid_skene import DawidSkene
from unruly.labelmodels.denoiser_alone import DenoiserAlone
from unruly.labelmodels.label_model import LabelModel
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.labelmodels.one_coin import OneCoin
from unruly.labelmodels.weighted_vote import WeightedVote
from unruly.peers.system import Documents, Lesson, Proba
from unruly.peers.ties import settled
from unruly.progress import SILENT, Progress
from unruly.settings import Settings

Shares = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class FittedVotes:
    """A fitted label model."""

    model: LabelModel
    parameters: int
    seed: int
    gold_used: tuple[str, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the soft labels; the prior where no source voted; ties are drawn by the seed."""
        said = self.model.predict_proba(documents.votes)
        return settled(said, documents.corpus.texts, self.seed)


@dataclass(frozen=True)
class VotesOnly:
    """One label model, with the lesson's prior if it has one, else with an even one.

    Clean labels and validation documents are not looked at.
    """

    make: Callable[[Shares, int], LabelModel]  # from the prior and the seed
    learnt: Callable[[LabelModel], int]  # how many numbers it has learnt

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedVotes:
        """Learn how the sources behave."""
        votes = lesson.documents.votes
        model = self.make(lesson.prior or (1 / votes.m,) * votes.m, lesson.seed)
        if isinstance(model, DenoiserAlone):  # the only one that takes its time
            model.fit(votes, progress=progress)
        else:
            model.fit(votes)
        return FittedVotes(model, self.learnt(model), lesson.seed)


def majority_vote() -> VotesOnly:
    """Every source has one vote."""
    return VotesOnly(lambda prior, seed: MajorityVote(prior=prior, seed=seed), lambda model: 0)


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
        lambda prior, seed: DenoiserAlone(replace(Settings.paper(), seed=seed), prior),
        _attention,
    )


def _rates(model: LabelModel) -> int:
    assert isinstance(model, OneCoin | DawidSkene | MatrixCompletion)
    return model.coins_.size if isinstance(model, OneCoin) else model.rates_.size


def _attention(model: LabelModel) -> int:
    assert isinstance(model, DenoiserAlone)
    a = model.learner.attention
    return a.w1.size + a.w2.size + a.votes.size
