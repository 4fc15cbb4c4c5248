"""Corrections outside a draw keep how a document was drawn; what they replace can be written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from unruly.labelling.answers import corrections, replaced
from unruly.labelling.label_file import AGAIN, CANNOT_TELL, WITHDRAWN, Answer, LabelFile

DRAWN = Answer("4", "ham", "2026-01-01", "ada", "balance#1", 0.25, "a note")


def file_of(*answers: Answer) -> LabelFile:
    return LabelFile(Path("labels.csv"), answers)


def corrected(file: LabelFile, label: str | None, by: str = "ada") -> Answer:
    (answer,) = corrections(file, ["4"], label, by, "browse")
    return answer


def test_a_document_that_was_never_drawn_says_how_it_was_found() -> None:
    assert corrected(file_of(), "spam") == Answer("4", "spam", "", "ada", "browse")


def test_a_correction_is_drawn_as_what_it_corrects() -> None:
    new = Answer("4", "spam", "", "ada", "balance#1", 0.25)
    assert corrected(file_of(DRAWN), "spam") == new
    assert corrected(file_of(replace(DRAWN, label=CANNOT_TELL)), "spam") == new
    assert corrected(file_of(DRAWN), None) == replace(new, label=WITHDRAWN, when=DRAWN.when)
    taken = replace(DRAWN, label=WITHDRAWN, when="2026-01-02")
    assert corrected(file_of(DRAWN, taken), "spam") == new
    assert corrected(file_of(DRAWN), "spam", "bob") == replace(new, by="bob")


def test_who_settled_a_document_can_correct_it() -> None:
    other = Answer("4", "spam", "2026-01-02", "bob")
    settled = replace(DRAWN, when="2026-01-03", why=AGAIN + DRAWN.why)
    file = file_of(DRAWN, other, settled)
    new = replace(corrected(file, "spam"), when="2026-01-04")
    assert [a.label for a in file_of(*file.answers, new).standing()["4"]] == ["spam"]
    assert replaced(file_of(*file.answers, new), [new]) == (settled,)


times = st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"])
lines = st.builds(
    Answer,
    id=st.sampled_from("45"),
    label=st.sampled_from(["ham", "spam", CANNOT_TELL, WITHDRAWN]),
    when=times,
    by=st.sampled_from(["ada", "bob"]),
    why=st.sampled_from(["balance#1", "browse"]),
    probability=st.sampled_from([None, 0.25]),
)


@given(before=st.lists(lines, max_size=8), label=st.sampled_from(["ham", "spam", None]))
def test_what_is_written_back_stands_as_before(before: list[Answer], label: str | None) -> None:
    file = file_of(*before)
    new = corrections(file, ["4", "5"], label, "ada", "filter")
    after = [replace(answer, when="2026-02-01") for answer in new]
    back = [replace(a, when="2026-02-02") for a in replaced(file_of(*before, *after), after)]
    was, now = (
        {own: {replace(a, when="") for a in found} for own, found in some.standing().items()}
        for some in (file, file_of(*before, *after, *back))
    )
    assert now == was
