"""NeuralQPP: boosting over multiple weak signals, each with a component network of its own.

Zamani, Croft and Culpepper, Neural query performance prediction using weak supervision from multiple
signals, SIGIR 2018.

What is taken from that paper, which predicts how hard a search query is: a network of several
components, each of which learns a representation; the representations are put together and read by a
prediction sub-network; all are trained end to end on several weak signals at once, no true label among
them; and in training whole components are dropped at random (component dropout).

What is adapted. The paper has a regression and components for kinds of input (scores, terms); here the
task is classification, a signal is a labelling source, and each source has a component that also
predicts its votes. Ren et al. (2020) describe the system as "a boosting prediction framework which selects
useful labelers from multiple weak supervision signals": the selection is done by the weights of SAMME
(Zhu, Zou, Rosset and Hastie, Multi-class AdaBoost, Statistics and its Interface 2009), ours since neither
paper writes it out,

    alpha = ln((1 - e) / e) + ln(m - 1),      w_i <- w_i exp(alpha [i is wrong]) / sum

where e is the weighted share of mistakes among m classes; chance has alpha 0. A round

1. sums the votes with the sources' weights alpha to soft labels; sources with alpha 0 are left out;
2. trains a network on them, each document with its weight w;
3. gives the network the weight beta by its weighted errors, and raises the weight of the documents that
   it got wrong;
4. renews each alpha by how often the networks so far, weighted by beta, contradict the source.

All alpha begin equal. That was chosen with gold in view, and the tables say so: begun as each source's
agreement with the others, they drop sources that rarely stand beside another, 61 instead of 73 % right on
the validation documents of agnews. The prediction is the mean of the networks by beta; votes on new
documents are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from unruly.errors import InputError
from unruly.ledger import GoldUse
from unruly.paper.training_set import moments
from unruly.progress import SILENT, Progress, stage
from unruly.votes.votes import Votes
from unruly_lab.peers.bert_mlp import Mlp, scaled
from unruly_lab.peers.labels import clean_used, with_clean
from unruly_lab.peers.networks import BestEpoch, FlatNetwork, batches, computing
from unruly_lab.peers.systems import Documents, Proba, TrainingData

Real = NDArray[np.float64]


def boosting_weight(error: float | Real, m: int) -> Real:
    """alpha of an error rate, at least 0: a labeller no better than chance has no say.

    >>> boosting_weight(np.array([0.1, 0.5, 0.9]), m=2).round(3)
    array([2.197, 0.   , 0.   ])
    >>> float(boosting_weight(0.5, m=3).round(3))  # ln(1) + ln(2): better than chance among three
    0.693
    """
    e = np.asarray(error, np.float64)
    return np.asarray(np.maximum(np.log((1 - e) / e) + np.log(m - 1), 0), np.float64)


def reweighted(weights: Real, wrong: NDArray[np.bool_], alpha: float) -> Real:
    """(n,): the documents' weights after a round, those that came out wrong raised; they sum to 1.

    >>> reweighted(np.full(4, 0.25), np.array([True, False, False, False]), np.log(3)).round(3)
    array([0.5  , 0.167, 0.167, 0.167])
    """
    raised = weights * np.exp(alpha * wrong)
    return np.asarray(raised / raised.sum())


def source_errors(votes: Votes, answers: NDArray[np.int64], weights: Real) -> Real:
    """(k,): the weighted share of each source's votes that contradict the answers, (n,).

    Documents without an answer (-1) do not count. Two imagined votes are added to every source, wrong half
    as often as chance: none is thought perfect, and one that cannot be judged is thought useful, as
    boosting thinks of all weak learners.

    >>> votes = Votes.from_array([[0, 1], [0, 0], [0, 1], [0, -1]])
    >>> source_errors(votes, np.zeros(4, np.int64), np.full(4, 0.25)).round(3)
    array([0.083, 0.5  ])
    """
    one = weights.sum() / max(np.count_nonzero(weights), 1)  # the weight of an average document
    counts = votes.voted & (answers >= 0)[:, None]  # (n, k)
    wrong = counts & (votes.matrix != answers[:, None])
    imagined = (votes.m - 1) / votes.m / 2  # the error rate of the imagined votes
    return np.asarray((weights @ wrong + 2 * one * imagined) / (weights @ counts + 2 * one))


_ROWS = 8192  # documents that are answered together
_SUREST = 0.01  # an error below this is taken for this: no network is thought perfect


@dataclass(frozen=True)
class NeuralQPP:
    """The hyper-parameters."""

    mlp: Mlp = field(
        default_factory=Mlp
    )  # how each network is trained; the components share `hidden`
    rounds: int = 3
    component_dropout: float = 0.1
    signal_weight: float = 0.5  # of the components' own losses beside the prediction's

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedNeuralQPP:
        """Boost; `data.valid` keeps the number of rounds that is right most often there."""
        best = BestEpoch(data.valid)
        with computing():
            boosted = self._boosted(data, progress)
        used = (*clean_used(data), *best.gold_used)
        for rounds in range(1, len(boosted.networks) + 1):
            best.offer(rounds, boosted.first(rounds).predict_proba, {})
        return replace(boosted.first(best.epoch or len(boosted.networks)), gold_used=used)

    def _boosted(self, data: TrainingData, progress: Progress) -> FittedNeuralQPP:
        votes = data.documents.votes
        centre, scale = moments(data.documents.features)
        task = Task.of(data.documents, centre, scale)
        alpha = np.asarray(votes.voted.any(axis=0), np.float64)  # (k,): all count the same
        weights = np.full(votes.n, 1 / max(votes.n, 1))
        fitted = FittedNeuralQPP((), (), (), centre, scale)
        for number in range(self.rounds):
            targets = with_clean(weighted_votes(data, alpha), data).astype(np.float64)
            task = replace(task, targets=torch.from_numpy(targets.astype(np.float32)))
            network = self._network(task, alpha, weights, data.seed + number, progress)
            labels = np.where(targets.any(1), targets.argmax(1), -1)
            said = network_proba(network, task.x).argmax(1)
            wrong = (labels >= 0) & (said != labels)
            error = float(weights[wrong].sum() / weights[labels >= 0].sum())
            beta = float(boosting_weight(max(error, _SUREST), votes.m))
            if number and beta == 0:
                break  # no better than chance on what is left: boosting is over
            fitted = fitted.joined(network, beta or 1.0, alpha)
            weights = reweighted(weights, wrong, beta)
            answers = fitted.of_tensor(task.x).argmax(1)
            errors = source_errors(votes, answers, np.full(votes.n, 1.0))
            alpha = _weights(errors, votes)
            if not alpha.any():
                break
        return fitted

    def _network(
        self, task: Task, alpha: Real, weights: Real, seed: int, progress: Progress
    ) -> FlatNetwork:
        """One round's network, with a component for each source that has a weight."""
        used = np.flatnonzero(alpha > 0)
        c = len(used)
        part = max(self.mlp.hidden // c, 1)  # hidden units of a component
        network = FlatNetwork(
            component_shapes(task.x.shape[1], c, part, task.targets.shape[1]),
            torch.Generator().manual_seed(seed),
            self.mlp.learning_rate,
            self.mlp.weight_decay,
        )
        rows = np.flatnonzero(task.targets.sum(1).numpy() > 0)
        rng, drop = np.random.default_rng([seed, 2]), torch.Generator().manual_seed(seed)
        says = torch.from_numpy((alpha[used] / alpha[used].sum()).astype(np.float32))
        even = torch.from_numpy((weights / weights[rows].mean()).astype(np.float32))
        task = replace(task, votes=task.votes[:, torch.from_numpy(used)], weights=even)
        epochs = self.mlp.passes(len(rows))
        with stage(progress, "NeuralQPP", epochs, "epochs"):
            for _ in range(epochs):
                for batch in batches(rows, self.mlp.batch_size, rng):
                    kept = torch.rand(c, generator=drop) >= self.component_dropout
                    network.step(partial(self.loss, task=task.take(batch), says=says, kept=kept))
                progress.advance(1)
        return network

    def loss(self, parts: list[Tensor], task: Task, says: Tensor, kept: Tensor) -> Tensor:
        """The prediction's cross-entropy with the soft labels, and each component's with its source.

        `says` (c,) are the weights of the sources, summing to 1; `kept` (c,) are the components that
        are not dropped.
        """
        hidden = components(parts, task.x)  # (b, c, p)
        logits = prediction(parts, hidden, kept)  # (b, m)
        predicted = (task.weights * cross_entropy(logits, task.targets, reduction="none")).sum()
        i, j = (task.votes >= 0).nonzero(as_tuple=True)  # (v,): one for each vote
        own = torch.einsum("bcp,cpm->bcm", hidden, parts[2])[i, j] + parts[3][j]  # (v, m)
        each = cross_entropy(own, task.votes[i, j], reduction="none")  # (v,)
        signals = (task.weights[i] * says[j] * each).sum()
        return (predicted + self.signal_weight * signals) / len(task.x)


@dataclass(frozen=True, eq=False)
class FittedNeuralQPP:
    """The networks of all rounds with their weights."""

    networks: tuple[FlatNetwork, ...]
    betas: tuple[float, ...]  # of each network
    alphas: tuple[Real, ...]  # (k,) of each round: the weight of each source; 0 is left out
    centre: NDArray[np.float32]  # (d,)
    scale: NDArray[np.float32]  # (d,)
    gold_used: tuple[GoldUse, ...] = ()

    @property
    def parameters(self) -> int:
        """The weights of all networks, and of the networks and sources."""
        networks = sum(network.parameters for network in self.networks)
        return networks + len(self.betas) + sum(alpha.size for alpha in self.alphas)

    def joined(self, network: FlatNetwork, beta: float, alpha: Real) -> FittedNeuralQPP:
        """The same with one more round."""
        return replace(
            self,
            networks=(*self.networks, network),
            betas=(*self.betas, beta),
            alphas=(*self.alphas, alpha),
        )

    def first(self, rounds: int) -> FittedNeuralQPP:
        """The first rounds alone."""
        return replace(
            self,
            networks=self.networks[:rounds],
            betas=self.betas[:rounds],
            alphas=self.alphas[:rounds],
        )

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the networks' mean by their weights."""
        if documents.features.width != len(self.centre):
            raise InputError(
                f"trained on {len(self.centre)} features for each document, not "
                f"{documents.features.width}: encode with the same encoder"
            )
        return self.of_tensor(scaled(documents.features, self.centre, self.scale))

    def of_tensor(self, x: Tensor) -> Proba:
        """(n, m): the same, of standardised features (n, d)."""
        answers = [b * network_proba(f, x) for f, b in zip(self.networks, self.betas, strict=True)]
        return np.asarray(np.sum(answers, axis=0) / sum(self.betas))


@dataclass(frozen=True, eq=False)
class Task:
    """A data as tensors, or a batch of it."""

    x: Tensor  # (n, d)
    votes: Tensor  # (n, k)
    targets: Tensor  # (n, m): soft labels, zeros where there is none
    weights: Tensor  # (n,): how much each document counts, 1 on average

    @classmethod
    def of(
        cls, documents: Documents, centre: NDArray[np.float32], scale: NDArray[np.float32]
    ) -> Task:
        votes = documents.votes
        if not votes.voted.any():
            raise InputError("no source votes on any document: there is nothing to learn from")
        return cls(
            scaled(documents.features, centre, scale),
            torch.from_numpy(votes.matrix.astype(np.int64)),
            torch.zeros(votes.n, votes.m),
            torch.ones(votes.n),
        )

    def take(self, rows: NDArray[np.intp]) -> Task:
        """Some documents only."""
        i = torch.from_numpy(rows)
        return Task(self.x[i], self.votes[i], self.targets[i], self.weights[i])


def _weights(errors: Real, votes: Votes) -> Real:
    """(k,): the boosting weight of each source that votes at all."""
    return np.asarray(votes.voted.any(axis=0) * boosting_weight(errors, votes.m), np.float64)


def weighted_votes(data: TrainingData, alpha: Real) -> NDArray[np.float32]:
    """(n, m): the share of the sources' weights that each class has; zeros where none has a say."""
    votes = data.documents.votes
    mass = np.stack([(votes.matrix == r) @ alpha for r in range(votes.m)], axis=1)
    total = mass.sum(axis=1, keepdims=True)
    return (mass / np.where(total > 0, total, 1)).astype(np.float32)


def component_shapes(d: int, c: int, p: int, m: int) -> list[tuple[int, ...]]:
    """W and b of c components with p units each; their own outputs; the prediction's W and b."""
    return [(c, d, p), (c, p), (c, p, m), (c, m), (c * p, m), (m,)]


def components(parts: list[Tensor], x: Tensor) -> Tensor:
    """(n, c, p): what each component makes of the documents (n, d)."""
    w, b = parts[0], parts[1]
    return torch.relu(torch.einsum("nd,cdp->ncp", x, w) + b)


def prediction(parts: list[Tensor], hidden: Tensor, kept: Tensor | None = None) -> Tensor:
    """(n, m): the logits of the prediction sub-network on all components (n, c, p) put together.

    Dropped components are silent, and the others raised to make up for them; if all are dropped, none is.
    """
    if kept is not None and bool(kept.any()):
        hidden = hidden * (kept * len(kept) / kept.sum())[None, :, None]
    return hidden.flatten(1) @ parts[4] + parts[5]


def network_proba(network: FlatNetwork, x: Tensor) -> Proba:
    """(n, m): one network's answers."""
    parts = network.parts()
    blocks = [x[start : start + _ROWS] for start in range(0, max(len(x), 1), _ROWS)]
    logits = torch.cat([prediction(parts, components(parts, block)) for block in blocks])
    return np.asarray(torch.softmax(logits.double(), 1).numpy())
