"""Which epoch of a network is kept: the best on validation labels where there are any, else the last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from unruly.errors import InputError
from unruly.peers.system import Documents, Proba
from unruly.training.clean_labels import Gold, checked


class BestWeights:
    """Told after every epoch; gives the network its best weights back in the end."""

    def __init__(
        self,
        network: nn.Module,
        answer: Callable[[Documents], Proba],
        valid: tuple[Documents, Gold] | None,
    ) -> None:
        self.network, self.answer = network, answer
        self.valid: tuple[Documents, Gold] | None = None
        self.score = -1.0
        self.weights: dict[str, torch.Tensor] = {}
        if valid is not None:
            documents, labels = valid
            gold = checked(labels, documents.n, documents.votes.m, "validation labels")
            known = np.flatnonzero(gold >= 0)
            if not len(known):
                raise InputError("none of the validation documents has a true label")
            self.valid = (documents.take(known), gold[known])

    @property
    def gold_used(self) -> tuple[str, ...]:
        """What it costs in true labels."""
        if self.valid is None:
            return ()
        return (f"choice of the epoch: {self.valid[0].n} validation documents",)

    def offer(self) -> str:
        """Keep these weights if none were better; says how good they are."""
        if self.valid is None:
            return ""
        documents, gold = self.valid
        score = float((self.answer(documents).argmax(axis=1) == gold).mean())
        if score > self.score:
            self.score = score
            state = self.network.state_dict()
            self.weights = {name: weight.clone() for name, weight in state.items()}
        return f"valid {score:.3f}"

    def restore(self) -> None:
        """Go back to the best weights, where there was anything to judge by."""
        if self.weights:
            self.network.load_state_dict(self.weights)
