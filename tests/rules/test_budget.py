"""Bombs and megabyte texts: a rule gives up on that document, counted, in either engine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.facts import note_from_plain, note_to_plain
from unruly.rules import AllOf, AnyOf, Cache, Keywords, Not, PartWords, Pattern, WordSequence
from unruly.rules.budget import LinearPattern, TimedProcess
from unruly.rules.condition import TEXT, Condition
from unruly.rules.matching import given_up
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

LINEAR = Pattern("(a{1,99}){1,50}b", seconds=0.5)  # 4951 parts
PYTHON = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.2)
WINDOW = WordSequence(["would"], ["again"], within_chars=5_000)
MEGABYTE = "a" * 1_000_000


def sources_of(*conditions: Condition) -> Sources:
    return Sources(["no", "yes"], [Source("p", [Rule("yes", c) for c in conditions])])


@pytest.mark.parametrize(
    ("rule", "bomb", "good"),
    [
        (LINEAR, MEGABYTE, "aab"),
        (PYTHON, "a" * 60, "aac"),
        (WINDOW, "would é " * 125_000, "would go again"),
    ],
    ids=["linear", "python", "window"],
)
def test_a_rule_gives_up_on_a_document_and_says_so(
    rule: Pattern | WordSequence, bomb: str, good: str
) -> None:
    sources = sources_of(rule)
    corpus = Corpus.from_texts([good, bomb, "other"])
    started = time.perf_counter()
    with pytest.warns(UserWarning, match=r"^source 'p', rule 1: gave up on 1 document, which took"):
        votes = sources.vote(corpus)
    assert time.perf_counter() - started < 10
    assert votes.matrix[:, 0].tolist() == [1, -1, -1]
    (fact,) = given_up(votes)
    assert (fact.source, fact.rule, fact.documents) == ("p", 1, 1)
    assert note_from_plain(note_to_plain(fact)) == fact
    assert votes.matches(1) == ()  # told without an error
    assert len(votes.matches(0)[0].spans) == 1
    assert rule.spans({TEXT: bomb}) == ()


def test_a_rule_that_gave_up_does_not_hold_and_neither_does_its_opposite() -> None:
    corpus = Corpus.from_texts(["a" * 60, "aac", "song"])
    song = Keywords(["song"])
    cases: list[tuple[Condition, list[int]]] = [
        (Not(PYTHON), [-1, -1, 1]),
        (AnyOf((PYTHON, song)), [-1, 1, 1]),
        (AllOf((Not(PYTHON), song)), [-1, -1, 1]),
        (Not(AllOf((PYTHON, song))), [1, 1, 1]),  # there is no song, whatever the pattern says
    ]
    for condition, expected in cases:
        with pytest.warns(UserWarning, match="gave up on 1 document"):
            votes = sources_of(condition).vote(corpus)
        assert votes.matrix[:, 0].tolist() == expected, condition


def test_long_texts_get_the_same_answers_as_short_ones() -> None:
    """In the other process as in this one: found or not, negated or not, and where."""
    far = "x " * 20_000
    window = WordSequence(
        ["would"], ["again"], within_chars=500, negators=["never"], negated="flip"
    )
    texts = [far + end for end in ("would go again", "I never would go again", "would", "")]
    votes = sources_of(window).vote(Corpus.from_texts(texts))
    assert votes.matrix[:, 0].tolist() == [1, 0, -1, -1]
    assert votes.matches(0)[0].spans == ((len(far), len(far) + 14),)
    assert votes.matches(1)[0].spans == ((len(far) + 2, len(far) + 22),)
    assert given_up(votes) == ()
    large = Pattern("é[a-c]{1,400}d")
    assert large.spans({TEXT: "é" * 60_000 + "abcd"}) == ((59_999, 60_004),)


def test_long_texts_are_not_matched_with_the_others() -> None:
    """Whatever stands beside them: the expression itself is quick, without the other process."""
    for texts in (
        ["aab", MEGABYTE, "other"],
        ["nice song"] * 60 + ["a" * 60, MEGABYTE],
        [MEGABYTE],
    ):
        frame = pl.DataFrame({TEXT: texts})
        measures = [pl.lit(None, pl.Boolean).alias(m.name) for m in LINEAR.needs(()).measures]
        frame = frame.with_columns(measures)
        started = time.perf_counter()
        frame.lazy().select(LINEAR.mask()).collect(engine="streaming")
        assert time.perf_counter() - started < 3


def test_small_patterns_are_not_watched() -> None:
    assert LinearPattern(r"https?://\S+").measures() == ()
    assert LinearPattern("a{200}").measures() != ()


def test_votes_with_gaps_are_not_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    corpus = Corpus.from_texts(["a" * 60, "aac"])
    for _ in range(2):
        with pytest.warns(UserWarning, match="gave up"):
            sources_of(PYTHON).vote(corpus, cache=cache)
    assert cache.size() == 0
    patient = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.3)
    assert sources_of(PYTHON).sources[0].meaning() != sources_of(patient).sources[0].meaning()


def test_a_field_takes_small_patterns_only() -> None:
    with pytest.raises(RuleError, match="too large for a field"):
        PartWords(Pattern("(a{1,50}){1,50}b"), column="title")
    PartWords(Pattern("|".join(f"word{i}" for i in range(200))), column="title")


def test_a_window_without_end() -> None:
    with pytest.raises(RuleError, match="the sequence is too large: make within_words"):
        WordSequence(["a"], ["b"], within_chars=1_000_000)


def test_another_process_that_cannot_be_had_is_giving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with TimedProcess(1.0) as process:
        assert process.ask("contains", "a", "a") is None


@pytest.mark.parametrize("engine", ["linear", "python"])
def test_an_interrupt_is_heard(engine: str, tmp_path: Path) -> None:
    pattern = "(a{1,99}){1,50}b" if engine == "linear" else r"(a|aa)+\\1c"
    text = "'a' * 300_000" if engine == "linear" else "'a' * 60"
    code = (
        "from unruly.rules import *; from unruly import *\n"
        f"rule = Pattern('{pattern}', engine='{engine}', seconds=60)\n"
        f"corpus = Corpus.from_texts([{text}] * 3)\n"
        "print('go', flush=True)\n"
        "Sources(['a', 'b'], [Source('s', [Rule('b', rule)])]).vote(corpus)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    started = time.perf_counter()
    _, errors = process.communicate(timeout=30)
    assert time.perf_counter() - started < 10
    assert "KeyboardInterrupt" in errors


def test_many_texts_below_the_limit_can_be_interrupted_too() -> None:
    """Large patterns are given fewer texts at once."""
    frame = pl.DataFrame({TEXT: ["a" * 4_000] * 100})
    matcher = sources_of(LINEAR)._matcher(None)
    assert matcher._rows(matcher.sources, frame) < 20
    light = sources_of(Keywords(["a"]))._matcher(None)
    assert light._rows(light.sources, frame) == 250_000
