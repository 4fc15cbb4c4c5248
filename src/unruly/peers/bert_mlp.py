"""BERT-MLP: a multi-layer perceptron on frozen features, trained as if its labels were true.

The paper's seventh baseline "takes the pre-trained Transformer as the feature extractor and stacks a
multi-layer perceptron on its feature encoder" (Ren et al., 2020, section 4.1). What differs is the
labels: majority votes of the documents that have any, the labels of all documents as the paper's method
denoised them (its table "Train a classifier with denoised labels"), or true ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from unruly.peers.labels import (
    clean_used,
    denoised_labels,
    hard_targets,
    majority_labels,
    true_labels,
)
from unruly.peers.mlp import FittedMlp, Mlp
from unruly.peers.system import Lesson
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.training.clean_labels import Gold

Labels = Literal["majority", "denoised", "true"]


@dataclass(frozen=True)
class BertMlp:
    """The shared classifier on hard labels of one kind; where a clean label is known, it is taken."""

    labels: Labels = "majority"
    mlp: Mlp = field(default_factory=Mlp)
    settings: Settings = field(default_factory=Settings.paper)  # of the denoising

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedMlp:
        """Make the labels, then train on them."""
        documents = lesson.documents
        labels, gold_used = self._labelled(lesson, progress)
        valid = (lesson.valid[0].features, lesson.valid[1]) if lesson.valid else None
        fitted = self.mlp.fit(
            documents.features,
            hard_targets(labels, documents.votes.m),
            seed=lesson.seed,
            valid=valid,
            progress=progress,
        )
        return replace(fitted, gold_used=tuple(dict.fromkeys((*gold_used, *fitted.gold_used))))

    def _labelled(self, lesson: Lesson, progress: Progress) -> tuple[Gold, tuple[str, ...]]:
        match self.labels:
            case "majority":
                return majority_labels(lesson), clean_used(lesson)
            case "denoised":
                return denoised_labels(lesson, self.settings, progress)
            case "true":
                return true_labels(lesson), clean_used(lesson)


def majority() -> BertMlp:
    """On majority votes."""
    return BertMlp("majority")


def denoised() -> BertMlp:
    """On labels denoised by the paper's method."""
    return BertMlp("denoised")


def supervised() -> BertMlp:
    """On true labels, where the lesson has them."""
    return BertMlp("true")
