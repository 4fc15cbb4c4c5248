"""The default recipe from votes and features to a learner: prior, posteriors, the two networks, accuracies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.progress import SILENT, Progress
from unruly.recipe.balanced import class_balanced
from unruly.recipe.class_hold import class_hold
from unruly.recipe.class_prior import (
    Prior,
    held_prior,
    leaning,
    prior_notes,
    sensitivity,
)
from unruly.recipe.encoder_say import heard_encoders
from unruly.recipe.evidence import Evidence, vote_prior
from unruly.recipe.fallback import fall_back
from unruly.recipe.guard import BELIEVED, contradicted_sources, guard, text_knows
from unruly.recipe.intervals import Accuracies, source_accuracies
from unruly.recipe.log_odds import Real64
from unruly.recipe.loudness import heard_posteriors, loudness_notes
from unruly.recipe.opinion_pool import OpinionPool
from unruly.recipe.posteriors import WHOLE, Ingredients, Posteriors, regressions
from unruly.recipe.recipe import TOO_SURE, Recipe
from unruly.recipe.short_training import train_networks
from unruly.settings import Settings
from unruly.training.clean_labels import Gold, checked
from unruly.training.compute import computing
from unruly.training.training_set import check_features
from unruly.votes.votes import Votes


def fit_recipe(
    features: Features,
    votes: Votes,
    settings: Settings,
    *,
    prior: Prior = None,
    clean: Gold | None = None,
    ingredients: Ingredients = WHOLE,
    progress: Progress = SILENT,
) -> Recipe:
    """Learn from votes and features alone.

    `prior` is "auto" (or None), "uniform", "votes", or one number for each class. `clean`, (n,), holds
    the true class of documents where it is known, else -1.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 300)
    >>> features = Features.from_array(truth[:, None] + rng.normal(0, 0.3, (300, 2)))
    >>> said = np.where(rng.random((300, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    >>> votes = Votes.from_array(np.where(rng.random((300, 3)) < 0.5, said, -1))
    >>> recipe = fit_recipe(features, votes, Settings())
    >>> bool((recipe.heads(features, votes).predicted == truth).mean() > 0.95)
    True
    """
    check_features(features, votes)
    gold = checked(clean, votes.n, votes.m)
    evidence = Evidence.of(votes, gold, features.held if ingredients.shades else None)
    if not evidence.m:
        raise InputError(
            f"none of the {votes.n} documents has a vote: write rules that match, or give clean labels"
        )
    with computing(settings) as device:
        texts = regressions(features, evidence.m, settings)
        balanced = class_balanced(texts, evidence)
        held = held_prior(prior, texts, evidence, settings, ingredients, progress)
        heard = heard_encoders(
            texts, features.owners, evidence, held, settings, ingredients, progress
        )
        fitted = heard_posteriors(texts, evidence, held.shares, settings, ingredients, progress)
        verdict = BELIEVED
        if ingredients.guard:
            signal = text_knows(features, balanced, evidence, settings)
            verdict = guard(fitted, balanced, evidence, held, signal, votes.classes)
        said = tuple(text.regression() for text in texts)
        pool, vote_bias = even_pool(fitted, evidence), covered_bias(fitted, evidence)
        trained = None
        if ingredients.networks and not verdict.fired:
            trained = train_networks(
                features, votes, fitted.q, vote_bias, pool, said, settings, device, progress
            )
    accuracies = source_accuracies(fitted, evidence)
    recipe = Recipe(
        classes=votes.classes,
        sources=votes.sources,
        texts=said,
        classifier=trained.classifier if trained else None,
        pool=trained.pool if trained else pool,
        b=fitted.b,
        vote_bias=vote_bias,
        tau=fitted.tau,
        temperature=TOO_SURE * fitted.tau,
        prior=_over_all(held.shares, evidence, votes.m),
        reliability=_reliability(accuracies, fitted, evidence, votes.k),
        accuracy=_table(accuracies.spread_over(evidence.sources, votes.k)),
        history=trained.history if trained else (),
        gold_used=_gold_used(gold, prior),
        notes=(
            *verdict.notes,
            *fitted.notes,
            *heard,
            *loudness_notes(fitted, settings.tau),
            *_unnamed(votes, evidence),
            *contradicted_sources(accuracies, evidence, fitted.pi, votes.sources),
            *prior_notes(
                held,
                sensitivity(fitted),
                leaning(held.shares, (vote_prior(evidence), balanced.shares)),
            ),
        ),
    )
    return fall_back(recipe, verdict, balanced, evidence)


def even_pool(fitted: Posteriors, evidence: Evidence) -> OpinionPool:
    """The sources' opinions as the loop left them, with an even split of attention."""
    return OpinionPool(
        opinion=fitted.opinion.astype(np.float32),
        shades=evidence.shades,
        sources=evidence.sources.astype(np.int64),
        classes=evidence.classes.astype(np.int64),
        attention=None,
    )


def covered_bias(fitted: Posteriors, evidence: Evidence) -> Real64:
    """(m,): c, by which the votes alone name each class as often as the posteriors of covered documents do."""
    covered = evidence.covered
    if not covered.any():
        return np.asarray(np.log(fitted.pi))
    balance = np.maximum(fitted.q[covered].mean(axis=0), 1e-6)
    return class_hold(fitted.ev[covered], balance / balance.sum(), np.log(fitted.pi))


def _over_all(shares: Real64, evidence: Evidence, m: int) -> tuple[float, ...]:
    full = np.zeros(m)
    full[evidence.classes] = shares
    return tuple(full.tolist())


def _reliability(
    accuracies: Accuracies, fitted: Posteriors, evidence: Evidence, k: int
) -> NDArray[np.float64]:
    """(k,): accuracy per vote cast times the discount for repeating others, made to sum to 1."""
    full = np.zeros(k)
    full[evidence.sources] = accuracies.estimate * fitted.r
    return full / full.sum() if full.sum() > 0 else full


def _table(accuracies: Accuracies) -> Real64:
    return np.stack([accuracies.estimate, accuracies.low, accuracies.high], axis=1)


def _unnamed(votes: Votes, evidence: Evidence) -> tuple[str, ...]:
    missing = [name for c, name in enumerate(votes.classes) if c not in evidence.classes]
    if not missing:
        return ()
    return (
        f"No source votes for {', '.join(missing)}, so it is never answered: write a rule for it.",
    )


def _gold_used(gold: Gold, prior: Prior) -> tuple[str, ...]:
    known = int((gold >= 0).sum())
    uses = (
        ["training"]
        if prior is not None and not isinstance(prior, str)
        else ["training", "class prior"]
    )
    return tuple(f"{use}: {known} clean labels" for use in uses) if known else ()
