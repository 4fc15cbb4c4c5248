"""The guard: is the recipe to be believed? It asks votes and text alone, and falls back if not.

Four checks, each against what the recipe has to beat, in this order:

    text         Do texts know anything of the votes? If z (see `text_signal`) is below 3 (2 with few covered
                 documents), text is noise, which the loop would amplify: majority vote answers.
    inversion    Of the documents on which two sources or more agree, does the recipe contradict half?
                 Then it has turned classes round: majority vote answers.
    doubt        Does the recipe, under a prior that it had to guess, agree with far fewer votes (15 points) than
                 the plain class-balanced classifier? Then the guess is bad: the balanced classifier answers.
    collapse     Does a class get less than a tenth of the answers that its prior calls for? Then the
                 others have swallowed it: the balanced classifier answers.

From 20 clean labels on they judge instead: majority vote answers if it is better on them by more than two
standard errors.

Sources whose votes look right less often than by chance are named in any case; the recipe itself already
reads them the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.recipe.balanced import Balanced, class_balanced
from unruly.recipe.class_prior import HeldPrior
from unruly.recipe.clean_labels import unseen
from unruly.recipe.evidence import Evidence
from unruly.recipe.intervals import Accuracies
from unruly.recipe.log_odds import Real64
from unruly.recipe.plain_vote import commonest
from unruly.recipe.posteriors import Posteriors, regressions
from unruly.recipe.text_signal import signal_by_source, text_signal
from unruly.settings import Settings

RECIPE, BALANCED, MAJORITY = "recipe", "balanced", "majority"

KNOWS = 3.0  # z from which text is believed to know something
KNOWS_FEW = 2.0  # the same, with few covered documents: there z of noise lies below 0
DOUBT = 0.15  # agreement with votes that may be lost to a guessed prior
SWALLOWED = 0.1  # of the answers that the prior calls for
FEW = 1_000  # covered documents up to which the test of the text takes ten folds
_ENOUGH_CLEAN = 20  # clean labels from which they judge instead
_ENOUGH = 10  # documents on which sources agree, to speak of inversion


@dataclass(frozen=True)
class Verdict:
    """Who answers, and what the user is told, a sentence each."""

    answers: str  # RECIPE, BALANCED or MAJORITY
    notes: tuple[str, ...] = ()

    @property
    def fired(self) -> bool:
        """Whether the recipe is not believed."""
        return self.answers != RECIPE


BELIEVED = Verdict(RECIPE)


def guard(
    fitted: Posteriors,
    balanced: Balanced,
    evidence: Evidence,
    held: HeldPrior,
    signal: float,
    classes: Sequence[str],
) -> Verdict:
    """Judge the recipe's posteriors; `signal` is the z of `text_knows`, `classes` the names of all classes."""
    if evidence.m < 2 or not evidence.covered.any():
        return BELIEVED
    if evidence.known.sum() >= _ENOUGH_CLEAN:
        return _by_clean(fitted, evidence)
    enough = KNOWS if evidence.covered.sum() > FEW else KNOWS_FEW
    if signal < enough:
        return Verdict(
            MAJORITY,
            (
                f"The guard: texts tell nothing of the votes beyond chance (z = {signal:.1f}), so majority vote "
                "answers instead of the recipe; more documents, more votes or another encoder may help.",
            ),
        )
    answers = fitted.q.argmax(axis=1)
    against, agreed = contradicted(answers, evidence)
    if agreed >= _ENOUGH and against > 0.5:
        return Verdict(
            MAJORITY,
            (
                f"The guard: the recipe contradicts {against:.0%} of the {agreed:,} documents on which sources agree, "
                "as it would if classes were turned round, so majority vote answers instead.",
            ),
        )
    lost = agreement(balanced.lp.argmax(axis=1), evidence) - agreement(answers, evidence)
    if lost > DOUBT and not held.trusted:
        return Verdict(
            BALANCED,
            (
                f"The guard: under the guessed class prior the recipe agrees with {100 * lost:.0f} in a hundred votes "
                "fewer than a plain class-balanced classifier does, which answers instead; give the class prior "
                "if you know it.",
            ),
        )
    swallowed, answered = least_answered(answers, fitted.pi)
    if answered < SWALLOWED:
        share = float((answers == swallowed).mean())
        name = classes[int(evidence.classes[swallowed])]
        return Verdict(
            BALANCED,
            (
                f"The guard: other classes have swallowed {name} ({share:.1%} of the answers where the prior calls "
                f"for {fitted.pi[swallowed]:.1%}), so a plain class-balanced classifier answers instead.",
            ),
        )
    return Verdict(RECIPE, _doubts(fitted, evidence, held, against, agreed))


def _by_clean(fitted: Posteriors, evidence: Evidence) -> Verdict:
    """Majority vote's answers beside ours on the documents with clean labels; their own text is out of fold."""
    known = evidence.known
    labels, rows = evidence.clean[known], np.arange(int(known.sum()))
    ours = (fitted.scores + fitted.b)[known].argmax(axis=1) == labels
    gain = ours - majority_shares(evidence)[known][rows, labels]
    if gain.mean() > -2 * max(float(gain.std()), 0.1) / len(rows) ** 0.5:
        return BELIEVED
    return Verdict(
        MAJORITY,
        (
            f"The guard: on {len(rows):,} clean labels the recipe is {-100 * gain.mean():.0f} points below majority vote, "
            "which answers instead.",
        ),
    )


def text_knows(
    features: Features, balanced: Balanced, evidence: Evidence, settings: Settings
) -> float:
    """z: how far text, out of fold, goes with the clear majorities of votes, beyond chance.

    With few covered documents the classifier is trained again on them, with ten folds, for with three it
    would learn from too few of them.
    """
    covered = np.flatnonzero(evidence.covered)
    if evidence.m < 2 or len(covered) < 3:
        return 0.0
    if len(covered) > FEW:
        return _signal(balanced, evidence)
    part = unseen(evidence.take(covered))
    texts = regressions(features.take(covered), evidence.m, settings, min(10, len(covered)))
    return _signal(class_balanced(texts, part), part)


def _signal(balanced: Balanced, evidence: Evidence) -> float:
    """The stronger of two: with the majority of the votes, and with each source by itself."""
    proba = np.exp(balanced.lp)
    votes = []
    for j in range(evidence.k):
        rows, said = evidence.votes_of(j)
        votes.append(np.full(evidence.n, -1))
        votes[-1][rows] = said.argmax(axis=1)
    return max(
        text_signal(proba, clear_majority(evidence)),
        signal_by_source(proba, votes, evidence.covered),
    )


def clear_majority(evidence: Evidence) -> NDArray[np.int64]:
    """(n,): the class that most votes name, -1 where there is a tie or no vote."""
    counts = evidence.counts()
    top = np.sort(counts, axis=1)
    ahead = top[:, -1] > (top[:, -2] if evidence.m > 1 else 0) + 1e-6
    return np.where(ahead, counts.argmax(axis=1), -1)


def contradicted(answers: NDArray[np.integer], evidence: Evidence) -> tuple[float, int]:
    """The share of the documents with two votes or more, all for one class, that get another answer; how many there are."""
    counts = evidence.counts()
    total = counts.sum(axis=1)
    agreed = (total >= 2 - 1e-6) & (counts.max(axis=1) >= total - 1e-6)
    if not agreed.any():
        return 0.0, 0
    return float((answers != counts.argmax(axis=1))[agreed].mean()), int(agreed.sum())


def majority_shares(evidence: Evidence) -> Real64:
    """(n, m): 1 for the class with most votes, shared out where classes tie; without votes, the commonest."""
    counts = evidence.counts()
    top = counts >= counts.max(axis=1, keepdims=True) - 1e-6
    shares = top / top.sum(axis=1, keepdims=True)
    shares[~evidence.covered] = np.eye(evidence.m)[commonest(evidence)]
    return np.asarray(shares, np.float64)


def agreement(answers: NDArray[np.integer], evidence: Evidence) -> float:
    """How far answers go with majority vote on covered documents; a tie of t classes counts 1/t."""
    rows = np.flatnonzero(evidence.covered)
    return float(majority_shares(evidence)[rows, answers[rows]].mean()) if len(rows) else 1.0


def contradicted_sources(
    accuracies: Accuracies, evidence: Evidence, pi: Real64, sources: Sequence[str]
) -> tuple[str, ...]:
    """A sentence for each source whose votes look right less often than by chance.

    Chance is the prior of what it says. Text and the other sources judge, never the source itself; two
    standard errors are allowed for.
    """
    cast = evidence.rates() * evidence.n  # (k, m)
    votes = np.maximum(cast.sum(axis=1), 1e-9)
    chance = (cast @ pi) / votes
    right = accuracies.estimate
    error = np.sqrt(np.maximum(right * (1 - right), 0.01) / votes)
    odd = np.flatnonzero(right + 2 * error < chance)
    return tuple(
        f"The source {sources[int(evidence.sources[j])]!r} is contradicted by texts and the other sources: about "
        f"{right[j]:.0%} of its {votes[j]:,.0f} votes look right, {chance[j]:.0%} would by chance. The recipe reads "
        "it the other way round; check its rules."
        for j in odd.tolist()
    )


def least_answered(answers: NDArray[np.integer], pi: Real64) -> tuple[int, float]:
    """The class that gets the smallest share of the answers that its prior calls for, and that share.

    >>> least_answered(np.array([0] * 99 + [1]), np.array([0.5, 0.5]))
    (1, 0.02)
    """
    called = pi * len(answers)
    ratio = np.bincount(answers, minlength=len(pi)) / np.maximum(called, 1e-9)
    share = np.where(called >= 5, ratio, np.inf)  # of so few answers nothing can be said
    return int(share.argmin()), float(share.min())


def _doubts(
    fitted: Posteriors, evidence: Evidence, held: HeldPrior, against: float, agreed: int
) -> tuple[str, ...]:
    """What the user should know although the recipe stands."""
    notes = []
    covered = float(evidence.covered.mean())
    if held.trusted and held.origin == "given" and agreed >= _ENOUGH and against > 0.2:
        notes.append(
            f"Warning: under the class prior that was given, {against:.0%} of the {agreed:,} documents on which sources "
            "agree get another answer: check the prior, or the sources."
        )
    if not held.trusted and covered < 0.5:
        notes.append(
            f"Warning: votes cover only {covered:.0%} of the documents, so the guessed class prior decides most answers: "
            "give the class prior, a few clean labels, or rules that cover more."
        )
    return tuple(notes)
