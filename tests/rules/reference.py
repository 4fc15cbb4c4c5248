"""Rules matched the slow and obvious way, one text and one word at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence


def has_word(text: str, word: str) -> bool:
    """Whether a word or phrase occurs, not as a part of a longer word."""
    left = r"(?<!\w)" if re.match(r"\w", word) else ""
    right = r"(?!\w)" if re.search(r"\w$", word) else ""
    phrase = r"\s+".join(re.escape(part) for part in word.split())
    return re.search(f"(?i){left}{phrase}{right}", text) is not None


def has_any(text: str, words: Sequence[str]) -> bool:
    """Whether one of the words occurs."""
    return any(has_word(text, word) for word in words)


def first_match(text: str, rules: Sequence[tuple[int, Sequence[str]]]) -> int:
    """The class of the first rule that matches, or -1."""
    for label, words in rules:
        if has_any(text, words):
            return label
    return -1
