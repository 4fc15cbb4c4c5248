"""The lines of a file of labels: layouts, and what is added so that the next line stands alone."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from unruly.labelling.label_lines import (
    COLUMNS,
    LineLayout,
    completed,
    continued,
    decoded,
    fit_to_continue,
    read_lines,
)


@given(st.dictionaries(st.sampled_from(COLUMNS), st.text(max_size=20)), st.sampled_from(",;\t"))
def test_a_line_is_one_line(values: dict[str, str], separator: str) -> None:
    line = LineLayout(separator=separator).line(values)
    assert line.count("\n") == 1
    assert len(next(csv.reader(io.StringIO(line, newline=""), delimiter=separator))) == len(COLUMNS)


def test_an_empty_file_gets_a_header() -> None:
    assert continued(b"", [{"id": "1", "label": "a"}], {}) == (
        b"id,label,when,by,why,probability,note\n1,a,,,,,\n"
    )


def test_a_cut_line_is_closed_first() -> None:
    whole = b"id,label,when,by,why,probability,note\n"
    assert continued(whole + b'1,a,,,,,"he', [{"id": "2", "label": "b"}], {}).startswith(b'"\n2,b')
    assert continued(whole + b"1,a", [{"id": "2", "label": "b"}], {}).startswith(b"\n2,b")


def test_missing_columns_are_added_and_conflicts_kept() -> None:
    data = b"<<<<<<< HEAD\nID;Label\n1;a\n=======\n2;b\n>>>>>>> theirs\n"
    assert not fit_to_continue(data, {})
    more = completed(data, {})
    assert fit_to_continue(more, {})
    assert [line.cells["label"] for line in read_lines(decoded(more), "labels.csv")] == ["a", "b"]
