"""The trained pair of networks: what it says of documents, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.training.attention import Attention
from unruly.training.cells import Cells, VoteTable
from unruly.training.classifier import Classifier
from unruly.training.confidence import combine
from unruly.training.heads import CLASSIFIER, DENOISER, Epoch, Heads
from unruly.training.reliability import conditional
from unruly.training.rule_prediction import rule_scores, softmax
from unruly.training.training_set import check_known, standardised
from unruly.votes.votes import Votes

_CHUNK = 16_384  # documents answered together, so that memory stays bounded
Real = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class CoTrained:
    """The denoiser and the classifier after co-training: a `Learner`. Needs no torch."""

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    attention: Attention
    classifier: Classifier
    reliability: NDArray[np.float64]  # (k,): A
    history: tuple[Epoch, ...] = ()
    gold_used: tuple[str, ...] = ()
    ablation: str = "whole"
    attends: str = "voters"  # whom the softmax of Eq. 1 runs over
    ensemble: str = "confident"
    centre: Real | None = None  # (d,)
    scale: Real | None = None  # (d,)
    sharpness: tuple[float, float] = (1.0, 1.0)  # of the denoiser's and the classifier's confidence

    def heads(self, features: Features, votes: Votes) -> Heads:
        """What both heads say of these documents, uncovered ones included."""
        self._check(features, votes)
        parts = [
            self._heads(features, votes.matrix, np.arange(start, min(start + _CHUNK, votes.n)))
            for start in range(0, max(votes.n, 1), _CHUNK)
        ]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def soft_labels(self, votes: Votes, features: Features) -> Real:
        """(n, m): the denoised labels: both heads' opinion where sources voted, else the classifier's."""
        return self.heads(features, votes).combined

    def scores(self, features: Features, votes: Votes) -> tuple[Real, Real]:
        """(n, m), (n, m): the scores of both heads before any softmax, as calibration needs them."""
        self._check(features, votes)
        rule, text, _ = self._scores(features, votes.matrix, np.arange(votes.n))
        return rule, text

    def conditional_reliability(self, features: Features, matrix: NDArray[np.int8]) -> Real:
        """(n, k): a_ij."""
        return self._scores(features, matrix, np.arange(len(matrix)))[2]

    def text_scores(self, features: Features) -> Real:
        """(n, m): the classifier's scores alone, before the softmax."""
        return self.classifier.logits(standardised(features.matrix(), self.centre, self.scale))

    def _scores(
        self, features: Features, matrix: NDArray[np.int8], rows: NDArray[np.int64]
    ) -> tuple[Real, Real, Real]:
        values = standardised(features.take(rows).matrix(), self.centre, self.scale)  # (n, d)
        cells = self._cells(matrix[rows])
        a = conditional(self.attention.scores(values, cells), cells)  # (v,)
        rule = rule_scores(a, cells)  # (n, m)
        text = (
            np.zeros_like(rule) if self.ablation == "rule-only" else self.classifier.logits(values)
        )
        return rule, text, cells.matrix(a)

    def _cells(self, matrix: NDArray[np.int8]) -> Cells:
        cells = Cells.of(matrix, len(self.classes), self.attends)
        if self.attends == "voters":
            return cells
        known = self.attention.table.numbers(cells) < len(self.attention.table)
        return cells.keep(
            known | (cells.cast > 0)
        )  # the silence of a source never heard says nothing

    def _heads(
        self, features: Features, matrix: NDArray[np.int8], rows: NDArray[np.int64]
    ) -> Heads:
        rule, text, a = self._scores(features, matrix, rows)
        denoiser = softmax(rule, self.sharpness[0])
        classifier = softmax(text, self.sharpness[1])
        if self.ablation == "rule-only":
            combined, decided = denoiser, np.full(len(rows), DENOISER, dtype=np.int8)
        elif self.ablation in ("neural-only", "neural-self"):
            combined, decided = classifier, np.full(len(rows), CLASSIFIER, dtype=np.int8)
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
            "attention.codes": self.attention.table.codes,
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
            "gold_used": list(self.gold_used),
            "ablation": self.ablation,
            "attends": self.attends,
            "ensemble": self.ensemble,
            "sharpness": list(self.sharpness),
            "history": [epoch.to_plain() for epoch in self.history],
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """The learner again."""
        classes = tuple(facts["classes"])
        return cls(
            classes=classes,
            sources=tuple(facts["sources"]),
            attention=Attention(
                arrays["attention.w1"],
                arrays["attention.votes"],
                arrays["attention.w2"],
                VoteTable(arrays["attention.codes"], len(classes)),
            ),
            classifier=Classifier(
                *(arrays[f"classifier.{name}"] for name in ("w1", "b1", "w2", "b2"))
            ),
            reliability=arrays["reliability"],
            history=tuple(Epoch(**epoch) for epoch in facts["history"]),
            gold_used=tuple(facts["gold_used"]),
            ablation=facts["ablation"],
            attends=facts["attends"],
            ensemble=facts["ensemble"],
            centre=arrays.get("centre"),
            scale=arrays.get("scale"),
            sharpness=(facts["sharpness"][0], facts["sharpness"][1]),
        )


def _joined(parts: list[Heads]) -> Heads:
    return Heads(
        denoiser=np.concatenate([part.denoiser for part in parts]),
        classifier=np.concatenate([part.classifier for part in parts]),
        combined=np.concatenate([part.combined for part in parts]),
        decided_by=np.concatenate([part.decided_by for part in parts]),
        conditional=np.concatenate([part.conditional for part in parts]),
    )
