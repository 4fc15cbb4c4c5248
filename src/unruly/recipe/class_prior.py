"""The class prior that the recipe holds fixed: given, uniform, the votes' own, estimated, or by clean labels.

Nothing decides more. Learnt inside the loop it collapses, so it is settled beforehand:

    auto      run the loop once from a uniform start with the hold released. If the class mass that it drifts
              to is to be believed (see `believed`), take a mean, in logarithms, of it and of the vote
              shares: text that is sure counts for the one, doubt for the other; else uniform. Where votes
              cover less than a third of the documents, or fewer than 500, it would be hearsay: uniform
    uniform   equal shares of the classes that sources vote for
    votes     the mean vote shares of covered documents
    numbers   as given
    clean     with clean labels and no numbers given: the guess above, corrected by them (see `clean_labels`)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unruly.recipe.class_hold import class_hold
from unruly.recipe.clean_labels import corrected_prior, counted_prior, unseen
from unruly.recipe.evidence import Evidence, shares
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64, softmax
from unruly.recipe.posteriors import WHOLE, Ingredients, Posteriors, posteriors
from unruly.settings import Settings

Prior = str | Sequence[float] | None

FAR = 3.0  # odds factor from uniform beyond which the released run is far from it
LEAN = 2.0  # the same, for what the class-balanced classifier answers
FURTHER = 2.25  # the same, where votes are nearer to uniform than the released run
STRONG = 0.10  # share of changed answers above which a guessed prior is warned of,
CONTESTED = 1.5  # if votes or texts lean away from it by such a factor in odds
COVERED, FEWEST = (
    1 / 3,
    500,
)  # documents with votes, as a share and in number, to estimate a balance from
_LEAST = 1e-4  # no class is ruled out
_RELEASED_ROUNDS = 6
_SAMPLE = 4_096  # documents that sensitivity is measured on


@dataclass(frozen=True, eq=False)
class HeldPrior:
    """The prior and where it comes from."""

    shares: Real64  # (m,), of the classes that were named
    origin: str  # in words
    trusted: bool  # given by the user, or estimated from clean labels


def held_prior(
    asked: Prior,
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients = WHOLE,
) -> HeldPrior:
    """The prior to hold, of what was asked for: None or "auto", "uniform", "votes", or numbers (one a class)."""
    if asked is not None and not isinstance(asked, str):
        given = np.asarray(asked, dtype=np.float64)[evidence.classes]
        return HeldPrior(_proper(given), "given", True)
    even = np.full(evidence.m, 1 / evidence.m)
    if asked == "uniform":
        guess, origin = even, "uniform, as asked"
    elif asked == "votes":
        guess, origin = vote_prior(evidence), "vote shares, as asked"
    else:
        guess, origin = _automatic(texts, evidence, settings, ingredients)
    if evidence.known.any():
        shares, words = _by_clean(guess, texts, evidence, settings, ingredients)
        return HeldPrior(_proper(shares), words, True)
    return HeldPrior(_proper(guess), origin, False)


def vote_prior(evidence: Evidence) -> Real64:
    """(m,): the mean vote shares of covered documents; uniform when there are none."""
    even = np.full(evidence.m, 1 / evidence.m)
    covered = evidence.covered
    return shares(evidence, even)[covered].mean(axis=0) if covered.any() else even


def odds_factor(prior: Real64) -> float:
    """The largest factor by which a class's odds differ from what they are when all classes are alike.

    >>> odds_factor(np.array([0.8, 0.2]))
    4.0
    """
    if len(prior) == 1:
        return 1.0
    odds = prior / (1 - prior) * (len(prior) - 1)
    return round(float(max(odds.max(), 1 / odds.min())), 9)


def believed(mass: Real64, balanced: Real64, voted: Real64) -> bool:
    """Whether the class mass of the released run speaks of the documents, rather than of its own drift.

    All three are shares of the classes: where the released run drifts to, what the class-balanced
    classifier of its first round answers, and how the votes fall. Noise in votes pulls the last two
    towards uniform, never away from it. So the mass must be far from uniform, or further than the votes
    are, or the balanced classifier must lean clearly; and the other two must lean the same way (on
    average by a quarter in odds), else the run has only amplified itself.

    >>> believed(np.array([0.87, 0.13]), np.array([0.71, 0.29]), np.array([0.7, 0.3]))
    True
    >>> believed(
    ...     np.array([0.3, 0.7]), np.array([0.38, 0.62]), np.array([0.23, 0.77])
    ... )  # biased votes
    False
    >>> believed(np.array([0.1, 0.9]), np.array([0.5, 0.5]), np.array([0.53, 0.47]))  # drift
    False
    """
    far = odds_factor(mass)
    leans = (
        far > FAR
        or odds_factor(_proper(balanced)) > LEAN
        or far > max(FURTHER, odds_factor(_proper(voted)))
    )
    most = int(np.abs(_log_odds(mass)).argmax())
    support = (_log_odds(balanced)[most] + _log_odds(voted)[most]) / 2
    return leans and bool(support * np.sign(_log_odds(mass)[most]) > np.log(1.25))


def certainty(lp: Real64) -> float:
    """How sure text is on average, from log-probabilities (n, m): 0 where all classes are alike to it, 1 where one is certain.

    >>> certainty(np.log(np.array([[0.75, 0.25], [0.25, 0.75]])))
    0.5
    """
    m = lp.shape[1]
    return float((np.exp(lp.max(axis=1)).mean() - 1 / m) / (1 - 1 / m))


def neighbours(prior: Real64) -> Iterator[Real64]:
    """Priors nearby: each class in turn twice and half as likely beside the others."""
    for y in range(len(prior)):
        for factor in (0.5, 2.0):
            moved = prior.copy()
            moved[y] *= factor
            yield moved / moved.sum()


def sensitivity(fitted: Posteriors) -> float:
    """The largest share of answers that change under a neighbouring prior; the balance is held anew."""
    scores = fitted.scores
    if len(scores) > _SAMPLE:
        rows = np.random.default_rng(0).choice(len(scores), _SAMPLE, replace=False)
        scores = scores[np.sort(rows)]
    start = class_hold(scores, fitted.pi, fitted.b)
    answers = softmax(scores + start).argmax(axis=1)
    changed = [
        float((softmax(scores + class_hold(scores, near, start)).argmax(axis=1) != answers).mean())
        for near in neighbours(fitted.pi)
    ]
    return max(changed, default=0.0)


def leaning(held: Real64, others: Sequence[Real64]) -> float:
    """The largest factor in odds by which another guess at the shares of the classes leans away from this one.

    >>> round(leaning(np.array([0.5, 0.5]), [np.array([0.6, 0.4]), np.array([0.4, 0.6])]), 2)
    1.5
    """
    if len(held) < 2:
        return 1.0
    mine = _log_odds(held)
    return float(np.exp(max((np.abs(_log_odds(one) - mine).max() for one in others), default=0.0)))


def prior_notes(held: HeldPrior, changed: float, lean: float) -> tuple[str, ...]:
    """What the user is told of the prior, a sentence each.

    `changed`: the share of answers that a neighbouring prior would change (see `sensitivity`). It is large
    on most data, for the balance is held, so it is a warning only where votes or texts lean away from the
    guess (`lean`, see `leaning`).
    """
    told = f"Class prior: {held.origin}."
    if held.trusted:
        return (told,)
    depends = (
        f"were one class twice or half as likely, up to {changed:.0%} of the answers would change. If you know the "
        "shares of the classes, give them: prior = [...] under [task], --prior, or class_prior= in Python."
    )
    if changed > STRONG and lean > CONTESTED:
        return (
            told,
            "Warning: the answers depend strongly on the class prior, which is a guess, and votes or texts lean away "
            f"from it (by a factor of {lean:.1f} in odds): {depends}",
        )
    return (f"{told[:-1]}; {depends}",) if changed > STRONG else (told,)


def _automatic(
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients,
) -> tuple[Real64, str]:
    even = np.full(evidence.m, 1 / evidence.m)
    if evidence.m == 1:
        return even, "the only class that sources vote for"
    if evidence.covered.mean() < COVERED or evidence.covered.sum() < FEWEST:
        return even, "uniform, for votes cover too few documents to tell how common the classes are"
    released = Ingredients(False, ingredients.out_of_fold, True, ingredients.redundancy, False)
    rounds = min(_RELEASED_ROUNDS, settings.rounds)
    drifted = posteriors(
        texts, evidence, even, tau=settings.tau, rounds=rounds, ingredients=released
    )
    mass = np.maximum(drifted.q.mean(axis=0), 0.05 / evidence.m)
    mass = mass / mass.sum()
    named = np.bincount(drifted.first.argmax(axis=1), minlength=evidence.m) / evidence.n
    voted = vote_prior(evidence)
    if believed(mass, named, voted):
        between = np.sqrt(mass * _proper(voted))
        return (
            between / between.sum(),
            "estimated from votes and texts, which are far from balanced",
        )
    return even, "uniform, for votes and texts do not speak clearly against it"


def _by_clean(
    guess: Real64,
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients,
) -> tuple[Real64, str]:
    """The guess, corrected where a loop that has not seen the clean labels is wrong about them."""
    known = evidence.known
    labels = evidence.clean[known]
    if not evidence.covered.any():
        return counted_prior(labels, evidence.m)
    blind = posteriors(
        texts,
        unseen(evidence),
        _proper(guess),
        tau=settings.tau,
        rounds=settings.rounds,
        ingredients=ingredients,
    )
    return corrected_prior(_proper(guess), blind.q[known], labels)


def _log_odds(shares: Real64) -> Real64:
    """(m,): log of each class's odds beside what they are when all classes are alike."""
    kept = np.clip(shares, 1e-3, 1 - 1e-3)
    return np.log(kept / (1 - kept) * (len(shares) - 1))


def _proper(prior: Real64) -> Real64:
    """(m,): positive and summing to 1."""
    raised = np.maximum(prior, _LEAST)
    return np.asarray(raised / raised.sum())
