"""What there is to know of a data set before any method sees it: size, coverage, its sources."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class SourceFacts:
    """One source on the training documents; shares, not percent."""

    name: str
    coverage: float  # documents on which it votes
    accuracy: float  # its right votes among its votes; NaN where it never votes


@dataclass(frozen=True)
class DatasetFacts:
    """One data set; everything about votes is of the training documents."""

    name: str
    documents: tuple[int, int, int]  # training, validation, test
    classes: tuple[str, ...]
    balance: tuple[float, ...]  # true share of each class, training documents
    coverage: float  # documents with at least one vote
    precision: float  # right votes among all votes
    majority: float  # majority vote on covered documents, ties by chance
    sources: tuple[SourceFacts, ...]
    data: str = ""  # digest of the files

    @classmethod
    def of(
        cls,
        name: str,
        documents: tuple[int, int, int],
        votes: Votes,
        gold: NDArray[np.integer[Any]],
        data: str = "",
    ) -> DatasetFacts:
        """Count, against the true labels of the training documents (-1: not known)."""
        voted = votes.voted & (gold >= 0)[:, None]  # (n, k)
        right = voted & (votes.matrix == gold[:, None])  # (n, k)
        counts = votes.counts()  # (n, m)
        top = (counts == counts.max(axis=1, keepdims=True)) & votes.covered[:, None]
        known = votes.covered & (gold >= 0)
        credit = top[known, gold[known]] / top[known].sum(axis=1)
        balance = np.bincount(gold[gold >= 0], minlength=votes.m) / max(1, (gold >= 0).sum())
        sources = tuple(
            SourceFacts(
                source,
                float(votes.voted[:, j].mean()),
                _share(right[:, j].sum(), voted[:, j].sum()),
            )
            for j, source in enumerate(votes.sources)
        )
        return cls(
            name=name,
            documents=documents,
            classes=votes.classes,
            balance=tuple(map(float, balance)),
            coverage=votes.coverage,
            precision=_share(right.sum(), voted.sum()),
            majority=_share(credit.sum(), known.sum()),
            sources=sources,
            data=data,
        )

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> DatasetFacts:
        """From JSON; null becomes NaN."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in plain.items()
        }
        for share in ("precision", "majority"):
            given[share] = _number(given[share])
        given["sources"] = tuple(
            SourceFacts(s["name"], s["coverage"], _number(s["accuracy"])) for s in plain["sources"]
        )
        return cls(**given)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it: NaN becomes null."""
        plain = asdict(self)
        for share in ("precision", "majority"):
            plain[share] = _plain(plain[share])
        for source in plain["sources"]:
            source["accuracy"] = _plain(source["accuracy"])
        return plain


def write_facts(path: Path, facts: Sequence[DatasetFacts]) -> None:
    """All data sets, in one JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([one.to_plain() for one in facts], ensure_ascii=False, indent=1)
    with written_whole(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


def read_facts(path: Path) -> tuple[DatasetFacts, ...]:
    """What `write_facts` wrote; nothing where there is no such file."""
    if not path.is_file():
        return ()
    try:
        return tuple(map(DatasetFacts.from_plain, json.loads(path.read_text(encoding="utf-8"))))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not facts of data sets ({error}): delete it, it is made again"
        ) from None


def _share(hits: float, of: float) -> float:
    return float(hits / of) if of else math.nan


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
