"""Partial votes: one of these classes, or any class but one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import unruly
from unruly.denoising.balance import vote_shares
from unruly.denoising.behaviour import source_behaviour
from unruly.denoising.fit import denoise
from unruly.errors import InputError, RuleError
from unruly.features.encoder import Features
from unruly.findings import ClassesAlike, UncoveredClass
from unruly.labelmodels.dawid_skene import DawidSkene, OneCoin
from unruly.labelmodels.majority_vote import MajorityVote, WeightedVote, majority_vote
from unruly.labelmodels.matrix_completion import MatrixCompletion
from unruly.model.critique import VoteJudge, critique_rules
from unruly.project.project import Project
from unruly.project.voting import check_project
from unruly.report.documents import shown_document
from unruly.rules import Keywords
from unruly.rules.source import Rule, Source, source_from_plain, source_to_plain
from unruly.rules.sources import Sources
from unruly.votes.majority import majority_classes, majority_shares, tallies, winners
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes

CLASSES = ["praise", "billing", "bug"]
TEXTS = ["refund my crash", "a crash", "lovely refund", "lovely", "nothing"]


def sources() -> Sources:
    return Sources(
        CLASSES,
        [
            Source("trouble", [Rule(["bug", "billing"], Keywords(["refund"]))]),
            Source("crash", [Rule("bug", Keywords(["crash"]))]),
            Source("mood", [Rule("praise", Keywords(["lovely"]))]),
            Source("angry", [Rule(None, Keywords(["crash"]), not_label="praise")]),
        ],
    )


def planted(n: int = 600, seed: int = 0) -> tuple[Votes, NDArray[np.int64], Features]:
    """Three classes; three hard sources, and one that only knows that it is not class 0."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    matrix = np.where(rng.random((n, 3)) < 0.75, truth[:, None], rng.integers(0, 3, (n, 3)))
    matrix = np.where(rng.random((n, 3)) < 0.5, matrix, -1)
    other = (truth > 0) ^ (rng.random(n) < 0.1)
    shares = np.array([0, 0.5, 0.5], np.float32)
    soft = np.where(other[:, None], shares, np.float32(np.nan))
    whole = np.column_stack([matrix, np.where(other, 1, -1)]).astype(np.int8)
    ids = unruly.Votes.from_array(whole, classes=CLASSES).ids
    votes = Votes(whole, ("a", "b", "c", "part"), tuple(CLASSES), ids, {"part": soft})
    features = Features.from_array(
        (np.eye(3)[truth] + rng.normal(0, 0.8, (n, 3))).astype(np.float32)
    )
    return votes, truth, features


@pytest.mark.parametrize(
    ("shares", "partial"),
    [
        ([0.5, 0.5, 0], True),
        ([0, 1, 0], False),  # one class
        ([1 / 3, 1 / 3, 1 / 3], False),  # all classes: it tells nothing, but as a soft vote
        ([0.6, 0.4, 0], False),  # not even: a soft vote
    ],
)
def test_a_vote_is_partial_that_names_some_classes_alike(
    shares: list[float], partial: bool
) -> None:
    first = int(np.argmax(shares))
    votes = Votes.from_array([[first], [2]], classes=CLASSES, sources=["a"])
    votes = replace(votes, soft={"a": np.array([shares, [0, 0.5, 0.5]], np.float32)})
    assert votes.sets[0][1].tolist() == [False, True, True]
    assert votes.sets[0][0].tolist() == [partial and share > 0 for share in shares]
    assert votes.hard[:, 0].tolist() == [-1 if partial else first, -1]


def test_equal_shares_where_a_source_abstains_are_no_vote() -> None:
    either = np.array([[0, 0.5, 0.5], [0, 0.5, 0.5]], np.float32)
    votes = Votes.from_array([[1], [-1]], classes=CLASSES, sources=["a"])
    votes = replace(votes, soft={"a": either})
    assert votes.sets[0].any(axis=1).tolist() == [True, False]
    assert votes.counts().tolist() == [[0, 0.5, 0.5], [0, 0, 0]]
    assert votes.summary().sources[0].partial == 0.5


def test_rules_cast_partial_votes() -> None:
    votes = sources().vote(TEXTS)
    assert votes.label(0, 0) == "billing or bug"
    assert votes.soft["trouble"][0].tolist() == [0, 0.5, 0.5]
    assert votes.sets.keys() == {0, 3}
    assert votes.agrees(np.array([2, 2, 2, 2, 2]))[:, 0].tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert votes.hard[:, 0].tolist() == [-1] * 5
    assert votes.voted[:, 0].tolist() == [True, False, True, False, False]
    assert [m.label for m in votes.matches(0)] == ["billing or bug", "bug", "billing or bug"]


def test_a_partial_vote_agrees_with_each_of_its_classes_and_no_answer() -> None:
    votes = Sources(CLASSES, [Source("s", [Rule(["praise", "bug"], Keywords(["x"]))])]).vote(["x"])
    agrees = [bool(votes.agrees(np.array([answer]))[0, 0]) for answer in (0, 1, 2, -1)]
    assert agrees == [True, False, True, False]


def test_tallies_count_a_partial_vote_once_for_each_of_its_classes() -> None:
    votes = sources().vote(TEXTS)
    (tally,) = tallies(votes)
    assert tally.by_source.tolist() == [[0, 2, 2], [0, 0, 2], [2, 0, 0], [0, 2, 2]]
    assert tally.named.tolist() == [[0, 2, 3], [0, 1, 2], [1, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert tally.counts[0].tolist() == [
        0,
        1,
        2,
    ]  # two halves for billing, two halves and one for bug


def test_six_sixths_tie_with_one_vote_wherever_votes_are_counted() -> None:
    classes = [f"c{i}" for i in range(7)]
    votes = Votes.from_array([[0] * 6 + [6]], classes=classes)
    sixth = np.array([[1 / 6] * 6 + [0]], np.float32)
    votes = replace(votes, soft=dict.fromkeys(votes.sources[:6], sixth))
    assert votes.counts().tolist() == [[1.0] * 7]
    assert votes.summary().majority.ties == 1
    assert majority_shares(votes).tolist() == [[1 / 7] * 7]
    assert majority_classes(votes) == tuple(classes)
    assert winners(votes.counts()).tolist() == [-1]


def test_not_label_of_two_classes_is_a_vote_for_the_other() -> None:
    only = Sources(["ham", "spam"], [Source("s", [Rule(None, Keywords(["x"]), not_label="spam")])])
    votes = only.vote(["x", "y"])
    assert votes.matrix.tolist() == [[0], [-1]]
    assert not votes.soft


def test_the_summary_knows_partial_votes() -> None:
    summary = sources().vote(TEXTS).summary(gold=[2, 2, 0, 0, -1])
    trouble, crash, mood, angry = summary.sources
    assert trouble.polarity == (1, 2)
    assert trouble.coverage == 0.4
    assert trouble.partial == 0.4
    assert trouble.score is not None
    assert (trouble.score.correct, trouble.score.incorrect) == (1, 1)
    # "refund my crash": billing or bug, bug, not praise: bug pleases all; "lovely refund" nobody
    assert (crash.conflicts, mood.conflicts, angry.conflicts) == (0.0, 0.2, 0.0)
    assert "Partial" in str(summary)
    assert "Partial" in summary.to_frame().columns
    assert summary.majority.ties == 0.0


def test_without_partial_votes_the_table_is_as_ever() -> None:
    assert "Partial" not in str(Votes.from_array([[0, 1]]).summary())


def test_parquet_keeps_them_and_missing_votes(tmp_path: Path) -> None:
    votes = sources().vote(TEXTS)
    asked = Votes(
        votes.matrix,
        votes.sources,
        votes.classes,
        votes.ids,
        votes.soft,
        unasked={"mood": np.array([True, True, False, False, False])},
    )
    asked.write(tmp_path / "v.parquet")
    again = Votes.read(tmp_path / "v.parquet")
    assert again.matrix.tolist() == votes.matrix.tolist()
    assert again.label(0, 0) == "billing or bug"
    assert again.unasked["mood"].tolist() == [True, True, False, False, False]
    assert again.take([1, 2]).unasked["mood"].tolist() == [True, False]
    other = Votes(again.matrix, again.sources, again.classes, again.ids + 9)
    joined = Votes.concat(
        [again, Votes(other.matrix, other.sources, other.classes, other.ids, again.soft)]
    )
    assert joined.unasked["mood"].sum() == 2
    assert joined.n == 10


def test_csv_shows_them_in_words_and_does_not_read_them_as_a_class(tmp_path: Path) -> None:
    votes = sources().vote(TEXTS)
    votes.write(tmp_path / "v.csv")
    assert "billing or bug" in (tmp_path / "v.csv").read_text()
    with pytest.raises(InputError, match="partial vote 'billing or bug'"):
        Votes.read(tmp_path / "v.csv", classes=CLASSES)
    assert votes.to_long()["label"].unique().sort().to_list() == ["bug", "praise"]


def test_majority_vote_counts_them_in_equal_parts() -> None:
    votes = sources().vote(TEXTS)
    assert votes.counts()[0].tolist() == [0, 1.0, 2.0]
    assert majority_vote(votes).tolist() == [2, 2, 0, 0, -1]
    assert MajorityVote().fit(votes).predict_proba(votes)[0].round(3).tolist() == [0, 0.333, 0.667]


@pytest.mark.parametrize(
    "model", [MajorityVote(), WeightedVote(), OneCoin(), DawidSkene(), MatrixCompletion()]
)
def test_label_models_use_them(model: DawidSkene) -> None:
    votes, _, _ = planted()
    proba = model.fit(votes).predict_proba(votes)
    alone = votes.voted[:, 3] & ~votes.voted[:, :3].any(axis=1)
    assert alone.sum() > 20
    assert (
        proba[alone, 1:] > proba[alone, :1]
    ).all()  # any of its classes rather than the one left out
    if not isinstance(model, MatrixCompletion | MajorityVote | WeightedVote):
        assert model.accuracies_[3] > 0.8  # right when the true class is among its classes


def test_the_default_uses_them_as_evidence_for_the_union() -> None:
    votes, truth, features = planted()
    model = denoise(features, votes)
    part = model.log_likelihoods[3]  # (c, y): its shares say what a vote for [1 or 2] adds
    added = 0.5 * (part[1] + part[2])
    assert added[0] < added[1] - 1
    assert added[0] < added[2] - 1
    assert abs(added[1] - added[2]) < 0.5
    estimate, low, high = model.accuracy[3]
    right = votes.agrees(truth)[votes.voted[:, 3], 3].mean()
    assert low <= right <= high
    assert estimate > 0.75
    odds = model.vote_odds(features, votes)[votes.voted[:, 3], 3]
    assert (odds > 1.5).all()  # of the answer: the cube root of what the rounds see
    with_part = (model.heads(features, votes).predicted == truth).mean()
    bare = Votes.from_array(votes.matrix[:, :3], classes=CLASSES)
    assert with_part > (denoise(features, bare).heads(features, bare).predicted == truth).mean()


@given(st.permutations(["billing", "bug"]), st.integers(0, 4))
@settings(max_examples=10, deadline=None)
def test_the_order_of_labels_makes_no_difference(labels: list[str], row: int) -> None:
    one = Sources(CLASSES, [Source("s", [Rule(labels, Keywords(["refund"]))])]).vote(TEXTS)
    two = sources().vote(TEXTS)
    assert one.matrix[row, 0] == two.matrix[row, 0]
    assert np.array_equal(one.soft["s"], two.soft["trouble"], equal_nan=True)


def test_credit_of_hard_soft_and_partial_votes() -> None:
    shares = [[0.5, 0.5, 0], [0.2, 0.5, 0.3], [0, 1, 0], [np.nan] * 3]
    soft = {"s": np.array(shares, dtype=np.float32)}
    matrix = np.array([[0], [1], [1], [-1]], dtype=np.int8)
    ids = Votes.from_array(matrix).ids
    sparse = SparseVotes.of(Votes(matrix, ("s",), ("a", "b", "c"), ids, soft))
    assert sparse.credit.toarray().round(2).tolist() == [
        [1, 1, 0],
        [0.2, 0.5, 0.3],
        [0, 1, 0],
        [0, 0, 0],
    ]


def test_the_project_file_has_them_and_writes_them_back() -> None:
    table = {
        "name": "s",
        "rule": [
            {"label": ["billing", "bug"], "keywords": ["refund"], "examples": ["a refund"]},
            {"not_label": "praise", "keywords": ["crash"]},
        ],
    }
    source = source_from_plain(table, CLASSES)
    assert source_to_plain(source)["rule"][1] == table["rule"][1]  # type: ignore[index]
    assert source_from_plain(source_to_plain(source), CLASSES) == source
    assert not Sources(CLASSES, [source]).check_examples()


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"label": ["praise", "billing", "bug"]}, "every class"),
        ({"label": ["bug", "bug"]}, "twice"),
        ({"label": []}, "empty"),
        ({"label": ["bug", "bgu"]}, "'bgu' is not a class"),
        ({"not_label": ["bug"]}, "is not a class"),
        ({"label": "bug", "not_label": "praise"}, "either label or not_label"),
    ],
)
def test_labels_that_make_no_sense_are_refused(rule: dict[str, object], problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        source_from_plain({"name": "s", "rule": [{**rule, "keywords": ["x"]}]}, CLASSES)


def test_documents_that_were_not_asked_about_count_in_neither_sum() -> None:
    votes, truth, features = planted(3000, seed=1)
    missing = np.random.default_rng(2).random(3000) < np.where(truth == 0, 0.9, 0.3)
    matrix = np.where(missing[:, None] & (np.arange(4) == 2), -1, votes.matrix).astype(np.int8)
    silent = Votes(matrix, votes.sources, votes.classes, votes.ids, votes.soft)
    unasked = Votes(
        matrix, votes.sources, votes.classes, votes.ids, votes.soft, unasked={"c": missing}
    )
    full, apart, wrong = (
        source_behaviour(SparseVotes.of(v), np.eye(3)[truth], np.ones(3000))
        for v in (votes, unasked, silent)
    )
    assert np.abs(apart.rates[2] - full.rates[2]).max() < 0.05  # as if it had been asked everywhere
    assert np.abs(wrong.rates[2] - full.rates[2]).max() > 0.2
    assert np.abs(apart.discount - full.discount).max() < 0.05
    heads = denoise(features, unasked).heads(features, unasked)
    assert (heads.predicted == truth).mean() > 0.7
    assert unasked.summary().sources[2].unasked == pytest.approx(missing.mean())


def test_a_saved_model_keeps_partial_votes(tmp_path: Path) -> None:
    texts = [f"{text} {i}" for i in range(30) for text in TEXTS]
    model = unruly.WeakClassifier(encoder="lsa", seed=0).fit(texts, sources=sources())
    model.save(tmp_path / "m.unruly")
    again = unruly.load(tmp_path / "m.unruly")
    assert np.array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    explained = again.explain("refund my crash")
    assert {v.source: v.label for v in explained.votes}["trouble"] == "billing or bug"
    assert "billing or bug" in str(explained)
    cast = sources().vote(TEXTS)
    heads = model.predictions(TEXTS, cast).heads
    shown = shown_document(0, "torn", TEXTS, cast, heads)
    assert {vote.source: vote.label for vote in shown.votes}["trouble"] == "billing or bug"
    assert shown.majority == ("bug",)
    model.report(tmp_path / "r.html", texts)


def test_partial_votes_that_agree_with_others_change_no_share() -> None:
    """A source that says "a or the rare one" wherever others say a does not make the rare class common."""
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 600, p=[0.6, 0.38, 0.02])
    plain = Votes.from_array(np.column_stack([truth, truth]), classes=CLASSES)
    maybe = np.zeros((600, 3), np.float32)
    maybe[truth == 0] = [0.5, 0, 0.5]
    matrix = np.column_stack([plain.matrix, np.where(truth == 0, 0, -1)]).astype(np.int8)
    names = (*plain.sources, "maybe")
    both = Votes(matrix, names, plain.classes, plain.ids, {"maybe": maybe})
    alone, with_it = (SparseVotes.of(votes) for votes in (plain, both))
    assert np.allclose(vote_shares(with_it), vote_shares(alone))
    prior = np.array([0.6, 0.38, 0.02])
    assert np.allclose(with_it.combined_shares(prior), alone.combined_shares(prior))
    assert np.allclose(with_it.whole().onehot[:, :6].toarray(), alone.onehot.toarray())


@given(st.integers(0, 10_000))
def test_combined_shares_are_distributions_and_equal_shares_without_partial_votes(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-1, 3, (20, 3)).astype(np.int8)
    names, ids = ("a", "b", "c"), pl.Series(range(20))
    hard = SparseVotes.of(Votes(matrix, names, tuple(CLASSES), ids))
    prior = rng.dirichlet(np.ones(3))
    assert np.array_equal(hard.combined_shares(prior), hard.shares(prior))
    soft = np.zeros((20, 3), np.float32)
    for row, cell in enumerate(matrix[:, 0]):
        soft[row, [max(cell, 0), (max(cell, 0) + 1) % 3]] = 0.5
    part = SparseVotes.of(Votes(matrix, names, tuple(CLASSES), ids, {"a": soft}))
    found = part.combined_shares(prior)
    assert np.allclose(found.sum(axis=1), 1)
    assert (found[~part.covered] == prior).all()


def test_classes_that_no_vote_tells_apart_are_told(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text(
        "text\n" + "refund please\nit crashes\nlovely\ninvoice\n" * 5, "utf-8"
    )
    toml = tmp_path / "unruly.toml"
    head = 'encoder = "lsa"\n[task]\nclasses = ["billing", "bug", "praise"]\n[data]\ntrain = "texts.csv"\n'
    both = '[[source]]\nname = "a"\nrule = [{ label = ["billing", "bug"], keywords = ["refund", "crashes"] }]\n'
    nice = '[[source]]\nname = "b"\nrule = [{ label = "praise", keywords = ["lovely"] }]\n'
    told = "No vote tells billing and bug apart: every rule names all of them or none."
    toml.write_text(head + both + nice, "utf-8")
    checked = check_project(tmp_path)
    assert any(told in line for line in checked.lines())
    assert ClassesAlike((("billing", "bug"),)) in checked.findings
    fitted = Project.read(tmp_path).fit(score=False).model
    assert told in str(fitted.summary_)
    fitted.save(tmp_path / "m.unruly")
    assert told in str(unruly.load(tmp_path / "m.unruly").summary_)
    alone = '[[source]]\nname = "c"\nrule = [{ label = "bug", keywords = ["crashes"] }]\n'
    toml.write_text(head + both + nice + alone, "utf-8")
    assert "tells billing" not in str(check_project(tmp_path).lines())


def test_partial_votes_are_votes_for_their_classes_in_advice() -> None:
    votes = Votes.from_array(
        [[0, 2], [1, 2], [2, -1]] * 10, classes=list("abcd"), sources=["x", "y"]
    )
    either = np.tile(np.array([[0.5, 0.5, 0, 0]], np.float32), (30, 1))
    either[2::3] = [0, 0, 1, 0]
    partial = replace(votes, soft={"x": either})
    found = critique_rules(partial, VoteJudge(np.full((30, 4), 0.25), partial))
    lone = {c.label: c.sources for c in found if isinstance(c, UncoveredClass)}
    assert lone == {"a": ("x",), "b": ("x",), "d": ()}


def test_a_class_that_only_partial_votes_name_is_not_taken_for_rare() -> None:
    """20 documents are a or b, 4 b, 20 c: nothing says that b is five times as common as a."""
    matrix = np.repeat([0, 1, 2], [20, 4, 20])[:, None]
    votes = Votes.from_array(matrix, classes=["a", "b", "c"], sources=["x"])
    given = np.eye(3, dtype=np.float32)[matrix[:, 0]]
    given[:20] = [0.5, 0.5, 0]
    shares = vote_shares(SparseVotes.of(replace(votes, soft={"x": given})))
    assert shares[0] > 0.8 * shares[1]
    assert shares[2] == pytest.approx(20.5 / 45.5)
