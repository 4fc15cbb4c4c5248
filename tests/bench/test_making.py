"""One run: what the method may see, and figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.bench.tiny_wrench import write_tiny

from unruly.bench.datasets import Dataset, Folder
from unruly.bench.making import by_matched, lesson_for, majority_noise, make, measured, noise
from unruly.bench.run import Matched, Run
from unruly.errors import InputError
from unruly.features.cache import Cache
from unruly.peers.system import Documents, Proba
from unruly.votes.votes import Votes


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("data")
    return Folder(write_tiny(folder / "tiny")).load("lsa", cache=Cache(folder / "cache"))


RUN = Run("tiny", "majority-vote", encoder="lsa")


def test_no_true_label_is_in_a_lesson_that_asks_for_none(tiny: Dataset) -> None:
    lesson = lesson_for(RUN, tiny)
    assert lesson.clean is None
    assert lesson.valid is None
    assert lesson.documents.corpus.gold is None


def test_clean_labels_are_as_many_as_asked_for_and_true(tiny: Dataset) -> None:
    lesson = lesson_for(replace(RUN, clean=0.2), tiny)
    assert lesson.clean is not None
    known = lesson.clean >= 0
    assert known.sum() == 12
    assert (lesson.clean[known] == tiny.train.gold[known]).all()
    other = lesson_for(replace(RUN, clean=0.2, seed=1), tiny)
    assert other.clean is not None
    assert (other.clean != lesson.clean).any()


def test_selection_by_gold_gives_the_validation_documents(tiny: Dataset) -> None:
    lesson = lesson_for(replace(RUN, selection="gold"), tiny)
    assert lesson.valid is not None
    assert lesson.valid[0].n == 20
    with pytest.raises(InputError, match="cannot choose the epoch"):
        lesson_for(replace(RUN, selection="gold"), replace(tiny, valid=None))


def test_keywords_reach_only_runs_that_name_rules(tiny: Dataset) -> None:
    words = (("song",), ("click",))
    assert lesson_for(replace(RUN, keywords="rules 00"), tiny, words).keywords == words
    assert lesson_for(replace(RUN, keywords="votes"), tiny, words).keywords is None


def test_a_prior_of_another_length_is_refused(tiny: Dataset) -> None:
    with pytest.raises(InputError, match="3 shares, but 2 classes"):
        lesson_for(replace(RUN, prior=(0.5, 0.3, 0.2)), tiny)


class AlwaysSpam:
    """Says spam of everything, with a confidence of 0.9."""

    parameters, gold_used = 7, ("training: 3 clean labels",)

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
    assert made.gold_used == ("training: 3 clean labels",)
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
    assert replace(one, cpu=0, seconds=0, foretold_votes=0) == replace(
        two, cpu=0, seconds=0, foretold_votes=0
    )
    assert any("epoch" in use for use in one.gold_used)


def test_a_search_is_also_scored_without_gold(tiny: Dataset) -> None:
    run = replace(RUN, method="paper", settings=(("epochs", 5),), experiment="search")
    assert np.isfinite(make(run, tiny).foretold_votes)
    assert np.isnan(make(replace(run, experiment="main"), tiny).foretold_votes)
