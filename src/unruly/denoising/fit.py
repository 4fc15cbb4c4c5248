"""`denoise`: from features and votes to a model, in the order in which things are known.

    balance      stated by the user, or the shares of the votes that are right
    posteriors   expectation-maximisation under that balance, without any label
    labels       where there are some: the balance that they tell, and the posteriors again, with them
    accuracies   of the sources, and how many answers depend on the balance

It follows from the paper's method: a denoiser of votes and a classifier of text that teach each other.
Here both speak in probabilities, so that one formula pools them (docs/default.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unruly.denoising.accuracy import (
    FEW,
    TRIED,
    balance_spread,
    other_shifts,
    source_accuracies,
)
from unruly.denoising.balance import (
    EXACT,
    STATED_LABELS,
    Balance,
    from_labels,
    match_marginals,
    shift,
    vote_shares,
)
from unruly.denoising.denoised import DenoisedModel, named_votes
from unruly.denoising.em import Posteriors, Task, expectation_maximisation
from unruly.denoising.regression import CrossFitting, content_folds
from unruly.denoising.temperature import learnt_temperature
from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.findings import (
    BalanceOrigin,
    ClassBalance,
    ClassesAlike,
    ClassesWithoutVotes,
    Note,
    SharesAgainstVotes,
    WeakSource,
)
from unruly.learner import Gold, check_features, check_labels
from unruly.ledger import GoldUse, Use
from unruly.prior import StatedBalance
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.statistics import Float64, Share, sample_rows
from unruly.texts.columns import UNKNOWN
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes
from unruly.wording import plural


def denoise(
    features: Features,
    votes: Votes,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    balance: StatedBalance | None = None,
    clean: Gold | None = None,
    label_weights: Float64 | None = None,
    progress: Progress = SILENT,
) -> DenoisedModel:
    """Learn from votes and features, and from the true labels of some documents where there are any.

    `clean`, (n,), holds the true class of documents where it is known, else -1; `label_weights`, (n,),
    how much each of them counts in an estimate over all documents: the inverse of the probability with
    which it was drawn, 0 where it tells nothing about the balance; alike if not given.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> features = Features.from_array(truth[:, None] + rng.normal(0, 0.3, (300, 2)))
    >>> cast = np.where(rng.random((300, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    >>> votes = Votes.from_array(np.where(rng.random((300, 3)) < 0.5, cast, -1))
    >>> model = denoise(features, votes)
    >>> bool((model.heads(features, votes).predicted == truth).mean() > 0.95)
    True
    """
    settings = settings or Settings()
    check_features(features, votes)
    gold = check_labels(clean, votes.n, votes.m)
    named = _named_classes(votes, gold)
    with threadpool_limits(settings.threads):
        task = _task(features, votes, gold, named, settings, seed)
        start = _stated(task.votes, balance, named, votes.m)
        fitted = expectation_maximisation(task.unlabelled(), start, settings, progress)
        told = _told(task, label_weights)
        temperature = settings.tau
        if task.known.any():
            known = _balance_with_labels(task, fitted, told)
            temperature = _temperature(task, fitted, known, told)
            fitted = expectation_maximisation(task, known, settings, progress)
        shifts = other_shifts(fitted)
        spread = balance_spread(shifts)
        accuracies = source_accuracies(fitted, task.votes, spread)
        behind = _labels_behind(fitted, told)
        facts = _balance_fact(fitted, shifts, votes.classes, named, behind, balance)
        return DenoisedModel(
            classes=votes.classes,
            sources=votes.sources,
            named=named,
            texts=tuple(t.regression(w) for t, w in zip(task.texts, fitted.weights, strict=True)),
            weights=features.weights,
            log_likelihoods=fitted.behaviour.log_likelihoods,
            b=fitted.b,
            vote_bias=_vote_bias(fitted, task.votes, temperature),
            tau=settings.tau,
            temperature=temperature,
            reliability=_reliability(accuracies, fitted),
            accuracy=_table(accuracies),
            spread=spread,
            balance=facts,
            gold_used=_gold_used(task, behind, int((told > 0).sum())),
            notes=(
                *_unnamed(votes, named),
                *_alike(votes),
                *_against_votes(fitted, task.votes, votes.classes, named, balance),
                *_below_chance(accuracies, fitted, task.votes, votes.sources),
            ),
        )


def _named_classes(votes: Votes, gold: Gold) -> NDArray[np.int64]:
    """(m,): the classes that a vote or a true label names."""
    named = SparseVotes.of(votes).counts().sum(axis=0) > 0
    named[gold[gold != UNKNOWN]] = True
    if not named.any():
        raise InputError(
            f"none of {plural(votes.n, 'document')} has a vote: write rules that match, or give clean labels"
        )
    return np.flatnonzero(named)


def _task(
    features: Features,
    votes: Votes,
    gold: Gold,
    named: NDArray[np.int64],
    settings: Settings,
    seed: int,
) -> Task:
    blocks = tuple(block.array for block in features.blocks)
    fold, distinct = content_folds(features, settings.folds, seed)
    l2 = settings.l2 * votes.n / max(distinct, 1)  # copies of a text count as one
    number = np.full(votes.m + 1, UNKNOWN)
    number[named] = np.arange(len(named))
    return Task(
        texts=tuple(CrossFitting.of(x, fold, settings.folds, l2) for x in blocks),
        weights=features.weights,
        votes=named_votes(SparseVotes.of(votes), named),
        clean=number[gold],
    )


def _stated(
    votes: SparseVotes, stated: StatedBalance | None, named: NDArray[np.int64], m: int
) -> Balance | None:
    """The balance that was stated; `votes` are on the classes `named` of m."""
    if stated is None:
        return None
    voted = np.zeros(m)  # 0 for classes that nothing names
    voted[named] = vote_shares(votes)
    shares = np.array(stated.with_votes(voted.tolist()))[named]
    labels = math.inf if stated.exact else STATED_LABELS
    return Balance(shares / shares.sum(), labels, BalanceOrigin.STATED)


def _told(task: Task, label_weights: Float64 | None) -> Float64:
    """(n,): how much the label of each document tells about all documents; 0 where there is none."""
    return np.where(task.known, 1.0 if label_weights is None else label_weights, 0.0)


def _balance_with_labels(task: Task, unlabelled: Posteriors, told: Float64) -> Balance:
    """The balance after the true labels, judged by posteriors that have not seen them."""
    rows = np.flatnonzero(task.known)
    weights = told[rows]
    if math.isinf(unlabelled.balance.labels) or not weights.any():
        return unlabelled.balance
    return from_labels(
        unlabelled.balance,
        unlabelled.under,
        rows,
        np.asarray(task.clean[rows], np.intp),
        weights / weights.sum(),
    )


def _temperature(task: Task, unlabelled: Posteriors, balance: Balance, told: Float64) -> float:
    """How sure to be, by the labels and posteriors that have not seen them."""
    rows = np.flatnonzero(task.known)
    scores = (unlabelled.scores + shift(unlabelled.scores, unlabelled.b0, balance))[rows]
    labels = np.asarray(task.clean[rows], np.intp)
    return learnt_temperature(scores, labels, told[rows], unlabelled.settings.tau)


def _labels_behind(fitted: Posteriors, told: Float64) -> int:
    """How many labels the shares are estimated from: not those whose draw did not reach all documents."""
    return int((told > 0).sum()) if fitted.balance.origin is BalanceOrigin.LABELS else 0


def _balance_fact(
    fitted: Posteriors,
    shifts: Float64,
    classes: tuple[str, ...],
    named: NDArray[np.int64],
    labels: int,
    stated: StatedBalance | None,
) -> ClassBalance:
    """The shares that were used, those of the answers, and how many answers other shares, about as likely, would change.

    Stated shares may be just right, so meeting them is one of the others.
    """
    rows = sample_rows(len(fitted.q), TRIED)
    scores = fitted.scores[rows]
    answers = (scores + fitted.b).argmax(axis=1)
    known = fitted.balance
    others = [fitted.b + moved for moved in shifts]
    if known.origin is BalanceOrigin.STATED:
        others.append(match_marginals(scores, known.shares, fitted.b, EXACT))
    changed = np.zeros(len(rows), dtype=np.bool_)
    for b in others:
        changed |= (scores + b).argmax(axis=1) != answers
    used, predicted = np.zeros(len(classes)), np.zeros(len(classes))
    used[named] = known.shares
    predicted[named] = np.bincount(answers, minlength=len(named)) / max(len(rows), 1)
    return ClassBalance(
        classes=classes,
        shares=tuple(used.tolist()),
        origin=known.origin,
        labels=labels,
        before=known.before,
        weight=known.weight,
        depends=None if math.isinf(known.labels) else float(changed.mean()),
        left_open=_left_open(stated, classes),
        added_up_to=None if stated is None else stated.added_up_to,
        predicted=tuple(predicted.tolist()),
    )


def _left_open(stated: StatedBalance | None, classes: tuple[str, ...]) -> tuple[str, ...]:
    """The classes whose shares the votes tell, by the user's wish."""
    if stated is None:
        return ()
    return classes if stated.of_votes else tuple(classes[c] for c in stated.left_open)


def _vote_bias(fitted: Posteriors, votes: SparseVotes, temperature: float) -> Float64:
    """(m,): the shift by which the votes alone name each class as often as the posteriors of covered documents do."""
    covered = votes.covered
    if not covered.any():
        return np.asarray(np.log(fitted.balance.shares))
    shares = np.maximum(fitted.q[covered].mean(axis=0), 1e-6)
    start = np.log(fitted.balance.shares)
    tempered = fitted.ev[covered] / temperature
    return match_marginals(tempered, shares / shares.sum(), start, EXACT)


def _table(accuracies: Sequence[Share]) -> Float64:
    """(k, 3): estimate, low and high end of its 95 % interval; NaN for a source that never voted."""
    rows = [(one.value, one.low, one.high) if one.n else (math.nan,) * 3 for one in accuracies]
    return np.array(rows).reshape(-1, 3)


def _reliability(accuracies: Sequence[Share], fitted: Posteriors) -> Float64:
    """(k,): accuracy per vote cast times the discount for repeating others, made to sum to 1."""
    right = np.array([one.value if one.n else 0.0 for one in accuracies])
    weight = right * fitted.behaviour.discount
    return weight / weight.sum() if weight.sum() > 0 else weight


def _gold_used(task: Task, behind: int, told: int) -> tuple[GoldUse, ...]:
    """The uses of labels: all train, `behind` of them tell the class shares, `told` how sure to be."""
    uses = (
        (Use.TRAINING, int(task.known.sum())),
        (Use.PRIOR, behind),
        (Use.CALIBRATION, told),
    )
    return tuple(GoldUse(use, labels) for use, labels in uses if labels)


def _unnamed(votes: Votes, named: NDArray[np.int64]) -> tuple[ClassesWithoutVotes, ...]:
    missing = tuple(name for c, name in enumerate(votes.classes) if c not in named)
    return (ClassesWithoutVotes(missing),) if missing else ()


def _alike(votes: Votes) -> tuple[ClassesAlike, ...]:
    groups = votes.inseparable()
    return (ClassesAlike(groups),) if groups else ()


def _against_votes(
    fitted: Posteriors,
    votes: SparseVotes,
    classes: tuple[str, ...],
    named: NDArray[np.int64],
    stated: StatedBalance | None,
) -> tuple[SharesAgainstVotes, ...]:
    """Classes whose stated share is less than half of the documents with a vote for them."""
    if stated is None or stated.of_votes or fitted.balance.origin is not BalanceOrigin.STATED:
        return ()
    voted = (votes.whole().counts() > 0).mean(axis=0)  # (m,)
    return tuple(
        SharesAgainstVotes(classes[c], float(share), float(voted[i]))
        for i, (c, share) in enumerate(zip(named, fitted.balance.shares, strict=True))
        if c not in stated.left_open and share < voted[i] / 2
    )


def _below_chance(
    accuracies: Sequence[Share], fitted: Posteriors, votes: SparseVotes, sources: tuple[str, ...]
) -> tuple[Note, ...]:
    """Sources with some votes whose whole interval lies below what guessing by the class shares would give."""
    chances = votes.chance(fitted.balance.shares).tolist()
    return tuple(
        WeakSource(source, round(accuracy.n), accuracy, chance=chance)
        for source, accuracy, chance in zip(sources, accuracies, chances, strict=True)
        if accuracy.n >= FEW and accuracy.high < chance
    )
