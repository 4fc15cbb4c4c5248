"""Algorithm 1 on planted data: laws that must hold, every odd shape, every ablation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_info, threadpool_limits

from unruly.errors import InputError
from unruly.features.encoder import Block, Features
from unruly.learner import Heads
from unruly.ledger import GoldUse, Use
from unruly.paper.classifier import _LOOK, LiveRows, LiveUnits, Part
from unruly.paper.cotraining import cotrain
from unruly.paper.inference import CoTrained
from unruly.paper.selection import sharpness
from unruly.progress import Silent
from unruly.settings import ABLATIONS, PaperSettings
from unruly.votes.votes import Votes

SHORT = PaperSettings(epochs=25, hidden=16, attention="voters")


def planted(
    n: int = 300,
    accuracies: tuple[float, ...] = (0.9, 0.8, 0.7, 0.55),
    coverage: float = 0.5,
    m: int = 2,
    d: int = 6,
    seed: int = 0,
) -> tuple[Features, Votes, NDArray[np.int64]]:
    """Documents whose class shows in their features, and sources of known accuracy."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, m, n)
    centres = rng.normal(size=(m, d)) * 1.5
    values = (centres[gold] + rng.normal(size=(n, d))).astype(np.float32)
    right = rng.random((n, len(accuracies))) < np.array(accuracies)
    wrong = (gold[:, None] + rng.integers(1, m, (n, len(accuracies)))) % m
    votes = np.where(right, gold[:, None], wrong)
    votes = np.where(rng.random(votes.shape) < coverage, votes, -1)
    return (
        Features.from_array(values),
        Votes.from_array(votes, classes=[f"c{r}" for r in range(m)]),
        gold,
    )


def same(a: CoTrained, b: CoTrained) -> None:
    for name, values in a.arrays().items():
        np.testing.assert_array_equal(values, b.arrays()[name], err_msg=name)


def test_learns_and_beats_majority_vote_where_text_helps() -> None:
    features, votes, gold = planted(n=600)
    learner = cotrain(features, votes, SHORT)
    heads = learner.heads(features, votes)
    majority = (votes.counts().argmax(axis=1) == gold).mean()
    assert (heads.predicted == gold).mean() > majority + 0.03
    assert learner.history[-1].l2 < learner.history[0].l2
    assert learner.gold_used == ()


def test_same_seed_same_bytes_other_seed_other_weights() -> None:
    features, votes, _ = planted()
    first, again = (cotrain(features, votes, SHORT) for _ in range(2))
    same(first, again)
    assert first.facts() == again.facts()
    other = cotrain(features, votes, SHORT, seed=1)
    assert not np.array_equal(first.classifier.w1, other.classifier.w1)


@pytest.mark.parametrize("batch_size", [None, 64])
@pytest.mark.parametrize("attention", ["voters", "all"])
def test_a_source_that_always_abstains_changes_nothing_exactly(
    batch_size: int | None, attention: str
) -> None:
    features, votes, _ = planted()
    settings = replace(SHORT, batch_size=batch_size, attention=attention, selection="votes")
    silent = np.full((votes.n, 1), -1)
    wider = Votes.from_array(
        np.concatenate([votes.matrix[:, :1], silent, votes.matrix[:, 1:]], axis=1),
        classes=votes.classes,
        sources=[votes.sources[0], "silent", *votes.sources[1:]],
    )
    one, two = cotrain(features, votes, settings), cotrain(features, wider, settings)
    a, b = one.heads(features, votes), two.heads(features, wider)
    np.testing.assert_array_equal(a.combined, b.combined)
    np.testing.assert_array_equal(a.denoiser, b.denoiser)
    np.testing.assert_array_equal(a.conditional, np.delete(b.conditional, 1, axis=1))
    np.testing.assert_array_equal(one.reliability, np.delete(two.reliability, 1))
    assert two.reliability[1] == 0
    assert one.history == two.history


@pytest.mark.parametrize("seed", range(3))
def test_permuting_sources_permutes_results(seed: int) -> None:
    features, votes, _ = planted(seed=seed)
    order = np.random.default_rng(seed).permutation(votes.k)
    turned = Votes.from_array(
        votes.matrix[:, order], classes=votes.classes, sources=[votes.sources[j] for j in order]
    )
    one, two = cotrain(features, votes, SHORT), cotrain(features, turned, SHORT)
    np.testing.assert_allclose(one.reliability[order], two.reliability, atol=1e-3)
    a, b = one.heads(features, votes), two.heads(features, turned)
    np.testing.assert_allclose(a.conditional[:, order], b.conditional, atol=1e-2)
    np.testing.assert_allclose(a.classifier, b.classifier, atol=1e-2)


@pytest.mark.parametrize("selection", ["last", "votes"])
def test_permuting_documents_permutes_results(selection: str) -> None:
    features, votes, _ = planted()
    settings = replace(SHORT, selection=selection, epochs=10)
    order = np.random.default_rng(5).permutation(votes.n)
    a = cotrain(features, votes, settings).heads(features, votes)
    mixed, turned = features.take(order), votes.take(order)
    b = cotrain(mixed, turned, settings).heads(mixed, turned)
    np.testing.assert_allclose(a.combined[order], b.combined, atol=1e-2)
    np.testing.assert_allclose(a.denoiser[order], b.denoiser, atol=1e-2)


def test_better_sources_get_more_reliability_for_each_vote() -> None:
    features, votes, _ = planted(n=2000, accuracies=(0.95, 0.9, 0.65, 0.5), coverage=0.6)
    learner = cotrain(features, votes, replace(SHORT, reliability="per-vote", epochs=60))
    assert learner.reliability[:2].min() > learner.reliability[2:].max()


@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("batch_size", [None, 100])
def test_ablations(ablation: str, batch_size: int | None) -> None:
    features, votes, gold = planted()
    settings = replace(SHORT, ablation=ablation, batch_size=batch_size)
    learner = cotrain(features, votes, settings)
    heads = learner.heads(features, votes)
    covered = votes.covered
    assert (heads.predicted == gold)[covered].mean() > 0.65
    last = learner.history[-1]
    denoises = ablation in ("whole", "rule-only", "rule-neural")
    assert (last.l1 > 0) == denoises
    assert (last.l2 > 0) == (ablation != "rule-only")
    assert (last.l3 > 0) == (ablation in ("whole", "neural-self"))
    if ablation not in ("whole", "rule-only"):
        assert not any(epoch.changed for epoch in learner.history)  # majority vote's labels stay
    if ablation == "rule-only":
        np.testing.assert_allclose(heads.classifier, 0.5)
        assert (heads.decided_by == 1).all()
    if not denoises:
        tied = votes.counts()[:, 0] == votes.counts()[:, 1]
        majority = votes.counts().argmax(axis=1)
        assert (heads.denoiser.argmax(axis=1) == majority)[covered & ~tied].all()
        assert (heads.decided_by == 2).all()


def test_history_and_losses_of_the_first_epoch() -> None:
    features, votes, _ = planted()
    first = cotrain(features, votes, replace(SHORT, epochs=1)).history[0]
    # Before training: attention is even, so l1 is that of the vote shares; and p = z, so l3 is 0.
    counts = votes.counts()[votes.covered].astype(float)
    shares = counts / counts.sum(axis=1, keepdims=True)
    top = counts == counts.max(axis=1, keepdims=True)
    labels = top / top.sum(axis=1, keepdims=True)
    log_z = shares - np.log(np.exp(shares).sum(axis=1, keepdims=True))
    assert first.l1 == pytest.approx(float(-(labels * log_z).sum(axis=1).mean()), rel=1e-4)
    assert first.l3 == pytest.approx(0, abs=1e-9)
    assert first.kept
    # The total is Eq. 8 of the sums, for each document; the losses are means over the documents that have them.
    for last in cotrain(features, votes, replace(SHORT, epochs=4)).history:
        n, matched = votes.n, int(votes.covered.sum())
        sums = 0.2 * last.l1 * matched + 0.7 * last.l2 * matched + 0.1 * last.l3 * (n - matched)
        assert last.total == pytest.approx(sums / n, rel=1e-5)


def test_losses_of_a_single_matched_document_are_their_means() -> None:
    features, _, _ = planted(n=6)
    votes = Votes.from_array([[0, 0, 1]] + [[-1, -1, -1]] * 5)
    (first,) = cotrain(features, votes, replace(SHORT, epochs=1)).history
    assert first.l1 == pytest.approx(np.log(1 + np.exp(-1 / 3)), rel=1e-5)
    assert 6 * first.total == pytest.approx(0.2 * first.l1 + 0.7 * first.l2, rel=1e-5)


def test_c1_acts_only_through_the_ratio_of_the_classifiers_two_losses() -> None:
    features, votes, _ = planted()

    def heads(c1: float, c3: float) -> Heads:
        return cotrain(features, votes, replace(SHORT, c1=c1, c3=c3)).heads(features, votes)

    first, scaled, other = heads(0.1, 0.1), heads(0.775, 0.025), heads(0.1, 0.8)
    for same_denoiser in (scaled, other):
        np.testing.assert_allclose(first.denoiser, same_denoiser.denoiser, atol=1e-3)
    np.testing.assert_allclose(first.classifier, scaled.classifier, atol=5e-3)  # 8 : 1 in both
    assert np.abs(first.classifier - other.classifier).max() > 0.02


def test_progress_counts_epochs_and_tells_the_losses() -> None:
    class Listening(Silent):
        def __init__(self) -> None:
            self.heard: list[tuple[int, str]] = []

        def start(self, what: str, total: int | None, unit: str) -> None:
            assert (what, total, unit) == ("co-training", 3, "epochs")

        def advance(self, units: int, note: str = "") -> None:
            self.heard.append((units, note))

    features, votes, _ = planted()
    listening = Listening()
    history = cotrain(features, votes, replace(SHORT, epochs=3), progress=listening).history
    assert listening.heard == [(1, f"l1 {e.l1:.3f}  l2 {e.l2:.3f}  l3 {e.l3:.4f}") for e in history]


def test_one_mini_batch_of_all_documents_is_the_full_batch() -> None:
    features, votes, _ = planted()
    same(
        cotrain(features, votes, SHORT), cotrain(features, votes, replace(SHORT, batch_size=10**6))
    )


def test_mini_batches_learn_as_well() -> None:
    features, votes, gold = planted(n=800)
    learner = cotrain(features, votes, replace(SHORT, batch_size=64, epochs=8))
    full = cotrain(features, votes, SHORT)
    mini_right = (learner.heads(features, votes).predicted == gold).mean()
    assert mini_right > (full.heads(features, votes).predicted == gold).mean() - 0.05


def test_memory_mapped_features(tmp_path: Any) -> None:
    features, votes, _ = planted()
    np.save(tmp_path / "x.npy", features.matrix())
    mapped = Features((Block("x", np.load(tmp_path / "x.npy", mmap_mode="r")),))
    settings = replace(SHORT, batch_size=50, epochs=3)
    same(cotrain(features, votes, settings), cotrain(mapped, votes, settings))


def test_several_blocks_stand_side_by_side() -> None:
    features, votes, _ = planted()
    values = features.matrix()
    parts = Features((Block("a", values[:, :2]), Block("b", values[:, 2:])))
    same(cotrain(features, votes, SHORT), cotrain(parts, votes, SHORT))


def test_leaving_dead_units_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    features, votes, _ = planted()
    large = Features.from_array(features.matrix() + 20)  # far off centre, rectifiers die at once
    settings = replace(SHORT, epochs=60, hidden=64, learning_rate=0.05)
    with_all: list[int] = []
    original = LiveUnits.at

    def at(self: LiveUnits, epoch: int) -> NDArray[np.intp] | None:
        units = original(self, epoch)
        with_all.append(64 if units is None else len(units))
        return units

    monkeypatch.setattr(LiveUnits, "at", at)
    lean = cotrain(large, votes, settings)
    assert min(with_all) < 48
    monkeypatch.setattr(LiveUnits, "at", lambda self, epoch: None)
    full = cotrain(large, votes, settings)
    a, b = lean.heads(large, votes), full.heads(large, votes)
    np.testing.assert_allclose(a.classifier, b.classifier, atol=1e-3)


def test_a_unit_is_left_out_only_after_two_looks_in_a_row_that_find_it_dead() -> None:
    units, look = LiveUnits(), _LOOK
    dead = np.array([[0.0, 0.0, 1.0, 1.0]], np.float32)
    units.look(look, dead)
    assert units.at(look + 1) is None
    units.look(2 * look, np.array([[1.0, 0.0, 1.0, 0.0]], np.float32))  # the first is back
    live = units.at(2 * look + 1)
    assert live is not None
    assert live.tolist() == [0, 2, 3]
    assert units.at(3 * look) is None  # when it is time to look, all are computed


def test_leaving_learnt_documents_out_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, votes, _ = planted(accuracies=(1.0, 1.0, 0.9), d=30)
    easy = np.arange(votes.n) < 220  # the others can hardly be told apart and go on pulling
    features = Features.from_array(plain.matrix() * np.where(easy, 3.0, 0.1)[:, None])
    settings = replace(SHORT, epochs=80, hidden=32, learning_rate=0.05)
    computed: list[int] = []
    original = LiveRows.at

    def at(self: LiveRows, epoch: int, changed: int) -> Part | None:
        part = original(self, epoch, changed)
        computed.append(votes.n if part is None else len(part.rows))
        return part

    monkeypatch.setattr(LiveRows, "at", at)
    lean = cotrain(features, votes, settings)
    assert min(computed) < votes.n * 2 / 3
    assert computed[9::10] == [votes.n] * 8  # every tenth epoch all are looked at
    monkeypatch.setattr(LiveRows, "at", lambda self, epoch, changed: None)
    full = cotrain(features, votes, settings)
    np.testing.assert_allclose(lean.classifier.w1, full.classifier.w1, atol=1e-3)
    np.testing.assert_allclose(lean.text_scores(features), full.text_scores(features), atol=1e-2)


def test_documents_whose_labels_change_are_computed_again() -> None:
    rows = LiveRows()
    features, logits = np.zeros((6, 2), np.float32), np.zeros((6, 2), np.float32)
    slope = np.array([[1.0, -1.0]] * 2 + [[0.0, 0.0]] * 4, np.float32)
    for epoch in (10, 20):
        assert rows.at(epoch, changed=0) is None
        rows.look(features, logits, slope)
    part = rows.at(21, changed=0)
    assert part is not None
    assert part.rows.tolist() == [0, 1]
    assert rows.at(22, changed=1) is None
    rows.look(features, logits, slope[::-1])  # two of the learnt ones pull again
    part = rows.at(23, changed=0)
    assert part is not None
    assert part.rows.tolist() == [0, 1, 4, 5]


# --- odd shapes -------------------------------------------------------------------------------------


def finite(learner: CoTrained, features: Features, votes: Votes) -> None:
    heads = learner.heads(features, votes)
    for values in (heads.denoiser, heads.classifier, heads.combined):
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-4)
    assert heads.conditional.shape == (votes.n, votes.k)
    assert all(np.isfinite([e.l1, e.l2, e.l3, e.total]).all() for e in learner.history)


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize(
    "shape",
    [
        {"coverage": 1.0},  # no uncovered document
        {"accuracies": (0.8,)},  # one source
        {"accuracies": (0.6,) * 200, "coverage": 0.05, "n": 60},
        {"m": 50, "n": 120, "accuracies": (0.9, 0.8, 0.8)},
        {"n": 1, "coverage": 1.0},  # a single document
        {"n": 2, "coverage": 1.0, "accuracies": (1.0, 0.0)},  # nothing but ties
        {"d": 1},
    ],
)
def test_odd_shapes(shape: dict[str, Any], batch_size: int | None) -> None:
    features, votes, _ = planted(**{"n": 40, **shape})
    finite(
        cotrain(features, votes, replace(SHORT, epochs=4, batch_size=batch_size)), features, votes
    )


def test_uncovered_documents_are_left_to_the_classifier() -> None:
    features, votes, _ = planted(coverage=0.2)
    heads = cotrain(features, votes, SHORT).heads(features, votes)
    np.testing.assert_allclose(heads.denoiser[~votes.covered], 0.5)
    assert (heads.decided_by[~votes.covered] == 2).all()
    np.testing.assert_array_equal(heads.combined[~votes.covered], heads.classifier[~votes.covered])


def test_no_vote_at_all_is_refused_but_clean_labels_suffice() -> None:
    features, votes, gold = planted(coverage=0.0)
    with pytest.raises(InputError, match="none of the 300 documents has a vote: write"):
        cotrain(features, votes, SHORT)
    learner = cotrain(features, votes, SHORT, clean=gold)
    finite(learner, features, votes)
    assert (learner.heads(features, votes).predicted == gold).mean() > 0.9


def test_no_sources_at_all() -> None:
    features, _, gold = planted()
    none = Votes.from_array(np.zeros((300, 0), dtype=int), classes=["a", "b"])
    with pytest.raises(InputError, match="has a vote"):
        cotrain(features, none, SHORT)
    finite(cotrain(features, none, SHORT, clean=gold), features, none)


def test_too_high_p_is_refused() -> None:
    features, votes, _ = planted()
    with pytest.raises(InputError, match=r"more than p = 4 votes \(the most is 4\): lower p"):
        cotrain(features, votes, replace(SHORT, p=4))


@pytest.mark.parametrize("p", [1, 2])
def test_documents_with_few_votes_train_no_head_but_by_self_training(p: int) -> None:
    """With p, the votes of documents that have 1 to p of them are the same as none."""
    features, votes, _ = planted()
    few = (votes.voted.sum(axis=1) <= p) & votes.covered
    assert few.any()
    scrambled = votes.matrix.copy()
    scrambled[few] = np.where(scrambled[few] >= 0, 1 - scrambled[few], -1)
    settings = replace(SHORT, p=p, epochs=8)
    one = cotrain(features, votes, settings)
    two = cotrain(features, Votes.from_array(scrambled, classes=votes.classes), settings)
    same(one, two)
    assert one.history == two.history
    loose = cotrain(features, votes, replace(settings, p=0))
    assert not np.array_equal(one.classifier.w1, loose.classifier.w1)


def test_a_class_nobody_votes_for() -> None:
    features, votes, _ = planted()
    wider = Votes.from_array(votes.matrix, classes=["a", "b", "never"])
    learner = cotrain(features, wider, SHORT)
    finite(learner, features, wider)
    assert (learner.heads(features, wider).predicted != 2).all()


def test_duplicates_count_as_many_times_as_they_stand_there() -> None:
    features, votes, _ = planted(n=40)
    twice = np.repeat(np.arange(40), 2)
    few = replace(SHORT, epochs=6)
    once = cotrain(features, votes, few)
    doubled = cotrain(features.take(twice), votes_of(votes, twice), few)
    a, b = once.heads(features, votes), doubled.heads(features, votes)
    np.testing.assert_allclose(a.classifier, b.classifier, atol=1e-3)
    np.testing.assert_allclose(a.denoiser, b.denoiser, atol=1e-3)


def votes_of(votes: Votes, rows: NDArray[np.intp]) -> Votes:
    return Votes.from_array(votes.matrix[rows], classes=votes.classes, sources=votes.sources)


def test_duplicates_with_contrary_votes() -> None:
    features = Features.from_array(np.ones((4, 3), np.float32))
    votes = Votes.from_array([[0], [1], [1], [-1]])
    learner = cotrain(features, votes, SHORT)
    finite(learner, features, votes)
    assert learner.heads(features, votes).classifier[3, 1] == pytest.approx(2 / 3, abs=0.05)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_with_nan_are_refused_with_their_row(bad: float) -> None:
    features, votes, _ = planted()
    values = features.matrix().copy()
    values[17, 2] = bad
    broken = Features((Block("minilm", values),))
    with pytest.raises(InputError, match="minilm, row 17: a feature is NaN or infinite"):
        cotrain(broken, votes, SHORT)
    with pytest.raises(InputError, match="row 17"):
        cotrain(features, votes, SHORT).heads(broken, votes)


def test_features_of_other_documents_are_refused() -> None:
    features, votes, _ = planted()
    with pytest.raises(InputError, match="features of 299 documents and votes on 300"):
        cotrain(features.take(np.arange(299)), votes, SHORT)


# --- clean labels, weights --------------------------------------------------------------------------


def share(gold: NDArray[np.int64], part: float, seed: int) -> NDArray[np.int64]:
    """The true labels of a random part of the documents; the rest unknown."""
    kept = np.random.default_rng(seed).permutation(len(gold))[: max(1, round(part * len(gold)))]
    clean = np.full(len(gold), -1)
    clean[kept] = gold[kept]
    return clean


def test_more_clean_labels_help_more() -> None:
    features, votes, gold = planted(n=400, accuracies=(0.55, 0.5, 0.55), coverage=0.6)
    scores = []
    for part in (0.005, 0.5, 1.0):
        learner = cotrain(features, votes, SHORT, clean=share(gold, part, seed=0))
        count = max(1, round(400 * part))
        assert learner.gold_used == (GoldUse(Use.TRAINING, count, "clean labels"),)
        scores.append(float((learner.heads(features, votes).classifier.argmax(1) == gold).mean()))
    assert scores[0] < scores[1] < scores[2]
    assert scores[2] > 0.9


@pytest.mark.parametrize("batch_size", [None, 32])
def test_clean_labels_stay_against_all_votes(batch_size: int | None) -> None:
    """Every vote says class 0; the documents that are known to be class 1 are taught as class 1."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 4)).astype(np.float32)
    known = np.arange(200) < 60
    values[:, 0] += np.where(known, 4, -4)
    votes = np.where(rng.random((200, 3)) < 0.8, 0, -1)
    votes[:, 2] = np.where(rng.random(200) < 0.3, 1, -1)  # contested, and outvoted
    features, clean = Features.from_array(values), np.where(known, 1, -1)
    settings = replace(SHORT, batch_size=batch_size, epochs=30)
    heads = cotrain(features, Votes.from_array(votes), settings, clean=clean).heads(
        features, Votes.from_array(votes)
    )
    assert (heads.classifier.argmax(axis=1)[known] == 1).mean() > 0.95
    without = cotrain(features, Votes.from_array(votes), settings).heads(
        features, Votes.from_array(votes)
    )
    assert (without.classifier.argmax(axis=1)[known] == 1).mean() < 0.5


def test_true_labels_of_the_first_class_alone_are_declared_wherever_they_are_used() -> None:
    features, votes, _ = planted(n=100)
    few = replace(SHORT, epochs=2)
    first = np.where(np.arange(100) < 20, 0, -1)
    training = GoldUse(Use.TRAINING, 20, "clean labels")
    assert cotrain(features, votes, few, clean=first).gold_used == (training,)
    calibrated = cotrain(features, votes, replace(few, calibrate=True), clean=first).gold_used
    assert calibrated == (replace(training, labels=16), GoldUse(Use.CALIBRATION, 4, "clean labels"))
    valid, origin = (features, votes, first), "validation documents"
    by_gold = cotrain(features, votes, replace(few, selection="gold"), valid=valid).gold_used
    assert by_gold == (GoldUse(Use.SELECTION, 20, origin),)
    checked = cotrain(features, votes, replace(few, calibrate=True), valid=valid).gold_used
    assert checked == (GoldUse(Use.CALIBRATION, 20, origin),)


def test_bad_clean_labels_are_refused() -> None:
    features, votes, gold = planted()
    with pytest.raises(InputError, match="clean labels, row 3: 5"):
        cotrain(features, votes, SHORT, clean=np.where(np.arange(300) == 3, 5, gold))
    with pytest.raises(InputError, match="shape"):
        cotrain(features, votes, SHORT, clean=gold[:5])


def test_documents_of_no_weight_take_no_part_in_supervision() -> None:
    features, votes, gold = planted()
    wrong = np.arange(300) < 150
    cast = np.where(wrong[:, None], 1 - gold[:, None], gold[:, None])
    votes = Votes.from_array(np.where(votes.voted, cast, -1))
    learner = cotrain(features, votes, SHORT, weights=(~wrong).astype(float))
    assert (learner.heads(features, votes).classifier.argmax(1) == gold).mean() > 0.9


def test_calibration_uses_labels_that_training_never_saw() -> None:
    features, votes, gold = planted(n=500, accuracies=(0.95, 0.9, 0.9), coverage=0.8)
    learner = cotrain(
        features, votes, replace(SHORT, calibrate=True), clean=share(gold, 0.4, seed=1)
    )
    assert learner.gold_used == (
        GoldUse(Use.TRAINING, 160, "clean labels"),
        GoldUse(Use.CALIBRATION, 40, "clean labels"),
    )
    assert learner.sharpness[0] > 1  # the paper's denoiser can never be surer than 0.731
    assert learner.heads(features, votes).denoiser.max() > 0.8
    with pytest.raises(InputError, match="calibrate = true needs true labels"):
        cotrain(features, votes, replace(SHORT, calibrate=True))


def test_calibration_weighs_the_labels_of_every_class() -> None:
    """Labels of one class alone would call a head that always answers with it as sure as can be."""
    features, votes, gold = planted(n=300, accuracies=(0.8, 0.7, 0.7), coverage=0.6)
    labels = np.where(np.arange(300) < 200, gold, -1)
    learner = cotrain(
        features, votes, replace(SHORT, calibrate=True), valid=(features, votes, labels)
    )
    plain = replace(learner, sharpness=(1.0, 1.0))
    rule, text = (scores[:200] for scores in plain.scores(features, votes))
    true, voted = np.eye(2)[gold[:200]], votes.covered[:200]
    expected = sharpness(rule[voted], true[voted])[0], sharpness(text, true)[0]
    assert learner.sharpness == pytest.approx(expected)


# --- where and how ----------------------------------------------------------------------------------


def test_no_global_state_is_left_changed() -> None:
    features, votes, _ = planted(n=50)
    state = np.random.get_state()  # noqa: NPY002
    threads = [pool["num_threads"] for pool in threadpool_info()]
    cotrain(features, votes, replace(SHORT, epochs=2))
    assert [pool["num_threads"] for pool in threadpool_info()] == threads
    assert np.array_equal(np.random.get_state()[1], state[1])  # type: ignore[index]  # noqa: NPY002


def test_threads_change_no_byte() -> None:
    features, votes, _ = planted(n=600, d=40)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(cotrain(features, votes, replace(SHORT, epochs=5, hidden=64)))
    same(*results)


def test_inputs_are_not_changed() -> None:
    features, votes, gold = planted()
    values, matrix, weights = features.matrix().copy(), votes.matrix.copy(), np.ones(votes.n)
    clean = np.where(gold == 0, 1, -1)
    cotrain(features, votes, replace(SHORT, standardise=True), clean=clean, weights=weights)
    np.testing.assert_array_equal(features.matrix(), values)
    np.testing.assert_array_equal(votes.matrix, matrix)
    np.testing.assert_array_equal(weights, np.ones(votes.n))
    np.testing.assert_array_equal(clean, np.where(gold == 0, 1, -1))


def test_standardising_makes_scale_and_shift_irrelevant() -> None:
    features, votes, _ = planted()
    moved = Features.from_array((features.matrix() * 100 + 1000).astype(np.float32))
    settings = replace(SHORT, standardise=True, epochs=5)
    a = cotrain(features, votes, settings).heads(features, votes)
    b = cotrain(moved, votes, settings).heads(moved, votes)
    np.testing.assert_allclose(a.classifier, b.classifier, atol=0.05)


class Told:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.stages: list[tuple[str, int | None, str]] = []

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.stages.append((what, total, unit))

    def advance(self, units: int, note: str = "") -> None:
        self.notes.append(note)

    def finish(self) -> None:
        self.stages.append(("finished", None, ""))


def test_progress_shows_the_losses() -> None:
    features, votes, _ = planted(n=50)
    told = Told()
    cotrain(features, votes, replace(SHORT, epochs=4), progress=told)
    assert told.stages == [("co-training", 4, "epochs"), ("finished", None, "")]
    assert len(told.notes) == 4
    assert "l1" in told.notes[0]
    assert "l3" in told.notes[0]
