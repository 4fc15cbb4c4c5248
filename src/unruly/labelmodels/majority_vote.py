"""Majority vote, with a stated policy for ties and for no votes at all; and weighted: sources that agree with the others weigh more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, SettingsError, not_fitted
from unruly.labelmodels.dawid_skene import fitted_prior
from unruly.labelmodels.label_model import (
    GUESS,
    LogLinearModel,
    Parameters,
    Prior,
    accuracy,
    as_votes,
    distinct_votes,
)
from unruly.prior import parse_prior
from unruly.statistics import Float64, ratio
from unruly.votes.majority import Tally, leading, tallies
from unruly.votes.sparse import DistinctVotes, SparseVotes
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import listed

Ties = Literal["commonest", "random", "first", "abstain"]
Uncovered = Literal["commonest", "abstain"]


@dataclass(eq=False)
class MajorityVote(Parameters):
    r"""Every source has one vote, and all votes weigh the same.

    For document i, with $c_{ir}$ the number of sources that vote for class r,

    $$\hat y_i = \arg\max_r c_{ir}, \qquad p_{ir} = c_{ir} / \sum_s c_{is}.$$

    `predict` gives class numbers. A tie goes to the commonest of the leading classes, unless `ties` says
    "random" (drawn with the seed), "first" (the lowest class number, as `argmax` does) or "abstain"
    (-1). A document without votes gets the commonest class, or -1 with `uncovered="abstain"`. Of equally
    common classes the lowest number is taken. `predict_proba` gives vote shares, and the prior where
    nobody voted; soft votes count with their probabilities there. A partial vote ("one of these classes")
    counts in equal parts for its classes, everywhere.

    The prior is the one given, else what `fit` finds: how many documents each class wins, a tied one
    counting in equal parts, plus one document for each class. `accuracies_` is the share of each source's
    votes that name the winner (1/t of a vote where t classes tie); its own vote counts among the rest, so
    that a source that is mostly alone looks better than it is. NaN for a source that never votes.

    >>> votes = [[0, 0, 1], [0, 1, -1], [-1, -1, -1], [1, -1, -1], [1, 1, -1]]
    >>> model = MajorityVote().fit(votes)
    >>> model.predict(votes)
    array([0, 1, 1, 1, 1], dtype=int16)
    >>> model.predict_proba(votes).round(2).tolist()
    [[0.67, 0.33], [0.5, 0.5], [0.42, 0.58], [0.0, 1.0], [0.0, 1.0]]
    >>> model.accuracies_.round(2).tolist()
    [0.88, 0.83, 0.0]
    >>> MajorityVote(ties="first", uncovered="abstain").fit(votes).predict(votes)
    array([ 0,  0, -1,  1,  1], dtype=int16)
    """

    ties: Ties = "commonest"
    uncovered: Uncovered = "commonest"
    class_prior: Sequence[float] | Mapping[str, float] | None = None
    seed: int = 0

    class_prior_: Float64 = field(init=False, repr=False)  # (m,)
    accuracies_: Float64 = field(init=False, repr=False)  # (k,)
    classes_: tuple[str, ...] = field(init=False, repr=False)
    sources_: tuple[str, ...] = field(init=False, repr=False)

    def fit(self, votes: Votes | ArrayLike, y: object = None) -> Self:
        """Learn the prior, and how far each source goes with the majority."""
        votes = as_votes(votes)
        self._learn_prior(votes)
        self.accuracies_ = _agreement(votes)
        return self

    def _learn_prior(self, votes: Votes) -> Self:
        """All that labels need."""
        _check_choice("ties", self.ties, get_args(Ties))
        _check_choice("uncovered", self.uncovered, get_args(Uncovered))
        self.classes_ = votes.classes
        self.sources_ = votes.sources
        stated = parse_prior(self.class_prior, votes.classes)
        wins = class_wins(votes) + 1
        voted = wins / wins.sum()
        self.class_prior_ = (
            voted if stated is None else np.asarray(stated.with_votes(voted.tolist()))
        )
        return self

    def predict_proba(self, votes: Votes | ArrayLike) -> Float64:
        """(n, m): the share of the votes that each class has; columns are `classes_`."""
        return SparseVotes.of(self._checked(votes)).shares(self.class_prior_)

    def predict(self, votes: Votes | ArrayLike) -> NDArray[np.int16]:
        """(n,): the winning class number, -1 where the policies say so."""
        votes = self._checked(votes)
        rng = np.random.default_rng(self.seed)
        labels = np.empty(votes.n, dtype=np.int16)
        for tally in tallies(votes):
            labels[tally.rows] = self._decide(tally, rng)
        return labels

    def score(self, votes: Votes | ArrayLike, y: ArrayLike | Sequence[Any]) -> float:
        """The accuracy of `predict` against gold labels (n,): names or class numbers, None or -1 where unknown.

        An abstention is wrong. Reports count a tie of t classes as 1/t right instead.
        """
        return accuracy(self.predict(votes), y, self.classes_)

    def _decide(self, tally: Tally, rng: np.random.Generator) -> NDArray[np.int16]:
        leads = leading(tally.counts)  # (b, m)
        label = np.asarray(leads.argmax(axis=1), np.int16)
        leaders = leads.sum(axis=1)
        covered, tied = leaders > 0, leaders > 1
        several = leads[tied]  # (ties, m)
        match self.ties:
            case "abstain":
                label[tied] = ABSTAIN
            case "random":
                label[tied] = np.where(several, rng.random(several.shape), -1).argmax(axis=1)
            case "commonest":
                label[tied] = np.where(several, self.class_prior_, -1).argmax(axis=1)
        gap = int(self.class_prior_.argmax()) if self.uncovered == "commonest" else ABSTAIN
        label[~covered] = gap
        return label

    def _checked(self, given: Votes | ArrayLike) -> Votes:
        if not hasattr(self, "class_prior_"):
            raise not_fitted("this MajorityVote has not been fitted yet: call fit(votes) first")
        votes = as_votes(given, self.classes_, self.sources_)
        if votes.classes != self.classes_:
            raise InputError(
                f"fitted on the classes {listed(self.classes_)}, but the votes are for "
                f"{listed(votes.classes)}: fit it again"
            )
        return votes


def majority_vote(votes: Votes, ties: Ties = "abstain", seed: int = 0) -> NDArray[np.int16]:
    """(n,): the class that most sources name; -1 where nobody voted, ties by policy.

    >>> majority_vote(Votes.from_array([[1, 1], [0, 1]]), ties="first")
    array([1, 0], dtype=int16)
    """
    model = MajorityVote(ties=ties, uncovered="abstain", seed=seed)
    return model._learn_prior(votes).predict(votes)


def class_wins(votes: Votes) -> Float64:
    """(m,): how many documents each class wins; a tied one counts in equal parts.

    >>> class_wins(Votes.from_array([[0, 0], [0, 1], [-1, -1]])).tolist()
    [1.5, 0.5]
    """
    wins = np.zeros(votes.m)
    for tally in tallies(votes):
        wins += tally.shares.sum(axis=0)
    return wins


def commonest_class(votes: Votes) -> int:
    """The class that wins most documents, the lowest number of equals: what a document without votes gets.

    >>> commonest_class(Votes.from_array([[1, 1], [1, -1], [0, 0]]))
    1
    """
    return int(class_wins(votes).argmax())


def _agreement(votes: Votes) -> Float64:
    """(k,): the share of each source's votes that name the winner; NaN for one that casts none."""
    agreed, cast = np.zeros(votes.k), np.zeros(votes.k)
    for tally in tallies(votes):
        part = tally.shares  # (b, m)
        for r in range(votes.m):
            everywhere = np.full(len(part), r)
            agreed += part[:, r] @ votes.agrees(everywhere, tally.rows)
        cast += (tally.block != ABSTAIN).sum(axis=0)
    return ratio(agreed, cast, np.nan)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


SURE = 1e-3  # no source is taken to be righter, or wronger, than this


@dataclass(eq=False)
class WeightedVote(LogLinearModel):
    r"""Majority vote in which each source weighs as much as its accuracy warrants.

    $$ P(y \mid v) \propto \pi_y \exp \sum_{j: v_j = y} w_j, \qquad w_j = \log \frac{(m-1)\,\alpha_j}{1 - \alpha_j} $$

    is the best rule for independent sources that are right with probability alpha_j. Accuracies that
    are known can be given. Otherwise alpha_j is the average share of the votes that go with source j,
    over the documents where it is not alone; `smoothing` votes at 70 % are added, so that a source
    that nobody meets keeps an average weight. One pass, nothing iterates, nothing can collapse.

    S. Nitzan and J. Paroush (1982), Optimal decision rules in uncertain dichotomous choice situations,
    International Economic Review 23(2).

    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(0, 2, 5000)
    >>> right = rng.random((5000, 4)) < [0.9, 0.6, 0.6, 0.6]  # four sources, each as often right
    >>> votes = np.where(right, gold[:, None], 1 - gold[:, None])
    >>> model = WeightedVote().fit(votes)
    >>> int(model.weights_.argmax()), bool(model.accuracies_[0] > model.accuracies_[1:].max())
    (0, True)
    >>> known = WeightedVote(accuracies=[0.9, 0.6, 0.6, 0.6]).fit(votes)
    >>> known.weights_.round(1).tolist()
    [2.2, 0.4, 0.4, 0.4]
    """

    class_prior: Prior = "uniform"
    accuracies: Sequence[float] | None = None
    smoothing: float = 2.0  # votes at 70 %, added to each source's

    weights_: Float64 = field(init=False, repr=False)  # (k,)

    def fit(self, votes: Votes | ArrayLike, y: object = None) -> Self:
        """Weigh the sources, by the accuracies that are given or by how far they agree."""
        if self.smoothing < 0:
            raise SettingsError(f"smoothing is {self.smoothing}: give a number of votes, 0 or more")
        votes = as_votes(votes)
        distinct = distinct_votes(votes)
        self.class_prior_ = fitted_prior(self.class_prior, votes.classes, distinct)
        if self.accuracies is None:
            alpha = _agreement_with_others(distinct, self.smoothing)
        else:
            alpha = _given(self.accuracies, votes.k)
        self.accuracies_ = np.where(distinct.cast.any(axis=1), alpha, np.nan)
        sure = np.clip(alpha, SURE, 1 - SURE)
        self.weights_ = np.log((votes.m - 1) * sure / (1 - sure))
        weights = self.weights_[:, None, None] * np.eye(votes.m)  # (k, m, m)
        self._keep(votes, weights, np.log(self.class_prior_))
        return self


def _agreement_with_others(distinct: DistinctVotes, smoothing: float) -> Float64:
    """(k,): the share of votes that go with each source's own, where it is not alone."""
    met = np.asarray(distinct.votes.onehot.sum(axis=1)) > 1.5  # (u,): at least two sources voted
    together = distinct.only(met)
    right = np.einsum("jcc->j", together.joint(together.votes.shares(np.zeros(distinct.m))))
    return ratio(right + smoothing * GUESS, together.cast.sum(axis=1) + smoothing, GUESS)


def _given(accuracies: Sequence[float], k: int) -> Float64:
    alpha = np.asarray(accuracies, dtype=np.float64)
    if alpha.shape != (k,):
        raise SettingsError(f"{alpha.size} accuracies are given, but there are {k} sources")
    if not ((alpha >= 0) & (alpha <= 1)).all():
        raise SettingsError(
            f"accuracies {alpha.tolist()} must lie between 0 and 1: the share of right votes"
        )
    return alpha
