"""What the guard puts in the recipe's place, in the recipe's own form: saved, explained and used alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unruly.recipe.balanced import Balanced
from unruly.recipe.evidence import Evidence
from unruly.recipe.guard import BALANCED, MAJORITY, Verdict
from unruly.recipe.plain_vote import plain_vote
from unruly.recipe.recipe import Recipe


def fall_back(recipe: Recipe, verdict: Verdict, balanced: Balanced, evidence: Evidence) -> Recipe:
    """The recipe as it is if the guard believes it, else one that answers as the verdict says."""
    if verdict.answers == MAJORITY:
        plain = plain_vote(evidence, balanced.texts)
        return replace(
            recipe,
            texts=plain.texts,
            classifier=None,
            pool=plain.pool,
            b=plain.b,
            vote_bias=plain.b,
            tau=1.0,
            temperature=1.0,
            answers=verdict.answers,
        )
    if verdict.answers == BALANCED:
        silent = np.zeros_like(recipe.pool.opinion)
        none = np.zeros(evidence.m)
        return replace(
            recipe,
            texts=balanced.texts,
            classifier=None,
            pool=replace(recipe.pool, opinion=silent, attention=None),
            b=none,
            vote_bias=none,
            tau=1.0,
            temperature=1.0,
            answers=verdict.answers,
        )
    return recipe
