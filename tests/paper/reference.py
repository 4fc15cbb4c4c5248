"""Algorithm 1 dense, straight from the paper, with automatic differentiation: what the product must equal.

Nothing is shared with the product but the settings and the starting weights: every document and every
cell (i, j) is computed, in float64, in every epoch, and Adam is torch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unruly.settings import PaperSettings


@dataclass(frozen=True)
class Trace:
    """What one epoch came to, before its update."""

    l1: float
    l2: float
    l3: float
    reliability: NDArray[Any] | None  # (k,): A; None where it was not looked at
    labels: NDArray[Any]  # (n, m): pseudo-labels after the epoch
    weights: dict[str, NDArray[Any]]  # after the update


def algorithm_1(
    features: NDArray[Any],
    matrix: NDArray[Any],
    m: int,
    settings: PaperSettings,
    start: dict[str, NDArray[Any]],
    *,
    clean: NDArray[Any],
    weight: NDArray[Any],
    batches: list[list[NDArray[Any]]],
) -> list[Trace]:
    """The trace of each epoch; `batches[t]` are the documents of each step of epoch t + 1."""
    s, n, k = settings, *matrix.shape
    b, y = torch.from_numpy(features).double(), torch.from_numpy(matrix).long()
    params = {name: torch.from_numpy(v).double().requires_grad_() for name, v in start.items()}
    adam = torch.optim.Adam(params.values(), lr=s.learning_rate, weight_decay=s.weight_decay)
    voted, onehot = y >= 0, torch.nn.functional.one_hot(y.clamp(min=0), m) * (y >= 0)[..., None]
    known, w = torch.from_numpy(clean >= 0), torch.from_numpy(weight).double()
    in_dl = ((voted.sum(1) > s.p) | known) & (w > 0)  # D_L of the classifier
    matched = in_dl & voted.any(1)  # D_L of the denoiser
    denoises = s.ablation in ("whole", "rule-only", "rule-neural")
    classifies, renews = s.ablation != "rule-only", s.ablation in ("whole", "rule-only")
    self_trains = s.ablation in ("whole", "neural-self")

    def vote(a: Tensor) -> Tensor:  # Eq. 2; a tie is shared, and clean labels replace it
        total = (a[None, :, None] * onehot).sum(1)
        top = (total >= total.max(1, keepdim=True).values - 1e-9) & voted.any(1)[:, None]
        label = top / top.sum(1, keepdim=True).clamp(min=1)
        return torch.where(known[:, None], torch.eye(m)[clean].double(), label.double())

    labels, memory, traces = vote(torch.ones(k).double()), torch.zeros(n, m).double(), []
    for t, steps in enumerate(batches, 1):
        sums, received, even = np.zeros(3), torch.zeros(k).double(), torch.zeros(k).double()
        for rows in (torch.from_numpy(step) for step in steps):
            # Eq. 1
            pair = torch.where(voted, y, m)[rows] + torch.arange(k) * (m + 1)
            q = torch.tanh((b[rows] @ params["a.w1"])[:, None] + params["a.votes"][pair])
            q = q @ params["a.w2"]
            runs = voted[rows] if s.attention == "voters" else voted.any(0).expand(len(rows), k)
            runs = runs & voted[rows].any(1, keepdim=True)
            share = q.masked_fill(~runs, -1e30).softmax(1) * runs
            a = share * voted[rows]
            mine = matched[rows][:, None].double()
            received = received + (a * mine).sum(0).detach()
            split = voted[rows] / voted[rows].sum(1, keepdim=True).clamp(min=1)
            even = even + (split * mine).sum(0)
            # Eqs. 3 and 5, supervised by the labels of the epoch before
            z = (a[..., None] * onehot[rows]).sum(1).log_softmax(1)
            l1 = -(labels[rows] * z * (w[rows] * matched[rows])[:, None]).sum() * denoises
            if len(steps) == 1 and renews:
                labels = torch.where(matched[:, None], vote(_global(received, even, s)), labels)
            # Eqs. 4, 6 and 7, supervised by the renewed labels
            hidden = (b[rows] @ params["c.w1"] + params["c.b1"]).relu()
            log_z = (hidden @ params["c.w2"] + params["c.b2"]).log_softmax(1)
            l2 = -(labels[rows] * log_z * (w[rows] * in_dl[rows])[:, None]).sum() * classifies
            with torch.no_grad():
                memory[rows] = s.alpha * memory[rows] + (1 - s.alpha) * log_z.exp()
                p = memory[rows] / (1 - s.alpha**t)
            l3 = (((log_z.exp() - p) ** 2).sum(1) * ~in_dl[rows]).sum() * self_trains
            loss = (s.c1 * l1 + s.c2 * l2 + s.c3 * l3) / len(rows)  # Eq. 8
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            sums += [float(part.detach()) for part in (l1, l2, l3)]
        if len(steps) > 1 and renews:
            labels = torch.where(matched[:, None], vote(_global(received, even, s)), labels)
        now = {name: v.detach().numpy().copy() for name, v in params.items()}
        a_now = _global(received, even, s).numpy()
        l1_sum, l2_sum, l3_sum = sums.tolist()
        traces.append(Trace(l1_sum, l2_sum, l3_sum, a_now, labels.numpy().copy(), now))
    return traces


def _global(received: Tensor, even: Tensor, s: PaperSettings) -> Tensor:
    """A: the mean attention over matched documents, or per vote; sums to 1."""
    if s.reliability == "per-vote":
        received = torch.where(even > 0, received / even.clamp(min=1e-12), 0)
    return received / received.sum().clamp(min=1e-300)
