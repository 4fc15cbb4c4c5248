"""The encoders of a model: fitted once, saved with it, and read back when a text is to be encoded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unruly.errors import ModelFileError
from unruly.facts import EncoderFallback
from unruly.features.encoder import Features
from unruly.features.saving import NamedByFile, Permitted, import_path, refused
from unruly.model.container import Container
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus

if TYPE_CHECKING:  # encoders bring heavy libraries: they are imported when a text is to be encoded
    from unruly.features.cache import Cache
    from unruly.features.encoder import Encoder
    from unruly.features.stack import EncoderStack

FOLDER = "encoder/"  # where the container keeps it


class Encoding:
    """Encoders as they were fitted; those of a loaded model are read on first use.

    >>> corpus = Corpus.from_texts(["a good film", "a bad film", "so good", "so bad"])
    >>> encoding = Encoding.fitted({"name": "lsa", "dim": 2}, corpus, cache=None)
    >>> encoding.name, encoding.features(corpus).width
    ('lsa', 4)
    """

    def __init__(self, name: str, stack: EncoderStack | None, saved: Saved | None = None) -> None:
        self.name = name
        self._stack = stack
        self._saved = saved

    @classmethod
    def fitted(
        cls,
        spec: object,
        corpus: Corpus,
        cache: Cache | None,
        progress: Progress = SILENT,
        folder: Path | None = None,
    ) -> Encoding:
        """Choose the encoder that `spec` asks for, and fit it on the training texts."""
        from unruly.features.spec import encoder_from

        stack = encoder_from(spec, folder).fit(corpus, cache, progress)
        return cls(stack.name, stack)

    def features(
        self, corpus: Corpus, cache: Cache | None = None, progress: Progress = SILENT
    ) -> Features:
        """The features of these documents."""
        return self._ready().encode(corpus, cache, progress)

    def notes(self) -> tuple[EncoderFallback, ...]:
        """What the user should know of how texts are read."""
        return self._ready().notes()

    def _ready(self) -> EncoderStack:
        if self._stack is None:
            assert self._saved is not None
            self._stack = self._saved.opened()
        return self._stack

    def first(self) -> Encoder:
        """The first of the encoders, fitted: what rules that compare texts by meaning see texts with."""
        return self._ready().parts[0].encoder

    def members(self) -> dict[str, bytes]:
        """The files of the saved encoder, as members of a container."""
        files = self._saved.files if self._saved is not None else self._ready().to_members()
        return {f"{FOLDER}{name}": data for name, data in files.items()}

    def to_plain(self) -> dict[str, Any]:
        """What is known without reading the encoder."""
        return {"name": self.name}

    @classmethod
    def from_plain(
        cls, plain: Mapping[str, Any], container: Container, encoders: object = None
    ) -> Encoding:
        """The encoder of a loaded model, not read yet.

        `encoders` is what the user names beside the file: a model on the hub or in a folder, or an encoder of
        their own (`features.saving`). A file that needs more than that is refused now.
        """
        members = container.members.items()
        files = {k.removeprefix(FOLDER): data for k, data in members if k.startswith(FOLDER)}
        saved = Saved(files, encoders, str(container.path))
        saved.check()
        return cls(str(plain["name"]), None, saved)


class Saved:
    """A stack of encoders as bytes, and what the user lets it open."""

    def __init__(self, files: Mapping[str, bytes], encoders: object, where: str) -> None:
        self.files = files
        self.encoders = encoders
        self.where = where

    def check(self) -> None:
        """Refuse a file that names what the user did not, before anything is opened."""
        if why := refused(self.files, Permitted.of(self.encoders)):
            raise ModelFileError(f"{self.where}: {why}")

    def opened(self) -> EncoderStack:
        """The stack."""
        from unruly.features.stack import EncoderStack

        return EncoderStack.from_members(self.files, Permitted.of(self.encoders), self.where)


def plain_spec(spec: Any) -> Any:
    """What the encoder was asked for, as JSON can hold it; an encoder object goes by its kind or class."""
    if isinstance(spec, Mapping):
        return {str(key): plain_spec(value) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [plain_spec(part) for part in spec]
    if isinstance(spec, NamedByFile):
        return plain_spec(spec.spec)
    if hasattr(spec, "encoders"):
        return [plain_spec(part) for part in spec.encoders]
    if spec is None or isinstance(spec, str | int | float | bool):
        return spec
    own = getattr(spec, "kind", None)
    return own if isinstance(own, str) else import_path(spec)
