"""What clients get: predictions as plain values, in Hugging Face's form, in ours, or as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unruly.model.predictions import Predictions
from unruly.serve.asking import HuggingFace, Own

DIGITS = 6  # of a probability


@dataclass(frozen=True)
class Answer:
    """What the model says of one document."""

    number: int  # of the likeliest class
    probabilities: Sequence[float]
    decided_by: str
    votes: Sequence[tuple[int, int]]  # source and class, by number


@dataclass(frozen=True, eq=False)
class Answers:
    """What the model says of some documents, in their order."""

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    each: Sequence[Answer]
    checksum: str  # of the model that answered

    @classmethod
    def of(cls, predictions: Predictions, checksum: str) -> Answers:
        """Predictions as plain values."""
        proba = np.round(predictions.proba.astype(np.float64), DIGITS).tolist()
        votes: list[list[tuple[int, int]]] = [[] for _ in proba]
        matrix = predictions.votes.matrix
        for row, source in zip(*np.nonzero(matrix >= 0), strict=True):
            votes[row].append((int(source), int(matrix[row, source])))
        each = map(Answer, predictions.numbers.tolist(), proba, predictions.decided_by, votes)
        return cls(predictions.classes, predictions.votes.sources, list(each), checksum)

    def part(self, start: int, stop: int) -> Answers:
        """Some of them only: those of one request."""
        return Answers(self.classes, self.sources, self.each[start:stop], self.checksum)

    def to_plain(self, form: HuggingFace | Own) -> Any:
        """As JSON has it, in the form that was asked for."""
        if isinstance(form, Own):
            return {"predictions": [self._own(answer) for answer in self.each]}
        ranked = [self._ranked(answer, form.top_k) for answer in self.each]
        return ranked[0] if form.one else ranked

    def _ranked(self, answer: Answer, top_k: int | None) -> list[dict[str, Any]]:
        order = sorted(range(len(self.classes)), key=lambda c: -answer.probabilities[c])
        return [{"label": self.classes[c], "score": answer.probabilities[c]} for c in order[:top_k]]

    def _own(self, answer: Answer) -> dict[str, Any]:
        return {
            "label": self.classes[answer.number],
            "confidence": answer.probabilities[answer.number],
            "probabilities": dict(zip(self.classes, answer.probabilities, strict=True)),
            "decided_by": answer.decided_by,
            "votes": [
                {"source": self.sources[j], "label": self.classes[c]} for j, c in answer.votes
            ],
        }
