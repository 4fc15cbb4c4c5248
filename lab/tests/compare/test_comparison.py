"""Systems side by side: figures by hand, failures in their rows, gold where it belongs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from lab.tests.peers.planted_task import planted_task, right, trained
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly_lab.compare.comparison import QUICK, Comparison, agreement, chosen, compare, stability
from unruly_lab.compare.task import ComparisonTask, Scored, task_of
from unruly_lab.peers.systems import SYSTEMS, Documents, Entry, TrainingData, entry


def planted_comparison_task(gold: bool = True, taught: bool = True) -> ComparisonTask:
    task = planted_task()
    return ComparisonTask(
        documents=task.train,
        encoder="planted",
        keywords=task.keywords,
        scored=Scored(task.test, task.test_gold, "the test file", 0) if gold else None,
        taught=task.gold if taught else None,
    )


@cache
def with_gold() -> Comparison:
    return compare(planted_comparison_task(), chosen("majority-vote,bert-mlp,bert-mlp-gold"))


def test_with_gold_every_row_has_scores() -> None:
    found = with_gold()
    assert [row.entry.name for row in found.ran] == ["majority-vote", "bert-mlp", "bert-mlp-gold"]
    for row in found.ran:
        assert row.gold is not None
        assert 0.5 < row.gold.accuracy.low < row.gold.accuracy.value < row.gold.accuracy.high <= 1
    assert found.scored_on == "the test file"


def test_majority_vote_is_the_one_that_fit_and_evaluate_show(tmp_path: Path) -> None:
    """Ties in equal parts, uncovered documents to the commonest class of the votes, whatever prior is stated."""
    said = {"win a prize": "spam", "prize song": "spam", "lovely song": "ham", "so it goes": "spam"}
    rows = [f"{text} {i},{label}" for i in range(15) for text, label in said.items()]
    rows += [f"lovely song again {i},ham" for i in range(20)]
    (tmp_path / "t.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    (tmp_path / "unruly.toml").write_text(
        """[task]
classes = ["ham", "spam"]
prior = "spam is about 9 in 10"
[data]
train = "t.csv"
label = "label"
[encoder]
name = "lsa"
[[source]]
name = "prizes"
[[source.rule]]
label = "spam"
keywords = ["prize"]
[[source]]
name = "songs"
[[source.rule]]
label = "ham"
keywords = ["song"]
"""
    )
    project = Project.read(tmp_path)
    corpus = project.corpus("train")
    model = project.classifier().fit(corpus, sources=project.sources)
    beside = model.evaluate(corpus).everything.majority
    compared = compare(task_of(project), chosen("majority-vote")).rows[0].gold
    assert compared is not None
    assert compared.accuracy.value == pytest.approx(beside.accuracy.value)
    assert compared.accuracy.value == pytest.approx((15 + 7.5 + 15 + 0 + 20) / 80)
    assert compared.macro_f1.value == pytest.approx(beside.macro_f1)


def test_the_score_is_that_of_the_system() -> None:
    task = planted_task()
    system = entry("bert-mlp").build()
    expected = [
        right(
            system.fit(TrainingData(task.train, seed=seed)).predict_proba(task.test), task.test_gold
        )
        for seed in (0, 1)
    ]
    scores = with_gold().rows[1].gold
    assert scores is not None
    assert scores.accuracy.value == pytest.approx(np.mean(expected))


def test_only_the_supervised_system_learns_from_gold_and_the_ledger_says_so() -> None:
    found = with_gold()
    used = {row.entry.name: row.gold_used for row in found.rows}
    assert used["majority-vote"] == used["bert-mlp"] == ()
    assert used["bert-mlp-gold"] == (trained(400),)
    assert str(found.ledger) == (
        "gold labels: 400 for training (bert-mlp-gold); 200 for scoring (the test file)"
    )


def test_without_gold_agreement_stability_and_unseen_votes() -> None:
    found = compare(planted_comparison_task(gold=False), chosen("majority-vote,bert-mlp"))
    assert found.scored_on is None
    assert all(row.gold is None for row in found.rows)
    assert found.agreement.shape == (2, 2)
    assert found.agreement[0, 1] == found.agreement[1, 0] < 1
    vote, reader = found.rows
    assert vote.majority == 1.0
    assert reader.majority is not None
    assert vote.unseen is not None
    assert reader.unseen is not None
    assert reader.unseen > vote.unseen
    assert reader.stability is not None
    assert 0.7 < reader.stability < 1
    assert str(found.ledger) == "gold labels: none used"


def test_clean_labels_reach_the_systems() -> None:
    clean = np.where(np.arange(400) < 30, planted_task().gold, -1)
    task = replace(planted_comparison_task(gold=False), clean=clean)
    found = compare(task, chosen("bert-mlp,implyloss"), seeds=1)
    assert found.rows[0].gold_used == (trained(30),)
    assert str(found.ledger) == "gold labels: 30 for training (every system)"


def test_the_same_comparison_twice() -> None:
    first, second = (
        compare(planted_comparison_task(), chosen("bert-mlp"), seeds=1).to_plain() for _ in range(2)
    )
    for plain in (first, second):
        plain["systems"][0].pop("cpu_seconds")
    assert first == second


@dataclass(frozen=True)
class Breaks:
    """A system that cannot be fitted."""

    error: Exception

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InputError("no keywords: write a rule"), "no keywords: write a rule"),
        (RuntimeError("sizes differ"), "unexpected RuntimeError: sizes differ"),
    ],
)
def test_a_failure_is_a_row_and_the_others_run(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("unruly_lab.peers.broken")
    module.__dict__["make"] = lambda: Breaks(error)
    monkeypatch.setitem(sys.modules, "unruly_lab.peers.broken", module)
    broken = Entry("broken", "Broken", "broken:make", "", "peers")
    found = compare(planted_comparison_task(), [broken, entry("majority-vote")], seeds=1)
    assert found.rows[0].failure == reason
    assert [row.entry.name for row in found.ran] == ["majority-vote"]
    assert found.agreement.tolist() == [[1.0]]
    assert json.dumps(found.to_plain(), allow_nan=False)


class Nan:
    """Its answers are no numbers."""

    parameters, gold_used = 0, ()

    def fit(self, data: TrainingData, progress: Progress = SILENT) -> Nan:
        return self

    def predict_proba(self, documents: Documents) -> NDArray[np.float64]:
        return np.full((documents.n, documents.votes.m), np.nan)


def test_answers_that_are_no_numbers_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("unruly_lab.peers.broken")
    module.__dict__["make"] = Nan
    monkeypatch.setitem(sys.modules, "unruly_lab.peers.broken", module)
    broken = Entry("broken", "Broken", "broken:make", "", "peers")
    found = compare(planted_comparison_task(), [broken], seeds=1)
    assert found.rows[0].failure is not None
    assert "not finite" in found.rows[0].failure


def test_a_missing_package_is_told() -> None:
    absent = Entry("absent", "Absent", "no_such_module:make", "", "peers")
    found = compare(planted_comparison_task(), [absent], seeds=1)
    assert found.ran == ()
    assert found.rows[0].failure is not None
    assert "no_such_module" in found.rows[0].failure


def test_a_supervised_system_without_labels_says_so() -> None:
    task = planted_comparison_task(gold=False, taught=False)
    found = compare(task, chosen("bert-mlp-gold"), seeds=1)
    assert found.rows[0].failure is not None
    assert "true labels" in found.rows[0].failure


def test_agreement_and_stability_by_hand() -> None:
    a, b, c = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), np.array([1, 1, 0, 0])
    assert agreement([a, b, c]).tolist() == [[1, 0.75, 0], [0.75, 1, 0.25], [0, 0.25, 1]]
    assert stability(np.stack([a, b, c])) == pytest.approx((0.75 + 0 + 0.25) / 3)
    assert stability(a[None]) is None


def test_names_of_systems() -> None:
    assert tuple(e.name for e in chosen(None)) == QUICK
    assert chosen("all") == SYSTEMS
    assert [e.name for e in chosen("paper,paper")] == ["paper"]
    with pytest.raises(InputError, match="no system is called 'bert': did you mean 'bert-mlp'"):
        chosen("bert")
    with pytest.raises(InputError, match="names no system"):
        chosen(" ,")
