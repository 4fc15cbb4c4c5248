"""The instructive documents: which they are, and how their texts are cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unruly.report.answers import Answers
from unruly.report.excerpt import LONGEST, excerpt
from unruly.report.instructive import AGAINST, DOUBTED, MOST, UNCOVERED, instructive


@settings(deadline=None)
@given(st.text(max_size=LONGEST), st.data())
def test_a_short_text_is_shown_whole(text: str, data: st.DataObject) -> None:
    ends = st.integers(0, len(text))
    spans = data.draw(st.lists(st.tuples(ends, ends, st.integers(0, 3)), max_size=5))
    pieces = excerpt(text, spans)
    assert "".join(piece.text for piece in pieces) == text
    marked = [piece for piece in pieces if piece.label is not None]
    assert all(piece.text in text for piece in marked)
    if not [s for s in spans if 0 < s[1] - s[0] <= 120]:
        assert not marked


@settings(deadline=None)
@given(st.integers(0, 4000), st.integers(1, 30))
def test_a_long_text_is_cut_around_its_spans(start: int, width: int) -> None:
    text = "word " * 900
    pieces = excerpt(text, [(start, start + width, 1)])
    assert [p.text for p in pieces if p.label == 1] == [text[start : start + width]]
    assert sum(len(p.text) for p in pieces) < 2 * LONGEST
    assert any("…" in p.text for p in pieces)


def test_a_match_of_the_whole_text_is_not_highlighted() -> None:
    assert [p.label for p in excerpt("x" * 300, [(0, 300, 0)])] == [None]


def test_each_group_is_what_it_says(seen: Answers) -> None:
    found = instructive(seen)
    assert len(found) == MOST
    assert len({d.id for d in found}) == MOST
    by_id = {str(i): row for row, i in enumerate(seen.votes.ids.to_list())}
    counts = seen.votes.counts()
    for d in found:
        row = by_id[d.id]
        if d.group == UNCOVERED:
            assert not seen.votes.covered[row]
            assert not d.voices
            assert not d.majority
        else:
            assert seen.votes.covered[row]
            assert len(d.voices) == seen.votes.voted[row].sum()
        if d.group == AGAINST:
            assert d.majority == (seen.votes.classes[counts[row].argmax()],)
            assert d.label != d.majority[0]
    doubted = [d.confidence for d in found if d.group == DOUBTED]
    assert doubted == sorted(doubted)
    certain = [d.confidence for d in found if d.group == UNCOVERED]
    assert certain == sorted(certain, reverse=True)


def test_matched_words_are_marked_with_the_class_that_the_rule_names(seen: Answers) -> None:
    row = next(
        i for i, text in enumerate(seen.texts) if "lovely" in text and "subscribe" not in text
    )
    some = Answers(
        name="one",
        texts=(seen.texts[row],),
        features=seen.features.take(np.array([row])),
        votes=seen.votes,
        heads=seen.heads,
        gold=None,
        repeats=seen.repeats,
    )
    from unruly.report.instructive import _document

    shown = _document(seen, row, DOUBTED)
    assert some.texts[0] == "".join(p.text for p in shown.pieces)
    assert [p.label for p in shown.pieces if p.text == "lovely"] == [0]
