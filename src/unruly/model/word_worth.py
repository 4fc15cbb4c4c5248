"""What each word that makes a source vote is worth, as the default has learnt it without gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from unruly.features.encoder import Features
from unruly.recipe.recipe import Recipe
from unruly.recipe.shades import NO_WORD
from unruly.training.heads import Learner
from unruly.votes.votes import Votes

FEWEST = 10  # votes that a word must have, to be told of
_SHOWN = 3  # of the best words of a source, and of the worst


@dataclass(frozen=True)
class WordLine:
    """One word of one source, and a class that the source names where a text holds it."""

    source: str
    word: str
    label: str
    votes: int  # on texts that hold the word
    odds: float  # by what factor such a vote moves the odds of the class

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def word_worths(learner: Learner, features: Features, votes: Votes) -> tuple[WordLine, ...]:
    """By source and class, the words that are worth most first; none where sources are not told apart by words."""
    if features.held is None or not isinstance(learner, Recipe):
        return ()
    pool, lines = learner.pool, list[WordLine]()
    prior = np.array(learner.prior)[pool.classes]
    holds = features.held.holds.tocsc()
    for shade, word in enumerate(pool.shades.word.tolist()):
        if word == NO_WORD:
            continue
        j = int(pool.sources[pool.shades.owner[shade]])
        said = votes.matrix[holds[:, [word]].nonzero()[0], j]
        for place, c in enumerate(pool.classes.tolist()):
            cast = int((said == c).sum())
            if cast >= FEWEST and len(prior) > 1:
                odds = pool.factor(pool.opinion[shade, place][None], np.array([place]), prior)
                name = features.held.words[word]
                lines.append(
                    WordLine(votes.sources[j], name, votes.classes[c], cast, float(odds[0]))
                )
    order = {name: j for j, name in enumerate(votes.sources)}
    return tuple(sorted(lines, key=lambda o: (order[o.source], o.label, -o.odds, o.word)))


def times(odds: float) -> str:
    """A factor in odds as a person reads it.

    >>> times(2.0), times(0.1234), times(7e4), times(1e-5)
    ('×2', '×0.123', '×1000+', '×0.001-')
    """
    return "×1000+" if odds >= 1000 else "×0.001-" if odds <= 0.001 else f"×{odds:.3g}"


def shown(lines: Sequence[WordLine]) -> list[str]:
    """A line for each source and class, with its best and its worst words.

    >>> made = [WordLine("film", f"w{i}", "good", 30, 9.0 - i) for i in range(8)]
    >>> print("\\n".join(shown(made)))
    what a vote is worth by the word that made it, as a factor in odds
      film, good: w0 ×9, w1 ×8, w2 ×7 ... w5 ×4, w6 ×3, w7 ×2
    """
    if not lines:
        return []
    rows = ["what a vote is worth by the word that made it, as a factor in odds"]
    for (source, label), group in groupby(lines, key=lambda o: (o.source, o.label)):
        told = [f"{one.word} {times(one.odds)}" for one in group]
        best, worst = told[:_SHOWN], told[-_SHOWN:]
        some = (
            ", ".join(told)
            if len(told) <= 2 * _SHOWN
            else f"{', '.join(best)} ... {', '.join(worst)}"
        )
        rows.append(f"  {source}, {label}: {some}")
    return rows
