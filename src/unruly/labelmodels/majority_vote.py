"""Majority vote: the class that most sources name, with a stated policy for ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from unruly.errors import NotFittedError, SettingsError
from unruly.votes.tally import Tally, tallies
from unruly.votes.votes import ABSTAIN, Votes

Ties = Literal["abstain", "random", "first", "prior"]
Uncovered = Literal["abstain", "prior"]


@dataclass
class MajorityVote:
    r"""Every source has one vote, and all votes weigh the same.

    For document i, with $c_{ir}$ the number of sources that vote for class r,

    $$\hat y_i = \arg\max_r c_{ir}, \qquad p_{ir} = c_{ir} / \sum_s c_{is}.$$

    `predict` gives class numbers. A tie is settled by `ties`: "abstain" gives -1, "random" picks
    among the leading classes with the seed, "first" takes the lowest class number (as `argmax`
    does), "prior" the leading class that is commonest. A document without votes gets -1, or with
    `uncovered="prior"` the commonest class. `predict_proba` gives vote shares, and the prior where
    nobody voted; soft votes count with their probabilities there.

    The prior is the one given, else what `fit` finds: the share of each class among documents with
    a single winner, plus one document of each class. `accuracies_` is the share of each source's votes
    that name the winner (1/t of a vote where t classes tie); its own vote counts among the rest, so
    that a source that is mostly alone looks better than it is. NaN for a source that never votes.

    >>> votes = Votes.from_array([[0, 0, 1], [0, 1, -1], [-1, -1, -1], [1, -1, -1]])
    >>> model = MajorityVote().fit(votes)
    >>> model.predict(votes)
    array([ 0, -1, -1,  1], dtype=int16)
    >>> model.predict_proba(votes).round(2).tolist()
    [[0.67, 0.33], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    >>> model.accuracies_.round(2).tolist()
    [0.83, 0.75, 0.0]
    >>> MajorityVote(ties="first").fit(votes).predict(votes)
    array([ 0,  0, -1,  1], dtype=int16)
    """

    ties: Ties = "abstain"
    uncovered: Uncovered = "abstain"
    prior: Sequence[float] | None = None
    seed: int = 0

    def fit(self, votes: Votes) -> Self:
        """Learn the prior, and how far each source goes with the majority."""
        self._learn_prior(votes)
        self.accuracies_ = _agreement(votes)
        return self

    def _learn_prior(self, votes: Votes) -> Self:
        """All that labels need."""
        _check_choice("ties", self.ties, get_args(Ties))
        _check_choice("uncovered", self.uncovered, get_args(Uncovered))
        self.classes_ = votes.classes
        self.sources_ = votes.sources
        self.prior_ = _winner_shares(votes) if self.prior is None else _given(self.prior, votes.m)
        return self

    def predict_proba(self, votes: Votes) -> NDArray[np.float64]:
        """(n, m): the share of the votes that each class has; columns are `classes_`."""
        self._check(votes)
        shares = votes.counts().astype(np.float64)  # (n, m)
        for source, values in votes.soft.items():
            _soften(shares, votes.matrix[:, votes.sources.index(source)], values)
        cast = shares.sum(axis=1, keepdims=True)  # (n, 1)
        return np.where(cast > 0, shares / np.maximum(cast, 1e-12), self.prior_)

    def predict(self, votes: Votes) -> NDArray[np.int16]:
        """(n,): the winning class number, -1 where the policies say so."""
        self._check(votes)
        rng = np.random.default_rng(self.seed)
        labels = np.empty(votes.n, dtype=np.int16)
        for tally in tallies(votes):
            labels[tally.rows] = self._settle(tally, rng)
        return labels

    def _settle(self, tally: Tally, rng: np.random.Generator) -> NDArray[np.int16]:
        label = tally.winner.astype(np.int16)
        covered = tally.counts.any(axis=1)
        tied = covered & (tally.leaders > 1)
        counts = tally.counts[tied]
        leading = counts == counts.max(axis=1, keepdims=True)  # (ties, m)
        match self.ties:
            case "abstain":
                label[tied] = ABSTAIN
            case "random":
                label[tied] = np.where(leading, rng.random(leading.shape), -1).argmax(axis=1)
            case "prior":
                label[tied] = np.where(leading, self.prior_, -1).argmax(axis=1)
        label[~covered] = int(self.prior_.argmax()) if self.uncovered == "prior" else ABSTAIN
        return label

    def _check(self, votes: Votes) -> None:
        if not hasattr(self, "prior_"):
            raise NotFittedError("this MajorityVote is not fitted yet: call fit(votes) first")
        if votes.classes != self.classes_:
            raise SettingsError(
                f"fitted on the classes {', '.join(self.classes_)}, but the votes are for {', '.join(votes.classes)}"
            )


def majority_vote(votes: Votes, ties: Ties = "abstain", seed: int = 0) -> NDArray[np.int16]:
    """(n,): the class that most sources name; -1 where nobody voted, ties by policy.

    >>> majority_vote(Votes.from_array([[1, 1], [0, 1]]), ties="first")
    array([1, 0], dtype=int16)
    """
    return MajorityVote(ties=ties, seed=seed)._learn_prior(votes).predict(votes)


def _winner_shares(votes: Votes) -> NDArray[np.float64]:
    """(m,): how often each class wins alone, each class given one document for a start."""
    wins = np.ones(votes.m)
    for tally in tallies(votes):
        alone = tally.counts.any(axis=1) & (tally.leaders == 1)
        wins += np.bincount(tally.winner[alone], minlength=votes.m)
    return np.asarray(wins / wins.sum())


def _agreement(votes: Votes) -> NDArray[np.float64]:
    """(k,): the share of each source's votes that name the winner; NaN for one that casts none."""
    agreed, cast = np.zeros(votes.k), np.zeros(votes.k)
    for tally in tallies(votes):
        leads = tally.counts == tally.counts.max(axis=1, keepdims=True)  # (b, m)
        part = leads / leads.sum(axis=1, keepdims=True)
        for r in range(votes.m):
            agreed += part[:, r] @ (tally.block == r)
        cast += tally.by_source.sum(axis=1)
    return np.where(cast > 0, agreed / np.maximum(cast, 1), np.nan)


def _given(prior: Sequence[float], m: int) -> NDArray[np.float64]:
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != (m,) or not (shares >= 0).all() or not shares.sum() > 0:
        raise SettingsError(f"prior must be {m} shares, one for each class, not {list(prior)}")
    return np.asarray(shares / shares.sum())


def _soften(
    shares: NDArray[np.float64], hard: NDArray[np.int8], values: NDArray[np.float32]
) -> None:
    """Take back one source's hard votes, and add its probabilities."""
    voted = np.flatnonzero(hard != ABSTAIN)
    shares[voted, hard[voted]] -= 1.0
    shares[voted] += values[voted]


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
