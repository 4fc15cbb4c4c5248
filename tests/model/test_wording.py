"""Every note has a sentence of its own, and none of the words that only we understand."""

from __future__ import annotations

import json
import re

import pytest

from unruly.facts import (
    BalanceOrigin,
    BlankTexts,
    ClassBalance,
    ClassesWithoutVotes,
    EncoderFallback,
    Note,
    SourceBelowChance,
    note_from_plain,
    note_to_plain,
)
from unruly.model.wording import sentence

NOTES: list[tuple[Note, list[str]]] = [
    (
        ClassBalance(("ham", "spam"), (0.9, 0.1), BalanceOrigin.STATED),
        ["ham 90.0%, spam 10.0%", "stated"],
    ),
    (
        ClassBalance(("ham", "spam"), (0.9, 0.1), BalanceOrigin.LABELS, labels=20),
        ["estimated from 20 labels"],
    ),
    (
        ClassBalance(("ham", "spam"), (0.6, 0.4), BalanceOrigin.ASSUMED, depends=0.125),
        ["not known", "12.5% of the labels", "--prior", "label 20 documents"],
    ),
    (ClassesWithoutVotes(("news", "sport")), ["No source votes for news or sport", "add a rule"]),
    (
        SourceBelowChance("links", 0.31, 0.22, 0.41, 0.5),
        ["links is estimated to be right on 31%", "22% to 41%", "guessing", "50%"],
    ),
    (BlankTexts(1, 2), ["1 of 2 texts is blank"]),
    (EncoderFallback("lsa", "minilm", "minilm"), ["lsa is used", "pip install 'unruly[minilm]'"]),
]
DIALECT = re.compile(
    r"\b(said|says|heard|told|foretold|held|shades?|loudness|lesson|settled|blotted|ballots?)\b"
)


@pytest.mark.parametrize(("note", "pieces"), NOTES, ids=lambda x: getattr(x, "kind", ""))
def test_a_note_is_a_sentence_with_its_figures(note: Note, pieces: list[str]) -> None:
    told = sentence(note)
    assert all(piece in told for piece in pieces), told
    assert told.endswith((".", "features."))
    assert not DIALECT.search(told)


@pytest.mark.parametrize("note", [note for note, _ in NOTES], ids=lambda note: note.kind)
def test_a_note_survives_json(note: Note) -> None:
    assert note_from_plain(json.loads(json.dumps(note_to_plain(note)))) == note
