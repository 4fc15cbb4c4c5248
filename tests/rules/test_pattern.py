"""Regular expressions as rules; and bombs and megabyte texts, on which a rule gives up in either engine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.findings import finding_to_plain, note_from_plain
from unruly.rules import AllOf, AnyOf, Keywords, Not, PartWords, VoteCache, WordSequence
from unruly.rules.condition import TEXT, Condition, spans_of
from unruly.rules.matching import given_up
from unruly.rules.pattern import Pattern, TimedPattern
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.timeouts import LONG, TimedProcess
from unruly.texts.corpus import Corpus

LINEAR = Pattern("(a{1,99}){1,50}b", seconds=0.5)  # 4951 parts
PYTHON = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.2)
WINDOW = WordSequence(["would"], ["again"], within_chars=5_000)
MEGABYTE = "a" * 1_000_000


def vote(rule: Pattern, texts: list[str]) -> list[int]:
    sources = Sources(["no", "yes"], [Source("p", [Rule("yes", rule)])])
    return [int(v) for v in sources.vote(Corpus.from_texts(texts)).matrix[:, 0]]


def test_case_counts_unless_told() -> None:
    assert vote(Pattern("Check"), ["Check", "check"]) == [1, -1]
    assert vote(Pattern("Check", ignore_case=True), ["Check", "check"]) == [1, 1]


@pytest.mark.parametrize(
    ("pattern", "position"), [("(a", 1), ("abc[", 4), ("a**b)", 5), (r"x\q", 2)]
)
def test_an_invalid_pattern_names_the_position(pattern: str, position: int) -> None:
    with pytest.raises(RuleError, match=rf"not a regular expression: .*at character {position}"):
        Pattern(pattern)


def test_an_invalid_python_pattern_names_the_position() -> None:
    with pytest.raises(RuleError, match=r"not a regular expression: missing \), at character 4"):
        Pattern("a(b", engine="python")


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?<!a)b", r"(a)\1"])
def test_look_around_and_back_references_need_the_other_engine(pattern: str) -> None:
    with pytest.raises(RuleError, match='add engine = "python"'):
        Pattern(pattern)
    Pattern(pattern, engine="python")


def test_the_python_engine_looks_around() -> None:
    rule = Pattern(r"(?<!un)subscribe", engine="python")
    assert vote(rule, ["subscribe", "unsubscribe"]) == [1, -1]
    assert spans_of(rule, {TEXT: "é subscribe"}) == ((2, 11),)


def test_backtracking_is_stopped_by_the_clock() -> None:
    rule = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.01)  # a second and more without it
    with pytest.warns(UserWarning, match="timed out on 1 document"):
        assert vote(rule, ["aac", "a" * 30]) == [1, -1]


def test_the_linear_engine_is_not_hurt_by_a_bomb() -> None:
    assert vote(Pattern("^(a+)+$"), ["a" * 50_000 + "b"]) == [-1]


def test_too_large_a_pattern() -> None:
    with pytest.raises(RuleError, match="too large"):
        Pattern("a{1000}{1000}")


def test_spans_of_every_match() -> None:
    assert spans_of(Pattern(r"\d+"), {TEXT: "é1 22"}) == ((1, 2), (3, 5))


def test_an_unknown_engine() -> None:
    with pytest.raises(RuleError, match="engine must be"):
        Pattern("a", engine="fast")  # type: ignore[arg-type]


def test_mask_is_one_expression() -> None:
    assert pl.DataFrame({TEXT: ["a", "b"]}).select(Pattern("a").mask()).to_series().to_list() == [
        True,
        False,
    ]


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
    with pytest.warns(UserWarning, match=r"^source 'p', rule 1 timed out on 1 document \(limit"):
        votes = sources.vote(corpus)
    assert votes.matrix[:, 0].tolist() == [1, -1, -1]
    (fact,) = given_up(votes)
    assert (fact.source, fact.rule, fact.documents) == ("p", 1, 1)
    assert note_from_plain(finding_to_plain(fact)) == fact
    assert votes.matches(1) == ()
    assert len(votes.matches(0)[0].spans) == 1
    assert spans_of(rule, {TEXT: bomb}) == ()


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
        with pytest.warns(UserWarning, match="timed out on 1 document"):
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
    assert spans_of(large, {TEXT: "é" * 60_000 + "abcd"}) == ((59_999, 60_004),)


def test_long_texts_are_not_matched_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their votes come from the other process, and this one never looks at them."""
    asked: list[str] = []

    def answer(
        self: TimedProcess, expressions: list[pl.Expr], frame: pl.DataFrame, seconds: float
    ) -> pl.DataFrame:
        asked.extend(frame[TEXT])
        return frame.select(pl.lit(1, pl.Int8).alias(e.meta.output_name()) for e in expressions)

    monkeypatch.setattr(TimedProcess, "ask", answer)
    long = "a" * 60_000 + "c"
    votes = sources_of(LINEAR).vote(Corpus.from_texts(["aab", long, "other"]))
    assert asked == [long]
    assert votes.matrix[:, 0].tolist() == [1, 1, -1]


def test_small_patterns_need_no_time_limit() -> None:
    frame = pl.DataFrame({TEXT: ["a" * 10_000_000]})
    for pattern, long in ((r"https?://\S+", False), ("a{200}", True)):
        matcher = sources_of(Pattern(pattern))._matcher(None)
        assert matcher._long(matcher.sources, frame).tolist() == [long]


def test_many_small_patterns_are_large_together() -> None:
    frame = pl.DataFrame({TEXT: ["a" * 10_000, "a" * 500_000]})
    many = sources_of(AnyOf(tuple(Pattern(f"ab{{20}}c{i}") for i in range(100))))
    assert many._bare._long(many._bare.sources, frame).tolist() == [True, True]
    apart = Sources(
        ["no", "yes"], [Source(f"s{i}", [Rule("yes", Pattern(f"ab{i}"))]) for i in range(100)]
    )
    assert apart._bare._long(apart._bare.sources, frame).tolist() == [False, True]


def test_votes_with_gaps_are_not_kept(tmp_path: Path) -> None:
    cache = VoteCache(tmp_path)
    corpus = Corpus.from_texts(["a" * 60, "aac"])
    for _ in range(2):
        with pytest.warns(UserWarning, match="timed out"):
            sources_of(PYTHON).vote(corpus, cache=cache)
    assert cache.files.size() == 0
    patient = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.3)
    assert sources_of(PYTHON).sources[0].meaning() != sources_of(patient).sources[0].meaning()


def test_a_field_takes_small_patterns_only() -> None:
    with pytest.raises(RuleError, match="too large for a field"):
        PartWords(Pattern("(a{1,50}){1,50}b"), column="title")
    PartWords(Pattern("|".join(f"word{i}" for i in range(200))), column="title")


def test_a_window_without_end() -> None:
    with pytest.raises(RuleError, match="the sequence is too large: make within_words"):
        WordSequence(["a"], ["b"], within_chars=1_000_000)


def test_only_a_sequence_that_is_too_large_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pattern: str) -> None:
        raise RuleError("the pattern 'not too large' is not a regular expression")

    monkeypatch.setattr("unruly.rules.keywords.check_linear", refuse)
    with pytest.raises(RuleError, match="is not a regular expression"):
        WordSequence(["a"], ["b"])


def test_another_process_that_cannot_be_had_is_giving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with TimedProcess() as process:
        assert process.ask([pl.col("a")], pl.DataFrame({"a": ["b"]}), 1.0) is None


@pytest.mark.parametrize("engine", ["linear", "python"])
def test_a_run_can_be_interrupted(engine: str, tmp_path: Path) -> None:
    pattern = "(a{1,99}){1,50}b" if engine == "linear" else r"(a|aa)+\\1c"
    text = "'a' * 300_000" if engine == "linear" else "'a' * 60"
    code = (
        "from unruly.rules import *; from unruly import *\n"
        f"rule = Pattern('{pattern}', engine='{engine}', seconds=10)\n"
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
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors


def test_many_texts_below_the_limit_can_be_interrupted_too() -> None:
    """Large patterns are given fewer texts at once."""
    frame = pl.DataFrame({TEXT: ["a" * 4_000] * 100})
    matcher = sources_of(LINEAR)._matcher(None)
    assert matcher._rows(matcher.sources, frame) < 20
    matcher = sources_of(*(Pattern(f"ab{i}{{20}}") for i in range(50)))._matcher(None)
    assert matcher._rows(matcher.sources, frame) < 50
    light = sources_of(Keywords(["a"]))._matcher(None)
    assert light._rows(light.sources, frame) == 250_000


@pytest.mark.parametrize("pattern", ["a++b", "(?>a+)+b"])
def test_python_s_engine_is_stopped_where_it_does_not_look_at_its_clock(pattern: str) -> None:
    rule = Pattern(pattern, engine="python", seconds=0.2)
    begun = time.process_time()
    with pytest.warns(UserWarning, match="timed out on 1 document"):
        votes = sources_of(rule).vote(Corpus.from_texts(["a" * 300_000, "ab"]))
    assert votes.covered.tolist() == [False, True]
    assert time.process_time() - begun < 2  # in this process; the other one was ended
    assert spans_of(rule, {TEXT: "a" * 300_000}) == ()


def test_python_s_engine_finds_the_same_in_a_long_text() -> None:
    rule = Pattern(r"(?<!un)Subscribe", ignore_case=True, engine="python")
    long = "é" * LONG + "unsubscribe, SUBSCRIBE"
    votes = sources_of(rule).vote(Corpus.from_texts([long, long[:-11], "x"]))
    assert votes.covered.tolist() == [True, False, False]
    assert spans_of(rule, {TEXT: long}) == ((LONG + 13, LONG + 22),)


def test_starting_the_other_process_takes_nothing_of_a_patterns_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin, passed = TimedProcess.begin, [0.0]

    def slow(process: TimedProcess) -> bool:
        passed[0] += 7 if process._process is None else 0
        return begin(process)

    monkeypatch.setattr(TimedProcess, "begin", slow)
    clock = SimpleNamespace(monotonic=lambda: passed[0])
    monkeypatch.setattr("unruly.rules.pattern.time", clock)
    left = np.array([9.0, 9.0])
    frame = pl.DataFrame({TEXT: ["x" * LONG + "y", "y"]})
    found = TimedPattern("y", False, 9.0).within(frame, left)
    assert (found.to_list(), passed) == ([True, True], [7])
    assert left.tolist() == [9, 9]


@pytest.mark.parametrize("times", [4_000, 40_000])
def test_python_s_engine_gives_up_where_it_has_no_memory(times: int) -> None:
    rule = Pattern("(?R)", engine="python", seconds=5)
    text = "ab" * times + "c"
    with pytest.warns(UserWarning, match="timed out on 2 documents"):
        votes = sources_of(rule, Keywords(["song"])).vote(Corpus.from_texts([text, "song"]))
    assert votes.covered.tolist() == [False, True]
    assert spans_of(rule, {TEXT: text}) == ()
