"""The ledger: what is entered is told, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.ledger import GoldUse, Ledger, Use

entries = st.lists(
    st.builds(GoldUse, st.sampled_from(Use), st.integers(1, 10**6), st.text(max_size=8)), max_size=6
)


@given(entries)
def test_the_ledger_survives_json(found: list[GoldUse]) -> None:
    ledger = Ledger(tuple(found))
    assert Ledger.from_plain(json.loads(json.dumps(ledger.to_plain()))) == ledger


@given(entries)
def test_gold_free_means_that_no_label_is_in_the_model(found: list[GoldUse]) -> None:
    ledger = Ledger(tuple(found))
    assert ledger.gold_free == all(
        entry.use in (Use.SCORING, Use.COMPARISON, Use.ADVICE) for entry in found
    )
    first = str(ledger).removeprefix("gold labels: ")
    assert ledger.gold_free == first.startswith(("none used", "none in the model"))


def test_every_use_is_named_with_its_count_and_origin() -> None:
    ledger = Ledger().add(Use.TRAINING, 20, "clean.csv").add(Use.PRIOR, 20).add(Use.SCORING, 1196)
    assert (
        str(ledger) == "gold labels: 20 for training (clean.csv), 20 for prior; 1,196 for scoring"
    )
    assert ledger.used_for(Use.TRAINING) == 20
    assert ledger.used_for(Use.SELECTION) == 0


def test_the_same_use_is_entered_once_and_an_empty_one_never() -> None:
    once = Ledger().add(Use.SCORING, 5, "a")
    assert once.add(Use.SCORING, 5, "a") == once
    assert once.add(Use.PRIOR, 0) == once


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(InputError, match="-1 gold labels"):
        Ledger().add(Use.PRIOR, -1)
