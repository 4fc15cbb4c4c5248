"""The losses of ImplyLoss, and how its two networks answer together (Awasthi et al., ICLR 2020).

P_j is the probability that rule j holds on a document that it fires on, P_theta(y) the classifier's
probability of class y, l_j the class that rule j names.
"""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 1e-7  # probabilities are kept this far from 0, so that logarithms are finite


def implication_loss(holds: Tensor, named: Tensor) -> Tensor:
    """-log(1 - P_j (1 - P_theta(l_j))): "if the rule holds, the label is what it says", softly.

    `holds` is P_j and `named` is P_theta(l_j), both of the same shape. There is no loss when the rule
    does not hold, or when the classifier agrees with it.

    >>> half = torch.tensor([0.5])
    >>> print(implication_loss(half, half).round(decimals=4))  # -log(0.75)
    tensor([0.2877])
    """
    return -torch.log((1 - holds * (1 - named)).clamp_min(SMALLEST))


def generalised_cross_entropy(probability: Tensor, q: float) -> Tensor:
    """(1 - p^q) / q: tends to -log p as q falls to 0, and to the noise-tolerant 1 - p as q rises to 1.

    Zhang and Sabuncu, Generalized cross entropy loss for training deep neural networks with noisy
    labels, NeurIPS 2018.

    >>> quarter = torch.tensor([0.25])
    >>> print(generalised_cross_entropy(quarter, 0.5), generalised_cross_entropy(quarter, 1.0))
    tensor([1.]) tensor([0.7500])
    """
    return (1 - probability.clamp_min(SMALLEST) ** q) / q


def rule_loss(holds: Tensor, right: Tensor, exemplar: Tensor, q: float) -> Tensor:
    """The loss of the rule network where a rule fires on a labelled document.

    - Its exemplar: the rule was made for it and holds, -log P_j.
    - It names another class than the label: it does not hold, -log(1 - P_j).
    - It names the label, but was not made for this document: it probably holds, and the
      noise-tolerant (1 - P_j^q) / q.

    >>> holds = torch.tensor([0.25, 0.25, 0.25])
    >>> right = torch.tensor([True, False, True])
    >>> exemplar = torch.tensor([True, False, False])
    >>> print(rule_loss(holds, right, exemplar, q=0.5).round(decimals=4))
    tensor([1.3863, 0.2877, 1.0000])
    """
    made_for = -torch.log(holds.clamp_min(SMALLEST))
    wrong = -torch.log((1 - holds).clamp_min(SMALLEST))
    probably = generalised_cross_entropy(holds, q)
    return torch.where(exemplar, made_for, torch.where(right, probably, wrong))


def joint_scores(classes: Tensor, holds: Tensor, votes: Tensor) -> Tensor:
    """(n, m): both networks' answers as one, rows of probabilities.

        score_r = P_theta(r) + mean over j in J of (P_j if l_j = r else 1 - P_j)

    J are the rules that fire on the document and hold there (P_j > 1/2); where
    there are none, the classifier answers alone. `classes` (n, m) is P_theta, `holds` (n, k) is P_j,
    `votes` (n, k) are class numbers, -1 where a rule does not fire.

    >>> classes = torch.tensor([[0.6, 0.4]])
    >>> holds, votes = torch.tensor([[0.9, 0.2]]), torch.tensor([[1, 0]])
    >>> print(joint_scores(classes, holds, votes))  # (0.6 + 0.1, 0.4 + 0.9) / 2
    tensor([[0.3500, 0.6500]])
    """
    m = classes.shape[1]
    speaks = (votes >= 0) & (holds > 0.5)  # (n, k)
    named = torch.nn.functional.one_hot(votes.clamp_min(0), m).to(classes)  # (n, k, m)
    each = holds[:, :, None] * named + (1 - holds)[:, :, None] * (1 - named)  # (n, k, m)
    total = (each * speaks[:, :, None]).sum(1)  # (n, m)
    scores = classes + total / speaks.sum(1, keepdim=True).clamp_min(1)
    return scores / scores.sum(1, keepdim=True)
