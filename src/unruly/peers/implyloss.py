"""ImplyLoss: a classifier and a network of where each rule holds, tied by an implication.

Awasthi, Ghosh, Goyal and Sarawagi, Learning from rules generalizing labeled exemplars, ICLR 2020.

    min  LL(theta) + LL(phi) + gamma * mean of -log(1 - P_j(r=1|x) (1 - P_theta(l_j|x)))

over labelled documents (the first two) and over the votes of unlabelled ones (the third). In the paper
every rule is written for one labelled document, its exemplar. Those are taken from the lesson where the
user gives them. Where there are none, as in the comparison of Ren et al. (2020), majority vote stands in:
documents with a single winner count as labelled, each source's exemplar is the one on which it and most
others agree, and since such labels are not clean the implication is asked of every vote, not only of
those on documents without a label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from unruly.errors import InputError
from unruly.peers.exemplars import Labelled, labelled
from unruly.peers.flat_network import FlatNetwork, batches
from unruly.peers.implication import implication_loss, joint_scores, rule_loss
from unruly.peers.mlp import Mlp
from unruly.peers.system import Documents, Lesson, Proba
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.training.compute import computing
from unruly.training.selection import Best
from unruly.training.training_set import moments, standardised

_ROWS = 8192  # documents that are answered together


@dataclass(frozen=True)
class ImplyLoss:
    """The hyper-parameters: gamma and q are common choices, not tuned here; the rest as all networks here have it."""

    mlp: Mlp = field(default_factory=Mlp)  # the size of both networks, and how they are trained
    gamma: float = 0.1  # how much the implication weighs
    q: float = 0.2  # of the generalised cross-entropy

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedImplyLoss:
        """Train both networks together; `lesson.valid` keeps the epoch with the best joint answers."""
        given = labelled(lesson)
        task = Task.of(lesson.documents, given)
        with computing(replace(Settings(), device="cpu")):
            network = FlatNetwork(
                self.shapes(task.d, task.k, task.m),
                lesson.seed,
                self.mlp.learning_rate,
                self.mlp.weight_decay,
            )
            fitted = FittedImplyLoss(network, task.centre, task.scale, _gold_used(given, lesson))
            self._train(fitted, task, lesson, progress)
        return fitted

    def _train(
        self, fitted: FittedImplyLoss, task: Task, lesson: Lesson, progress: Progress
    ) -> None:
        rng = np.random.default_rng([lesson.seed, 1])
        network, rows, best = fitted.network, task.rows, Best(patience=0)
        epochs = self.mlp.passes(len(rows))
        with stage(progress, "ImplyLoss", epochs, "epoch"):
            for epoch in range(1, epochs + 1):
                for batch in batches(rows, self.mlp.batch_size, rng):
                    network.step(partial(self.loss, task=task.take(batch)))
                if lesson.valid is not None:
                    best.offer(epoch, _accuracy(fitted, lesson.valid), network.flat)
                progress.advance(1)
        if best.weights is not None:
            network.flat.copy_(best.weights)

    def shapes(self, d: int, k: int, m: int) -> list[tuple[int, ...]]:
        """Both networks: W1, b1, W2, b2 of the classifier; W1, source vectors, w2, b2 of the rules."""
        h = self.mlp.hidden
        return [(d, h), (h,), (h, m), (m,), (d, h), (k, h), (h, 1), (1,)]

    def loss(self, parts: list[Tensor], task: Task) -> Tensor:
        """LL(theta) + LL(phi) + gamma * implication, each a mean over what it is about."""
        logits = classifier_logits(parts, task.x)  # (b, m)
        i, j = (task.votes >= 0).nonzero(as_tuple=True)  # (c,): one cell for each vote
        holds = torch.sigmoid(rule_logits(parts, task.x, i, j))  # (c,): P_j(r=1|x)
        vote, known = task.votes[i, j], task.labels >= 0  # (c,), (b,)
        right, exemplar = vote == task.labels[i], task.exemplars[i, j]  # (c,)
        named = torch.softmax(logits, 1)[i, vote]  # (c,): P_theta(l_j|x)
        of = known[i]  # (c,): votes on labelled documents
        asked = torch.ones_like(of) if task.all_votes else ~of
        return (
            _mean(cross_entropy(logits[known], task.labels[known], reduction="none"))
            + _mean(rule_loss(holds[of], right[of], exemplar[of], self.q))
            + self.gamma * _mean(implication_loss(holds[asked], named[asked]))
        )


@dataclass(frozen=True, eq=False)
class FittedImplyLoss:
    """Both trained networks."""

    network: FlatNetwork
    centre: NDArray[np.float32]  # (d,)
    scale: NDArray[np.float32]  # (d,)
    gold_used: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """The weights of both networks."""
        return self.network.parameters

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the joint answer of the classifier and of the rules that hold."""
        parts, answers = self.network.parts(), []
        for x, votes in self._blocks(documents):
            classes = torch.softmax(classifier_logits(parts, x), 1)  # (b, m)
            answers.append(joint_scores(classes, _holds(parts, x, votes), votes))
        return torch.cat(answers).numpy().astype(np.float64)

    def holding(self, documents: Documents) -> NDArray[np.float64]:
        """(n, k): the probability that each rule holds where it votes; 0 elsewhere."""
        parts = self.network.parts()
        found = [_holds(parts, x, votes) for x, votes in self._blocks(documents)]
        return torch.cat(found).numpy().astype(np.float64)

    def _blocks(self, documents: Documents) -> Iterator[tuple[Tensor, Tensor]]:
        k = self.network.shapes[5][0]
        if documents.votes.k != k:
            raise InputError(f"fitted on {k} sources, but the votes are of {documents.votes.k}")
        x = _scaled(documents, self.centre, self.scale)
        votes = torch.from_numpy(documents.votes.matrix.astype(np.int64))
        for start in range(0, max(documents.n, 1), _ROWS):
            rows = slice(start, start + _ROWS)
            yield x[rows], votes[rows]


@dataclass(frozen=True, eq=False)
class Task:
    """A lesson as tensors, or a batch of it."""

    x: Tensor  # (n, d): standardised features
    votes: Tensor  # (n, k)
    labels: Tensor  # (n,)
    exemplars: Tensor  # (n, k)
    all_votes: bool  # whether the implication is asked of labelled documents too
    m: int
    centre: NDArray[np.float32]
    scale: NDArray[np.float32]

    @classmethod
    def of(cls, documents: Documents, given: Labelled) -> Task:
        centre, scale = moments(documents.features)
        return cls(
            x=_scaled(documents, centre, scale),
            votes=torch.from_numpy(documents.votes.matrix.astype(np.int64)),
            labels=torch.from_numpy(given.labels),
            exemplars=torch.from_numpy(given.exemplars),
            all_votes=given.stand_ins,
            m=documents.votes.m,
            centre=centre,
            scale=scale,
        )

    @property
    def d(self) -> int:
        return self.x.shape[1]

    @property
    def k(self) -> int:
        return self.votes.shape[1]

    @property
    def rows(self) -> NDArray[np.intp]:
        """The documents that have a label or a vote; the others teach nothing."""
        useful = (self.labels >= 0) | (self.votes >= 0).any(1)
        if not bool(useful.any()):
            raise InputError("no source votes on any document: there is nothing to learn from")
        return np.flatnonzero(useful.numpy())

    def take(self, rows: NDArray[np.intp]) -> Task:
        """Some documents only."""
        i = torch.from_numpy(rows)
        return replace(
            self,
            x=self.x[i],
            votes=self.votes[i],
            labels=self.labels[i],
            exemplars=self.exemplars[i],
        )


def classifier_logits(parts: list[Tensor], x: Tensor) -> Tensor:
    """(n, m): the logits of P_theta(y|x)."""
    w1, b1, w2, b2 = parts[:4]
    return torch.relu(x @ w1 + b1) @ w2 + b2


def rule_logits(parts: list[Tensor], x: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """(c,): the logits of P_j(r=1|x_i) for c pairs of a document and a source.

    The input is x beside the source's number in one-hot form; the row of the first layer that the latter
    picks is the source's vector.
    """
    w1, sources, w2, b2 = parts[4:]
    hidden = torch.relu((x @ w1)[i] + sources[j])  # (c, h)
    return (hidden @ w2 + b2)[:, 0]


def _holds(parts: list[Tensor], x: Tensor, votes: Tensor) -> Tensor:
    """(b, k): P_j(r=1|x) at the votes, 0 elsewhere."""
    i, j = (votes >= 0).nonzero(as_tuple=True)
    holds = torch.zeros(votes.shape)
    holds[i, j] = torch.sigmoid(rule_logits(parts, x, i, j))
    return holds


def _mean(losses: Tensor) -> Tensor:
    """The mean, 0 of none."""
    return losses.sum() / max(len(losses), 1)


def _scaled(
    documents: Documents, centre: NDArray[np.float32], scale: NDArray[np.float32]
) -> Tensor:
    values = np.asarray(documents.features.matrix(), np.float32)
    return torch.from_numpy(np.ascontiguousarray(standardised(values, centre, scale)))


def _accuracy(fitted: FittedImplyLoss, valid: tuple[Documents, NDArray[np.int64]]) -> float:
    documents, gold = valid
    known = gold >= 0
    answers = fitted.predict_proba(documents).argmax(axis=1)
    return float((answers == gold)[known].mean()) if known.any() else 0.0


def _gold_used(given: Labelled, lesson: Lesson) -> tuple[str, ...]:
    used = []
    if given.gold:
        used.append(f"training: {given.gold} clean labels and exemplars")
    if lesson.valid is not None:
        used.append(
            f"choice of the epoch: {int((lesson.valid[1] >= 0).sum())} validation documents"
        )
    return tuple(used)
