"""Why the shown model answers as it does on one document; and the forms of a word that was marked."""

from __future__ import annotations

import re

import polars as pl

from unruly.errors import UnrulyError
from unruly.model.explanation import Explanation
from unruly.sampling import sample_rows
from unruly.studio.state import State
from unruly.studio.training import Trainer

SAMPLE = 50_000  # documents in which other forms of a word are looked for
MOST_FORMS = 12
_ENDINGS = ("ing", "ed", "es", "er", "ers", "ly", "s", "e", "y")


def explained(trainer: Trainer, row: int) -> Explanation | UnrulyError | None:
    """The explanation of a document; why there is none; or None without a model."""
    state, model = trainer.workspace.state, trainer.current
    if model is None or state.answers is None:
        return None
    try:
        return trainer.opened(model).explain(state.corpus.take([row]))
    except UnrulyError as error:
        return error


def stem_of(word: str) -> str:
    """A word without a common English ending, where enough of it is left.

    >>> stem_of("subscribing"), stem_of("songs"), stem_of("bus")
    ('subscrib', 'song', 'bus')
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def inflections(words: str, state: State) -> list[tuple[str, int]]:
    """Other forms of the last of these words that the texts have, with the number of texts.

    What comes after the stem is at most four letters, so that *subscribe* offers *subscribed* and
    *subscribers*, but not another word.
    """
    phrase = words.casefold().split()
    if not phrase:
        return []
    stem = stem_of(phrase[-1])
    if len(stem) < 3:
        return []
    before = r"\s+".join(re.escape(word) for word in phrase[:-1])
    pattern = rf"(?i)\b({before}{chr(92) + 's+' if before else ''}{re.escape(stem)}\w{{0,4}})\b"
    rows = pl.Series(sample_rows(state.n, SAMPLE), dtype=pl.UInt32)
    found = state.corpus.texts.gather(rows).str.extract(pattern).drop_nulls().str.to_lowercase()
    counts = found.str.replace_all(r"\s+", " ").value_counts(sort=True, name="n")
    return [(form, n) for form, n in counts.iter_rows()][:MOST_FORMS]
