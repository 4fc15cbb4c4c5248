"""Keys for classes: each its own, whatever the names are."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.cli.label_screen import KEYS, ClassKeys, Do, Lines, Reply
from unruly.errors import InputError

names = st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=127, unique=True)


@given(names)
def test_every_class_has_a_key_of_its_own(classes: list[str]) -> None:
    keys = ClassKeys.of(classes)
    assert len(set(keys.codes)) == len(classes)
    assert not set(keys.codes) & set(KEYS)
    assert {len(code) for code in keys.codes} == {keys.width}
    for name, code in zip(classes, keys.codes, strict=True):
        assert keys.typed(code) == Reply(Do.LABEL, name)


def test_letters_of_the_names_where_they_are_free() -> None:
    assert ClassKeys.of(["sports", "science", "society", "question"]).codes == ("s", "c", "o", "u")
    assert ClassKeys.of(["спам", "нет"]).codes == ("1", "2")
    assert ClassKeys.of(["2", "1", "b"]).codes == ("2", "1", "b")


def test_numbers_in_names_are_what_they_say() -> None:
    keys = ClassKeys.of([f"billing {i}" for i in range(12)])
    assert keys.codes == tuple(f"{i:02}" for i in range(12))
    for i in range(12):
        for said in (str(i), f"{i:02}", f"Billing {i}"):
            assert keys.line(said) == Reply(Do.LABEL, f"billing {i}")
    assert keys.line("12") is None
    assert ClassKeys.of(["praise", "tier 1", "tier 2"]).codes == ("1", "2", "3")


def test_a_number_that_could_mean_two_classes_is_refused() -> None:
    keys = ClassKeys.of(["praise", "tier 1", "tier 2"])
    assert keys.line("1") is None  # the key of praise, and the number of tier 1
    assert keys.line("3") == Reply(Do.LABEL, "tier 2")
    assert ClassKeys.of(["ham 1", "spam 2"]).line("2") == Reply(Do.LABEL, "spam 2")
    assert ClassKeys.of(["2", "1", "b"]).line("1") == Reply(Do.LABEL, "1")
    assert ClassKeys.of([str(year) for year in range(1999, 2009)]).codes[0] == "01"


def test_lines_are_answers() -> None:
    lines = Lines(io.StringIO("ham\n\nS\nskip\nCannot tell\n?\n<\nundo\n+ so funny\nquit\n"))
    keys = ClassKeys.of(["ham", "spam"])
    found = [lines.read(keys) for _ in range(9)]
    assert [reply.do for reply in found] == [
        Do.LABEL,
        Do.LABEL,
        Do.SKIP,
        Do.CANNOT_TELL,
        Do.CANNOT_TELL,
        Do.UNDO,
        Do.UNDO,
        Do.NOTE,
        Do.QUIT,
    ]
    assert found[1].text == "spam"
    assert found[7].text == "so funny"
    assert lines.read(keys).do is Do.QUIT  # the end


def test_a_class_may_be_called_like_a_command() -> None:
    keys = ClassKeys.of(["skip", "quit", "q"])
    assert keys.line("quit") == Reply(Do.LABEL, "quit")
    assert keys.line("q") == Reply(Do.LABEL, "q")
    assert "q" not in keys.codes


def test_what_is_no_answer_is_refused_with_its_line() -> None:
    lines = Lines(io.StringIO("ham\nspma\n"))
    keys = ClassKeys.of(["ham", "spam"])
    lines.read(keys)
    with pytest.raises(InputError, match="line 2: 'spma' is not a class: did you mean 'spam'"):
        lines.read(keys)
