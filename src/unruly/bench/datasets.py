"""Data sets in WRENCH's layout, read and encoded once, and cut to a number of training documents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly.bench.dataset_facts import DatasetFacts
from unruly.bench.run import GIVEN
from unruly.errors import InputError
from unruly.features.cache import Cache
from unruly.features.encoder import Features
from unruly.features.given import Given
from unruly.features.spec import encoder_from
from unruly.peers.system import Documents
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.texts.wrench import is_wrench
from unruly.training.clean_labels import UNKNOWN, Gold
from unruly.votes.votes import Votes

SPLITS = ("train", "valid", "test")
DRAW = 20_201_112  # which training documents are drawn does not depend on a run's seed


@dataclass(frozen=True, eq=False)
class Split:
    """The documents of one split, and apart from them their true labels (-1: not known)."""

    documents: Documents
    gold: Gold


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set as the runs see it."""

    name: str
    train: Split
    valid: Split | None
    test: Split

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many documents for training, validation and test."""
        valid = self.valid.documents.n if self.valid else 0
        return self.train.documents.n, valid, self.test.documents.n


@dataclass(frozen=True)
class Folder:
    """A folder of one data set, not read yet."""

    path: Path

    @property
    def name(self) -> str:
        """What the data set is called."""
        return self.path.name

    @property
    def brings_features(self) -> bool:
        """Whether the features lie ready, as `train_features.npy` and so on."""
        return all(self._features(split).is_file() for split in self.splits)

    @property
    def splits(self) -> tuple[str, ...]:
        """Those of training, validation and test that there are."""
        return tuple(split for split in SPLITS if (self.path / f"{split}.json").is_file())

    def digest(self) -> str:
        """Of all files that a run may read: other data under the same name are another data set."""
        total = hashlib.sha256()
        files = [self.path / "label.json", *(self.path / f"{split}.json" for split in self.splits)]
        files += [path for split in self.splits if (path := self._features(split)).is_file()]
        for path in files:
            with path.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
        return total.hexdigest()[:16]

    def facts(self) -> DatasetFacts:
        """Size, coverage and sources of the whole data set; true labels are used for counting alone."""
        votes = Votes.from_wrench(self.path, "train")
        corpora = {split: Corpus.from_wrench(self.path, split) for split in self.splits}
        train, valid, test = (len(corpora[s]) if s in corpora else 0 for s in SPLITS)
        sizes = train, valid, test
        return DatasetFacts.of(self.name, sizes, votes, _gold(corpora["train"]), self.digest())

    def load(
        self,
        encoder: str,
        rows: int | None = None,
        cache: Cache | None = None,
        progress: Progress = SILENT,
    ) -> Dataset:
        """Read and encode, at most so many training and so many validation documents, drawn by chance.

        Encoders that learn from the texts learn from those training documents alone.
        """
        corpora = {split: Corpus.from_wrench(self.path, split) for split in self.splits}
        kept = {split: np.arange(len(corpus)) for split, corpus in corpora.items()}
        for split in {"train", "valid"} & set(kept):  # all test documents are scored
            kept[split] = drawn(len(corpora[split]), rows)
        corpora = {split: corpus.take(kept[split]) for split, corpus in corpora.items()}
        if encoder == GIVEN:
            features = {split: self._given(split, kept[split]) for split in self.splits}
        else:
            fitted = encoder_from(encoder.split("+")).fit(corpora["train"], cache, progress)
            features = {s: fitted.encode(corpus, cache, progress) for s, corpus in corpora.items()}
        found = {
            split: Split(
                Documents(
                    replace(corpus, gold=None),
                    Votes.from_wrench(self.path, split).take(kept[split]),
                    features[split],
                ),
                _gold(corpus),
            )
            for split, corpus in corpora.items()
        }
        if (found["test"].gold == UNKNOWN).all():
            raise InputError(f"{self.path}: the test documents have no labels to score against")
        return Dataset(self.name, found["train"], found.get("valid"), found["test"])

    def _features(self, split: str) -> Path:
        return self.path / f"{split}_features.npy"

    def _given(self, split: str, rows: NDArray[np.intp]) -> Features:
        path = self._features(split)
        values = Given.from_file(path).values
        assert values is not None
        return Features.from_array(values[rows], path.stem)


def folder_of(data: Path, name: str) -> Folder:
    """The folder of one data set; says how to get it when it is not there."""
    path = data / name
    if not is_wrench(path) or not all((path / f"{s}.json").is_file() for s in ("train", "test")):
        raise InputError(
            f"{path}: no data set in WRENCH's layout (label.json, train.json, test.json): the published "
            f"ones are on the Hugging Face hub as jieyuz2/WRENCH; --download fetches {name} into {data}"
        )
    return Folder(path)


def drawn(n: int, rows: int | None) -> NDArray[np.intp]:
    """Which of n documents are kept: all, or so many by chance, in their order.

    Never the first ones: some files are sorted by class.

    >>> len(drawn(100, 10)), bool((np.diff(drawn(100, 10)) > 0).all()), len(drawn(5, 10))
    (10, True, 5)
    """
    if rows is None or rows >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(DRAW).choice(n, rows, replace=False))


def _gold(corpus: Corpus) -> Gold:
    if corpus.gold is None:
        return np.full(len(corpus), UNKNOWN, np.int64)
    return np.asarray(corpus.gold, np.int64)
