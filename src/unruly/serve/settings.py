"""Settings of the server: the model, the address, the token, and the limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """How much one request may ask, and how much may wait."""

    body: int = 10_000_000  # bytes of one request
    texts: int = 1_000  # of one request
    characters: int = 100_000  # of one text
    waiting: int = 4_000  # texts that wait for a batch; more are turned away with 429
    batch: int = 256  # texts predicted together
    batch_characters: int = (
        500_000  # and no more characters than these, unless one request has more
    )
    explanations: int = 16  # that wait
    seconds: float = 30.0  # for a client to send its request, and for requests to end when stopping


@dataclass(frozen=True)
class ServeSettings:
    """Everything that `unruly serve` takes; workers get it by pickle, so it holds plain values alone."""

    model: Path
    functions: tuple[Path, ...] = ()  # Python files with the model's rule functions
    host: str = "127.0.0.1"
    port: int = 8080  # 0: any free one
    workers: int = 1
    token: str | None = field(default=None, repr=False)  # clients must send it, where there is one
    limits: Limits = Limits()
    log: str = "requests"  # or "none", or "texts": the texts, too
    counters: Path | None = None  # a folder where several workers share their metrics

    @property
    def name(self) -> str:
        """What the model goes by in answers: its file's name.

        >>> ServeSettings(Path("models/spam.unruly")).name
        'spam'
        """
        return self.model.stem
