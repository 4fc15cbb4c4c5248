"""Documents that repeat training documents, and the nearest of these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.model.planted import planted, quick

import unruly
from unruly.labelling.answers import Labelled
from unruly.model.fitted import TrainedLabels, repeated, row_digests, unit_length
from unruly.model.storage import load
from unruly.model.weak_classifier import WeakClassifier
from unruly.report.facts import gather
from unruly.rules import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.statistics import sample_rows
from unruly.texts.corpus import text_digests
from unruly.votes.summary import count_pairs


@given(st.lists(st.text(max_size=30), max_size=20), st.lists(st.text(max_size=30), max_size=20))
def test_repeats_are_those_that_a_set_would_find(new: list[str], old: list[str]) -> None:
    plain = [" ".join(text.casefold().split()) for text in old]
    expected = [" ".join(text.casefold().split()) in plain for text in new]
    assert repeated(text_digests(new), text_digests(old)).tolist() == expected


def test_rows_of_features() -> None:
    rows = np.array([[1, 2], [3, 4], [1, 2]], dtype=np.float32)
    digests = row_digests(rows)
    assert digests[0] == digests[2] != digests[1]
    assert repeated(row_digests(rows[:2]), row_digests(rows[1:2])).tolist() == [False, True]


def test_digests_are_the_same_for_ever() -> None:
    assert text_digests(["nice song"]).tolist() == [13219208827568848680]


def test_a_training_document_is_its_own_nearest() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    for row in (0, 17, 199):
        first = model.explain(data.features[row], data.matrix[row]).neighbours[0]
        assert first.id == row
        assert first.similarity > 0.99
        assert len(first.votes) == data.votes.voted[row].sum()
        assert first.text is None


def test_nearest_by_cosine_as_worked_out_in_full() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    new = planted(n=1, seed=9).features[0]
    cosine = unit_length(data.features) @ unit_length(new[None])[0]
    found = [near.id for near in model.explain(new).neighbours]
    assert set(found) <= set(np.argsort(-cosine)[:7].tolist())  # half precision may swap near-ties


def test_no_more_documents_are_kept_than_asked_for() -> None:
    data = planted()
    few = quick().set_params(keep_documents=10).fit(data.features, data.votes)
    assert len(few.explain(data.features[0], neighbours=50).neighbours) == 10
    none = quick().set_params(keep_documents=0).fit(data.features, data.votes)
    assert none.explain(data.features[0]).neighbours == ()


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 5))
def test_the_sample_is_drawn_by_the_seed_in_order(n: int, most: int, seed: int) -> None:
    rows = sample_rows(n, most, seed)
    assert len(rows) == min(n, most)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, sample_rows(n, most, seed))


def test_partial_votes_keep_all_their_classes_in_the_file(tmp_path: Path) -> None:
    texts = ["refund this crash now", "a crash again", "lovely tool", "lovely refund"] * 10
    refund = Rule(["billing", "bug"], Keywords(["refund"]))
    sources = Sources(
        ["praise", "billing", "bug"],
        [
            Source("trouble", [refund, Rule("bug", Keywords(["crash"]))]),
            Source("crash", [Rule("bug", Keywords(["crash"]))]),
            Source("mood", [Rule("praise", Keywords(["lovely"]))]),
        ],
    )
    votes = sources.vote(texts)
    path = tmp_path / "m.unruly"
    WeakClassifier("lsa", cache=False).fit(texts, votes, sources=sources).save(path)
    fitted = load(path).fitted
    kept = fitted.neighbourhood.as_votes(fitted.classes, fitted.sources)
    rows = [int(str(id)) for id in fitted.neighbourhood.ids]
    assert [kept.label(i, 0) for i in range(kept.n) if kept.voted[i, 0]] == [
        votes.label(row, 0) for row in rows if votes.voted[row, 0]
    ]
    assert kept.ids.to_list() == [str(row) for row in rows]
    near = unruly.load(path).explain("refund this crash now").neighbours[0]
    assert dict(near.votes) == {"trouble": "billing or bug", "crash": "bug"}
    np.testing.assert_array_equal(gather("m", fitted).pairs.same, count_pairs(votes).same)


def test_labels_are_found_again_on_other_rows() -> None:
    old, new = text_digests(["a", "b", "c"]), text_digests(["c", "x", "b"])
    kept = TrainedLabels.of(Labelled.alike(np.array([1, 0, -1])), old)
    assert len(kept) == 2
    found = kept.among(new, np.array([-1, 1, -1]))
    assert found.numbers.tolist() == [-1, -1, 0]
    assert found.weights.tolist() == [0, 0, 1]
    assert kept.among(text_digests(["y"]), np.array([1])).labels == 0
    assert not len(TrainedLabels.of(None, old))


def test_a_text_that_occurs_often_has_as_many_labels_as_before() -> None:
    same = text_digests(["a"] * 5)
    kept = TrainedLabels.of(Labelled.alike(np.array([-1, 0, 1, -1, -1])), same)
    now = np.array([-1, -1, 1, 1, 0])
    assert kept.among(same, now).numbers.tolist() == [-1, -1, 1, -1, 0]
    assert kept.among(same, np.full(5, -1)).numbers.tolist() == [0, 1, -1, -1, -1]


def test_rows_without_a_text_repeat_no_training_document() -> None:
    texts = [f"a {'good' if i % 2 else 'bad'} film {i}" for i in range(40)] + [""] * 4
    rules = [Rule("good", Keywords(["good"])), Rule("bad", Keywords(["bad"]))]
    sources = Sources(["bad", "good"], [Source("words", rules)])
    model = WeakClassifier("lsa", cache=False).fit(texts, sources)
    found = model.evaluate([texts[0], "", "  ", "a new one"], ["bad", "good", "bad", "bad"])
    assert found.repeats == 1
