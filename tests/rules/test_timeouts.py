"""One clock for each source and document, another for all sources: counted by a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import RuleError
from unruly.findings import finding_to_plain, note_from_plain
from unruly.rules import AnyOf, Keywords, Pattern, timeouts
from unruly.rules import pattern as pattern_module
from unruly.rules.condition import TEXT, Condition
from unruly.rules.keywords import WordSequence
from unruly.rules.matching import Matcher, given_up
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.timeouts import (
    MOST_SECONDS,
    Clocks,
    Countdown,
    FailedExpression,
    TimedProcess,
    _ranges,
)
from unruly.sentences import sentence
from unruly.texts.corpus import Corpus

CLASSES = ["no", "yes"]


class Time:
    """A clock that runs only while a pattern is matched, and notes what it was given."""

    def __init__(self) -> None:
        self.now = 0.0
        self.given: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def use_up(self, seconds: float) -> None:
        self.given.append(seconds)
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Every pattern, in either engine, takes all the time that it gets, except on a text without an a."""
    time = Time()
    for module in (pattern_module, timeouts):
        monkeypatch.setattr(module, "time", time)

    class Endless:
        def search(self, text: str, timeout: float) -> None:
            if "a" in text:
                time.use_up(timeout)
                raise TimeoutError

        def finditer(self, text: str, timeout: float) -> list[None]:
            time.use_up(timeout)
            raise TimeoutError

    def ask(
        self: TimedProcess, expressions: Sequence[pl.Expr], frame: pl.DataFrame, seconds: float
    ) -> None:
        if seconds != timeouts._PATIENCE:
            time.use_up(seconds)

    def find(
        self: TimedProcess,
        pattern: str,
        ignore_case: bool,
        text: str,
        seconds: float,
        most: int = 0,
    ) -> None:
        time.use_up(seconds)

    monkeypatch.setattr(TimedProcess, "find", find)
    monkeypatch.setattr(pattern_module, "_compiled", lambda pattern, ignore_case: Endless())
    monkeypatch.setattr(TimedProcess, "begin", lambda self: True)
    monkeypatch.setattr(TimedProcess, "ask", ask)
    return time


def python(number: int, seconds: float = 1.0) -> Pattern:
    return Pattern(f"(a+)+b{number}", engine="python", seconds=seconds)


def linear(number: int) -> Pattern:
    return Pattern(f"(a{{1,99}}){{1,9}}b{number}")


SLOW = WordSequence(["a"], ["b"], within_chars=5_000)


@pytest.mark.filterwarnings("ignore:.*timed out")
@pytest.mark.parametrize("make", [python, linear])
def test_all_patterns_of_a_source_share_one_clock(
    time: Time, make: Callable[[int], Pattern]
) -> None:
    text = "a" * 100_000
    for rules in (
        [Rule("yes", AnyOf(tuple(make(i) for i in range(60))))],
        [Rule("yes", make(i)) for i in range(60)],
    ):
        time.given.clear()
        votes = Sources(CLASSES, [Source("bombs", rules)]).vote(Corpus.from_texts([text, "song"]))
        assert sum(time.given) == pytest.approx(1.0)
        (fact,) = given_up(votes)
        assert (fact.source, fact.rule, fact.documents, fact.seconds) == ("bombs", 1, 1, 1.0)


@pytest.mark.filterwarnings("ignore:.*timed out")
@pytest.mark.parametrize("make", [python, linear])
def test_all_sources_share_another(time: Time, make: Callable[[int], Pattern]) -> None:
    sources = [Source(f"s{i}", [Rule("yes", make(i))]) for i in range(60)]
    votes = Sources(CLASSES, sources).vote(Corpus.from_texts(["a" * 100_000]))
    assert sum(time.given) == pytest.approx(MOST_SECONDS)
    assert len(given_up(votes)) == 60


@pytest.mark.filterwarnings("ignore:.*timed out")
def test_both_engines_share_the_clock_of_a_source(time: Time) -> None:
    source = Source("s", [Rule("yes", linear(0)), Rule("yes", python(1, 0.25))])
    votes = Sources(CLASSES, [source]).vote(Corpus.from_texts(["a" * 100_000]))
    assert sum(time.given) == pytest.approx(1.0)
    assert [(fact.rule, fact.documents) for fact in given_up(votes)] == [(1, 1)]


@pytest.mark.filterwarnings("ignore:.*timed out")
@pytest.mark.parametrize("make", [python, linear])
def test_a_split_knows_where_its_rules_took_too_long(
    time: Time, make: Callable[[int], Pattern]
) -> None:
    sources = Sources(CLASSES, [Source("s", [Rule("yes", make(0))])])
    votes = sources.vote(Corpus.from_texts(["a" * 100_000, "song", "a" * 100_001]))
    assert [fact.documents for fact in given_up(votes)] == [2]
    assert [fact.documents for fact in given_up(votes[1:])] == [1]
    assert given_up(votes[[1]]) == ()


def test_counting_what_was_given_up_leaves_the_clocks_alone() -> None:
    matcher = Matcher((Source("s", [Rule("yes", python(0))]),), ("no", "yes"))
    measure = python(0).needs(matcher.classes).measures[0]
    gaps = pl.Series(measure.name, [None, False], dtype=pl.Boolean)
    frame, clocks = pl.DataFrame({TEXT: ["a", "b"]}).with_columns(gaps), Clocks(2)
    clocks.given_up = {"s": {}}
    (fact,) = matcher._given_up(matcher.sources, frame, clocks)
    assert fact.rows.tolist() == [True, False]
    assert clocks.given_up == {"s": {}}


@pytest.mark.parametrize(
    ("when", "remedy"),
    [
        (linear(0), "simplify nested repetition in the pattern, or set seconds"),
        (AnyOf((SLOW, linear(0))), "simplify nested repetition in the pattern, or set seconds"),
        (SLOW, "make within_words or within_chars of the sequence smaller, or its lists"),
    ],
)
def test_the_remedy_is_one_that_the_rule_has(time: Time, when: Condition, remedy: str) -> None:
    sources = Sources(CLASSES, [Source("s", [Rule("yes", when)])])
    with pytest.warns(UserWarning, match=f"abstains there: {remedy}"):
        votes = sources.vote(Corpus.from_texts(["a" * 1_000_000]))
    (fact,) = given_up(votes)
    assert remedy in sentence(fact)
    assert note_from_plain(finding_to_plain(fact)) == fact


@pytest.mark.filterwarnings("ignore:.*timed out")
def test_a_rule_that_needs_no_time_still_votes(time: Time) -> None:
    rules = [Rule("yes", python(0)), Rule("no", Keywords(["song"]))]
    votes = Sources(CLASSES, [Source("s", rules)]).vote(Corpus.from_texts(["a song", "song"]))
    assert votes.matrix[:, 0].tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore:.*timed out")
def test_the_words_that_made_a_rule_match_are_looked_for_within_one_clock(time: Time) -> None:
    several = AnyOf((Keywords(["song"]), *(python(i) for i in range(60))))
    sources = [Source(f"s{i}", [Rule("yes", several)]) for i in range(30)]
    votes = Sources(CLASSES, sources).vote(Corpus.from_texts(["song"]))
    found = votes.matches(0)
    assert [match.spans for match in found] == [((0, 4),)] * 30
    assert sum(time.given) == pytest.approx(MOST_SECONDS)
    assert sum(time.given[:1]) == pytest.approx(1.0)


def test_a_rule_cannot_ask_for_hours() -> None:
    with pytest.raises(RuleError, match="seconds must be above 0 and at most 10, not 10000"):
        Pattern("a", seconds=1e9)


def test_the_other_process_evaluates_expressions() -> None:
    frame = pl.DataFrame({TEXT: ["ab", "b"], "n": [1, 2]})
    with TimedProcess() as process:
        told = process.ask([pl.col(TEXT).str.contains("a"), pl.lit(7).alias("x")], frame, 60)
        assert told is not None
        assert told.rows() == [(True, 7), (False, 7)]
        with pytest.raises(FailedExpression, match="conversion"):
            process.ask([pl.col(TEXT).cast(pl.Int64)], frame, 60)
        again = process.ask([pl.lit("still there").alias("x")], frame, 60)
        assert again is not None
        assert again["x"].to_list() == ["still there"] * 2


def test_an_error_on_a_long_text_names_the_rule() -> None:
    texts = ["a" * 100_000, "song"]
    frame = pl.DataFrame({"text": texts, "stars": [["x"], ["y"]]})
    from unruly.rules import AllOf, Field

    rules = [Rule("yes", linear(0)), Rule("yes", AllOf((linear(1), Field("stars", low=1))))]
    with pytest.raises(RuleError, match="source 's', rule 2: "):
        Sources(CLASSES, [Source("s", rules)]).vote(frame)


def test_without_time_nothing_is_asked() -> None:
    with Countdown(0) as countdown:
        assert countdown.over
        assert countdown.ask([pl.col("a")], pl.DataFrame({"a": [1]})) is None


def test_the_other_process_runs_no_module_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("json", "io", "polars", "encodings"):
        (tmp_path / f"{module}.py").write_text("open('ran', 'w').close()")
    monkeypatch.chdir(tmp_path)
    with Countdown(60.0) as countdown:
        answer = countdown.ask([pl.col("a") + 1], pl.DataFrame({"a": [1]}))
    assert answer is not None
    assert answer["a"].to_list() == [2]
    assert not (tmp_path / "ran").exists()


@given(st.lists(st.integers(0, 50), max_size=20), st.integers(1, 60))
def test_ranges_hold_as_many_rows_as_fit_and_every_row_once(sizes: list[int], most: int) -> None:
    found = list(_ranges(np.array(sizes, np.int64), most))
    assert [row for start, stop in found for row in range(start, stop)] == list(range(len(sizes)))
    for start, stop in found:
        assert stop - start == 1 or sum(sizes[start:stop]) <= most
        if stop < len(sizes):
            assert sum(sizes[start : stop + 1]) > most  # one more would not have fitted


def test_clocks_are_spent_for_a_source_and_for_all() -> None:
    clocks = Clocks(3)
    assert clocks.of("a", 2.0).tolist() == [2.0] * 3
    clocks.spend("a", 1, 0.5)
    clocks.spend("a", slice(2, 3), np.array([MOST_SECONDS - 1]))
    assert clocks.of("a", 2.0).tolist() == [2.0, 1.5, pytest.approx(3 - MOST_SECONDS)]
    assert clocks.of("b", MOST_SECONDS).tolist() == [MOST_SECONDS, MOST_SECONDS - 0.5, 1.0]
    some = clocks.take(np.array([False, True, True]))
    assert some.of("a", 2.0)[0] == 1.5
    some.give_up("a", 1, 4)
    some.give_up("a", 1, 5)  # the first rule without time is the one that is told
    assert clocks.given_up == {"a": {2: 4}}
