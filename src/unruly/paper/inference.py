"""Inference (section 3.5): both heads' answers made one, and the trained pair that gives them.

Where the two predictions conflict, the more confident one decides. A denoiser whose best classes are
tied, or that has no vote to go by, has no opinion: the classifier decides there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from unruly.features.encoder import Features
from unruly.findings import Note
from unruly.learner import Decider, Epoch, Heads, check_known
from unruly.ledger import GoldUse, Ledger
from unruly.paper.attention import Attention, cast, outcomes, softmax_by_row
from unruly.paper.classifier import Classifier
from unruly.paper.denoiser import rule_scores
from unruly.paper.training_set import standardised
from unruly.statistics import Float32, Share, softmax
from unruly.votes.votes import Votes

_CHUNK = 16_384  # documents answered together, so that memory stays bounded
_TIE = 1e-6
_TINY = np.float32(1e-12)


@dataclass(frozen=True, eq=False)
class CoTrained:
    """The denoiser and the classifier after co-training: a `Learner`."""

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    attention: Attention
    codes: NDArray[np.intp]  # (c,), sorted: source * (m + 1) + outcome of each vote vector
    classifier: Classifier
    reliability: NDArray[np.float64]  # (k,): A
    history: tuple[Epoch, ...] = ()
    gold_used: tuple[GoldUse, ...] = ()
    ablation: str = "whole"
    attends: str = "all"  # whom the softmax of Eq. 1 runs over
    ensemble: str = "confident"
    centre: Float32 | None = None  # (d,)
    scale: Float32 | None = None  # (d,)
    sharpness: tuple[float, float] = (1.0, 1.0)  # factors on the scores of denoiser and classifier

    def heads(self, features: Features, votes: Votes) -> Heads:
        """The answers of both heads for these documents, uncovered ones included."""
        self._check(features, votes)
        with one_thread():
            parts = [
                self._heads(features, votes.hard, np.arange(start, min(start + _CHUNK, votes.n)))
                for start in range(0, max(votes.n, 1), _CHUNK)
            ]
        return Heads.concat(parts)

    @property
    def accuracy(self) -> None:
        """The paper estimates no accuracies."""
        return None

    @property
    def balance(self) -> None:
        """The paper uses no class shares."""
        return None

    @property
    def notes(self) -> tuple[Note, ...]:
        """None."""
        return ()

    def vote_odds(self, features: Features, votes: Votes) -> NDArray[np.float64] | None:
        """None: the softmax of Eq. 1 divides one weight among the votes of a document."""
        return None

    def vote_accuracy(
        self,
        combined: Float32,
        votes: Votes,
        source: str,
        rows: NDArray[np.intp],
        credit: NDArray[np.float64],
    ) -> Share | None:
        """None: the paper estimates no accuracies."""
        return None

    def scores(self, features: Features, votes: Votes) -> tuple[Float32, Float32]:
        """(n, m), (n, m): the scores of both heads before any softmax, as calibration needs them."""
        self._check(features, votes)
        rule, text, _ = self._scores(features, votes.hard, np.arange(votes.n))
        return rule, text

    def conditional_reliability(self, features: Features, matrix: NDArray[np.int8]) -> Float32:
        """(n, k): a_ij."""
        return self._scores(features, matrix, np.arange(len(matrix)))[2]

    def text_scores(self, features: Features) -> Float32:
        """(n, m): the classifier's scores alone, before the softmax."""
        return self.classifier.logits(standardised(features.matrix(), self.centre, self.scale))[0]

    def _scores(
        self, features: Features, matrix: NDArray[np.int8], rows: NDArray[np.intp]
    ) -> tuple[Float32, Float32, Float32]:
        values = standardised(features.take(rows).matrix(), self.centre, self.scale)  # (n, d)
        m, k = len(self.classes), len(self.sources)
        pairs = np.full(k * (m + 1), len(self.codes))  # a pair that never occurred: a zero vector
        pairs[self.codes] = np.arange(len(self.codes))
        silent = pairs.reshape(k, m + 1)[:, m] < len(self.codes)  # (k,): silence that was seen
        cells = outcomes(matrix[rows], m, self.attends, silent)
        zero = np.zeros((1, len(self.attention.w2)), np.float32)
        known = Attention(
            self.attention.w1,
            self.attention.w2,
            np.concatenate([self.attention.votes, zero]),
        )
        scores, _ = known.scores(values, cells.row, pairs[cells.onehot.indices])
        a = softmax_by_row(scores, cells.row) * cast(cells).astype(np.float32)  # (v,)
        rule = rule_scores(a, cells)  # (n, m)
        text = (
            np.zeros_like(rule)
            if self.ablation == "rule-only"
            else self.classifier.logits(values)[0]
        )
        conditional = np.zeros((len(rows), k), dtype=np.float32)
        conditional[cells.row, cells.source] = a
        return rule, text, conditional

    def _heads(self, features: Features, matrix: NDArray[np.int8], rows: NDArray[np.intp]) -> Heads:
        rule, text, a = self._scores(features, matrix, rows)
        denoiser = softmax(rule * np.float32(self.sharpness[0]))
        classifier = softmax(text * np.float32(self.sharpness[1]))
        if self.ablation == "rule-only":
            combined, decided = denoiser, np.full(len(rows), Decider.DENOISER, dtype=np.int8)
        elif self.ablation in ("neural-only", "neural-self"):
            combined, decided = classifier, np.full(len(rows), Decider.CLASSIFIER, dtype=np.int8)
        else:
            combined, decided = combine(denoiser, classifier, self.ensemble)
        return Heads(denoiser, classifier, combined, decided, a)

    def _check(self, features: Features, votes: Votes) -> None:
        check_known(features, votes, self.sources, self.classes, len(self.classifier.w1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything numeric."""
        arrays: dict[str, NDArray[Any]] = {
            "attention.w1": self.attention.w1,
            "attention.w2": self.attention.w2,
            "attention.votes": self.attention.votes,
            "attention.codes": self.codes,
            "classifier.w1": self.classifier.w1,
            "classifier.b1": self.classifier.b1,
            "classifier.w2": self.classifier.w2,
            "classifier.b2": self.classifier.b2,
            "reliability": self.reliability,
        }
        if self.centre is not None and self.scale is not None:
            arrays |= {"centre": self.centre, "scale": self.scale}
        return arrays

    def facts(self) -> dict[str, Any]:
        """Everything else, as JSON can hold it."""
        return {
            "classes": list(self.classes),
            "sources": list(self.sources),
            "gold_used": Ledger(self.gold_used).to_plain(),
            "ablation": self.ablation,
            "attends": self.attends,
            "ensemble": self.ensemble,
            "sharpness": list(self.sharpness),
            "history": [asdict(epoch) for epoch in self.history],
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """The learner again."""
        weights = (arrays[f"classifier.{name}"] for name in ("w1", "b1", "w2", "b2"))
        return cls(
            classes=tuple(facts["classes"]),
            sources=tuple(facts["sources"]),
            attention=Attention(
                arrays["attention.w1"], arrays["attention.w2"], arrays["attention.votes"]
            ),
            codes=arrays["attention.codes"],
            classifier=Classifier(*weights),
            reliability=arrays["reliability"],
            history=tuple(Epoch(**epoch) for epoch in facts["history"]),
            gold_used=Ledger.from_plain(facts["gold_used"]).entries,
            ablation=facts["ablation"],
            attends=facts["attends"],
            ensemble=facts["ensemble"],
            centre=arrays.get("centre"),
            scale=arrays.get("scale"),
            sharpness=(facts["sharpness"][0], facts["sharpness"][1]),
        )


def one_thread() -> AbstractContextManager[object]:
    """Matrix products in one thread: the order of sums, and so the last bit, must not depend on the machine."""
    limit: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limit


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # finding the loaded libraries takes milliseconds


def combine(denoiser: Float32, classifier: Float32, how: str) -> tuple[Float32, NDArray[np.int8]]:
    """The final probabilities, (n, m), and who decided, (n,).

    "confident" is the paper's: where both name the same class, their mean; else the probabilities of
    the one that is surer. "product" multiplies the two and normalises; "mean" averages them.

    >>> rule = np.array([[0.73, 0.27], [0.5, 0.5]], np.float32)
    >>> text = np.array([[0.4, 0.6], [0.2, 0.8]], np.float32)
    >>> combine(rule, text, "confident")[1].tolist()
    [1, 2]
    """
    first, second = denoiser.argmax(axis=1), classifier.argmax(axis=1)
    silent = _tied(denoiser)
    if how == "product":
        combined = softmax(
            np.log(np.maximum(denoiser, _TINY)) + np.log(np.maximum(classifier, _TINY))
        )
    elif how == "mean":
        combined = np.where(silent[:, None], classifier, (denoiser + classifier) / 2)
    else:
        combined = _more_confident(denoiser, classifier, silent)
    follows = (combined.argmax(axis=1) == first) & ~silent
    agreed = np.where(first == second, Decider.BOTH, Decider.DENOISER)
    decided = np.where(follows, agreed, Decider.CLASSIFIER)
    return np.asarray(combined, dtype=np.float32), decided.astype(np.int8)


def _more_confident(denoiser: Float32, classifier: Float32, silent: NDArray[np.bool_]) -> Float32:
    """(n, m): their mean where they agree, else the probabilities of the surer one."""
    agree = (denoiser.argmax(axis=1) == classifier.argmax(axis=1)) & ~silent
    surer = (denoiser.max(axis=1, initial=0) >= classifier.max(axis=1, initial=0)) & ~silent
    winner = np.where(surer[:, None], denoiser, classifier)
    return np.where(agree[:, None], (denoiser + classifier) / 2, winner)


def _tied(probabilities: Float32) -> NDArray[np.bool_]:
    """(n,): whether the two best classes are equally likely."""
    if not len(probabilities):
        return np.zeros(0, dtype=np.bool_)
    best = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0] < _TIE)
