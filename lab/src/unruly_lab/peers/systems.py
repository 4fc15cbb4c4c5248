"""What a system to compare is, and all systems by name: what `unruly compare` and `unruly bench` run.

A system is given documents with votes, and gives back a classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.learner import Gold
from unruly.ledger import GoldUse
from unruly.model.weak_classifier import WeakClassifier
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import did_you_mean

Proba = NDArray[np.float64]  # (n, m): the probability of each class


@dataclass(frozen=True, eq=False)
class Documents:
    """n documents as every system sees them: texts, votes and frozen features, and never a true label."""

    corpus: Corpus
    votes: Votes
    features: Features
    encoder: Any = (
        None  # what makes the features, as `WeakClassifier` takes it; None: they were given
    )

    def __post_init__(self) -> None:
        sizes = (len(self.corpus), self.votes.n, self.features.n)
        if len(set(sizes)) > 1:
            raise InputError(
                f"{sizes[0]} texts, {sizes[1]} rows of votes and {sizes[2]} rows of features: "
                "they must be of the same documents"
            )

    @property
    def n(self) -> int:
        """How many documents."""
        return self.votes.n

    def take(self, rows: NDArray[np.intp]) -> Documents:
        """Some of the documents only."""
        return replace(
            self,
            corpus=self.corpus.take(rows),
            votes=self.votes.take(rows),
            features=self.features.take(rows),
        )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """All that a system may learn from. True labels are in `clean` and `valid`, and nowhere else."""

    documents: Documents
    seed: int = 0
    prior: tuple[float, ...] | None = None  # the share of each class, if the user knows it
    clean: Gold | None = None  # (n,): true classes where they are known, else -1
    valid: tuple[Documents, Gold] | None = None  # to keep the best epoch by; None: the last is kept
    classifier: WeakClassifier | None = None  # as a project asks for it, for the default alone
    keywords: tuple[tuple[str, ...], ...] | None = None  # of each class, from the rules
    exemplars: NDArray[np.bool_] | None = (
        None  # (n, k): document i is what source j was written for
    )


class Fitted(Protocol):
    """A trained system."""

    @property
    def parameters(self) -> int:
        """How many numbers it has learnt."""

    @property
    def gold_used(self) -> tuple[GoldUse, ...]:
        """What true labels were used for; empty if none were."""

    def predict_proba(self, documents: Documents) -> Proba:
        """(n, m): the probability of each class."""


class System(Protocol):
    """How a classifier is made. Its fields are its hyper-parameters; `fit` leaves it unchanged."""

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> Fitted:
        """Learn; the same data gives the same classifier."""


VOTES, PEERS, OURS = "label models", "peers", "ours"
READ_TEXTS = ("westclass", "westclass-published", "ulmfit")


@dataclass(frozen=True)
class Entry:
    """One system: where it lives, and what to know before choosing it."""

    name: str  # as it is typed
    title: str  # as tables show it
    where: str  # "module:factory" inside this room, imported when it is asked for
    cites: str
    group: str
    needs_gold: bool = False  # trains on true labels

    @property
    def reads_features(self) -> bool:
        """Whether it looks at features: label models see votes alone, and some peers the texts themselves.

        >>> entry("bert-mlp").reads_features, entry("dawid-skene").reads_features
        (True, False)
        """
        return self.group != VOTES and self.name not in READ_TEXTS

    def build(self) -> System:
        """A new system with its default hyper-parameters."""
        module, factory = self.where.split(":")
        make: Callable[[], System] = getattr(import_module(f"unruly_lab.peers.{module}"), factory)
        return make()


RATNER = "Ratner et al. (2019), Training complex models with multi-task weak supervision"
REN = "Ren et al. (2020), Denoising multi-source weak supervision for neural text classification"
DAWID = "Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates"
MENG = "Meng et al. (2018), Weakly-supervised neural text classification"
HOWARD = "Howard and Ruder (2018), Universal language model fine-tuning for text classification"

SYSTEMS: tuple[Entry, ...] = (
    Entry("majority-vote", "Majority vote", "label_models:majority_vote", "", VOTES),
    Entry("weighted-vote", "Weighted vote", "label_models:weighted_vote", "", VOTES),
    Entry("one-coin", "Dawid-Skene, one coin", "label_models:one_coin", DAWID, VOTES),
    Entry("dawid-skene", "Dawid-Skene", "label_models:dawid_skene", DAWID, VOTES),
    Entry(
        "matrix-completion", "Matrix completion", "label_models:matrix_completion", RATNER, VOTES
    ),
    Entry("denoiser", "Denoiser alone", "label_models:denoiser", REN, VOTES),
    Entry("snorkel", "Snorkel", "snorkel:own", RATNER, PEERS),
    Entry("snorkel-package", "Snorkel (package)", "snorkel:package", RATNER, PEERS),
    Entry(
        "westclass",
        "WeSTClass",
        "westclass:WeSTClass",
        MENG,
        PEERS,
    ),
    Entry("westclass-published", "WeSTClass (published sizes)", "westclass:published", MENG, PEERS),
    Entry(
        "implyloss",
        "ImplyLoss",
        "implyloss:ImplyLoss",
        "Awasthi et al. (2020), Learning from rules generalizing labeled exemplars",
        PEERS,
    ),
    Entry(
        "neuralqpp",
        "NeuralQPP",
        "neuralqpp:NeuralQPP",
        "Zamani et al. (2018), Neural query performance prediction using weak supervision",
        PEERS,
    ),
    Entry(
        "mean-teacher",
        "MT",
        "mean_teacher:MeanTeacher",
        "Tarvainen and Valpola (2017), Mean teachers are better role models",
        PEERS,
    ),
    Entry("ulmfit", "ULMFiT (miniature)", "ulmfit:ULMFiT", HOWARD, PEERS),
    Entry("bert-mlp", "BERT-MLP", "bert_mlp:majority", REN, PEERS),
    Entry("bert-mlp-denoised", "BERT-MLP, denoised", "bert_mlp:denoised", REN, PEERS),
    Entry("ulmfit-denoised", "ULMFiT (miniature), denoised", "ulmfit:denoised", HOWARD, PEERS),
    Entry("bert-mlp-gold", "BERT-MLP, supervised", "bert_mlp:supervised", REN, PEERS, True),
    Entry("paper", "The paper's method", "paper:whole", REN, OURS),
    Entry(
        "paper-voters", "The paper's method, softmax over voters", "paper:over_voters", REN, OURS
    ),
    Entry("rule-only", "Rule-only", "paper:rule_only", REN, OURS),
    Entry("neural-only", "Neural-only", "paper:neural_only", REN, OURS),
    Entry("neural-self", "Neural-self", "paper:neural_self", REN, OURS),
    Entry("rule-neural", "Rule-neural", "paper:rule_neural", REN, OURS),
    Entry("default", "unruly's default", "default:Default", "", OURS),
)


def entry(name: str) -> Entry:
    """The system of that name."""
    for found in SYSTEMS:
        if found.name == name:
            return found
    names = [known.name for known in SYSTEMS]
    raise InputError(f"no system is called {name!r}: {did_you_mean(name, names, 'there are')}")
