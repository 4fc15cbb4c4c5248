"""The hyper-parameters of the paper (Ren et al., 2020, section 4 and appendix)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from unruly.errors import SettingsError
from unruly.options import Checked, choice, number, switch, whole

ABLATIONS = ("whole", "rule-only", "neural-only", "neural-self", "rule-neural")
SELECTIONS = ("last", "votes", "gold")
ATTENTIONS = ("all", "voters")
RELIABILITIES = ("per-document", "per-vote")
ENSEMBLES = ("confident", "product", "mean")


@dataclass(frozen=True, kw_only=True)
class PaperSettings(Checked):
    """How the paper's two networks are trained. `PaperSettings()` is the paper as printed.

    500 full-batch epochs, the last one kept, no gold label used. The paper's own protocol keeps the
    epoch with the best gold validation accuracy instead: that is `selection="gold"`. Equation 1 prints
    its softmax over all sources; over those that voted it is usually better: `attention="voters"`.

    >>> PaperSettings(hidden=64).hidden
    64
    >>> PaperSettings(alpha=1.5)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: alpha = 1.5: must be a number from 0 to 0.999
    """

    ablation: str = choice(
        "whole",
        ABLATIONS,
        "leave parts of the method out: the denoiser, the classifier, self-training",
    )
    hidden: int = whole(128, 1, 65_536, "width of the hidden layer of both networks")
    learning_rate: float = number(0.02, 1e-6, 1.0, "step size of Adam")
    c1: float = number(
        0.2, 0.0, 1.0, "weight of the denoiser's loss; c2, the classifier's, is 1 - c1 - c3"
    )
    c3: float = number(0.1, 0.0, 1.0, "weight of the self-training loss")
    alpha: float = number(0.6, 0.0, 0.999, "how far the temporal ensemble looks back")
    p: int = whole(
        0, 0, 10_000, "a document counts as matched when more than p sources voted on it"
    )
    epochs: int = whole(500, 1, 1_000_000, "most passes over the documents")
    batch_size: int | None = whole(
        None, 1, math.inf, "documents in one step; absent: all of them in one step", optional=True
    )
    weight_decay: float = number(0.0, 0.0, 1.0, "L2 penalty on the weights of both networks")
    standardise: bool = switch(False, "centre and scale each feature before the networks see it")
    attention: str = choice(
        "all",
        ATTENTIONS,
        "softmax over all sources, masked afterwards (as printed), or over those that voted",
    )
    reliability: str = choice(
        "per-document",
        RELIABILITIES,
        "global reliability as the mean over documents (as printed), or for each vote cast",
    )
    ensemble: str = choice(
        "confident",
        ENSEMBLES,
        "when the heads disagree: the more confident wins (as printed), or their probabilities are "
        "multiplied or averaged",
    )
    calibrate: bool = switch(
        False,
        "put both heads on one scale of confidence, with clean labels that are held out of training",
    )
    selection: str = choice(
        "last",
        SELECTIONS,
        "which epoch is kept: the last, the best by held-out votes, or by gold validation labels",
    )
    patience: int = whole(
        0, 0, 1_000_000, "stop after so many epochs without a better one; 0: never"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.c1 + self.c3 > 1 + 1e-9:
            raise SettingsError(
                f"c1 = {self.c1!r} and c3 = {self.c3!r}: together they must not exceed 1, for c2 is the rest"
            )

    @property
    def c2(self) -> float:
        """The weight of the classifier's loss: what c1 and c3 leave (Eq. 8)."""
        return max(0.0, round(1.0 - self.c1 - self.c3, 9))
