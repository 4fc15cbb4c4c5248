"""The fit's summary; every note has a sentence of its own, without words that only we understand."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tests.model.planted import planted, quick

from unruly import Votes, WeakClassifier
from unruly.errors import InputError
from unruly.findings import (
    BalanceOrigin,
    BlankTexts,
    ClassBalance,
    ClassesWithoutVotes,
    DocumentsUnasked,
    EncoderFallback,
    Note,
    WeakSource,
    balance_from_plain,
    finding_to_plain,
    note_from_plain,
)
from unruly.model.summary import FitSummary
from unruly.sentences import sentence
from unruly.statistics import Share


def test_the_summary_tells_the_votes_the_heads_and_the_gold() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    told = model.summary_
    answers = model.predictions(data.features, data.votes)
    assert told.documents == 200
    assert told.covered == data.votes.covered.sum()
    assert sum(told.labels) == 200
    same = answers.heads.denoiser.argmax(axis=1) == answers.heads.classifier.argmax(axis=1)
    assert told.agreement == same[data.votes.covered].mean()
    for j, line in enumerate(told.sources):
        cast = data.matrix[:, j] >= 0
        assert line.votes == cast.sum()
        assert line.coverage == cast.mean()
        assert line.reliability == model.reliability_[j]
        assert line.agreement == (data.matrix[cast, j] == answers.numbers[cast]).mean()
    lines = str(told).splitlines()
    assert lines[-1] == "gold labels: none used"
    assert all(any(line.startswith(name) for line in lines) for name in data.votes.sources)
    assert told.kept_epoch == told.epochs == 40


def test_one_figure_of_trust_for_each_source() -> None:
    data = planted()
    default = WeakClassifier(cache=False).fit(data.features, data.votes).summary_
    for text in (str(default), default._repr_html_()):
        assert "estimated accuracy" in text
        assert "reliability" not in text
    paper = quick().fit(data.features, data.votes).summary_
    for text in (str(paper), paper._repr_html_()):
        assert "reliability" in text
        assert "estimated accuracy" not in text


def test_the_summary_survives_json() -> None:
    data = planted()
    told = quick().fit(data.features, data.votes, clean={0: "c1"}).summary_
    plain = json.loads(json.dumps(told.to_plain(), allow_nan=False))
    assert FitSummary.from_plain(plain) == told
    assert "1 for training" in str(told)


NOTES: list[tuple[Note, list[str]]] = [
    (
        ClassBalance(("ham", "spam"), (0.9, 0.1), BalanceOrigin.STATED),
        ["ham 90.0%, spam 10.0%", "stated"],
    ),
    (
        ClassBalance(("a", "b", "c"), (0.5, 0.3, 0.2), BalanceOrigin.STATED, left_open=("b", "c")),
        ["Class shares: a 50.0%, as stated; the rest from the votes: b 30.0%, c 20.0%."],
    ),
    (
        ClassBalance(("a", "b"), (0.6, 0.4), BalanceOrigin.STATED, added_up_to=1.04286),
        ["Class shares: a 60.0%, b 40.0%, as stated (together 104%: scaled to 100%)."],
    ),
    (
        ClassBalance(
            ("a", "b"), (0.6, 0.4), BalanceOrigin.STATED, depends=0.1, left_open=("a", "b")
        ),
        [
            "Class shares: a 60.0%, b 40.0%, those of the votes, as asked.",
            "would change 10.0% of the predictions.",  # votes cannot be exact
        ],
    ),
    (
        DocumentsUnasked("model", 40, 73),
        ["model has not been asked about 40 of 73 documents", "missing, not as abstentions"],
    ),
    (
        ClassBalance(("ham", "spam"), (0.9, 0.1), BalanceOrigin.LABELS, labels=20),
        ["estimated from 20 labels"],
    ),
    (
        ClassBalance(("ham", "spam"), (0.6, 0.4), BalanceOrigin.ASSUMED, depends=0.125),
        ["not known", "12.5% of the predictions", "--prior", "label 20 documents"],
    ),
    (ClassesWithoutVotes(("news", "sport")), ["No source votes for news or sport", "add a rule"]),
    (
        WeakSource("links", 80, Share(0.31, 0.22, 0.41, 80), chance=0.5),
        [
            "links is right on 31.0% (22.0% to 41.0%) of its votes (estimated)",
            "chance level 50%",
            "disable it",
        ],
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
    assert note_from_plain(json.loads(json.dumps(finding_to_plain(note)))) == note


def test_a_stated_share_far_below_the_votes_is_told() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    votes = Votes.from_array(truth[:, None], classes=["ham", "spam"], sources=["a"])
    features = (truth[:, None] + rng.normal(0, 0.3, (300, 2))).astype(np.float32)
    told = str(WeakClassifier(class_prior=(0.1, 0.9)).fit(features, votes).summary_)
    assert re.search(
        r"ham has votes on 4\d\.\d% of the documents, but its stated share is 10.0%", told
    )
    away = r"speak against the stated shares: the model predicts ham on 1\d\.\d%, not 10\.0%; spam on 8\d\.\d%, not 90"
    assert re.search(away, told), told
    assert "If your shares are exact, say so" in told
    changed = re.search(r"Similar shares would change (\d+\.\d)%", told)
    assert changed is not None
    assert float(changed[1]) > 5, "to meet them, so many would have to change at least"
    told = str(WeakClassifier(class_prior=(0.45, 0.55)).fit(features, votes).summary_)
    assert "stated share" not in told
    assert "speak against" not in told


def test_shares_are_not_called_stated_where_a_class_without_votes_lost_its_own() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    votes = Votes.from_array(truth[:, None], classes=["ham", "spam", "news"], sources=["a"])
    features = (truth[:, None] + rng.normal(0, 0.3, (200, 2))).astype(np.float32)
    told = str(WeakClassifier(class_prior=(0.3, 0.3, 0.4)).fit(features, votes).summary_)
    assert "as stated, but for classes without votes, whose share the others get." in told


@pytest.mark.parametrize("prior", [None, (0.5, 0.5)])
def test_votes_for_one_class_teach_nothing(prior: tuple[float, float] | None) -> None:
    votes = Votes.from_array([[1], [-1]] * 20, classes=["ham", "spam"], sources=["a"])
    model = WeakClassifier(class_prior=prior)
    features = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    with pytest.raises(
        InputError, match="all votes are for one class, spam, so no other can be learnt"
    ):
        model.fit(features, votes)
    model.fit(features, votes, clean=np.where(np.arange(40) % 8 == 1, 0, -1))


def test_another_note_in_the_place_of_the_balance_is_refused() -> None:
    with pytest.raises(
        ValueError, match="a note of the kind blank_texts stands where the class balance"
    ):
        balance_from_plain({"kind": "blank_texts", "blank": 1, "documents": 2})
