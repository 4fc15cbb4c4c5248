"""Texts with planted words, the votes of keyword rules on them, and features: every system must learn this.

What every system that trains by torch must hold to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from unruly.features.encoder import Features
from unruly.learner import Gold
from unruly.ledger import GoldUse, Use
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.peers.systems import Documents, System, TrainingData

TELLING = (
    ("lovely", "song", "great", "voice", "music", "chorus", "melody", "singer", "tune", "lyrics"),
    ("subscribe", "channel", "click", "link", "free", "money", "visit", "earn", "offer", "promo"),
    ("goal", "match", "team", "score", "coach", "league", "player", "season", "cup", "referee"),
)
FILLER = (
    "the",
    "a",
    "to",
    "my",
    "this",
    "of",
    "video",
    "and",
    "it",
    "was",
    "for",
    "in",
    "you",
    "so",
)
CLASSES = ("music", "spam", "sport")
RULES = 2  # sources for each class, two of its words each: six of ten words have no rule


@dataclass(frozen=True, eq=False)
class PlantedTask:
    """Documents for training, validation and test, with their true classes."""

    train: Documents
    gold: Gold
    valid: Documents
    valid_gold: Gold
    test: Documents
    test_gold: Gold
    keywords: tuple[tuple[str, ...], ...]  # of each class, as the rules have them
    exemplars: NDArray[np.bool_]  # (n, k): two right matches of each source

    @property
    def data(self) -> TrainingData:
        """Training documents without any true label."""
        return TrainingData(self.train, keywords=self.keywords, exemplars=self.exemplars)

    def accuracy(self, system: System, data: TrainingData | None = None) -> float:
        """How often a system is right on the test documents."""
        fitted = system.fit(data or self.data)
        return right(fitted.predict_proba(self.test), self.test_gold)


def right(proba: NDArray[np.float64], gold: Gold) -> float:
    """The share of documents whose likeliest class is the true one."""
    return float((proba.argmax(axis=1) == gold).mean())


def trained(labels: int, origin: str = "clean labels") -> GoldUse:
    """The entry of clean labels that were trained on."""
    return GoldUse(Use.TRAINING, labels, origin)


def selected(labels: int) -> GoldUse:
    """The entry of validation labels that chose the epoch."""
    return GoldUse(Use.SELECTION, labels, "validation documents")


@cache
def planted_task(n: int = 400, m: int = 2, seed: int = 0) -> PlantedTask:
    """n training documents of 2 or 3 classes, and half as many to validate and to test."""
    rng = np.random.default_rng(seed)
    vocabulary = [*FILLER, *(word for words in TELLING[:m] for word in words)]
    projection = rng.normal(size=(len(vocabulary), 24)) / 5
    parts = [_documents(size, m, vocabulary, projection, rng) for size in (n, n // 2, n // 2)]
    (train, gold), (valid, valid_gold), (test, test_gold) = parts
    keywords = tuple(words[: 2 * RULES] for words in TELLING[:m])
    hit = train.votes.matrix == gold[:, None]  # (n, k)
    exemplars = hit & (hit.cumsum(axis=0) <= 2)
    return PlantedTask(train, gold, valid, valid_gold, test, test_gold, keywords, exemplars)


def _documents(
    n: int,
    m: int,
    vocabulary: list[str],
    projection: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[Documents, Gold]:
    gold = rng.integers(0, m, n)
    texts = [_text(int(label), m, rng) for label in gold]
    counts = np.array([[text.split().count(word) for word in vocabulary] for text in texts])
    features = counts @ projection + rng.normal(scale=0.1, size=(n, projection.shape[1]))
    votes = np.concatenate([_keyword_votes(texts, m), _shaky_votes(gold, m, rng)], axis=1)
    names = [f"{CLASSES[c]}_{j}" for c in range(m) for j in range(RULES)] + ["shaky", "wrong"]
    return Documents(
        Corpus.from_texts(texts),
        Votes.from_array(votes, classes=CLASSES[:m], sources=names),
        Features.from_array(features.astype(np.float32)),
    ), gold.astype(np.int64)


def _text(label: int, m: int, rng: np.random.Generator) -> str:
    """Five filler words and four telling ones, of which one in eight is of another class."""
    words = rng.choice(FILLER, size=5).tolist()
    for _ in range(4):
        of = label if rng.random() > 1 / 8 else (label + int(rng.integers(1, m))) % m
        words.append(str(rng.choice(TELLING[of])))
    return " ".join(rng.permutation(words).tolist())


def _keyword_votes(texts: list[str], m: int) -> NDArray[np.int64]:
    """(n, m * RULES): each source knows two words of one class."""
    columns = []
    for c in range(m):
        for j in range(RULES):
            pair = set(TELLING[c][2 * j : 2 * j + 2])
            columns.append([c if pair & set(text.split()) else -1 for text in texts])
    return np.array(columns).T


def _shaky_votes(gold: Gold, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(n, 2): a source that is right at 65 %, and one that is right at 40 %, on a fifth each."""
    n = len(gold)
    other = (gold[:, None] + rng.integers(1, m, (n, 2))) % m
    said = np.where(rng.random((n, 2)) < [0.65, 0.4], gold[:, None], other)
    return np.where(rng.random((n, 2)) < 1 / 5, said, -1)


def same_twice(system: System, task: PlantedTask, data: TrainingData | None = None) -> bool:
    """Whether the same data gives the same bytes, and the order of test documents does not matter."""
    first, second = system.fit(data or task.data), system.fit(data or task.data)
    said = first.predict_proba(task.test)
    order = np.random.default_rng(0).permutation(task.test.n)
    moved = first.predict_proba(task.test.take(order))
    return (
        said.tobytes() == second.predict_proba(task.test).tobytes()
        and np.array_equal(said.argmax(axis=1)[order], moved.argmax(axis=1))
        and bool(np.allclose(said[order], moved, atol=1e-5))
    )


def same_bits_whatever_torch_drew_before(system: System) -> None:
    """The same data gives the same bits, another seed others; torch's own generator is left alone."""
    task = planted_task(n=100)
    first = system.fit(task.data).predict_proba(task.test)
    torch.rand(7)
    state = torch.get_rng_state()
    again = system.fit(task.data).predict_proba(task.test)
    assert first.tobytes() == again.tobytes()
    assert torch.equal(state, torch.get_rng_state())
    other = system.fit(replace(task.data, seed=1)).predict_proba(task.test)
    assert not np.array_equal(first, other)
