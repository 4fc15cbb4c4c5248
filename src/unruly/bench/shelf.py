"""The data sets of a benchmark: the one in use is kept ready, and a run is made from it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from unruly.bench.datasets import Dataset, Folder
from unruly.bench.making import Keywords, make
from unruly.bench.run import Failure, Outcome, Run
from unruly.errors import UnrulyError
from unruly.features.cache import Cache
from unruly.progress import SILENT, Progress


class Shelf:
    """Loads what a run needs, and keeps the last data set, for the next run mostly needs the same."""

    def __init__(
        self,
        folders: Mapping[str, Folder],
        keywords: Mapping[str, Keywords],
        cache: Path | None = None,
    ) -> None:
        self._folders, self._keywords = dict(folders), dict(keywords)
        self._cache = Cache(cache) if cache else Cache()
        self._key: tuple[str, str, int | None] | None = None
        self._dataset: Dataset | None = None

    def emptied(self) -> Shelf:
        """The same shelf with nothing loaded, light enough to be sent to another process."""
        return Shelf(self._folders, self._keywords, self._cache.folder)

    def dataset(self, run: Run, progress: Progress = SILENT) -> Dataset:
        """The data set of a run, read and encoded."""
        key = run.dataset, run.encoder, run.rows
        if self._dataset is None or self._key != key:
            self._dataset = None  # its memory is free before the next is read
            folder = self._folders[run.dataset]
            self._dataset = folder.load(run.encoder, run.rows, self._cache, progress)
            self._key = key
        return self._dataset

    def attempt(self, run: Run, progress: Progress = SILENT) -> Outcome | Failure:
        """Make a run; whatever goes wrong becomes a sentence."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dataset = self.dataset(run, progress)
                return make(run, dataset, self._keywords.get(run.dataset), progress)
        except UnrulyError as error:
            return Failure(run, _line(str(error)))
        except Exception as error:
            return Failure(run, _line(f"unexpected {type(error).__name__}: {error}"))


def _line(text: str) -> str:
    return " ".join(text.split())
