"""`polarity`, `subjectivity` (TextBlob) and `vader`: other people's tools as rules."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from unruly.errors import RuleError
from unruly.extras import need
from unruly.rules.condition import TEXT, Needs, Place, Plain, Table

Score = Literal["polarity", "subjectivity", "vader"]
SCORES: tuple[Score, ...] = ("polarity", "subjectivity", "vader")
_DIGITS = 12  # both tools add decimal fractions; what is left beyond is noise of the addition


@dataclass(frozen=True)
class Sentiment:
    """A score of the text lies above or below a threshold, which itself does not count.

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
        here = place.at(score)
        inner = here.table(table[score])
        here.only(inner, ("above", "below"), score)
        bounds = {key: here.at(key).number(value) for key, value in inner.items()}
        try:
            return cls(score, bounds.get("above"), bounds.get("below"))
        except RuleError as error:
            raise here.error(error.message) from None

    def _measure(self) -> Tool:
        return Tool("vader" if self.score == "vader" else "textblob")

    def needs(self, classes: tuple[str, ...]) -> Needs:
        return Needs(measures=(self._measure(),))

    def mask(self) -> pl.Expr:
        value = pl.col(self._measure().name).struct.field(self.score)
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
        return [self.to_plain(), self._measure().meaning()]


@dataclass(frozen=True)
class Tool:
    """All scores of one tool for each text, whichever of them a rule asks for."""

    tool: Literal["textblob", "vader"]

    @property
    def name(self) -> str:
        return f"__{self.tool}"

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    def meaning(self) -> Plain:
        try:
            version = importlib.metadata.version(
                "vaderSentiment" if self.tool == "vader" else self.tool
            )
        except importlib.metadata.PackageNotFoundError:
            version = "missing"
        return [self.tool, version]

    def compute(self, frame: pl.DataFrame) -> pl.Series:
        score = _textblob() if self.tool == "textblob" else _vader()
        seen: dict[str, dict[str, float]] = {}
        for text in frame[TEXT]:
            if text not in seen:
                seen[text] = score(text)
        fields = ("polarity", "subjectivity") if self.tool == "textblob" else ("vader",)
        return pl.Series(
            self.name,
            [seen[text] for text in frame[TEXT]],
            dtype=pl.Struct(dict.fromkeys(fields, pl.Float64)),
        )


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
