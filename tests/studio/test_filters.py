"""Filters combine, travel in links, and say the same as a slow and obvious count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.studio.filters import COVERED, SORTS, Filter
from unruly.studio.state import Answers, State
from unruly.studio.workspace import Workspace


@pytest.fixture
def state(workspace: Workspace) -> State:
    """A state with a made-up model and three labels."""
    workspace.label([0, 5], "spam")
    workspace.label([7], "ham")
    proba = np.random.default_rng(0).dirichlet([1, 1], workspace.state.n).astype(np.float32)
    workspace.use_answers(Answers("made up", proba))
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


def test_without_a_model_its_parts_ask_for_nothing(state: State) -> None:
    bare = replace(state, answers=None)
    assert Filter(predicted="spam", low="90", against="votes").count(bare) == bare.n
