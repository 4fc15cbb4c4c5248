"""WeSTClass: a classifier from a few seed words of each class, and no vote.

Meng, Shen, Zhang and Han (2018), Weakly-supervised neural text classification. Word vectors are learnt
from the corpus; a von Mises-Fisher distribution around the seed words of each class writes
pseudo-documents; a network is trained on them, and then trains itself on the real documents, which have
no labels, until its answers stay as they are.

The constants are those of the paper where it names them (alpha, beta, gamma, delta, 20 filters of the
widths 2 to 5, 20 epochs in batches of 256). The network is the paper's CNN. Two departures keep it
cheap on a processor: word vectors are factorised instead of sampled (see `word_vectors`), and only
the first `max_tokens` tokens of a document are read. Adam takes the place of plain gradient descent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from unruly.errors import SettingsError
from unruly.peers.best_weights import BestWeights
from unruly.peers.labels import clean_labels, clean_used
from unruly.peers.length_order import answers_by_length
from unruly.peers.pseudo_documents import PseudoDocuments, expand_seeds, pseudo_documents
from unruly.peers.seed_keywords import Seeds, complete_seeds
from unruly.peers.self_training import share_changed, sharpened
from unruly.peers.system import Documents, Lesson, Proba
from unruly.peers.text_cnn import TextCNN
from unruly.peers.vocabulary import PAD, TokenIds, Vocabulary, tokens
from unruly.peers.word_vectors import word_vectors
from unruly.progress import SILENT, Progress, stage
from unruly.settings import Settings
from unruly.training.clean_labels import UNKNOWN, Gold
from unruly.training.compute import computing

_LEAST = 5  # tokens that a document is filled up to: the widest filter
_ANSWERED = 512  # documents answered together


@dataclass(frozen=True)
class WeSTClass:
    """Seed words -> pseudo-documents -> pre-training -> self-training.

    Seeds are `Lesson.keywords`. For a class without any that occurs in the texts they are taken from
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
    learning_rate: float = 1e-3
    pretrain_epochs: int = 20
    self_train: bool = True
    rounds: int = 15  # most rounds of self-training
    batches: int = 50  # most batches between two renewals of the targets
    delta: float = 0.001  # stop when fewer than this share of labels change

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < 1:
            raise SettingsError(f"alpha = {self.alpha}: must be at least 0 and below 1")
        for name in ("max_tokens", "vector_size", "window", "beta", "gamma", "negatives"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} = {getattr(self, name)}: must be at least 1")

    def fit(self, lesson: Lesson, progress: Progress = SILENT) -> FittedWeSTClass:
        """Learn from the texts and the seed words."""
        texts, votes = lesson.documents.corpus.texts.to_list(), lesson.documents.votes
        lists = [tokens(text) for text in texts]
        seeds, origin = complete_seeds(lesson.keywords, texts, votes)
        vocabulary = Vocabulary.learn(
            lists,
            most=self.max_words,
            min_count=self.min_count,
            keep=(word for own in seeds for word in own),
        )
        corpus = vocabulary.encode(lists)
        with computing(Settings(device="cpu")):
            generator = torch.Generator().manual_seed(lesson.seed)
            vectors = self._vectors(corpus, vocabulary, generator, progress)
            pseudo = self._pseudo(corpus, vocabulary, vectors, seeds, lesson.seed)
            network = TextCNN(
                torch.from_numpy(vectors),
                votes.m,
                maps=self.maps,
                hidden=self.hidden,
                generator=generator,
            )
            fitted = FittedWeSTClass(network, vocabulary, self.max_tokens, seeds, origin)
            best = BestWeights(network, fitted.predict_proba, lesson.valid)
            run = _Run(self, fitted, best, generator)
            run.pretrain(pseudo, progress)
            run.self_train(corpus, clean_labels(lesson), progress)
        return replace(fitted, gold_used=(*clean_used(lesson), *best.gold_used))

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
    gold_used: tuple[str, ...] = ()

    @property
    def parameters(self) -> int:
        """The network's weights and the word vectors."""
        trained = sum(weight.numel() for weight in self.network.parameters())
        return trained + self.network.get_buffer("vectors").numel()

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): from the texts alone."""
        lists = [tokens(text) for text in documents.corpus.texts]
        with computing(Settings(device="cpu")):
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
    best: BestWeights
    generator: torch.Generator

    def pretrain(self, pseudo: PseudoDocuments, progress: Progress) -> None:
        """On the pseudo-documents and their smoothed labels."""
        optimizer = self._optimizer()
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
        optimizer = self._optimizer()
        self.best.offer()
        proba = self.fitted.answers(corpus)
        rounds = self.system.rounds if self.system.self_train else 0
        with stage(progress, "self-training", rounds, "round"):
            for _ in range(rounds):
                targets = sharpened(proba)
                targets[clean != UNKNOWN] = np.eye(targets.shape[1])[clean[clean != UNKNOWN]]
                self._round(optimizer, corpus, torch.from_numpy(targets).float())
                judged = self.best.offer()
                after = self.fitted.answers(corpus)
                changed = share_changed(proba.argmax(axis=1), after.argmax(axis=1))
                proba = after
                progress.advance(1, f"{changed:.2%} changed  {judged}")
                if changed < self.system.delta:
                    break
        self.best.restore()

    def _round(
        self, optimizer: torch.optim.Optimizer, corpus: TokenIds, targets: torch.Tensor
    ) -> None:
        """One pass over the documents in random order, or `batches` batches of them."""
        order = torch.randperm(corpus.n, generator=self.generator)
        for rows in batches(order, self.system.batch_size)[: self.system.batches]:
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

    def _optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.fitted.network.parameters(), lr=self.system.learning_rate)


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
