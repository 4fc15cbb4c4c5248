"""Halves of characters, which JSON and Python can spell but UTF-8 cannot hold."""

from __future__ import annotations


def without_surrogates(text: str) -> str:
    """The text with pairs of surrogates joined; half a pair becomes �, the sign for an unknown character.

    >>> without_surrogates("a\\ud800b"), without_surrogates("\\ud83d\\ude00")
    ('a�b', '😀')
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
