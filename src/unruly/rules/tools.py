"""`length`, and other people's tools as rules: `polarity`, `subjectivity` (TextBlob), `vader` and `entity` (spaCy).

Each tool reads a text once, however many rules use it.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from unruly.errors import RuleError, need
from unruly.rules.condition import (
    TEXT,
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    Row,
    Span,
    Table,
)
from unruly.rules.timeouts import Countdown

Score = Literal["polarity", "subjectivity", "vader"]
SCORES: tuple[Score, ...] = ("polarity", "subjectivity", "vader")
_BOUNDS = ("min_words", "max_words", "min_chars", "max_chars")
_DIGITS = 12  # scores are sums of decimal fractions; digits beyond these are rounding noise
MODEL = "en_core_web_sm"
_ENTITIES = pl.List(pl.Struct({"start": pl.Int64, "end": pl.Int64, "type": pl.String}))


@dataclass(frozen=True)
class Length(Condition):
    """The number of words (split at white space) or characters is between bounds.

    >>> rule = Length(max_words=2)
    >>> pl.DataFrame({TEXT: ["nice song", "a b c", ""]}).select(rule.mask()).to_series().to_list()
    [True, False, True]
    """

    min_words: int | None = None
    max_words: int | None = None
    min_chars: int | None = None
    max_chars: int | None = None

    def __post_init__(self) -> None:
        if not self._bounds():
            raise RuleError(f"a length needs a bound: one or more of {', '.join(_BOUNDS)}")
        if large := [key for key, bound in self._bounds().items() if bound >= 2**63]:
            raise RuleError(f"{large[0]} is too large: no text is so long")
        for unit, low, high in (
            ("words", self.min_words, self.max_words),
            ("chars", self.min_chars, self.max_chars),
        ):
            if low is not None and high is not None and low > high:
                raise RuleError(f"no text has at least {low} and at most {high} {unit}")

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Length:
        """From the key `length`, a table of bounds."""
        here, inner = place.section(table, "length", _BOUNDS)
        bounds = {key: here.at(key).count(value) for key, value in inner.items()}
        with here.blamed():
            return cls(*(bounds.get(key) for key in _BOUNDS))

    def _bounds(self) -> dict[str, int]:
        values = (self.min_words, self.max_words, self.min_chars, self.max_chars)
        return {key: value for key, value in zip(_BOUNDS, values, strict=True) if value is not None}

    def mask(self) -> pl.Expr:
        words = pl.col(TEXT).str.count_matches(r"\S+")
        chars = pl.col(TEXT).str.len_chars()
        tests = []
        for key, bound in self._bounds().items():
            size = words if key.endswith("words") else chars
            tests.append(size >= bound if key.startswith("min") else size <= bound)
        return pl.all_horizontal(tests)

    def reason(self) -> str:
        return "length: " + ", ".join(f"{key} {bound}" for key, bound in self._bounds().items())

    def to_plain(self) -> Table:
        return {"length": dict(self._bounds())}


@dataclass(frozen=True)
class Sentiment(Condition):
    """A score of the text is above or below a threshold (not equal to it).

    `polarity` (-1 to 1) and `subjectivity` (0 to 1) are TextBlob's, `vader` (-1 to 1) is VADER's
    compound score.

    >>> Sentiment("polarity", above=0.9).reason()
    'polarity above 0.9'
    """

    score: Score
    above: float | None = None
    below: float | None = None

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise RuleError(f"the score must be one of {', '.join(SCORES)}, not {self.score!r}")
        if self.above is None and self.below is None:
            raise RuleError(f"{self.score} needs a threshold: above, below, or both")
        if self.above is not None and self.below is not None and self.above >= self.below:
            raise RuleError(f"no {self.score} is above {self.above} and below {self.below}")

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Sentiment:
        """From the key `polarity`, `subjectivity` or `vader`, a table of thresholds."""
        score = next(s for s in SCORES if s in table)
        here, inner = place.section(table, score, ("above", "below"))
        bounds = {key: here.at(key).number(value) for key, value in inner.items()}
        with here.blamed():
            return cls(score, bounds.get("above"), bounds.get("below"))

    @property
    def _tool(self) -> str:
        return "vader" if self.score == "vader" else "textblob"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        tool = self._tool
        scores = Measure(f"__{tool}", partial(_scores, tool), meaning=partial(_version, tool))
        return Needs(measures=(scores,))

    def mask(self) -> pl.Expr:
        value = pl.col(f"__{self._tool}").struct.field(self.score)
        tests = [] if self.above is None else [value > self.above]
        return pl.all_horizontal(tests if self.below is None else [*tests, value < self.below])

    def reason(self) -> str:
        bounds = {"above": self.above, "below": self.below}
        limits = " and ".join(f"{word} {b:g}" for word, b in bounds.items() if b is not None)
        return f"{self.score} {limits}"

    def to_plain(self) -> Table:
        bounds = {"above": self.above, "below": self.below}
        return {self.score: {key: b for key, b in bounds.items() if b is not None}}

    def meaning(self) -> Plain:
        return [self.to_plain(), _version(self._tool)]


def _version(tool: str) -> Plain:
    try:
        version = importlib.metadata.version("vaderSentiment" if tool == "vader" else tool)
    except importlib.metadata.PackageNotFoundError:
        version = "missing"
    return [tool, version]


def _scores(tool: str, frame: pl.DataFrame) -> pl.Series:
    """All scores of one tool for each text, whichever of them a rule asks for."""
    score = _textblob() if tool == "textblob" else _vader()
    seen = {text: score(text) for text in frame[TEXT].unique(maintain_order=True)}
    fields = ("polarity", "subjectivity") if tool == "textblob" else ("vader",)
    kind = pl.Struct(dict.fromkeys(fields, pl.Float64))
    return pl.Series(f"__{tool}", [seen[text] for text in frame[TEXT]], dtype=kind)


def _textblob() -> Callable[[str], dict[str, float]]:
    sentiment = need("textblob.en", extra="sentiment", purpose="polarity rules").sentiment

    def score(text: str) -> dict[str, float]:
        polarity, subjectivity = sentiment(text)
        return {"polarity": round(polarity, _DIGITS), "subjectivity": round(subjectivity, _DIGITS)}

    return score


@functools.lru_cache(maxsize=1)
def _vader() -> Callable[[str], dict[str, float]]:
    module = need("vaderSentiment.vaderSentiment", extra="sentiment", purpose="vader rules")
    analyser = module.SentimentIntensityAnalyzer()
    return lambda text: {"vader": analyser.polarity_scores(text)["compound"]}


@dataclass(frozen=True)
class Entity(Condition):
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
        here, inner = place.section(table, "entity", ("type", "model"))
        if not place.files:
            raise here.error("rules of a model file load no spaCy model")
        if "type" not in inner:
            raise here.error('an entity needs a type: add type = "PERSON", or another of the model')
        model = here.at("model").text(inner.get("model", MODEL))
        return cls(here.at("type").text(inner["type"]), model, str(place.folder))

    @property
    def _opened(self) -> str:
        """The folder of its model, or the name."""
        path = Path(self.folder) / self.model
        return str(path) if path.is_dir() else self.model

    @property
    def _column(self) -> str:
        return f"__entities:{self._opened}"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        work, meaning = partial(_entities, self._opened), partial(_files_of, self._opened)
        return Needs(measures=(Measure(self._column, work, meaning=meaning),))

    def mask(self) -> pl.Expr:
        is_type = pl.element().struct.field("type") == self.type
        return pl.col(self._column).list.eval(is_type).list.any()

    def spans(self, row: Row, countdown: Countdown) -> tuple[Span, ...]:
        found = cast(Sequence[Mapping[str, Any]], row[self._column])
        return tuple((e["start"], e["end"]) for e in found if e["type"] == self.type)

    def reason(self) -> str:
        return f"entity: {self.type}"

    def to_plain(self) -> Table:
        return {"entity": {"type": self.type, "model": self.model}}

    def meaning(self) -> Plain:
        return [self.type, _files_of(self._opened)]


def _files_of(model: str) -> Plain:
    """What a model's answers depend on: the version of its package, or the files of its folder."""
    meta = Path(model) / "meta.json"
    if meta.is_file():
        files = sorted(p for p in Path(model).rglob("*") if p.is_file())
        sizes = [[p.name, p.stat().st_size, p.stat().st_mtime_ns] for p in files]
        return [model, meta.read_text(encoding="utf-8"), cast(Plain, sizes)]
    try:
        return [model, importlib.metadata.version(model)]
    except importlib.metadata.PackageNotFoundError:
        return [model, "missing"]


def _entities(model: str, frame: pl.DataFrame) -> pl.Series:
    """All entities that one model finds, each with its type and its characters."""
    found = [
        [{"start": e.start_char, "end": e.end_char, "type": e.label_} for e in document.ents]
        for document in _pipeline(model).pipe(frame[TEXT].to_list())
    ]
    return pl.Series(f"__entities:{model}", found, dtype=_ENTITIES)


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
