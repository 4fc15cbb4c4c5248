"""ImplyLoss: a classifier and a network of where each rule holds, tied by an implication.

Awasthi, Ghosh, Goyal and Sarawagi, Learning from rules generalizing labeled exemplars, ICLR 2020.

    min  LL(theta) + LL(phi) + gamma * mean of -log(1 - P_j(r=1|x) (1 - P_theta(l_j|x)))

over labelled documents (the first two) and over the votes of unlabelled ones (the third). P_j is the
probability that rule j holds on a document that it fires on, P_theta(y) the classifier's probability of
class y, l_j the class that rule j names.

In the paper every rule is written for one labelled document, its exemplar. Those are taken from the data
where the user gives them. Where there are none, as in the comparison of Ren et al. (2020), majority vote
stands in: documents with a single winner count as labelled, each source's exemplar is the one on which it
and most others agree, and since such labels are not clean the implication is asked of every vote, not only
of those on documents without a label.
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
from unruly.labelmodels.majority_vote import majority_vote
from unruly.learner import Gold, check_labels
from unruly.ledger import GoldUse, Use
from unruly.paper.training_set import moments
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import UNKNOWN
from unruly.votes.votes import Votes
from unruly_lab.peers.bert_mlp import Mlp, scaled
from unruly_lab.peers.networks import BestEpoch, FlatNetwork, batches, computing
from unruly_lab.peers.systems import Documents, Proba, TrainingData

SMALLEST = 1e-7  # probabilities are kept this far from 0, so that logarithms are finite


def implication_loss(holds: Tensor, named: Tensor) -> Tensor:
    """-log(1 - P_j (1 - P_theta(l_j))): "if the rule holds, the label is what it says", softly.

    `holds` is P_j and `named` is P_theta(l_j), both of the same shape. There is no loss when the rule
    does not hold, or when the classifier agrees with it.

    >>> half = torch.tensor([0.5])
    >>> print(implication_loss(half, half).round(decimals=4))  # -log(0.75)
    tensor([0.2877])
    """
    return -torch.log((1 - holds * (1 - named)).clamp_min(SMALLEST))


def generalised_cross_entropy(probability: Tensor, q: float) -> Tensor:
    """(1 - p^q) / q: tends to -log p as q falls to 0, and to the noise-tolerant 1 - p as q rises to 1.

    Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy
    labels, NeurIPS 2018.

    >>> quarter = torch.tensor([0.25])
    >>> print(generalised_cross_entropy(quarter, 0.5), generalised_cross_entropy(quarter, 1.0))
    tensor([1.]) tensor([0.7500])
    """
    return (1 - probability.clamp_min(SMALLEST) ** q) / q


def rule_loss(holds: Tensor, right: Tensor, exemplar: Tensor, q: float) -> Tensor:
    """The loss of the rule network where a rule fires on a labelled document.

    - Its exemplar: the rule was made for it and holds, -log P_j.
    - It names another class than the label: it does not hold, -log(1 - P_j).
    - It names the label, but was not made for this document: it probably holds, and the
      noise-tolerant (1 - P_j^q) / q.

    >>> holds = torch.tensor([0.25, 0.25, 0.25])
    >>> right = torch.tensor([True, False, True])
    >>> exemplar = torch.tensor([True, False, False])
    >>> print(rule_loss(holds, right, exemplar, q=0.5).round(decimals=4))
    tensor([1.3863, 0.2877, 1.0000])
    """
    made_for = -torch.log(holds.clamp_min(SMALLEST))
    wrong = -torch.log((1 - holds).clamp_min(SMALLEST))
    probably = generalised_cross_entropy(holds, q)
    return torch.where(exemplar, made_for, torch.where(right, probably, wrong))


def joint_scores(classes: Tensor, holds: Tensor, votes: Tensor) -> Tensor:
    """(n, m): both networks' answers as one, rows of probabilities.

        score_r = P_theta(r) + mean over j in J of (P_j if l_j = r else 1 - P_j)

    J are the rules that fire on the document and hold there (P_j > 1/2); where
    there are none, the classifier answers alone. `classes` (n, m) is P_theta, `holds` (n, k) is P_j,
    `votes` (n, k) are class numbers, -1 where a rule does not fire.

    >>> classes = torch.tensor([[0.6, 0.4]])
    >>> holds, votes = torch.tensor([[0.9, 0.2]]), torch.tensor([[1, 0]])
    >>> print(joint_scores(classes, holds, votes))  # (0.6 + 0.1, 0.4 + 0.9) / 2
    tensor([[0.3500, 0.6500]])
    """
    m = classes.shape[1]
    speaks = (votes >= 0) & (holds > 0.5)  # (n, k)
    named = torch.nn.functional.one_hot(votes.clamp_min(0), m).to(classes)  # (n, k, m)
    each = holds[:, :, None] * named + (1 - holds)[:, :, None] * (1 - named)  # (n, k, m)
    total = (each * speaks[:, :, None]).sum(1)  # (n, m)
    scores = classes + total / speaks.sum(1, keepdim=True).clamp_min(1)
    return scores / scores.sum(1, keepdim=True)


@dataclass(frozen=True, eq=False)
class Labelled:
    """What ImplyLoss takes for labelled data."""

    labels: Gold  # (n,): -1 where there is none
    exemplars: NDArray[np.bool_]  # (n, k)
    gold: int  # how many of the labels are true ones

    @property
    def stand_ins(self) -> bool:
        """Whether majority vote stands in for a person."""
        return self.gold == 0


def labelled(data: TrainingData) -> Labelled:
    """The clean labels and the exemplars that the data has; if it has none, the majority's.

    An exemplar is a labelled document: its label is its source's vote. Clean labels without exemplars
    get one for each source: the document with that label on which most sources agree. Without either,
    documents with a single winner are labelled with it, and exemplars are found among them likewise.
    """
    votes = data.documents.votes
    labels = check_labels(data.clean, votes.n, votes.m)
    if data.exemplars is not None and data.exemplars.any():
        exemplars = np.asarray(data.exemplars, np.bool_)
        labels = _with_exemplars(labels, exemplars, votes)
    elif (labels >= 0).any():
        exemplars = clearest(votes, labels)
    else:
        stand_ins = majority_vote(votes).astype(np.int64)
        return Labelled(stand_ins, clearest(votes, stand_ins), gold=0)
    return Labelled(labels, exemplars, gold=int((labels >= 0).sum()))


def clearest(votes: Votes, labels: Gold) -> NDArray[np.bool_]:
    """(n, k): for each source the one document that it labels rightly with the most votes ahead.

    >>> votes = Votes.from_array([[0, -1, 0], [1, 1, -1], [0, 0, 0]])
    >>> clearest(votes, np.array([0, 1, 0])).astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    """
    found = np.zeros((votes.n, votes.k), np.bool_)
    if not votes.n:
        return found
    counts = votes.counts()  # (n, m)
    own = np.take_along_axis(counts, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    lead = 2 * own - counts.sum(axis=1)  # (n,): votes for the label less those against it
    right = votes.voted & (votes.matrix == labels[:, None])  # (n, k)
    for j in np.flatnonzero(right.any(axis=0)):
        rows = np.flatnonzero(right[:, j])
        found[rows[lead[rows].argmax()], j] = True
    return found


def _with_exemplars(labels: Gold, exemplars: NDArray[np.bool_], votes: Votes) -> Gold:
    """The labels, with those of the exemplars; an exemplar must be what its source says it is."""
    if exemplars.shape != votes.matrix.shape:
        raise InputError(
            f"exemplars have the shape {exemplars.shape}, but there are {votes.n} documents × {votes.k} sources"
        )
    full = labels.copy()
    for row, j in np.argwhere(exemplars).tolist():
        vote = int(votes.matrix[row, j])
        where = f"document {votes.ids[row]!r} is an exemplar of the source {votes.sources[j]!r}"
        if vote < 0:
            raise InputError(
                f"{where}, which does not vote on it: the rule must match its exemplar"
            )
        if full[row] not in (UNKNOWN, vote):
            raise InputError(
                f"{where}, which says {votes.classes[vote]}, but its label is {votes.classes[full[row]]}"
            )
        full[row] = vote
    return full


_ROWS = 8192  # documents that are answered together


@dataclass(frozen=True)
class ImplyLoss:
    """The hyper-parameters: gamma and q are common choices, not tuned here; the rest as all networks here have it."""

    mlp: Mlp = field(default_factory=Mlp)  # the size of both networks, and how they are trained
    gamma: float = 0.1  # how much the implication weighs
    q: float = 0.2  # of the generalised cross-entropy

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedImplyLoss:
        """Train both networks together; `data.valid` keeps the epoch with the best joint answers."""
        given = labelled(data)
        task = Task.of(data.documents, given)
        with computing():
            network = FlatNetwork(
                self.shapes(task.d, task.k, task.m),
                torch.Generator().manual_seed(data.seed),
                self.mlp.learning_rate,
                self.mlp.weight_decay,
            )
            fitted = FittedImplyLoss(network, task.centre, task.scale, _gold_used(given, data))
            self._train(fitted, task, data, progress)
        return fitted

    def _train(
        self, fitted: FittedImplyLoss, task: Task, data: TrainingData, progress: Progress
    ) -> None:
        rng = np.random.default_rng([data.seed, 1])
        network, rows, best = fitted.network, task.rows, BestEpoch(data.valid)
        epochs = self.mlp.passes(len(rows))
        with stage(progress, "ImplyLoss", epochs, "epochs"):
            for epoch in range(1, epochs + 1):
                for batch in batches(rows, self.mlp.batch_size, rng):
                    network.step(partial(self.loss, task=task.take(batch)))
                judged = best.offer(epoch, fitted.predict_proba, {"flat": network.flat})
                progress.advance(1, judged)
        best.restore({"flat": network.flat})

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
    gold_used: tuple[GoldUse, ...]

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
        x = scaled(documents.features, self.centre, self.scale)
        votes = torch.from_numpy(documents.votes.matrix.astype(np.int64))
        for start in range(0, max(documents.n, 1), _ROWS):
            rows = slice(start, start + _ROWS)
            yield x[rows], votes[rows]


@dataclass(frozen=True, eq=False)
class Task:
    """A data as tensors, or a batch of it."""

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
            x=scaled(documents.features, centre, scale),
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


def _gold_used(given: Labelled, data: TrainingData) -> tuple[GoldUse, ...]:
    trained = GoldUse(Use.TRAINING, given.gold, "clean labels and exemplars")
    return (*((trained,) if given.gold else ()), *BestEpoch(data.valid).gold_used)
