"""A language model: word vectors, LSTM layers with dropped weights, and how it is trained.

After the AWD-LSTM of Merity et al. (2017), which Howard and Ruder (2018) fine-tune. Vectors of words at
the input and at the output are one (tied); the recurrent weights, the inputs of layers and whole words
are dropped in training, one mask for all steps of a text. Sized for a processor by default. Documents are
read one after another, and the next word is predicted at every place, from a sample of the vocabulary.

The learning rate is slanted triangular (Howard and Ruder, section 3.2), a short rise and a long fall, and
eta^(l-1) = eta^l / 2.6 for the layer below:

    cut = floor(T cut_frac)
    p   = t / cut                                             if t < cut
        = 1 - (t - cut) / (cut (1 / cut_frac - 1))            else
    eta_t = eta_max (1 + p (ratio - 1)) / ratio

A model on disk is a folder of two files:

- `weights.safetensors`: `embedding` (V, e), `bias` (V,), and for each layer i, counted from 0,
  `lstm.i.w_ih` (4h, inputs), `lstm.i.w_hh` (4h, h), `lstm.i.b_ih` (4h,), `lstm.i.b_hh` (4h,), with the
  gates in torch's order (input, forget, cell, output). The last layer's h is e.
- `vocabulary.json`: `{"format": 1, "words": [...], "counts": [...]}`, V words in the order of the
  rows, the first three of them `<pad>`, `<unk>` and `<end>`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from unruly.errors import InputError, SettingsError
from unruly.files import folder_written_whole
from unruly.progress import SILENT, Progress, stage
from unruly_lab.peers.vocabulary import END, SPECIAL, UNKNOWN, TokenIds, Vocabulary


@dataclass(frozen=True)
class SlantedTriangular:
    """The share of `steps` steps that the rate rises in, and how many times lower it ends.

    >>> plan = SlantedTriangular(steps=1000)
    >>> [round(plan.share(t), 5) for t in (0, 50, 100, 550, 1000)]
    [0.03125, 0.51562, 1.0, 0.51562, 0.03125]
    """

    steps: int  # T
    cut_frac: float = 0.1
    ratio: float = 32.0

    def __post_init__(self) -> None:
        if not 0 < self.cut_frac < 1:
            raise SettingsError(f"cut_frac = {self.cut_frac}: must lie between 0 and 1")
        if self.ratio < 1:
            raise SettingsError(f"ratio = {self.ratio}: must be at least 1")

    def share(self, t: int) -> float:
        """The share of the highest rate at step t; the rise takes at least one step."""
        cut = max(int(self.steps * self.cut_frac), 1)
        p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / self.cut_frac - 1))
        return (1 + max(p, 0.0) * (self.ratio - 1)) / self.ratio


def discriminative_rates(highest: float, layers: int, decay: float = 2.6) -> list[float]:
    """The rate of each layer, the last one's highest.

    >>> [round(rate, 6) for rate in discriminative_rates(0.01, 3)]
    [0.001479, 0.003846, 0.01]
    """
    return [highest / decay ** (layers - 1 - layer) for layer in range(layers)]


def next_word_loss(states: Tensor, targets: Tensor, embedding: Tensor, bias: Tensor) -> Tensor:
    """- mean log p(target): (T, e) states, (T,) targets, (V, e) word vectors, (V,) biases."""
    return F.cross_entropy(states @ embedding.T + bias, targets)


def sampled_next_word_loss(
    states: Tensor,
    targets: Tensor,
    embedding: Tensor,
    bias: Tensor,
    share: Tensor,
    extra: int,
    generator: torch.Generator,
) -> Tensor:
    """An estimate of the same over a few words C: the targets of the batch and `extra` random words.

    As in Jean et al. (2015), On using very large target vocabulary: with pi_c the chance that word c
    gets into C, the sum over all other words is estimated by its Horvitz-Thompson estimate

        Z = e^(s_y) + sum_{c in C, c != y} e^(s_c) / pi_c

    where pi_c = 1 - (1 - share_c)^T (1 - 1/V)^extra, for T targets drawn by `share`, (V,).
    """
    size = len(share)
    drawn = torch.randint(0, size, (extra,), generator=generator)
    words = torch.unique(torch.cat([targets, drawn]))  # (C,), sorted
    missed = torch.log1p(-share[words].clamp(max=1 - 1e-6)) * len(targets)
    chance = 1 - torch.exp(missed) * (1 - 1 / size) ** extra  # (C,)
    own = torch.searchsorted(words, targets)[:, None]  # (T, 1): where the target is in C
    scores = states @ embedding[words].T + bias[words]  # (T, C)
    said = scores.gather(1, own)  # (T, 1)
    weighted = (scores - chance.log()).scatter(1, own, said)
    return (weighted.logsumexp(dim=1, keepdim=True) - said).mean()


State = list[tuple[Tensor, Tensor]]  # for each layer: (1, n, h) output and cell
FORMAT = 1
FILES = ("weights.safetensors", "vocabulary.json")


@dataclass(frozen=True)
class Dropouts:
    """The shares that are dropped in training: Howard and Ruder's, all times `scale`."""

    words: float = 0.05  # whole words, wherever they occur
    inputs: float = 0.4  # of the first layer
    between: float = 0.3  # of the layers above
    recurrent: float = 0.5  # weights from a layer's output to itself
    outputs: float = 0.4  # of the last layer, where it tells the next word
    scale: float = 0.1  # a small network that starts from nothing needs little


class Layer(nn.Module):
    """One LSTM layer; its weights uniform in ±1/sqrt(h) to start with."""

    def __init__(self, inputs: int, h: int, generator: torch.Generator) -> None:
        super().__init__()
        self.w_ih = _uniform((4 * h, inputs), h**-0.5, generator)
        self.w_hh = _uniform((4 * h, h), h**-0.5, generator)
        self.b_ih = _uniform((4 * h,), h**-0.5, generator)
        self.b_hh = _uniform((4 * h,), h**-0.5, generator)

    @property
    def size(self) -> int:
        """h."""
        return self.w_hh.shape[1]

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor], w_hh: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(n, length, inputs) -> (n, length, h), and the state after the last step."""
        weights = [self.w_ih, w_hh, self.b_ih, self.b_hh]
        training = torch.is_grad_enabled()
        out, h, c = torch.lstm(x, state, weights, True, 1, 0.0, training, False, True)
        return out, (h, c)


class LanguageModel(nn.Module):
    """What a text says so far -> the next word.

    >>> model = LanguageModel(10, [4, 6, 4], torch.Generator().manual_seed(0))
    >>> states, _ = model(torch.tensor([[3, 4, 5]]), model.start(1))
    >>> states.shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, words: int, sizes: list[int], generator: torch.Generator) -> None:
        """`sizes`: of the word vectors, then of each layer; the last is that of the vectors again."""
        super().__init__()
        if len(sizes) < 2 or sizes[0] != sizes[-1]:
            raise InputError(
                f"the last layer of a language model is as wide as its word vectors, not {sizes}"
            )
        self.embedding = _uniform((words, sizes[0]), 0.1, generator)
        self.bias = nn.Parameter(torch.zeros(words))
        self.layers = nn.ModuleList(Layer(a, b, generator) for a, b in pairwise(sizes))

    @property
    def stack(self) -> list[Layer]:
        """The LSTM layers, the lowest first."""
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def start(self, n: int) -> State:
        """The state before the first word of n texts."""
        return [
            (torch.zeros(1, n, layer.size), torch.zeros(1, n, layer.size)) for layer in self.stack
        ]

    def forward(
        self,
        ids: Tensor,
        state: State,
        drop: Dropouts | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, State]:
        """(n, length) token numbers -> (n, length, e) outputs; parts are dropped when asked to."""
        x = self.embedding[ids]  # (n, length, e)
        if drop is not None:
            kept = dropped(torch.ones(len(self.embedding), 1), drop.words * drop.scale, generator)
            x = x * kept[ids] * one_mask(x, drop.inputs * drop.scale, generator)
        after: State = []
        for i, layer in enumerate(self.stack):
            w_hh: Tensor = layer.w_hh
            if drop is not None:
                w_hh = dropped(w_hh, drop.recurrent * drop.scale, generator)
                x = x if i == 0 else x * one_mask(x, drop.between * drop.scale, generator)
            x, own = layer(x, state[i], w_hh)
            after.append(own)
        return x, after

    def groups(self) -> list[list[nn.Parameter]]:
        """The parameters of each layer, word vectors first: what is unfrozen one after the other."""
        return [[self.embedding], *(list(layer.parameters()) for layer in self.stack)]

    def save(self, folder: str | Path, vocabulary: Vocabulary) -> None:
        """Write the model, whole or not at all, in the format that `open_language_model` reads."""
        tensors = {"embedding": self.embedding, "bias": self.bias}
        for i, layer in enumerate(self.stack):
            tensors |= {f"lstm.{i}.{name}": w for name, w in layer.named_parameters()}
        plain = {
            "format": FORMAT,
            "words": list(vocabulary.words),
            "counts": vocabulary.counts.tolist(),
        }
        with folder_written_whole(folder, FILES) as part:
            save_file(
                {k: v.detach().contiguous() for k, v in tensors.items()},
                part / "weights.safetensors",
            )
            text = json.dumps(plain, ensure_ascii=False)
            (part / "vocabulary.json").write_text(text, encoding="utf-8")

    def adapted(self, own: Vocabulary, new: Vocabulary) -> LanguageModel:
        """The same model for another vocabulary: a word that it does not know starts as the mean word."""
        sizes = [self.embedding.shape[1], *(layer.size for layer in self.stack)]
        other = LanguageModel(len(new), sizes, torch.Generator().manual_seed(0))
        source = torch.tensor([own.numbers.get(word, -1) for word in new.words])
        known = source >= 0
        with torch.no_grad():
            other.embedding.copy_(self.embedding.mean(dim=0).expand_as(other.embedding))
            other.bias.fill_(float(self.bias[UNKNOWN]))
            other.embedding[known] = self.embedding[source[known]]
            other.bias[known] = self.bias[source[known]]
        other.layers.load_state_dict(self.layers.state_dict())
        return other


def open_language_model(folder: str | Path) -> tuple[LanguageModel, Vocabulary]:
    """A model that `save` wrote, or another program in the same format."""
    where = Path(folder)
    for name in FILES:
        if not (where / name).is_file():
            raise InputError(f"{where}: not a saved language model: {name} is missing")
    vocabulary = _read_vocabulary(where / "vocabulary.json")
    try:
        tensors = load_file(where / "weights.safetensors")
    except SafetensorError as error:
        raise InputError(f"{where / 'weights.safetensors'}: damaged: {error}") from None
    return _rebuilt(tensors, len(vocabulary), where / "weights.safetensors"), vocabulary


def _rebuilt(tensors: dict[str, Tensor], words: int, path: Path) -> LanguageModel:
    count = sum(name.endswith(".w_hh") for name in tensors)
    needed = ["embedding", "bias"]
    needed += [f"lstm.{i}.{w}" for i in range(count) for w in ("w_ih", "w_hh", "b_ih", "b_hh")]
    if lacking := [name for name in needed if name not in tensors] or ["lstm.0.w_hh"] * (not count):
        raise InputError(f"{path}: the weights have no {lacking[0]!r}")
    sizes = [tensors["embedding"].shape[1]]
    sizes += [tensors[f"lstm.{i}.w_hh"].shape[1] for i in range(count)]
    model = LanguageModel(words, sizes, torch.Generator().manual_seed(0))
    own = {name.replace("lstm.", "layers."): tensors[name].float() for name in needed}
    try:
        model.load_state_dict(own)
    except RuntimeError:
        found = ", ".join(f"{name} {tuple(tensors[name].shape)}" for name in needed[:3])
        raise InputError(
            f"{path}: the weights do not fit {words} words and each other ({found})"
        ) from None
    return model


def _read_vocabulary(path: Path) -> Vocabulary:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        words, counts = tuple(plain["words"]), np.array(plain["counts"], dtype=np.int64)
        form = plain["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the vocabulary of a language model ({error!r})") from None
    if form != FORMAT or words[:3] != SPECIAL or len(words) != len(counts):
        raise InputError(
            f"{path}: expected format {FORMAT}, a count for every word, and the words to begin with "
            f"{', '.join(SPECIAL)}"
        )
    return Vocabulary(words, counts)


def dropped(values: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """Zeros in place of a random share of the values; the others grow so that the mean stays."""
    if share <= 0:
        return values
    kept = torch.rand(values.shape, generator=generator) >= share
    return values * kept / (1 - share)


def one_mask(x: Tensor, share: float, generator: torch.Generator | None) -> Tensor:
    """(n, 1, d): one mask for all steps of a text."""
    return dropped(torch.ones(x.shape[0], 1, x.shape[2]), share, generator)


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> nn.Parameter:
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * bound)


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
    extra_words: int = 500  # random words among which the right one is to be found; 0: all words
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
        with stage(progress, "learning the language", count, "steps"):
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
