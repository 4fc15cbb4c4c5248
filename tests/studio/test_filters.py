"""Filters combine, travel in links, and say the same as a slow and obvious count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.project.new import begin_project
from unruly.rules.matching import VoteCache
from unruly.studio.filters import COVERED, SORTS, Filter, column_look
from unruly.studio.state import ModelAnswers, State
from unruly.studio.workspace import Workspace


@pytest.fixture
def state(workspace: Workspace) -> State:
    """A state with a made-up model and three labels."""
    workspace.label([0, 5], "spam")
    workspace.label([7], "ham")
    proba = np.random.default_rng(0).dirichlet([1, 1], workspace.state.n).astype(np.float32)
    workspace.use_answers(workspace.state.corpus, ModelAnswers("made up", proba))
    return workspace.state


def slowly(chosen: Filter, state: State) -> list[int]:
    """Document by document."""
    assert state.answers is not None
    found = []
    for row in range(state.n):
        cast = [int(v) for v in state.votes.matrix[row] if v >= 0]
        fits = [
            {"": True, "yes": bool(cast), "no": not cast, "conflict": len(set(cast)) > 1}[
                chosen.covered
            ]
        ]
        if chosen.source or chosen.vote:
            names = [chosen.source] if chosen.source else list(state.votes.sources)
            votes = [int(state.votes.matrix[row, state.votes.sources.index(n)]) for n in names]
            wanted = [state.classes.index(chosen.vote)] if chosen.vote else [0, 1]
            fits.append(any(vote in wanted for vote in votes))
        says = state.classes[state.answers.proba[row].argmax()]
        fits.append(chosen.predicted in ("", says))
        if chosen.high:
            fits.append(bool(state.answers.proba[row].max() <= float(chosen.high) / 100))
        number = int(state.labels[row])
        label = "" if number < 0 else state.classes[number]
        fits.append(
            {"": True, "yes": bool(label), "no": not label}.get(chosen.label, label == chosen.label)
        )
        fits.append(chosen.words.casefold() in state.corpus.texts[row].casefold())
        if all(fits):
            found.append(row)
    return found


FILTERS = st.builds(
    Filter,
    covered=st.sampled_from(["", *COVERED]),
    source=st.sampled_from(["", "subscribe", "money"]),
    vote=st.sampled_from(["", "ham", "spam"]),
    predicted=st.sampled_from(["", "ham", "spam"]),
    high=st.sampled_from(["", "80"]),
    label=st.sampled_from(["", "yes", "no", "spam"]),
    words=st.sampled_from(["", "SONG", "my"]),
    sort=st.sampled_from(["", *SORTS]),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=FILTERS)
def test_all_parts_combine(state: State, chosen: Filter) -> None:
    rows = chosen.rows(state).tolist()
    assert sorted(rows) == slowly(chosen, state)
    assert len(rows) == len(set(rows)) == chosen.count(state)


@given(chosen=FILTERS)
def test_a_link_holds_the_whole_filter(chosen: Filter) -> None:
    from urllib.parse import parse_qsl

    assert Filter.of(dict(parse_qsl(chosen.query()))) == chosen


def test_orders(state: State) -> None:
    assert state.answers is not None
    doubt = state.answers.doubt[Filter(sort="doubt").rows(state)]
    assert (np.diff(doubt) <= 0).all()
    influence = state.influence[Filter(sort="influence").rows(state)]
    assert (np.diff(influence) <= 0).all()
    assert Filter(sort="random").rows(state).tolist() != list(range(state.n))
    assert Filter().rows(state).tolist() == list(range(state.n))


@pytest.mark.parametrize("with_model", [True, False])
def test_influence_is_doubt_times_documents_with_the_same_votes(
    state: State, with_model: bool
) -> None:
    shown = state if with_model else replace(state, answers=None)
    for row in range(shown.n):
        votes = shown.votes.matrix[row]
        alike = sum((votes == other).all() for other in shown.votes.matrix)
        expected = shown.doubt[row] * alike if (votes >= 0).any() else 0.0
        assert shown.influence[row] == pytest.approx(expected)


def test_words_are_words_not_patterns(state: State) -> None:
    assert Filter(words="(.*").count(state) == 0
    assert Filter(words='"my channel"').count(state) > 0


@pytest.mark.parametrize(
    "chosen",
    [
        Filter(source="nobody"),
        Filter(vote="eggs"),
        Filter(label="eggs"),
        Filter(low="many"),
        Filter(column="nothing"),
        Filter(sort="nonsense"),
    ],
)
def test_what_is_unknown_is_said(state: State, chosen: Filter) -> None:
    with pytest.raises(InputError):
        chosen.rows(state)


@pytest.mark.parametrize(
    "chosen",
    [Filter(predicted="spam"), Filter(low="90"), Filter(against="votes"), Filter(changed="yes")],
)
def test_a_filter_by_a_model_that_is_not_there_is_refused(state: State, chosen: Filter) -> None:
    with pytest.raises(InputError, match="model"):  # and not all documents, to be labelled
        chosen.rows(replace(state, answers=None, earlier=None))


@pytest.fixture
def columned(tmp_path: Path, cache: VoteCache) -> State:
    """Documents with a number, a date and a text beside each."""
    rows = [
        f"text {i},{i / 2 if i % 7 else ''},2024-{1 + i % 12:02}-{1 + i % 28:02},{'abc'[i % 3]}"
        for i in range(60)
    ]
    (tmp_path / "data.csv").write_text("\n".join(["text,likes,day,lang", *rows]) + "\n")
    begin_project(tmp_path / "data.csv", ("x", "y"), text="text")
    return Workspace(tmp_path).state


@given(least=st.integers(-1, 31), most=st.integers(-1, 31))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_ranges_of_numbers(columned: State, least: int, most: int) -> None:
    values = columned.corpus.columns["likes"].to_list()
    chosen = Filter(column="likes", least=str(least), most=f"{most},0")
    expected = [i for i, v in enumerate(values) if v is not None and least <= v <= most]
    assert chosen.rows(columned).tolist() == expected


def test_ranges_of_dates_and_open_ends(columned: State) -> None:
    days = columned.corpus.columns["day"].to_list()

    def found(**parts: str) -> list[int]:
        return [int(row) for row in Filter(column="day", **parts).rows(columned)]

    assert found(least="2024-03-05") == [i for i, d in enumerate(days) if d >= "2024-03-05"]
    assert found(most="2024-03") == [i for i, d in enumerate(days) if d < "2024-04"]
    assert found(least="2024-02", most="2024-02-10") == [
        i for i, d in enumerate(days) if "2024-02-01" <= d <= "2024-02-10"
    ]


def test_numbers_and_dates_as_a_german_table_has_them(tmp_path: Path, cache: VoteCache) -> None:
    rows = [f"text {i};{i},50;{1 + i % 28:02}.{1 + i % 12:02}.2024" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["text;paid;day", *rows]) + "\n")
    begin_project(tmp_path / "data.csv", ("x", "y"), text="text")
    state = Workspace(tmp_path).state
    assert column_look(state, "paid").high == "59.5"
    assert column_look(state, "day").low == "2024-01-01"
    assert Filter(column="paid", least="57,5").rows(state).tolist() == [57, 58, 59]
    days = Filter(column="day", least="02.01.2024", most="2024-01").rows(state)
    assert days.tolist() == [12, 24, 36, 48]


def test_ranges_that_make_no_sense_are_said(columned: State) -> None:
    for parts in (
        {"column": "likes", "least": "many"},
        {"column": "day", "most": "soon"},
        {"column": "lang", "least": "a"},
    ):
        with pytest.raises(InputError, match=r"not a number|not a date|holds texts"):
            Filter(**parts).rows(columned)


def test_what_a_column_offers(columned: State) -> None:
    assert column_look(columned, "lang").values == (("a", 20), ("b", 20), ("c", 20))
    likes = column_look(columned, "likes")
    assert (likes.kind, likes.low, likes.high, likes.values) == ("number", "0.5", "29.5", ())
    day = column_look(columned, "day")
    assert (day.kind, day.low) == ("date", "2024-01-01")
