"""Numbers with their nouns, for messages."""

from __future__ import annotations


def plural(n: int, one: str, many: str = "") -> str:
    """So many of something, in words that fit the number.

    >>> plural(1, "document"), plural(2000, "document"), plural(2, "class", "classes")
    ('1 document', '2,000 documents', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
