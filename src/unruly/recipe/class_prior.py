"""The class prior that the recipe holds fixed: given, uniform, the votes' own, estimated, or by clean labels.

Nothing decides more. Learnt inside the loop it collapses, so it is settled beforehand:

    auto      of many priors the one under which text and the other sources foretell each source's votes best
              (see `foretold_prior`). Where votes cover fewer than 50 documents it would be hearsay: uniform
    uniform   equal shares of the classes that sources vote for
    votes     the mean vote shares of covered documents
    numbers   as given
    clean     with clean labels and no numbers given: the guess above, corrected by them (see `clean_labels`)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unruly.progress import SILENT, Progress
from unruly.recipe.class_hold import class_hold
from unruly.recipe.clean_labels import corrected_prior, counted_prior, unseen
from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.foretold_prior import foretold_prior
from unruly.recipe.log_odds import Real64, softmax
from unruly.recipe.posteriors import WHOLE, Ingredients, Posteriors, posteriors
from unruly.recipe.released_run import class_odds, proper
from unruly.settings import Settings

Prior = str | Sequence[float] | None

STRONG = 0.10  # share of changed answers above which a guessed prior is warned of,
CONTESTED = 1.5  # if votes or texts lean away from it by such a factor in odds
_SAMPLE = 4_096  # documents that sensitivity is measured on
_HEARSAY = 50  # documents with votes below which they cannot tell a class balance


@dataclass(frozen=True, eq=False)
class HeldPrior:
    """The prior and where it comes from."""

    shares: Real64  # (m,), of the classes that were named
    origin: str  # in words
    trusted: bool  # given by the user, or estimated from clean labels
    blind: bool = False  # votes cannot tell which class is the rare one


def held_prior(
    asked: Prior,
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    settings: Settings,
    ingredients: Ingredients = WHOLE,
    progress: Progress = SILENT,
) -> HeldPrior:
    """The prior to hold, of what was asked for: None or "auto", "uniform", "votes", or numbers (one a class)."""
    if asked is not None and not isinstance(asked, str):
        given = np.asarray(asked, dtype=np.float64)[evidence.classes]
        return HeldPrior(proper(given), "given", True)
    even = np.full(evidence.m, 1 / evidence.m)
    if asked == "uniform":
        guess = HeldPrior(even, "uniform, as asked", False)
    elif asked == "votes":
        guess = HeldPrior(proper(vote_prior(evidence)), "vote shares, as asked", False)
    else:
        guess = _automatic(texts, evidence, settings, ingredients, progress)
    if evidence.known.any():
        shares, words = _by_clean(guess.shares, texts, evidence, settings, ingredients)
        return HeldPrior(proper(shares), words, True)
    return guess


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
    mine = class_odds(held)
    return float(np.exp(max((np.abs(class_odds(one) - mine).max() for one in others), default=0.0)))


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
    progress: Progress,
) -> HeldPrior:
    even = np.full(evidence.m, 1 / evidence.m)
    if evidence.m == 1:
        return HeldPrior(even, "the only class that sources vote for", False)
    if evidence.covered.sum() < _HEARSAY:
        few = "uniform, for votes cover too few documents to tell how common the classes are"
        return HeldPrior(even, few, False)
    found = foretold_prior(texts, evidence, settings, ingredients, progress)
    if found.rivals:
        one, other = ("/".join(f"{100 * p:.0f}" for p in rival) for rival in found.rivals)
        told = f"uniform, for votes cannot tell which class is the rare one ({one} and {other} foretell them alike)"
        return HeldPrior(even, told, False, blind=True)
    if np.allclose(found.prior, even):
        none = "uniform, under which left-out votes are foretold as well as under any other"
        return HeldPrior(even, none, False)
    told = "estimated from votes and texts (of the shares tried, left-out votes are foretold best under these)"
    return HeldPrior(proper(found.prior), told, False)


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
        proper(guess),
        tau=settings.tau,
        rounds=settings.rounds,
        ingredients=ingredients,
    )
    return corrected_prior(proper(guess), blind.q[known], labels)
