"""What every method gives back: a learner with two heads, and the history of its training.

The denoiser answers from the votes of the sources, the classifier from the text; `Heads` holds both
answers and the final one. The saved model stores a `Learner` and asks it, whatever method trained it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.features.encoder import Features
from unruly.findings import ClassBalance, Note
from unruly.ledger import GoldUse
from unruly.statistics import Share
from unruly.texts.columns import UNKNOWN
from unruly.texts.columns import check_labels as check_labels
from unruly.votes.votes import Votes

Gold = NDArray[np.int64]  # (n,): true classes, UNKNOWN where there is none
_CHUNK = 65_536  # documents checked together, so that memory stays bounded


class Decider(IntEnum):
    """Who decided on the class of a document."""

    BOTH = 0  # denoiser and classifier agree
    DENOISER = 1
    CLASSIFIER = 2
    TOGETHER = 3  # a class that neither head prefers alone
    PRIOR = 4  # the class shares, where there is neither a text nor a vote

    @property
    def word(self) -> str:
        """As tables and JSON have it."""
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class Heads:
    """The answers of the denoiser and the classifier for n documents, and which of them decided."""

    denoiser: NDArray[np.float32]  # (n, m); uniform where no source voted
    classifier: NDArray[np.float32]  # (n, m)
    combined: NDArray[np.float32]  # (n, m): the final probabilities
    decided_by: NDArray[np.int8]  # (n,): a `Decider` each
    conditional: NDArray[np.float32]  # (n, k): a_ij, 0 where the source abstained

    @property
    def predicted(self) -> NDArray[np.intp]:
        """(n,): the final class of each document."""
        return np.asarray(self.combined.argmax(axis=1))

    def agreement(self, rows: NDArray[np.bool_]) -> float | None:
        """The share of these documents on which both heads predict the same class; None where there are none."""
        same = self.denoiser.argmax(axis=1) == self.classifier.argmax(axis=1)
        return float(same[rows].mean()) if rows.any() else None

    @classmethod
    def concat(cls, parts: Sequence[Heads]) -> Heads:
        """The answers for several batches of documents, one below the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            denoiser=np.concatenate([part.denoiser for part in parts]),
            classifier=np.concatenate([part.classifier for part in parts]),
            combined=np.concatenate([part.combined for part in parts]),
            decided_by=np.concatenate([part.decided_by for part in parts]),
            conditional=np.concatenate([part.conditional for part in parts]),
        )


@dataclass(frozen=True)
class Epoch:
    """One pass over the training documents, as the history keeps it."""

    number: int  # from 1
    l1: float  # the denoiser's loss, mean over D_L (Eq. 5)
    l2: float  # the classifier's loss, mean over D_L (Eq. 6)
    l3: float  # the self-training loss, mean over D_U (Eq. 7)
    total: float  # what Adam saw (Eq. 8), for each document
    changed: int  # pseudo-labels that differ from the epoch before
    score: float | None = None  # what the epoch was selected by; higher is better
    kept: bool = False  # the epoch whose weights the learner carries


class Learner(Protocol):
    """A trained pair of heads: what the saved model stores and asks."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes, in the order of the columns."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that it was trained on, in their order."""

    @property
    def reliability(self) -> NDArray[np.float64]:
        """(k,): each source's global reliability, summing to 1 (0 for one that never voted)."""

    @property
    def accuracy(self) -> NDArray[np.float64] | None:
        """(k, 3): each source's estimated accuracy and its 95 % interval, NaN for one that never voted.

        None: the method does not estimate it.
        """

    @property
    def balance(self) -> ClassBalance | None:
        """The class shares that the method used; None if it uses none."""

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The epochs, first to last."""

    @property
    def gold_used(self) -> tuple[GoldUse, ...]:
        """What true labels were used for; empty if none were."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the user should know about this fit."""

    def heads(self, features: Features, votes: Votes) -> Heads:
        """The answers of both heads for these documents."""

    def vote_odds(self, features: Features, votes: Votes) -> NDArray[np.float64] | None:
        """(n, k): the factor by which each vote moves the odds of the classes that it names; 1 where there is none.

        None: votes do not act on the odds one by one.
        """

    def vote_accuracy(
        self,
        combined: NDArray[np.float32],
        votes: Votes,
        source: str,
        rows: NDArray[np.intp],
        credit: NDArray[np.float64],
    ) -> Share | None:
        """The accuracy of some votes of a source, by text and the other sources; None: the method does not estimate it.

        `combined` (n, m) are the final probabilities of these documents, `votes` (n, k) those that they were made with;
        `rows` (v,) have the votes, which are right for the classes in `credit` (v, m).
        """

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything numeric, for safetensors."""

    def facts(self) -> dict[str, Any]:
        """Everything else, for JSON."""

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """The learner again, from its arrays and facts."""


def with_labels(proba: NDArray[np.floating[Any]], labels: Gold | None) -> NDArray[np.float64]:
    """(n, m): the probabilities, and certainty where the true class is known.

    >>> with_labels(np.full((2, 2), 0.5), np.array([1, -1])).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    truth = np.asarray(proba, np.float64)
    if labels is None or not (labels != UNKNOWN).any():
        return truth
    known = labels != UNKNOWN
    truth = truth.copy()
    truth[known] = np.eye(truth.shape[1])[labels[known]]
    return truth


def check_features(features: Features, votes: Votes) -> None:
    """Refuse features of other documents, or with NaN in them."""
    if features.n != votes.n:
        raise InputError(
            f"there are features of {features.n} documents and votes on {votes.n}: they must be the same"
        )
    for block in features.blocks:
        for start in range(0, features.n, _CHUNK):
            part = block.values[start : start + _CHUNK]
            good = (
                part.finite if not isinstance(part, np.ndarray) else np.isfinite(part).all(axis=1)
            )
            if not good.all():
                row = start + int(np.flatnonzero(~good)[0])
                raise InputError(
                    "a feature is NaN or infinite: encode that text again or leave it out",
                    where=Where(file=block.name, row=row),
                )


def check_known(
    features: Features,
    votes: Votes,
    sources: tuple[str, ...],
    classes: tuple[str, ...],
    width: int,
) -> None:
    """Refuse votes and features other than those that a learner was trained on."""
    if votes.sources != sources:
        odd = sorted(set(votes.sources) ^ set(sources))
        raise InputError(
            f"the model knows the sources {', '.join(sources) or '(none)'}, in this order; these votes "
            f"have {', '.join(votes.sources) or '(none)'}"
            + (f" (differing: {', '.join(odd)})" if odd else "")
        )
    if votes.classes != classes:
        raise InputError(
            f"the model knows the classes {', '.join(classes)}; these votes have {', '.join(votes.classes)}"
        )
    if features.width != width:
        raise InputError(
            f"the model was trained on {width} features for each document, not {features.width}: "
            "encode with the encoder that it was trained with"
        )
    check_features(features, votes)
