"""Folders in WRENCH's layout: train.json, valid.json, test.json and label.json.

Each split is `{"0": {"label": 1, "weak_labels": [-1, 1], "data": {"text": "…"}}}`, and label.json
maps class numbers to names. `meta.json`, where there is one, may name the sources (`lf_names`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import InputError, Where
from unruly.texts.columns import MOST_CLASSES, UNKNOWN, Layout
from unruly.texts.corpus import Corpus, assemble
from unruly.wording import plural

ID, LABEL, TEXT = "id", "label", "text"


@dataclass(frozen=True, eq=False)
class WrenchSplit:
    """One split: the documents, and the votes stored beside them."""

    corpus: Corpus
    votes: NDArray[np.int8]  # (n, k), -1 abstains
    sources: tuple[str, ...]
    classes: tuple[str, ...]


def is_wrench(folder: Path) -> bool:
    """Whether a path is a folder in WRENCH's layout."""
    return folder.is_dir() and (folder / "label.json").is_file()


def read_wrench(folder: Path, split: str = "train", votes: str = "weak_labels") -> WrenchSplit:
    """Read one split; `votes` is the key of the stored votes."""
    if not is_wrench(folder):
        what = "no label.json in it" if folder.is_dir() else "there is no such folder"
        raise InputError(
            f"not a folder in WRENCH's layout ({what}): it needs train.json and label.json",
            where=Where(str(folder)),
        )
    path = folder / f"{split}.json"
    if not path.is_file():
        known = sorted(p.stem for p in folder.glob("*.json") if p.stem not in {"label", "meta"})
        raise InputError(
            f"there is no such split: splits are {', '.join(known) or 'none'}",
            where=Where(str(path)),
        )
    classes = _classes(folder / "label.json")
    items = _items(path)
    frame = pl.DataFrame(
        {
            ID: list(items),
            LABEL: [item.get("label") for item in items.values()],
            TEXT: pl.Series(TEXT, [item["data"].get(TEXT) for item in items.values()], pl.String),
            **_data_columns(items),
        },
        strict=False,
    )
    if all(key == str(row) for row, key in enumerate(items)):
        frame = frame.with_columns(pl.col(ID).cast(pl.Int64))
    corpus, _ = assemble(
        frame,
        Layout(TEXT, ID, LABEL),
        name=str(path),
        where=lambda row: Where(str(path), id=list(items)[row]),
        classes=classes,
    )
    if corpus.gold is not None and not (corpus.gold >= 0).any():
        corpus = replace(corpus, gold=None)
    matrix = _votes(items, votes, path)
    return WrenchSplit(corpus, matrix, _sources(folder, matrix.shape[1]), classes)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 (byte {error.start}): convert it", where=Where(str(path))
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON (column {error.colno}: {error.msg})", where=Where(str(path), error.lineno)
        ) from None


def _classes(path: Path) -> tuple[str, ...]:
    names = _load(path)
    if not isinstance(names, dict) or sorted(names) != sorted(str(i) for i in range(len(names))):
        raise InputError(
            'expected class numbers from 0 with their names, as in {"0": "ham", "1": "spam"}',
            where=Where(str(path)),
        )
    return tuple(str(names[str(number)]) for number in range(len(names)))


def _items(path: Path) -> dict[str, dict[str, Any]]:
    items = _load(path)
    if not isinstance(items, dict):
        raise InputError(
            f"expected one JSON object of documents, found a {type(items).__name__}",
            where=Where(str(path)),
        )
    if not items:
        raise InputError("the split is empty: expected documents", where=Where(str(path)))
    for key, item in items.items():
        data = item.get("data") if isinstance(item, dict) else None
        if not isinstance(data, dict):
            raise InputError(
                'expected {"label": …, "weak_labels": […], "data": {…}}',
                where=Where(str(path), id=key),
            )
        if not isinstance(data.get(TEXT), str | None):
            raise InputError(
                f"data.text is {data.get(TEXT)!r}, not a string", where=Where(str(path), id=key)
            )
    return items


def _data_columns(items: dict[str, dict[str, Any]]) -> dict[str, pl.Series]:
    names = dict.fromkeys(name for item in items.values() for name in item["data"] if name != TEXT)
    columns: dict[str, pl.Series] = {}
    for name in names:
        values = [item["data"].get(name) for item in items.values()]
        own = f"data_{name}" if name in {ID, LABEL} else name
        while own != name and own in names:
            own += "_"
        columns[own] = pl.Series(own, values, strict=False)
    return columns


def _votes(items: dict[str, dict[str, Any]], key: str, path: Path) -> NDArray[np.int8]:
    rows = [item.get(key, []) for item in items.values()]
    width = len(rows[0]) if isinstance(rows[0], list) else 0
    for entry, row in zip(items, rows, strict=True):
        if not isinstance(row, list) or not all(_is_vote(vote) for vote in row):
            raise InputError(
                f"{key} must be a list of class numbers, -1 where a source abstains",
                where=Where(str(path), id=entry),
            )
        if len(row) != width:
            raise InputError(
                f"{plural(len(row), 'vote')}, but the first entry has {width}",
                where=Where(str(path), id=entry),
            )
    return np.array(rows, dtype=np.int8).reshape(len(rows), width)


def _is_vote(vote: object) -> bool:
    return isinstance(vote, int) and UNKNOWN <= vote < MOST_CLASSES


def _sources(folder: Path, k: int) -> tuple[str, ...]:
    """The names of the k sources: `lf_names`, else a list of meta.json that has k names, else source_0, source_1…"""
    path = folder / "meta.json"
    meta = _load(path) if path.is_file() else {}
    if not isinstance(meta, dict):
        raise InputError(
            f"expected one JSON object, found a {type(meta).__name__}", where=Where(str(path))
        )
    labels = meta.get("label_names")
    others = (names for names in meta.values() if names != labels)
    for names in (meta.get("lf_names"), *others):
        if isinstance(names, list) and len(names) == k:
            found = tuple(map(str, names))
            if len(set(found)) == k:
                return found
    return tuple(f"source_{j}" for j in range(k))
