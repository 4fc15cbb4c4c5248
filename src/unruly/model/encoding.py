"""The encoders of a model: fitted once, saved with it, and read back when a text is to be encoded."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.model.container import Container
from unruly.plural import plural
from unruly.progress import SILENT, Progress
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

if TYPE_CHECKING:  # encoders bring heavy libraries: they are imported when a text is to be encoded
    from unruly.features.cache import Cache
    from unruly.features.several import Several

FOLDER = "encoder"  # where the container keeps it
_NAMED = 8  # words that a note names


class Encoding:
    """Encoders as they were fitted; those of a loaded model are read on first use.

    >>> corpus = Corpus.from_texts(["a good film", "a bad film", "so good", "so bad"])
    >>> encoding = Encoding.fitted({"name": "lsa", "dim": 2}, corpus, cache=None)
    >>> encoding.name, encoding.features(corpus).width
    ('lsa', 4)
    """

    def __init__(self, name: str, encoder: Several | None, container: Container | None) -> None:
        self.name = name
        self._encoder = encoder
        self._container = container

    @classmethod
    def fitted(
        cls,
        spec: object,
        corpus: Corpus,
        cache: Cache | None,
        progress: Progress = SILENT,
        folder: Path | None = None,
        votes: Votes | None = None,
    ) -> Encoding:
        """Choose the encoder that `spec` asks for, and fit it on the training texts.

        With their votes, it also reads them without the words that rules read (`features.rule_words`).
        """
        from unruly.features.spec import encoder_from

        encoder = encoder_from(spec, folder).fit(corpus, cache, progress)
        if votes is not None:
            encoder = encoder.blotted(corpus, votes, cache, progress)
        return cls(encoder.name, encoder, None)

    def features(
        self, corpus: Corpus, cache: Cache | None = None, progress: Progress = SILENT
    ) -> Features:
        """The features of these documents."""
        return self._ready().encode(corpus, cache, progress)

    def notes(self) -> tuple[str, ...]:
        """What the user should know of how texts are read, a sentence each."""
        encoder = self._ready()
        words, twice = encoder.words, encoder.read_twice
        if not words:
            return ()
        named = ", ".join(words[:_NAMED]) + (", ..." if len(words) > _NAMED else "")
        again = (
            f", and {' and '.join(twice)} {'reads' if len(twice) == 1 else 'read'} each text once more without them, so that "
            "text does not only repeat the sources"
            if twice
            else ""
        )
        return (
            f"Found {plural(len(words), 'word')} that sources vote by ({named}): each is trusted as far as its own votes "
            f"bear out{again}.",
        )

    def _ready(self) -> Several:
        if self._encoder is None:
            from unruly.features.saving import load_encoder

            assert self._container is not None
            with tempfile.TemporaryDirectory(prefix="unruly-") as room:
                self._container.unpack(FOLDER, Path(room))
                self._encoder = load_encoder(Path(room))
        return self._encoder

    def members(self) -> dict[str, bytes]:
        """The files of the saved encoder, as members of a container."""
        if self._encoder is None and self._container is not None:
            names = [name for name in self._container.sizes if name.startswith(f"{FOLDER}/")]
            return {name: self._container.read(name) for name in names}
        from unruly.features.saving import save_encoder

        encoder = self._ready()
        for part in encoder.parts:
            _refuse_foreign(part.encoder)
        with tempfile.TemporaryDirectory(prefix="unruly-") as room:
            folder = Path(room) / FOLDER
            save_encoder(encoder, folder)
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            return {path.relative_to(room).as_posix(): path.read_bytes() for path in files}

    def to_plain(self) -> dict[str, Any]:
        """What is known without reading the encoder."""
        return {"name": self.name}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], container: Container) -> Encoding:
        """The encoder of a loaded model, not read yet."""
        return cls(plain["name"], None, container)


def _refuse_foreign(encoder: Any) -> None:
    from unruly.features.saving import kind_of

    try:
        kind_of(encoder)
    except KeyError:
        raise InputError(
            f"the encoder {encoder.name} is a class of your own and cannot be saved with the model: "
            "encode the texts yourself and fit on features, or use one of unruly's encoders"
        ) from None


def plain_spec(spec: Any) -> Any:
    """What the encoder was asked for, as JSON can hold it; an encoder object goes by its kind."""
    if isinstance(spec, Mapping):
        return {str(key): plain_spec(value) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [plain_spec(part) for part in spec]
    if hasattr(spec, "encoders"):
        return [plain_spec(part) for part in spec.encoders]
    if spec is None or isinstance(spec, str | int | float | bool):
        return spec
    return type(spec).__name__.lower()
