"""An encoder of the user's own: a class with the two methods `fit(texts)` and `encode(texts)`.

scikit-learn's `transform` does as well as `encode`. What else an encoder of unruly's has is optional: a `name`;
an `identity`, a text that changes whenever the features do, so that they can be cached; `state()` and the
class method `from_state(state)`, plain values and arrays, so that what it learnt is saved with a model. A model
file names the class but never imports it: the user hands it over again when loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from unruly.errors import InputError
from unruly.features.encoder import State, text_views
from unruly.features.saving import import_path
from unruly.progress import SILENT, Progress, stage
from unruly.texts.corpus import Corpus

SAMPLE = 1  # texts encoded to see how wide the features are


def is_custom(value: object) -> bool:
    """Whether it has the two methods."""
    return callable(getattr(value, "fit", None)) and any(
        callable(getattr(value, verb, None)) for verb in ("encode", "transform")
    )


@dataclass(frozen=True, eq=False)
class CustomEncoder:
    """The user's object, with what `EncoderStack` needs beside it.

    >>> class Lengths:
    ...     def fit(self, texts):
    ...         return self
    ...
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> encoder = CustomEncoder(Lengths()).fit(["a", "bc"])
    >>> encoder.name, encoder.width, encoder.encode(["abc"]).tolist()
    ('Lengths', 1, [[3.0]])
    """

    own: Any
    width: int = 0  # 0 before `fit`
    path: str = ""  # under which it is saved; empty: where its class is defined

    @property
    def name(self) -> str:
        """Its own name, else that of its class."""
        given = getattr(self.own, "name", None)
        return given if isinstance(given, str) and given else type(self.own).__name__

    @property
    def kind(self) -> str:
        """ "module:Class"."""
        return self.path or import_path(self.own)

    @property
    def identity(self) -> str | None:
        """What the object says of itself; without it nothing is cached."""
        given = getattr(self.own, "identity", None)
        return f"custom-{given}" if isinstance(given, str) and given.isidentifier() else None

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """One block."""
        return ((self.name, self.width),)

    @property
    def plan(self) -> str | None:
        """Unknown, so it is fitted each time."""
        return None

    @property
    def aligned(self) -> bool:
        """It reads texts."""
        return False

    def views(self, corpus: Corpus) -> tuple[str, ...]:
        """Sentences, not tagged terms."""
        return text_views(corpus)

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> CustomEncoder:
        """Fit the user's object; one that returns nothing from `fit` has fitted itself."""
        with stage(progress, f"fitting {self.name}", len(texts), "texts"):
            fitted = self.own.fit(list(texts))
            progress.advance(len(texts))
        ready = replace(self, own=self.own if fitted is None else fitted)
        if not is_custom(ready.own):
            raise InputError(
                f"the encoder {self.name}: fit(texts) gave a {type(fitted).__name__}, which has no "
                "encode(texts): return self"
            )
        return replace(ready, width=ready.encode(texts[:SAMPLE]).shape[1])

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width), checked: one row of finite numbers a text."""
        verb = getattr(self.own, "encode", None) or self.own.transform
        with stage(progress, f"encoding with {self.name}", len(texts), "texts"):
            given = verb(list(texts))
            progress.advance(len(texts))
        try:
            values = np.asarray(given.toarray() if issparse(given) else given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"the encoder {self.name} did not give numbers: {error}") from None
        wide = values.shape[1] if values.ndim == 2 else 0
        if values.ndim != 2 or len(values) != len(texts) or wide < 1:
            raise InputError(
                f"the encoder {self.name} gave an array of shape {values.shape} for {len(texts)} texts: "
                "encode(texts) must give one row of numbers for each text"
            )
        if self.width and wide != self.width:
            raise InputError(
                f"the encoder {self.name} gave {wide} numbers a text, but {self.width} when it was fitted"
            )
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            raise InputError(
                f"the encoder {self.name} gave NaN or infinity for the text {texts[row][:60]!r}"
            )
        return values

    def state(self) -> State:
        """What the object's own `state()` gives, where it has one."""
        own = self.own.state() if callable(getattr(self.own, "state", None)) else None
        return {"width": self.width, "own": own}

    @classmethod
    def from_state(cls, given: Any, state: State, path: str) -> CustomEncoder:
        """From the class or object that the user named again: a class with a saved state is made from it."""
        own = given
        if isinstance(given, type):
            kept, restore = state["own"], getattr(given, "from_state", None)
            if kept is not None and not callable(restore):
                raise InputError(
                    f"{path} has state() but no class method from_state(state): give an object "
                    "that is ready to encode, or add it"
                )
            own = given() if kept is None or restore is None else restore(kept)
        if not is_custom(own):
            raise InputError(f"{path}: what was given for it has no fit(texts) and encode(texts)")
        return cls(own, int(state["width"]), path)
