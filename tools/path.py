"""Prints the files that one document passes from `unruly fit` to the saved model, in order.

A file is passed when one of its functions is handed the documents, or gives them back: as a corpus, votes, features,
posteriors or the fitted model, or as an array, column or list with one entry for each document. What only reads rules,
options or the project file, and what prints, is not. Run it as `python tools/path.py [PROJECT]`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import numpy as np
import polars as pl

import unruly
from unruly.project.new import make_starter

HOUSE = str(Path(unruly.__file__).parent)
CARRIERS = (
    "Corpus", "CorpusStream", "Rows", "Documents", "Votes", "SparseVotes", "MatchFrame", "Features",
    "FeatureFile", "Posteriors", "DenoisedModel", "Predictions", "Fitted",
)  # fmt: skip


class Followed:
    """Watches every call, and notes the files of ours that are handed documents."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.files: dict[str, None] = {}  # in the order in which they are passed

    def __call__(self, frame: FrameType, event: str, result: object) -> None:
        place = frame.f_code.co_filename
        if event not in ("call", "return") or not place.startswith(HOUSE):
            return
        values = list(frame.f_locals.values()) if event == "call" else [result]
        if any(self._carries(value) for value in values):
            self.files[place.removeprefix(HOUSE).lstrip("/")] = None

    def _carries(self, value: object) -> bool:
        if type(value).__name__ in CARRIERS:
            return True
        if isinstance(value, np.ndarray):
            return bool(value.ndim and value.shape[0] == self.n)
        if isinstance(value, pl.Series | list | tuple):
            return len(value) == self.n
        return isinstance(value, pl.DataFrame) and value.height == self.n


def passed(project: Path, model: Path) -> list[str]:
    """The files that the documents of this project pass on their way into the model."""
    read = unruly.Project.read(project)
    followed = Followed(len(read.corpus("train")))
    threading.setprofile(followed)
    sys.setprofile(followed)
    try:
        read.fit(score=False).model.save(model)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(followed.files)


def main() -> None:
    """The path in the project that is named, or in the starter project."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNRULY_CACHE"] = (
            f"{folder}/cache"  # what is kept from other runs would be passed by
        )
        named = sys.argv[1] if len(sys.argv) > 1 else make_starter(Path(folder) / "starter")
        files = passed(Path(named), Path(folder) / "model.unruly")
    print(*files, f"{len(files)} files", sep="\n")


if __name__ == "__main__":
    main()
