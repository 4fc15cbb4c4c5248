"""Laws that hold whatever the data: planted truth, the default from end to end."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.denoising.planted import Labels, drawn, skewed

from unruly.denoising.balance import Balance
from unruly.denoising.denoised import DenoisedModel
from unruly.denoising.em import expectation_maximisation
from unruly.denoising.fit import _task, denoise
from unruly.features.encoder import Block, Features
from unruly.findings import BalanceOrigin, WeakSource
from unruly.labelling.sampling import draw
from unruly.prior import StatedBalance
from unruly.settings import Settings
from unruly.votes.votes import Votes


def answers(model: DenoisedModel, features: Features, votes: Votes) -> np.ndarray:
    return model.heads(features, votes).combined


def test_better_sources_get_higher_reliability() -> None:
    accuracies = [0.55, 0.65, 0.75, 0.85, 0.95]
    features, votes, _ = drawn(2500, accuracies)
    model = denoise(features, votes)
    assert (np.diff(model.reliability) > 0).all()
    assert model.accuracy[:, 0] == pytest.approx(accuracies, abs=0.1)


def test_permuting_sources_permutes_results() -> None:
    features, votes, _ = drawn(500, [0.6, 0.7, 0.8, 0.9])
    order = [2, 0, 3, 1]
    moved = Votes.from_array(
        votes.matrix[:, order], classes=votes.classes, sources=[votes.sources[j] for j in order]
    )
    before, after = denoise(features, votes), denoise(features, moved)
    assert after.reliability == pytest.approx(before.reliability[order], abs=1e-5)
    assert np.abs(answers(before, features, votes) - answers(after, features, moved)).max() < 1e-4


def test_permuting_classes_permutes_results() -> None:
    features, votes, _ = drawn(600, [0.7, 0.75, 0.8, 0.85], m=3)
    to = np.array([2, 0, 1, -1])  # class c becomes to[c]; -1 stays
    moved = Votes.from_array(to[votes.matrix], classes=votes.classes)
    before, after = denoise(features, votes), denoise(features, moved)
    theirs = answers(after, features, moved)[:, to[:3]]
    assert np.abs(answers(before, features, votes) - theirs).max() < 1e-3
    assert after.reliability == pytest.approx(before.reliability, abs=1e-4)


def test_permuting_documents_permutes_results() -> None:
    features, votes, _ = drawn(800, [0.7, 0.75, 0.8, 0.85])
    order = np.random.default_rng(3).permutation(800)
    mixed = Features(tuple(Block(b.name, b.values[order]) for b in features.blocks))
    ours = answers(denoise(features, votes), features, votes)
    theirs = answers(denoise(mixed, votes.take(order)), mixed, votes.take(order))
    assert np.abs(ours[order] - theirs).max() < 1e-3


@pytest.mark.parametrize("times", [2, 6])
def test_copies_of_a_source_weigh_about_as_much_as_one(
    times: int, record_property: Callable[[str, object], None]
) -> None:
    features, votes, _ = drawn(2000, [0.8, 0.75, 0.75, 0.7], coverage=0.5)
    copied = np.concatenate([votes.matrix[:, :1]] * (times - 1) + [votes.matrix], axis=1)

    def moved(matrix: np.ndarray, sources: slice) -> float:
        log_likelihoods = denoise(features, Votes.from_array(matrix)).log_likelihoods[
            sources
        ]  # (j, c, y)
        return float(np.abs(log_likelihoods[:, 0, 0] - log_likelihoods[:, 0, 1]).sum())

    ratio = moved(copied, slice(0, times)) / moved(votes.matrix, slice(0, 1))
    record_property("weight of the copies together, beside the source alone", ratio)
    assert 0.75 < ratio < 1.35  # without the discount it would be `times`


def test_a_source_that_always_abstains_changes_nothing() -> None:
    features, votes, _ = drawn(400, [0.7, 0.8, 0.9], m=3)
    silent = np.full((votes.n, 1), -1)
    matrix = np.concatenate([votes.matrix[:, :1], silent, votes.matrix[:, 1:]], axis=1)
    padded = Votes.from_array(matrix, classes=votes.classes)
    before, after = denoise(features, votes), denoise(features, padded)
    ours, theirs = answers(before, features, votes), answers(after, features, padded)
    assert np.abs(ours - theirs).max() < 1e-6
    assert after.reliability[1] == 0
    assert np.isnan(after.accuracy[1]).all()
    assert np.delete(after.reliability, 1) == pytest.approx(before.reliability)


def test_an_inverted_source_is_noticed_and_used_the_other_way_round() -> None:
    features, votes, truth = drawn(1500, [0.1, 0.8, 0.8, 0.8, 0.8])
    model = denoise(features, votes)
    assert model.accuracy[0, 0] < 0.25
    assert model.reliability[0] == model.reliability.min()
    found = [note for note in model.notes if isinstance(note, WeakSource)]
    assert [note.source for note in found] == ["source_0"]
    assert found[0].chance is not None
    assert found[0].accuracy.high < found[0].chance
    log_likelihoods = model.log_likelihoods[0]  # (c, y)
    assert log_likelihoods[0, 1] > log_likelihoods[0, 0]
    assert log_likelihoods[1, 0] > log_likelihoods[1, 1]
    assert (model.heads(features, votes).predicted == truth).mean() > 0.9


def test_more_data_never_hurts_on_average() -> None:
    means = []
    for size in (100, 400, 1600):
        scores = []
        for seed in range(3):
            features, votes, truth = drawn(size + 500, [0.65, 0.7, 0.75, 0.8], seed=seed)
            train, test = np.arange(size), np.arange(size, size + 500)
            model = denoise(features.take(train), votes.take(train))
            heads = model.heads(features.take(test), votes.take(test))
            scores.append((heads.predicted == truth[test]).mean())
        means.append(float(np.mean(scores)))
    assert means[1] > means[0] - 0.01
    assert means[2] > means[1] - 0.01
    assert means[2] > means[0]


@pytest.mark.parametrize("n", [10, 19, 20, 49, 50, 299, 300, 499, 999, 1000, 3000])
def test_no_cliff_one_document_more_moves_answers_a_little(n: int) -> None:
    features, votes, _ = drawn(n + 1, [0.7, 0.75, 0.8, 0.85], coverage=0.4)
    rows = np.arange(n)
    one_less = denoise(features.take(rows), votes.take(rows))
    all_of_them = denoise(features, votes)
    ours = answers(one_less, features.take(rows), votes.take(rows))
    theirs = answers(all_of_them, features.take(rows), votes.take(rows))
    # With ten documents one is a tenth of all that is known; with a thousand a thousandth.
    assert np.abs(ours - theirs).mean() < 0.02 + 1.0 / n


def test_no_cliff_at_any_size() -> None:
    """One document more moves answers by what a few documents tell; a tenth more by what a sample of that size leaves open.

    The steps of a tenth reach from 10 to 3,000, so a threshold at any size between would show.
    """
    features, votes, _ = drawn(3000, [0.7, 0.75, 0.8, 0.85], coverage=0.4)

    def fitted(size: int) -> DenoisedModel:
        rows = np.arange(size)
        return denoise(features.take(rows), votes.take(rows))

    def moved(before: DenoisedModel, after: DenoisedModel, size: int) -> float:
        x, v = features.take(np.arange(size)), votes.take(np.arange(size))
        return float(np.abs(answers(before, x, v) - answers(after, x, v)).mean())

    size, model = 10, fitted(10)
    while size < 3000:
        one_more = fitted(size + 1)
        assert moved(model, one_more, size) < min(0.15, 4 / size), size
        tenth_more = min(max(round(size * 1.1), size + 1), 3000)
        following = one_more if tenth_more == size + 1 else fitted(tenth_more)
        assert moved(model, following, size) < min(0.15, 0.7 / size**0.5), size
        size, model = tenth_more, following


def labelled(
    model: DenoisedModel, features: Features, votes: Votes, size: int, seed: int = 0
) -> np.ndarray:
    return draw(answers(model, features, votes), size, seed=seed).rows


def clean_at(rows: np.ndarray, truth: Labels) -> Labels:
    clean = np.full(len(truth), -1)
    clean[rows] = truth[rows]
    return clean


@pytest.mark.parametrize("size", [0, 1, 5, 19, 20, 50])
def test_no_cliff_one_label_more_moves_answers_a_little(size: int) -> None:
    features, votes, truth = skewed(600, 0.3, [0.7, 0.75, 0.8, 0.85])
    rows = np.random.default_rng(0).permutation(600)[: size + 1]
    before = denoise(features, votes, clean=clean_at(rows[:-1], truth))
    after = denoise(features, votes, clean=clean_at(rows, truth))
    moved = np.abs(answers(before, features, votes) - answers(after, features, votes)).mean()
    assert moved < 0.03


def test_more_labels_never_hurt_on_average() -> None:
    means = []
    for size in (0, 20, 100, 400):
        scores = []
        for seed in range(3):
            features, votes, truth = skewed(900, 0.15, [0.65, 0.7, 0.75], seed=seed, signal=0.5)
            rows = np.random.default_rng(seed).permutation(900)[:size]
            model = denoise(features, votes, clean=clean_at(rows, truth) if size else None)
            rest = np.setdiff1d(np.arange(900), rows)
            scores.append((model.heads(features, votes).predicted == truth)[rest].mean())
        means.append(float(np.mean(scores)))
    assert (np.diff(means) > -0.01).all()
    assert means[-1] > means[0]


def test_an_exact_balance_is_met() -> None:
    features, votes, _ = drawn(1000, [0.7, 0.75, 0.8], signal=0.3)
    task = _task(features, votes, np.full(1000, -1), np.arange(2), Settings(), seed=0)
    for share in (0.2, 0.5, 0.7):
        known = Balance(np.array([1 - share, share]), math.inf, BalanceOrigin.STATED)
        q = expectation_maximisation(task, known, Settings()).q
        assert q.mean(axis=0) == pytest.approx(known.shares, abs=1e-4)
        stated = StatedBalance((1 - share, share), exact=True)
        model = denoise(features, votes, balance=stated)
        found = (model.heads(features, votes).predicted == 1).mean()
        assert found == pytest.approx(share, abs=0.06)


def test_a_rough_balance_is_moved_by_clear_evidence_and_by_nothing_else() -> None:
    # Text that separates the classes: odds stated twice too high are not met, stated as exact they are.
    features, votes, truth = skewed(1200, 0.15, [0.8, 0.8, 0.85], signal=1.6)
    model = denoise(features, votes, balance=StatedBalance((0.74, 0.26)))
    predicted = model.heads(features, votes).predicted
    assert (predicted == truth).mean() > 0.92
    assert predicted.mean() < 0.23
    exact = denoise(features, votes, balance=StatedBalance((0.74, 0.26), exact=True))
    assert exact.heads(features, votes).predicted.mean() > 0.235
    # Text that knows nothing, and votes on few documents: the statement decides.
    noise = np.random.default_rng(0).normal(size=(1200, 4))
    blank = Features.from_array(noise.astype(np.float32))
    few = drawn(1200, [0.8], coverage=0.05)[1]
    more = drawn(1200, [0.7, 0.7, 0.7])[1]
    for cast, share in ((few, 0.8), (few, 0.3), (more, 0.8), (more, 0.3)):
        vague = denoise(blank, cast, balance=StatedBalance((share, 1 - share)))
        assert answers(vague, blank, cast).mean(axis=0)[0] == pytest.approx(share, abs=0.05)


def test_answers_stay_as_near_to_the_votes_as_the_plain_balanced_classifiers() -> None:
    for seed, share in ((0, 0.2), (1, 0.2), (2, 0.2), (0, 0.1), (1, 0.1)):
        accuracies = [0.7, 0.75, 0.8] if share == 0.2 else [0.8, 0.85, 0.9]
        features, votes, _ = skewed(800, share, accuracies, seed=seed)
        x, covered = features.matrix(), votes.covered
        majority = votes.counts().argmax(axis=1)
        plain = LogisticRegression(class_weight="balanced").fit(x[covered], majority[covered])
        ours = denoise(features, votes).heads(features, votes).predicted
        agree = (ours == majority)[covered].mean()
        theirs = (plain.predict(x) == majority)[covered].mean()
        assert agree > theirs - 0.05


def test_a_handful_of_documents_keeps_what_its_votes_say() -> None:
    # Text of pure noise and votes that are all right: what text makes up must not drown them.
    rng = np.random.default_rng(0)
    kept = []
    for _ in range(60):
        n, k = rng.integers(3, 12), rng.integers(1, 4)
        truth = rng.integers(0, 2, n)
        matrix = np.where(rng.random((n, k)) < 0.8, truth[:, None], -1)
        if (matrix < 0).all():
            continue
        features = Features.from_array(rng.normal(size=(n, 8)).astype(np.float32))
        votes = Votes.from_array(matrix, classes=["a", "b"])
        answered = denoise(features, votes).heads(features, votes).predicted
        kept.extend((answered == truth)[votes.covered])
    assert np.mean(kept) > 0.85


def test_same_seed_same_bytes() -> None:
    features, votes, _ = drawn(300, [0.7, 0.8, 0.9], m=3)
    first, second = denoise(features, votes, seed=7), denoise(features, votes, seed=7)
    assert all(
        (first.arrays()[name] == second.arrays()[name]).all()
        for name in ("log_likelihoods", "b", "text.0.weights")
    )
    assert first.facts() == second.facts()
