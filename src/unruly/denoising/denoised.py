"""What the default has learnt, and its predictions for new documents.

    lp  = sum_e v_e log p_e, normalised         v_e: the weights of the encoders, which sum to 1
    ev  = sum_j r_j log T[j, :, vote_ij]
    classifier = softmax((tau lp + b) / t)
    denoiser   = softmax(ev / t + a)            a: the votes alone name each class as often as the posteriors do
    both       = softmax((tau lp + ev + b) / t)

tau sharpens cross-fitted text inside the loop; dividing by t, which is tau where no labels tell (`temperature.py`), keeps
the answers and makes the probabilities mean what they say, on one scale: without votes, both is the classifier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.accuracy import vote_accuracy
from unruly.denoising.behaviour import evidence
from unruly.denoising.em import pooled
from unruly.denoising.regression import SoftmaxRegression
from unruly.features.encoder import Features
from unruly.features.lsa import Projected
from unruly.findings import (
    ClassBalance,
    Note,
    balance_from_plain,
    finding_to_plain,
    note_from_plain,
)
from unruly.learner import Decider, Epoch, Heads, check_known
from unruly.ledger import GoldUse, Ledger
from unruly.statistics import Float32, Float64, Share, ratio, softmax
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes

_CHUNK = 16_384  # documents predicted together, so that memory stays bounded


@dataclass(frozen=True, eq=False)
class DenoisedModel:
    """The default's two heads, and what is known of the sources: a `Learner`."""

    classes: tuple[str, ...]
    sources: tuple[str, ...]
    named: NDArray[np.int64]  # (m,): the classes that votes or labels name; no other is predicted
    texts: tuple[SoftmaxRegression, ...]  # one for each block of features
    weights: tuple[float, ...]  # of the blocks; sum to 1
    log_likelihoods: Float64  # (k, c, y): what each vote adds to the log-odds, of the named classes
    b: Float64  # (m,): the shift by the class balance
    vote_bias: Float64  # (m,): the same for the votes alone
    tau: float
    temperature: float  # t
    reliability: Float64  # (k,): accuracy per vote, discounted for repetition; sums to 1
    accuracy: Float64  # (k, 3): estimate, low and high end of its 95 % interval; NaN: never voted
    spread: Float64  # (m, m): the covariance of b that the balance leaves open
    balance: ClassBalance
    gold_used: tuple[GoldUse, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def history(self) -> tuple[Epoch, ...]:
        """No epochs: the default is not trained by them."""
        return ()

    @property
    def widths(self) -> tuple[int, ...]:
        """How many features each block has."""
        return tuple(len(text.centre) for text in self.texts)

    def heads(self, features: Features, votes: Votes) -> Heads:
        """The answers of both heads for these documents, uncovered ones included."""
        check_known(features, votes, self.sources, self.classes, sum(self.widths))
        if votes.n <= _CHUNK:
            return self._heads(features, votes)
        starts = range(0, votes.n, _CHUNK)
        rows = [np.arange(start, min(start + _CHUNK, votes.n)) for start in starts]
        return Heads.concat([self._heads(features.take(part), votes.take(part)) for part in rows])

    def log_text(self, features: Features) -> Float64:
        """(n, m): lp, of the named classes."""
        blocks = self._blocks(features)
        log_probas = [text.log_proba(x) for text, x in zip(self.texts, blocks, strict=True)]
        return pooled(log_probas, self.weights)

    def vote_odds(self, features: Features, votes: Votes) -> Float64:
        """As `Learner` has it."""
        factors = np.ones((votes.n, votes.k))
        shares = np.array(self.balance.shares)[self.named]
        row, source = np.nonzero(votes.voted)
        named = np.stack(
            [votes.agrees(np.full(votes.n, c))[row, source] for c in self.named], axis=1
        )  # (v, y): the classes that the vote names
        cast = self._named_votes(votes)
        place = np.zeros((votes.n, votes.k), dtype=np.intp)
        place[row, source] = np.arange(len(row))  # (n, k): the number of the vote
        added = np.zeros(named.shape)
        parts = self.log_likelihoods[cast.source, cast.outcome]  # (entries, y)
        np.add.at(added, place[cast.row, cast.source], cast.onehot.data[:, None] * parts)
        likelihood = np.exp(added / self.temperature)  # (v, y)
        voted, others = (
            named * shares,
            ~named * shares,
        )  # (v, y): prior of its classes, and of the others
        against = (likelihood * others).sum(axis=1) * voted.sum(axis=1)
        in_favour = (likelihood * voted).sum(axis=1) * others.sum(axis=1)
        factors[row, source] = ratio(in_favour, against, 1.0)
        return factors

    def vote_accuracy(
        self, combined: Float32, votes: Votes, source: str, rows: NDArray[np.intp], credit: Float64
    ) -> Share:
        """As `Learner` has it; nothing is taken out for a source that the model does not know."""
        logs = np.log(np.maximum(combined[rows][:, self.named].astype(np.float64), 1e-30))
        own = np.zeros(logs.shape)
        if source in self.sources:
            j = self.sources.index(source)
            one = self._named_votes(votes.take(rows)).of_source(j)
            own[one.rows] = one.looked_up(self.log_likelihoods[j])
        given = credit[:, self.named]
        vote, outcome = np.nonzero(given)
        right = (vote, outcome, given[vote, outcome])
        return vote_accuracy(self.temperature * logs, own, right, float(len(rows)), self.spread)

    def _heads(self, features: Features, votes: Votes) -> Heads:
        lp = self.log_text(features)  # (n, m)
        cast = self._named_votes(votes)
        ev = evidence(cast, self.log_likelihoods)
        covered = cast.covered
        shifted = self.tau * lp + self.b
        rule = softmax(ev / self.temperature + self.vote_bias)
        text = softmax(shifted / self.temperature)
        both = softmax((shifted + ev) / self.temperature)
        first, second, last = rule.argmax(axis=1), text.argmax(axis=1), both.argmax(axis=1)
        votes_say, text_says = covered & (last == first), last == second
        decided = np.select(
            [votes_say & text_says, votes_say, text_says],
            [Decider.BOTH, Decider.DENOISER, Decider.CLASSIFIER],
            Decider.TOGETHER,
        )
        denoiser = self._all_classes(rule)
        denoiser[~covered] = 1 / len(self.classes)
        return Heads(
            denoiser=denoiser,
            classifier=self._all_classes(text),
            combined=self._all_classes(both),
            decided_by=decided.astype(np.int8),
            conditional=self._vote_weights(cast, votes),
        )

    def _vote_weights(self, cast: SparseVotes, votes: Votes) -> Float32:
        """(n, k): the share of each vote in all that the votes on a document move; 0 where there is none."""
        k, m = self.log_likelihoods.shape[:2]
        size = np.abs(self.log_likelihoods).sum(axis=2).reshape(k * m) + 1e-9  # (k * c,)
        moved = cast.onehot.data * size[cast.onehot.indices]
        table = np.zeros((votes.n, votes.k))
        np.add.at(table, (cast.row, cast.source), moved)
        return ratio(table, table.sum(axis=1, keepdims=True), 0.0).astype(np.float32)

    def _named_votes(self, votes: Votes) -> SparseVotes:
        return named_votes(SparseVotes.of(votes), self.named)

    def _all_classes(self, values: Float64) -> Float32:
        """(n, all classes): probabilities, 0 for a class that is not named."""
        full = np.zeros((len(values), len(self.classes)), np.float32)
        full[:, self.named] = values
        return full

    def _blocks(self, features: Features) -> Sequence[Float32 | Projected]:
        """The features of each block, also where they come side by side in one matrix."""
        if tuple(block.values.shape[1] for block in features.blocks) == self.widths:
            return [block.values for block in features.blocks]
        return np.split(features.matrix(), np.cumsum(self.widths)[:-1], axis=1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything numeric."""
        arrays: dict[str, NDArray[Any]] = {
            "named": self.named,
            "log_likelihoods": self.log_likelihoods,
            "b": self.b,
            "vote_bias": self.vote_bias,
            "reliability": self.reliability,
            "accuracy": self.accuracy,
            "spread": self.spread,
        }
        for e, text in enumerate(self.texts):
            arrays[f"text.{e}.centre"] = text.centre
            arrays[f"text.{e}.weights"] = text.weights
            arrays[f"text.{e}.bias"] = text.bias
        return arrays

    def facts(self) -> dict[str, Any]:
        """Everything else, as JSON can hold it."""
        return {
            "classes": list(self.classes),
            "sources": list(self.sources),
            "scales": [text.scale for text in self.texts],
            "weights": list(self.weights),
            "tau": self.tau,
            "temperature": self.temperature,
            "balance": finding_to_plain(self.balance),
            "gold_used": Ledger(self.gold_used).to_plain(),
            "notes": [finding_to_plain(note) for note in self.notes],
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """The learner again, from its arrays and facts."""
        balance = balance_from_plain(facts["balance"])
        if arrays["accuracy"].shape != (len(facts["sources"]), 3):
            raise ValueError("the estimated accuracies are not one row for each source")
        if arrays["spread"].shape != (len(arrays["named"]),) * 2:
            raise ValueError("the spread of the balance is not one row for each class")
        texts = tuple(
            SoftmaxRegression(
                arrays[f"text.{e}.centre"],
                float(scale),
                arrays[f"text.{e}.weights"],
                arrays[f"text.{e}.bias"],
            )
            for e, scale in enumerate(facts["scales"])
        )
        return cls(
            classes=tuple(facts["classes"]),
            sources=tuple(facts["sources"]),
            named=arrays["named"],
            texts=texts,
            weights=tuple(facts["weights"]),
            log_likelihoods=arrays["log_likelihoods"],
            b=arrays["b"],
            vote_bias=arrays["vote_bias"],
            tau=float(facts["tau"]),
            temperature=float(facts["temperature"]),
            reliability=arrays["reliability"],
            accuracy=arrays["accuracy"],
            spread=arrays["spread"],
            balance=balance,
            gold_used=Ledger.from_plain(facts["gold_used"]).entries,
            notes=tuple(note_from_plain(note) for note in facts["notes"]),
        )


def named_votes(votes: SparseVotes, named: NDArray[np.int64]) -> SparseVotes:
    """The votes for some of the classes, which are numbered anew; a soft vote keeps its shares of them."""
    if len(named) == votes.m:
        return votes
    columns = (np.arange(votes.k)[:, None] * votes.m + named).reshape(-1)
    return SparseVotes(votes.onehot[:, columns], votes.k, len(named), votes.unasked)
