"""A tiny data set in WRENCH's layout whose truth is planted: three sources, right three times in four."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

WORDS = (("song", "lovely", "tune"), ("subscribe", "channel", "click"))
SIZES = {"train": 60, "valid": 20, "test": 24}


def write_tiny(folder: Path, seed: int = 0) -> Path:
    """Write all three splits; the training file is sorted by class."""
    rng = np.random.default_rng(seed)
    for split, n in SIZES.items():
        gold = np.sort(np.arange(n) % 2).astype(np.int16)
        texts = [
            f"{rng.choice(WORDS[c])} {rng.choice(WORDS[c])} number {i}" for i, c in enumerate(gold)
        ]
        right = rng.random((n, 3)) < 0.75
        cast = np.where(right, gold[:, None], 1 - gold[:, None])
        cast = np.where(rng.random((n, 3)) < 0.6, cast, -1)
        corpus = Corpus(
            ids=pl.Series("id", range(n)),
            texts=pl.Series("text", texts),
            columns=pl.DataFrame(),
            gold=gold,
            classes=("ham", "spam"),
        )
        votes = Votes.from_array(cast, classes=["ham", "spam"], sources=["a", "b", "c"])
        votes.to_wrench(folder, corpus, split)
    return folder
