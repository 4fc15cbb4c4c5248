"""A classifier on top of a language model: what it has read, pooled, and two layers (Howard and Ruder, 2018).

    h_c = [ h_T, maxpool(H), meanpool(H) ],       H = h_1 .. h_T, the last layer's outputs

"The concatenation of the last hidden state with both the max-pooled and the mean-pooled representation
of the hidden states over as many time steps as fit" (section 3.3), each layer of the head with batch
normalisation and dropout, and a ReLU between them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unruly.peers.language_model import Dropouts, LanguageModel, dropped
from unruly.peers.vocabulary import END, PAD


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
