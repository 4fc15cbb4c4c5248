"""The source table, against Snorkel's and against its own laws; and the counts of pairs of sources."""

from __future__ import annotations

import json
import sys
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from unruly.errors import InputError, MissingExtraError
from unruly.statistics import wilson
from unruly.votes.majority import tallies
from unruly.votes.summary import count_pairs
from unruly.votes.votes import Votes

ABC = ["a", "b", "c"]
matrices = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.integers(-1, 2),
)


def draw(n: int, k: int, m: int, seed: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, m, (n, k)).astype(np.int8)
    matrix[rng.random((n, k)) > 0.3] = -1
    return matrix, rng.integers(0, m, n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", [2, 4])
def test_every_cell_is_snorkels(seed: int, m: int) -> None:
    labeling = pytest.importorskip("snorkel.labeling")
    matrix, gold = draw(400, 6, m, seed)
    votes = Votes.from_array(
        matrix, classes=[str(c) for c in range(m)], sources=[f"lf{j}" for j in range(6)]
    )
    functions = [labeling.LabelingFunction(name, f=lambda x: -1) for name in votes.sources]
    theirs = labeling.LFAnalysis(matrix.astype(np.int64), functions).lf_summary(gold)
    ours = votes.summary(gold).to_pandas()
    assert list(ours.columns)[:8] == list(theirs.columns)
    assert list(ours.index) == list(theirs.index)
    for column in theirs.columns:
        if column == "Polarity":
            assert ours[column].tolist() == [[int(c) for c in row] for row in theirs[column]]
        else:
            np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-12)
    analysis = labeling.LFAnalysis(matrix.astype(np.int64))
    total = votes.summary().total
    assert total.coverage == pytest.approx(analysis.label_coverage())
    assert total.overlaps == pytest.approx(analysis.label_overlap())
    assert total.conflicts == pytest.approx(analysis.label_conflict())


@given(matrices, st.data())
def test_the_table_by_its_definition(matrix: np.ndarray, data: st.DataObject) -> None:
    n = len(matrix)
    gold = data.draw(hnp.arrays(np.int64, n, elements=st.integers(-1, 2)))
    summary = Votes.from_array(matrix, classes=ABC).summary(gold)
    for j, row in enumerate(summary.sources):
        cast = [i for i in range(n) if matrix[i, j] >= 0]
        others = {i: [v for h, v in enumerate(matrix[i]) if h != j and v >= 0] for i in cast}
        assert row.coverage == len(cast) / n
        assert row.overlaps == sum(bool(others[i]) for i in cast) / n
        assert row.conflicts == sum(any(v != matrix[i, j] for v in others[i]) for i in cast) / n
        assert row.score is not None
        assert row.score.correct == sum(matrix[i, j] == gold[i] for i in cast)
        assert row.score.incorrect == sum(gold[i] >= 0 and matrix[i, j] != gold[i] for i in cast)
    every, ties, wins = [], 0, [Fraction(0)] * 3
    for votes in matrix:
        counts = [int((votes == c).sum()) for c in range(3)]
        leaders = [c for c in range(3) if counts[c] == max(counts) > 0]
        every.append(leaders)
        ties += len(leaders) > 1
        for c in leaders:
            wins[c] += Fraction(1, len(leaders))
    commonest = wins.index(max(wins))
    right = sum(
        Fraction(truth in (leaders or [commonest]), len(leaders or [commonest]))
        for leaders, truth in zip(every, gold.tolist(), strict=True)
        if truth >= 0
    )
    majority = summary.majority
    assert majority.ties == ties / n
    if any(every) and (gold >= 0).any():
        assert majority.commonest == ABC[commonest]
        assert majority.accuracy is not None
        assert majority.accuracy.n == (gold >= 0).sum()
        assert majority.accuracy.value == pytest.approx(float(right) / majority.accuracy.n)
    else:
        assert majority.accuracy is None


@given(matrices)
def test_the_order_of_documents_does_not_matter(matrix: np.ndarray) -> None:
    gold = np.arange(len(matrix)) % 3
    order = np.random.default_rng(0).permutation(len(matrix))
    votes = Votes.from_array(matrix, classes=ABC)
    assert votes.take(order).summary(gold[order]) == votes.summary(gold)


@given(matrices)
def test_a_source_that_always_abstains_changes_no_other_row(matrix: np.ndarray) -> None:
    gold = np.arange(len(matrix)) % 3
    before = Votes.from_array(matrix, classes=ABC).summary(gold)
    silent = np.hstack([matrix, np.full((len(matrix), 1), -1, dtype=np.int8)])
    after = Votes.from_array(silent, classes=ABC).summary(gold)
    assert after.sources[:-1] == before.sources
    assert after.total == before.total
    assert after.majority == before.majority
    assert after.sources[-1].polarity == ()
    assert after.sources[-1].score is not None
    assert after.sources[-1].score.accuracy is None


@given(matrices, st.integers(1, 30), st.sampled_from([3, 40]))
def test_blocks_and_ways_of_counting_do_not_show(matrix: np.ndarray, cells: int, m: int) -> None:
    votes = Votes.from_array(matrix, classes=[str(c) for c in range(m)])
    every = list(tallies(votes, cells))
    assert np.array_equal(np.concatenate([tally.counts for tally in every]), votes.counts())
    by_source = np.array([[(matrix[:, j] == c).sum() for c in range(m)] for j in range(votes.k)])
    assert np.array_equal(sum(tally.by_source for tally in every), by_source)


def test_unknown_gold_does_not_count() -> None:
    summary = Votes.from_array([[0], [0], [1]]).summary([0, -1, 0])
    score = summary.sources[0].score
    assert score is not None
    assert (score.correct, score.incorrect, score.accuracy) == (1, 1, 0.5)


def test_without_gold_there_are_no_scores() -> None:
    summary = Votes.from_array([[0, 1], [-1, -1]], classes=["ham", "spam"]).summary()
    assert not summary.scored
    assert summary.to_frame().columns == [
        "source",
        "j",
        "Polarity",
        "Coverage",
        "Overlaps",
        "Conflicts",
    ]
    assert summary.to_frame()["source"].to_list() == ["source_0", "source_1", "total"]
    assert str(summary).splitlines()[-1] == "majority vote: coverage 50.0%, ties 50.0%"


def test_names_stand_to_the_left_and_figures_to_the_right() -> None:
    votes = Votes.from_array([[0, 1], [-1, 1]], sources=["a", "a_long_name"])
    lines = str(votes.summary()).splitlines()
    assert lines[1].startswith("a            ")
    assert lines[2].startswith("a_long_name  ")
    right = lines[0].index("Coverage") + len("Coverage")
    assert [line[right - 6 : right] for line in lines[1:3]] == [" 50.0%", "100.0%"]


def test_classes_have_their_names() -> None:
    named = Votes.from_array([[0, 1]], classes=["ham", "<spam>"]).summary()
    assert [line.split()[:2] for line in str(named).splitlines()[1:3]] == [
        ["source_0", "ham"],
        ["source_1", "<spam>"],
    ]
    assert "ham, &lt;spam&gt;" in named._repr_html_()
    many = Votes.from_array([[c] for c in range(9)]).summary()
    assert "0, 1, 2, 3 and 5 more" in str(many)


def test_one_document_is_not_told_as_several() -> None:
    summary = Votes.from_array([[0], [1]]).summary(gold=[0, -1])
    assert "on 1 document with gold (" in summary.majority_line()


def test_the_same_figures_in_every_dress() -> None:
    matrix, gold = draw(50, 3, 2, 0)
    summary = Votes.from_array(
        matrix, classes=["ham", "<spam>"], sources=["<a>", "b", "c"]
    ).summary(gold)
    plain = json.loads(json.dumps(summary.to_dict()))
    frame = summary.to_frame()
    assert [row["score"]["accuracy"] for row in plain["sources"]] == frame["Emp. Acc."].to_list()[
        :-1
    ]
    assert plain["total"]["score"]["interval"]["low"] == frame["95% low"][-1]
    assert plain["documents"] == 50
    assert "&lt;a&gt;" in summary._repr_html_()
    assert "<a>" not in summary._repr_html_()
    assert len(str(summary).splitlines()) == 6  # with majority vote


def test_the_text_shows_the_interval_of_each_accuracy() -> None:
    votes = Votes.from_array([[0, -1]] * 8 + [[1, -1]] * 2)
    lines = str(votes.summary([0] * 10)).splitlines()
    interval = wilson(8, 10)
    words = ["80.0%", f"{interval.low:.1%}", "to", f"{interval.high:.1%}"]
    assert lines[1].split()[-4:] == words
    assert lines[2].split()[-2:] == ["-", "-"]  # the second source never votes
    assert lines[3].split()[-4:] == words  # the total of one vote a document is that of its source


def test_a_total_without_an_error_claims_no_certainty() -> None:
    twice = Votes.from_array([[0, 0]] * 3, classes=ABC)
    right, wrong = (twice.summary([number] * 3).total.score for number in (0, 1))
    assert right is not None
    assert wrong is not None
    assert (right.share.n, wrong.share.n) == (6, 6)
    assert right.interval == pytest.approx((wilson(3, 3).low, 1.0))
    assert wrong.interval == pytest.approx((0.0, wilson(0, 3).high))


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ([0], r"gold have the shape \(1,\), but there are 2 documents"),
        (["a", "b"], "gold, row 0: the label 'a' is not a class: classes are 0, 1"),
        ([0, 5], "gold, row 1: 5 is neither a class number from 0 to 1 nor -1"),
        ([0.5, 1.0], "gold, row 0: 0.5 is neither a class number"),
    ],
)
def test_gold_that_does_not_fit(gold: list[Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        Votes.from_array([[0], [1]]).summary(gold)


def test_no_documents_and_no_sources() -> None:
    empty = Votes.from_array(np.zeros((0, 2), dtype=np.int8)).summary([])
    assert empty.total.coverage == 0.0
    assert empty.majority.accuracy is None
    assert (
        Votes.from_array(np.zeros((3, 0), dtype=np.int8)).summary([0, 1, 1]).total.coverage == 0.0
    )


@settings(max_examples=200)
@given(st.integers(0, 300), st.integers(1, 300))
def test_wilson_holds_the_share_and_solves_its_equation(successes: int, trials: int) -> None:
    successes = min(successes, trials)
    interval = wilson(successes, trials)
    share = successes / trials
    assert -1e-12 <= interval.low <= share + 1e-12
    assert share - 1e-12 <= interval.high <= 1
    for end in (interval.low, interval.high):  # |share - end| = z √(end (1 - end) / n)
        assert (share - end) ** 2 == pytest.approx(
            1.959963984540054**2 * end * (1 - end) / trials, abs=1e-9
        )


def test_gold_may_name_one_class_and_number_another() -> None:
    votes = Votes.from_array([[0], [1], [1]], classes=["ham", "spam"])
    assert votes.summary([0, 1, -1]) == votes.summary(np.array(["ham", 1, None], object))


def test_gold_may_be_class_names() -> None:
    votes = Votes.from_array([[0, -1], [0, 1], [-1, -1], [0, 0]], classes=["ham", "spam"])
    numbers = votes.summary([0, 1, -1, 0])
    for names in (
        ["ham", "spam", None, "ham"],
        np.array(["ham", "spam", "", "ham"]),
        pl.Series(["ham", "spam", None, "ham"]),
        pd.Series(["ham", "spam", None, "ham"]),
    ):
        assert votes.summary(names) == numbers  # type: ignore[arg-type]


def test_pandas_tables_ask_for_pandas_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"unruly\[pandas\]"):
        Votes.from_array([[0], [1]]).summary().to_pandas()


def test_votes_on_one_document_are_right_together_so_the_totals_interval_is_wider() -> None:
    """Four sources that always agree tell of 100 documents, not of 400 votes."""
    gold = np.arange(100) % 2
    one = np.where(np.arange(100) < 70, gold, 1 - gold)[:, None].astype(np.int8)
    alone = Votes.from_array(one).summary(gold).total.score
    copied = Votes.from_array(np.repeat(one, 4, axis=1)).summary(gold).total.score
    width = []
    for score in (alone, copied):
        assert score is not None
        width.append(score.share.high - score.share.low)
    assert width[1] == pytest.approx(width[0], rel=0.1)
    naive = wilson(280, 400)
    assert width[1] > 1.7 * (naive.high - naive.low)


def test_numbers_that_seem_to_start_at_1_are_warned_of() -> None:
    votes = Votes.from_array(np.zeros((12, 1), dtype=np.int8), classes=list("abcd"))
    with pytest.warns(UserWarning, match=r"gold: the labels are 1 to 3, never 0.*read as b to d"):
        votes.summary([1, 2, 3] * 4)


def test_names_that_leave_out_the_first_class_are_not_warned_of() -> None:
    votes = Votes.from_array(np.zeros((12, 1), dtype=np.int8), classes=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        votes.summary(["b", "c", "d"] * 4)
        votes.summary([0, 2, 3] * 4)


three_sources = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=n, max_size=n)
)


def votes_of(matrix: list[list[int]]) -> Votes:
    return Votes.from_array(matrix, classes=["a", "b", "c"], sources=["x", "y", "z"])


@settings(deadline=None)
@given(three_sources)
def test_pairs_are_what_counting_one_by_one_gives(matrix: list[list[int]]) -> None:
    counted = count_pairs(votes_of(matrix))
    for i in range(3):
        for j in range(3):
            common = [(r[i], r[j]) for r in matrix if r[i] >= 0 and r[j] >= 0]
            assert counted.both[i, j] == len(common)
            assert counted.same[i, j] == sum(a == b for a, b in common)
    shares = counted.agreement
    assert np.array_equal(np.isnan(shares), counted.both == 0)
    assert np.array_equal(shares, shares.T, equal_nan=True)


def test_pairs_that_have_no_choice_are_not_informative() -> None:
    counted = count_pairs(votes_of([[0, 1, 0], [0, 1, 1], [0, 1, 0]]))
    assert counted.informative.tolist() == [
        [False, False, True],  # x names one class, y another: they can only disagree
        [False, False, True],
        [True, True, True],
    ]
