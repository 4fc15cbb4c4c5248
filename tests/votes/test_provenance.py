"""Where votes come from, through slices, splits and batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from unruly.errors import InputError
from unruly.rules.matching import given_up, lacking
from unruly.votes.provenance import ColumnLacking, GivenUp, Match, Provenance
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class Told:
    """A provenance that tells the row that it is asked for."""

    matcher: str
    offset: int = 0
    given_up: tuple[GivenUp, ...] = ()
    lacking: tuple[ColumnLacking, ...] = ()
    columns: tuple[str, ...] = ()

    def matches(self, row: int) -> tuple[Match, ...]:
        return (Match("a", 0, "ham", ((row + self.offset, 99),), self.matcher),)

    def of_sources(self, names: Sequence[str]) -> Provenance:
        return replace(self, matcher=f"{self.matcher} of {', '.join(names)}")


def told(n: int, matcher: str = "rules", offset: int = 0) -> Votes:
    votes = Votes.from_array(
        np.arange(n)[:, None] % 2, ids=[offset + row for row in range(n)], classes=["ham", "spam"]
    )
    return replace(votes, provenance=Told(matcher, offset))


def rows_of(votes: Votes) -> list[int]:
    return [votes.matches(row)[0].spans[0][0] for row in range(votes.n)]


def test_the_rules_stay_known_through_slices_and_batches() -> None:
    votes = told(10)
    assert rows_of(votes[2:5]) == [2, 3, 4]
    assert rows_of(votes[[7, 1, 7]].take([True, False, True])) == [7, 7]
    both = Votes.concat([votes.take([3, 0]), told(4, offset=100)])
    assert rows_of(both) == [3, 0, 100, 101, 102, 103]
    assert rows_of(both[::-1]) == [103, 102, 101, 100, 0, 3]
    assert both.provenance is not None
    assert both.provenance.matcher == "rules"
    assert Votes.concat([votes[:0], told(2)]).provenance is not None
    assert votes.matches(-3) == votes.matches(7)


def test_documents_are_counted_from_either_end() -> None:
    votes = told(3)
    assert votes.matches(-3) == votes.matches(0)
    for row in (3, -4):
        with pytest.raises(InputError, match=f"there is no document {row}"):
            votes.matches(row)


def test_the_rules_stay_known_through_scikit_learns_splits() -> None:
    documents = list(range(12))
    _, _, votes, rest = train_test_split(documents, told(12), test_size=5, random_state=0)
    ids = [*votes.ids, *rest.ids]
    assert sorted(ids) == documents
    assert [*rows_of(votes), *rows_of(rest)] == ids


def test_votes_of_unlike_rules_forget_them() -> None:
    other = replace(told(2, "others"), ids=told(2, offset=50).ids)
    assert Votes.concat([told(3), other]).provenance is None
    half = replace(told(2), ids=told(2, offset=70).ids, provenance=None)
    assert Votes.concat([told(3), half]).provenance is None


def test_the_rules_of_the_picked_sources_stay_known() -> None:
    votes = replace(told(4), sources=("a",))
    assert votes[[3], "a"].matches(0)[0].reason == "rules of a"


def with_gaps(n: int, rows: list[int], offset: int = 0) -> Votes:
    """Votes whose rule ran out of time on these rows, which lack a column as well."""
    gaps = np.isin(np.arange(n), rows)
    known = Told(
        "rules",
        offset,
        (GivenUp("source_0", 2, gaps, 1.0, True),),
        (ColumnLacking("source_0", "vendor", gaps),),
    )
    return replace(told(n, offset=offset), provenance=known)


def counts(votes: Votes) -> list[tuple[str, int, int]]:
    return [(fact.source, fact.rule, fact.documents) for fact in given_up(votes)]


def test_picked_rows_know_where_their_sources_had_to_abstain() -> None:
    votes = with_gaps(6, [1, 4, 5])
    assert counts(votes) == [("source_0", 2, 3)]
    assert counts(votes[[5, 0, 1]]) == [("source_0", 2, 2)]
    assert lacking(votes[[5, 0, 1]])[0].rows.tolist() == [True, False, True]
    assert counts(votes[[0, 2]]) == []
    assert lacking(votes[[0, 2]]) == ()
    assert counts(votes[:, "source_0"][4:]) == [("source_0", 2, 2)]


def test_batches_put_together_count_their_documents_once() -> None:
    both = Votes.concat([with_gaps(3, [0]), with_gaps(3, [1, 2], offset=10)])
    assert counts(both) == [("source_0", 2, 3)]
    assert counts(both[[0, 1, 5]]) == [("source_0", 2, 2)]
    assert counts(Votes.concat([with_gaps(2, [0])[:0], with_gaps(2, [1])])) == [("source_0", 2, 1)]
