"""`denoise` from end to end: what it refuses, what it notes, and what gold it says it used."""

from __future__ import annotations

import numpy as np
import pytest
from tests.denoising.planted import drawn, skewed

from unruly.denoising.balance import Balance, from_labels, vote_shares
from unruly.denoising.em import Task, expectation_maximisation
from unruly.denoising.fit import _task, _vote_bias, denoise
from unruly.denoising.regression import CrossFitting, content_folds
from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.features.lsa import Lsa
from unruly.findings import BalanceOrigin, ClassBalance, ClassesWithoutVotes, SharesAgainstVotes
from unruly.ledger import GoldUse, Use
from unruly.prior import StatedBalance, parse_prior
from unruly.settings import Settings
from unruly.statistics import softmax
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes


def test_without_votes_or_labels_there_is_nothing_to_learn() -> None:
    features = drawn(20, [0.8])[0]
    silent = Votes.from_array(np.full((20, 1), -1), classes=["a", "b"])
    with pytest.raises(InputError, match="none of 20 documents has a vote"):
        denoise(features, silent)


def test_labels_alone_are_enough() -> None:
    features, _, truth = drawn(400, [0.8], signal=1.2)
    silent = Votes.from_array(np.full((400, 1), -1), classes=["a", "b"])
    clean = np.where(np.arange(400) < 100, truth, -1)
    model = denoise(features, silent, clean=clean)
    assert (model.heads(features, silent).predicted == truth)[100:].mean() > 0.9


def test_other_documents_are_refused() -> None:
    features, votes, _ = drawn(20, [0.8])
    with pytest.raises(InputError, match="features of 20 documents and votes on 10"):
        denoise(features, votes.take(np.arange(10)))
    with pytest.raises(InputError, match="clean labels"):
        denoise(features, votes, clean=np.zeros(3, np.int64))


def test_a_class_without_votes_is_noted_and_never_predicted() -> None:
    features, votes, _ = drawn(200, [0.8, 0.8])
    three = Votes.from_array(votes.matrix, classes=["a", "b", "c"])
    model = denoise(features, three)
    assert ClassesWithoutVotes(("c",)) in model.notes
    proba = model.heads(features, three).combined
    assert proba.shape == (200, 3)
    assert (proba[:, 2] == 0).all()
    assert model.balance.shares[2] == 0


@pytest.mark.parametrize(("share", "noted"), [(0.19, True), (0.21, False)])
def test_a_stated_share_below_half_of_the_votes_is_noted(share: float, noted: bool) -> None:
    """Four documents in ten have a vote for b: stated shares are compared with half of that."""
    features = drawn(200, [0.8])[0]
    votes = Votes.from_array((np.arange(200) % 10 < 4).astype(int)[:, None], classes=["a", "b"])
    model = denoise(features, votes, balance=StatedBalance((1 - share, share)))
    found = [note for note in model.notes if isinstance(note, SharesAgainstVotes)]
    assert [(note.label, round(note.share, 9), note.voted) for note in found] == (
        [("b", share, 0.4)] if noted else []
    )
    assumed = denoise(features, votes).notes
    assert not any(isinstance(note, SharesAgainstVotes) for note in assumed)


def test_stated_shares_of_the_classes_with_votes_are_made_to_sum_to_one() -> None:
    features, votes, _ = drawn(200, [0.8, 0.8])
    three = Votes.from_array(np.where(votes.voted, 2 * votes.matrix, -1), classes=["a", "b", "c"])
    assert set(three.matrix.ravel().tolist()) == {-1, 0, 2}
    stated = StatedBalance((0.5, 0.2, 0.3), exact=True)
    model = denoise(features, three, balance=stated)
    assert model.balance.shares == pytest.approx((0.625, 0, 0.375))
    assert model.heads(features, three).combined.mean(axis=0)[1] == 0


def test_only_a_share_that_was_stated_is_held_against_the_votes() -> None:
    """Of three classes only a's share is stated: what is left for b and c is less than half of their votes."""
    cast = np.arange(200) % 4  # each class has votes on a third of the documents or more
    votes = Votes.from_array(
        np.stack([cast % 3, (cast + 1) % 3, (cast + 2) % 3], axis=1), classes=["a", "b", "c"]
    )
    features = drawn(200, [0.8])[0]
    half = parse_prior({"a": 0.9}, ["a", "b", "c"])
    notes = denoise(features, votes, balance=half).notes
    assert not any(isinstance(note, SharesAgainstVotes) for note in notes)
    both = parse_prior({"a": 0.9, "b": 0.05}, ["a", "b", "c"])
    notes = denoise(features, votes, balance=both).notes
    assert {note.label for note in notes if isinstance(note, SharesAgainstVotes)} == {"b", "c"}
    by_votes = denoise(features, votes, balance=parse_prior("votes", ["a", "b", "c"])).notes
    assert not any(isinstance(note, SharesAgainstVotes) for note in by_votes)


def test_the_votes_alone_name_each_class_as_often_as_posteriors_of_covered_documents() -> None:
    features, votes, _ = skewed(500, 0.2, [0.7, 0.75, 0.8])
    task = _task(features, votes, np.full(500, -1), np.arange(2), Settings(), seed=0)
    start = Balance(np.array([0.7, 0.3]), 20.0, BalanceOrigin.STATED)
    fitted = expectation_maximisation(task, start, Settings())
    covered = votes.covered
    by_votes = softmax(fitted.ev[covered] / 2.5 + _vote_bias(fitted, task.votes, 2.5))
    np.testing.assert_allclose(by_votes.mean(axis=0), fitted.q[covered].mean(axis=0), atol=1e-4)
    silent = SparseVotes.of(Votes.from_array(np.full((500, 3), -1), classes=votes.classes))
    np.testing.assert_allclose(_vote_bias(fitted, silent, 2.5), np.log([0.7, 0.3]))


def test_reliabilities_are_accuracies_that_sum_to_one() -> None:
    """Of sources that repeat nobody, and none for one that never votes."""
    features, votes, _ = drawn(600, [0.9, 0.8, 0.7])
    silent = Votes.from_array(np.column_stack([votes.matrix, np.full(600, -1)]))
    model = denoise(features, silent)
    assert model.reliability.sum() == pytest.approx(1)
    accuracy = np.nan_to_num(model.accuracy[:, 0])
    assert model.reliability == pytest.approx(accuracy / accuracy.sum(), abs=0.02)
    assert model.reliability[3] == 0


def test_the_ledger_is_told_what_gold_was_used_for() -> None:
    features, votes, truth = drawn(200, [0.8, 0.8])
    clean = np.where(np.arange(200) < 30, truth, -1)
    assert denoise(features, votes).gold_used == ()
    used = denoise(features, votes, clean=clean).gold_used
    told = (GoldUse(Use.TRAINING, 30), GoldUse(Use.PRIOR, 30), GoldUse(Use.CALIBRATION, 30))
    assert used == told
    exact = StatedBalance((0.5, 0.5), exact=True)
    assert denoise(features, votes, clean=clean, balance=exact).gold_used == (told[0], told[2])


def test_the_balance_says_where_it_comes_from() -> None:
    features, votes, truth = skewed(500, 0.2, [0.7, 0.8])
    clean = np.where(np.arange(500) < 40, truth, -1)

    def of(**options: object) -> ClassBalance:
        return denoise(features, votes, **options).balance  # type: ignore[arg-type]

    assumed, stated, known = of(), of(balance=StatedBalance((0.8, 0.2))), of(clean=clean)
    exact = of(balance=StatedBalance((0.8, 0.2), exact=True))
    origins = [b.origin for b in (assumed, stated, known, exact)]
    assert origins == [
        BalanceOrigin.ASSUMED,
        BalanceOrigin.STATED,
        BalanceOrigin.LABELS,
        BalanceOrigin.STATED,
    ]
    assert known.labels == 40
    assert stated.shares == pytest.approx((0.8, 0.2))
    assert assumed.depends is not None
    assert stated.depends is not None
    assert exact.depends is None  # nothing else is plausible
    assert assumed.depends > 2 * stated.depends > 0
    assert sum(known.shares) == pytest.approx(1)
    assert abs(known.shares[1] - 0.2) < abs(assumed.shares[1] - 0.2)


def test_label_weights_undo_how_the_labelled_documents_were_drawn() -> None:
    features, votes, truth = skewed(800, 0.15, [0.6, 0.65], signal=0.4)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.flatnonzero(truth == c))[:40] for c in (0, 1)])
    clean, weights = np.full(800, -1), np.zeros(800)
    clean[rows] = truth[rows]
    weights[rows] = np.where(truth[rows] == 1, 0.15, 0.85)  # as many of each were drawn
    alike = denoise(features, votes, clean=clean).balance.shares[1]
    weighed = denoise(features, votes, clean=clean, label_weights=weights).balance.shares[1]
    assert alike > 0.3
    assert weighed == pytest.approx(0.15, abs=0.06)


def test_labels_that_say_nothing_of_all_documents_are_not_counted_for_the_shares() -> None:
    features, votes, truth = skewed(300, 0.3, [0.7, 0.8])
    clean, weights = np.full(300, -1), np.zeros(300)
    clean[:30] = truth[:30]
    weights[:20] = 1.0  # the other ten were drawn to check one source
    model = denoise(features, votes, clean=clean, label_weights=weights)
    assert model.balance.labels == 20
    told = (GoldUse(Use.TRAINING, 30), GoldUse(Use.PRIOR, 20), GoldUse(Use.CALIBRATION, 20))
    assert model.gold_used == told
    none = denoise(features, votes, clean=clean, label_weights=np.zeros(300))
    assert none.balance.labels == 0
    assert none.gold_used == (GoldUse(Use.TRAINING, 30),)
    assert none.temperature == none.tau


def test_the_balance_is_judged_by_posteriors_that_have_not_seen_the_labels() -> None:
    features, votes, truth = skewed(800, 0.15, [0.6, 0.65], signal=0.4)
    rows = np.arange(120)
    clean = np.where(np.arange(800) < 120, truth, -1)
    sparse, settings = SparseVotes.of(votes), Settings()
    fold, _ = content_folds(features, settings.folds, 0)
    blind = Task(
        tuple(CrossFitting.of(b.array, fold, settings.folds, settings.l2) for b in features.blocks),
        features.weights,
        sparse,
        np.full(800, -1),
    )
    fitted = expectation_maximisation(blind, None, settings)
    known = from_labels(fitted.balance, fitted.under, rows, truth[rows], np.full(120, 1 / 120))
    assert denoise(features, votes, clean=clean).balance.shares == pytest.approx(known.shares)


def test_votes_as_the_stated_balance_are_the_votes_shares() -> None:
    features, votes, _ = skewed(500, 0.2, [0.7, 0.8])
    stated = denoise(features, votes, balance=StatedBalance(()))
    assert stated.balance.shares == pytest.approx(vote_shares(SparseVotes.of(votes)))
    assert stated.balance.origin is BalanceOrigin.STATED


def test_a_source_that_is_often_wrong_does_not_make_its_class_common() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.2).astype(int)
    noisy = truth[:, None] + rng.normal(0, 0.4, (2000, 3))
    features = Features.from_array(noisy.astype(np.float32))
    good = np.where(rng.random((2000, 2)) < 0.4, truth[:, None], -1)
    noise = np.where(rng.random(2000) < 0.4, 1, -1)  # says 1 on anything
    votes = Votes.from_array(np.column_stack([good, noise]))
    assumed = denoise(features, votes).balance.shares
    assert vote_shares(SparseVotes.of(votes))[1] > 0.4
    assert 0.2 < assumed[1] < 0.31


def test_soft_votes_count_by_their_shares() -> None:
    features, votes, _ = drawn(400, [0.8, 0.8])
    sure = np.eye(2, dtype=np.float32)[np.maximum(votes.matrix[:, 0], 0)]
    soft = Votes(
        votes.matrix.copy(), votes.sources, votes.classes, votes.ids, {votes.sources[0]: sure}
    )
    hard = denoise(features, votes).heads(features, votes).combined
    same = denoise(features, soft).heads(features, soft).combined
    assert same == pytest.approx(hard, abs=1e-5)
    vague = Votes(
        votes.matrix.copy(),
        votes.sources,
        votes.classes,
        votes.ids,
        {votes.sources[0]: np.full_like(sure, 0.5)},
    )
    other = denoise(features, vague).heads(features, vague).combined
    assert np.abs(other - hard).max() > 0.05


def test_a_thousand_labels_are_no_worse_than_a_classifier_on_those_alone() -> None:
    from unruly.project.worth import fit_hand_labels

    features, votes, truth = drawn(2500, [0.6, 0.6], signal=0.5)
    clean = np.where(np.arange(2500) < 1000, truth, -1)
    rest = np.arange(1000, 2500)
    ours = denoise(features, votes, clean=clean).heads(features, votes).predicted[rest]
    alone = fit_hand_labels(features.take(np.arange(1000)), truth[:1000], 2)
    theirs = alone.log_proba(features.take(rest)).argmax(axis=1)
    assert (ours == truth[rest]).mean() > (theirs == truth[rest]).mean() - 0.01


def test_settings_change_the_fit() -> None:
    features, votes, _ = drawn(300, [0.6, 0.7, 0.8])
    usual = denoise(features, votes).heads(features, votes).combined
    for other in (
        Settings(tau=1.0),
        Settings(rounds=1),
        Settings(l2=50.0),
    ):
        changed = denoise(features, votes, other).heads(features, votes).combined
        assert np.abs(changed - usual).max() > 1e-3


def test_the_votes_divide_the_share_of_classes_that_were_not_stated() -> None:
    features, votes, _ = drawn(900, [0.8, 0.8, 0.8], m=3)
    stated = StatedBalance((0.475, 0.475, 0.05), left_open=(0, 1))
    mostly = votes.take(np.flatnonzero((votes.matrix != 1).all(axis=1) | (np.arange(900) % 4 == 0)))
    rows = np.flatnonzero((votes.matrix != 1).all(axis=1) | (np.arange(900) % 4 == 0))
    found = denoise(features.take(rows), mostly, balance=stated).balance
    assert found.shares[2] == pytest.approx(0.05)
    assert found.shares[0] > 1.5 * found.shares[1]
    assert found.left_open == ("0", "1")


@pytest.mark.parametrize(("texts", "copies"), [(1, 10), (3, 10), (5, 10), (5, 1)])
def test_few_texts_repeated_many_times_keep_the_class_of_their_votes(
    texts: int, copies: int
) -> None:
    """Held-out texts are unlike all that the regressions have seen, and the votes are all that is known."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        filler = rng.choice([f"w{i}" for i in range(30)], (2 * texts, 3))
        truth = np.repeat([0, 1], texts)
        said = [
            f"{' '.join(words)} {('song', 'free')[c] if i % texts < max(1, 0.6 * texts) else ''} {'ab'[c]}{i % 4}"
            for i, (words, c) in enumerate(zip(filler, truth, strict=True))
        ]
        rows = np.repeat(np.arange(2 * texts), copies)
        corpus, gold = [said[i] for i in rows], truth[rows]
        votes = np.array([[0 if "song" in t else -1, 1 if "free" in t else -1] for t in corpus])
        features = Features.from_array(Lsa().fit(corpus).encode(corpus))
        cast = Votes.from_array(votes)
        given = denoise(features, cast).heads(features, cast).predicted
        assert (given == gold)[cast.covered].mean() > 0.5
