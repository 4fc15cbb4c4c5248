"""Data sets in WRENCH's layout: fetched, read and encoded once, and cut to a number of training documents.

The published ones are on the Hugging Face hub, one folder or one zip file for each.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.cache import FeatureCache
from unruly.features.custom import PrecomputedFeatures
from unruly.features.encoder import Features
from unruly.features.registry import encoder_from
from unruly.files import written_whole
from unruly.learner import Gold
from unruly.progress import SILENT, Progress, stage
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.texts.wrench import is_wrench
from unruly.votes.votes import Votes
from unruly_lab.bench.data_statistics import DatasetFacts
from unruly_lab.bench.runs import GIVEN, UNREAD
from unruly_lab.peers.systems import Documents

SPLITS = ("train", "valid", "test")
DRAW = 20_201_112  # where all draws of documents start from


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
        cache: FeatureCache | None = None,
        progress: Progress = SILENT,
        *,
        draw: int | None = None,
    ) -> Dataset:
        """Read and encode, at most so many training and so many validation documents, drawn by chance.

        Encoders that learn from the texts learn from those training documents alone.
        """
        corpora = {split: Corpus.from_wrench(self.path, split) for split in self.splits}
        kept = {split: np.arange(len(corpus)) for split, corpus in corpora.items()}
        for split in {"train", "valid"} & set(kept):  # all test documents are scored
            kept[split] = drawn(len(corpora[split]), rows, draw)
        corpora = {split: corpus.take(kept[split]) for split, corpus in corpora.items()}
        unfitted = None
        if encoder == GIVEN:
            features = {split: self._given(split, kept[split]) for split in self.splits}
        elif encoder == UNREAD:
            features = {split: nothing_read(len(rows)) for split, rows in kept.items()}
        else:
            unfitted = encoder_from(encoder.split("+"))
            fitted = unfitted.fit(corpora["train"], cache, progress)
            features = {s: fitted.encode(corpus, cache, progress) for s, corpus in corpora.items()}
        found = {
            split: Split(
                Documents(
                    replace(corpus, gold=None),
                    Votes.from_wrench(self.path, split).take(kept[split]),
                    features[split],
                    unfitted,
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
        values = PrecomputedFeatures.from_file(path).values
        assert values is not None
        return Features.from_array(values[rows], path.stem)


def nothing_read(n: int) -> Features:
    """The features of n documents that no encoder has read: none."""
    return Features.from_array(np.zeros((n, 0), np.float32), UNREAD)


def folder_of(data: Path, name: str) -> Folder:
    """The folder of one data set; says how to get it when it is not there."""
    path = data / name
    if not is_wrench(path) or not all((path / f"{s}.json").is_file() for s in ("train", "test")):
        raise InputError(
            f"{path}: no data set in WRENCH's layout (label.json, train.json, test.json): the published "
            f"ones are on the Hugging Face hub as jieyuz2/WRENCH; --download fetches {name} into {data}"
        )
    return Folder(path)


def drawn(n: int, rows: int | None, draw: int | None = None) -> NDArray[np.intp]:
    """Which of n documents are kept: all, or so many by chance, in their order.

    Never the first ones: some files are sorted by class. Another `draw` gives others.

    >>> len(drawn(100, 10)), bool((np.diff(drawn(100, 10)) > 0).all()), len(drawn(5, 10))
    (10, True, 5)
    """
    if rows is None or rows >= n:
        return np.arange(n)
    start = DRAW if draw is None else [DRAW, draw]
    return np.sort(np.random.default_rng(start).choice(n, rows, replace=False))


def _gold(corpus: Corpus) -> Gold:
    if corpus.gold is None:
        return np.full(len(corpus), UNKNOWN, np.int64)
    return np.asarray(corpus.gold, np.int64)


REPOSITORY = "jieyuz2/WRENCH"
FILES = (*(f"{split}.json" for split in SPLITS), "label.json", "meta.json")


def download(data: Path, name: str, progress: Progress = SILENT) -> Path:
    """Fetch one data set into `data`/`name`, whole or not at all; the folder."""
    import huggingface_hub as hub

    listed = _reached(lambda: hub.list_repo_files(REPOSITORY, repo_type="dataset"))
    wanted = files_of(listed, name)
    data.mkdir(parents=True, exist_ok=True)
    target = data / name
    with (
        stage(progress, f"fetching {name}", len(wanted), "files"),
        written_whole(target) as part,
    ):
        part.mkdir()
        for file in wanted:
            got = Path(
                _reached(lambda f=file: hub.hf_hub_download(REPOSITORY, f, repo_type="dataset"))
            )
            _put(got, part / PurePosixPath(file).name)
            progress.advance(1)
    return target


def files_of(listed: Sequence[str], name: str) -> tuple[str, ...]:
    """The files of one data set among all of the repository.

    >>> files_of(["a/imdb/train.json", "a/imdb/notes.txt", "a/yelp.zip"], "imdb")
    ('a/imdb/train.json',)
    >>> files_of(["a/imdb/train.json", "a/yelp.zip"], "trec")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: jieyuz2/WRENCH has no data set 'trec': it has imdb, yelp
    """
    paths = [PurePosixPath(file) for file in listed]
    inside = [p for p in paths if p.parent.name == name and p.name in FILES]
    zipped = [p for p in paths if p.name == f"{name}.zip"]
    if found := inside or zipped[:1]:
        return tuple(map(str, found))
    known = {p.parent.name for p in paths if p.name == "train.json"}
    known |= {p.stem for p in paths if p.suffix == ".zip"}
    raise InputError(f"{REPOSITORY} has no data set {name!r}: it has {', '.join(sorted(known))}")


def _put(got: Path, to: Path) -> None:
    """A JSON file as it is; of a zip file the JSON files, wherever they stand in it."""
    if to.suffix != ".zip":
        shutil.copyfile(got, to)
        return
    with zipfile.ZipFile(got) as archive:
        for member in archive.namelist():
            if (base := PurePosixPath(member).name) in FILES:
                (to.parent / base).write_bytes(archive.read(member))


def _reached(ask: Any) -> Any:
    try:
        return ask()
    except Exception as error:  # the library has many errors, all meaning that it is not to be had
        first = " ".join(str(error).split())[:160]
        raise InputError(
            f"{REPOSITORY} cannot be reached on the Hugging Face hub ({first}): with a network, run again; "
            "else copy the folders from another machine"
        ) from None
