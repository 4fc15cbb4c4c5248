"""The loss of the next word, without scoring every word of the vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


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
