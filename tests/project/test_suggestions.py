"""What suggestions are judged by: the votes, with a stand-in for a class that has none."""

from __future__ import annotations

import numpy as np
import polars as pl

from unruly.project.suggestions import REST, with_stand_in
from unruly.votes.votes import ABSTAIN, Votes


def test_a_stand_in_leaves_partial_and_missing_votes_as_they_are() -> None:
    either = np.array([[0.5, 0.5, 0], [0, 0, 0], [0, 0, 0]], np.float32)
    votes = Votes(
        np.array([[0, ABSTAIN], [ABSTAIN, 1], [ABSTAIN, ABSTAIN]], np.int8),
        ("either", "asked"),
        ("a", "b", "c"),
        pl.Series([1, 2, 3]),
        soft={"either": either},
        unasked={"asked": np.array([True, False, False])},
    )
    joined = with_stand_in(votes, 2)
    assert joined.sources == ("either", "asked", REST)
    assert joined.matrix[:, 2].tolist() == [ABSTAIN, ABSTAIN, 2]
    assert joined.agrees(np.array([1, 1, 1]))[0, 0]  # "a or b" is right where the class is b
    assert joined.unasked["asked"].tolist() == [True, False, False]
