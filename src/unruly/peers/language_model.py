"""A language model: word vectors, LSTM layers with dropped weights, and the next word by the same vectors.

After the AWD-LSTM of Merity et al. (2017), which Howard and Ruder (2018) fine-tune. Vectors of words at
the input and at the output are one (tied); the recurrent weights, the inputs of layers and whole words
are dropped in training, one mask for all steps of a text. Sized for a processor by default.

A model on disk is a folder of two files:

- `weights.safetensors`: `embedding` (V, e), `bias` (V,), and for each layer i, counted from 0,
  `lstm.i.w_ih` (4h, inputs), `lstm.i.w_hh` (4h, h), `lstm.i.b_ih` (4h,), `lstm.i.b_hh` (4h,), with the
  gates in torch's order (input, forget, cell, output). The last layer's h is e.
- `vocabulary.json`: `{"format": 1, "words": [...], "counts": [...]}`, V words in the order of the
  rows, the first three of them `<pad>`, `<unk>` and `<end>`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.peers.vocabulary import SPECIAL, UNKNOWN, Vocabulary

State = list[tuple[Tensor, Tensor]]  # for each layer: (1, n, h) output and cell
FORMAT = 1


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
        with written_whole(folder) as part:
            part.mkdir()
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
    for name in ("weights.safetensors", "vocabulary.json"):
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
