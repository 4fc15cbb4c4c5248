"""What to do next: sources that hurt, sources that repeat others, classes with thin coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.report.pairs import Pairs
from unruly.report.silenced import Silenced
from unruly.report.source_facts import SourceFacts
from unruly.votes.votes import Votes

REPEATS = 0.85  # of its votes that another source casts as well
FEW = 20  # votes, below which nothing is said of a source
THIN = 0.25  # of the documents of a class that have a vote for it
HALF_A_POINT = 0.005  # of accuracy, below which a loss is not worth a word


@dataclass(frozen=True)
class Tip:
    """One piece of advice: what it is about, and why."""

    subject: str
    says: str


@dataclass(frozen=True)
class Advice:
    """All of it; each part may be empty."""

    hurting: tuple[Tip, ...]
    redundant: tuple[Tip, ...]
    thin: tuple[Tip, ...]


def advice(
    sources: Sequence[SourceFacts],
    pairs: Pairs,
    votes: Votes,
    final: NDArray[np.integer],
    adds: Mapping[str, Silenced],
) -> Advice:
    """Everything that the figures suggest."""
    chance = np.bincount(final, minlength=votes.m) / max(1, len(final))  # (m,)
    usual = dict(zip(votes.classes, chance.tolist(), strict=True))
    return Advice(
        hurting=tuple(tip for s in sources if (tip := _hurts(s, usual, adds.get(s.name)))),
        redundant=(*_repeats(pairs), *_mute(sources)),
        thin=_thin(votes, final),
    )


def _hurts(source: SourceFacts, usual: Mapping[str, float], adds: Silenced | None) -> Tip | None:
    if source.votes < FEW:
        return None
    if (
        adds is not None
        and adds.adds is not None
        and adds.adds.high < 0
        and adds.adds.value <= -HALF_A_POINT
    ):
        gained = f"{-100 * adds.adds.value:.1f} points ({-100 * adds.adds.high:.1f} to {-100 * adds.adds.low:.1f})"
        return Tip(source.name, f"without its votes the model is right more often, by {gained}.")
    known = source.best_known
    chance = max((usual.get(label, 0.0) for label in source.labels), default=0.0)
    if known is not None and known.n and known.high <= chance:
        how = "measured" if source.measured is not None else "estimated"
        return Tip(
            source.name,
            f"its votes are no better than naming a class blindly: {known} right ({how}), and "
            f"{chance:.0%} of all documents are of that class. Mend its rules, or remove it.",
        )
    return None


def _repeats(pairs: Pairs) -> tuple[Tip, ...]:
    """Sources most of whose votes another source casts as well; of two alike, the smaller is named."""
    contained, cast = pairs.contained, np.diag(pairs.both)
    tips = []
    for i, name in enumerate(pairs.sources):
        others = [
            j
            for j in range(len(pairs.sources))
            if j != i and (cast[j], -j) > (cast[i], -i) and contained[i, j] >= REPEATS
        ]
        if others and cast[i] >= FEW:
            j = max(others, key=lambda j: float(contained[i, j]))
            tips.append(
                Tip(
                    name,
                    f"{contained[i, j]:.0%} of its {cast[i]:,} votes are also cast by {pairs.sources[j]!r}, "
                    "so it says little of its own.",
                )
            )
    return tuple(tips)


def _mute(sources: Sequence[SourceFacts]) -> tuple[Tip, ...]:
    told = "it never votes on these documents."
    return tuple(Tip(source.name, told) for source in sources if not source.votes)


def _thin(votes: Votes, final: NDArray[np.integer]) -> tuple[Tip, ...]:
    tips = []
    for r, name in enumerate(votes.classes):
        speak = int((votes.matrix == r).any(axis=0).sum())
        given = final == r
        reached = float((votes.matrix[given] == r).any(axis=1).mean()) if given.any() else 0.0
        if speak == 0:
            tips.append(Tip(name, "no source votes for it: write a rule that does."))
        elif speak == 1:
            tips.append(
                Tip(name, "only one source votes for it, so nobody can contradict or confirm it.")
            )
        elif given.any() and reached < THIN:
            tips.append(
                Tip(
                    name,
                    f"of the {int(given.sum()):,} documents that are given this class, only {reached:.0%} "
                    "have a vote for it: write rules that reach the others.",
                )
            )
    return tuple(tips)
