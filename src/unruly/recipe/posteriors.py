"""Posterior labels from votes and text together, with no label by hand: the loop of the default recipe.

n documents, k sources, m classes, E encoders. One round:

    p_e   = softmax regression on encoder e with the soft targets q, out of fold           (n, m)
    lp    = mean over e of log p_e, by how much each encoder is heard (`encoder_say`)      (n, m)
    T     = P(source says c | class y), counted with q; for each word that it reads        (s, m, m)
    r     = discount for sources that repeat each other                                    (k,)
    ev    = sum_j r_j log T[j, :, vote_ij]                                                 (n, m)
    q     = softmax(tau lp + ev + b),   b such that mean_i q_i = pi                        (n, m)

It starts from vote shares, with the classes re-weighted to the prior pi, which stays fixed. It ends when q
settles, or when text and the other sources foretell each source's votes worse than before: then it goes
back to the round in which they did so best (see `left_out_votes`). It follows
Dawid and Skene (1979) in how sources are counted and Raykar et al. (2010) in learning a classifier
inside the loop; out-of-fold text, tau and the hold on the class balance keep it from believing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress, stage
from unruly.recipe.class_hold import class_hold
from unruly.recipe.clean_labels import clean_weight
from unruly.recipe.evidence import ENOUGH, Evidence, shares
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.left_out_votes import left_out_agreement, left_out_gain
from unruly.recipe.log_odds import Real64, softmax
from unruly.recipe.redundancy import redundancy_discount
from unruly.recipe.softmax_regression import pooled
from unruly.recipe.source_behaviour import (
    opinions,
    shade_behaviour,
    source_behaviour,
    vote_evidence,
)
from unruly.settings import Settings

FIRST_STEPS, STEPS = 15, 3  # of the regressions: in the first round, in the others
_SETTLED = 2e-3  # the loop ends when the posteriors move less than this on average
FALL = 0.03  # or when left-out votes are foretold so much worse than at best


@dataclass(frozen=True)
class Ingredients:
    """What the recipe is made of; each can be left out, to see what it is worth."""

    hold: bool = True  # the class balance is held at the prior
    out_of_fold: bool = True  # text judges a document that it has not learnt from
    soft_labels: bool = True  # posteriors as they are, not their likeliest class
    redundancy: bool = True  # sources that repeat each other share one say
    shades: bool = True  # a source's votes are told apart by the words that made it vote
    networks: bool = True  # the two networks answer beside the regressions
    guard: bool = True  # what votes and texts speak against is not believed
    turn_back: bool = True  # the loop goes back where it foretells votes worse than before
    loudness: bool = True  # tau is lowered where that foretells votes better
    says: bool = True  # so is the say of an encoder


WHOLE = Ingredients()


@dataclass(frozen=True, eq=False)
class Posteriors:
    """What the loop came to."""

    q: Real64  # (n, m): the posteriors, which are the soft labels
    lp: Real64  # (n, m): what text says, out of fold, encoders averaged
    by_encoder: tuple[Real64, ...]  # E times (n, m): what each encoder says
    ev: Real64  # (n, m): what the votes say
    T: Real64  # (k, m, m): how sources behave
    opinion: (
        Real64  # (s, c, y): what their votes say, by the word that made them vote (see `shades`)
    )
    r: Real64  # (k,): the discount for repeating others
    b: Real64  # (m,): the hold on the class balance
    pi: Real64  # (m,): the prior
    tau: float
    first: (
        Real64  # (n, m): what text said after the first round, learnt from re-weighted vote shares
    )
    rounds: int
    moved: tuple[float, ...]  # how far the posteriors moved in each round, mean total variation
    left: Posteriors | None = None  # the round from which the loop went back to this one, if it did

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the loop, a sentence each."""
        if self.left is None:
            return ()
        return (
            f"Training went back from round {self.left.rounds} to round {self.rounds}: further on, text and the other sources "
            "foretold each source's votes worse.",
        )

    @property
    def scores(self) -> Real64:
        """(n, m): tau lp + ev, before the hold."""
        return self.tau * self.lp + self.ev


def regressions(
    features: Features, m: int, settings: Settings, folds: int | None = None
) -> tuple[FoldedRegression, ...]:
    """One folded regression for each encoder, all with the same folds; lam = l2 / n."""
    n, parts = features.n, folds or settings.folds
    fold = np.random.default_rng(settings.seed).permutation(n) % parts
    return tuple(
        FoldedRegression(block.values, m, fold, parts, settings.l2 / n, say)
        for block, say in zip(features.blocks, features.says, strict=True)
    )


def posteriors(
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    prior: Real64,
    *,
    tau: float,
    rounds: int,
    ingredients: Ingredients = WHOLE,
    progress: Progress = SILENT,
) -> Posteriors:
    """Run the loop under this class prior (m,). The regressions are left as of the round that is returned."""
    q = _with_clean(shares(evidence, prior), evidence)
    targets, weight = _first_targets(q, evidence, prior)
    counts_for = clean_weight(int(evidence.known.sum()), evidence.m)
    for text in texts:
        text.reset()
    released = -(tau - 1) * np.log(prior)  # what b is when nothing is held: the prior counts once
    b = released - released.mean()
    first, moved = np.empty(0), list[float]()
    watched = ingredients.turn_back and int(evidence.covered.sum()) >= ENOUGH
    watch = _Watch(evidence) if watched else None
    with stage(progress, "posteriors", rounds, "round"):
        for t in range(rounds):
            for text in texts:
                text.fit(targets, weight, FIRST_STEPS if t == 0 else STEPS)
            said = tuple(
                text.out_of_fold() if ingredients.out_of_fold else text.in_fold() for text in texts
            )
            lp = pooled(said, [text.say for text in texts])
            mass = targets * weight[:, None]
            behaviour = source_behaviour(evidence, mass)
            discount = (
                redundancy_discount(evidence, targets, behaviour)
                if ingredients.redundancy
                else np.ones(evidence.k)
            )
            by_word = shade_behaviour(evidence, mass, behaviour)  # (s, m, m)
            opinion = opinions(by_word, discount[evidence.shades.owner])  # (s, c, y)
            ev = vote_evidence(evidence, opinion)
            if ingredients.hold:
                b = class_hold(tau * lp + ev, prior, b, 20 if t == 0 else 8)
            renewed = _with_clean(softmax(tau * lp + ev + b), evidence)
            moved.append(float(np.abs(renewed - q).sum(axis=1).mean() / 2))
            q = renewed
            targets = q if ingredients.soft_labels else np.eye(evidence.m)[q.argmax(axis=1)]
            weight = np.where(evidence.known, counts_for, 1.0)
            first = lp if t == 0 else first
            progress.advance(1, f"moved {moved[-1]:.1%}")
            now = Posteriors(
                q=q,
                lp=lp,
                by_encoder=said,
                ev=ev,
                T=behaviour,
                opinion=opinion,
                r=discount,
                b=b,
                pi=prior,
                tau=tau,
                first=first,
                rounds=len(moved),
                moved=tuple(moved),
            )
            if watch is not None and watch.fell(now, texts):
                return replace(watch.back(texts), left=now)
            if t and moved[-1] < _SETTLED:
                break
    return now


def gain(fitted: Posteriors, evidence: Evidence) -> float:
    """g: how much likelier than by chance text and the other sources make each vote (see `left_out_votes`); at least 0.

    Of the last round of the loop, also where it went back from there to an earlier one.
    """
    last = fitted.left or fitted
    return max(left_out_gain(last.scores + last.b, last.q, evidence, last.opinion, last.r), 0.0)


class _Watch:
    """Remembers the round in which left-out votes were foretold best, to go back to it."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence, self.best = evidence, -1.0

    def fell(self, now: Posteriors, texts: Sequence[FoldedRegression]) -> bool:
        """Whether they are foretold so much worse now that the loop has run too far."""
        foretold = left_out_agreement(now.scores + now.b, self.evidence, now.opinion, now.r)
        if foretold > self.best:
            self.best, self.then = foretold, now
            self.weights = [text.weights for text in texts]
        return foretold < self.best - FALL

    def back(self, texts: Sequence[FoldedRegression]) -> Posteriors:
        """That round; the regressions are put back to what they were then."""
        for text, weights in zip(texts, self.weights, strict=True):
            text.weights = weights
        return self.then


def _with_clean(q: Real64, evidence: Evidence) -> Real64:
    """(n, m): the posteriors, with clean labels put in."""
    if evidence.known.any():
        q[evidence.known] = np.eye(evidence.m)[evidence.clean[evidence.known]]
    return q


def _first_targets(q: Real64, evidence: Evidence, prior: Real64) -> tuple[Real64, Real64]:
    """(n, m), (n,): vote shares of covered documents, classes re-weighted to the prior's balance."""
    counts_for = clean_weight(int(evidence.known.sum()), evidence.m)
    weight = np.where(evidence.known, counts_for, evidence.covered.astype(np.float64))
    mass = (q * weight[:, None]).sum(axis=0) / weight.sum()
    tilted = q * (prior / np.maximum(mass, 1e-9))
    total = tilted.sum(axis=1)
    return tilted / total[:, None], weight * total
