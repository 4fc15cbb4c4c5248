"""The paper's method as a system to compare, whole and with parts left out (Ren et al., 2020, table 4)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unruly.ledger import GoldUse
from unruly.paper.inference import CoTrained
from unruly.progress import SILENT, Progress
from unruly.settings import PaperSettings
from unruly_lab.peers.label_models import break_ties
from unruly_lab.peers.labels import all_used, paper_learner
from unruly_lab.peers.systems import Documents, Proba, TrainingData


@dataclass(frozen=True, eq=False)
class FittedPaper:
    """Both heads after co-training."""

    learner: CoTrained
    seed: int
    gold_used: tuple[GoldUse, ...]

    @property
    def parameters(self) -> int:
        """How many numbers were trained; a part that was left out has none."""
        a, c = self.learner.attention, self.learner.classifier
        denoiser = a.w1.size + a.w2.size + a.votes.size
        classifier = c.w1.size + c.b1.size + c.w2.size + c.b2.size
        match self.learner.ablation:
            case "rule-only":
                return denoiser
            case "neural-only" | "neural-self":
                return classifier
            case _:
                return denoiser + classifier

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the more confident head's opinion where they disagree; ties are drawn by the seed."""
        heads = self.learner.heads(documents.features, documents.votes)
        return break_ties(heads.combined.astype(np.float64), documents.corpus.texts, self.seed)


@dataclass(frozen=True)
class PapersMethod:
    """Co-training as written: 500 full-batch epochs.

    The epoch that is right most often on the data's validation documents is kept, as the authors do;
    without them it is the last, and no gold is used.
    """

    settings: PaperSettings = field(default_factory=PaperSettings)

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedPaper:
        """Train both networks."""
        learner = paper_learner(data, self.settings, progress)
        return FittedPaper(learner, data.seed, all_used(data))


def whole() -> PapersMethod:
    """Denoiser, classifier and self-training."""
    return PapersMethod()


def over_voters() -> PapersMethod:
    """The same with the softmax of Eq. 1 over the sources that voted, not over all of them."""
    return PapersMethod(PaperSettings(attention="voters"))


def rule_only() -> PapersMethod:
    """The denoiser alone."""
    return _without("rule-only")


def neural_only() -> PapersMethod:
    """The classifier alone, on majority votes."""
    return _without("neural-only")


def neural_self() -> PapersMethod:
    """The classifier on majority votes, with self-training."""
    return _without("neural-self")


def rule_neural() -> PapersMethod:
    """Denoiser and classifier, without self-training."""
    return _without("rule-neural")


def _without(ablation: str) -> PapersMethod:
    return PapersMethod(PaperSettings(ablation=ablation))
