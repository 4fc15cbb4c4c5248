"""One run: what a method is given, what is measured, and the score by held-out votes."""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from lab.tests.bench.handmade import write_tiny
from lab.tests.peers.planted_task import trained

from unruly.errors import InputError
from unruly.features.cache import FeatureCache
from unruly.features.encoder import Features
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.ledger import GoldUse, Use
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.bench.datasets import Dataset, Folder
from unruly_lab.bench.measuring import (
    by_matched,
    commit,
    held_out_votes,
    majority_noise,
    make,
    measured,
    noise,
    training_data,
)
from unruly_lab.bench.runs import Matched, Run
from unruly_lab.peers.systems import Documents, Proba


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("data")
    return Folder(write_tiny(folder / "tiny")).load("lsa", cache=FeatureCache(folder / "cache"))


RUN = Run("tiny", "majority-vote", encoder="lsa")


def test_no_true_label_is_in_a_lesson_that_asks_for_none(tiny: Dataset) -> None:
    data = training_data(RUN, tiny)
    assert data.clean is None
    assert data.valid is None
    assert data.documents.corpus.gold is None


def test_clean_labels_are_as_many_as_asked_for_and_true(tiny: Dataset) -> None:
    data = training_data(replace(RUN, clean=0.2), tiny)
    assert data.clean is not None
    known = data.clean >= 0
    assert known.sum() == 12
    assert (data.clean[known] == tiny.train.gold[known]).all()
    other = training_data(replace(RUN, clean=0.2, seed=1), tiny)
    assert other.clean is not None
    assert (other.clean != data.clean).any()


def test_selection_by_gold_gives_the_validation_documents(tiny: Dataset) -> None:
    data = training_data(replace(RUN, selection="gold"), tiny)
    assert data.valid is not None
    assert data.valid[0].n == 20
    with pytest.raises(InputError, match="cannot choose the epoch"):
        training_data(replace(RUN, selection="gold"), replace(tiny, valid=None))


def test_keywords_reach_only_runs_that_name_rules(tiny: Dataset) -> None:
    words = (("song",), ("click",))
    assert training_data(replace(RUN, keywords="rules 00"), tiny, words).keywords == words
    assert training_data(replace(RUN, keywords="votes"), tiny, words).keywords is None


def test_a_prior_of_another_length_is_refused(tiny: Dataset) -> None:
    with pytest.raises(InputError, match="3 shares, but 2 classes"):
        training_data(replace(RUN, prior=(0.5, 0.3, 0.2)), tiny)


class AlwaysSpam:
    """Says spam of everything, with a confidence of 0.9."""

    parameters, gold_used = 7, (trained(3),)

    def predict_proba(self, documents: Documents) -> Proba:
        return np.tile([0.1, 0.9], (documents.n, 1))


def test_the_figures_of_a_known_answer(tiny: Dataset) -> None:
    made = measured(RUN, tiny, AlwaysSpam(), (1.5, 2.5))
    assert made.accuracy == made.valid_accuracy == 0.5
    assert made.f1[0] == 0.0
    assert made.f1[1] == pytest.approx(2 / 3)
    assert made.macro_f1 == pytest.approx(1 / 3)
    assert made.ece == pytest.approx(0.4)
    assert (made.cpu, made.seconds, made.parameters) == (1.5, 2.5, 7)
    assert made.gold_used == (trained(3),)
    assert sum(m.documents for m in made.by_matched) == 24
    assert sum(m.right for m in made.by_matched) == 12
    assert made.noise_after.all == 0.5
    assert made.noise_before == majority_noise(tiny.train.documents.votes, tiny.train.gold)


def test_documents_by_the_number_of_votes() -> None:
    votes = Votes.from_array([[-1, -1], [0, -1], [0, 1], [1, 1]])
    assert by_matched(votes, np.array([False, True, True, False])) == (
        Matched(0, 1, 0),
        Matched(1, 1, 1),
        Matched(2, 2, 1),
    )


def test_noise_leaves_out_documents_whose_truth_is_not_known() -> None:
    votes = Votes.from_array([[0], [0], [-1], [1]])
    gold = np.array([0, 1, 1, -1])
    found = noise(votes, gold, np.array([1, 0, 0, 0]))
    assert found.matched == 0.5
    assert found.all == pytest.approx(2 / 3)
    before = majority_noise(votes, gold)  # right, wrong, half
    assert (before.matched, before.all) == (0.5, 0.5)


def test_the_same_run_gives_the_same_outcome(tiny: Dataset) -> None:
    run = replace(RUN, method="paper", settings=(("epochs", 5),), selection="gold")
    one, two = make(run, tiny), make(run, tiny)
    assert replace(one, cpu=0, seconds=0, held_out_votes=0) == replace(
        two, cpu=0, seconds=0, held_out_votes=0
    )
    assert [used.use for used in one.gold_used] == [Use.SELECTION]


def test_a_search_is_also_scored_without_gold(tiny: Dataset) -> None:
    run = replace(RUN, method="paper", settings=(("epochs", 5),), experiment="search")
    assert np.isfinite(make(run, tiny).held_out_votes)
    assert np.isnan(make(replace(run, experiment="main"), tiny).held_out_votes)


@dataclass
class Reader:
    """Reads the probability of spam off the features, and never a vote."""

    parameters: int = 0
    gold_used: tuple[GoldUse, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        p = documents.features.matrix()[:, 0].astype(np.float64)
        return np.stack([1 - p, p], axis=1)


@dataclass
class Echo:
    """Answers with the majority of the votes that it sees."""

    parameters: int = 0
    gold_used: tuple[GoldUse, ...] = ()

    def predict_proba(self, documents: Documents) -> Proba:
        soft = MajorityVote().fit(documents.votes).predict_proba(documents.votes)
        return np.asarray(soft, np.float64)


def documents(matrix: list[list[int]], p: list[float] | None = None) -> Documents:
    votes = Votes.from_array(matrix, classes=("ham", "spam"))
    given = p or [0.5] * len(matrix)
    features = Features.from_array(np.array(given, np.float32)[:, None])
    return Documents(Corpus.from_texts([f"text {i}" for i in range(len(given))]), votes, features)


def test_each_class_of_votes_counts_the_same() -> None:
    # Answers spam, spam, ham, spam. Votes for spam: 4, of which 4 agree; for ham: 2, of which 1 agrees.
    some = documents([[1, 1], [1, -1], [0, -1], [0, 1]], [0.9, 0.9, 0.1, 0.9])
    assert held_out_votes(Reader(), some) == pytest.approx((4 / 4 + 1 / 2) / 2)


def test_always_the_same_answer_is_worth_one_half() -> None:
    some = documents([[1], [1], [1], [0]], [0.9] * 4)
    assert held_out_votes(Reader(), some) == 0.5


def test_the_vote_in_question_is_hidden() -> None:
    # Two sources that contradict each other: whoever echoes the other one is always wrong.
    some = documents([[0, 1], [1, 0]])
    assert held_out_votes(Echo(), some) == 0.0
    agreeing = documents([[0, 0], [1, 1]])
    assert held_out_votes(Echo(), agreeing) == 1.0


def test_no_votes_no_score() -> None:
    assert math.isnan(held_out_votes(Reader(), documents([[-1, -1]])))


def test_a_run_knows_the_commit_of_its_checkout_and_whether_source_was_changed(
    tmp_path: Path,
) -> None:
    inside = tmp_path / "lab" / "src"
    inside.mkdir(parents=True)
    assert commit(inside) == ""  # no checkout

    def git(*words: str) -> str:
        said = ["-c", "user.name=A", "-c", "user.email=a@b.c", *words]
        return subprocess.run(
            ["git", *said], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q")
    (inside / "code.py").write_text("")
    commit.cache_clear()
    assert commit(inside) == ""  # a checkout that does not hold this code
    git("add", ".")
    git("commit", "-q", "-m", "first")
    commit.cache_clear()
    assert commit(inside) == git("rev-parse", "--short=12", "HEAD")
    (tmp_path / "results.jsonl").write_text("{}")
    commit.cache_clear()
    assert not commit(inside).endswith("+")
    (inside / "code.py").write_text("pass")
    commit.cache_clear()
    assert commit(inside) == git("rev-parse", "--short=12", "HEAD") + "+"
    commit.cache_clear()
