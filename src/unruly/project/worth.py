"""How many hand labels are the rules of a project worth?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.model.worth import Worth, measure_worth
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.rules.cache import Cache
from unruly.texts.corpus import Corpus


def project_worth(project: Project, draws: int = 5, progress: Progress = SILENT) -> Worth:
    """Fit the rules' model without any gold, then compare it with classifiers trained on labels."""
    from unruly.features.cache import Cache as FeatureCache

    corpus = project.corpus("train")
    labels = _labels(project, corpus)
    held_out = _held_out(project)
    votes = project.sources.vote(corpus, progress, Cache.default())
    model = project.classifier().fit(corpus, votes, progress=progress)
    known = np.flatnonzero(labels >= 0)
    pool = known
    if held_out is None:
        shuffled = np.random.default_rng(project.seed).permutation(known)
        pool, rest = np.sort(shuffled[::2]), np.sort(shuffled[1::2])
        held_out, gold = corpus.take(rest), labels[rest]
        answers = model.predictions(held_out, votes.take(rest)).numbers
        origin = "half of the labelled training documents"
    else:
        held_out = held_out.take(np.asarray(held_out.gold) >= 0)
        gold = np.asarray(held_out.gold, np.int64)
        answers = model.predictions(held_out).numbers
        origin = "the test file"
    assert model.encoder_ is not None
    cache = FeatureCache()
    return measure_worth(
        answers == gold,
        model.encoder_.features(held_out, cache),
        gold,
        model.encoder_.features(corpus.take(pool), cache),
        labels[pool],
        len(project.classes),
        ledger=model.ledger_,
        origin=origin,
        draws=draws,
        seed=project.seed,
        progress=progress,
    )


def _labels(project: Project, corpus: Corpus) -> NDArray[np.int64]:
    """(n,): the gold labels of the training documents, -1 where there is none."""
    if corpus.gold is not None and (corpus.gold >= 0).any():
        return np.asarray(corpus.gold, np.int64)
    labels = project.labels(corpus)
    if labels.labels:
        return labels.numbers
    raise InputError(
        'no training document has a gold label to compare the rules with: name their column by label = "..." '
        "under [data], or label some by `unruly label`"
    )


def _held_out(project: Project) -> Corpus | None:
    """The test documents, which must have gold labels; None where there is no test file."""
    if not project.data.test:
        return None
    corpus = project.corpus("test")
    if corpus.gold is None or not (corpus.gold >= 0).any():
        raise InputError(
            'the test file has no gold labels to score on: name their column by label = "..." under [data], '
            "or leave the test file out to score on half of the labelled training documents"
        )
    return corpus
