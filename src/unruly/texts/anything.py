"""A corpus from whatever the user has at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unruly.errors import InputError
from unruly.texts.corpus import Corpus
from unruly.texts.frames import kind_of


def corpus_of(
    documents: object,
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    classes: Sequence[str] | None = None,
) -> Corpus:
    """Tell by its kind what `documents` is, and read it."""
    if isinstance(documents, Corpus):
        return documents
    if isinstance(documents, str | Path):
        return Corpus.read(documents, text=text, id=id, label=label, classes=classes)
    match kind_of(documents):
        case "pandas" | "polars":
            return Corpus.from_frame(documents, text=text, id=id, label=label, classes=classes)
        case "datasets":
            return Corpus.from_dataset(documents, text=text, id=id, label=label, classes=classes)
    values = documents
    if hasattr(documents, "tolist"):  # an array, or a pandas series
        values = documents.tolist()
    elif hasattr(documents, "to_list"):  # a polars series
        values = documents.to_list()
    if isinstance(values, Sequence):
        return Corpus.from_texts(values)
    raise InputError(
        f"expected a path, a frame, a Dataset or a list of texts, got {type(documents).__name__}"
    )
