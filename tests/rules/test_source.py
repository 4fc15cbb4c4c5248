"""A rule's label, and the classes that it may be."""

from __future__ import annotations

import pytest

from unruly.errors import RuleError
from unruly.rules.source import class_number


def test_a_class_of_two_lines_is_named_on_one() -> None:
    with pytest.raises(RuleError, match=r"the classes are ham, 'a\\nb'") as caught:
        class_number("spam", ("ham", "a\nb"))
    assert "\n" not in str(caught.value)
