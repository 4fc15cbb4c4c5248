"""A language model learns from a corpus: documents one after another, the next word at every place."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.peers.language_model import Dropouts, LanguageModel, State, one_mask
from unruly.peers.sampled_softmax import next_word_loss, sampled_next_word_loss
from unruly.peers.slanted_triangular import SlantedTriangular, discriminative_rates
from unruly.peers.vocabulary import END, TokenIds, Vocabulary
from unruly.progress import SILENT, Progress, stage

BETAS = (0.7, 0.99)  # of Adam, as Howard and Ruder have them
LONGEST_GRADIENT = 0.25


@dataclass(frozen=True)
class LanguageTraining:
    """How long and how fast: at most `epochs` passes, and at most `tokens` words read in all."""

    epochs: int = 15
    tokens: int = 500_000
    streams: int = 20  # texts read side by side
    steps: int = 35  # words that the gradient reaches back
    learning_rate: float = 0.01
    extra_words: int = 500  # random words that the right one is told from; 0: all words
    dropouts: Dropouts = field(default_factory=Dropouts)

    def run(
        self,
        model: LanguageModel,
        corpus: TokenIds,
        vocabulary: Vocabulary,
        generator: torch.Generator,
        *,
        decay: float = 1.0,
        progress: Progress = SILENT,
    ) -> float:
        """Train in place; the perplexity over the last tenth of the steps.

        `decay` divides the rate of each lower layer: 2.6 when fine-tuning a pre-trained model.
        """
        if not len(corpus.ids):
            raise InputError("none of the texts has a word in it: a language model cannot learn")
        streams, count = self.plan(len(corpus.ids) + corpus.n)
        course = _Course(self, model, SlantedTriangular(count), decay)
        share = torch.from_numpy(_share(vocabulary, corpus.n))
        losses: list[float] = []
        with stage(progress, "learning the language", count, "step"):
            while len(losses) < count:
                text = torch.from_numpy(_streams(corpus, streams, generator))
                state = model.start(streams)
                pieces = range(0, text.shape[1] - 1, self.steps)
                for at in pieces[: count - len(losses)]:
                    piece = text[:, at : at + self.steps + 1]
                    loss, state = course.step(piece, state, share, generator, len(losses))
                    losses.append(loss)
                    progress.advance(1, f"perplexity {math.exp(min(loss, 20)):.0f}")
        return math.exp(min(float(np.mean(losses[-max(1, count // 10) :])), 20))

    def plan(self, total: int) -> tuple[int, int]:
        """How many streams a corpus of so many tokens is cut into, and how many steps are made.

        >>> LanguageTraining(epochs=2, tokens=10**9, streams=10, steps=10).plan(1010)
        (10, 20)
        """
        streams = min(self.streams, max(1, total // (self.steps + 1)))
        in_a_pass = max(1, math.ceil((total // streams - 1) / self.steps))
        return streams, max(1, min(self.epochs * in_a_pass, self.tokens // (streams * self.steps)))

    def loss(
        self,
        model: LanguageModel,
        out: torch.Tensor,  # (streams, steps, e)
        targets: torch.Tensor,  # (streams, steps)
        share: torch.Tensor,
        generator: torch.Generator,
    ) -> torch.Tensor:
        """Of the next words, all or a sample of them."""
        states, words = out.reshape(-1, out.shape[2]), targets.reshape(-1)
        if not self.extra_words or self.extra_words >= len(share):
            return next_word_loss(states, words, model.embedding, model.bias)
        return sampled_next_word_loss(
            states, words, model.embedding, model.bias, share, self.extra_words, generator
        )


class _Course:
    """The optimiser: a rate for each layer, and one schedule for all."""

    def __init__(
        self,
        training: LanguageTraining,
        model: LanguageModel,
        schedule: SlantedTriangular,
        decay: float,
    ) -> None:
        self.training, self.model, self.schedule = training, model, schedule
        groups = model.groups()
        groups[-1].append(model.bias)
        self.rates = discriminative_rates(training.learning_rate, len(groups), decay)
        self.optimizer = torch.optim.Adam([{"params": own} for own in groups], betas=BETAS)

    def step(
        self,
        piece: torch.Tensor,  # (streams, steps + 1)
        state: State,
        share: torch.Tensor,
        generator: torch.Generator,
        t: int,
    ) -> tuple[float, State]:
        """Read a piece of every stream and learn from it; the loss, and the state after it."""
        for own, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            own["lr"] = rate * self.schedule.share(t)
        with torch.enable_grad():
            out, after = self.model(piece[:, :-1], state, self.training.dropouts, generator)
            drop = self.training.dropouts
            out = out * one_mask(out, drop.outputs * drop.scale, generator)
            loss = self.training.loss(self.model, out, piece[:, 1:], share, generator)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), LONGEST_GRADIENT)
        self.optimizer.step()
        return float(loss.detach()), [(h.detach(), c.detach()) for h, c in after]


def _share(vocabulary: Vocabulary, documents: int) -> NDArray[np.float32]:
    """(V,): how often each token is the next one; a text's end counts once for each text."""
    counts = vocabulary.counts.astype(np.float64)
    counts[END] = documents
    return np.asarray(counts / counts.sum(), dtype=np.float32)


def _streams(corpus: TokenIds, streams: int, generator: torch.Generator) -> NDArray[np.int64]:
    """(streams, length): all documents in a random order, an end after each, cut into equal streams."""
    order = torch.randperm(corpus.n, generator=generator).numpy()
    pieces = [
        np.append(corpus.ids[corpus.starts[row] : corpus.starts[row + 1]], END) for row in order
    ]
    text = np.concatenate(pieces)
    length = len(text) // streams
    return text[: length * streams].reshape(streams, length)
