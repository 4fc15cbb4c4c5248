"""Supervised models on labels of majority vote and on denoised ones: BERT-MLP and ULMFiT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    EMPTY,
    F1_NOTE,
    Variant,
    cells,
    conditions,
    datasets,
    gains,
    gold_words,
    markdown,
    of_the_paper,
    page,
    papers_row,
    rows,
    several_encoders,
)

PAIRS = (("bert-mlp", "bert-mlp-denoised"), ("ulmfit", "ulmfit-denoised"))
METHODS = tuple(method for pair in PAIRS for method in pair)
LABELS = {
    "bert-mlp": "BERT-MLP, majority labels",
    "bert-mlp-denoised": "BERT-MLP, denoised labels",
    "ulmfit": "ULMFiT (miniature), majority labels",
    "ulmfit-denoised": "ULMFiT (miniature), denoised labels",
}
TITLE = "Supervised models on majority and on denoised labels"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Each model on both kinds of labels; None when none was trained on denoised ones."""
    found = of_the_paper(cells(outcomes, "main", METHODS))
    if not any(variant.method.endswith("-denoised") for variant in found):
        return None
    columns, named = datasets(found), several_encoders(found)
    in_pairs = sorted(
        found, key=lambda w: (w.encoder, w.selection == "gold", METHODS.index(w.method))
    )
    titled = {_title(variant, named): variant for variant in in_pairs}
    every = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    body = []
    for title, variant in titled.items():
        papers = papers_row(variant.method, paper.SUPERVISED)
        body += rows(title, found[variant], papers, columns, every)
    brought: list[tuple[str, ...]] = []
    for title, variant in titled.items():
        if (plain := variant.method.removesuffix("-denoised")) != variant.method:
            majority = found.get(replace(variant, method=plain, attention=""), {})
            brought += gains(title, found[variant], majority, _papers_gain(plain), columns)
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds; the denoised labels are those that "
        f"the paper's method gives the training documents. {F1_NOTE} {EMPTY}",
        markdown(("model and labels", *columns), body),
        "What denoised labels bring over majority ones, in points:",
        markdown(("model", *columns), brought),
        gold_words({t: [o for d in found[w].values() for o in d] for t, w in titled.items()}),
        conditions(every),
    )


def _title(variant: Variant, named: bool) -> str:
    said = LABELS[variant.method] + (", epoch by gold" if variant.selection == "gold" else "")
    said += ", softmax over voters" if variant.attention == "voters" else ""
    return f"{said} ({variant.encoder})" if named else said


def _papers_gain(method: str) -> dict[str, float]:
    after, before = (papers_row(m, paper.SUPERVISED) for m in (f"{method}-denoised", method))
    return {dataset: after[dataset] - before[dataset] for dataset in after}
