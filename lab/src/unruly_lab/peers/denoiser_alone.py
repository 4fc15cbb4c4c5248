"""The paper's denoiser used alone as a label model: conditional soft attention over the sources' votes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, not_fitted
from unruly.features.encoder import Features
from unruly.labelmodels.dawid_skene import learned_prior
from unruly.labelmodels.label_model import Prior, as_votes, distinct_votes, likeliest, stated_prior
from unruly.paper.cotraining import cotrain
from unruly.paper.inference import CoTrained
from unruly.progress import SILENT, Progress
from unruly.settings import PaperSettings
from unruly.votes.votes import Votes


@dataclass
class DenoiserAlone:
    r"""Equations 1 to 3 and 5 of the paper without its classifier: a `LabelModel`.

    $$ \hat z_{ir} \propto \exp \sum_{j: y_{ij} = r} a_{ij}, \qquad
       a_{ij} = \mathrm{softmax}_j\big( w_2^\top \tanh(W_1 (y_{ij} + B_i)) \big) $$

    trained on its own pseudo-labels, which start from majority vote. With `features` the attention sees
    the document, as in the paper; without them B_i is one constant, so that only the votes count and
    equal rows get equal labels. The scores lie in [0, 1]: with two classes no label is surer than
    0.731.

    The equations know no class prior: `class_prior`, given or estimated, is the answer for documents without
    a vote. `accuracies_` are the shares of each source's votes that name the denoised label. As the
    attention confirms whom it has come to trust, it ends with a strict order of sources, headed mostly
    but not always by a good one: trust these accuracies less than those of the other label models.

    W. Ren, Y. Li, H. Su, D. Kartchner, C. Mitchell and C. Zhang (2020), Denoising multi-source weak
    supervision for neural text classification, Findings of EMNLP.

    >>> rng = np.random.default_rng(1)
    >>> gold = rng.integers(0, 2, 500)
    >>> right = rng.random((500, 4)) < [0.9, 0.8, 0.7, 0.6]
    >>> votes = Votes.from_array(np.where(right, gold[:, None], 1 - gold[:, None]))
    >>> model = DenoiserAlone(PaperSettings(epochs=50, attention="voters")).fit(votes)
    >>> (
    ...     bool((model.predict(votes) == gold).mean() > 0.75),
    ...     model.predict_proba(votes).max().round(3),
    ... )
    (True, np.float64(0.731))
    """

    settings: PaperSettings = field(default_factory=lambda: PaperSettings(attention="voters"))
    class_prior: Prior = "uniform"
    seed: int = 0

    class_prior_: NDArray[np.float64] = field(init=False, repr=False)  # (m,)
    accuracies_: NDArray[np.float64] = field(init=False, repr=False)  # (k,)
    reliability_: NDArray[np.float64] = field(init=False, repr=False)  # (k,): A, sums to 1
    classes_: tuple[str, ...] = field(init=False, repr=False)
    sources_: tuple[str, ...] = field(init=False, repr=False)
    _learner: CoTrained | None = field(init=False, repr=False, default=None)
    _reads: bool = field(init=False, repr=False, default=False)

    def fit(
        self,
        votes: Votes | ArrayLike,
        features: Features | None = None,
        progress: Progress = SILENT,
    ) -> Self:
        """Train the attention; the last epoch is kept."""
        votes = as_votes(votes)
        distinct = distinct_votes(votes)
        prior = stated_prior(self.class_prior, votes.classes, distinct.cast)
        self.class_prior_ = learned_prior(distinct) if prior is None else prior
        alone = replace(self.settings, ablation="rule-only", selection="last", calibrate=False)
        self._reads = features is not None
        seen = features if features is not None else _nothing_read(votes.n)
        self._learner = cotrain(seen, votes, alone, seed=self.seed, progress=progress)
        self.reliability_ = self._learner.reliability
        self.classes_, self.sources_ = votes.classes, votes.sources
        self.accuracies_ = _agreement(votes, self.predict(votes, features))
        return self

    def predict_proba(
        self, votes: Votes | ArrayLike, features: Features | None = None
    ) -> NDArray[np.float64]:
        """(n, m): the probability of each class; the prior where no source voted."""
        learner = self.learner
        votes = as_votes(votes, self.classes_, self.sources_)
        if self._reads != (features is not None):
            had, has = ("with", "without") if self._reads else ("without", "with")
            raise InputError(
                f"this denoiser was fitted {had} features and is asked {has} them: do the same both times"
            )
        seen = features if features is not None else _nothing_read(votes.n)
        proba = learner.heads(seen, votes).denoiser.astype(np.float64)
        proba[~votes.covered] = self.class_prior_
        return proba

    def predict(
        self, votes: Votes | ArrayLike, features: Features | None = None
    ) -> NDArray[np.int16]:
        """(n,): the likeliest class; among equals, the first."""
        return likeliest(self.predict_proba(votes, features))

    @property
    def learner(self) -> CoTrained:
        """The trained attention."""
        if self._learner is None:
            raise not_fitted("this DenoiserAlone has not been fitted yet: call fit(votes) first")
        return self._learner


def _nothing_read(n: int) -> Features:
    """One constant feature: B_i is then the same for all documents."""
    return Features.from_array(np.ones((n, 1), dtype=np.float32), "constant")


def _agreement(votes: Votes, labels: NDArray[np.int16]) -> NDArray[np.float64]:
    """(k,): the share of each source's votes that name the document's label; NaN without any vote."""
    cast = votes.voted.sum(axis=0)
    same = (votes.matrix == labels[:, None]).sum(axis=0)
    return np.where(cast > 0, same / np.maximum(cast, 1), np.nan)
