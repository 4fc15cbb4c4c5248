"""What the default recipe has learnt, and what it says of documents.

    lp'  = mean of (mean over encoders of log p_e) and log z~           text: regressions and the classifier
    ev'  = the opinions of the sources that voted, by attention         votes: the denoiser
    p    = softmax((tau lp' + ev' + b) / t),   t = 1.5 tau              both, tempered back to one document's worth

tau sharpens text inside the loop, for out-of-fold text is timid; dividing by it at the end keeps the
answers and makes the probabilities mean what they say. Half as much again, because text that has learnt from the
loop's own posteriors is too sure of them (1.5: benchmarks/calibration.py, one data set left out).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.recipe.log_odds import Real64, log_softmax, softmax
from unruly.recipe.opinion_pool import OpinionPool
from unruly.recipe.shades import Shades
from unruly.recipe.softmax_regression import SoftmaxRegression, pooled, side_by_side
from unruly.training.attention import Attention
from unruly.training.cells import VoteTable
from unruly.training.classifier import Classifier
from unruly.training.heads import BOTH, CLASSIFIER, DENOISER, Epoch, Heads
from unruly.training.training_set import check_known
from unruly.votes.votes import Votes

Real = NDArray[np.float32]
TOO_SURE = 1.5  # how much too loud the loop leaves its own text and votes
_CHUNK = 16_384  # documents answered together, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class Recipe:
    """The default's two heads and what is known of the sources: a `Learner`. Needs no torch."""

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    texts: tuple[SoftmaxRegression, ...]  # one for each encoder
    classifier: Classifier | None  # None: the regressions alone speak for the text
    pool: OpinionPool
    b: Real64  # (m,): the hold, of the classes that were named
    vote_bias: Real64  # (m,): c
    tau: float
    temperature: float  # t
    prior: tuple[float, ...]  # of all classes; 0 for one that nobody votes for
    reliability: NDArray[np.float64]  # (k,)
    accuracy: Real64  # (k, 3): estimate, low and high end of its 95 % interval; NaN: never voted
    history: tuple[Epoch, ...] = ()
    gold_used: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    answers: str = "recipe"  # or what the guard put in its place: "balanced", "majority"

    @property
    def widths(self) -> tuple[int, ...]:
        """How many features each encoder gives."""
        return tuple(len(text.centre) for text in self.texts)

    def heads(self, features: Features, votes: Votes) -> Heads:
        """What both heads say of these documents, uncovered ones included."""
        self._check(features, votes)
        parts = [
            self._heads(features, votes, np.arange(start, min(start + _CHUNK, votes.n)))
            for start in range(0, max(votes.n, 1), _CHUNK)
        ]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def soft_labels(self, votes: Votes, features: Features) -> Real:
        """(n, m): the denoised labels: votes and text together."""
        return self.heads(features, votes).combined

    def vote_odds(self, features: Features, votes: Votes) -> Real64:
        """(n, k): by what factor each vote moves the odds of the class that it names, before text is heard; 1 where there is none."""
        self._check(features, votes)
        read = side_by_side(self.texts, self._blocks(features))
        prior = np.array(self.prior)[self.pool.classes]
        return self.pool.odds(read, votes, features.held, prior)

    def text_opinion(self, features: Features) -> Real64:
        """(n, m): lp', of the classes that were named."""
        blocks = self._blocks(features)
        pairs = zip(self.texts, blocks, strict=True)
        said = [text.log_proba(values) for text, values in pairs]
        lp = pooled(said, [text.say for text in self.texts])
        if self.classifier is not None:
            logits = self.classifier.logits(side_by_side(self.texts, blocks))
            lp = (lp + log_softmax(logits.astype(np.float64))) / 2
        return log_softmax(lp)

    def _heads(self, features: Features, votes: Votes, rows: NDArray[np.intp]) -> Heads:
        features, votes = features.take(rows), votes.take(rows)
        lp = self.text_opinion(features)  # (n, m)
        read = side_by_side(self.texts, self._blocks(features))
        ev, a = self.pool.evidence(read, votes, features.held)
        heard = a.any(axis=1)  # (n,)
        rule = softmax(ev + self.vote_bias)
        both = softmax((self.tau * lp + ev + self.b) / self.temperature)
        first, second, last = rule.argmax(axis=1), lp.argmax(axis=1), both.argmax(axis=1)
        follows = heard & (last == first)
        decided = np.where(follows, np.where(first == second, BOTH, DENOISER), CLASSIFIER)
        denoiser = self._all_classes(rule)
        denoiser[~heard] = 1 / len(self.classes)
        return Heads(
            denoiser=denoiser,
            classifier=self._all_classes(np.exp(lp)),
            combined=self._all_classes(both),
            decided_by=decided.astype(np.int8),
            conditional=a,
        )

    def _all_classes(self, named: Real64) -> Real:
        """(n, all classes): probabilities, 0 for a class that nobody votes for."""
        full = np.zeros((len(named), len(self.classes)), np.float32)
        full[:, self.pool.classes] = named
        return full

    def _blocks(self, features: Features) -> list[Real]:
        """The features of each encoder, also where they come side by side in one matrix."""
        if tuple(block.values.shape[1] for block in features.blocks) == self.widths:
            return [block.values for block in features.blocks]
        return np.split(features.matrix(), np.cumsum(self.widths)[:-1], axis=1)

    def _check(self, features: Features, votes: Votes) -> None:
        check_known(features, votes, self.sources, self.classes, sum(self.widths))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything numeric."""
        arrays: dict[str, NDArray[Any]] = {
            "pool.opinion": self.pool.opinion,
            "pool.owner": self.pool.shades.owner,
            "pool.word": self.pool.shades.word,
            "pool.sources": self.pool.sources,
            "pool.classes": self.pool.classes,
            "b": self.b,
            "vote_bias": self.vote_bias,
            "reliability": self.reliability,
            "accuracy": self.accuracy,
        }
        for e, text in enumerate(self.texts):
            arrays[f"text.{e}.centre"] = text.centre
            arrays[f"text.{e}.weights"] = text.weights
            arrays[f"text.{e}.bias"] = text.bias
        if self.classifier is not None:
            for name in ("w1", "b1", "w2", "b2"):
                arrays[f"classifier.{name}"] = getattr(self.classifier, name)
        if self.pool.attention is not None:
            for name in ("w1", "votes", "w2"):
                arrays[f"attention.{name}"] = getattr(self.pool.attention, name)
            arrays["attention.codes"] = self.pool.attention.table.codes
        return arrays

    def facts(self) -> dict[str, Any]:
        """Everything else, as JSON can hold it."""
        return {
            "classes": list(self.classes),
            "sources": list(self.sources),
            "scales": [text.scale for text in self.texts],
            "says": [text.say for text in self.texts],
            "tau": self.tau,
            "temperature": self.temperature,
            "prior": list(self.prior),
            "gold_used": list(self.gold_used),
            "notes": list(self.notes),
            "answers": self.answers,
            "history": [epoch.to_plain() for epoch in self.history],
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """The recipe again."""
        parts = ("w1", "b1", "w2", "b2")
        trained = "classifier.w1" in arrays
        return cls(
            classes=tuple(facts["classes"]),
            sources=tuple(facts["sources"]),
            texts=tuple(
                SoftmaxRegression(
                    arrays[f"text.{e}.centre"],
                    float(scale),
                    arrays[f"text.{e}.weights"],
                    arrays[f"text.{e}.bias"],
                    float(say),
                )
                for e, (scale, say) in enumerate(zip(facts["scales"], facts["says"], strict=True))
            ),
            classifier=Classifier(*(arrays[f"classifier.{p}"] for p in parts)) if trained else None,
            pool=OpinionPool(
                arrays["pool.opinion"],
                _shades(arrays),
                arrays["pool.sources"],
                arrays["pool.classes"],
                _attention(arrays),
            ),
            b=arrays["b"],
            vote_bias=arrays["vote_bias"],
            tau=float(facts["tau"]),
            temperature=float(facts["temperature"]),
            prior=tuple(facts["prior"]),
            reliability=arrays["reliability"],
            accuracy=arrays["accuracy"],
            history=tuple(Epoch(**epoch) for epoch in facts["history"]),
            gold_used=tuple(facts["gold_used"]),
            notes=tuple(facts["notes"]),
            answers=str(facts["answers"]),
        )


def _shades(arrays: Mapping[str, NDArray[Any]]) -> Shades:
    if "pool.owner" not in arrays:  # saved before sources had shades
        return Shades.plain(len(arrays["pool.sources"]))
    return Shades(arrays["pool.owner"], arrays["pool.word"])


def _attention(arrays: Mapping[str, NDArray[Any]]) -> Attention | None:
    if "attention.w1" not in arrays:
        return None
    table = VoteTable(arrays["attention.codes"], len(arrays["pool.classes"]))
    w1, votes, w2 = (arrays[f"attention.{name}"] for name in ("w1", "votes", "w2"))
    return Attention(w1, votes, w2, table)


def _joined(parts: list[Heads]) -> Heads:
    return Heads(
        denoiser=np.concatenate([part.denoiser for part in parts]),
        classifier=np.concatenate([part.classifier for part in parts]),
        combined=np.concatenate([part.combined for part in parts]),
        decided_by=np.concatenate([part.decided_by for part in parts]),
        conditional=np.concatenate([part.conditional for part in parts]),
    )
