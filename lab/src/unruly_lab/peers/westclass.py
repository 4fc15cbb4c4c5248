"""WeSTClass: a classifier from a few seed words of each class, and no vote.

Meng, Shen, Zhang and Han (2018), Weakly-supervised neural text classification. Word vectors are learnt
from the corpus; a von Mises-Fisher distribution around the seed words of each class writes
pseudo-documents (`pseudo_documents.py`); a convolutional network (Kim, 2014) over fixed word vectors is
trained on them, and then trains itself on the real documents, which have no labels, with its own sharpened
predictions as targets (Xie et al., 2016), until they stay as they are.

The constants are those of the paper where it names them (alpha, beta, gamma, delta, 20 filters of the
widths 2 to 5, 20 epochs in batches of 256). Two departures keep it cheap on a processor: word vectors are
factorised instead of sampled, and only the first `max_tokens` tokens of a document are read. Adam takes the
place of plain gradient descent. `WeSTClass.published()` has the authors' optimiser, lengths and rounds
instead, and takes as long as they take.

The learning rate is chosen without gold, unless one is given: each of a few is tried in pre-training, and the
one with the smallest loss on a fifth of the pseudo-documents that it did not see is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from unruly.errors import SettingsError
from unruly.learner import Gold
from unruly.ledger import GoldUse
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import UNKNOWN
from unruly_lab.peers.labels import clean_labels, clean_used
from unruly_lab.peers.networks import BestEpoch, computing
from unruly_lab.peers.pseudo_documents import (
    PseudoDocuments,
    expand_seeds,
    pseudo_documents,
    word_vectors,
)
from unruly_lab.peers.seed_keywords import Seeds, complete_seeds
from unruly_lab.peers.systems import Documents, Proba, TrainingData
from unruly_lab.peers.vocabulary import PAD, TokenIds, Vocabulary, answers_by_length, tokens

Real = NDArray[np.float64]


def sharpened(predictions: NDArray[np.floating[Any]]) -> Real:
    r"""(n, m): targets that trust confident predictions more, and large classes less.

        q_ij = (p_ij^2 / f_j) / sum_k (p_ik^2 / f_k),      f_j = sum_i p_ij

    >>> sharpened(np.array([[0.9, 0.1], [0.5, 0.5]])).round(3).tolist()
    [[0.972, 0.028], [0.3, 0.7]]
    """
    p = np.asarray(predictions, dtype=np.float64)
    weight = p**2 / np.maximum(p.sum(axis=0), 1e-12)  # (n, m)
    return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300))


def share_changed(before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
    """The share of documents whose label is another one now: training stops when it is small.

    >>> share_changed(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    0.25
    """
    return float((before != after).mean()) if len(before) else 0.0


WIDTHS = (2, 3, 4, 5)


class TextCNN(nn.Module):
    """Filters of several widths, the maximum of each over the text, a hidden layer, class scores."""

    def __init__(
        self,
        vectors: Tensor,
        classes: int,
        *,
        maps: int = 20,
        hidden: int = 20,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        size = vectors.shape[1]
        self.register_buffer("vectors", vectors)  # (V, p), not trained
        self.filters = nn.ParameterList(_glorot((maps, size, w), generator) for w in WIDTHS)
        self.offsets = nn.ParameterList(torch.zeros(maps) for _ in WIDTHS)
        self.w1 = _glorot((hidden, maps * len(WIDTHS)), generator)
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = _glorot((classes, hidden), generator)
        self.b2 = nn.Parameter(torch.zeros(classes))

    def forward(self, ids: Tensor) -> Tensor:
        """(n, length) token numbers -> (n, m) scores."""
        vectors = self.get_buffer("vectors")
        x = vectors[ids].transpose(1, 2)  # (n, p, length)
        x = F.pad(x, (0, max(0, max(WIDTHS) - x.shape[2])))
        found = [
            F.conv1d(x, w, b).amax(dim=2).relu()  # (n, maps)
            for w, b in zip(self.filters, self.offsets, strict=True)
        ]
        h = F.linear(torch.cat(found, dim=1), self.w1, self.b1).relu()  # (n, hidden)
        return F.linear(h, self.w2, self.b2)  # (n, m)


def _glorot(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Uniform, its width by the number of inputs and outputs (Glorot and Bengio, 2010)."""
    around = int(torch.tensor(shape[2:]).prod()) if len(shape) > 2 else 1
    bound = (6 / ((shape[0] + shape[1]) * around)) ** 0.5
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * bound)


_LEAST = 5  # tokens that a document is filled up to: the widest filter
RATES = (0.0003, 0.001, 0.003, 0.01)  # tried where the learning rate is to be chosen
_ANSWERED = 512  # documents answered together


@dataclass(frozen=True)
class WeSTClass:
    """Seed words -> pseudo-documents -> pre-training -> self-training.

    Seeds are `TrainingData.keywords`. For a class without any that occurs in the texts they are taken from
    the votes, and `FittedWeSTClass.seeds_from` says so; votes are looked at for nothing else.
    """

    max_tokens: int = 120  # of a document, for the network
    max_words: int = 20_000  # in the vocabulary
    min_count: int = 5  # occurrences of a word in it
    vector_size: int = 100
    window: int = 5
    negatives: int = 1  # the shift of PMI: log of so many; 5 empties a small vocabulary
    expand: int = 50  # most words of a class that the distribution is fitted to; 0: the seeds alone
    alpha: float = 0.2  # the share of background words, and of label smoothing
    beta: int = 500  # pseudo-documents of each class
    gamma: int = 50  # words near a direction that a pseudo-document is written with
    maps: int = 20
    hidden: int = 20
    batch_size: int = 256
    optimiser: Literal["adam", "sgd"] = "adam"  # sgd: with a momentum of 0.9
    learning_rate: float | None = None  # None: chosen among `RATES` by unseen pseudo-documents
    self_rate: float | None = None  # of self-training; None: the same
    pretrain_epochs: int = 20
    self_train: bool = True
    rounds: int = 15  # most rounds of self-training
    batches: int = 50  # most batches between two renewals of the targets
    go_round: bool = False  # so many even where that is more than one pass over the documents
    delta: float = 0.001  # stop when fewer than this share of labels change

    @classmethod
    def published(cls) -> Self:
        """The authors' optimiser, lengths and rounds: 5,000 steps of plain gradient descent.

        >>> WeSTClass.published().rounds * WeSTClass.published().batches
        5000
        """
        return cls(
            max_tokens=500,
            optimiser="sgd",
            learning_rate=0.1,
            self_rate=0.001,
            rounds=100,
            go_round=True,
        )

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise SettingsError(f"alpha = {self.alpha}: must be at least 0 and below 1")
        for name in ("max_tokens", "vector_size", "window", "beta", "gamma", "negatives"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} = {getattr(self, name)}: must be at least 1")

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedWeSTClass:
        """Learn from the texts and the seed words."""
        texts, votes = data.documents.corpus.texts.to_list(), data.documents.votes
        lists = [tokens(text) for text in texts]
        seeds, origin = complete_seeds(data.keywords, texts, votes)
        vocabulary = Vocabulary.learn(
            lists,
            most=self.max_words,
            min_count=self.min_count,
            keep=(word for own in seeds for word in own),
        )
        corpus = vocabulary.encode(lists)
        with computing():
            generator = torch.Generator().manual_seed(data.seed)
            vectors = self._vectors(corpus, vocabulary, generator, progress)
            pseudo = self._pseudo(corpus, vocabulary, vectors, seeds, data.seed)
            system = self._with_a_rate(vectors, vocabulary, pseudo, data.seed, progress)
            network = system._network(vectors, votes.m, generator)
            fitted = FittedWeSTClass(network, vocabulary, self.max_tokens, seeds, origin)
            best = BestEpoch(data.valid)
            run = _Run(system, fitted, best, generator)
            run.pretrain(pseudo, progress)
            run.self_train(corpus, clean_labels(data), progress)
        rate = system.learning_rate or 0.0
        return replace(fitted, rate=rate, gold_used=(*clean_used(data), *best.gold_used))

    def _network(self, vectors: NDArray[np.float32], m: int, generator: torch.Generator) -> TextCNN:
        return TextCNN(
            torch.from_numpy(vectors), m, maps=self.maps, hidden=self.hidden, generator=generator
        )

    def _with_a_rate(
        self,
        vectors: NDArray[np.float32],
        vocabulary: Vocabulary,
        pseudo: PseudoDocuments,
        seed: int,
        progress: Progress,
    ) -> WeSTClass:
        """The same with the learning rate that suits pseudo-documents that were held out best."""
        if self.learning_rate is not None:
            return self
        held = np.random.default_rng(seed).random(len(pseudo.labels)) < 0.2
        losses = {}
        for rate in RATES:
            generator = torch.Generator().manual_seed(seed)
            network = self._network(vectors, pseudo.labels.shape[1], generator)
            fitted = FittedWeSTClass(network, vocabulary, self.max_tokens, (), ())
            tried = replace(self, learning_rate=rate)
            _Run(tried, fitted, BestEpoch(None), generator).pretrain(pseudo.take(~held), progress)
            scores = network(torch.from_numpy(pseudo.ids[held]))
            losses[rate] = float(F.cross_entropy(scores, torch.from_numpy(pseudo.labels[held])))
        return replace(self, learning_rate=min(losses, key=lambda rate: losses[rate]))

    def _vectors(
        self,
        corpus: TokenIds,
        vocabulary: Vocabulary,
        generator: torch.Generator,
        progress: Progress,
    ) -> NDArray[np.float32]:
        with stage(progress, "learning word vectors", None, "words"):
            vectors = word_vectors(
                corpus,
                len(vocabulary),
                size=min(self.vector_size, len(vocabulary)),
                window=self.window,
                negatives=self.negatives,
                generator=generator,
            )
            progress.advance(len(vocabulary))
        return vectors

    def _pseudo(
        self,
        corpus: TokenIds,
        vocabulary: Vocabulary,
        vectors: NDArray[np.float32],
        seeds: Seeds,
        seed: int,
    ) -> PseudoDocuments:
        numbers = [[vocabulary.numbers[word] for word in own] for own in seeds]
        known = [[w for w in own if vectors[w].any()] or own for own in numbers]
        placed = _with_directions(vectors, known, seed)
        background = vocabulary.counts / vocabulary.counts.sum()
        return pseudo_documents(
            placed,
            expand_seeds(placed, known, self.expand),
            background,
            np.minimum(corpus.lengths, self.max_tokens),
            count=self.beta,
            gamma=self.gamma,
            alpha=self.alpha,
            rng=np.random.default_rng(seed),
        )


@dataclass(frozen=True, eq=False)
class FittedWeSTClass:
    """The trained network, and the seeds that it grew from."""

    network: TextCNN
    vocabulary: Vocabulary
    max_tokens: int
    seeds: Seeds
    seeds_from: tuple[str, ...]  # for each class: "rules" or "votes"
    rate: float = 0.0  # the learning rate that was used
    gold_used: tuple[GoldUse, ...] = ()

    @property
    def parameters(self) -> int:
        """The network's weights and the word vectors."""
        trained = sum(weight.numel() for weight in self.network.parameters())
        return trained + self.network.get_buffer("vectors").numel()

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): from the texts alone."""
        lists = [tokens(text) for text in documents.corpus.texts]
        with computing():
            return self.answers(self.vocabulary.encode(lists))

    def answers(self, corpus: TokenIds) -> Proba:
        """(n, m): the same for texts that are numbers already; documents of like length together."""
        return answers_by_length(
            self.network,
            corpus,
            len(self.network.b2),
            together=_ANSWERED,
            most=self.max_tokens,
            least=_LEAST,
        )


@dataclass(frozen=True, eq=False)
class _Run:
    """The two phases of training."""

    system: WeSTClass
    fitted: FittedWeSTClass
    best: BestEpoch
    generator: torch.Generator

    def pretrain(self, pseudo: PseudoDocuments, progress: Progress) -> None:
        """On the pseudo-documents and their smoothed labels."""
        optimizer = self._optimizer(self.system.learning_rate)
        labels = torch.from_numpy(pseudo.labels)
        with stage(
            progress, "pre-training on pseudo-documents", self.system.pretrain_epochs, "epoch"
        ):
            for _ in range(self.system.pretrain_epochs):
                order = torch.randperm(len(labels), generator=self.generator)
                for rows in batches(order, self.system.batch_size):
                    ids = torch.from_numpy(pseudo.ids[rows.numpy()])
                    used = max(int((ids != PAD).sum(dim=1).max()), _LEAST)  # the rest is filling
                    self._step(optimizer, ids[:, :used], labels[rows])
                progress.advance(1)

    def self_train(self, corpus: TokenIds, clean: Gold, progress: Progress) -> None:
        """On the real documents, with targets made of the network's own answers."""
        optimizer = self._optimizer(self.system.self_rate or self.system.learning_rate)
        self._offer(0)
        proba = self.fitted.answers(corpus)
        rounds = self.system.rounds if self.system.self_train else 0
        with stage(progress, "self-training", rounds, "rounds"):
            for number in range(1, rounds + 1):
                targets = sharpened(proba)
                targets[clean != UNKNOWN] = np.eye(targets.shape[1])[clean[clean != UNKNOWN]]
                self._round(optimizer, corpus, torch.from_numpy(targets).float())
                judged = self._offer(number)
                after = self.fitted.answers(corpus)
                changed = share_changed(proba.argmax(axis=1), after.argmax(axis=1))
                proba = after
                progress.advance(1, f"{changed:.2%} changed  {judged}")
                if changed < self.system.delta:
                    break
        self.best.restore(self.fitted.network.state_dict())

    def _offer(self, number: int) -> str:
        network = self.fitted.network
        return self.best.offer(number, self.fitted.predict_proba, network.state_dict())

    def _round(
        self, optimizer: torch.optim.Optimizer, corpus: TokenIds, targets: torch.Tensor
    ) -> None:
        """One pass over the documents in random order, or `batches` batches of them."""
        order = torch.randperm(corpus.n, generator=self.generator)
        drawn = batches(order, self.system.batch_size)
        while self.system.go_round and len(drawn) < self.system.batches:
            order = torch.randperm(corpus.n, generator=self.generator)
            drawn += batches(order, self.system.batch_size)
        for rows in drawn[: self.system.batches]:
            padded = corpus.padded(rows.numpy(), self.system.max_tokens, _LEAST)
            self._step(optimizer, torch.from_numpy(padded), targets[rows])

    def _step(
        self, optimizer: torch.optim.Optimizer, ids: torch.Tensor, targets: torch.Tensor
    ) -> None:
        """KL divergence from the targets; their entropy does not depend on the network."""
        with torch.enable_grad():
            loss = F.cross_entropy(self.fitted.network(ids), targets)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    def _optimizer(self, rate: float | None) -> torch.optim.Optimizer:
        assert rate is not None  # chosen by now
        weights = self.fitted.network.parameters()
        if self.system.optimiser == "sgd":
            return torch.optim.SGD(weights, lr=rate, momentum=0.9)
        return torch.optim.Adam(weights, lr=rate)


def published() -> WeSTClass:
    """With the authors' optimiser, lengths and rounds."""
    return WeSTClass.published()


def batches(order: torch.Tensor, size: int) -> list[torch.Tensor]:
    """Row numbers in runs of `size`; a last run of one document joins the one before.

    >>> [len(rows) for rows in batches(torch.arange(9), 4)]
    [4, 5]
    """
    starts = list(range(0, len(order), size))
    if len(starts) > 1 and len(order) - starts[-1] == 1:
        starts.pop()
    return [order[a:b] for a, b in zip(starts, [*starts[1:], len(order)], strict=True)]


def _with_directions(
    vectors: NDArray[np.float32], seeds: Sequence[Sequence[int]], seed: int
) -> NDArray[np.float32]:
    """A random direction for seeds that never stand beside another word, so that they can be fitted."""
    placed, rng = vectors.copy(), np.random.default_rng(seed)
    for word in (w for own in seeds for w in own if not vectors[w].any()):
        direction = rng.standard_normal(vectors.shape[1])
        placed[word] = direction / np.linalg.norm(direction)
    return placed
