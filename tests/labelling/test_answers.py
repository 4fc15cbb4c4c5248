"""What answers come to: one label a document, problems set aside, and weights that keep totals unbiased."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.findings import Contradiction, LabelProblem, UnknownClass, UnknownId, UnreadableLine
from unruly.labelling.answers import (
    Labelled,
    import_labels,
    labelled,
    problem_lines,
    problems_to_plain,
    written_id,
)
from unruly.labelling.label_file import (
    CANNOT_TELL,
    SKIPPED,
    WITHDRAWN,
    Answer,
    LabelFile,
)
from unruly.labelling.sampling import ask
from unruly.votes.votes import Votes

CLASSES = ("ham", "spam")
PATH = Path("labels.csv")


def of(*answers: Answer, n: int = 4) -> Labelled:
    return labelled(LabelFile(PATH, answers), range(n), CLASSES)


def test_labels_by_name_number_and_other_capitals() -> None:
    found = of(Answer("0", "spam"), Answer("1", "0"), Answer("2", "SPAM"))
    assert found.numbers.tolist() == [1, 0, 1, -1]
    assert found.labels == 3
    assert not found.problems


def test_numbers_that_count_from_one_are_not_read_in_silence() -> None:
    ids, classes = [f"d{i}" for i in range(12)], ["a", "b", "c", "d"]
    for labels, warned in ((["1", "2", "3"], 1), (["b", "c", "d"], 0), (["0", "1", "3"], 0)):
        answers = tuple(Answer(own, labels[i % 3]) for i, own in enumerate(ids))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            labelled(LabelFile(Path("labels.csv"), answers), ids, classes)
        assert len(found) == warned
        if warned:
            assert "labels.csv: the labels are 1 to 3, never 0." in str(found[0].message)


def test_problems_are_kept_apart() -> None:
    found = of(
        Answer("0", "spam", by="ada"),
        Answer("0", "ham", by="bob"),
        Answer("1", "eggs"),
        Answer("9", "ham"),
        Answer("2", "spam", by="ada"),
        Answer("2", "Spam", by="bob"),
        Answer("3", "spam"),
        Answer("3", "ham"),
    )
    assert found.numbers.tolist() == [-1, -1, 1, -1]
    assert found.problems == (
        Contradiction("0", (("ada", "spam"), ("bob", "ham"))),
        UnknownClass("1", "eggs"),
        Contradiction("3", (("", "ham"), ("", "spam"))),
        UnknownId("9"),
    )
    assert found.answered.all()


def test_each_kind_of_problem_is_one_line() -> None:
    problems: list[LabelProblem] = [
        UnknownId("7"),
        UnreadableLine(3, "x"),
        UnknownClass("1", "eggs"),
        UnknownId("8"),
        Contradiction("0", (("ada", "spam"), ("", "ham"))),
    ]
    lines = problem_lines(problems, "labels.csv")
    assert lines == [
        "labels.csv: 1 line ignored: not readable (line 3)",
        "labels.csv: 2 labels set aside: their documents are not in the data (7, 8)",
        "labels.csv: 1 label set aside: not a class of the project (eggs)",
        "labels.csv: 1 document set aside until annotators agree (0: ada spam, unnamed ham); "
        "`unruly label PROJECT --by contested` asks again",
    ]
    plain = problems_to_plain(problems, "labels.csv")
    assert {one["kind"] for one in plain} == {
        "unreadable_line",
        "unknown_id",
        "unknown_class",
        "contradiction",
    }
    assert {one["file"] for one in plain} == {"labels.csv"}


def test_an_answer_that_settles_counts_alone_and_as_drawn_before() -> None:
    ada = Answer("0", "spam", "2026-01-01", "ada", "balance#1", 0.25)
    bob = Answer("0", "ham", "2026-01-02", "bob", "import#2")
    other = Answer("1", "ham", "2026-01-01", "ada", "balance#1", 0.5)
    carol = Answer("0", "ham", "2026-01-03", "carol", "contested:balance#1", 0.25)
    assert of(ada, bob, other).labels == 1
    settled = of(ada, bob, other, carol, n=9)
    assert settled.numbers.tolist()[:2] == [0, 0]
    assert not settled.problems
    agreed = of(replace(ada, label="ham"), other, n=9)
    assert np.array_equal(settled.weights, agreed.weights)  # one draw, with its probabilities
    assert of(ada, bob, replace(carol, label=SKIPPED)).problems
    withdrawn = replace(carol, label=WITHDRAWN, when="2026-01-04")
    assert of(ada, bob, carol, withdrawn).problems == of(ada, bob).problems
    later = Answer("0", "spam", "2026-01-05", "bob")
    assert of(ada, bob, carol, later).problems == (
        Contradiction("0", (("carol", "ham"), ("bob", "spam"))),
    )
    assert of(ada, bob, replace(carol, label=CANNOT_TELL)).answered.tolist()[0]
    assert not of(ada, bob, replace(carol, label=CANNOT_TELL)).problems


def test_who_agrees_changes_nothing_of_how_a_document_was_drawn() -> None:
    drawn = [Answer(str(i), "ham", "2026-01-02", "ada", "balance#1", 0.1 + i / 5) for i in range(3)]
    weights = of(*drawn, n=9).weights
    for why in ("browse", "doubt#2", "import#3", ""):
        earlier = Answer("0", "ham", "2026-01-01", "bob", why)
        assert np.array_equal(of(earlier, *drawn, n=9).weights, weights), why


def test_who_cannot_tell_is_not_asked_again_and_who_skips_is() -> None:
    found = of(Answer("0", CANNOT_TELL), Answer("1", SKIPPED), Answer("2", "ham"))
    assert found.answered.tolist() == [True, False, True, False]
    assert found.numbers.tolist() == [-1, -1, 0, -1]


def test_an_imported_correction_keeps_how_the_document_was_drawn(tmp_path: Path) -> None:
    first = Answer("1", "spam", "2026-01-01", "ada", "balance#12", 0.25)
    ours = LabelFile.open(tmp_path / "labels.csv").append(first)
    corrected = Answer("1", "ham", "2026-01-02", "ada")
    theirs = LabelFile.open(tmp_path / "ada.csv").append(corrected)
    done = import_labels(ours, theirs, range(4), CLASSES)
    assert done.file.answers[1:] == (replace(corrected, why="balance#12", probability=0.25),)
    assert import_labels(done.file, theirs, range(4), CLASSES).added == 0


def test_ids_with_breaks_and_blanks_are_found_again(tmp_path: Path) -> None:
    file = LabelFile.open(tmp_path / "labels.csv")
    ids = [" a", "b\nc", "d"]
    for own in ids:
        file = file.append(Answer(own, "spam"))
    assert labelled(LabelFile.open(file.path), ids, CLASSES).labels == 3


def test_labels_from_elsewhere_count_alike() -> None:
    found = of(Answer("0", "spam"), Answer("3", "ham"))
    assert found.weights.tolist() == [1, 0, 0, 1]


def test_labels_that_were_chosen_tell_nothing_about_all() -> None:
    found = of(Answer("0", "spam", why="doubt#1"), Answer("3", "ham", why="source:links#2"))
    assert found.labels == 2
    assert not len(found.rows)


def test_where_all_have_an_answer_each_counts_once() -> None:
    drawn = [Answer(str(i), "ham", "2026-01-01", "", "balance#1", 0.1 + 0.1 * i) for i in range(3)]
    rest = [Answer(str(i), "spam", "2026-01-02", "", "doubt#2") for i in range(3, 6)]
    last = [Answer("6", CANNOT_TELL, "2026-01-02", "", "doubt#2")]
    assert of(*drawn, *rest, *last, n=7).weights.tolist() == [1.0] * 6 + [0.0]


def test_a_draw_of_nearly_all_documents_counts_most() -> None:
    first = [Answer("0", "spam", "2026-01-01", "", "random#1", 0.01)]
    second = [Answer(str(i), "ham", "2026-01-02", "", "random#2", 98 / 99) for i in range(1, 99)]
    found = of(*first, *second, n=100)
    weights = found.weights / found.weights.sum()
    assert weights[0] < 0.012  # 0.5 of 99 by the first draw's own estimate


lines = st.lists(
    st.builds(
        Answer,
        id=st.sampled_from("0123456"),
        label=st.sampled_from(["ham", "spam", "eggs", SKIPPED, CANNOT_TELL]),
        when=st.sampled_from(["", "2026-01-01", "2026-01-02"]),
        by=st.sampled_from(["", "ada"]),
        why=st.sampled_from(["", "balance#1", "random#2", "doubt#3"]),
        probability=st.sampled_from([None, 0.1, 0.7]),
    ),
    max_size=10,
)


@given(lines, st.randoms())
def test_the_order_of_lines_changes_nothing(answers: list[Answer], chance: random.Random) -> None:
    shuffled = answers.copy()
    chance.shuffle(shuffled)
    here, there = of(*answers, n=6), of(*shuffled, n=6)
    assert np.array_equal(here.numbers, there.numbers)
    assert np.array_equal(here.weights, there.weights)
    assert here.problems == there.problems


@given(lines)
def test_weights_are_sound(answers: list[Answer]) -> None:
    found = of(*answers, n=6)
    assert np.isfinite(found.weights).all()
    assert (found.weights >= 0).all()
    assert not found.weights[found.numbers < 0].any()
    if len(found.rows):
        assert found.weights[found.rows].mean() == pytest.approx(1)


def simulated(seed: int, kinds: list[str], leave_early: bool = False) -> tuple[float, float]:
    """The weighted and the plain share of spam after several draws under models that the labels change."""
    rng = np.random.default_rng(seed)
    n, truth = 60, (np.arange(60) % 5 == 0).astype(int)  # 20 % spam
    votes = Votes.from_array(np.full((n, 1), -1), classes=CLASSES)
    noise = rng.normal(0, 0.2, n)
    answers: list[Answer] = []
    for turn, kind in enumerate(kinds):
        known = of(*answers, n=n)
        # a model that leans by what it has seen: strata and probabilities depend on the labels so far
        lean = 0.5 - (known.numbers == 1).sum() / known.labels if known.labels else 0.0
        spam = np.clip(0.3 + 0.4 * truth + noise + 0.5 * lean, 0.01, 0.99)
        proba = np.stack([1 - spam, spam], axis=1)
        asked = ask(votes, proba, 8, kind, answered=known.answered, seed=1000 * seed)
        items = asked.items[:5] if leave_early else asked.items
        answers += [
            Answer(
                str(q.id), CLASSES[truth[q.row]], f"2026-01-0{turn + 1}", "", q.why, q.probability
            )
            for q in items
        ]
    found = of(*answers, n=n)
    weights = found.weights / found.weights.sum()
    return float(weights @ (found.numbers == 1)), float((found.numbers == 1).sum() / found.labels)


@pytest.mark.parametrize(
    ("kinds", "leave_early"),
    [
        (["balance"], False),
        (["balance", "balance", "balance"], False),
        (["doubt", "balance", "random"], False),
        (["balance", "doubt", "balance"], True),
    ],
)
def test_totals_are_unbiased_over_several_rounds_with_changing_models(
    kinds: list[str], leave_early: bool
) -> None:
    found = np.array([simulated(seed, kinds, leave_early) for seed in range(400)])
    error = found[:, 0].std() / np.sqrt(len(found))
    assert abs(found[:, 0].mean() - 0.2) < 4 * error + 0.002
    if kinds[0] == "balance" and len(kinds) == 1:
        assert abs(found[:, 1].mean() - 0.2) > 0.02  # the plain share is off


def test_labels_are_added_once_and_odd_ones_are_left_behind(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("id,label\n1,spam\n2,eggs\n77,ham\n3,Ham\n")
    theirs = LabelFile.open(tmp_path / "theirs.csv")
    ours = LabelFile.open(tmp_path / "labels.csv").append(Answer("1", "spam", by="ada"))
    done = import_labels(ours, theirs, range(9), CLASSES)
    assert done.added == 2
    assert done.problems == (UnknownClass("2", "eggs"), UnknownId("77"))
    again = LabelFile.open(ours.path)
    assert [(a.id, a.label, a.by) for a in again.answers[1:]] == [
        ("1", "spam", "theirs"),
        ("3", "Ham", "theirs"),
    ]
    assert {a.reason for a in again.answers[1:]} == {"import"}
    assert import_labels(again, theirs, range(9), CLASSES).added == 0
    found = labelled(again, range(9), CLASSES)
    assert found.labels == 2
    assert found.weights[[1, 3]].all()


def test_a_colleagues_file_keeps_how_it_was_drawn(tmp_path: Path) -> None:
    answer = Answer("1", "spam", "2026-01-01", "bob", "balance#12", 0.25)
    theirs = LabelFile.open(tmp_path / "bob.csv").append(answer)
    done = import_labels(LabelFile.open(tmp_path / "labels.csv"), theirs, range(9), CLASSES)
    assert LabelFile.open(done.file.path).answers == (answer,)


def test_contradictions_are_kept_apart(tmp_path: Path) -> None:
    theirs = LabelFile.open(tmp_path / "bob.csv").append(Answer("1", "spam"))
    ours = LabelFile.open(tmp_path / "labels.csv").append(Answer("1", "ham", by="ada"))
    found = labelled(import_labels(ours, theirs, range(9), CLASSES).file, range(9), CLASSES)
    assert found.labels == 0
    assert len(found.problems) == 1


@given(
    ids=st.one_of(
        st.lists(st.integers(-99, 99), unique=True, max_size=8),
        st.lists(st.text(" a\n\x1c\x1f\x85\u2028\u00a0b", max_size=3), unique=True, max_size=8),
    ),
    wanted=st.lists(st.integers(0, 7), max_size=4),
)
def test_a_column_of_ids_is_looked_up_as_a_list_is(ids: list[object], wanted: list[int]) -> None:
    named = {written_id(ids[i]) for i in wanted if i < len(ids)} - {""}
    file = LabelFile(Path("labels.csv"), tuple(Answer(own, "spam") for own in sorted(named)))
    one, other = (labelled(file, given, ["ham", "spam"]) for given in (ids, pl.Series(ids)))
    assert one.numbers.tolist() == other.numbers.tolist()
    assert one.problems == other.problems
