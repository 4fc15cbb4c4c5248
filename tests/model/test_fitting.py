"""Which method trains, and that both come back from a file."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType, FunctionType

import numpy as np
import pytest
from tests.model.planted import planted, quick

import unruly
from unruly.denoising.fit import denoise
from unruly.errors import InputError, ModelFileError, SettingsError
from unruly.findings import PartialVotesUnused
from unruly.ledger import Use
from unruly.model.storage import restore
from unruly.model.weak_classifier import WeakClassifier
from unruly.paper.cotraining import cotrain
from unruly.rules.sources import Sources
from unruly.sentences import sentence
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


def test_the_default_beats_majority_vote_and_estimates_its_sources() -> None:
    data = planted(n=400)
    model = WeakClassifier(seed=0).fit(data.features, data.votes)
    found = model.evaluate(data.features, data.gold, data.votes)
    assert found.everything.gain.low > 0
    assert model.ledger_.gold_free
    for line, j in zip(model.summary_.sources, range(5), strict=True):
        cast = data.matrix[:, j] >= 0
        true = (data.matrix[cast, j] == data.gold[cast]).mean()
        known = line.estimated
        assert known is not None
        assert known.value == pytest.approx(true, abs=0.12)
        assert known.low <= known.value <= known.high
    assert "estimated accuracy" in str(model.summary_)
    vote = model.explain(data.features[0], [1, -1, -1, -1, -1]).votes[0]
    assert vote.accuracy == model.summary_.to_plain()["sources"][0]["accuracy"]


@pytest.mark.parametrize(
    ("method", "mathematics"),
    [("default", denoise), ("paper", cotrain)],
)
def test_the_mathematics_is_three_calls_from_fit(method: str, mathematics: FunctionType) -> None:
    data, deep = planted(), list[int]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is mathematics.__code__:
            place, calls = frame, 0
            while place.f_code is not WeakClassifier.fit.__code__:
                assert place.f_back is not None
                place, calls = place.f_back, calls + 1
            deep.append(calls)

    sys.setprofile(watch)
    try:
        WeakClassifier(method=method).fit(data.features, data.votes)
    finally:
        sys.setprofile(None)
    assert deep == [3]


@pytest.mark.parametrize("method", ["default", "paper"])
def test_both_methods_come_back_from_a_file(tmp_path: Path, method: str) -> None:
    data = planted()
    model = WeakClassifier(method=method)
    model.set_params(**{"settings__rounds" if method == "default" else "settings__epochs": 4})
    model.fit(data.features, data.votes).save(tmp_path / "a.unruly")
    again = unruly.load(tmp_path / "a.unruly")
    np.testing.assert_array_equal(
        model.predict_proba(data.features, data.votes),
        again.predict_proba(data.features, data.votes),
    )
    assert again.summary_ == model.summary_
    again.save(tmp_path / "b.unruly")
    model.fit(data.features, data.votes).save(tmp_path / "c.unruly")
    first = (tmp_path / "a.unruly").read_bytes()
    assert first == (tmp_path / "b.unruly").read_bytes() == (tmp_path / "c.unruly").read_bytes()


def test_a_given_prior_is_held_and_told() -> None:
    data = planted()
    prior = {"c1": 0.25, "c0": 0.75}
    model = WeakClassifier(class_prior=prior).fit(data.features, data.votes)
    assert model.summary_.balance is not None
    assert model.summary_.balance.shares == (0.75, 0.25)
    assert "Class shares: c0 75.0%, c1 25.0%, as stated." in str(model.summary_)
    other = WeakClassifier(class_prior=[1, 3]).fit(data.features, data.votes)
    assert model.summary_.labels[0] > other.summary_.labels[0]


def test_clean_labels_help_the_default_and_its_prior_and_are_entered() -> None:
    data = planted()
    model = WeakClassifier().fit(data.features, data.votes, clean=dict(enumerate(data.gold[:50])))
    assert model.ledger_.used_for(Use.TRAINING) == 50
    assert model.ledger_.used_for(Use.PRIOR) == 50
    given = WeakClassifier(class_prior=[1, 1])
    given.fit(data.features, data.votes, clean=dict(enumerate(data.gold[:50])))
    assert given.ledger_.used_for(Use.PRIOR) == 50  # a rough statement gives way to labels
    assert given.summary_.balance is not None
    assert given.summary_.balance.labels == 50


def test_validation_labels_are_the_papers_business() -> None:
    data = planted(n=60)
    with pytest.raises(InputError, match='with method="paper" only'):
        WeakClassifier().fit(
            data.features, data.votes, valid=(data.features, data.votes, data.gold)
        )
    for option in ("selection", "calibrate", "epochs", "hidden", "ablation"):
        with pytest.raises(SettingsError, match=f"no setting is called '{option}'"):
            WeakClassifier().set_params(**{f"settings__{option}": 1})


def test_a_learner_of_another_version_is_refused() -> None:
    with pytest.raises(
        ModelFileError, match="'Oracle', which this version of unruly does not know"
    ):
        restore("Oracle", {}, {})


class Bad:
    """An encoder that takes an empty text for a good one."""

    def fit(self, texts: list[str]) -> None:
        pass

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[float("bad" in text), float("bad" not in text)] for text in texts]


def test_texts_without_a_word_get_in_training_what_they_get_later() -> None:
    texts = ["good fine tool", "bad poor thing", "bad awful thing"] * 12 + ["", "  ", ""]
    matrix = [[0, -1, 0], [-1, 1, 1], [1, 1, -1]] * 12 + [[-1, -1, -1]] * 3
    model = WeakClassifier(Bad(), cache=False).fit(texts, np.array(matrix))
    assert model.predict(["", " "]).tolist() == [1, 1]
    assert model.summary_.labels == (12, 27)
    near = model.explain("good", neighbours=39).neighbours
    assert {one.label for one in near if not (one.text or "").strip()} == {"1"}


def test_a_model_of_some_sources_carries_their_rules_only(sources: Sources, corpus: Corpus) -> None:
    votes = sources.vote(corpus)
    some = votes[:, ["advert", "praise"]]
    assert {match.source for row in range(20) for match in some.matches(row)} <= {
        "advert",
        "praise",
    }
    model = quick().set_params(encoder={"name": "lsa", "dim": 16}, cache=False)
    model.fit(corpus, some)
    assert model.sources_ == ("advert", "praise")
    again = model.predictions(corpus.take(range(20))).votes
    assert np.array_equal(again.matrix, some.matrix[:20])


def partial(votes: Votes, source: str) -> Votes:
    """The same votes, with every vote of one source for its class or the first."""
    j = votes.sources.index(source)
    shares = np.zeros((votes.n, votes.m), np.float32)
    for row, cast in enumerate(votes.matrix[:, j]):
        shares[row, [0, max(cast, 1)]] = 0.5
    return replace(votes, soft={source: shares})


def test_partial_votes_that_the_paper_does_not_use_are_told() -> None:
    data = planted(n=120, m=3)
    votes = partial(data.votes, "source_1")
    cast = int(votes.voted[:, 1].sum())
    notes = quick(epochs=2).fit(data.features, votes).summary_.notes
    assert [n for n in notes if isinstance(n, PartialVotesUnused)] == [
        PartialVotesUnused("source_1", cast)
    ]
    assert f"The method paper does not use {cast} votes of source_1" in " ".join(
        map(sentence, notes)
    )
    others = WeakClassifier().fit(data.features, votes).summary_.notes
    assert not any(isinstance(n, PartialVotesUnused) for n in others)


def test_the_paper_has_nothing_to_learn_from_partial_votes_alone() -> None:
    data = planted(n=120, m=3)
    votes = partial(data.votes.of_sources(["source_1"]), "source_1")
    with pytest.raises(
        InputError, match="none of the 120 documents has a vote for one class alone"
    ):
        quick(epochs=2).fit(data.features, votes)
