"""Some of the documents, where there are many."""

from __future__ import annotations

import numpy as np
from tests.recipe.small_task import small_task

from unruly.recipe.evidence import Evidence
from unruly.recipe.posteriors import regressions
from unruly.recipe.sampled import sampled
from unruly.settings import Settings
from unruly.training.compute import computing


def test_few_are_taken_whole_and_many_in_part() -> None:
    task = small_task(3000)
    evidence = Evidence.of(task.votes, np.full(3000, -1))
    with computing(Settings()):
        texts = regressions(task.features, 2, Settings())
        same, whole = sampled(texts, evidence, Settings(), 3000)
        part, some = sampled(texts, evidence, Settings(), 2000)
    assert same is texts
    assert whole is evidence
    assert some.n == 2000 == len(part[0].values)
    assert part[0].fold.max() == texts[0].fold.max()


def test_rare_votes_take_more_documents() -> None:
    task = small_task(4000, k=1)  # votes on a third of them
    evidence = Evidence.of(task.votes, np.full(4000, -1))
    with computing(Settings()):
        _, some = sampled(regressions(task.features, 2, Settings()), evidence, Settings(), 100)
    assert 850 < int(some.covered.sum()) < 1150
