"""The encoders of a model: fitted once, saved with it, and read back when a text is to be encoded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unruly.features.encoder import Encoder, Features
from unruly.model.container import Container
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus


class Encoding:
    """Encoders as they were fitted; those of a loaded model are read on first use."""

    def __init__(self, name: str, encoder: Encoder | None, container: Container | None) -> None:
        self.name = name
        self._encoder = encoder
        self._container = container

    @classmethod
    def fitted(cls, spec: object, corpus: Corpus, progress: Progress = SILENT) -> Encoding:
        """Choose the encoder that `spec` asks for, and fit it on the training texts."""
        raise NotImplementedError

    def features(self, corpus: Corpus, progress: Progress = SILENT) -> Features:
        """The features of these documents."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def to_plain(self) -> dict[str, Any]:
        return {"name": self.name}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], container: Container) -> Encoding:
        return cls(plain["name"], None, container)
