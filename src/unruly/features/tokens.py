"""Texts to token ids, and batches of texts that have the same number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.extras import need

CHARACTERS_A_TOKEN = 24  # more than any real text has: what lies beyond is cut before tokenising
CHUNK = 4_096  # texts tokenised at a time

Ids = NDArray[np.int64]


def tokenizer_from(content: str, max_tokens: int, extra: str, purpose: str) -> Any:
    """A `tokenizers` tokenizer from its JSON; it cuts at `max_tokens` and does not pad."""
    library = need("tokenizers", extra=extra, purpose=purpose)
    tokenizer = library.Tokenizer.from_str(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def token_ids(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> Iterator[Ids]:
    """Each text's token ids. A text of a million characters is cut first: its end is never read."""
    longest = max_tokens * CHARACTERS_A_TOKEN
    for start in range(0, len(texts), CHUNK):
        part = [clean(text[:longest]) for text in texts[start : start + CHUNK]]
        for encoding in tokenizer.encode_batch_fast(part):
            yield np.array(encoding.ids, dtype=np.int64)


def clean(text: str) -> str:
    """The text with lone surrogates, which no tokenizer takes, replaced.

    >>> clean("a\\ud800b")
    'a?b'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def batches(lengths: Sequence[int], budget: int) -> list[NDArray[np.intp]]:
    """Rows of one length together, at most `budget` tokens a batch, the longest first.

    >>> [rows.tolist() for rows in batches([3, 5, 3, 3], budget=6)]
    [[1], [0, 2], [3]]
    """
    size = np.asarray(lengths)
    order = np.argsort(-size, kind="stable")
    cuts = np.flatnonzero(np.diff(size[order])) + 1
    found = []
    for group in np.split(order, cuts):
        if len(group):
            most = max(1, budget // max(1, int(size[group[0]])))
            found += [group[start : start + most] for start in range(0, len(group), most)]
    return found
