"""The instructive documents: which they are, and how their texts are cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.written import heads_of, words

from unruly.report.documents import (
    AGAINST,
    LONGEST,
    MOST,
    SURE,
    UNCOVERED,
    UNSURE,
    documents_to_show,
    excerpt,
    shown_document,
)
from unruly.report.facts import Answers
from unruly.votes.votes import Votes


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


def test_each_group_is_what_it_says() -> None:
    rng = np.random.default_rng(0)
    silent = rng.random((300, 1)) < 0.3
    matrix = np.where(silent, -1, rng.integers(-1, 3, (300, 3)))
    votes = Votes.from_array(matrix, classes=["a", "b", "c"])
    posteriors = rng.dirichlet(np.full(3, 0.4), 300)
    found = documents_to_show(words(300), votes, heads_of(posteriors, votes))
    assert len(found) == len({d.id for d in found}) == MOST
    assert {d.group for d in found} == {AGAINST, UNCOVERED, UNSURE}
    counts = votes.counts()
    for d in found:
        row = int(d.id)
        assert bool(votes.covered[row]) == (d.group != UNCOVERED)
        assert len(d.votes) == votes.voted[row].sum()
        if d.group == AGAINST:
            assert d.majority == (votes.classes[counts[row].argmax()],)
            assert d.label != d.majority[0]
        elif d.group == UNSURE:
            assert d.confidence < SURE
        else:
            assert d.confidence >= SURE
            assert not d.majority
    for group, order in ((UNSURE, 1), (UNCOVERED, -1)):
        confidence = [order * d.confidence for d in found if d.group == group]
        assert confidence == sorted(confidence)


def test_letters_from_one_template_leave_room_for_others() -> None:
    texts = [f"may I bring the short loan back at {i} instead" for i in range(40)]
    texts += ["are you open", "printer jams again", "my card was stolen"]
    votes = Votes.from_array(np.full((43, 2), -1), classes=["a", "b"])
    sure = np.linspace(0.99, 0.9, 43)
    found = documents_to_show(texts, votes, heads_of(np.stack([sure, 1 - sure], axis=1), votes))
    shown = [int(d.id) for d in found]
    assert {0, 40, 41, 42} < set(shown)
    assert shown == sorted(shown), "the surest first"


def test_matched_words_are_marked_with_the_class_that_the_rule_names(seen: Answers) -> None:
    texts = seen.corpus.texts.to_list()
    row = next(i for i, text in enumerate(texts) if "lovely" in text and "subscribe" not in text)
    shown = shown_document(row, UNSURE, texts, seen.votes, seen.heads, seen.gold)
    assert "".join(p.text for p in shown.pieces) == texts[row]
    assert [p.label for p in shown.pieces if p.text == "lovely"] == [0]
    assert any("lovely" in vote.reason for vote in shown.votes)
