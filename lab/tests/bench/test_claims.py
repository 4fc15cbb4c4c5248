"""The page of the paper's claims: each measured as it says, beside systems under the same choice of the epoch."""

from __future__ import annotations

import pytest
from lab.tests.bench.handmade import outcome, seeds

from unruly_lab.bench import clean_labels
from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.claims import CLAIMS, table
from unruly_lab.bench.runs import Matched, Noise, Outcome

GOLD = {"selection": "gold"}
EVERYTHING: list[Outcome] = [
    *seeds("youtube", "paper", 0.70, 0.72, noise_after=Noise(0.125, 0.1, 0.1)),
    *seeds(
        "youtube",
        "paper",
        0.90,
        run=GOLD,
        cpu=90.0,
        parameters=12_300,
        by_matched=(Matched(0, 20, 18),),
    ),
    outcome("youtube", "bert-mlp", 0.80, GOLD, by_matched=(Matched(0, 20, 10),)),
    outcome("youtube", "bert-mlp", 0.75),
    outcome("youtube", "snorkel", 0.85, GOLD),
    outcome("youtube", "bert-mlp-denoised", 0.83, GOLD),
    outcome("youtube", "bert-mlp-gold", 0.95, {**GOLD, "clean": 1.0}),
    outcome("youtube", "rule-only", 0.86, GOLD),
    outcome("youtube", "ulmfit", 0.60, GOLD),
    outcome("youtube", "ulmfit-denoised", 0.58, GOLD),
    outcome("youtube", "neural-self", 0.91, GOLD),
    outcome("youtube", "paper", 0.93, {**GOLD, "experiment": "clean", "clean": 0.05}),
    outcome("youtube", "bert-mlp-gold", 0.89, {**GOLD, "experiment": "clean", "clean": 0.05}),
    *(
        outcome(
            "youtube", "paper", right, {**GOLD, "experiment": "search", "settings": (("c1", c1),)}
        )
        for right, c1 in ((0.7, 0.3), (0.9, 0.4))
    ),
    outcome("youtube", "default", 0.94),
]


def line(words: str, title: str) -> str:
    """The first figure in the line of a claim whose heading holds these words."""
    text = table(EVERYTHING)
    assert text is not None
    section = next(s for s in text.split("### ") if words in s.partition("\n")[0])
    row = next(r for r in section.splitlines() if r.startswith(f"| {title} |"))
    return row.split("|")[2].strip()


@pytest.mark.parametrize(
    ("words", "title", "figure"),
    [
        ("accurate", "*the paper*", "*94.9*"),
        ("accurate", "The paper's method", "71.0"),
        ("accurate", "The paper's method, epoch by gold", "90.0"),
        ("accurate", "unruly's default", "94.0"),
        ("outperforms", "*the paper*", "*1.3*"),
        ("outperforms", "The paper's method, epoch by gold", "5.0"),
        ("outperforms", "The paper's method", "-4.0"),  # BERT-MLP alone was run without gold
        ("noise among", "The paper's method", "7.5"),
        ("right on 84", "The paper's method", "87.5"),
        ("all training", "The paper's method", "20.0"),
        ("robust", "*the paper*", "*2.1*"),
        ("robust", "The paper's method, epoch by gold", "14.1"),
        ("without any vote", "The paper's method, epoch by gold", "40.0"),
        ("Supervised", "The paper's method, epoch by gold", "3.0"),
        ("full supervision", "The paper's method, epoch by gold", "-5.0"),
        ("same with 5 %", "The paper's method, epoch by gold", "4.0"),
        ("same with ULMFiT", "*the paper*", "*34.7*"),
        ("same with ULMFiT", "The paper's method, epoch by gold", "-2.0"),
        ("components", "The paper's method, epoch by gold", "-1.0"),
        ("cheap", "The paper's method, epoch by gold", "1.5"),
        ("trainable", "The paper's method, epoch by gold", "12.3"),
    ],
)
def test_a_claim_is_measured_as_it_says(words: str, title: str, figure: str) -> None:
    assert line(words, title) == figure


def test_a_line_over_voters_is_not_given_the_figures_of_the_printed_softmax() -> None:
    voters = outcome("youtube", "paper-voters", 0.5, GOLD)
    text = table([*EVERYTHING, voters]) or ""
    clean = next(s for s in text.split("### ") if s.startswith("The same with 5 %"))
    assert "over voters" in text
    assert "over voters" not in clean  # it was not run with clean labels


def test_a_line_by_gold_is_not_given_figures_of_the_last_epoch() -> None:
    """ULMFiT on denoised labels was run without gold alone: no gain is shown where gold chooses the epoch."""
    last = [
        outcome("youtube", "ulmfit", 0.5),
        outcome("youtube", "ulmfit-denoised", 0.6),
        *(o for o in EVERYTHING if o.run.method != "ulmfit-denoised"),
    ]
    found = section(last, "same with ULMFiT")
    assert "| The paper's method | 10.0 |" in found
    assert "epoch by gold" not in found


def section(outcomes: list[Outcome], words: str) -> str:
    text = table(outcomes) or ""
    return next(s for s in text.split("### ") if words in s.partition("\n")[0])


def test_a_figure_that_rests_on_fewer_documents_is_marked() -> None:
    """The line itself has all documents; the best peer, or any that could have been, has fewer."""
    few = outcome("youtube", "implyloss", 0.7, {**GOLD, "rows": 50}, documents=(50, 10, 20))
    assert "epoch by gold | 5.0 |" in section(EVERYTHING, "outperforms")
    assert "epoch by gold | 5.0 † |" in section([*EVERYTHING, few], "outperforms")
    assert "epoch by gold | 90.0 |" in section([*EVERYTHING, few], "accurate")


def test_shares_of_different_numbers_of_documents_are_not_compared() -> None:
    labelled = {**GOLD, "experiment": "clean", "clean": 0.005}
    ours = outcome("youtube", "paper", 0.9, labelled)
    fewer = outcome("youtube", "bert-mlp-gold", 0.6, labelled, documents=(50, 10, 20))
    same = outcome("youtube", "bert-mlp-gold", 0.6, labelled)
    assert "epoch by gold" not in section([*EVERYTHING, ours, fewer], "0.5 %")
    assert "epoch by gold | 30.0 |" in section([*EVERYTHING, ours, same], "0.5 %")
    row = "| 0.5 %, The paper's method, epoch by gold |"
    assert f"{row} +30.0 |" in (clean_labels.table([ours, same]) or "")
    assert f"{row} – |" in (clean_labels.table([ours, fewer]) or "")


def test_every_claim_has_a_reason_and_gold_is_told() -> None:
    text = table(EVERYTHING) or ""
    assert text.count("Why: ") == len(CLAIMS)
    assert all(
        claim.why.endswith(".") and ". " not in claim.why for claim in CLAIMS
    )  # one sentence
    assert "were chosen with gold of these sets in view" in text
    assert "constants (gold labels of these data sets in view)" in text


def test_the_papers_figures_are_those_of_its_tables() -> None:
    figures = {claim.said: claim.figures for claim in CLAIMS}
    assert figures["It is accurate without labelled data"] == {
        d: paper.MAIN["paper", d] for d in paper.DATASETS
    }
    clean = next(c for c in CLAIMS if "0.5 %" in c.said).figures
    assert clean["youtube"] == pytest.approx(92.4 - 80.6)


def test_a_mean_is_shown_only_over_all_five_sets_and_nothing_without_the_method() -> None:
    assert "| The paper's method | 71.0 | – |" in (table(EVERYTHING) or "")
    assert table([outcome("youtube", "default", 0.9)]) is None
