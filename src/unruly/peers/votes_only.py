"""Label models used alone as systems: they see the votes, and never a text or a true label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from unruly.labelmodels.dawid_skene import DawidSkene
from unruly.labelmodels.label_model import LabelModel
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.labelmodels.one_coin import OneCoin
from unruly.labelmodels.weighted_vote import WeightedVote
from unruly.peers.system import Documents, Lesson, Proba
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.training.denoiser_alone import DenoiserAlone

Shares = tuple[float, ...]
TIE = 1e-6  # how much of the prior is mixed in, so that ties go to the commoner class


@dataclass(frozen=True, eq=False)
class FittedVotes:
    """A fitted label model."""

    model: LabelModel
    parameters: int
    gold_used: tuple[str, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the soft labels; the prior where no source voted, and a breath of it to settle ties."""
        said = self.model.predict_proba(documents.votes)
        return (1 - TIE) * said + TIE * self.model.prior_


@dataclass(frozen=True)
class VotesOnly:
    """One label model. The lesson's prior is used if it has one, else the model's own way to a prior.

    Clean labels and validation documents are not looked at.
    """

    make: Callable[[Shares | None, int], LabelModel]  # from the prior and the seed
    learnt: Callable[[LabelModel], int]  # how many numbers it has learnt

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedVotes:
        """Learn how the sources behave."""
        model = self.make(lesson.prior, lesson.seed).fit(lesson.documents.votes)
        return FittedVotes(model, self.learnt(model))


def majority_vote() -> VotesOnly:
    """Every source has one vote; ties go to the class that wins more often."""
    return VotesOnly(lambda prior, seed: MajorityVote(prior=prior, seed=seed), lambda model: 0)


def weighted_vote() -> VotesOnly:
    """Votes weighed by how far sources agree."""
    return VotesOnly(
        lambda prior, _: WeightedVote(prior or "uniform"), lambda model: model.accuracies_.size
    )


def one_coin() -> VotesOnly:
    """Dawid-Skene with one number for each source."""
    return VotesOnly(lambda prior, _: OneCoin(prior or "uniform"), _rates)


def dawid_skene() -> VotesOnly:
    """Dawid-Skene with a confusion matrix for each source."""
    return VotesOnly(lambda prior, _: DawidSkene(prior or "uniform"), _rates)


def matrix_completion() -> VotesOnly:
    """Snorkel's generative model."""
    return VotesOnly(lambda prior, _: MatrixCompletion(prior or "uniform"), _rates)


def denoiser() -> VotesOnly:
    """The paper's attention over votes, without features."""
    return VotesOnly(
        lambda prior, seed: DenoiserAlone(replace(Settings.paper(), seed=seed), prior or "uniform"),
        _attention,
    )


def _rates(model: LabelModel) -> int:
    assert isinstance(model, OneCoin | DawidSkene | MatrixCompletion)
    return model.coins_.size if isinstance(model, OneCoin) else model.rates_.size


def _attention(model: LabelModel) -> int:
    assert isinstance(model, DenoiserAlone)
    a = model.learner.attention
    return a.w1.size + a.w2.size + a.votes.size
