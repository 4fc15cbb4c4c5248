"""Votes in WRENCH's JSON, with their documents, both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unruly.errors import InputError
from unruly.files import written_whole
from unruly.texts.corpus import Corpus
from unruly.texts.wrench import read_wrench
from unruly.votes.votes import Votes


def read_wrench_votes(folder: Path, split: str = "train", votes: str = "weak_labels") -> Votes:
    """The votes stored beside the documents of one split."""
    stored = read_wrench(folder, split, votes)
    if not stored.votes.shape[1]:
        raise InputError(f"{stored.corpus.name}: no votes are stored under {votes!r}")
    return Votes(stored.votes, stored.sources, stored.classes, stored.corpus.ids)


def write_wrench(votes: Votes, folder: Path, corpus: Corpus, split: str = "train") -> None:
    """Write `split`.json, label.json and meta.json; the folder is made when it is missing."""
    if not votes.ids.equals(corpus.ids):
        raise InputError(
            "the votes and the documents differ in their ids: give the documents that were voted on"
        )
    labels = {str(number): name for number, name in enumerate(votes.classes)}
    path = folder / "label.json"
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != labels:
        raise InputError(f"{path}: the folder holds other classes: write to another folder")
    folder.mkdir(parents=True, exist_ok=True)
    _write(path, labels)
    _write(folder / "meta.json", {"lf_names": votes.sources, "label_names": votes.classes})
    _write(folder / f"{split}.json", _items(votes, corpus))


def _items(votes: Votes, corpus: Corpus) -> dict[str, Any]:
    gold = corpus.gold.tolist() if corpus.gold is not None else [-1] * votes.n
    others = corpus.columns.rows(named=True) if corpus.columns.width else [{}] * votes.n
    rows = zip(votes.ids, gold, votes.matrix.tolist(), corpus.texts, others, strict=True)
    return {
        str(id): {"label": label, "weak_labels": cast, "data": {"text": text, **data}}
        for id, label, cast, text, data in rows
    }


def _write(path: Path, content: object) -> None:
    with written_whole(path) as part:
        part.write_text(json.dumps(content, ensure_ascii=False, default=str), encoding="utf-8")
