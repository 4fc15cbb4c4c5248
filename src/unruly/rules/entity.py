"""`entity`: something of a given type is named in the text (spaCy)."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl

from unruly.errors import RuleError
from unruly.extras import need
from unruly.rules.condition import TEXT, Needs, Place, Plain, Row, Span, Table

MODEL = "en_core_web_sm"
_FOUND = pl.List(pl.Struct({"start": pl.Int64, "end": pl.Int64, "type": pl.String}))


@dataclass(frozen=True)
class Entity:
    """An entity of the type occurs, as found by a spaCy model: its name, or the path of its folder."""

    type: str
    model: str = MODEL
    folder: str = "."  # where a path in `model` starts from

    def __post_init__(self) -> None:
        if not self.type or not self.model:
            raise RuleError('an entity needs a type, such as "PERSON", and a model')

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Entity:
        """From the key `entity`, a table."""
        here = place.at("entity")
        inner = here.table(table["entity"])
        here.only(inner, ("type", "model"), "entity")
        if not place.files:
            raise here.error("rules of a model file load no spaCy model")
        if "type" not in inner:
            raise here.error('an entity needs a type: add type = "PERSON", or another of the model')
        model = here.at("model").text(inner.get("model", MODEL))
        return cls(here.at("type").text(inner["type"]), model, str(place.folder))

    def _measure(self) -> Entities:
        path = Path(self.folder) / self.model
        return Entities(str(path) if path.is_dir() else self.model)

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(measures=(self._measure(),))

    def mask(self) -> pl.Expr:
        is_type = pl.element().struct.field("type") == self.type
        return pl.col(self._measure().name).list.eval(is_type).list.any()

    def spans(self, row: Row) -> tuple[Span, ...]:
        found = cast(Sequence[Mapping[str, Any]], row[self._measure().name])
        return tuple((e["start"], e["end"]) for e in found if e["type"] == self.type)

    def reads(self) -> tuple[str, ...]:
        return ()

    def reason(self) -> str:
        return f"entity: {self.type}"

    def to_plain(self) -> Table:
        return {"entity": {"type": self.type, "model": self.model}}

    def meaning(self) -> Plain:
        return [self.type, self._measure().meaning()]


@dataclass(frozen=True)
class Entities:
    """All entities that one model finds, each with its type and its characters."""

    model: str

    @property
    def name(self) -> str:
        return f"__entities:{self.model}"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def meaning(self) -> Plain:
        meta = Path(self.model) / "meta.json"
        if meta.is_file():
            files = sorted(p for p in Path(self.model).rglob("*") if p.is_file())
            sizes = [[p.name, p.stat().st_size, p.stat().st_mtime_ns] for p in files]
            return [self.model, meta.read_text(encoding="utf-8"), cast(Plain, sizes)]
        try:
            return [self.model, importlib.metadata.version(self.model)]
        except importlib.metadata.PackageNotFoundError:
            return [self.model, "missing"]

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        pipeline = _pipeline(self.model)
        found = [
            [{"start": e.start_char, "end": e.end_char, "type": e.label_} for e in document.ents]
            for document in pipeline.pipe(frame[TEXT].to_list())
        ]
        return pl.Series(self.name, found, dtype=_FOUND)


@functools.lru_cache(maxsize=4)
def _pipeline(model: str) -> Any:
    spacy = need("spacy", extra="spacy", purpose="entity rules")
    try:
        return spacy.load(model, exclude=["parser", "lemmatizer", "textcat"])
    except OSError:
        raise RuleError(
            f"there is no spaCy model {model!r}: install it with python -m spacy download {model}, "
            "or give the path of a model's folder"
        ) from None
