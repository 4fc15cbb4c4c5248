"""Votes put together from what earlier keystrokes looked for, beside those of the matcher."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.matching import Matcher, MatchFrame
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.tools import Length
from unruly.studio.incremental_matching import TypedVotes
from unruly.texts.corpus import Corpus

CLASSES = ("ham", "spam")
LETTERS = "aAbſsSςσΣ éİıK'’-_1 .\n\t+"
WORDS = st.sampled_from(
    ["a", "b", "A b", "s", "ſ", "σ", "é", "İ", "k", "b-1", "a's", "1", "++", "a_b"]
)
TEXTS = st.lists(st.text(LETTERS, max_size=14), min_size=1, max_size=12)
LISTS = st.lists(WORDS, min_size=1, max_size=4)


def sequences() -> st.SearchStrategy[Condition]:
    return st.builds(
        WordSequence,
        first=LISTS,
        then=LISTS,
        within_words=st.sampled_from([None, 0, 2]),
        negators=st.sampled_from([(), ("b",)]),
    )


RULES = st.builds(
    Rule,
    st.sampled_from(CLASSES),
    st.one_of(
        st.builds(Keywords, LISTS, st.sampled_from(["word", "substring"])),
        sequences(),
        st.just(Pattern("[ab]s")),
        st.just(Length(max_words=1)),
    ),
)
SOURCES = st.builds(lambda rules: Source("typed", rules), st.lists(RULES, min_size=1, max_size=3))


@settings(deadline=None, max_examples=150)
@given(texts=TEXTS, typed=st.lists(SOURCES, min_size=1, max_size=6), ready=st.booleans())
def test_votes_are_those_of_the_matcher(texts: list[str], typed: list[Source], ready: bool) -> None:
    frame = MatchFrame.of(Corpus.from_texts(texts))
    votes = TypedVotes(frame)
    if ready:
        votes.make_ready()
    for source in typed:  # one keystroke after the other
        expected = Matcher((source,), CLASSES).run(frame).votes["typed"].to_numpy()
        np.testing.assert_array_equal(votes.of(source, CLASSES).first, expected)


def test_only_the_new_word_is_looked_for() -> None:
    frame = MatchFrame.of(Corpus.from_texts(["a song", "a video", "buy a song"]))
    asked: list[list[str]] = []

    class Watched(TypedVotes):
        def _scanned(self, words: list[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
            asked.append(words)
            return super()._scanned(words)

    votes = Watched(frame)
    for words in (["song", "v"], ["song", "vi"], ["song", "video"]):
        votes.of(Source("typed", (Rule("spam", Keywords(words)),)), CLASSES)
    assert asked == [["song", "v"], ["song"], ["vi"], ["video"]]


def test_a_function_is_asked_again_when_a_file_that_it_read_has_changed(tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(
        "import pathlib, unruly\nhere = pathlib.Path(__file__).parent\n"
        "@unruly.rule\ndef listed(row):\n"
        "    return 'spam' if row.text in (here / ('words' + '.txt')).read_text() else None\n"
    )
    table = {"name": "f", "rule": [{"function": {"file": "rules.py", "name": "listed"}}]}
    votes = TypedVotes(MatchFrame.of(Corpus.from_texts(["one", "two"])))
    for word, expected in (("one", [1, -1]), ("two", [-1, 1]), ("one", [1, -1])):
        (tmp_path / "words.txt").write_text(word)
        source = source_from_plain(table, CLASSES, tmp_path)
        for _ in range(2):
            assert votes.of(source, CLASSES).first.tolist() == expected
        assert votes.knows(source, CLASSES)
