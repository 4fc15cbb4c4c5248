"""How many hand labels are the rules of a project worth? As many as a classifier needs to match them.

A classifier is trained on n = 10, 20, 50, ... labels drawn from a pool, several times, on the same
features, and scored on the same documents as the model that has rules only. Where the two accuracies
cross is what the rules are worth; between two n it is read off on a logarithmic scale. The interval
is that of 400 bootstrap samples of the scored documents and of the draws. The classifier is

    softmax regression on each block of features, L2 penalty c / n;   log p = mean over blocks of log p_e

with c chosen among 0.1, 1 and 10 by five-fold likelihood, so that the labels are used at their best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unruly.denoising.em import pooled
from unruly.denoising.regression import CrossFitting, SoftmaxRegression, content_folds
from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.ledger import Ledger, Use
from unruly.progress import SILENT, Progress, stage
from unruly.project.project import Project
from unruly.statistics import Float64, Share, wilson
from unruly.texts.corpus import Corpus
from unruly.wording import plural

_STEPS = (1, 2, 5)
_BOOTSTRAPS = 400
_PENALTIES = (0.1, 1.0, 10.0)  # c, of which the best is taken
_DESCENT = 60  # steps of a regression
_FOLDS = 5
_BEYOND = 2  # sizes above the crossing that are still tried
Labels = NDArray[np.int64]
Hits = NDArray[np.bool_]


def project_worth(project: Project, draws: int = 5, progress: Progress = SILENT) -> Worth:
    """Fit the rules' model without any gold, then compare it with classifiers trained on labels."""
    from unruly.features.cache import FeatureCache

    corpus = project.corpus("train")
    labels = _labels(project, corpus)
    held_out = _held_out(project)
    if held_out is None:
        _check_halves(int((labels >= 0).sum()))
    votes = project.vote(corpus, progress)
    model = project.classifier().fit(corpus, votes, progress=progress)
    known = np.flatnonzero(labels >= 0)
    pool = known
    if held_out is None:
        shuffled = np.random.default_rng(project.seed).permutation(known)
        pool, rest = np.sort(shuffled[::2]), np.sort(shuffled[1::2])
        held_out, gold = corpus.take(rest), labels[rest]
        answers = model.predictions(held_out, votes.take(rest), progress=progress).numbers
        origin = "half of the labelled training documents"
    else:
        held_out = held_out.take(np.asarray(held_out.gold) >= 0)
        gold = np.asarray(held_out.gold, np.int64)
        answers = model.predictions(held_out, progress=progress).numbers
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
        'no training document has a gold label to compare the rules with: set label = "..." '
        "under [data], or label some by `unruly label`"
    )


def _held_out(project: Project) -> Corpus | None:
    """The test documents, which must have gold labels; None where there is no test file."""
    if not project.data.test:
        return None
    corpus = project.corpus("test")
    if corpus.gold is None or not (corpus.gold >= 0).any():
        raise InputError(
            'the test file has no gold labels to score on: set their column, label = "...", under [data], '
            "or leave the test file out to score on half of the labelled training documents"
        )
    return corpus


FEWEST = 20  # labels in the pool, and documents to score on


@dataclass(frozen=True)
class CurvePoint:
    """A point of the learning curve: the classifier trained on so many hand labels."""

    labels: int
    accuracy: float  # mean over draws
    deviation: float | None  # over draws; None: it takes all labels, so there is one draw only


@dataclass(frozen=True)
class Worth:
    """What the rules are worth in hand labels, read off the learning curve of a classifier; None: outside the curve."""

    rules: Share  # accuracy of the model that has rules only
    curve: tuple[CurvePoint, ...]
    labels: float | None
    low: float | None  # None: fewer than the first point
    high: float | None  # None: more than the last point
    draws: int
    ledger: Ledger

    @property
    def sentence(self) -> str:
        """The answer in words."""
        first, last = self.curve[0].labels, self.curve[-1].labels
        low = f"{first:,} or fewer" if self.low is None else f"{_round(self.low):,}"
        high = f"more than {last:,}" if self.high is None else f"{_round(self.high):,}"
        if self.labels is not None:
            return f"these rules are worth about {plural(_round(self.labels), 'hand label')} ({low} to {high})"
        if self.rules.value >= self.curve[-1].accuracy:
            return f"these rules are worth more than the {plural(last, 'hand label')} there are to compare with"
        return f"these rules are worth fewer than {plural(first, 'hand label')}"

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "labels": self.labels,
            "low": self.low,
            "high": self.high,
            "rules_accuracy": self.rules.value,
            "rules_accuracy_low": self.rules.low,
            "rules_accuracy_high": self.rules.high,
            "documents": self.rules.n,
            "draws": self.draws,
            "hand_labels": [
                {"labels": r.labels, "accuracy": r.accuracy, "deviation": r.deviation}
                for r in self.curve
            ],
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
        }


def measure_worth(
    rules_hit: Hits,
    scored: Features,
    gold: Labels,
    pool: Features,
    labels: Labels,
    m: int,
    *,
    ledger: Ledger,
    origin: str = "",
    draws: int = 5,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Worth:
    """Compare `rules_hit`, (s,), whether the model is right on each scored document, with hand labels.

    `scored` and `gold` are those s documents; `pool` and `labels` other documents, all with a label.
    `ledger` is that of the model.
    """

    def hit(size: int, draw: int) -> Hits:
        """(s,): whether a classifier trained on so many labels is right."""
        chosen = np.random.default_rng([seed, draw]).permutation(len(labels))[:size]
        with threadpool_limits(1):  # more threads make small products slower
            model = fit_hand_labels(pool.take(chosen), labels[chosen], m, seed)
        right = model.log_proba(scored).argmax(axis=1) == gold
        progress.advance(1, plural(size, "label"))
        return np.asarray(right)

    _check(gold, labels)
    steps = list(sizes(len(labels)))
    hits: list[NDArray[np.bool_]] = []  # each (draws, s)
    above = 0
    with stage(progress, "training on hand labels", len(steps) * draws, "classifiers"):
        for place, size in enumerate(steps):
            hits.append(np.array([hit(size, draw) for draw in range(draws)]))
            above += bool(hits[-1].mean() > rules_hit.mean())
            if above > _BEYOND:
                progress.advance((len(steps) - place - 1) * draws)  # not needed
                steps = steps[: place + 1]
                break
    low, high = _interval(rules_hit, hits, steps, seed)
    means = [float(hit.mean()) for hit in hits]
    return Worth(
        rules=wilson(float(rules_hit.sum()), len(rules_hit)),
        curve=tuple(
            CurvePoint(size, mean, None if size == len(labels) else float(hit.mean(axis=1).std()))
            for size, mean, hit in zip(steps, means, hits, strict=True)
        ),
        labels=_inside(crossing(steps, means, float(rules_hit.mean())), steps),
        low=_inside(low, steps),
        high=_inside(high, steps),
        draws=draws,
        ledger=ledger.add(Use.SCORING, len(gold), origin).add(Use.COMPARISON, steps[-1]),
    )


def sizes(most: int) -> Iterator[int]:
    """10, 20, 50, 100 and so on, and last as many as there are.

    >>> list(sizes(230))
    [10, 20, 50, 100, 200, 230]
    """
    size, last = 10, 0
    while size <= most:
        for step in _STEPS:
            if size * step <= most:
                last = size * step
                yield last
        size *= 10
    if most > last:
        yield most


def crossing(steps: list[int], accuracies: list[float], rules: float) -> float:
    """Where the curve reaches the rules' accuracy, on a logarithmic scale; 0 or infinity outside.

    The curve is made to rise first: more labels are never worse but by chance.

    >>> round(crossing([10, 100], [0.6, 0.8], 0.7))
    32
    >>> crossing([10, 100], [0.6, 0.8], 0.9), crossing([10, 100], [0.6, 0.8], 0.5)
    (inf, 0.0)
    """
    curve = np.maximum.accumulate(np.array(accuracies))
    if rules < curve[0]:
        return 0.0
    if rules > curve[-1]:
        return float("inf")
    after = int(np.searchsorted(curve, rules))
    if curve[after] == rules or after == 0:
        return float(steps[after])
    share = (rules - curve[after - 1]) / (curve[after] - curve[after - 1])
    return float(np.exp(np.log(steps[after - 1]) * (1 - share) + np.log(steps[after]) * share))


def _interval(
    rules_hit: Hits, hits: list[NDArray[np.bool_]], steps: list[int], seed: int
) -> tuple[float, float]:
    """The middle 95 % of the crossings, documents and draws resampled."""
    rng = np.random.default_rng([seed, 1])
    s, draws = len(rules_hit), len(hits[0])
    found = []
    for _ in range(_BOOTSTRAPS):
        weight = np.bincount(rng.integers(s, size=s), minlength=s) / s
        picked = rng.integers(draws, size=draws)
        curve = [float((hit[picked] @ weight).mean()) for hit in hits]
        found.append(crossing(steps, curve, float(rules_hit @ weight)))
    ordered = np.sort(found)  # infinity last; no interpolation, which would make NaN of it
    return float(ordered[int(0.025 * _BOOTSTRAPS)]), float(ordered[int(0.975 * _BOOTSTRAPS) - 1])


def _inside(labels: float, steps: list[int]) -> float | None:
    return labels if steps[0] <= labels <= steps[-1] else None


def _round(labels: float) -> int:
    """Two digits are all that the interval allows."""
    return int(float(f"{labels:.2g}"))


def _check_halves(labels: int) -> None:
    """Refuse, before any work, labels of which half are too few."""
    if labels < 2 * FEWEST:
        raise InputError(
            f"{plural(labels, 'gold label')} {'is' if labels == 1 else 'are'} too few to compare with: half of them are "
            f"kept for scoring, so {2 * FEWEST} are needed, or a test file with {FEWEST}"
        )


def _check(gold: Labels, labels: Labels) -> None:
    classes = len(np.unique(labels))
    if len(labels) < FEWEST or classes < 2:
        raise InputError(
            f"too few gold labels to compare with: {len(labels)} to train on, of {plural(classes, 'class', 'classes')}; "
            f"at least {FEWEST}, of two classes, are needed"
        )
    if len(gold) < FEWEST:
        raise InputError(
            f"too few gold labels to score on: {plural(len(gold), 'document')}; at least {FEWEST} are needed"
        )


@dataclass(frozen=True, eq=False)
class HandLabelled:
    """A classifier trained on hand labels alone: what the rules are compared with."""

    texts: tuple[SoftmaxRegression, ...]  # one for each block of features
    weights: tuple[float, ...]

    def log_proba(self, features: Features) -> Float64:
        """(n, m): log-probabilities of the classes."""
        pairs = zip(self.texts, features.blocks, strict=True)
        return pooled([text.log_proba(block.values) for text, block in pairs], self.weights)


def fit_hand_labels(
    features: Features, labels: NDArray[np.integer], m: int, seed: int = 0
) -> HandLabelled:
    """Train on documents that all have a label (n,), of m classes.

    >>> x = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.1]])
    >>> model = fit_hand_labels(Features.from_array(x), np.array([0, 0, 1, 1]), 2)
    >>> model.log_proba(Features.from_array(x)).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    n = len(labels)
    if not n:
        raise InputError("there is no label to learn from: give at least one")
    blocks = tuple(block.array for block in features.blocks)
    folds = min(_FOLDS, max(n, 2))
    fold, _ = content_folds(features, folds, seed)
    target, mass = np.eye(m)[labels], np.ones(n)
    best, chosen = -np.inf, tuple[SoftmaxRegression, ...]()
    for penalty in _PENALTIES:
        texts = [CrossFitting.of(x, fold, folds, penalty) for x in blocks]
        trained = [text.descend(None, target, mass, _DESCENT) for text in texts]
        pairs = list(zip(texts, trained, strict=True))
        held_out = [text.held_out(w, target, mass) for text, w in pairs]
        likelihood = float(pooled(held_out, features.weights)[np.arange(n), labels].mean())
        if likelihood > best:
            best, chosen = likelihood, tuple(text.regression(w) for text, w in pairs)
    return HandLabelled(chosen, features.weights)
