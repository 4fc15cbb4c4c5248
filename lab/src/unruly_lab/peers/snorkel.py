"""Snorkel: a generative label model makes soft labels, and a classifier learns from them.

    votes -> P(y | votes) of the documents that have any -> the shared classifier, on those soft labels

The label model is our own `MatrixCompletion`, or the one of the `snorkel` package when it is installed.

A. Ratner, S. H. Bach, H. Ehrenberg, J. Fries, S. Wu and C. Ré (2017), Snorkel: rapid training data
creation with weak supervision, VLDB; and the model of A. Ratner et al. (2019), Training complex models
with multi-task weak supervision, AAAI.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch

from unruly.errors import InputError
from unruly.labelmodels.label_model import stated_prior
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.progress import SILENT, Progress
from unruly.votes.votes import Votes
from unruly_lab.peers.bert_mlp import FittedMlp, Mlp
from unruly_lab.peers.labels import Targets, clean_used, with_clean
from unruly_lab.peers.systems import Proba, TrainingData

EPOCHS = 100  # the package's own default


@dataclass(frozen=True)
class SnorkelPipeline:
    """A label model, then the shared classifier; where a clean label is known, it is taken."""

    label_model: Literal["own", "package"] = "own"
    mlp: Mlp = field(default_factory=Mlp)

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedMlp:
        """Soft labels of the covered documents, then the classifier."""
        documents = data.documents
        fitted = self.mlp.fit(
            documents.features,
            with_clean(self.targets(data), data),
            seed=data.seed,
            valid=data.valid,
            progress=progress,
        )
        return replace(fitted, gold_used=(*clean_used(data), *fitted.gold_used))

    def targets(self, data: TrainingData) -> Targets:
        """(n, m): P(y | votes), zeros where no source voted."""
        votes = data.documents.votes
        if self.label_model == "own":
            soft = MatrixCompletion(data.prior or "uniform").fit(votes).predict_proba(votes)
        else:
            soft = snorkel_labels(votes, data.prior, data.seed)
        return (soft * votes.covered[:, None]).astype(np.float32)


def own() -> SnorkelPipeline:
    """With our own label model."""
    return SnorkelPipeline("own")


def package() -> SnorkelPipeline:
    """With the label model of the `snorkel` package."""
    return SnorkelPipeline("package")


def snorkel_labels(votes: Votes, prior: tuple[float, ...] | None, seed: int) -> Proba:
    """(n, m): soft labels from snorkel's `LabelModel`; sources that never vote are left out."""
    matrix = votes.matrix[:, votes.voted.any(axis=0)].astype(np.int64)
    if matrix.shape[1] < 3:
        raise InputError(
            f"snorkel's label model needs three sources that vote, and there are {matrix.shape[1]}: "
            "use majority vote, or write more rules"
        )
    balance = None if prior is None else _balance(prior, votes.m)
    with _borrowed_randomness():
        from snorkel.labeling.model import LabelModel  # it seeds global generators on import

        model: Any = LabelModel(cardinality=votes.m, verbose=False)
        model.fit(matrix, class_balance=balance, n_epochs=EPOCHS, seed=seed, progress_bar=False)
        return np.asarray(model.predict_proba(matrix), dtype=np.float64)


def _balance(prior: tuple[float, ...], m: int) -> list[float]:
    """The prior, refused as our own label models refuse it."""
    shares = stated_prior(prior, tuple(str(r) for r in range(m)), np.zeros((1, m)))
    assert shares is not None  # only the word "learn" gives none
    return list(shares.tolist())


@contextmanager
def _borrowed_randomness() -> Iterator[None]:
    """The package seeds Python's, NumPy's and torch's global generators: put them back as they were."""
    plain, numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(numbers)  # noqa: NPY002
