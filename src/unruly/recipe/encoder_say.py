"""How much each encoder is heard: all the same, but for one that only gets in the way.

    g(s)   how much text and the other sources tell of each source's votes, after three rounds of the loop in which the
           encoders have the says s (`left_out_votes`)
    s      equal; the encoder whose say, if quartered, raises g most has it quartered, while g rises by 1 %, twice at most

An encoder may not know the language of the texts, or read only their beginnings; averaged with a good one it costs more
than it gives. Fewer than 1,000 documents with votes cannot tell, nor can votes under a prior that is a blind guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unruly.progress import SILENT, Progress, stage
from unruly.recipe.class_prior import HeldPrior
from unruly.recipe.evidence import Evidence
from unruly.recipe.folded_regression import FoldedRegression
from unruly.recipe.log_odds import Real64
from unruly.recipe.posteriors import WHOLE, Ingredients, gain, posteriors
from unruly.recipe.sampled import sampled
from unruly.settings import Settings

RISE = 0.01  # of g, as a share of it
ENOUGH = 1_000  # documents with votes
_STEP, _STEPS = 4, 2  # an encoder's say is divided by so much, so many times at most
_ROUNDS = 3
_DOCUMENTS = 5_000  # drawn of more


@dataclass(frozen=True)
class Step:
    """The says of the encoders, beside each other, and how well left-out votes are foretold with them."""

    says: Mapping[str, float]  # encoder -> 1 or, where it was quartered, 1/4 or 1/16
    gain: float  # g


def heard_encoders(
    texts: Sequence[FoldedRegression],
    owners: Sequence[str],
    evidence: Evidence,
    held: HeldPrior,
    settings: Settings,
    ingredients: Ingredients = WHOLE,
    progress: Progress = SILENT,
) -> tuple[str, ...]:
    """Give the regressions their says; `owners` names the encoder of each. What the user is told, a sentence each."""
    names = list(dict.fromkeys(owners))
    enough = int(evidence.covered.sum()) >= ENOUGH
    if not ingredients.says or len(names) < 2 or not enough or evidence.m < 2 or held.blind:
        return ()
    walked = walk(texts, owners, evidence, held.shares, settings, ingredients, progress)
    says = walked[-1].says  # the largest is 1
    give(texts, owners, says)
    return tuple(
        f"{name} is heard {_share(says[name])} as much as the other encoders: so text and the other "
        "sources foretell each source's votes better."
        for name in names
        if says[name] < 1
    )


def walk(
    texts: Sequence[FoldedRegression],
    owners: Sequence[str],
    evidence: Evidence,
    prior: Real64,
    settings: Settings,
    ingredients: Ingredients = WHOLE,
    progress: Progress = SILENT,
    rise: float = RISE,
) -> list[Step]:
    """Equal says, and after each quartering, as long as g rises by that share of it. The regressions are left with equal says."""
    names = list(dict.fromkeys(owners))
    part, some = sampled(texts, evidence, settings, _DOCUMENTS)
    held = replace(ingredients, hold=True, soft_labels=True, turn_back=False)

    def trial(says: Mapping[str, float]) -> Step:
        give(part, owners, says)
        rounds = min(_ROUNDS, settings.rounds)
        found = posteriors(part, some, prior, tau=settings.tau, rounds=rounds, ingredients=held)
        progress.advance(1)
        return Step(says, gain(found, some))

    equal = dict.fromkeys(names, 1.0)
    with stage(progress, "encoders", 1 + len(names) * (1 + _STEPS), "trial"):
        steps = [trial(equal)]
        while True:
            now = steps[-1]
            able = [name for name in names if now.says[name] > _STEP**-_STEPS]
            # Quartering all of them would change nothing: one at least keeps its whole say.
            whole = [name for name in names if now.says[name] == 1]
            able = [name for name in able if whole != [name]]
            tried = [trial({**now.says, name: now.says[name] / _STEP}) for name in able]
            best = max(tried, key=lambda one: one.gain, default=now)
            if best.gain <= (1 + rise) * now.gain:
                break
            steps.append(best)
    give(part, owners, equal)
    return steps


def give(
    texts: Sequence[FoldedRegression], owners: Sequence[str], says: Mapping[str, float]
) -> None:
    """Every block of an encoder the same part of its say; all sum to 1."""
    whole = sum(says.values())
    for text, owner in zip(texts, owners, strict=True):
        text.say = says[owner] / whole / list(owners).count(owner)


def _share(share: float) -> str:
    """In words.

    >>> _share(0.25), _share(0.0625)
    ('a quarter', 'a sixteenth')
    """
    return {0.25: "a quarter", 0.0625: "a sixteenth"}[share]
