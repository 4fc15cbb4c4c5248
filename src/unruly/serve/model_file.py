"""The model in service, and the file that it came from: loaded, made ready, and loaded again when it is replaced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unruly.errors import InputError, UnrulyError
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents
from unruly.model.storage import load
from unruly.texts.corpus import Corpus

_DIGEST = 64  # hexadecimal signs of the SHA-256 that ends a model file
_WARM = ("a text to begin with", "")


@dataclass(frozen=True)
class Stamp:
    """What a file is recognised by without reading it."""

    inode: int
    bytes: int
    changed: int  # nanoseconds

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The stamp of a file, None where there is none."""
        try:
            about = path.stat()
        except OSError:
            return None
        return cls(about.st_ino, about.st_size, about.st_mtime_ns)


@dataclass(frozen=True, eq=False)
class Served:
    """A model that is ready to answer."""

    fitted: Fitted
    checksum: str  # SHA-256 of the file
    stamp: Stamp
    loaded: float  # seconds since 1970


def load_served(path: Path, functions: tuple[Path, ...] = ()) -> Served:
    """Read a model and let it answer once, so that everything it needs is there before the first request."""
    for _ in range(10):
        stamp = Stamp.of(path)
        fitted = load(path, tuple(functions) or None).fitted
        checksum = _checksum(path)
        if stamp is not None and stamp == Stamp.of(path):
            break
    else:
        raise InputError(f"{path}: the file is written to all the time: replace it as a whole")
    if fitted.encoder is None:
        raise InputError(
            f"{path}: the model was fitted on features, and requests are texts: fit it on texts"
        )
    fitted.predictions(Documents(Corpus.from_texts(_WARM, name="a request"), None))
    return Served(fitted, checksum, stamp, time.time())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(-_DIGEST, 2)
        return file.read().decode("ascii")


class ModelFile:
    """The model in service; `watch` replaces it when its file is."""

    def __init__(self, path: Path, functions: tuple[Path, ...], served: Served) -> None:
        self.path, self.functions = path, functions
        self.served = served
        self.problem: str | None = None  # why the file that lies there now is not in service
        self._seen = served.stamp

    async def watch(self, notify: Callable[[str, str], None], seconds: float = 1.0) -> None:
        """Look at the file again and again; `notify` gets the outcome of each reload, and a sentence."""
        while True:
            before = Stamp.of(self.path)
            await asyncio.sleep(seconds)
            now = Stamp.of(self.path)
            if now is not None and now == before and now != self._seen:
                self._seen = now
                await self._reload(notify)

    async def _reload(self, notify: Callable[[str, str], None]) -> None:
        """Load the new file while the old model answers; keep the old one where the new cannot be used."""
        try:
            served = await asyncio.to_thread(load_served, self.path, self.functions)
        except (UnrulyError, OSError) as error:
            self.problem = str(error)
            notify("failed", f"{error}; the model loaded before stays in service")
            return
        self.served, self.problem, self._seen = served, None, served.stamp
        notify("done", f"{self.path}: the replaced model is in service ({served.checksum[:12]})")
