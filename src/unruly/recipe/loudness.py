"""How loudly text speaks beside the votes: tau, halved while that foretells left-out votes clearly better.

    g(tau)   how much text and the other sources, at this tau, tell of each source's votes (`left_out_votes`)
    tau      halved while g(tau / 2) > 1.25 g(tau), and not below 1

Sharp text is right where text knows more than it dares to say, as on most data. Where it is weak (many classes, few words)
the loop would believe its noise more than the votes.
"""

from __future__ import annotations

from collections.abc import Sequence

from unruly.progress import SILENT, Progress
from unruly.recipe.evidence import Evidence
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import WHOLE, Ingredients, Posteriors, gain, posteriors
from unruly.settings import Settings

CLEARLY = 1.25  # g must be so many times as much
LEAST = 1.0  # below, text would count for less than it says
ENOUGH = 300  # documents with votes below which they cannot tell


def heard_posteriors(
    texts: Sequence[FoldedRegression],
    evidence: Evidence,
    prior: Real64,
    settings: Settings,
    ingredients: Ingredients = WHOLE,
    progress: Progress = SILENT,
) -> Posteriors:
    """The loop's posteriors with text as loud as left-out votes bear out; `settings.tau` at the loudest.

    Where votes cover too few documents to tell, it stays at that.
    """

    def run(loud: float) -> Posteriors:
        return posteriors(
            texts,
            evidence,
            prior,
            tau=loud,
            rounds=settings.rounds,
            ingredients=ingredients,
            progress=progress,
        )

    kept = run(settings.tau)
    if not ingredients.loudness or int(evidence.covered.sum()) < ENOUGH or evidence.m < 2:
        return kept
    while kept.tau / 2 >= LEAST:
        weights = [text.weights for text in texts]
        softer = run(kept.tau / 2)
        if gain(softer, evidence) <= CLEARLY * gain(kept, evidence):
            for text, learnt in zip(texts, weights, strict=True):
                text.weights = learnt
            break
        kept = softer
    return kept


def loudness_notes(fitted: Posteriors, asked: float) -> tuple[str, ...]:
    """What the user is told where text is lowered from the tau that was asked for."""
    if fitted.tau >= asked:
        return ()
    return (
        f"Text is weak beside the votes here and counts for less (tau {fitted.tau:g} instead of {asked:g}): so text and the "
        "other sources foretell each source's votes better.",
    )
