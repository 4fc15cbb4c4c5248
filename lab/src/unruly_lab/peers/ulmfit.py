"""ULMFiT in miniature: a language model learnt from the corpus, fine-tuned into a classifier.

Howard and Ruder (2018), Universal language model fine-tuning for text classification:

1. a language model reads the corpus, from scratch or from pre-trained weights (`pretrained`, the folder
   that `LanguageModel.save` writes), then fine-tuned with a lower rate for each lower layer;
2. the classifier on top is trained with discriminative rates (each layer's divided by 2.6), a slanted
   triangular schedule, and gradual unfreezing: the head alone in the first epoch, one more layer in
   each epoch after it, and all layers from then on. Each epoch of unfreezing has a schedule of its own,
   the remaining epochs share one. Its input is

       h_c = [ h_T, maxpool(H), meanpool(H) ],       H = h_1 .. h_T, the last layer's outputs

   (section 3.3), each layer of the head with batch normalisation and dropout, and a ReLU between them.

It is a miniature: vectors of 100 and one inner layer of 150 units where the published model has 400 and
1150 in three layers, no pre-training on Wikipedia, and both parts have a budget of tokens, so that the cost
is bounded however large the corpus is; only the first `max_tokens` tokens of a document are classified. The
classifier's rate, its 50 epochs, Adam's betas, the schedule and the proportions of dropouts are the paper's.
Dropouts are scaled down (on a planted task the full ones kept the classifier at chance); the language model's
rate is 0.01, not 0.004, which was not compared on its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from unruly.errors import InputError, SettingsError
from unruly.learner import Gold
from unruly.ledger import GoldUse
from unruly.progress import SILENT, Progress, stage
from unruly.settings import PaperSettings
from unruly_lab.peers.labels import clean_used, denoised_labels, majority_labels
from unruly_lab.peers.language_model import (
    BETAS,
    Dropouts,
    LanguageModel,
    LanguageTraining,
    SlantedTriangular,
    discriminative_rates,
    dropped,
    open_language_model,
)
from unruly_lab.peers.networks import BestEpoch, computing
from unruly_lab.peers.systems import Documents, Proba, TrainingData
from unruly_lab.peers.vocabulary import END, PAD, TokenIds, Vocabulary, answers_by_length, tokens


class PooledClassifier(nn.Module):
    """The language model and its head."""

    def __init__(
        self, body: LanguageModel, classes: int, hidden: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.body = body
        wide = 3 * body.embedding.shape[1]
        self.norm1 = nn.BatchNorm1d(wide, momentum=None)  # plain means since `fresh_norms`
        self.norm2 = nn.BatchNorm1d(hidden, momentum=None)
        self.w1 = _scaled((hidden, wide), generator)
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = _scaled((classes, hidden), generator)
        self.b2 = nn.Parameter(torch.zeros(classes))

    def forward(
        self,
        ids: Tensor,
        drop: Dropouts | None = None,
        share: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """(n, length) token numbers, filled up with `PAD` -> (n, m) scores."""
        ids = torch.cat([ids, torch.full((len(ids), 1), PAD)], dim=1)  # room for the end
        lengths = (ids != PAD).sum(dim=1)  # (n,)
        ids = ids.scatter(1, lengths[:, None], END)  # every text ends, and none is empty
        states, _ = self.body(ids, self.body.start(len(ids)), drop, generator)  # (n, length, e)
        pooled = self.norm1(concat_pooling(states, lengths + 1))  # (n, 3e)
        h = F.linear(dropped(pooled, share, generator), self.w1, self.b1).relu()
        return F.linear(dropped(self.norm2(h), share / 4, generator), self.w2, self.b2)

    def fresh_norms(self) -> None:
        """Forget the means and variances of the epoch before: the layers below were others then."""
        self.norm1.reset_running_stats()
        self.norm2.reset_running_stats()

    def groups(self) -> list[list[nn.Parameter]]:
        """The layers from the bottom to the head, as they are unfrozen."""
        inside = {id(weight) for weight in self.body.parameters()}
        head = [weight for weight in self.parameters() if id(weight) not in inside]
        return [*self.body.groups(), head]


def concat_pooling(states: Tensor, lengths: Tensor) -> Tensor:
    """(n, length, e), (n,) -> (n, 3e): the last real state, the largest of each number, their mean.

    >>> states = torch.tensor([[[1.0], [5.0], [3.0], [99.0]]])
    >>> concat_pooling(states, torch.tensor([3]))
    tensor([[3., 5., 3.]])
    """
    real = torch.arange(states.shape[1])[None, :, None] < lengths[:, None, None]  # (n, length, 1)
    last = states[torch.arange(len(states)), lengths - 1]  # (n, e)
    largest = states.masked_fill(~real, float("-inf")).amax(dim=1)
    mean = (states * real).sum(dim=1) / lengths[:, None]
    return torch.cat([last, largest, mean], dim=1)


def _scaled(shape: tuple[int, int], generator: torch.Generator) -> nn.Parameter:
    """Normal, its deviation sqrt(2 / inputs) (He et al., 2015)."""
    return nn.Parameter(torch.randn(shape, generator=generator) * (2 / shape[1]) ** 0.5)


Labels = Literal["majority", "denoised"]
_ANSWERED = 256  # documents answered together


@dataclass(frozen=True)
class ULMFiT:
    """Language model, then classifier; its labels are majority votes or denoised ones."""

    labels: Labels = "majority"
    pretrained: str | Path | None = None  # a folder with a language model's weights
    max_words: int = 10_000  # in the vocabulary
    min_count: int = 2
    vector_size: int = 100
    hidden: tuple[int, ...] = (150,)  # layers below the last, which is as wide as the vectors
    language: LanguageTraining = field(default_factory=LanguageTraining)
    max_tokens: int = 120  # of a document, for the classifier
    epochs: int = 50  # most; fewer where all `classifier_tokens` are read before
    least_epochs: int = 8  # over a random part of the documents, where the budget asks for it
    classifier_tokens: int = 800_000  # most words read in all epochs
    batch_size: int = 32
    learning_rate: float = 0.01
    decay: float = 2.6  # of the rate, for each layer further down
    unfreeze: bool = True  # one layer after the other; else all at once
    head: int = 50  # width of the head's hidden layer
    dropout: float = 0.1  # of the head's input
    settings: PaperSettings = field(default_factory=PaperSettings)  # of the denoising

    def __post_init__(self) -> None:
        for name in ("max_words", "vector_size", "max_tokens", "epochs", "batch_size", "head"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} = {getattr(self, name)}: must be at least 1")

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> FittedULMFiT:
        """Learn the language of all documents, and the classes of those that have a label."""
        labels, gold_used = self._labelled(data, progress)
        lists = [tokens(text) for text in data.documents.corpus.texts]
        vocabulary = Vocabulary.learn(lists, most=self.max_words, min_count=self.min_count)
        corpus = vocabulary.encode(lists)
        generator = torch.Generator().manual_seed(data.seed)
        with computing():
            body = self._language_model(corpus, vocabulary, generator, progress)
            m = data.documents.votes.m
            network = PooledClassifier(body, m, self.head, generator)
            fitted = FittedULMFiT(network, vocabulary, self.max_tokens)
            best = BestEpoch(data.valid)
            _FineTuning(self, fitted, best, generator).run(corpus, labels, progress)
        used = tuple(dict.fromkeys((*gold_used, *best.gold_used)))
        return replace(fitted, gold_used=used)

    def _labelled(self, data: TrainingData, progress: Progress) -> tuple[Gold, tuple[GoldUse, ...]]:
        if self.labels == "denoised":
            labels, used = denoised_labels(data, self.settings, progress)
        else:
            labels, used = majority_labels(data), clean_used(data)
        if not (labels >= 0).any():
            raise InputError("no document has a label to learn from: write rules that match")
        return labels, used

    def _language_model(
        self,
        corpus: TokenIds,
        vocabulary: Vocabulary,
        generator: torch.Generator,
        progress: Progress,
    ) -> LanguageModel:
        if self.pretrained is None:
            sizes = [self.vector_size, *self.hidden, self.vector_size]
            body, decay = LanguageModel(len(vocabulary), sizes, generator), 1.0
        else:
            known, words = open_language_model(self.pretrained)
            body, decay = known.adapted(words, vocabulary), self.decay
        self.language.run(body, corpus, vocabulary, generator, decay=decay, progress=progress)
        return body


def denoised() -> ULMFiT:
    """On labels denoised by the paper's method."""
    return ULMFiT(labels="denoised")


def pretrain(
    texts: list[str],
    folder: str | Path,
    system: ULMFiT | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> None:
    """Learn a language model from texts of one's own and write it, to be used as `pretrained`."""
    own = system or ULMFiT()
    lists = [tokens(text) for text in texts]
    vocabulary = Vocabulary.learn(lists, most=own.max_words, min_count=own.min_count)
    generator = torch.Generator().manual_seed(seed)
    with computing():
        body = own._language_model(vocabulary.encode(lists), vocabulary, generator, progress)
    body.save(folder, vocabulary)


@dataclass(frozen=True, eq=False)
class FittedULMFiT:
    """The language model with its head."""

    network: PooledClassifier
    vocabulary: Vocabulary
    max_tokens: int
    gold_used: tuple[GoldUse, ...] = ()

    @property
    def parameters(self) -> int:
        """All weights, word vectors included."""
        return sum(weight.numel() for weight in self.network.parameters())

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): from the texts alone."""
        corpus = self.vocabulary.encode([tokens(text) for text in documents.corpus.texts])
        self.network.eval()
        with computing():
            return answers_by_length(
                self.network,
                corpus,
                len(self.network.b2),
                together=_ANSWERED,
                most=self.max_tokens,
            )


@dataclass(frozen=True, eq=False)
class _FineTuning:
    """The classifier's training."""

    system: ULMFiT
    fitted: FittedULMFiT
    best: BestEpoch
    generator: torch.Generator

    def run(self, corpus: TokenIds, labels: Gold, progress: Progress) -> None:
        """Stage by stage: ever more layers, each stage on its own slanted triangle."""
        rows = np.flatnonzero(labels >= 0)
        epochs, count = self.plan(np.minimum(corpus.lengths[rows], self.system.max_tokens))
        groups = self.fitted.network.groups()
        with stage(progress, "fine-tuning the classifier", epochs, "epochs"):
            for open_layers, passes in self.stages(len(groups), epochs):
                closed = len(groups) - open_layers
                _freeze(groups[:closed], groups[closed:])
                drawn = [self._batches(rows, corpus, count) for _ in range(passes)]
                self._stage(groups[closed:], drawn, corpus, labels, progress)
        _freeze([], groups)
        self.best.restore(self.fitted.network.state_dict())
        self.fitted.network.eval()

    def plan(self, lengths: NDArray[np.int64]) -> tuple[int, int]:
        """How many epochs, and how many documents in each, the budget of words allows."""
        mean, budget = max(float(lengths.mean()), 1.0), self.system.classifier_tokens
        least = min(self.system.least_epochs, self.system.epochs)
        epochs = min(self.system.epochs, max(least, int(budget / (mean * len(lengths)))))
        most = max(int(budget / epochs / mean), self.system.batch_size)
        return epochs, min(len(lengths), most)

    def stages(self, layers: int, epochs: int) -> list[tuple[int, int]]:
        """(how many layers are open, for how many epochs), one after the other."""
        if not self.system.unfreeze:
            return [(layers, epochs)]
        opening = [(i, 1) for i in range(1, min(layers, epochs + 1))]
        rest = epochs - len(opening)
        return [*opening, (layers, rest)] if rest else opening

    def _stage(
        self,
        groups: list[list[torch.nn.Parameter]],
        drawn: list[list[NDArray[np.int64]]],
        corpus: TokenIds,
        labels: Gold,
        progress: Progress,
    ) -> None:
        """Some epochs with the same layers open, on one schedule."""
        rates = discriminative_rates(self.system.learning_rate, len(groups), self.system.decay)
        optimizer = torch.optim.Adam([{"params": own} for own in groups], betas=BETAS)
        plan, t = SlantedTriangular(sum(map(len, drawn))), 0
        for number, epoch in enumerate(drawn, 1):
            self.fitted.network.fresh_norms()
            for batch in epoch:
                for own, rate in zip(optimizer.param_groups, rates, strict=True):
                    own["lr"] = rate * plan.share(t)
                loss = self._step(optimizer, corpus, batch, labels)
                t += 1
            network = self.fitted.network
            judged = self.best.offer(number, self.fitted.predict_proba, network.state_dict())
            progress.advance(1, f"loss {loss:.3f}  {judged}")

    def _batches(
        self, rows: NDArray[np.int64], corpus: TokenIds, count: int
    ) -> list[NDArray[np.int64]]:
        """`count` random documents in batches of about the same length, the batches shuffled."""
        drawn = rows[torch.randperm(len(rows), generator=self.generator).numpy()[:count]]
        by_length = drawn[np.argsort(corpus.lengths[drawn], kind="stable")]
        pieces = max(1, round(count / self.system.batch_size))
        batches = np.array_split(by_length, pieces)
        order = torch.randperm(pieces, generator=self.generator)
        return [batches[int(i)] for i in order]

    def _step(
        self,
        optimizer: torch.optim.Optimizer,
        corpus: TokenIds,
        rows: NDArray[np.int64],
        labels: Gold,
    ) -> float:
        network = self.fitted.network
        network.train(len(rows) > 1)  # one document alone has no mean to be normalised by
        ids = torch.from_numpy(corpus.padded(rows, self.system.max_tokens))
        with torch.enable_grad():
            scores = network(
                ids, self.system.language.dropouts, self.system.dropout, self.generator
            )
            loss = F.cross_entropy(scores, torch.from_numpy(labels[rows]))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return float(loss.detach())


def _freeze(closed: list[list[torch.nn.Parameter]], opened: list[list[torch.nn.Parameter]]) -> None:
    for groups, trained in ((closed, False), (opened, True)):
        for weight in (weight for own in groups for weight in own):
            weight.requires_grad_(trained)
