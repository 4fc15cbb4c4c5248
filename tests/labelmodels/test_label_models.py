"""Laws that hold for every label model, on votes with a planted truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from tests.planted_votes import planted_votes

import unruly
from unruly.errors import InputError, SettingsError
from unruly.labelmodels.dawid_skene import DawidSkene, OneCoin
from unruly.labelmodels.label_model import LabelModel, Prior
from unruly.labelmodels.majority_vote import MajorityVote, WeightedVote, majority_vote
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.votes.votes import Votes

Make = Callable[[Prior], LabelModel]


def exact_em(model: DawidSkene | OneCoin) -> LabelModel:
    """EM stops on a threshold; for laws it has to take the same number of steps."""
    model.tol, model.max_iter = 0.0, 20
    return model


MODELS: dict[str, Make] = {
    "weighted_vote": lambda prior: WeightedVote(prior),
    "one_coin": lambda prior: exact_em(OneCoin(prior)),
    "dawid_skene": lambda prior: exact_em(DawidSkene(prior)),
    "matrix_completion": lambda prior: MatrixCompletion(prior),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
laws = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 10_000)
ACCURACIES = [0.9, 0.8, 0.75, 0.65, 0.6]


def votes_of(matrix: NDArray[np.int8], m: int, sources: list[str] | None = None) -> Votes:
    return Votes.from_array(matrix, classes=[f"c{r}" for r in range(m)], sources=sources)


def planted(seed: int, m: int = 2, n: int = 600) -> tuple[Votes, NDArray[np.int16]]:
    """Sources of both kinds, some documents without any vote."""
    return (
        planted_votes(
            n, ACCURACIES, [0.6, 0.5, 0.5, 0.4, 0.3], classes=m, one_class={3: 0}, seed=seed
        )
        if m == 2
        else planted_votes(n, ACCURACIES, 0.4, classes=m, seed=seed)
    )


@every_model
@laws
@given(seed=seeds, m=st.sampled_from([2, 3]))
def test_soft_labels_are_distributions_and_the_model_is_a_label_model(
    make: Make, seed: int, m: int
) -> None:
    votes, _ = planted(seed, m)
    model = make("uniform")
    assert model.fit(votes) is model
    assert isinstance(model, LabelModel)
    soft = model.predict_proba(votes)
    assert soft.shape == (votes.n, m)
    assert np.allclose(soft.sum(axis=1), 1)
    assert soft.min() >= 0
    assert np.array_equal(model.predict(votes), soft.argmax(axis=1))
    assert model.accuracies_.shape == (votes.k,)
    assert ((model.accuracies_ >= 0) & (model.accuracies_ <= 1)).all()


@every_model
@laws
@given(seed=seeds)
def test_permuting_documents_permutes_soft_labels(make: Make, seed: int) -> None:
    votes, _ = planted(seed)
    order = np.random.default_rng(seed).permutation(votes.n)
    here = make("uniform").fit(votes)
    there = make("uniform").fit(votes.take(order))
    assert np.allclose(
        here.predict_proba(votes)[order], there.predict_proba(votes.take(order)), atol=1e-3
    )
    assert np.allclose(here.accuracies_, there.accuracies_, atol=1e-3)


@every_model
@laws
@given(seed=seeds)
def test_permuting_sources_permutes_accuracies(make: Make, seed: int) -> None:
    votes, _ = planted(seed)
    order = np.random.default_rng(seed).permutation(votes.k)
    moved = votes_of(votes.matrix[:, order], 2)
    here, there = make("uniform").fit(votes), make("uniform").fit(moved)
    assert np.allclose(here.accuracies_[order], there.accuracies_, atol=1e-3)
    assert np.allclose(here.predict_proba(votes), there.predict_proba(moved), atol=1e-3)


@every_model
@laws
@given(seed=seeds)
def test_permuting_classes_permutes_columns(make: Make, seed: int) -> None:
    votes, _ = planted(seed, m=3)
    prior = np.array([0.5, 0.3, 0.2])
    order = np.random.default_rng(seed).permutation(3)  # class c becomes order[c]
    renamed = np.append(order, -1)[votes.matrix]
    here = make(prior).fit(votes)
    there = make(prior[np.argsort(order)]).fit(votes_of(renamed, 3))
    assert np.allclose(
        here.predict_proba(votes), there.predict_proba(votes_of(renamed, 3))[:, order], atol=2e-3
    )
    assert np.allclose(here.accuracies_, there.accuracies_, atol=2e-3)


@every_model
@laws
@given(seed=seeds, where=st.integers(0, 5))
def test_an_always_abstaining_source_changes_nothing_at_all(
    make: Make, seed: int, where: int
) -> None:
    votes, _ = planted(seed)
    more = votes_of(np.insert(votes.matrix, where, -1, axis=1), 2)
    with np.errstate(divide="raise", invalid="raise"):
        here, there = make("uniform").fit(votes), make("uniform").fit(more)
    assert np.array_equal(here.predict_proba(votes), there.predict_proba(more))
    assert np.array_equal(here.accuracies_, np.delete(there.accuracies_, where))
    assert np.isnan(there.accuracies_[where])


@every_model
@laws
@given(seed=seeds)
def test_a_source_that_voted_once_has_an_accuracy(make: Make, seed: int) -> None:
    votes, _ = planted(seed)
    row = int(np.flatnonzero(votes.voted[:, 0])[0])
    once = np.where(np.arange(votes.n) == row, votes.matrix[row, 0], -1)
    found = make("uniform").fit(votes_of(np.column_stack([votes.matrix, once]), 2)).accuracies_
    assert 0 <= found[-1] <= 1


@every_model
@laws
@given(seed=seeds)
def test_equal_documents_get_equal_labels_and_doubling_the_data_changes_little(
    make: Make, seed: int
) -> None:
    votes, _ = planted(seed)
    twice = votes_of(np.vstack([votes.matrix, votes.matrix]), 2)
    model = make("uniform").fit(twice)
    soft = model.predict_proba(twice)
    assert np.array_equal(soft[: votes.n], soft[votes.n :])
    once = make("uniform").fit(votes)
    assert np.abs(once.accuracies_ - model.accuracies_).max() < 0.05


@every_model
def test_better_sources_get_higher_accuracy(make: Make) -> None:
    accuracies = [0.9, 0.8, 0.7, 0.6]
    for seed in range(3):
        votes, _ = planted_votes(8000, accuracies, 0.6, seed=seed)
        found = make("uniform").fit(votes).accuracies_
        assert (np.diff(found) < 0).all(), found


@every_model
@pytest.mark.parametrize("m", [2, 4])
def test_beats_majority_vote_where_sources_differ(make: Make, m: int) -> None:
    votes, gold = planted_votes(8000, [0.95, 0.5, 0.5, 0.5, 0.85, 0.5], 0.7, classes=m, seed=7)
    ours = (make("uniform").fit(votes).predict(votes) == gold).mean()
    theirs = (majority_vote(votes, ties="random") == gold).mean()
    assert ours > theirs + 0.01


@every_model
@pytest.mark.parametrize("prior", ["uniform", "votes", "learn"])
def test_one_class_sources_do_not_make_it_collapse(make: Make, prior: Prior) -> None:
    """Ten sources that each say one thing only, as rule authors write them."""
    votes, gold = planted_votes(
        3000,
        [0.9, 0.95, 0.9, 0.95, 0.75, 0.95, 0.75, 0.7, 0.85, 0.7],
        [0.2, 0.1, 0.1, 0.1, 0.15, 0.2, 0.3, 0.1, 0.05, 0.3],
        one_class={0: 1, 1: 1, 2: 1, 3: 1, 4: 0, 5: 1, 6: 0, 7: 0, 8: 0, 9: 0},
        seed=11,
    )
    covered = votes.covered
    right = (make(prior).fit(votes).predict(votes) == gold)[covered].mean()
    majority = (majority_vote(votes, ties="random") == gold)[covered].mean()
    assert right > majority - 0.03  # the textbook form ends at chance, 0.5


@every_model
def test_uncovered_documents_get_the_prior(make: Make) -> None:
    votes, _ = planted_votes(500, ACCURACIES, 0.2, seed=2)
    prior = np.array([0.8, 0.2])
    model = make(prior).fit(votes)
    assert np.array_equal(model.class_prior_, prior)
    assert (~votes.covered).any()
    assert np.array_equal(
        model.predict_proba(votes)[~votes.covered], np.tile(prior, ((~votes.covered).sum(), 1))
    )


@every_model
def test_votes_of_the_same_sources_in_another_order_are_refused(make: Make) -> None:
    votes, _ = planted_votes(300, ACCURACIES, 0.5, seed=3)
    model = make("uniform").fit(votes)
    turned = Votes.from_array(
        votes.matrix[:, ::-1], classes=votes.classes, sources=votes.sources[::-1]
    )
    with pytest.raises(InputError, match="votes of the same sources, in the same order"):
        model.predict_proba(turned)


@every_model
def test_soft_votes_count_by_their_probability(make: Make) -> None:
    votes, _ = planted_votes(2000, ACCURACIES, 0.6, seed=4)
    column = votes.matrix[:, 0]
    sure = np.zeros((votes.n, 2), dtype=np.float32)
    sure[votes.voted[:, 0], column[votes.voted[:, 0]]] = 1.0
    vague = np.where(sure.sum(axis=1, keepdims=True) > 0, 0.5 + 0.1 * (sure - 0.5), 0).astype(
        np.float32
    )
    kinds = {}
    for name, soft in {
        "hard": {},
        "sure": {"source_0": sure},
        "vague": {"source_0": vague},
    }.items():
        same = Votes(votes.matrix, votes.sources, votes.classes, votes.ids, soft=soft)
        kinds[name] = make("uniform").fit(same).predict_proba(same)
    assert np.allclose(kinds["hard"], kinds["sure"], atol=1e-3)
    alone = votes.voted[:, 0] & (votes.voted.sum(axis=1) == 1)
    assert (kinds["vague"][alone].max(axis=1) < kinds["hard"][alone].max(axis=1)).all()


@every_model
def test_nonsense_is_refused_in_one_line(make: Make) -> None:
    votes, _ = planted_votes(50, ACCURACIES, 0.5)
    refused: list[tuple[Prior, Votes, type[Exception], str]] = [
        ([0.5, 0.6], votes, SettingsError, r"add up to 1\.1, not to 1"),
        ([0.5, 0.3, 0.2], votes, SettingsError, "3 numbers for 2 classes"),
        ([1.0, 0.0], votes, SettingsError, "every share must be above 0"),
        ([float("nan"), 0.5], votes, SettingsError, "every share must be above 0"),
        ("evenly", votes, SettingsError, "is not understood"),  # type: ignore[list-item]
        ("uniform", votes_of(np.full((5, 4), -1, dtype=np.int8), 2), InputError, "no source votes"),
        (
            "uniform",
            votes_of(np.empty((0, 4), dtype=np.int8), 2),
            InputError,
            "no votes: 0 documents",
        ),
        ("uniform", votes_of(np.empty((4, 0), dtype=np.int8), 2), InputError, "0 sources"),
    ]
    for prior, given_votes, error, message in refused:
        with pytest.raises(error, match=message) as caught:
            make(prior).fit(given_votes)
        assert "\n" not in str(caught.value)
    with pytest.raises(NotFittedError, match=r"call fit\(votes\) first"):
        make("uniform").predict_proba(votes)
    with pytest.raises(InputError, match="the same sources, in the same order"):
        make("uniform").fit(votes).predict_proba(votes_of(votes.matrix[:, :4], 2))


@every_model
def test_predicting_no_documents_gives_no_rows(make: Make) -> None:
    votes, _ = planted_votes(50, ACCURACIES, 0.5)
    assert make("uniform").fit(votes).predict_proba(votes.take([])).shape == (0, 2)


@every_model
def test_a_learnt_prior_finds_a_skewed_balance(make: Make) -> None:
    votes, _ = planted_votes(6000, [0.9, 0.85, 0.8, 0.8, 0.75, 0.7], 0.4, prior=[0.8, 0.2], seed=3)
    model = make("learn").fit(votes)
    assert abs(model.class_prior_[0] - 0.8) < 0.05
    assert make("votes").fit(votes).class_prior_[0] < model.class_prior_[0]


@every_model
def test_arrays_do_as_well_as_votes(make: Make) -> None:
    votes, _ = planted_votes(300, ACCURACIES, 0.5, seed=8)
    model = make("uniform").fit(votes.matrix.tolist())
    assert np.array_equal(model.predict_proba(votes.matrix), model.predict_proba(votes))
    assert np.array_equal(
        model.predict_proba(votes.matrix), make("uniform").fit(votes).predict_proba(votes)
    )
    assert model.predict_proba([[0, -1, -1, -1, -1]]).shape == (1, 2)  # the fit's classes
    with pytest.raises(InputError, match="5 names of sources"):
        model.predict_proba(votes.matrix[:, :3])


@every_model
def test_votes_of_other_sources_are_refused_even_where_they_are_as_many(make: Make) -> None:
    votes, _ = planted(seed=3)
    other = votes_of(votes.matrix, 2, sources=[f"other{j}" for j in range(votes.k)])
    model = make("uniform").fit(votes)
    with pytest.raises(InputError, match="sources other0"):
        model.predict_proba(other)


@every_model
def test_the_prior_of_the_votes_leaves_no_class_impossible(make: Make) -> None:
    """One vote for each class is added to those that were cast: here 6, 3 and 0 of 9."""
    matrix = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=np.int8)
    model = make("votes").fit(votes_of(matrix, 3))
    np.testing.assert_allclose(model.class_prior_, np.array([7, 4, 1]) / 12)


@every_model
def test_the_votes_divide_what_the_prior_leaves_open(make: Make) -> None:
    matrix = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], dtype=np.int8)
    votes = votes_of(matrix, 3)
    model = make({votes.classes[0]: 0.5}).fit(votes)
    np.testing.assert_allclose(model.class_prior_, [0.5, 0.5 * 4 / 5, 0.5 * 1 / 5])


@pytest.mark.parametrize(
    ("make", "usual"),
    [
        (MajorityVote, {"ties": "commonest", "uncovered": "commonest", "class_prior": None, "seed": 0}),
        (WeightedVote, {"class_prior": "uniform", "accuracies": None, "smoothing": 2.0}),
        (OneCoin, {"class_prior": "uniform", "abstention": 0.3, "smoothing": 2.0}),
        (DawidSkene, {"class_prior": "uniform", "abstention": 0.3, "smoothing": 1.0}),
        (MatrixCompletion, {"class_prior": "uniform", "ridge": 0.05}),
    ],
)  # fmt: skip
def test_what_changes_labels_has_the_usual_value(make: type[Any], usual: dict[str, Any]) -> None:
    found = make().get_params()
    assert found == usual | {name: found[name] for name in ("max_iter", "tol") if name in found}


@pytest.mark.parametrize(
    ("make", "ends"),
    [
        (WeightedVote, {"smoothing": 0.0, "accuracies": [0.0, 1.0, 0.5]}),
        (OneCoin, {"abstention": 0.0, "max_iter": 1, "tol": 0.0}),
        (OneCoin, {"abstention": 1.0}),
        (DawidSkene, {"abstention": 0.0, "max_iter": 1, "tol": 0.0}),
        (DawidSkene, {"abstention": 1.0}),
        (MatrixCompletion, {"ridge": 0.0, "max_iter": 1}),
    ],
    ids=str,
)
def test_the_ends_of_a_range_of_settings_belong_to_it(
    make: type[Any], ends: dict[str, Any]
) -> None:
    votes, _ = planted_votes(300, [0.9, 0.8, 0.7], 0.8, seed=0)
    model = make(**ends).fit(votes)
    assert np.isfinite(model.predict_proba(votes)).all()
    if "max_iter" in ends:
        assert model.n_iter_ == 1


@pytest.mark.parametrize(
    "make", [MajorityVote, WeightedVote, OneCoin, DawidSkene, MatrixCompletion]
)
def test_label_models_have_scikit_learns_manners(make: type[Any]) -> None:
    votes, _ = planted_votes(300, [0.9, 0.8, 0.7], 0.8, seed=0)
    model = make().fit(votes)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy != model  # two models are never equal; asking raises nothing
    assert not hasattr(copy, "class_prior_")
    shown = ", ".join(f"{name}={value!r}" for name, value in copy.get_params().items())
    assert repr(copy) == repr(model) == f"{make.__name__}({shown})"  # nothing that was learnt
    assert hash(model) == hash(model)


@pytest.mark.parametrize(
    "make", [MajorityVote, WeightedVote, OneCoin, DawidSkene, MatrixCompletion]
)
def test_label_models_can_be_searched(make: type[Any]) -> None:
    """Fits get the gold that scores them, and do not read it."""
    votes, gold = planted_votes(300, [0.9, 0.8, 0.7], 0.8, seed=0)
    found = cross_val_score(make(), votes, gold, cv=3)
    assert (found > 0.7).all()
    model = make()
    np.testing.assert_array_equal(
        model.fit(votes, gold).predict_proba(votes), make().fit(votes).predict_proba(votes)
    )
    search = GridSearchCV(model, {"class_prior": [[0.5, 0.5], [0.4, 0.6]]}, cv=3).fit(votes, gold)
    assert search.best_score_ > 0.7
    assert model.set_params(class_prior=[0.3, 0.7]).fit(votes).class_prior_.tolist() == [0.3, 0.7]
    with pytest.raises(SettingsError, match=r"did you mean 'class_prior'\?"):
        model.set_params(clas_prior=[0.3, 0.7])


def test_who_types_what_snorkel_calls_it_is_told_the_name_here() -> None:
    with pytest.raises(TypeError, match=r"unruly\.MatrixCompletion\(\)"):
        unruly.LabelModel(cardinality=3)  # type: ignore[misc]
    votes, _ = planted_votes(50, [0.8, 0.8, 0.8], seed=0)
    assert isinstance(unruly.MatrixCompletion().fit(votes), unruly.LabelModel)


@every_model
def test_votes_for_one_class_teach_nothing_about_another(make: Make) -> None:
    votes = votes_of(np.array([[1, -1], [1, 1], [-1, 1]], np.int8), m=2)
    with pytest.raises(
        InputError, match=r"all votes are for one class, c1, so no other can be learnt"
    ):
        make("uniform").fit(votes)


@pytest.mark.parametrize(
    "model", [MajorityVote(), WeightedVote(), OneCoin(), DawidSkene(), MatrixCompletion()]
)
def test_score_is_the_accuracy_on_documents_with_a_gold_label(model: Any) -> None:
    votes = Votes.from_array([[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, -1]], classes=["ham", "spam"])
    predicted = model.fit(votes).predict(votes)
    names = [votes.classes[c] for c in predicted]
    assert model.score(votes, predicted) == 1.0
    wrong = "spam" if names[0] == "ham" else "ham"
    assert model.score(votes, [wrong, *names[1:3], None]) == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="there is none to score with"):
        model.score(votes, [-1, -1, -1, -1])
    with pytest.raises(InputError, match="there are 1 for 4 documents"):
        model.score(votes, ["ham"])
