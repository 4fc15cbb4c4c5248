"""What a label model is, and what label models share: the votes they take, the prior, the fitted rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from unruly.errors import InputError, SettingsError, not_fitted
from unruly.prior import parse_prior
from unruly.statistics import Float64, softmax
from unruly.texts.columns import label_numbers
from unruly.votes.sparse import DistinctVotes
from unruly.votes.votes import Votes
from unruly.wording import did_you_mean, listed, plural

GUESS = 0.7  # the accuracy of a source of which nothing is known
Prior = Literal["uniform", "votes", "learn"] | Sequence[float] | Mapping[str, float] | Float64


@runtime_checkable
class LabelModel(Protocol):
    """Turns votes into soft labels, and estimates how accurate each source is.

    Votes are a `Votes`, or an (n, k) array of class numbers with -1 where a source abstains, as in
    Snorkel. Documents without a vote get the class prior.

    >>> from unruly.labelmodels.dawid_skene import DawidSkene
    >>> model = DawidSkene().fit([[0, 0, 0], [1, 1, 0], [1, 1, -1]])
    >>> isinstance(model, LabelModel), model.predict([[1, -1, 1]]).tolist()
    (True, [1])
    """

    class_prior_: Float64  # (m,): the class prior that was given or estimated
    accuracies_: Float64  # (k,): of each vote cast, NaN for a source that cast none

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Refuse what a user of Snorkel types: this is only what label models have in common."""
        raise TypeError(
            "LabelModel is what all label models have in common: the one that Snorkel calls so is "
            "unruly.MatrixCompletion(), with fit, predict and predict_proba for the same array of votes; it needs no "
            "cardinality. unruly.WeakClassifier also reads the texts (docs/from-snorkel.md)"
        )

    def fit(self, votes: Votes | ArrayLike) -> Self:
        """Learn how the sources behave."""

    def predict_proba(self, votes: Votes | ArrayLike) -> Float64:
        """(n, m): the probability of each class, for votes of the same sources."""

    def predict(self, votes: Votes | ArrayLike) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""


def as_votes(
    given: Votes | ArrayLike,
    classes: tuple[str, ...] | None = None,
    sources: tuple[str, ...] | None = None,
) -> Votes:
    """Votes as they are, or from an (n, k) array; classes and sources are those of the fit, if known."""
    return (
        given
        if isinstance(given, Votes)
        else Votes.from_array(given, classes=classes, sources=sources)
    )


def distinct_votes(votes: Votes) -> DistinctVotes:
    """The distinct rows to learn from; votes that are all abstentions, or all for one class, are refused."""
    distinct = DistinctVotes.of(votes)
    if not distinct.cast.any():
        raise InputError(
            f"no source votes on any of the {plural(distinct.n, 'document')}: a label model needs votes to learn from"
        )
    refuse_one_class(votes.counts().max(axis=0) > 0, votes.classes)
    return distinct


def refuse_one_class(
    named: NDArray[np.bool_], classes: tuple[str, ...], otherwise: str = ""
) -> None:
    """Refuse votes that all name one class: every model would predict it everywhere.

    >>> refuse_one_class(np.array([False, True]), ("ham", "spam"))
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: all votes are for one class, spam, so no other can be learnt: add rules for ham
    """
    if named.sum() == 1:
        only = classes[int(named.argmax())]
        others = [name for name in classes if name != only]
        raise InputError(
            f"all votes are for one class, {only}, so no other can be learnt: add rules for {listed(others)}{otherwise}"
        )


def stated_prior(wish: Prior, classes: tuple[str, ...], cast: Float64) -> Float64 | None:
    """(m,): the prior as numbers; None for "learn", which only a model of the votes can answer.

    `cast` (k, m) counts the votes of each source for each class. "votes" is their share, with one
    vote for each class added so that no class is impossible; it divides what is stated of no class.
    All else is read as everywhere.

    >>> cast = np.array([[2.0, 5.0], [1.0, 0.0]])
    >>> (
    ...     stated_prior("uniform", ("a", "b"), cast).tolist(),
    ...     stated_prior("votes", ("a", "b"), cast).tolist(),
    ... )
    ([0.5, 0.5], [0.4, 0.6])
    """
    if isinstance(wish, str) and wish == "learn":
        return None
    balance = parse_prior(wish, classes)
    if balance is None:
        raise SettingsError(
            "class_prior: a label model takes 'uniform', 'votes', 'learn' or shares"
        )
    voted = (cast.sum(axis=0) + 1) / (cast.sum() + len(classes))
    return np.asarray(balance.with_votes(voted.tolist()))


@dataclass(frozen=True, eq=False)
class LogLinear:
    """The form that label models take once they are fitted: log-linear in the votes.

        log P(y | votes) = bias[y] + sum over sources j that voted of weights[j, vote, y] + constant

    Documents without a vote get the prior, whatever the bias. Where silence is evidence, the bias holds that of all
    sources, and a source that was never asked about a document takes its own back.

    >>> weights = np.log([[[0.9, 0.1], [0.1, 0.9]]])
    >>> rule = LogLinear(("a",), ("ham", "spam"), weights, np.zeros(2), np.array([0.7, 0.3]))
    >>> rule.proba([[0], [-1]]).round(2).tolist()
    [[0.9, 0.1], [0.7, 0.3]]
    """

    sources: tuple[str, ...]
    classes: tuple[str, ...]
    weights: Float64  # (k, m, m): source, its vote, the class
    bias: Float64  # (m,)
    prior: Float64  # (m,)
    silent: Float64 | None = None  # (k, m): what each source's silence has added to the bias

    def proba(self, given: Votes | ArrayLike) -> Float64:
        """(n, m): the soft labels, for votes of the sources that the rule knows."""
        votes = as_votes(given, self.classes, self.sources)
        if votes.sources != self.sources or votes.classes != self.classes:
            raise InputError(
                f"these votes have sources {listed(votes.sources, 5)} and classes "
                f"{listed(votes.classes, 5)}, but the model was fitted on {listed(self.sources, 5)} and "
                f"{listed(self.classes, 5)}: fit it again, or give it votes of the same sources, in the same order"
            )
        if not votes.n:
            return np.empty((0, votes.m))
        distinct = DistinctVotes.of(votes)
        q = posterior(distinct, self.weights, self.bias, self.silent)
        q[~distinct.votes.covered] = self.prior
        return distinct.expand(q)


def posterior(
    distinct: DistinctVotes, weights: Float64, bias: Float64, silent: Float64 | None = None
) -> Float64:
    """(u, m): the softmax over classes of bias (m,) plus the weights (k, m, m) of each row's votes.

    Less `silent` (k, m) of sources that were not asked about the row: they are missing, not silent.
    """
    k, m = distinct.k, distinct.m
    edge = (weights[:, :, 1:] - weights[:, :, :1]).reshape(k * m, m - 1)  # against class 0
    logits = distinct.votes.onehot @ edge + (bias[1:] - bias[0])  # (u, m-1)
    if silent is not None and distinct.votes.unasked is not None:
        logits -= distinct.votes.unasked @ (silent[:, 1:] - silent[:, :1])
    if m == 2:  # the usual case, and twice as fast
        second = expit(logits)
        return np.hstack([1 - second, second])
    return softmax(np.hstack([np.zeros((len(logits), 1)), logits]))


def likeliest(proba: Float64) -> NDArray[np.int16]:
    """(n,): the class of highest probability in each row; among equals, the first."""
    return np.asarray(proba.argmax(axis=1), dtype=np.int16)


def accuracy(
    predicted: NDArray[np.int16], y: ArrayLike | Sequence[Any], classes: tuple[str, ...]
) -> float:
    """The share of documents whose class is predicted; those without a gold label (None, -1) do not count.

    `y` has names or class numbers, as in `WeakClassifier.score`.

    >>> accuracy(np.array([0, 1, -1], np.int16), ["ham", "spam", "ham"], ("ham", "spam"))
    0.6666666666666666
    """
    gold = label_numbers(y, classes, len(predicted), "gold labels")
    if not (gold >= 0).any():
        raise InputError("gold labels: there is none to score with")
    return float((predicted == gold)[gold >= 0].mean())


@dataclass(eq=False)
class Parameters:
    """The parameters of a label model as scikit-learn asks for them: `clone` and searches take it as it is.

    A search passes the gold that it scores with to `fit`, as `y`: no label model reads it.

    >>> from sklearn.model_selection import GridSearchCV
    >>> from unruly import OneCoin
    >>> votes, gold = [[0, 0], [1, -1], [-1, 1], [0, 0]] * 3, [0, 1, 1, 0] * 3
    >>> search = GridSearchCV(OneCoin(), {"smoothing": [1.0, 2.0]}, cv=2).fit(votes, gold)
    >>> float(search.best_score_)
    1.0
    """

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True),
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` changes nothing, for none of them has parameters of its own."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.init}

    def set_params(self, **parameters: Any) -> Self:
        """Change some of them."""
        known = self.get_params()
        for name, value in parameters.items():
            if name not in known:
                raise SettingsError(
                    f"{type(self).__name__} has no parameter {name!r}: {did_you_mean(name, known, 'it has')}"
                )
            setattr(self, name, value)
        return self


@dataclass(eq=False)
class LogLinearModel(Parameters):
    """What label models that end in a `LogLinear` rule have in common: what is learnt, and how they predict."""

    class_prior_: Float64 = field(init=False, repr=False)  # (m,)
    accuracies_: Float64 = field(init=False, repr=False)  # (k,)
    classes_: tuple[str, ...] = field(init=False, repr=False)
    sources_: tuple[str, ...] = field(init=False, repr=False)
    _rule: LogLinear | None = field(init=False, repr=False, default=None)

    def _keep(
        self, votes: Votes, weights: Float64, bias: Float64, silent: Float64 | None = None
    ) -> None:
        """Remember what the votes were of, and the rule that was learnt from them."""
        self.classes_, self.sources_ = votes.classes, votes.sources
        self._rule = LogLinear(
            votes.sources, votes.classes, weights, bias, self.class_prior_, silent
        )

    def predict_proba(self, votes: Votes | ArrayLike) -> Float64:
        """(n, m): the probability of each class; the prior where no source voted."""
        if self._rule is None:
            name = type(self).__name__
            raise not_fitted(f"this {name} has not been fitted yet: call fit(votes) first")
        return self._rule.proba(votes)

    def predict(self, votes: Votes | ArrayLike) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""
        return likeliest(self.predict_proba(votes))

    def score(self, votes: Votes | ArrayLike, y: ArrayLike | Sequence[Any]) -> float:
        """The accuracy of `predict` against gold labels (n,): names or class numbers, None or -1 where unknown."""
        return accuracy(self.predict(votes), y, self.classes_)
