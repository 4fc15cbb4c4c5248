"""All systems by name: what `unruly compare` and `unruly bench` run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from unruly.errors import InputError
from unruly.peers.system import System

VOTES, PEERS, OURS = "label models", "peers", "ours"


@dataclass(frozen=True)
class Entry:
    """One system: where it lives, and what to know before choosing it."""

    name: str  # as it is typed
    title: str  # as tables show it
    where: str  # "module:factory" inside this room, imported when it is asked for
    cites: str
    group: str
    needs_gold: bool = False  # trains on true labels

    def build(self) -> System:
        """A new system with its default hyper-parameters."""
        module, factory = self.where.split(":")
        make: Callable[[], System] = getattr(import_module(f"unruly.peers.{module}"), factory)
        return make()


RATNER = "Ratner et al. (2019), Training complex models with multi-task weak supervision"
REN = "Ren et al. (2020), Denoising multi-source weak supervision for neural text classification"
DAWID = "Dawid and Skene (1979), Maximum likelihood estimation of observer error-rates"
HOWARD = "Howard and Ruder (2018), Universal language model fine-tuning for text classification"

SYSTEMS: tuple[Entry, ...] = (
    Entry("majority-vote", "Majority vote", "votes_only:majority_vote", "", VOTES),
    Entry("weighted-vote", "Weighted vote", "votes_only:weighted_vote", "", VOTES),
    Entry("one-coin", "Dawid-Skene, one coin", "votes_only:one_coin", DAWID, VOTES),
    Entry("dawid-skene", "Dawid-Skene", "votes_only:dawid_skene", DAWID, VOTES),
    Entry("matrix-completion", "Matrix completion", "votes_only:matrix_completion", RATNER, VOTES),
    Entry("denoiser", "Denoiser alone", "votes_only:denoiser", REN, VOTES),
    Entry("snorkel", "Snorkel", "snorkel_pipeline:own", RATNER, PEERS),
    Entry("snorkel-package", "Snorkel (package)", "snorkel_pipeline:package", RATNER, PEERS),
    Entry(
        "westclass",
        "WeSTClass",
        "westclass:WeSTClass",
        "Meng et al. (2018), Weakly-supervised neural text classification",
        PEERS,
    ),
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
    Entry("ulmfit", "ULMFiT", "ulmfit:ULMFiT", HOWARD, PEERS),
    Entry("bert-mlp", "BERT-MLP", "bert_mlp:majority", REN, PEERS),
    Entry("bert-mlp-denoised", "BERT-MLP, denoised", "bert_mlp:denoised", REN, PEERS),
    Entry("ulmfit-denoised", "ULMFiT, denoised", "ulmfit:denoised", HOWARD, PEERS),
    Entry("bert-mlp-gold", "BERT-MLP, supervised", "bert_mlp:supervised", REN, PEERS, True),
    Entry("paper", "The paper's method", "papers_method:whole", REN, OURS),
    Entry("rule-only", "Rule-only", "papers_method:rule_only", REN, OURS),
    Entry("neural-only", "Neural-only", "papers_method:neural_only", REN, OURS),
    Entry("neural-self", "Neural-self", "papers_method:neural_self", REN, OURS),
    Entry("rule-neural", "Rule-neural", "papers_method:rule_neural", REN, OURS),
    Entry("default", "unruly's default", "default_recipe:DefaultRecipe", "", OURS),
)


def entry(name: str) -> Entry:
    """The system of that name."""
    for found in SYSTEMS:
        if found.name == name:
            return found
    raise InputError(
        f"no system is called {name!r}: there are {', '.join(e.name for e in SYSTEMS)}"
    )
